package ptx

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// naming is the scopes as a simple model: every name of every range written
// out.
type naming []map[string]string // the declaration of each name, innermost last

func (n naming) find(name string) string {
	for i := len(n) - 1; i >= 0; i-- {
		if d, ok := n[i][name]; ok {
			return d
		}
	}
	return ""
}

// TestScopes: names and ranges in nested braces resolve as in the model, and
// what the model has twice in a scope is an error.
func TestScopes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var src strings.Builder
		var want []string // the declaration of each use
		model := naming{{}}
		twice := false
		draw := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
		for i := range rapid.IntRange(1, 40).Draw(t, "statements") {
			top := model[len(model)-1]
			decl := fmt.Sprintf("%d", i+6) // the line that it is on
			switch draw("kind", "open", "close", "name", "range", "use", "use", "use") {
			case "open":
				src.WriteString("{")
				model = append(model, map[string]string{})
			case "close":
				if len(model) > 1 {
					src.WriteString("}")
					model = model[:len(model)-1]
				}
			case "name":
				name := draw("name", "a", "a1", "a2", "a12", "a01", "a10", "a120", "b1")
				twice = twice || top[name] != ""
				top[name] = decl
				fmt.Fprintf(&src, ".reg .b32 %s;", name)
			case "range":
				name, n := draw("range", "a", "a1", "a0", "a12", "b"), rapid.IntRange(1, 130).Draw(t, "n")
				for j := range n {
					member := fmt.Sprint(name, j)
					twice = twice || top[member] != ""
					top[member] = decl
				}
				fmt.Fprintf(&src, ".reg .b32 %s<%d>;", name, n)
			case "use":
				name := draw("use", "a", "a1", "a2", "a10", "a12", "a120", "a129", "a01", "a00", "b1", "b129", "b130")
				if d := model.find(name); d != "" {
					want = append(want, d)
					fmt.Fprintf(&src, "mov.b32 %s, %s;", name, name)
				}
			}
			src.WriteString("\n")
		}
		src.WriteString(strings.Repeat("}", len(model)-1))
		m, err := Parse("f.ptx", []byte(body(src.String())))
		if err != nil {
			t.Fatal(err)
		}
		err = Resolve(m)
		if twice {
			if err == nil || !strings.Contains(err.Error(), "is declared twice in this scope") {
				t.Fatalf("%v of a name that is declared twice:\n%s", err, src.String())
			}
			return
		}
		if err != nil {
			t.Fatalf("%v of\n%s", err, src.String())
		}
		var got []string
		seen := map[string]*Symbol{}
		var walk func(b *Block)
		walk = func(b *Block) {
			for _, s := range b.Statements {
				switch s := s.(type) {
				case *Block:
					walk(s)
				case *Instruction:
					n := s.Operands[0].(*Name)
					line := fmt.Sprint(n.Sym.Variable.Pos.Line)
					got = append(got, line)
					if old := seen[line+n.Name]; old != nil && old != n.Sym || s.Operands[1].(*Name).Sym != n.Sym {
						t.Fatalf("%s of line %s is two registers", n.Name, line)
					}
					seen[line+n.Name] = n.Sym
				}
			}
		}
		walk(m.Lookup("k").Body)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("resolves to the lines\n%v, want\n%v\n%s", got, want, src.String())
		}
	})
}

// TestSparse: a range of a million registers, of which three are used, makes
// three symbols.
func TestSparse(t *testing.T) {
	m := parsed(t, "f.ptx", []byte(head+".entry k() { .reg .b64 %rd<1000000>; add.s64 %rd0, %rd999999, %rd0; { mov.b64 %rd7, %rd999999; } }"))
	var names []string
	for _, r := range m.Lookup("k").Registers {
		names = append(names, r.Name)
	}
	if got := strings.Join(names, " "); got != "%rd0 %rd999999 %rd7" {
		t.Errorf("registers %s", got)
	}
}

// TestNames: what operands of every form stand for.
func TestNames(t *testing.T) {
	kinds := map[string]SymbolKind{
		"%r1": SymRegister, "q": SymRegister, "s": SymVariable, "p": SymVariable, "k": SymFunction, "L": SymLabel,
		"ts": SymDirective, "%tid": SymSpecial, "%pm7_64": SymSpecial, "%envreg31": SymSpecial,
	}
	for src, names := range map[string]string{
		"mov.u32 %r1, %tid.x":                     "%r1 %tid",
		"@!q bra L":                               "q L",
		"ld.shared.b32 %r1, [s+4]":                "%r1 s",
		"ld.param.b64 %r1, [p]":                   "%r1 p",
		"mov.u64 %r1, k":                          "%r1 k",
		"brx.idx %r1, ts":                         "%r1 ts",
		"shfl.sync.bfly.b32 %r1|q, %r2, 1, 2, -1": "%r1 q %r2",
		"vote.sync.any.pred q, !q, -1":            "q q",
		"mov.b64 d, {%r1, _}":                     "d %r1 _",
		"cp [s], [d, {%r1, %r2}], {%r3, 1}, d":    "s d %r1 %r2 %r3 d",
		"call (%r1, %r2), k, (s, p, 1)":           "%r1 %r2 k s p",
		"add.u32 %r1, %pm7_64, %envreg31":         "%r1 %pm7_64 %envreg31",
	} {
		m := parsed(t, src, []byte(body("L: ts: .branchtargets L; "+src+";")))
		var got []string
		each(m.Lookup("k").Body.Statements, func(n *Name) {
			got = append(got, n.Name)
			want := kinds[n.Name]
			switch {
			case n.Name == "_":
				if n.Sym != nil {
					t.Errorf("%s: _ stands for something", src)
				}
			case n.Sym == nil || n.Sym.Name != n.Name || want != 0 && n.Sym.Kind != want:
				t.Errorf("%s: %s is %+v", src, n.Name, n.Sym)
			}
		})
		if g := strings.Join(got, " "); g != names {
			t.Errorf("%s has the names %s, want %s", src, g, names)
		}
	}
}

// each calls f for every name in the operands of instructions.
func each(to []Statement, f func(n *Name)) {
	var operand func(o Operand)
	all := func(os []Operand) {
		for _, o := range os {
			operand(o)
		}
	}
	operand = func(o Operand) {
		switch o := o.(type) {
		case *Name:
			f(o)
		case *Not:
			operand(o.X)
		case *Pair:
			all([]Operand{o.A, o.B})
		case *Vector:
			all(o.Elems)
		case *List:
			all(o.Elems)
		case *Address:
			operand(o.Base)
			all(o.Coordinates)
		}
	}
	for _, s := range to {
		if n, ok := s.(*Instruction); ok {
			if n.Guard != nil {
				f(n.Guard.Name)
			}
			all(n.Operands)
		}
	}
}

// TestSpecial: the special registers with their types.
func TestSpecial(t *testing.T) {
	for name, want := range map[string]string{
		"%tid": "u32 vector", "%cluster_nctaid": "u32 vector", "%laneid": "u32", "%lanemask_ge": "u32", "%clock64": "u64", "%gridid": "u64",
		"%globaltimer_hi": "u32", "%is_explicit_cluster": "pred", "%envreg0": "b32", "%envreg31": "b32", "%pm0": "u32", "%pm7_64": "u64",
		"%reserved_smem_offset_1": "b32", "%aggr_smem_size": "u32", "%current_graph_exec": "u64",
		"%envreg32": "", "%envreg": "", "%envreg01": "", "%pm8": "", "%pm8_64": "", "tid": "", "%tid.x": "", "%": "", "": "", "%laneid2": "",
	} {
		got := ""
		if r, ok := Special(name); ok {
			if got = r.Type; r.Vector {
				got += " vector"
			}
			if r.Name != name {
				t.Errorf("%s calls itself %s", name, r.Name)
			}
		}
		if got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
