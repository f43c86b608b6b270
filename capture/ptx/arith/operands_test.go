package arith

import "math"

// The operands with which every instruction is held to the H100. A thread
// takes them from tables by its number; testdata/h100.ptx computes the same
// ones. What register values there are:
//
//	a, b, c  the sources of instructions with several
//	u        the source of instructions with one
//
// each in the classes below. a and b run through all pairs of a table.

const (
	threads   = 1 << 14
	tableSize = 1 << 7
)

// class is a kind of operand.
type class struct {
	name string
	bits int
	of   string // of a pair: the class of its halves
}

var classes = []class{
	{name: "n", bits: 32}, // shift amounts, positions, lengths
	{name: "i16", bits: 16},
	{name: "i32", bits: 32},
	{name: "i64", bits: 64},
	{name: "f16", bits: 16},
	{name: "bf16", bits: 16},
	{name: "f32", bits: 32},
	{name: "f64", bits: 64},
	{name: "i16x2", bits: 32, of: "i16"},
	{name: "f16x2", bits: 32, of: "f16"},
	{name: "bf16x2", bits: 32, of: "bf16"},
}

// corners is the values of a class that are worth a look; the rest of its
// table is pseudo-random.
func corners(name string) (v []uint64) {
	f32bits := func(xs ...float64) {
		for _, x := range xs {
			v = append(v, uint64(math.Float32bits(float32(x))))
		}
	}
	f64bits := func(xs ...float64) {
		for _, x := range xs {
			v = append(v, math.Float64bits(x))
		}
	}
	inf := math.Inf(1)
	switch name {
	case "n":
		for n := range uint64(68) {
			v = append(v, n)
		}
		return append(v, 0xffffffff, 0x80000000, 0x7fffffff, 0x100, 0x101, 0x108, 0x11f, 0x120, 0x13f,
			0x140, 0xfe, 0xff, 0x80, 0x7f, 0xfffffffe, 0xfffffffc, 0xfffffff8, 0xffffffe1, 0xffffffe0,
			0x10004, 0xffff0003)
	case "i16", "i32", "i64":
		n := 16
		if name != "i16" {
			n = int(name[1]-'0')*10 + int(name[2]-'0')
		}
		for _, w := range []int{8, 16, 24, 32, 64} {
			if w > n {
				continue
			}
			m := uint64(1) << (w - 1)
			v = append(v, m-1, m, m+1, 2*m-1, 2*m, -m, -m-1, -m+1)
		}
		return append(v, 0, 1, 2, 3, 7, 10, 100, 255, 1000, ^uint64(0), ^uint64(1), ^uint64(2),
			^uint64(6), ^uint64(99), 0x5555555555555555, 0xaaaaaaaaaaaaaaaa, 0x0123456789abcdef,
			0xfedcba9876543210, 0x8040201008040201)
	case "f16":
		return []uint64{
			0, 0x8000, 1, 2, 0x8001, 0x3ff, 0x83ff, 0x400, 0x8400, 0x401, 0x7ff, 0x800, // zero, subnormal, small
			0x3c00, 0xbc00, 0x3c01, 0x3bff, 0xbbff, 0x3800, 0xb800, 0x3801, 0x3e00, 0xbe00, 0x4000, 0x4100, 0x4200, // 1, 1/2, 1.5, 2, 2.5, 3
			0x7bff, 0xfbff, 0x7bfe, 0x7800, 0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x7fff, 0xffff, 0x7c01, 0xfd55, // largest, infinity, NaN
			0x57f8, 0x5bf8, 0xd808, 0x5c00, 0x4248, 0x5f00, 0x5f40, 0x5f80, 0xdf80, 0x7700, 0x7b80, 0x1400, 0x0a00, 0x2e66, 0xae66,
			0x21a8, 0x1da8, // their product lies so closely below 2^-14 that it is rounded to that
		}
	case "bf16":
		return []uint64{
			0, 0x8000, 1, 2, 0x8001, 0x7f, 0x807f, 0x80, 0x8080, 0x81, 0xff, 0x100,
			0x3f80, 0xbf80, 0x3f81, 0x3f7f, 0xbf7f, 0x3f00, 0xbf00, 0x3f01, 0x3fc0, 0xbfc0, 0x4000, 0x4020, 0x4040,
			0x7f7f, 0xff7f, 0x7f7e, 0x7f00, 0x7f80, 0xff80, 0x7fc0, 0xffc0, 0x7fff, 0xffff, 0x7f81, 0xffa5,
			0x437f, 0x43ff, 0xc301, 0x4380, 0x4049, 0x4700, 0x477f, 0x4780, 0x4f00, 0xcf00, 0x4f80, 0x5f00, 0xdf00, 0x5f80, 0x3380, 0x3300,
		}
	case "f32":
		v = []uint64{
			0, 0x80000000, 1, 2, 0x80000001, 0x7fffff, 0x807fffff, 0x7ffffe, 0x400000, 0x800000, 0x80800000, 0x800001, 0xffffff, 0x1000000,
			0x3f800001, 0x3f7fffff, 0xbf7fffff, 0x3f000001, 0x3effffff, 0x7f7fffff, 0xff7fffff, 0x7f7ffffe, 0x7e800000, 0x7e800001, 0xfe900000,
			0x7f000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7fffffff, 0xffffffff, 0x7f800001, 0xff812345, 0x7fc12345,
			0x477fefff, 0x477ff000, 0x7f7f7fff, 0x7f7f8000, 0x33000000, 0x33000001, 0x387fe000, 0x4f7fffff, 0xcf000001, 0x5effffff,
			0x3f801000, 0x3f803000, 0x3f800fff, 0x3f808000, 0x3f818000,
			0x2034fa95, 0x1fb50f52, // their product lies so closely below 2^-126 that it is rounded to that
		}
		f32bits(1, -1, 0.5, -0.5, 1.5, -1.5, 2, 2.5, 3, 127.5, -128.5, 255.5, 256, 448, 464, 465, 57344, 61440, 65504,
			1<<31, -(1 << 31), 1<<32, 1<<63, -(1 << 63), 1<<64, math.Pi, -100*math.Pi, 1e-8, 0.1, -0.1)
		return v
	case "f64":
		v = []uint64{
			1, 1 << 63, 1<<63 | 1, 1<<52 - 1, 1<<63 | (1<<52 - 1), 1 << 52, 1<<63 | 1<<52, 1<<52 + 1,
			0x3ff0000000000001, 0x3fefffffffffffff, 0xbfefffffffffffff, 0x7fefffffffffffff, 0xffefffffffffffff, 0x7feffffffffffffe,
			0x7ff8000000000000, 0xfff8000000000000, 0x7fffffffffffffff, 0xffffffffffffffff, 0x7ff0000000000001, 0xfff0123456789abc, 0x7ff8000012345678,
			0x47efffffe0000000, 0x47effffff0000000, 0x47efffffefffffff, 0x36a0000000000000, 0x3690000000000000, 0x3690000000000001,
			0x380fffffffffffff, 0x380fffffe0000000, 0x3800000000000000, 0x40effdffffffffff, 0x40effe0000000000, 0x3e70000000000001, 0x3f10000000000000,
			0x41dfffffffc00000, 0x41dfffffffe00000, 0x41efffffffe00000, 0x43dfffffffffffff, 0x43efffffffffffff, 0x47f0000000000000,
			0x3ff0000010000000, 0x3ff0000030000000, 0x3ff0000010000001, 0x3ff0020000000000, 0x3ff0060000000000, 0x3ff0100000000000,
		}
		f64bits(0, inf, -inf, 1, -1, 0.5, -0.5, 1.5, -1.5, 2, 2.5, -2.5, 3, 127.5, -128.5, 255.5, 65535.5, 1<<31, -(1 << 31), 1<<32, 1<<63, -(1 << 63), 1<<64, math.Pi, 0.1, -0.1,
			0x1p-500, 0x1p-537, 0x1p+512, 0x1.8p+511)
		return v
	}
	return nil
}

// splitmix is the next of a sequence of pseudo-random numbers.
func splitmix(state *uint64) uint64 {
	*state += 0x9e3779b97f4a7c15
	z := *state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// table is the operands of a class that is no pair.
func table(c class) (t [tableSize]uint64) {
	state := uint64(len(c.name))<<32 + uint64(c.bits)
	known := corners(c.name)
	for i := range t {
		r := splitmix(&state)
		switch {
		case i < len(known):
			t[i] = known[i]
		case c.name[0] == 'n':
			t[i] = r & 0xff
		case c.name[0] == 'i':
			t[i] = r >> (r & 31)
		default:
			// Magnitudes around 1, so that operands have to do with each other.
			f := map[string]*format{"f16": &fmtF16, "bf16": &fmtBF16, "f32": &fmtF32, "f64": &fmtF64}[c.name]
			spread := uint64(min(40, -f.emin-1))
			e := uint64(1-f.emin) - spread/2 + splitmix(&state)%spread
			t[i] = r&f.sign | e<<f.frac | r>>7&(1<<f.frac-1)
		}
		t[i] &= ^uint64(0) >> (64 - c.bits)
	}
	return t
}

// operands gives the operands of all threads.
type operands struct {
	tables map[string]*[tableSize]uint64
}

func newOperands() operands {
	o := operands{map[string]*[tableSize]uint64{}}
	for _, c := range classes {
		if c.of == "" {
			tab := table(c)
			o.tables[c.name] = &tab
		}
	}
	return o
}

// value is one operand of thread t.
func (o operands) value(slot byte, c class, t uint64) uint64 {
	if c.of != "" {
		half := class{name: c.of, bits: 16}
		return o.value(slot, half, t) | o.value(slot, half, (t*37+11)&(threads-1))<<16
	}
	tab := o.tables[c.name]
	switch slot {
	case 'a':
		return tab[t&127]
	case 'b':
		return tab[t>>7&127]
	case 'c':
		return tab[(t*29+(t>>7)*53+17)&127]
	}
	if t&3 == 0 {
		return tab[t>>2&127]
	}
	// All leading bits, and below them zeros, ones or anything.
	x := t * 0x9e3779b97f4a7c15
	mask := ^uint64(0) >> (64 - c.bits)
	switch c.name[0] {
	case 'n':
		return x >> 40 & mask
	case 'i':
		return x >> (64 - c.bits) >> (t >> 2 & uint64(c.bits-1))
	}
	low := x >> 14
	if t&3 == 1 {
		low = uint64(int64(x) >> 63)
	}
	return (t<<(c.bits-14) | low&(mask>>14)) & mask
}

// carryIn is the carry flag that thread t sets before it reads it.
func carryIn(t uint64) bool { return (t>>3^t>>9)&1 != 0 }

// predicate is the predicate operand of thread t.
func predicate(t uint64) bool { return (t>>2^t>>8)&1 != 0 }
