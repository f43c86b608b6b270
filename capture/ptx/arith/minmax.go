package arith

import (
	"fmt"
	"slices"
	"strings"
)

// buildSign makes abs and neg of any type.
func buildSign(f *form) (o Op, ok bool) {
	t := f.only()
	elem, fm, ok := element(t)
	if !ok {
		return buildInteger(f)
	}
	m := adjust{f: fm, ftz: (elem == F32 || elem == F16) && f.has("ftz")}
	and, xor := fm.sign-1, uint64(0)
	if f.name == "neg" {
		and, xor = fm.sign<<1-1, fm.sign
	}
	o = Op{Dst: t, Src: same(t, 1), F1: m.f1(func(a uint64) uint64 {
		if fm.isNaN(a) {
			if elem == F64 {
				return quietNaN(a, a)
			}
			return fm.nan
		}
		return a&and ^ xor
	})}
	if elem != t {
		o.F1 = halves1(o.F1)
	}
	return o, true
}

// buildMinMax makes min and max of any type.
func buildMinMax(f *form) (o Op, ok bool) {
	t := f.only()
	elem, fm, ok := element(t)
	if !ok {
		return buildMinMaxInteger(f)
	}
	m := adjust{f: fm, ftz: (elem == F32 || elem == F16) && f.has("ftz")}
	p := pick{f: fm, max: f.name == "max"}
	if elem != F64 {
		p.nan = f.has("NaN")
		p.xorsign = f.has("xorsign")
		p.abs = f.has("abs")
	}
	o = Op{Dst: t, Src: same(t, 2), F2: m.f2(p.of)}
	if elem == F32 && !p.abs && !p.xorsign {
		o.F2 = m.f2(p.of32)
	}
	if p.abs && !p.xorsign && t == F32 {
		return threeInput(o.F2), true
	}
	if elem != t {
		o.F2 = halves(o.F2)
	}
	return o, p.abs == p.xorsign
}

// ThreeInput finds min and max of f32 with three sources, which have the name
// and the modifiers of those with two (but .abs, which is always theirs). The
// error is as Lookup's.
func ThreeInput(op string, mods []string) (Op, error) {
	o, err := Lookup(op, mods)
	if err == nil && (op != "min" && op != "max" || o.Dst != F32 || slices.Contains(mods, "xorsign")) {
		err = fmt.Errorf("%w: %s.%s has no form with three sources", ErrUnknown, op, strings.Join(mods, "."))
	}
	if err != nil {
		return Op{}, err
	}
	if o.F2 != nil {
		o = threeInput(o.F2)
	}
	return o, nil
}

func threeInput(f func(a, b uint64) uint64) Op {
	return Op{Dst: F32, Src: same(F32, 3), F3: func(a, b, c uint64) uint64 { return f(f(a, b), c) }}
}

// pick is min or max.
type pick struct {
	f       *format
	max     bool
	nan     bool // .NaN: if either is NaN, so is the result
	abs     bool // .abs: of the magnitudes
	xorsign bool // .xorsign: the sign is the exclusive or of the signs
}

func (p *pick) of(a, b uint64) uint64 {
	f := p.f
	mask := f.sign<<1 - 1
	a, b = a&mask, b&mask
	sign := (a ^ b) & f.sign
	if p.abs {
		a, b = a&^f.sign, b&^f.sign
	}
	an, bn := f.isNaN(a), f.isNaN(b)
	d := a
	switch {
	case an && bn && f == &fmtF64:
		return quietNaN(b, a)
	case an && bn, p.nan && (an || bn):
		return f.nan
	case an:
		d = b
	case bn:
	case p.max == (f.order(a) < f.order(b)):
		d = b
	}
	if p.xorsign {
		d = d&^f.sign | sign
	}
	return d
}

// of32 is of for f32 without .abs and .xorsign.
func (p *pick) of32(a, b uint64) uint64 {
	x, y := f32(a), f32(b)
	switch {
	case x < y != p.max && x != y && x == x && y == y:
		return uint64(uint32(a))
	case x != y && x == x && y == y:
		return uint64(uint32(b))
	}
	return p.of(a, b)
}

// order maps numbers of the format to integers of the same order, in which
// -0 is below +0.
func (f *format) order(v uint64) uint64 {
	if v&f.sign != 0 {
		return f.sign - 1 - v&^f.sign
	}
	return v | f.sign
}

// buildCopysign makes copysign: b with the sign of a.
func buildCopysign(f *form) (o Op, ok bool) {
	t := f.only()
	if t != F32 && t != F64 {
		return o, false
	}
	sign := formatOf(t).sign
	return Op{Dst: t, Src: same(t, 2), F2: func(a, b uint64) uint64 {
		return a&sign | b&(sign-1)
	}}, true
}
