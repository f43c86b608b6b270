package interp_test

import (
	"fmt"
	"strings"
	"testing"

	"btrace/capture/emu"
	"btrace/capture/ptx/interp"
	"btrace/trace"
)

// TestLargeModules: what compiling does for each of many things does not grow
// with their product, and what it gives up for that changes nothing.
func TestLargeModules(t *testing.T) {
	const n = 4000
	for _, c := range []struct {
		name    string
		write   func(b *strings.Builder)
		outcome trace.Outcome
	}{
		{"blocks that go back, one to the other", func(b *strings.Builder) {
			fmt.Fprintf(b, ".entry k() { .reg .u32 %%r<%d>; .reg .pred p; bra l%d;\n", n+2, n)
			for i := range n + 1 {
				fmt.Fprintf(b, "l%d: add.u32 %%r%d, %%r%d, 1; @!p bra l%d; ret;\n", i, i, i+1, max(i-1, 0))
			}
			b.WriteString("}")
		}, trace.OutcomeHung},
		{"as many tables of branches as they have targets", func(b *strings.Builder) {
			b.WriteString(".entry k() { .reg .u32 r;\nt: .branchtargets l0")
			for i := range n {
				fmt.Fprintf(b, ", l%d", i+1)
			}
			b.WriteString(";\nmov.u32 r, 4000;\n")
			for i := range n + 1 {
				fmt.Fprintf(b, "l%d: sub.u32 r, r, 1; brx.idx r, t;\n", i)
			}
			b.WriteString("}")
		}, "trap:illegal instruction"},
		{"tests of mbarriers before much that follows", func(b *strings.Builder) {
			b.WriteString(".shared .align 8 .b64 bar; .entry k() { .reg .u32 %r<2000>; .reg .pred p, %q<2000>;\n")
			b.WriteString(strings.Repeat("mbarrier.test_wait.parity.shared.b64 p, [bar], 1;\n", n))
			for i := range 1000 {
				fmt.Fprintf(b, "mov.u32 %%r%d, %d;\n", i, i)
			}
			for i := range 1000 {
				fmt.Fprintf(b, "@%%q%d bra l;\n", i)
			}
			b.WriteString("l: ret; }")
		}, trace.OutcomeCompleted},
		{"functions that may all call each other", func(b *strings.Builder) {
			for i := range n {
				fmt.Fprintf(b, ".func f%d(.reg .b64 x);\n", i)
			}
			for i := range n {
				fmt.Fprintf(b, ".func f%d(.reg .b64 x) { .reg .b64 d; .reg .pred p; setp.eq.u64 p, x, 0; @p ret; mov.b64 d, f%d; call d, (0), t; t: .callprototype _ (.reg .b64 _); ret; }\n", i, (i*7+1)%n)
			}
			b.WriteString(".entry k() { call f0, (1); ret; }")
		}, trace.OutcomeCompleted},
		{"more values at the same time than are analysed", func(b *strings.Builder) {
			fmt.Fprintf(b, ".entry k() { .reg .u32 %%r<%d>, x; .reg .pred p;\n", 3*n)
			for i := range 3 * n {
				fmt.Fprintf(b, "m%d: mov.u32 %%r%d, %d; @p bra m%d;\n", i, i, i, i)
			}
			for i := range 3 * n {
				fmt.Fprintf(b, "l%d: add.u32 x, %%r%d, 0; setp.ne.u32 p, x, %d; @p trap;\n", i, i, i)
			}
			b.WriteString("}")
		}, trace.OutcomeCompleted},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			c.write(&b)
			res, _ := start(t, kernel(t, b.String()), emu.Config{StepBudget: 100000})
			if res.Outcome != c.outcome {
				t.Errorf("%s: %s, want %s", res.Outcome, res.Fault, c.outcome)
			}
		})
	}
	m := module(t, ".entry k() {\n"+strings.Repeat("frob;\n", n)+"}")
	if err := interp.Check(m); err == nil || !strings.HasSuffix(err.Error(), "; and 3995 more") {
		t.Errorf("%.300v", err)
	}
}
