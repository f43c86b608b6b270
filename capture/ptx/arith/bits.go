package arith

import (
	"math"
	"math/bits"
)

// buildBits makes the instructions that count, find and move bits: Integer
// Arithmetic Instructions, from popc to szext.
func buildBits(f *form) (o Op, ok bool) {
	t := f.only()
	long := t.Bits() == 64
	switch f.name {
	case "popc":
		o = Op{Dst: U32, Src: same(t, 1), F1: func(a uint64) uint64 { return uint64(bits.OnesCount32(uint32(a))) }}
		if long {
			o.F1 = func(a uint64) uint64 { return uint64(bits.OnesCount64(a)) }
		}
		return o, t == B32 || t == B64
	case "clz":
		o = Op{Dst: U32, Src: same(t, 1), F1: func(a uint64) uint64 { return uint64(bits.LeadingZeros32(uint32(a))) }}
		if long {
			o.F1 = func(a uint64) uint64 { return uint64(bits.LeadingZeros64(a)) }
		}
		return o, t == B32 || t == B64
	case "brev":
		o = Op{Dst: t, Src: same(t, 1), F1: func(a uint64) uint64 { return uint64(bits.Reverse32(uint32(a))) }}
		if long {
			o.F1 = bits.Reverse64
		}
		return o, t == B32 || t == B64
	case "bfind":
		return Op{Dst: U32, Src: same(t, 1), F1: bfind(t, f.has("shiftamt"))}, t.integer() && t.Bits() >= 32
	case "bfe":
		return Op{Dst: t, Src: []Type{t, U32, U32}, F3: bfe(t)}, t.integer() && t.Bits() >= 32
	case "bfi":
		o = Op{Dst: t, Src: []Type{t, t, U32, U32}, F4: bfi32}
		if long {
			o.F4 = bfi64
		}
		return o, t == B32 || t == B64
	case "bmsk":
		mode := f.one("clamp", "wrap")
		o = Op{Dst: t, Src: same(U32, 2), F2: bmskWrap}
		if mode == "clamp" {
			o.F2 = bmskClamp
		}
		return o, t == B32 && mode != ""
	case "szext":
		mode := f.one("clamp", "wrap")
		return Op{Dst: t, Src: []Type{t, U32}, F2: szext(t, mode == "clamp")}, (t == U32 || t == S32) && mode != ""
	case "fns":
		return Op{Dst: B32, Src: []Type{B32, B32, S32}, F3: fns}, t == B32
	}
	return o, false
}

// bfind is the place of the most significant bit that differs from the sign,
// or all ones if there is none; by how much to shift it to the top, if
// shiftamt.
func bfind(t Type, shiftamt bool) func(uint64) uint64 {
	top := uint64(t.Bits() - 1)
	signed := t.Signed()
	return func(a uint64) uint64 {
		a = t.extend(a)
		if signed && int64(a) < 0 {
			a = ^a
		}
		n := bits.Len64(a)
		switch {
		case n == 0:
			return 0xffffffff
		case shiftamt:
			return top - uint64(n-1)
		}
		return uint64(n - 1)
	}
}

// bfe extracts a field of c bits from bit b on, sign-extended if the type is
// signed; what lies above the top is the sign. Of b and c the ISA takes the
// lower 8 bits; an H100 does so for 32 bits only.
func bfe(t Type) func(a, b, c uint64) uint64 {
	signed := t.Signed()
	mask := uint64(0xff)
	if t.Bits() == 64 {
		mask = math.MaxUint32
	}
	return func(a, b, c uint64) uint64 {
		pos, n := b&mask, c&mask
		a = t.extend(a)
		if n == 0 {
			return 0
		}
		if signed {
			v := int64(a) >> pos
			if n < 64 {
				v = v << (64 - n) >> (64 - n)
			}
			return uint64(v)
		}
		return a >> pos & (1<<n - 1)
	}
}

// bfi32 and bfi64 insert the lower n bits of a into b from bit pos on. Of pos
// and n the ISA takes the lower 8 bits; an H100 does so for 32 bits only.
func bfi32(a, b, pos, n uint64) uint64 { return uint64(uint32(bfi64(a, b, pos&0xff, n&0xff))) }

func bfi64(a, b, pos, n uint64) uint64 {
	mask := uint64(1<<uint32(n)-1) << uint32(pos)
	return a<<uint32(pos)&mask | b&^mask
}

// bmskClamp and bmskWrap are n ones from bit pos on; .wrap takes both
// modulo 32.
func bmskClamp(pos, n uint64) uint64 {
	return uint64(uint32((1<<uint64(uint32(n)) - 1) << uint64(uint32(pos))))
}

func bmskWrap(pos, n uint64) uint64 {
	return uint64(uint32((1<<(n&31) - 1) << (pos & 31)))
}

// szext extends the value in the lower b bits of a.
func szext(t Type, clamp bool) func(a, b uint64) uint64 {
	signed := t.Signed()
	return func(a, b uint64) uint64 {
		if clamp && uint32(b) >= 32 {
			return t.extend(a)
		}
		n := b & 31
		if n == 0 {
			return 0
		}
		if signed {
			return uint64(int64(a<<(64-n)) >> (64 - n))
		}
		return a & (1<<n - 1)
	}
}

// fns finds the n-th set bit of a mask from base on, upwards for positive n,
// downwards for negative ones; for n = 0 whether base itself is set. All ones
// if there is none, but 0 on an H100 if n is -2^31, which has no magnitude.
func fns(mask, base, n uint64) uint64 {
	pos, count, step := int64(int32(base)), int64(int32(n)), int64(1)
	if count == math.MinInt32 {
		return 0
	}
	if count < 0 {
		count, step = -count, -1
	}
	if count == 0 {
		if uint64(pos) < 32 && mask>>pos&1 != 0 {
			return uint64(pos)
		}
		return 0xffffffff
	}
	for ; uint64(pos) < 32; pos += step {
		if mask>>pos&1 != 0 {
			if count--; count == 0 {
				return uint64(pos)
			}
		}
	}
	return 0xffffffff
}

// buildShift makes shl and shr.
func buildShift(f *form) (o Op, ok bool) {
	t := f.only()
	n, ok := ints(t)
	if f.name == "shl" {
		return Op{Dst: t, Src: []Type{t, U32}, F2: n.shl}, t.untyped()
	}
	return Op{Dst: t, Src: []Type{t, U32}, F2: n.shr}, ok
}

// buildFunnel makes shf: the pair b:a shifted, of which .l gives the upper and
// .r the lower word.
func buildFunnel(f *form) (o Op, ok bool) {
	left := f.one("l", "r")
	mode := f.one("clamp", "wrap")
	if f.only() != B32 || left == "" || mode == "" {
		return o, false
	}
	amount := func(c uint64) uint64 { return min(uint64(uint32(c)), 32) }
	if mode == "wrap" {
		amount = func(c uint64) uint64 { return c & 31 }
	}
	o = Op{Dst: B32, Src: []Type{B32, B32, U32}}
	o.F3 = func(a, b, c uint64) uint64 { return uint64(uint32((b<<32 | uint64(uint32(a))) >> amount(c))) }
	if left == "l" {
		o.F3 = func(a, b, c uint64) uint64 { return (b<<32 | uint64(uint32(a))) << amount(c) >> 32 }
	}
	return o, true
}

// buildLogic makes the bitwise instructions, but not those on predicates.
func buildLogic(f *form) (o Op, ok bool) {
	t := f.only()
	n, _ := ints(t)
	if !t.untyped() {
		return o, false
	}
	o = Op{Dst: t, Src: same(t, 2)}
	switch f.name {
	case "and":
		o.F2 = n.and
	case "or":
		o.F2 = n.or
	case "xor":
		o.F2 = n.xor
	case "not", "cnot":
		o = Op{Dst: t, Src: same(t, 1), F1: n.not}
		if f.name == "cnot" {
			o.F1 = n.cnot
		}
	case "lop3":
		o = Op{Dst: B32, Src: []Type{B32, B32, B32, U32}, Bool: f.one("and", "or")}
		o.F4 = func(a, b, c, lut uint64) uint64 { return lop3(a, b, c, uint8(lut)) }
		return o, t == B32
	}
	return o, true
}

// Lop3 is lop3.b32 with a given table: bit i of the result is bit
// a_i<<2 | b_i<<1 | c_i of lut. It is the F4 of Lookup's lop3 with its last
// argument, which is always an immediate, taken in advance.
func Lop3(lut uint8) func(a, b, c uint64) uint64 {
	switch lut {
	case 0xc0: // a & b
		return func(a, b, _ uint64) uint64 { return uint64(uint32(a & b)) }
	case 0xfc: // a | b
		return func(a, b, _ uint64) uint64 { return uint64(uint32(a | b)) }
	case 0x3c: // a ^ b
		return func(a, b, _ uint64) uint64 { return uint64(uint32(a ^ b)) }
	case 0x96: // a ^ b ^ c
		return func(a, b, c uint64) uint64 { return uint64(uint32(a ^ b ^ c)) }
	}
	// For each value of b and c what a is combined with: and, then xor.
	var and, xor [4]uint64
	for i := range 4 {
		low, high := uint64(lut>>i&1), uint64(lut>>(4+i)&1)
		and[i], xor[i] = -(low ^ high), -low
	}
	return func(a, b, c uint64) uint64 {
		d := ^b & ^c & (a&and[0] ^ xor[0])
		d |= ^b & c & (a&and[1] ^ xor[1])
		d |= b & ^c & (a&and[2] ^ xor[2])
		d |= b & c & (a&and[3] ^ xor[3])
		return uint64(uint32(d))
	}
}

func lop3(a, b, c uint64, lut uint8) uint64 {
	var d uint32
	for i := range 4 {
		// The two entries of the table for this value of a and b: c chooses.
		e := uint32(lut >> (2 * i))
		v := uint32(c)&-(e>>1&1) | ^uint32(c)&-(e&1)
		d |= v & (uint32(a) ^ (uint32(i>>1) - 1)) & (uint32(b) ^ (uint32(i&1) - 1))
	}
	return uint64(d)
}

// buildPrmt makes prmt: a permutation of the eight bytes of b:a.
func buildPrmt(f *form) (o Op, ok bool) {
	o = Op{Dst: B32, Src: same(B32, 3), F3: prmt}
	if mode := f.one("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"); mode != "" {
		var selectors [4]uint64
		for n := range selectors {
			selectors[n] = prmtSelector(mode, n)
		}
		o.F3 = func(a, b, c uint64) uint64 { return prmt(a, b, selectors[c&3]) }
	}
	return o, f.only() == B32
}

// prmt picks, for each byte of the result from the lowest on, the byte that
// the next four bits of the selector name; the fourth of them replicates its
// sign instead.
func prmt(a, b, selector uint64) uint64 {
	pair := b<<32 | uint64(uint32(a))
	var d uint64
	for i := uint64(0); i < 32; i += 8 {
		s := selector >> (i / 2)
		v := pair >> (s & 7 * 8) & 0xff
		if s&8 != 0 {
			v = -(v >> 7) & 0xff
		}
		d |= v << i
	}
	return d
}

// prmtSelector is the selector that a mode stands for, for n = c[1:0].
func prmtSelector(mode string, n int) uint64 {
	var s uint64
	for i := range 4 { // byte i of the result
		var from int
		switch mode {
		case "f4e": // forward 4 extract
			from = n + i
		case "b4e": // backward 4 extract
			from = (n - i) & 7
		case "rc8": // replicate 8
			from = n
		case "ecl": // edge clamp left
			from = max(i, n)
		case "ecr": // edge clamp right
			from = min(i, n)
		case "rc16": // replicate 16
			from = n&1*2 + i&1
		}
		s |= uint64(from) << (4 * i)
	}
	return s
}

// buildDot makes dp4a and dp2a: c plus the products of four bytes of a and b,
// or of two 16-bit values of a and the two lower or upper bytes of b.
func buildDot(f *form) (o Op, ok bool) {
	if len(f.types) != 2 {
		return o, false
	}
	ta, tb := f.types[0], f.types[1]
	if ta != U32 && ta != S32 || tb != U32 && tb != S32 {
		return o, false
	}
	dst := U32
	if ta == S32 || tb == S32 {
		dst = S32
	}
	o = Op{Dst: dst, Src: []Type{ta, tb, dst}}
	elem := func(t Type, bits int) Type {
		switch {
		case t == S32 && bits == 8:
			return S8
		case t == S32:
			return S16
		case bits == 8:
			return U8
		}
		return U16
	}
	ea, eb := elem(ta, 8), elem(tb, 8)
	if f.name == "dp4a" {
		o.F3 = func(a, b, c uint64) uint64 {
			for i := 0; i < 32; i += 8 {
				c += ea.extend(a>>i) * eb.extend(b>>i)
			}
			return dst.extend(c)
		}
		return o, true
	}
	ea = elem(ta, 16)
	mode := f.one("lo", "hi")
	from := 0
	if mode == "hi" {
		from = 16
	}
	o.F3 = func(a, b, c uint64) uint64 {
		for i := range 2 {
			c += ea.extend(a>>(16*i)) * eb.extend(b>>(from+8*i))
		}
		return dst.extend(c)
	}
	return o, mode != ""
}
