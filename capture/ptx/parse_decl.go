package ptx

import (
	"math/bits"
	"strconv"
)

// symbols reads what declares names in a module: functions and variables.
func (p *parser) symbols() {
	first := p.i
	linkage := p.linkage()
	switch {
	case p.isDirective("entry"), p.isDirective("func"):
		if f := p.function(first, linkage); f != nil {
			p.m.Decls = append(p.m.Decls, f)
		}
	case p.isDirective("reg"), p.isDirective("param"), p.isDirective("local"):
		p.failf(p.t.Pos, "%s variables are declared in functions", p.t.Text)
	case p.t.Kind == TokenDirective && isSpace(p.t.Text[1:]):
		for _, v := range p.variables(first, linkage) {
			p.m.Decls = append(p.m.Decls, v)
		}
	case linkage != "":
		p.want("a function or a variable after ." + linkage)
	default:
		p.want("a directive such as .entry, .func or .global")
	}
}

// linkage reads .visible, .extern, .weak or .common, if it is there.
func (p *parser) linkage() string {
	if p.t.Kind == TokenDirective {
		switch name := p.t.Text[1:]; name {
		case "visible", "extern", "weak", "common":
			p.next()
			return name
		}
	}
	return ""
}

// function reads an .entry or a .func, from its kind on. It returns nil after
// an error outside of its body.
func (p *parser) function(first int, linkage string) *Function {
	f := &Function{Linkage: linkage, Entry: p.isDirective("entry")}
	p.next()
	p.attribute()
	if !f.Entry && p.is("(") {
		f.Returns = p.params()
	}
	f.Pos = p.t.Pos
	f.Name = p.ident("the name of a function")
	if p.is("(") {
		f.Params = p.params()
	}
	p.attribute()
	for p.t.Kind == TokenDirective {
		d := p.performance()
		if p.bad != nil {
			return nil
		}
		f.Directives = append(f.Directives, d)
	}
	if !p.is("{") {
		p.expect(";", " or { after the head of a function")
	} else {
		p.regs = 0
		f.Body = p.block()
	}
	f.Node = p.from(first)
	if p.bad != nil {
		return nil
	}
	return f
}

// performance reads a directive between the head of a function and its body
// (PTX ISA, "Performance-Tuning Directives", "Cluster Dimension Directives").
func (p *parser) performance() *Directive {
	first := p.i
	var d *Directive
	switch name := p.t.Text[1:]; name {
	case "maxnreg", "maxntid", "reqntid", "minnctapersm", "maxnctapersm", "reqnctapercluster", "maxclusterrank",
		"abi_preserve", "abi_preserve_control":
		d = p.directive()
		for {
			p.integer("a number after ."+name, 1<<31-1)
			if !p.accept(",") {
				break
			}
		}
	case "noreturn", "explicitcluster", "blocksareclusters":
		d = p.directive()
	case "pragma":
		d = p.pragma()
	default:
		p.want("a directive such as .maxntid, or {")
		return nil
	}
	return p.end(d, first)
}

// attribute skips .attribute(…), if it is there: where a variable is in unified
// memory (PTX ISA, "Variable and Function Attribute Directive").
func (p *parser) attribute() {
	if !p.acceptDirective("attribute") {
		return
	}
	p.expect("(", " after .attribute")
	for depth := 1; depth > 0 && p.bad == nil; p.next() {
		switch {
		case p.is("("):
			depth++
		case p.is(")"):
			depth--
		case p.t.Kind == TokenEOF, p.is(";"), p.is("{"):
			p.want(") after the attributes")
		}
	}
}

// params reads the parameters of a function in parentheses.
func (p *parser) params() []*Variable {
	p.next()
	var params []*Variable
	for first := true; first && !p.is(")") || p.accept(","); first = false {
		if !p.isDirective("param") && !p.isDirective("reg") {
			p.want(".param or .reg")
			return nil
		}
		v, at, begin := &Variable{}, p.t.Pos, p.i
		p.typ(v)
		if p.bad != nil {
			return nil
		}
		p.declarator(v)
		if v.Range > 0 {
			p.failf(at, "a parameter is one name, not a range")
		}
		v.Node = p.from(begin)
		params = append(params, v)
	}
	p.expect(")", " after the parameters")
	return params
}

// variables reads a declaration of variables, from its state space on to the
// semicolon. first is its first token.
func (p *parser) variables(first int, linkage string) []*Variable {
	proto := &Variable{Linkage: linkage}
	p.typ(proto)
	var vars []*Variable
	for p.bad == nil {
		v := *proto
		p.declarator(&v)
		if p.is("=") && p.bad == nil {
			p.initializer(&v)
		}
		p.sized(&v)
		if p.bad != nil {
			break
		}
		if v.Range > 0 && v.Space != "reg" {
			vars = append(vars, p.spread(v)...)
		} else {
			vars = append(vars, &v)
		}
		if !p.accept(",") {
			break
		}
	}
	p.expect(";", " after the declaration")
	if p.bad != nil {
		return nil
	}
	for _, v := range vars {
		v.Node = p.from(first)
	}
	return vars
}

// typ reads what comes before the names of a declaration, in any order: the
// state space first, alignment, vector, type, what a pointer points to.
func (p *parser) typ(v *Variable) {
	v.Space = p.t.Text[1:]
	p.next()
	for p.t.Kind == TokenDirective {
		switch name := p.t.Text[1:]; name {
		case "align":
			align := p.alignment()
			if v.Pointer {
				v.PointerAlign = align
			} else {
				v.Align = align
			}
			continue
		case "attribute":
			p.attribute()
			continue
		case "v2", "v4", "v8":
			v.Vector = int(name[1] - '0')
		case "ptr":
			v.Pointer = true
		default:
			_, isType := TypeSize(name)
			switch {
			case isType && v.Type == "":
				v.Type = name
			case v.Pointer && v.PointerSpace == "" && isSpace(name) && name != "reg":
				v.PointerSpace = name
			default:
				p.want("a type or a name")
				return
			}
		}
		p.next()
	}
	if v.Type == "" {
		p.want("a type such as .u32")
	}
}

func (p *parser) alignment() int {
	p.next()
	at := p.t.Pos
	n := p.integer("an alignment in bytes", maxAlign)
	if p.bad == nil && bits.OnesCount64(n) != 1 {
		p.failf(at, "an alignment is a power of two, not %d", n)
	}
	return int(n)
}

// declarator reads the name of a variable with its range or dimensions.
func (p *parser) declarator(v *Variable) {
	v.Pos = p.t.Pos
	v.Name = p.ident("a name to declare")
	if p.accept("<") {
		at := p.t.Pos
		v.Range = int(p.integer("a number of registers", maxRegisters))
		p.expect(">", " after the size of the range")
		if p.bad == nil && v.Range == 0 {
			p.failf(at, "the range %s<0> is empty", v.Name)
		}
		if v.Space == "reg" {
			if p.regs += v.Range; p.regs > maxRegisters {
				p.failf(at, "the function declares more than %d registers", maxRegisters)
			}
		}
		return
	}
	for p.is("[") {
		at := p.t.Pos
		p.next()
		n := int64(-1)
		if !p.is("]") {
			c := p.constant()
			if c.float || !c.unsigned && int64(c.bits) < 0 {
				p.failf(at, "the size of an array is an integer, 0 or more")
			}
			n = int64(min(c.bits, maxSize+1))
		} else if len(v.Dims) > 0 {
			p.failf(at, "only the first dimension of an array may be left out")
		}
		p.expect("]", " after the size of the array")
		v.Dims = append(v.Dims, n)
	}
}

// sized checks that a variable is of a size that can be.
func (p *parser) sized(v *Variable) {
	size, _ := TypeSize(v.Type)
	n := uint64(size * max(v.Vector, 1))
	for _, d := range v.Dims {
		hi, lo := bits.Mul64(n, uint64(max(d, 1)))
		if hi != 0 || lo > maxSize {
			p.failf(v.Pos, "%s has more than %d bytes", v.Name, int64(maxSize))
			return
		}
		n = lo
	}
	if len(v.Dims) > 0 && v.Space == "reg" {
		p.failf(v.Pos, "registers have no arrays: a range is written as %s<%d>", v.Name, max(v.Dims[0], 0))
	}
}

// spread returns the variables of a range in memory, for which the ISA has the
// same form as for registers ("Parameterized Variable Names").
func (p *parser) spread(v Variable) []*Variable {
	if !p.grow(v.Pos, v.Range) {
		return nil
	}
	vars := make([]*Variable, v.Range)
	for i := range vars {
		one := v
		one.Name, one.Range = v.Name+strconv.Itoa(i), 0
		vars[i] = &one
	}
	return vars
}

// prototype reads .callprototype (returns) _ (params) directives.
func (p *parser) prototype(d *Directive) {
	if p.is("(") {
		d.Returns = p.params()
	}
	if name := p.ident("_"); name != "_" && p.bad == nil {
		p.failf(p.toks[p.i-1].Pos, "expected _, found %s", quote(name))
	}
	if p.is("(") {
		d.Params = p.params()
	}
	for p.t.Kind == TokenDirective {
		p.performance()
	}
}

// targets reads the labels of .branchtargets or the functions of .calltargets.
// Labels may be a range: N<4>.
func (p *parser) targets(d *Directive) {
	for {
		n := p.name("a target")
		if at := p.t.Pos; p.accept("<") {
			count := int(p.integer("a number of labels", maxGrowth))
			p.expect(">", " after the size of the range")
			if p.bad == nil && p.grow(at, count) {
				for i := range count {
					one := *n
					one.Name = n.Name + strconv.Itoa(i)
					d.Targets = append(d.Targets, &one)
				}
			}
		} else {
			d.Targets = append(d.Targets, n)
		}
		if !p.accept(",") {
			return
		}
	}
}

// labelled reads label: .branchtargets, .calltargets or .callprototype.
func (p *parser) labelled() *Directive {
	first := p.i
	label := p.ident("a label")
	p.next() // the colon
	d := p.directive()
	d.Label = label
	if d.Name == "callprototype" {
		p.prototype(d)
	} else {
		p.targets(d)
	}
	p.expect(";", " after ."+d.Name)
	if p.bad != nil {
		return d
	}
	p.end(d, first)
	return d
}

// isLabelled says whether the present label is that of a directive.
func (p *parser) isLabelled() bool {
	t := p.peek(2)
	if t.Kind != TokenDirective {
		return false
	}
	switch t.Text[1:] {
	case "branchtargets", "calltargets", "callprototype":
		return true
	}
	return false
}
