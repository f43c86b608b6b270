package matrix

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestLookupMoves(t *testing.T) {
	for _, c := range []struct {
		mods  string
		n     int
		trans bool
	}{
		{"sync.aligned.m8n8.x1.shared.b16", 1, false},
		{"sync.aligned.m8n8.x2.trans.shared::cta.b16", 2, true},
		{"sync.aligned.m8n8.x4.trans.b16", 4, true},
		{"sync.aligned.m8n8.x4.b16", 4, false},
		// Refused:
		{"", 0, false},
		{"sync.aligned.m8n8.b16", 0, false},
		{"sync.aligned.m8n8.x3.shared.b16", 0, false},
		{"sync.aligned.m8n8.x4.shared.trans.b16", 0, false},
		{"sync.aligned.m8n8.x4.global.b16", 0, false},
		{"sync.aligned.m8n8.x4.shared.b8", 0, false},
		{"sync.aligned.m8n8.x4.shared.b16.b16", 0, false},
		{"sync.aligned.m16n16.x1.trans.shared.b8", 0, false},
		{"aligned.m8n8.x4.shared.b16", 0, false},
	} {
		mods := strings.Split(c.mods, ".")
		l, errL := LookupLdMatrix(mods)
		s, errS := LookupStMatrix(mods)
		if (errL == nil) != (c.n > 0) || (errS == nil) != (c.n > 0) {
			t.Errorf("%q: %v, %v", c.mods, errL, errS)
		}
		if l != (LdMatrix{c.n, c.trans}) || s != (StMatrix{c.n, c.trans}) || l.Rows() != 8*c.n || s.Rows() != 8*c.n {
			t.Errorf("%q: %+v and %+v", c.mods, l, s)
		}
	}
	for mods, ok := range map[string]bool{"sync.aligned.m8n8.trans.b16": true, "sync.aligned.m8n8.b16": false, "": false} {
		if _, err := LookupMovMatrix(strings.Split(mods, ".")); (err == nil) != ok {
			t.Errorf("movmatrix.%s: %v", mods, err)
		}
	}
}

// TestMoves: what ldmatrix loads stmatrix stores again, and a matrix that one
// of them transposed movmatrix transposes back.
func TestMoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "n")
		memory := rapid.SliceOfN(rapid.Byte(), 8*n*RowBytes, 8*n*RowBytes).Draw(t, "memory")
		trans := rapid.Bool().Draw(t, "trans")
		rows := func(memory []byte) (rows [][]byte) {
			for len(memory) > 0 {
				rows, memory = append(rows, memory[:RowBytes]), memory[RowBytes:]
			}
			return rows
		}
		regs := empty(n)
		LdMatrix{n, trans}.Load(rows(memory), regs)
		stored := make([]byte, len(memory))
		StMatrix{n, trans}.Store(rows(stored), regs)
		if !bytes.Equal(stored, memory) {
			t.Fatalf("stored\n%x, loaded\n%x", stored, memory)
		}
		for _, reg := range regs {
			MovMatrix{}.Do(reg, reg)
		}
		StMatrix{n, !trans}.Store(rows(stored), regs)
		if !bytes.Equal(stored, memory) {
			t.Fatalf("stored the transpose\n%x, loaded\n%x", stored, memory)
		}
	})
}
