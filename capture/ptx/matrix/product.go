package matrix

import (
	"math"
	"math/bits"
)

// product is D = A x B + C over the registers of a warp.
type product struct {
	a, b      operand
	c, d      accumulator
	saturate  bool // integers do not wrap around
	exclusive bool // bits are multiplied by xor, not and
}

// The most elements of a matrix, of any shape; 32 bits are one.
const (
	mostA = 16 * 64
	mostB = 8 * 64
	mostC = 16 * 16
)

// do multiplies and adds. The registers of d may be among the others.
func (p *product) do(d, a, b, c []*[32]uint64) {
	switch p.a.format {
	case f16, bf16, tf32, e4m3, e5m2, f64:
		p.floats(d, a, b, c)
	default:
		p.integers(d, a, b, c)
	}
}

func (p *product) floats(d, a, b, c []*[32]uint64) {
	var am [mostA]float64
	var bm [mostB]float64
	var cm [mostC]float64
	gather(&p.a, am[:], a, format.float)
	gather(&p.b, bm[:], b, format.float)
	take(&p.c, cm[:], c, format.float)
	for i := range cm[:p.c.rows*p.c.cols] {
		x, y := am[i/p.c.cols*p.a.k:][:p.a.k], bm[i%p.c.cols*p.b.k:]
		if p.a.format == f64 {
			cm[i] = dotDouble(x, y, cm[i])
		} else {
			cm[i] = dotFloat(x, y, cm[i])
		}
	}
	put(&p.d, d, cm[:], format.round)
}

// dotFloat adds products that are exact, since they have at most 22 bits.
func dotFloat(a, b []float64, sum float64) float64 {
	b = b[:len(a)]
	for k, x := range a {
		sum += x * b[k]
	}
	return sum
}

func dotDouble(a, b []float64, sum float64) float64 {
	b = b[:len(a)]
	for k, x := range a {
		sum = math.FMA(x, b[k], sum)
	}
	return sum
}

func (p *product) integers(d, a, b, c []*[32]uint64) {
	var am [mostA]int64
	var bm [mostB]int64
	var cm [mostC]int64
	gather(&p.a, am[:], a, format.integer)
	gather(&p.b, bm[:], b, format.integer)
	take(&p.c, cm[:], c, format.integer)
	for i := range cm[:p.c.rows*p.c.cols] {
		x, y := am[i/p.c.cols*p.a.k:][:p.a.k], bm[i%p.c.cols*p.b.k:]
		switch {
		case p.exclusive:
			cm[i] = dotXor(x, y, cm[i])
		case p.a.format == b1:
			cm[i] = dotAnd(x, y, cm[i])
		default:
			cm[i] = dotInteger(x, y, cm[i])
		}
		if p.saturate {
			cm[i] = min(max(cm[i], math.MinInt32), math.MaxInt32)
		}
	}
	put(&p.d, d, cm[:], func(_ format, sum int64) uint64 { return uint64(uint32(sum)) })
}

func dotInteger(a, b []int64, sum int64) int64 {
	b = b[:len(a)]
	for k, x := range a {
		sum += x * b[k]
	}
	return sum
}

func dotAnd(a, b []int64, sum int64) int64 {
	b = b[:len(a)]
	for k, x := range a {
		sum += int64(bits.OnesCount32(uint32(x & b[k])))
	}
	return sum
}

func dotXor(a, b []int64, sum int64) int64 {
	b = b[:len(a)]
	for k, x := range a {
		sum += int64(bits.OnesCount32(uint32(x ^ b[k])))
	}
	return sum
}
