package ptx

// instruction reads an instruction: a guard, a name with modifiers, operands.
func (p *parser) instruction() *Instruction {
	first := p.i
	n := p.instrs.new()
	n.Pos = p.t.Pos
	if p.accept("@") {
		not := p.accept("!")
		n.Guard = &Guard{Name: p.name("a predicate after @"), Not: not}
	}
	n.Op = p.ident("an instruction")
	base := len(p.mods.stack)
	for p.t.Kind == TokenDirective {
		p.mods.stack = append(p.mods.stack, p.t.Text[1:])
		p.next()
	}
	n.Mods = p.mods.take(base)
	if !p.is(";") && !p.is("}") && p.t.Kind != TokenEOF {
		n.Operands = p.operands(n.Op == "call")
	}
	p.expect(";", " after the instruction")
	n.Node = p.from(first)
	return n
}

// operands reads operands with commas between them. Those of a call may be
// lists in parentheses.
func (p *parser) operands(call bool) []Operand {
	base := len(p.lists.stack)
	for {
		var o Operand
		if call && p.is("(") {
			o = p.list()
		} else {
			o = p.operand()
		}
		p.lists.stack = append(p.lists.stack, o)
		if !p.accept(",") {
			return p.lists.take(base)
		}
	}
}

// list reads (a, b, …) or ().
func (p *parser) list() Operand {
	first := p.next()
	l := &List{}
	if !p.is(")") {
		l.Elems = p.operands(false)
	}
	p.expect(")", " at the end of the list")
	l.Node = p.from(first)
	return l
}

// operand reads one operand.
func (p *parser) operand() Operand {
	if p.t.Kind == TokenIdent && p.t.Text != "WARP_SZ" {
		return p.pair()
	}
	if p.t.Kind == TokenPunct {
		switch p.t.Text {
		case "{":
			return p.vector()
		case "[":
			return p.address()
		case "!":
			if next := p.peek(1); next.Kind == TokenIdent && next.Text != "WARP_SZ" {
				first := p.next()
				n := &Not{X: p.name("a predicate after !")}
				n.Node = p.from(first)
				return n
			}
			return p.number()
		case "(", "+", "-", "~":
			return p.number()
		}
	} else if p.t.Kind == TokenInt || p.t.Kind == TokenFloat || p.t.Kind == TokenIdent {
		return p.number()
	}
	p.want("an operand")
	return p.ints.new()
}

// number reads a constant expression as an operand.
func (p *parser) number() Operand {
	first := p.i
	c := p.constant()
	if c.float {
		f := &Float{Value: c.value, Single: c.single, Bits32: c.bits32}
		if !c.single {
			f.Bits32 = 0
		}
		f.Node = p.from(first)
		return f
	}
	n := p.ints.new()
	n.Value, n.Node = c.bits, p.from(first)
	return n
}

// name reads a name, with a component.
func (p *parser) name(what string) *Name {
	first := p.i
	n := p.names.new()
	n.Pos = p.t.Pos
	n.Name = p.ident(what)
	if p.t.Kind == TokenDirective && p.t.Lead == "" {
		n.Component = p.t.Text[1:]
		p.next()
	}
	n.Node = p.from(first)
	return n
}

// pair reads a name, a name with a displacement, or p|q.
func (p *parser) pair() Operand {
	first := p.i
	n := p.name("a name")
	if p.is("|") {
		p.next()
		pair := &Pair{A: n, B: p.name("a name after |")}
		pair.Node = p.from(first)
		return pair
	}
	if p.is("[") {
		p.failf(p.t.Pos, "an element of an array is written as [%s+bytes]", n.Name)
	}
	n.Offset = p.displacement()
	n.Node = p.from(first)
	return n
}

// displacement reads what is added to a name or to the base of an address:
// any number of terms with their signs.
func (p *parser) displacement() int64 {
	var sum int64
	for p.is("+") || p.is("-") {
		minus, at := p.is("-"), p.t.Pos
		p.next()
		c := p.binary(multiplicative)
		if c.float {
			p.failf(at, "a displacement is in bytes: an integer")
		}
		if minus {
			c.bits = -c.bits
		}
		sum += int64(c.bits)
	}
	return sum
}

// vector reads {a, b, …}.
func (p *parser) vector() Operand {
	v := &Vector{}
	first := p.next()
	if p.enter() {
		v.Elems = p.operands(false)
	}
	p.leave()
	p.expect("}", " at the end of the vector")
	v.Node = p.from(first)
	return v
}

// address reads [base], [base+offset], and the forms with coordinates:
// [map, {x, y}], [texture, sampler, {x, y}], [texture, x].
func (p *parser) address() Operand {
	a := p.addrs.new()
	first := p.next()
	switch {
	case p.t.Kind == TokenIdent && p.t.Text != "WARP_SZ":
		a.Base = p.name("an address")
		a.Offset = p.displacement()
	default:
		at := p.t.Pos
		base, ok := p.number().(*Int)
		if !ok {
			p.failf(at, "an address is an integer")
			base = p.ints.new()
		}
		a.Base = base
	}
	if p.accept(",") {
		x := p.coordinates()
		if _, isName := x.(*Name); isName && p.accept(",") {
			a.Sampler = x
			x = p.coordinates()
		}
		if v, ok := x.(*Vector); ok {
			a.Coordinates = v.Elems
		} else {
			a.Coordinates = []Operand{x}
		}
	}
	p.expect("]", " at the end of the address")
	a.Node = p.from(first)
	return a
}

func (p *parser) coordinates() Operand {
	if p.is("{") {
		return p.vector()
	}
	return p.name("coordinates in braces, or a sampler")
}
