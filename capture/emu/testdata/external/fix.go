package ring

// producerParity is that of the phase before: at first a slot is empty.
func producerParity(i, slots int) int { return i/slots&1 ^ 1 }
