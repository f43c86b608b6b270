package arith

import "math/bits"

// buildCarry makes the instructions that read or write the carry flag:
// Extended-Precision Integer Arithmetic Instructions. For subtractions the
// flag is the borrow.
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
		in := flag(cc && reads)
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
			in := flag(cc && reads)
			if short {
				d, c := bits.Sub32(uint32(a), uint32(b), uint32(in))
				return t.extend(uint64(d)), c != 0
			}
			d, c := bits.Sub64(a, b, in)
			return d, c != 0
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

// flag is a carry as a number.
func flag(cc bool) uint64 {
	if cc {
		return 1
	}
	return 0
}
