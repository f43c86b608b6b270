package ptx

import (
	"fmt"
	"strings"
)

// Resolve finds what every name of the module stands for: it sets Name.Sym of
// the operands and guards, Init.Sym, Variable.Sym and Function.Registers. The
// error is an Errors: a name that is not declared or twice in one scope, or
// one that cannot stand where it does.
//
// Braces are scopes: what is declared in them hides what is outside, from the
// declaration on. Labels are known in all of their braces, and the names of
// the module in all of it, whatever their order. A function may be declared
// any number of times and defined once; a call finds the definition.
func Resolve(m *Module) error {
	r := &resolver{m: m, scopes: newScopes()}
	r.push()
	r.module()
	for _, d := range m.Decls {
		switch d := d.(type) {
		case *Function:
			r.function(d)
		case *Variable:
			r.inits(d)
		}
	}
	r.pop()
	return r.errs.err()
}

type resolver struct {
	*scopes
	m    *Module
	f    *Function
	errs Errors
}

func (r *resolver) failf(at Pos, format string, args ...any) {
	if len(r.errs) < maxErrors {
		r.errs = append(r.errs, &SyntaxError{r.m.File, at, fmt.Sprintf(format, args...)})
	}
}

// done says whether there is no use in going on.
func (r *resolver) done() bool { return len(r.errs) == maxErrors }

// module declares the functions and variables of the module.
func (r *resolver) module() {
	seen := map[string]*Symbol{}
	for _, d := range r.m.Decls {
		switch d := d.(type) {
		case *Function:
			r.declareFunction(d, seen)
		case *Variable:
			r.declareGlobal(d, seen)
		}
	}
	for _, d := range r.m.Decls {
		if a, ok := d.(*Directive); ok && a.Name == "alias" {
			r.alias(a, seen)
		}
	}
}

func (r *resolver) declareFunction(f *Function, seen map[string]*Symbol) {
	old := seen[f.Name]
	switch {
	case old == nil:
		sym := &Symbol{Kind: SymFunction, Name: f.Name, Function: f}
		seen[f.Name] = sym
		r.declare(sym)
	case old.Kind != SymFunction || old.Function.Entry != f.Entry || old.Function.Body != nil && f.Body != nil:
		r.failf(f.Pos, "%s is declared twice: it is %s", f.Name, r.describe(old))
	case f.Body != nil:
		old.Function = f
	}
}

// declareGlobal declares a variable of the module: a definition goes before
// declarations that are .extern, and before .weak and .common ones.
func (r *resolver) declareGlobal(v *Variable, seen map[string]*Symbol) {
	old := seen[v.Name]
	if old == nil {
		v.Sym = &Symbol{Kind: SymVariable, Name: v.Name, Variable: v}
		seen[v.Name] = v.Sym
		r.declare(v.Sym)
		return
	}
	v.Sym = old
	strength := func(v *Variable) int {
		switch v.Linkage {
		case "extern":
			return 0
		case "common":
			return 1
		}
		return 2
	}
	switch {
	case old.Kind != SymVariable || old.Variable.Space != v.Space || strength(v) == 2 && strength(old.Variable) == 2:
		r.failf(v.Pos, "%s is declared twice: it is %s", v.Name, r.describe(old))
	case strength(v) > strength(old.Variable):
		old.Variable = v
	}
}

// alias gives a function a second name, which a declaration may have announced
// (PTX ISA, ".alias").
func (r *resolver) alias(d *Directive, seen map[string]*Symbol) {
	name, of := d.Args[0], seen[d.Args[1]]
	if of == nil || of.Kind != SymFunction {
		r.failf(d.Pos, "%s is not a function that is declared here", d.Args[1])
		return
	}
	switch old := seen[name]; {
	case old == nil:
		seen[name] = &Symbol{Kind: SymFunction, Name: name, Function: of.Function}
		r.declare(seen[name])
	case old.Kind != SymFunction || old.Function.Body != nil:
		r.failf(d.Pos, "%s is declared twice: it is %s", name, r.describe(old))
	default:
		old.Function = of.Function
	}
}

// function resolves a function. Its parameters have a scope of their own.
func (r *resolver) function(f *Function) {
	if r.done() {
		return
	}
	r.f, f.Registers = f, nil
	r.push()
	for _, v := range f.Returns {
		r.variable(v)
	}
	for _, v := range f.Params {
		r.variable(v)
	}
	if f.Body != nil {
		r.block(f.Body)
	}
	r.pop()
	r.f = nil
}

func (r *resolver) block(b *Block) {
	r.push()
	for _, s := range b.Statements {
		switch s := s.(type) {
		case *Label:
			r.add(&Symbol{Kind: SymLabel, Name: s.Name, Function: r.f, Label: s}, s.Pos)
		case *Directive:
			if s.Label != "" {
				r.add(&Symbol{Kind: SymDirective, Name: s.Label, Function: r.f, Directive: s}, s.Pos)
			}
		}
	}
	for _, s := range b.Statements {
		if r.done() {
			break
		}
		switch s := s.(type) {
		case *Block:
			r.block(s)
		case *Variable:
			r.variable(s)
			r.inits(s)
		case *Instruction:
			r.instruction(s)
		case *Directive:
			r.targets(s)
		}
	}
	r.pop()
}

// add declares a name in the innermost scope.
func (r *resolver) add(sym *Symbol, at Pos) {
	if !r.declare(sym) {
		r.failf(at, "%s is declared twice in this scope", sym.Name)
	}
}

// variable declares a variable, a register or a range of a function.
func (r *resolver) variable(v *Variable) {
	if v.Name == "_" {
		return
	}
	switch {
	case v.Range > 0:
		if !r.declareRange(v) {
			r.failf(v.Pos, "a name of %s<%d> is declared twice in this scope", v.Name, v.Range)
		}
		return
	case v.Space == "reg":
		v.Sym = r.register(v, v.Name)
	default:
		v.Sym = &Symbol{Kind: SymVariable, Name: v.Name, Variable: v, Function: r.f}
	}
	r.add(v.Sym, v.Pos)
}

// register makes the symbol of a register.
func (r *resolver) register(v *Variable, name string) *Symbol {
	sym := &Symbol{Kind: SymRegister, Name: name, Index: len(r.f.Registers), Variable: v, Function: r.f}
	r.f.Registers = append(r.f.Registers, sym)
	return sym
}

// find returns what a name stands for, and reports it if it is not declared.
func (r *resolver) find(name string, at Pos) *Symbol {
	sym := r.lookup(name, func(v *Variable) *Symbol { return r.register(v, name) })
	if sym != nil {
		return sym
	}
	if _, ok := Special(name); ok {
		// Declared in the outermost scope, so that it is one symbol.
		sym = &Symbol{Kind: SymSpecial, Name: name}
		r.bind(sym, 1)
		return sym
	}
	r.failf(at, "%s is not declared here", name)
	return nil
}

func (r *resolver) inits(v *Variable) {
	for i := range v.Init {
		if e := &v.Init[i]; e.Symbol != "" {
			e.Sym = r.find(e.Symbol, v.Pos)
			if e.Sym != nil && (e.Sym.Kind == SymRegister || e.Sym.Kind == SymSpecial) {
				r.failf(v.Pos, "%s is %s: it has no address for an initial value", e.Symbol, r.describe(e.Sym))
			}
		}
	}
}

// targets resolves the names of .branchtargets and .calltargets.
func (r *resolver) targets(d *Directive) {
	want := SymLabel
	if d.Name == "calltargets" {
		want = SymFunction
	}
	for _, n := range d.Targets {
		r.target(n, want)
	}
}

// target resolves a name that is to be of a kind.
func (r *resolver) target(n *Name, want ...SymbolKind) {
	n.Sym = r.find(n.Name, n.Pos)
	if n.Sym == nil {
		return
	}
	kinds := make([]string, len(want))
	for i, k := range want {
		if n.Sym.Kind == k {
			return
		}
		kinds[i] = k.article()
	}
	r.failf(n.Pos, "%s is %s, not %s", n.Name, r.describe(n.Sym), strings.Join(kinds, " or "))
}

func (r *resolver) instruction(n *Instruction) {
	if g := n.Guard; g != nil {
		r.operand(g.Name)
		if s := g.Name.Sym; s != nil && (s.Kind != SymRegister || s.Variable.Type != "pred") {
			r.failf(g.Name.Pos, "the guard %s is %s, not a predicate", g.Name.Name, r.describe(s))
		}
	}
	for i, o := range n.Operands {
		name, ok := o.(*Name)
		switch {
		case ok && i == 0 && n.Op == "bra":
			r.target(name, SymLabel)
		case ok && i == 1 && n.Op == "brx":
			r.target(name, SymDirective)
		case ok && n.Op == "call" && (i == 0 || i == 1 && isList(n.Operands[0])):
			r.target(name, SymFunction, SymRegister)
		default:
			r.operand(o)
		}
	}
}

func isList(o Operand) bool {
	_, ok := o.(*List)
	return ok
}

func (r *resolver) operand(o Operand) {
	switch o := o.(type) {
	case *Name:
		r.name(o)
	case *Not:
		r.operand(o.X)
	case *Pair:
		r.operand(o.A)
		r.operand(o.B)
	case *Vector:
		r.operands(o.Elems)
	case *List:
		r.operands(o.Elems)
	case *Address:
		r.operand(o.Base)
		if o.Sampler != nil {
			r.operand(o.Sampler)
		}
		r.operands(o.Coordinates)
	}
}

func (r *resolver) operands(os []Operand) {
	for _, o := range os {
		r.operand(o)
	}
}

// name resolves a name with its component and displacement.
func (r *resolver) name(n *Name) {
	if n.Name == "_" {
		return
	}
	n.Sym = r.find(n.Name, n.Pos)
	if n.Sym == nil {
		return
	}
	isRegister := n.Sym.Kind == SymRegister || n.Sym.Kind == SymSpecial
	if n.Offset != 0 && isRegister {
		r.failf(n.Pos, "%s is a register: something can be added to it in an address only", n.Name)
	}
	if n.Component == "" {
		return
	}
	var vector bool
	switch n.Sym.Kind {
	case SymSpecial:
		s, _ := Special(n.Name)
		vector = s.Vector
	case SymRegister, SymVariable:
		vector = n.Sym.Variable.Vector > 0
	}
	if !component(n.Component, vector, isRegister) {
		r.failf(n.Pos, "%s has no component .%s", n.Name, n.Component)
	}
}

// component says whether there is such a component of a vector, or such a part
// of a register that video instructions select: .b0, .h1, .b7531 (PTX ISA,
// "Vectors as Operands", "Scalar Video Instructions", "SIMD Video
// Instructions").
func component(name string, vector, register bool) bool {
	switch name {
	case "x", "y", "z", "w", "r", "g", "b", "a":
		return vector
	}
	if vector || !register {
		return false
	}
	parts := strings.Trim(name[1:], "01234567")
	return parts == "" && (name[0] == 'b' && 2 <= len(name) && len(name) <= 5 || name[0] == 'h' && 2 <= len(name) && len(name) <= 3)
}

// article names a kind of symbol.
func (k SymbolKind) article() string {
	switch k {
	case SymRegister:
		return "a register"
	case SymVariable:
		return "a variable"
	case SymFunction:
		return "a function"
	case SymLabel:
		return "a label"
	case SymSpecial:
		return "a special register"
	default:
		return "the label of a list or prototype"
	}
}

// describe says what a symbol is.
func (r *resolver) describe(s *Symbol) string {
	switch {
	case s.Kind == SymRegister:
		return "a register of type ." + s.Variable.Type
	case s.Kind == SymVariable:
		return "a ." + s.Variable.Space + " variable"
	case s.Kind == SymFunction && s.Function.Entry:
		return "a kernel"
	}
	return s.Kind.article()
}
