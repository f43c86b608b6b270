package trace

import (
	"bytes"
	"testing"
	"time"
)

// What the tests of package trace_test need of those of this package.

// CPUTime is the processor time that this process has used.
func CPUTime() time.Duration { return cpuTime() }

// SyntheticTrace is a trace of more than five million made-up events.
type SyntheticTrace struct {
	Name string
	Make func(tb testing.TB) *Reader
}

// SyntheticTraces are the variants that the benchmarks use.
func SyntheticTraces() (all []SyntheticTrace) {
	for _, v := range variants() {
		all = append(all, SyntheticTrace{v.name, v.make})
	}
	return all
}

// SmallSynthetic is one with clocks and tokens of 400,000 events.
func SmallSynthetic(tb testing.TB) *Reader {
	return synthetic{CTAs: 40, Stages: 4, Rounds: 66, Clk: true}.make(tb)
}

func (s synthetic) make(tb testing.TB) *Reader {
	var file bytes.Buffer
	write(tb, &file, s.launch(), s.events(), Options{}, nil)
	r, err := NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		tb.Fatal(err)
	}
	return r
}
