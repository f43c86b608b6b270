package ptx

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// constantOf is the value of an expression in a .u64 variable.
func constantOf(t rapid.TB, expr string) uint64 {
	t.Helper()
	m, err := Parse("f.ptx", []byte(head+".global .u64 x = "+expr+";"))
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	return m.Decls[3].(*Variable).Init[0].Value
}

// TestConstants: PTX ISA, "Integer Constant Expression Evaluation".
func TestConstants(t *testing.T) {
	for expr, want := range map[string]int64{
		"42": 42, "0x1F": 31, "017": 15, "0b110": 6, "42U": 42, "WARP_SZ": 32, "+1": 1, "-(-42)": 42, "-1U": -1,
		"~0": -1, "~0 / 2": 1<<63 - 1, // ~ is unsigned
		"!0": 1, "!-5": 0, "!!7": 1, "-!0": -1,
		"7 / 2": 3, "-7 / 2": -3, "-7 / 2U": (1<<64 - 7) / 2, "-1 % 10": (1<<64 - 1) % 10,
		"(.u64)-1 / 2": 1<<63 - 1, "(.s64)(.u64)-8 / 2": -4, "(.s64)0xFFFFFFFFFFFFFFF8 / 2": -4,
		"0x8000000000000000 / -1":         0,        // unsigned, by its magnitude
		"(.s64)0x8000000000000000 / -1":   -1 << 63, // wraps
		"-8 >> 1":                         -4,
		"(.u64)-8 >> 1":                   (1<<64 - 8) >> 1,
		"-8 >> 1U":                        -4, // the type of the left one
		"1 << 63 >> 63":                   -1,
		"1 << 64":                         0,
		"-1 >> 100":                       -1,
		"-1 < 0":                          1,
		"-1 < 0U":                         0, // both unsigned
		"-1 > 0 == 0":                     1,
		"2 <= 2 && 3 >= 4 || 5 != 5":      0,
		"1 + 2 * 3 - 4 / 2":               5,
		"1 | 2 ^ 3 & 4":                   3,
		"1 << 2 + 1":                      8,
		"10 - 3 - 2":                      5,
		"100 / 10 / 5":                    2,
		"1 ? 2 : 3":                       2,
		"0 ? 2 : 0 ? 3 : 4":               4,
		"1 ? 0 ? 5 : 6 : 7":               6,
		"(1 ? -1 : 0U) / 2":               1<<63 - 1, // both alternatives convert
		"1.5 < 2.5":                       1,
		"1.5 == 1.5 ? 7 : 8":              7,
		"2. * .5 >= 1e0":                  1,
		"0d3FF0000000000000 != 1.0":       0,
		"0f3F800000 == 1.0":               1,
		"-(1 + 2) * (3 - (4 + 5))":        18,
		"(.s64) - 1":                      -1,
		"9223372036854775807 + 1 < 0":     1, // signed, and wraps
		"9223372036854775808 - 1 < 0":     0,
		"0xFFFFFFFFFFFFFFFF > 1 && 1":     1,
		"0xfabc123400000000 >> 32 == 5":   0,
		"(0x80000000 | 1) == 2147483649U": 1,
	} {
		if got := constantOf(t, expr); got != uint64(want) {
			t.Errorf("%s is %d, want %d", expr, int64(got), want)
		}
	}
}

// TestPrecedence: an expression means the same with all of its parentheses and
// with only those that C needs.
func TestPrecedence(t *testing.T) {
	levels := [][]string{{"||"}, {"&&"}, {"|"}, {"^"}, {"&"}, {"==", "!="}, {"<", ">", "<=", ">="}, {"<<", ">>"}, {"+", "-"}, {"*"}}
	type text struct {
		full, bare string
		level      int // of its operator; above all for what needs no parentheses
	}
	const unary, primary = 20, 21
	var draw func(t *rapid.T, depth int) text
	draw = func(t *rapid.T, depth int) text {
		wrap := func(x text, least int) string {
			if x.level < least {
				return "(" + x.bare + ")"
			}
			return x.bare
		}
		switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
		case depth == 0 || kind == 0:
			n := rapid.SampledFrom([]string{"0", "1", "2", "3U", "63", "0xFFFFFFFFFFFFFFFF", "0b11", "017"}).Draw(t, "n")
			return text{n, n, primary}
		case kind == 1:
			op := rapid.SampledFrom([]string{"-", "+", "~", "!", "(.s64)", "(.u64)"}).Draw(t, "op")
			x := draw(t, depth-1)
			return text{op + "(" + x.full + ")", op + " " + wrap(x, unary), unary}
		case kind == 2:
			c, a, b := draw(t, depth-1), draw(t, depth-1), draw(t, depth-1)
			return text{
				fmt.Sprintf("((%s) ? (%s) : (%s))", c.full, a.full, b.full),
				fmt.Sprintf("%s ? %s : %s", wrap(c, 0), a.bare, b.bare),
				-1,
			}
		default:
			level := rapid.IntRange(0, len(levels)-1).Draw(t, "level")
			op := rapid.SampledFrom(levels[level]).Draw(t, "op")
			a, b := draw(t, depth-1), draw(t, depth-1)
			return text{
				fmt.Sprintf("((%s) %s (%s))", a.full, op, b.full),
				fmt.Sprintf("%s %s %s", wrap(a, level), op, wrap(b, level+1)),
				level,
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		x := draw(t, 4)
		full, bare := constantOf(t, x.full), constantOf(t, x.bare)
		if full != bare {
			t.Fatalf("%s is %d, %s is %d", x.full, full, x.bare, bare)
		}
	})
}
