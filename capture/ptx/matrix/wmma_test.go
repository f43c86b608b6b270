package matrix

import (
	"strings"
	"testing"
)

func TestLookupWmma(t *testing.T) {
	for _, c := range []struct {
		mods                       string
		n, lines, elements, nbytes int
	}{
		{"load.a.sync.aligned.row.m16n16k16.shared.f16", 8, 16, 16, 2},
		{"load.a.sync.aligned.row.m8n32k16.global.f16", 8, 8, 16, 2},
		{"load.b.sync.aligned.row.m8n32k16.global.bf16", 8, 16, 32, 2},
		{"load.b.sync.aligned.col.m32n8k16.bf16", 2, 8, 16, 2},
		{"load.a.sync.aligned.col.m16n16k8.shared::cta.tf32", 4, 8, 16, 4},
		{"load.b.sync.aligned.col.m8n32k16.u8", 4, 32, 16, 1},
		{"load.c.sync.aligned.row.m16n16k8.f32", 8, 16, 16, 4},
		{"load.c.sync.aligned.col.m32n8k16.f16", 4, 8, 32, 2},
		{"load.c.sync.aligned.row.m8n8k4.f64", 2, 8, 8, 8},
		{"store.d.sync.aligned.row.m8n32k16.shared.s32", 8, 8, 32, 4},
	} {
		mods := strings.Split(c.mods, ".")
		var tile Tile
		var n int
		if mods[0] == "load" {
			l, err := LookupWmmaLoad(mods)
			if err != nil {
				t.Error(err)
			}
			tile, n = l.Tile, l.N
		} else {
			s, err := LookupWmmaStore(mods)
			if err != nil {
				t.Error(err)
			}
			tile, n = s.Tile, s.N
		}
		if n != c.n || tile.Lines != c.lines || tile.Elements != c.elements || tile.ElementBytes != c.nbytes {
			t.Errorf("wmma.%s: %d registers, %d lines of %d elements of %d bytes; want %d, %d, %d, %d",
				c.mods, n, tile.Lines, tile.Elements, tile.ElementBytes, c.n, c.lines, c.elements, c.nbytes)
		}
	}
}

func TestLookupWmmaMma(t *testing.T) {
	for _, c := range []struct {
		mods       string
		d, a, b, c int
	}{
		{"mma.sync.aligned.row.col.m16n16k16.f32.f16", 8, 8, 8, 4},
		{"mma.sync.aligned.col.row.m32n8k16.f16.f16", 4, 8, 8, 4},
		{"mma.sync.aligned.row.col.m8n32k16.f32.bf16.bf16.f32", 8, 2, 8, 8},
		{"mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32", 8, 4, 4, 8},
		{"mma.sync.aligned.row.col.m32n8k16.s32.u8.u8.s32.satfinite", 8, 4, 1, 8},
		{"mma.sync.aligned.row.col.m8n8k4.rn.f64.f64.f64.f64", 2, 1, 1, 2},
		{"mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64", 2, 1, 1, 2},
	} {
		m, err := LookupWmmaMma(strings.Split(c.mods, "."))
		if err != nil {
			t.Error(err)
			continue
		}
		if m.D != c.d || m.A != c.a || m.B != c.b || m.C != c.c {
			t.Errorf("wmma.%s: registers of D, A, B, C: %d %d %d %d, want %d %d %d %d", c.mods, m.D, m.A, m.B, m.C, c.d, c.a, c.b, c.c)
		}
	}
}

func TestLookupWmmaRefuses(t *testing.T) {
	for _, c := range []struct{ mods, want string }{
		{"", "not covered"},
		{"load", "not covered"},
		{"load.a.sync.aligned.row.m16n16k16", "not covered"},
		{"load.a.sync.aligned.row.m16n16k16.local.f16", "not covered"},
		{"load.a.sync.aligned.diagonal.m16n16k16.f16", "no layout .diagonal"},
		{"load.a.sync.aligned.row.m16n8k16.f16", "no shape .m16n8k16 of .f16"},
		{"load.b.sync.aligned.row.m16n16k16.f32", "no shape .m16n16k16 of .f32"},
		{"load.c.sync.aligned.row.m16n16k16.s8", "no shape .m16n16k16 with sums in .s8"},
		{"load.d.sync.aligned.row.m16n16k16.f16", "no matrix .d"},
		{"store.c.sync.aligned.row.m16n16k16.f16", "no matrix .c"},
		{"mma.sync.aligned.row.col.m16n16k16", "not covered"},
		{"mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", "not covered"},
		{"mma.sync.aligned.row.diagonal.m16n16k16.f32.f32", "no layout .diagonal"},
		{"mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16", "want the types"},
		{"mma.sync.aligned.row.col.m16n16k16.f32.bf16.f16.f32", "no products of .bf16 and .f16"},
		{"mma.sync.aligned.row.col.m16n16k16.s32.s32", "no sums of .f16 in .s32"},
		{"mma.sync.aligned.row.col.m16n16k16.f32.f32.satfinite", ".satfinite is covered for integers only"},
		{"mma.sync.aligned.row.col.m8n8k4.rn.f64", "want the types"},
		{"mma.sync.aligned.row.col.m8n8k4.rm.f64.f64.f64.f64", "want the types"},
	} {
		mods := strings.Split(c.mods, ".")
		var err error
		switch mods[0] {
		case "mma":
			_, err = LookupWmmaMma(mods)
		case "store":
			_, err = LookupWmmaStore(mods)
		default:
			_, err = LookupWmmaLoad(mods)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("wmma.%s: %v, want %q", c.mods, err, c.want)
		}
	}
}
