package ptx

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestTokens: the tokens of a line, each as its kind and text.
func TestTokens(t *testing.T) {
	for src, want := range map[string]string{
		"mov.u32 %r1,%tid.x;":                          "I:mov D:.u32 I:%r1 P:, I:%tid D:.x P:;",
		"$L__BB0_1: _ _$x a$b %0":                      "I:$L__BB0_1 P:: I:_ I:_$x I:a$b I:%0",
		".shared::cta.L2::128B .mbarrier::complete::x": "D:.shared::cta D:.L2::128B D:.mbarrier::complete::x",
		"a.1d b.16x64b.x1 c.4x256b d.2d::im2col":       "I:a D:.1d I:b D:.16x64b D:.x1 I:c D:.4x256b I:d D:.2d::im2col",
		"{.5, .05e-3 .1d .3::x a.5 8.0 1. 1e3 1E+5}":   "P:{ F:.5 P:, F:.05e-3 D:.1d D:.3::x I:a D:.5 F:8.0 F:1. F:1e3 F:1E+5 P:}",
		"0 017 0x1F 0XaU 0b101 0B1U 42U":               "N:0 N:017 N:0x1F N:0XaU N:0b101 N:0B1U N:42U",
		"0f3F800000 0Fbf800000 0d3FF0000000000000":     "F:0f3F800000 F:0Fbf800000 F:0d3FF0000000000000",
		`.file 1 "a b" "\"\\"`:                         `D:.file N:1 S:"a b" S:"\"\\"`,
		"a<<b>>c<=d>=e==f!=g&&h||i<j>k&l|m^n!o~p?q:r":  "I:a P:<< I:b P:>> I:c P:<= I:d P:>= I:e P:== I:f P:!= I:g P:&& I:h P:|| I:i P:< I:j P:> I:k P:& I:l P:| I:m P:^ I:n P:! I:o P:~ I:p P:? I:q P:: I:r",
		"7 % 3 %r<8> -%x +-8 @!%p":                     "N:7 P:% N:3 I:%r P:< N:8 P:> P:- I:%x P:+ P:- N:8 P:@ P:! I:%p",
		"a//b\n/*c*/d/e":                               "I:a I:d P:/ I:e",
	} {
		toks, errs := lex("f.ptx", src)
		var got []string
		for _, tok := range toks[:len(toks)-1] {
			got = append(got, fmt.Sprintf("%c:%s", "?IDNFSP"[tok.Kind], tok.Text))
		}
		if s := strings.Join(got, " "); s != want || len(errs) > 0 {
			t.Errorf("%s\ngot  %s\nwant %s\n%v", src, s, want, errs)
		}
	}
}

// TestPos: lines and columns are counted in bytes, across comments and both
// kinds of line ends.
func TestPos(t *testing.T) {
	toks, errs := lex("f.ptx", "a\r\n  b /* é\n\n */ c// d\n\te")
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	want := []Pos{{0, 1, 1}, {5, 2, 3}, {18, 4, 5}, {25, 5, 2}, {26, 5, 3}}
	for i, tok := range toks {
		if tok.Pos != want[i] {
			t.Errorf("token %d %q is at %+v, want %+v", i, tok.Text, tok.Pos, want[i])
		}
	}
}

// soup draws pieces of PTX in any order.
func soup(t *rapid.T) string {
	pieces := []string{".version", "8.0", ".target", "sm_90", ".entry", ".func", "k", "(", ")", "{", "}", "[", "]", ";", ",", ":", "@",
		"!", "|", "+", "-", "*", "/", "<", ">", "=", "?", "%", ".reg", ".b32", ".u64", ".pred", ".param", ".shared", ".global", ".align",
		"%r", "%r1", "%p", "x", "_", "0", "1", "16", "0x10", "1.5", "0f3F800000", `"s"`, ".pragma", ".loc", ".file", ".section",
		".branchtargets", ".callprototype", "call", "bra", "mov", "ret", "generic", "WARP_SZ", "{1,2}", "%r<4>", " ", "\n", "\t",
		"// c\n", "/* c */", "\r\n", "\x00", ".v4", ".ptr", ".maxntid", ".alias", ".extern", ".s64", "(.u64)", "\"", "/*", "é"}
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 60).Draw(t, "pieces"), "")
}

// TestLossless: the tokens of any text are the text, and stand where they say,
// as long as it has not too many errors to go on.
func TestLossless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := soup(t)
		toks, errs := lex("f.ptx", src)
		if len(errs) == maxErrors {
			return
		}
		m := &Module{Tokens: toks}
		if got := string(m.Source()); got != src {
			t.Fatalf("%q comes out as %q", src, got)
		}
		for i, tok := range toks {
			before := src[:tok.Pos.Offset]
			at := Pos{len(before), strings.Count(before, "\n") + 1, len(before) - strings.LastIndex(before, "\n")}
			if tok.Pos != at || !strings.HasPrefix(src[at.Offset:], tok.Text) {
				t.Fatalf("token %d %q of %q says %+v, not %+v", i, tok.Text, src, tok.Pos, at)
			}
			if (tok.Kind == TokenEOF) != (i == len(toks)-1) {
				t.Fatalf("token %d of %d ends the file", i, len(toks))
			}
		}
	})
}

// TestSoup: text that looks like PTX ends in a tree or in errors, and a tree
// prints as the text.
func TestSoup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := head + ".entry k() {" + soup(t)
		if rapid.Bool().Draw(t, "module") {
			src = head + soup(t)
		}
		check(t, []byte(src))
	})
}

// check parses and resolves any text, and looks whether what comes out holds
// together.
func check(t rapid.TB, src []byte) {
	m, err := Parse("f.ptx", src)
	if err != nil {
		wellFormed(t, err)
		return
	}
	if got := m.Source(); string(got) != string(src) {
		t.Fatalf("%q prints as %q", src, got)
	}
	within(t, m)
	if err := Resolve(m); err != nil {
		wellFormed(t, err)
		return
	}
	before := treeOf(m)
	if err := Resolve(m); err != nil || treeOf(m) != before {
		t.Fatalf("resolving again makes a difference: %v", err)
	}
	for _, d := range m.Decls {
		if f, ok := d.(*Function); ok {
			for i, r := range f.Registers {
				if r.Index != i || r.Kind != SymRegister || r.Function != f || r.Variable == nil {
					t.Fatalf("register %d of %s is %+v", i, f.Name, r)
				}
			}
		}
	}
}

func wellFormed(t rapid.TB, err error) {
	errs, ok := err.(Errors)
	if !ok || len(errs) == 0 || len(errs) > maxErrors {
		t.Fatalf("%d errors of type %T", len(errs), err)
	}
	if !slices.IsSortedFunc(errs, func(a, b *SyntaxError) int { return a.Pos.Offset - b.Pos.Offset }) {
		t.Fatalf("out of order: %v", err)
	}
	for _, e := range errs {
		if strings.ContainsAny(e.Msg, "\n\x00") || e.Msg == "" || e.Pos.Line < 1 || e.Pos.Col < 1 {
			t.Fatalf("%+v", e)
		}
	}
}

// within checks that the parts of a module are within their tokens and in
// order, and that there are not many more than tokens.
func within(t rapid.TB, m *Module) {
	parts := 0
	inside := func(n interface{ Span() (int, int) }, first, last int) {
		parts++
		if a, b := n.Span(); a < first || b > last || a > b {
			t.Fatalf("%T spans tokens %d to %d, in %d to %d", n, a, b, first, last)
		}
	}
	var operands func(os []Operand, first, last int)
	operands = func(os []Operand, first, last int) {
		for _, o := range os {
			inside(o, first, last)
			first, end := o.Span() // operands are in order
			switch o := o.(type) {
			case *Vector:
				operands(o.Elems, first+1, end-1)
			case *List:
				operands(o.Elems, first+1, end-1)
			case *Not:
				operands([]Operand{o.X}, first+1, end)
			case *Pair:
				operands([]Operand{o.A, o.B}, first, end)
			case *Address:
				operands(append([]Operand{o.Base}, o.Coordinates...), first+1, end-1)
			}
		}
	}
	var block func(b *Block)
	block = func(b *Block) {
		first, last := b.Span()
		for _, s := range b.Statements {
			inside(s, first+1, last-1)
			switch s := s.(type) {
			case *Block:
				block(s)
			case *Variable:
				parts += len(s.Init)
			case *Instruction:
				operands(s.Operands, s.First+1, s.Last-1)
			}
			if _, ok := s.(*Variable); !ok {
				_, first = s.Span()
			}
		}
	}
	for _, d := range m.Decls {
		inside(d, 0, len(m.Tokens)-2)
		switch d := d.(type) {
		case *Function:
			if d.Body != nil {
				block(d.Body)
			}
		case *Variable:
			parts += len(d.Init)
		}
	}
	if parts > 3*len(m.Tokens)+maxGrowth {
		t.Fatalf("%d parts of %d tokens", parts, len(m.Tokens))
	}
}
