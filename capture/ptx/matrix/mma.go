package matrix

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Mma is one form of mma.sync: D = A x B + C of matrices of M x K, K x N and
// M x N elements (PTX ISA, "mma").
type Mma struct {
	D, A, B, C int // registers that a lane holds of each operand: of 64 bits for .f64, else of 32

	product product
}

// Do multiplies and adds. Each operand is as many registers as the field of
// its name says. The registers of d may be among the others.
func (m *Mma) Do(d, a, b, c []*[32]uint64) { m.product.do(d, a, b, c) }

// shapesOf lists the shapes of the products of elements of a type.
func shapesOf(f format) []string {
	switch f {
	case f16, bf16:
		return []string{"m16n8k8", "m16n8k16"}
	case tf32:
		return []string{"m16n8k4", "m16n8k8"}
	case e4m3, e5m2:
		return []string{"m16n8k16", "m16n8k32"}
	case f64:
		return []string{"m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"}
	case s8, u8:
		return []string{"m8n8k16", "m16n8k16", "m16n8k32"}
	case s4, u4:
		return []string{"m8n8k32", "m16n8k32", "m16n8k64"}
	case b1:
		return []string{"m8n8k128", "m16n8k128", "m16n8k256"}
	}
	return nil
}

// accumulatorsOf lists the types that such products are added in.
func accumulatorsOf(f format) []format {
	switch f {
	case f16, e4m3, e5m2:
		return []format{f16, f32}
	case bf16, tf32:
		return []format{f32}
	case f64:
		return []format{f64}
	}
	return []format{s32}
}

// multiply reports whether A and B may be of these types.
func multiply(a, b format) bool {
	switch a {
	case s8, u8:
		return b == s8 || b == u8
	case s4, u4:
		return b == s4 || b == u4
	case e4m3, e5m2:
		return b == e4m3 || b == e5m2
	}
	return a == b
}

// LookupMma is the form of mma that has these modifiers, in their order:
// sync, aligned, the shape, row, col, satfinite of integers if it is wanted,
// the types of D, A, B and C, and for bits xor or and, and popc.
func LookupMma(mods []string) (Mma, error) {
	p, err := parseMma(mods)
	if err != nil {
		return Mma{}, fmt.Errorf("mma.%s: %w", strings.Join(mods, "."), err)
	}
	return Mma{D: p.d.regs(), A: p.a.regs, B: p.b.regs, C: p.c.regs(), product: p}, nil
}

func parseMma(mods []string) (p product, err error) {
	if len(mods) < 9 || mods[0] != "sync" || mods[1] != "aligned" {
		return p, errors.New("not covered: want .sync.aligned.SHAPE.row.col and the types of D, A, B and C")
	}
	shape, types := mods[2], mods[5:]
	if types[0] == "satfinite" {
		p.saturate, types = true, types[1:]
	}
	if len(types) < 4 {
		return p, errors.New("want the types of D, A, B and C")
	}
	d, a, b, c := formatNamed(types[0]), formatNamed(types[1]), formatNamed(types[2]), formatNamed(types[3])
	rest := types[4:]
	switch {
	case !slices.Contains(shapesOf(a), shape):
		return p, fmt.Errorf("no shape .%s of .%s is covered", shape, types[1])
	case mods[3] != "row" || mods[4] != "col":
		return p, errors.New("want the layouts .row.col")
	case !multiply(a, b):
		return p, fmt.Errorf("no products of .%s and .%s", types[1], types[2])
	case d != c || !slices.Contains(accumulatorsOf(a), d):
		return p, fmt.Errorf("no sums of .%s in .%s and .%s", types[1], types[0], types[3])
	case p.saturate && (d != s32 || a == b1):
		return p, errors.New(".satfinite is for integers")
	case a == b1:
		if len(rest) != 2 || rest[0] != "xor" && rest[0] != "and" || rest[1] != "popc" {
			return p, errors.New("want .xor.popc or .and.popc of bits")
		}
		p.exclusive = rest[0] == "xor"
	case len(rest) > 0:
		return p, fmt.Errorf(".%s follows the types", rest[0])
	}
	m, n, k := sizes(shape)
	p.a = newOperand(a, m, k, m/8)
	p.b = newOperand(b, n, k, 1)
	p.c = newAccumulator(c, m, n, false)
	p.d = p.c
	return p, nil
}

// sizes is what the name of a known shape says.
func sizes(shape string) (m, n, k int) {
	fmt.Sscanf(shape, "m%dn%dk%d", &m, &n, &k)
	return m, n, k
}
