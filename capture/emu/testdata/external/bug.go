package ring

// producerParity forgets to flip: a parity of 1 lets the producer pass while
// a slot is full for the first, third, ... time.
func producerParity(i, slots int) int { return 1 }
