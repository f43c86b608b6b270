package arith

import (
	"math"
	"math/bits"
)

// buildCvt makes cvt and cvt.pack: Data Movement and Conversion Instructions.
func buildCvt(f *form) (o Op, ok bool) {
	if f.has("pack") {
		return buildPack(f)
	}
	if len(f.types) != 2 {
		return o, false
	}
	dst, src := f.types[0], f.types[1]
	switch {
	case dst == TF32:
		return cvtTF32(f, src)
	case dst == E4M3x2, dst == E5M2x2, src == E4M3x2, src == E5M2x2:
		return cvtE(f, dst, src)
	case dst.half() != 0 && dst.Float():
		return cvtPair(f, dst, src)
	}
	o = Op{Dst: dst, Src: same(src, 1)}
	from, to := formatOf(src), formatOf(dst)
	switch {
	case from == nil && !scalar(src), to == nil && !scalar(dst):
		return o, false
	case from == nil && to == nil:
		sat := f.has("sat")
		o.F1 = cvtInteger(dst, src, sat)
		return o, !sat || !within(src, dst)
	case from == nil:
		r, named := f.rounded()
		m := adjust{f: to, sat: dst != BF16 && f.has("sat")}
		if dst == F32 {
			f.has("ftz") // no integer gives a subnormal value
		}
		o.F1 = m.f1(cvtToFloat(to, src, r))
		return o, named && !(dst == BF16 && src.Bits() == 8)
	case to == nil:
		f.has("sat") // floating point is always clamped to the integer's range
		ftz := src == F32 && f.has("ftz")
		integral := f.roundedToInteger()
		o.F1 = cvtToInteger(dst, src, integral, ftz)
		return o, integral != nil && !(src == BF16 && dst.Bits() == 8)
	}
	return cvtFloat(f, dst, src)
}

// scalar reports whether the type is an integer that cvt converts.
func scalar(t Type) bool { return t >= U8 && t <= S64 }

// within reports whether one integer type has all values of the other: then
// there is no .sat.
func within(src, dst Type) bool {
	bits := dst.Bits()
	if dst.Signed() && !src.Signed() {
		bits--
	}
	return src.Bits() <= bits && (dst.Signed() || !src.Signed())
}

// cvtInteger converts between integers: chopped or extended, or clamped to
// the range of dst if sat.
func cvtInteger(dst, src Type, sat bool) func(uint64) uint64 {
	if !sat {
		switch {
		case dst.Bits() <= src.Bits():
			return extender(dst)
		case !src.Signed() || dst.Bits() == 64 || dst.Signed():
			return extender(src)
		}
		narrow, wide := extender(src), extender(dst)
		return func(a uint64) uint64 { return wide(narrow(a)) }
	}
	low, high := limits(dst)
	if src.Signed() {
		return func(a uint64) uint64 {
			v := int64(src.extend(a))
			switch {
			case v < low:
				return uint64(low)
			case v > 0 && uint64(v) > high:
				return high
			}
			return uint64(v)
		}
	}
	return func(a uint64) uint64 { return min(src.extend(a), high) }
}

// limits is the range of an integer type.
func limits(t Type) (low int64, high uint64) {
	if t.Signed() {
		return -1 << (t.Bits() - 1), 1<<(t.Bits()-1) - 1
	}
	return 0, 1<<t.Bits() - 1
}

// extender is Type.extend of one type.
func extender(t Type) func(uint64) uint64 {
	switch t {
	case U8, B8:
		return func(a uint64) uint64 { return uint64(uint8(a)) }
	case U16, B16:
		return func(a uint64) uint64 { return uint64(uint16(a)) }
	case U32, B32:
		return func(a uint64) uint64 { return uint64(uint32(a)) }
	case S8:
		return func(a uint64) uint64 { return uint64(int8(a)) }
	case S16:
		return func(a uint64) uint64 { return uint64(int16(a)) }
	case S32:
		return func(a uint64) uint64 { return uint64(int32(a)) }
	}
	return func(a uint64) uint64 { return a }
}

// cvtToFloat converts an integer to a format.
func cvtToFloat(to *format, src Type, r rounding) func(uint64) uint64 {
	if r == rn && to == &fmtF32 && src == S32 {
		return func(a uint64) uint64 { return uint64(math.Float32bits(float32(int32(a)))) }
	}
	if r == rn && to == &fmtF32 && src == U32 {
		return func(a uint64) uint64 { return uint64(math.Float32bits(float32(uint32(a)))) }
	}
	value := extender(src)
	if src.Signed() {
		return func(a uint64) uint64 {
			v := int64(value(a))
			if v < 0 {
				return to.pack(true, -uint64(v), 0, false, r)
			}
			return to.pack(false, uint64(v), 0, false, r)
		}
	}
	return func(a uint64) uint64 { return to.pack(false, value(a), 0, false, r) }
}

// roundedToInteger takes a mode of rounding to an integer, which is a
// function of float64; nil for none.
func (f *form) roundedToInteger() func(float64) float64 {
	switch f.one("rni", "rzi", "rmi", "rpi") {
	case "rni":
		return math.RoundToEven
	case "rzi":
		return math.Trunc
	case "rmi":
		return math.Floor
	case "rpi":
		return math.Ceil
	}
	return nil
}

// cvtToInteger converts to an integer, clamped to its range. A NaN becomes 0
// or, on an H100, the highest bit of the type where f64 or 64 bits are
// involved.
func cvtToInteger(dst, src Type, round func(float64) float64, ftz bool) func(uint64) uint64 {
	low, high := limits(dst)
	top := math.Ldexp(1, bits.Len64(high)) // the first value above the range
	bottom := float64(low)
	value := formatOf(src).value(ftz)
	var nan uint64
	if src == F64 || dst.Bits() == 64 {
		nan = dst.extend(1 << (dst.Bits() - 1))
	}
	return func(a uint64) uint64 {
		x := value(a)
		switch x = round(x); {
		case x != x:
			return nan
		case x >= top:
			return high
		case x < bottom:
			return uint64(low)
		case x >= 1<<63:
			return uint64(x-1<<63) + 1<<63
		}
		return uint64(int64(x))
	}
}

// cvtFloat converts between formats, or rounds to an integer in one.
func cvtFloat(f *form, dst, src Type) (o Op, ok bool) {
	from, to := formatOf(src), formatOf(dst)
	o = Op{Dst: dst, Src: same(src, 1)}
	ftz := (src == F32 || dst == F32) && f.has("ftz")
	m := adjust{f: to, sat: src != BF16 && dst != BF16 && f.has("sat"), relu: src == F32 && f.has("relu")}
	finite := src == F32 && f.has("satfinite")
	integral := f.roundedToInteger()
	nan := cvtNaN(dst, src, ftz, integral != nil)
	value := from.value(ftz && src == F32)
	r, named := f.rounded()
	if !named {
		r = rn
	}
	round := to.rounder(r, ftz && dst == F32)
	switch narrows := to.frac < from.frac || to.emin > from.emin; {
	case integral != nil:
		ok = dst == src && !named
		exact := round
		round = func(x float64) uint64 { return exact(integral(x)) }
	default:
		ok = named == narrows
	}
	o.F1 = func(a uint64) uint64 {
		if from.isNaN(a) {
			return m.out(nan(a))
		}
		v := round(value(a))
		if finite {
			v = to.finite(v)
		}
		return m.out(v)
	}
	return o, ok
}

// cvtNaN is the NaN that a NaN becomes, as an H100 has it.
func cvtNaN(dst, src Type, ftz, integer bool) func(uint64) uint64 {
	from, to := formatOf(src), formatOf(dst)
	shift := to.frac - from.frac
	keep := func(a uint64) uint64 {
		v := a & (from.quiet()<<1 - 1)
		if shift >= 0 {
			v <<= shift
		} else {
			v >>= -shift
		}
		if a&from.sign != 0 {
			v |= to.sign
		}
		return v | to.inf
	}
	switch {
	case src == dst && src == F64 && !integer, src == BF16 && dst == F32, src == F32 && dst == F32 && !ftz && !integer:
		return keep
	case src == F32 && dst == F64 && ftz:
		return func(uint64) uint64 { return keep(fmtF32.nan) }
	case src == F64, dst == F64:
		return func(a uint64) uint64 { return keep(a) | to.quiet() }
	}
	return func(uint64) uint64 { return to.nan }
}

// finite replaces infinity by the largest finite value of its sign:
// .satfinite.
func (f *format) finite(v uint64) uint64 {
	if v&(f.sign-1) == f.inf {
		return v&f.sign | f.max
	}
	return v
}

// cvtTF32 converts f32 to tf32, which is f32 with the lower 13 bits of the
// fraction left out. An H100 treats infinity as another number that .satfinite
// takes down by one step, and with .rna NaNs too.
func cvtTF32(f *form, src Type) (o Op, ok bool) {
	r := f.round(rm)
	out := adjust{f: &fmtTF32, relu: r != rna && f.has("relu")}
	finite := f.has("satfinite")
	o = Op{Dst: TF32, Src: same(src, 1), F1: func(a uint64) uint64 {
		v := fmtTF32.narrow(float64(f32(a)), r)
		if r == rna && fmtF32.isNaN(a) {
			v = a & math.MaxUint32 >> 13
		}
		if finite && v&fmtTF32.inf == fmtTF32.inf {
			v--
		}
		return out.out(v) << 13
	}}
	return o, src == F32 && (r == rn || r == rz || r == rna)
}

// cvtPair converts two values of f32 to a pair of f16 or bf16; the first
// becomes the upper half.
func cvtPair(f *form, dst, src Type) (o Op, ok bool) {
	to := formatOf(dst.half())
	r, named := f.rounded()
	out := adjust{f: to, relu: f.has("relu")}
	finite := f.has("satfinite")
	round := to.rounder(r, false)
	convert := func(a uint64) uint64 {
		v := round(float64(f32(a)))
		if finite {
			v = to.finite(v)
		}
		return out.out(v)
	}
	o = Op{Dst: dst, Src: same(src, 2), F2: func(a, b uint64) uint64 { return convert(a)<<16 | convert(b) }}
	return o, src == F32 && named && (r == rn || r == rz)
}

// cvtE converts to and from pairs of the formats of eight bits.
func cvtE(f *form, dst, src Type) (o Op, ok bool) {
	if r, named := f.rounded(); !named || r != rn {
		return o, false
	}
	relu := f.has("relu")
	if dst == F16x2 {
		value := fmtE5M2.widen
		if src == E4M3x2 {
			value = widenE4M3
		}
		m := adjust{f: &fmtF16, relu: relu}
		convert := func(a uint64) uint64 { return m.out(fmtF16.narrow(value(a&0xff), rn)) }
		return Op{Dst: dst, Src: same(src, 1), F1: func(a uint64) uint64 {
			return convert(a>>8)<<16 | convert(a)
		}}, true
	}
	to := &fmtE4M3
	if dst == E5M2x2 {
		to = &fmtE5M2
	}
	convert := func(x float64) uint64 {
		if x != x {
			return to.nan
		}
		v := to.pack8(x)
		if relu && v&to.sign != 0 {
			return 0
		}
		return v
	}
	o = Op{Dst: dst}
	switch src {
	case F32:
		o.Src = same(src, 2)
		o.F2 = func(a, b uint64) uint64 { return convert(float64(f32(a)))<<8 | convert(float64(f32(b))) }
	case F16x2:
		o.Src = same(src, 1)
		o.F1 = func(a uint64) uint64 {
			return convert(fmtF16.widen(a>>16&0xffff))<<8 | convert(fmtF16.widen(a&0xffff))
		}
	default:
		return o, false
	}
	return o, (dst == E4M3x2 || dst == E5M2x2) && f.has("satfinite")
}

// pack8 rounds a number to a format of eight bits, of which those too large
// become the largest.
func (f *format) pack8(x float64) uint64 {
	v := f.narrow(x, rn)
	if v&(f.sign-1) > f.max {
		v = v&f.sign | f.max
	}
	return v
}

// widenE4M3 is the value of bits of e4m3, which has no infinities and one NaN.
func widenE4M3(v uint64) float64 {
	f := fmtE4M3
	if v&0x7f == f.nan {
		return math.NaN()
	}
	f.inf = f.sign
	return f.widen(v)
}

// buildPack makes cvt.pack: two integers clamped to a smaller type and packed
// into the lower bits, the second lowest, below what there is of c.
func buildPack(f *form) (o Op, ok bool) {
	var size int
	var signed bool
	if small := f.one("u2", "s2", "u4", "s4"); small != "" {
		size, signed = int(small[1]-'0'), small[0] == 's'
	} else if len(f.types) > 0 {
		t := f.types[0]
		if t != U8 && t != S8 && t != U16 && t != S16 {
			return o, false
		}
		size, signed = t.Bits(), t.Signed()
		f.types = f.types[1:]
	}
	if !f.has("sat") || len(f.types) == 0 || f.types[0] != S32 {
		return o, false
	}
	low, high := int64(0), int64(1)<<size-1
	if signed {
		low, high = -1<<(size-1), 1<<(size-1)-1
	}
	mask := uint64(1)<<size - 1
	pack := func(a, b uint64) uint64 {
		x, y := min(max(int64(int32(a)), low), high), min(max(int64(int32(b)), low), high)
		return uint64(x)&mask<<size | uint64(y)&mask
	}
	if size == 16 {
		return Op{Dst: U32, Src: same(S32, 2), F2: pack}, len(f.types) == 1
	}
	return Op{Dst: U32, Src: []Type{S32, S32, B32}, F3: func(a, b, c uint64) uint64 {
		return uint64(uint32(c<<(2*size) | pack(a, b)))
	}}, len(f.types) == 2 && f.types[1] == B32
}
