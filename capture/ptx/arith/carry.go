package arith

import "math/bits"

// buildCarry makes the instructions that read or write the carry flag:
// Extended-Precision Integer Arithmetic Instructions. The ISA has subtractions
// write and read a borrow. On an H100 the flag is the carry of a + ^b + 1, set
// if there is no borrow; only a program that reads in a sum the flag of a
// difference, or the other way round, can tell.
func buildCarry(f *form) (o Op, ok bool) {
	t := f.only()
	if t != U32 && t != S32 && t != U64 && t != S64 {
		return o, false
	}
	o = Op{Dst: t, Src: same(t, 2), WritesCC: f.has("cc")}
	o.ReadsCC = f.name == "addc" || f.name == "subc" || f.name == "madc"
	reads := o.ReadsCC
	short := t.Bits() == 32
	sum := func(a, b uint64, cc bool) (uint64, bool) {
		in := bit(cc && reads)
		if short {
			d, c := bits.Add32(uint32(a), uint32(b), uint32(in))
			return t.extend(uint64(d)), c != 0
		}
		d, c := bits.Add64(a, b, in)
		return d, c != 0
	}
	switch f.name {
	case "add", "addc":
		o.Carry = func(a, b, _ uint64, cc bool) (uint64, bool) { return sum(a, b, cc) }
	case "sub", "subc":
		o.Carry = func(a, b, _ uint64, cc bool) (uint64, bool) {
			in := bit(!cc && reads)
			if short {
				d, borrow := bits.Sub32(uint32(a), uint32(b), uint32(in))
				return t.extend(uint64(d)), borrow == 0
			}
			d, borrow := bits.Sub64(a, b, in)
			return d, borrow == 0
		}
	case "mad", "madc":
		o.Src = same(t, 3)
		n, _ := ints(t)
		mul := n.mulLo
		switch f.one("lo", "hi") {
		case "hi":
			mul = n.mulHi
		case "":
			return o, false
		}
		o.Carry = func(a, b, c uint64, cc bool) (uint64, bool) { return sum(mul(a, b), c, cc) }
	default:
		return o, false
	}
	return o, true
}

// bit is a truth value as a number.
func bit(cc bool) uint64 {
	if cc {
		return 1
	}
	return 0
}
