package ptx

import (
	"fmt"
	"strings"
)

// tree writes what a module means, a line to each part: what the golden files
// hold. Names show what they stand for.
type tree struct {
	strings.Builder
	indent int
}

func treeOf(m *Module) string {
	t := &tree{}
	t.line("version %d.%d target %s address size %d", m.Version[0], m.Version[1], strings.Join(m.Target, " "), m.AddressSize)
	for i := range 10 {
		if name, ok := m.Files[i]; ok {
			t.line("file %d %q", i, name)
		}
	}
	for _, d := range m.Decls {
		switch d := d.(type) {
		case *Variable:
			t.variable(d)
		case *Directive:
			t.directive(d)
		case *Function:
			t.function(d)
		}
	}
	return t.String()
}

func (t *tree) line(format string, args ...any) {
	fmt.Fprintf(t, "%s%s\n", strings.Repeat("  ", t.indent), fmt.Sprintf(format, args...))
}

func (t *tree) function(f *Function) {
	kind := "func"
	if f.Entry {
		kind = "entry"
	}
	t.line("%s %s %s, %d registers", f.Linkage, kind, f.Name, len(f.Registers))
	t.indent++
	for _, v := range f.Returns {
		t.line("returns")
		t.variable(v)
	}
	for _, v := range f.Params {
		t.variable(v)
	}
	for _, d := range f.Directives {
		t.directive(d)
	}
	if f.Body != nil {
		t.block(f.Body)
	}
	t.indent--
}

func (t *tree) variable(v *Variable) {
	s := fmt.Sprintf("%d:%d %s %s %s %s", v.Pos.Line, v.Pos.Col, v.Linkage, v.Space, v.Type, v.Name)
	if v.Range > 0 {
		s += fmt.Sprintf(" range %d", v.Range)
	}
	if v.Vector > 0 {
		s += fmt.Sprintf(" vector %d", v.Vector)
	}
	if v.Dims != nil {
		s += fmt.Sprintf(" dims %d", v.Dims)
	}
	if v.Pointer {
		s += fmt.Sprintf(" pointer to %q align %d", v.PointerSpace, v.PointerAlign)
	}
	s += fmt.Sprintf(" size %d align %d", v.Size(), v.Alignment())
	t.line("%s", s)
	for i, e := range v.Init {
		s := fmt.Sprintf("  [%d] %#x", i, e.Value)
		if e.Symbol != "" {
			s += " + " + show(e.Symbol, e.Sym)
		}
		if e.Generic {
			s += " generic"
		}
		if e.Mask != 0 {
			s += fmt.Sprintf(" mask %#x", e.Mask)
		}
		t.line("%s", s)
	}
}

func (t *tree) directive(d *Directive) {
	s := "." + d.Name + " " + strings.Join(d.Args, " ")
	if d.Label != "" {
		s = d.Label + ": " + s
	}
	for _, n := range d.Targets {
		s += " → " + name(n)
	}
	t.line("%s", s)
	t.indent++
	for _, v := range d.Returns {
		t.line("returns")
		t.variable(v)
	}
	for _, v := range d.Params {
		t.variable(v)
	}
	t.indent--
}

func (t *tree) block(b *Block) {
	t.line("{")
	t.indent++
	for _, s := range b.Statements {
		switch s := s.(type) {
		case *Instruction:
			t.line("%s", instruction(s))
		case *Label:
			t.line("%s:", s.Name)
		case *Variable:
			t.variable(s)
		case *Block:
			t.block(s)
		case *Loc:
			line := fmt.Sprintf("loc %d:%d:%d", s.File, s.Line, s.Col)
			if a := s.InlinedAt; a != nil {
				line += fmt.Sprintf(" in %s+%d inlined at %d:%d:%d", s.Function, s.FunctionOffset, a.File, a.Line, a.Col)
			}
			t.line("%s", line)
		case *Directive:
			t.directive(s)
		}
	}
	t.indent--
	t.line("}")
}

func instruction(n *Instruction) string {
	s := strings.Join(append([]string{n.Op}, n.Mods...), ".")
	if g := n.Guard; g != nil {
		not := ""
		if g.Not {
			not = "!"
		}
		s = "@" + not + name(g.Name) + " " + s
	}
	return fmt.Sprintf("%d %s %s", n.Pos.Line, s, operands(n.Operands))
}

func operands(os []Operand) string {
	all := make([]string, len(os))
	for i, o := range os {
		all[i] = operand(o)
	}
	return strings.Join(all, ", ")
}

func operand(o Operand) string {
	switch o := o.(type) {
	case *Name:
		return name(o)
	case *Int:
		return fmt.Sprintf("%#x", o.Value)
	case *Float:
		if o.Single {
			return fmt.Sprintf("0f%08X", o.Bits32)
		}
		return fmt.Sprint(o.Value)
	case *Vector:
		return "{" + operands(o.Elems) + "}"
	case *List:
		return "(" + operands(o.Elems) + ")"
	case *Not:
		return "!" + operand(o.X)
	case *Pair:
		return operand(o.A) + " | " + operand(o.B)
	case *Address:
		s := operand(o.Base)
		if o.Offset != 0 {
			s += fmt.Sprintf("%+d", o.Offset)
		}
		if o.Sampler != nil {
			s += " sampler " + operand(o.Sampler)
		}
		if o.Coordinates != nil {
			s += " at " + operands(o.Coordinates)
		}
		return "[" + s + "]"
	}
	return "?"
}

func name(n *Name) string {
	s := show(n.Name, n.Sym)
	if n.Component != "" {
		s += "." + n.Component
	}
	if n.Offset != 0 {
		s += fmt.Sprintf("%+d", n.Offset)
	}
	return s
}

// show is a name with what it stands for: a register with its index, the rest
// with a line of the declaration.
func show(name string, s *Symbol) string {
	switch {
	case s == nil:
		return name
	case s.Kind == SymRegister:
		return fmt.Sprintf("%s#%d", name, s.Index)
	case s.Kind == SymVariable:
		return fmt.Sprintf("%s<variable of line %d>", name, s.Variable.Pos.Line)
	case s.Kind == SymFunction:
		return fmt.Sprintf("%s<function of line %d>", name, s.Function.Pos.Line)
	case s.Kind == SymLabel:
		return fmt.Sprintf("%s<label of line %d>", name, s.Label.Pos.Line)
	case s.Kind == SymDirective:
		return fmt.Sprintf("%s<directive of line %d>", name, s.Directive.Pos.Line)
	}
	return name
}
