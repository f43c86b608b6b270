package matrix

import (
	"strings"
	"testing"
)

// FuzzLookup: no modifiers make a lookup panic, nor the form that it finds
// when it is done to registers full of any value; an error is one line.
func FuzzLookup(f *testing.F) {
	for _, form := range forms() {
		f.Add(strings.Join(form, "."), uint64(0x7fc0_3c00_ff80_0001))
	}
	for _, mods := range []string{
		"sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32",
		"sync.aligned.m8n8.x4.trans.shared.b16",
		"sync.aligned.m8n8.trans.b16",
		"load.a.sync.aligned.row.m16n16k16.global.f16",
		"load.b.sync.aligned.col.m8n32k16.s8",
		"store.d.sync.aligned.col.m16n16k8.shared.f32",
		"mma.sync.aligned.row.col.m32n8k16.f16.f16",
		"mma.sync.aligned.row.col.m8n8k4.rn.f64.f64.f64.f64",
	} {
		f.Add(mods, uint64(1))
	}
	f.Fuzz(func(t *testing.T, mods string, word uint64) {
		list := strings.Split(mods, ".")
		oneLine := func(err error) bool {
			if err != nil && strings.Contains(err.Error(), "\n") && !strings.Contains(mods, "\n") {
				t.Errorf("more than a line: %v", err)
			}
			return err == nil
		}
		fill := func(n int) []*[32]uint64 {
			regs := empty(n)
			for r, reg := range regs {
				for lane := range reg {
					reg[lane] = word<<(lane%7) ^ uint64(r)
				}
			}
			return regs
		}
		grid := func(n, length int) [][]byte {
			rows := make([][]byte, n)
			for i := range rows {
				rows[i] = make([]byte, length)
			}
			return rows
		}
		if m, err := LookupMma(list); oneLine(err) {
			d := fill(m.D)
			m.Do(d, fill(m.A), fill(m.B), d)
		}
		if l, err := LookupLdMatrix(list); oneLine(err) {
			l.Load(grid(l.Rows(), RowBytes), fill(l.N))
		}
		if s, err := LookupStMatrix(list); oneLine(err) {
			s.Store(grid(s.Rows(), RowBytes), fill(s.N))
		}
		if m, err := LookupMovMatrix(list); oneLine(err) {
			m.Do(fill(1)[0], fill(1)[0])
		}
		if l, err := LookupWmmaLoad(list); oneLine(err) {
			l.Load(grid(l.Lines, l.Elements*l.ElementBytes), fill(l.N))
		}
		if s, err := LookupWmmaStore(list); oneLine(err) {
			s.Store(grid(s.Lines, s.Elements*s.ElementBytes), fill(s.N))
		}
		if m, err := LookupWmmaMma(list); oneLine(err) {
			m.Do(fill(m.D), fill(m.A), fill(m.B), fill(m.C))
		}
	})
}
