package arith

import (
	"encoding/binary"
	"math"
	"os"
	"strings"
	"testing"
)

// results are the values in a file of testdata, of so many a case.
func results(t *testing.T, name string, cases, each int) []uint64 {
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) != cases*each*8 {
		t.Fatalf("%s has %d bytes, not the %d of the cases: run testdata/h100.ptx on an H100 again", name, len(data), cases*each*8)
	}
	v := make([]uint64, len(data)/8)
	for i := range v {
		v[i] = binary.LittleEndian.Uint64(data[i*8:])
	}
	return v
}

// Every exact instruction gives the bits that an H100 gave, for the operands
// of all threads.
func TestHardware(t *testing.T) {
	var cases []hardwareCase
	for _, c := range hardwareCases() {
		if !c.approx {
			cases = append(cases, c)
		}
	}
	o := newOperands()
	const each = 1 + firstThreads
	all := results(t, "testdata/h100-exact.bin", len(cases), each)
	for i, c := range cases {
		h100 := all[i*each:][:each]
		var sum uint64
		for n := range uint64(threads) {
			v := c.want(o, n)
			if n < firstThreads && v != h100[1+n] {
				t.Errorf("%s, thread %d: %#x, an H100 gives %#x", c.name, n, v, h100[1+n])
			}
			sum += mix(v, n)
		}
		if sum != h100[0] {
			t.Errorf("%s: not all results are those of an H100 (let testdata/h100.ptx keep those of all %d threads to see which)", c.name, threads)
		}
	}
}

// bound is how far an approximation may be from the true value; it is kept if
// one of the three is.
type bound struct {
	ulps     uint64
	rel, abs float64
}

// boundOf is the bound that the ISA gives for an instruction and its operand.
func boundOf(name string, x float64) bound {
	op, _, _ := strings.Cut(name, ".")
	half := strings.Contains(name, ".f16")
	switch op {
	case "div":
		return bound{ulps: 2}
	case "rcp", "rsqrt":
		switch {
		case strings.HasSuffix(name, ".ftz.f64"):
			// None is given: one step of the upper word.
			return bound{ulps: 1 << 32}
		case strings.HasSuffix(name, ".f64"):
			// None is given.
			return bound{ulps: 2}
		case op == "rcp":
			return bound{ulps: 1}
		}
		return bound{rel: math.Exp2(-22.9)}
	case "sqrt":
		return bound{rel: math.Exp2(-23)}
	case "sin", "cos":
		switch {
		case math.Abs(x) <= 2*math.Pi:
			return bound{abs: math.Exp2(-20.5)}
		case math.Abs(x) <= 100*math.Pi:
			return bound{abs: math.Exp2(-14.7)}
		}
		return bound{abs: 2} // best effort
	case "lg2":
		if 0.5 < x && x < 2 {
			return bound{abs: math.Exp2(-22)}
		}
		return bound{rel: math.Exp2(-22)}
	case "ex2":
		switch {
		case half:
			return bound{rel: math.Exp2(-9.9), ulps: 1} // the step of subnormal results
		case strings.Contains(name, ".bf16"):
			return bound{rel: math.Exp2(-7)}
		}
		return bound{ulps: 2}
	case "tanh":
		switch {
		case half:
			return bound{abs: math.Exp2(-10.987)}
		case strings.Contains(name, ".bf16"):
			return bound{abs: math.Exp2(-8)}
		}
		return bound{rel: math.Exp2(-11)}
	}
	return bound{}
}

// Every approximation is as far from an H100's as the ISA allows that to be
// from the true value, of which ours are the nearest; where the result is a
// NaN, an infinity or a zero, it has the same bits.
func TestHardwareApproximations(t *testing.T) {
	var cases []hardwareCase
	for _, c := range hardwareCases() {
		if c.approx {
			cases = append(cases, c)
		}
	}
	o := newOperands()
	all := results(t, "testdata/h100-approx.bin", len(cases), sampleCount)
	for i, c := range cases {
		parts := strings.Split(c.name, ".")
		typ, _ := ParseType(parts[len(parts)-1])
		elem, f, _ := element(typ)
		for n := range uint64(sampleCount) {
			thread := n * sampleStep % threads
			h100, ours, a := all[uint64(i*sampleCount)+n], c.want(o, thread), c.args(o, thread)[0]
			for shift := 0; shift < typ.Bits(); shift += elem.Bits() {
				g, w := elem.extend(h100>>shift), elem.extend(ours>>shift)
				if b := boundOf(c.name, f.value(false)(elem.extend(a>>shift))); !b.holds(f, g, w) {
					t.Errorf("%s of %#x: %#x, an H100 gives %#x", c.name, elem.extend(a>>shift), w, g)
				}
			}
		}
	}
}

// holds reports whether g is as near to w, the rounded true value, as it has
// to be.
func (b bound) holds(f *format, g, w uint64) bool {
	switch {
	case g == w:
		return true
	case f.isNaN(g) || f.isNaN(w):
		return false
	case max(f.order(g), f.order(w))-min(f.order(g), f.order(w)) <= b.ulps:
		return true
	case w&(f.sign-1) == 0 && b.abs == 0 || w&(f.sign-1) == f.inf:
		return false
	}
	x := f.value(false)(w)
	half := math.Abs(f.value(false)(w+1)-x) / 2 // as much the true value may be from w
	if w&(f.sign-1) >= f.max {
		half = 0
	}
	return math.Abs(f.value(false)(g)-x) <= b.rel*math.Abs(x)+b.abs+half
}
