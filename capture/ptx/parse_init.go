package ptx

// initializer reads the initial values of a variable in memory order.
type initializer struct {
	*parser
	v    *Variable
	dims []int64 // with that of a vector; the first is -1 if it is open
	size []int64 // of what an element in so many braces has, in scalars
	pos  int64   // of the next value, in scalars
}

// initializer reads = value or = { … } (PTX ISA, "Initializers"). A variable
// that is declared with [] gets its size from it.
func (p *parser) initializer(v *Variable) {
	at := p.t.Pos
	p.next()
	if isOpaque(v.Type) {
		p.braces()
		return
	}
	switch {
	case v.Space != "global" && v.Space != "const":
		p.failf(at, "%s cannot have initial values: only .global and .const variables can", v.Name)
		return
	case v.Linkage == "extern":
		p.failf(at, "%s is declared .extern: its initial values are where it is defined", v.Name)
		return
	case v.Range > 0:
		p.failf(at, "a range of names cannot have initial values")
		return
	}
	p.sized(v)
	if p.bad != nil {
		return
	}
	in := initializer{parser: p, v: v, dims: v.Dims}
	if v.Vector > 0 {
		in.dims = append(in.dims[:len(in.dims):len(in.dims)], int64(v.Vector))
	}
	in.size = make([]int64, len(in.dims)+1)
	in.size[len(in.dims)] = 1
	for i := len(in.dims) - 1; i >= 0; i-- {
		in.size[i] = in.size[i+1] * in.dims[i]
	}
	switch {
	case p.is("{"):
		in.list(0)
	case len(in.dims) > 0:
		p.want("{ before the initial values of an array")
	default:
		in.value()
	}
	if p.bad == nil && len(v.Dims) > 0 && v.Dims[0] < 0 {
		row := in.size[1]
		v.Dims = append([]int64(nil), v.Dims...)
		v.Dims[0] = (in.pos + row - 1) / max(row, 1)
	}
}

// list reads the values in braces that stand for the dimensions from level on.
func (in *initializer) list(level int) {
	if !in.enter() {
		in.leave()
		return
	}
	defer in.leave()
	in.next()
	start := in.pos
	end := int64(maxSize)
	if level >= len(in.dims) { // braces around a scalar
		end = start + 1
		if in.is("}") {
			in.want("a value")
		}
	} else if in.dims[level] >= 0 {
		end = start + in.size[level]
	}
	for first := true; first && !in.is("}") || in.accept(","); first = false {
		at := in.t.Pos
		if in.pos >= end && in.bad == nil {
			in.failf(at, "%s has more initial values than elements", in.v.Name)
		}
		if in.is("{") {
			if level+1 >= len(in.dims) || (in.pos-start)%max(in.size[level+1], 1) != 0 {
				in.want("a value")
				break
			}
			row := in.pos
			in.list(level + 1)
			in.pos = row + in.size[level+1]
		} else {
			in.value()
		}
	}
	in.expect("}", " at the end of the initial values")
}

// value reads one initial value, after the zeros that the row before it lacks.
func (in *initializer) value() {
	if missing := in.pos - int64(len(in.v.Init)); missing > 0 {
		if !in.grow(in.t.Pos, int(min(missing, 1<<30))) {
			return
		}
		in.v.Init = append(in.v.Init, make([]Init, missing)...)
	}
	in.v.Init = append(in.v.Init, in.element())
	in.pos++
}

// element reads a constant, a symbol, generic(symbol), or mask(symbol).
func (in *initializer) element() Init {
	var e Init
	if in.t.Kind == TokenInt && in.peek(1).Kind == TokenPunct && in.peek(1).Text == "(" {
		mask, at := in.integer("a mask", 1<<64-1), in.t.Pos
		in.next()
		if in.t.Kind != TokenIdent {
			in.want("a variable or a function after the mask")
		}
		in.symbol(&e)
		in.expect(")", " after the symbol")
		e.Mask = mask
		if mask == 0 {
			in.failf(at, "the mask of a symbol is not 0")
		}
		return e
	}
	if in.t.Kind == TokenIdent && in.t.Text != "WARP_SZ" {
		in.symbol(&e)
		return e
	}
	at := in.t.Pos
	c := in.constant()
	if in.bad == nil {
		e.Value = in.convert(c, at)
	}
	return e
}

// symbol reads symbol+offset or generic(symbol)+offset.
func (in *initializer) symbol(e *Init) {
	name := in.ident("a variable or a function")
	if name == "generic" && in.accept("(") {
		e.Generic = true
		name = in.ident("a variable")
		if in.is("+") || in.is("-") {
			e.Value = uint64(in.displacement())
		}
		in.expect(")", " after the symbol")
	}
	e.Symbol = name
	e.Value += uint64(in.displacement())
}

// convert gives a constant in the type of the variable (PTX ISA, "Constants").
func (in *initializer) convert(c constant, at Pos) uint64 {
	switch typ := in.v.Type; {
	case typ == "f64" && !c.float, typ == "f32" && !c.float:
		c.value = float64(int64(c.bits))
		if c.unsigned {
			c.value = float64(c.bits)
		}
	case typ == "pred":
		return truth(c.bits != 0).bits
	case c.float && typ != "f32" && typ != "f64" && typ != "b32" && typ != "b64":
		in.failf(at, "a floating-point number cannot be an initial value of type .%s", typ)
	case !c.float:
		size, _ := TypeSize(typ)
		if size < 8 {
			c.bits &= 1<<(8*size) - 1
		}
		return c.bits
	}
	if size, _ := TypeSize(in.v.Type); size == 4 {
		return c.float32Bits()
	}
	return c.float64Bits()
}

// braces skips the initial values of a texture, a sampler or a surface.
func (p *parser) braces() {
	if !p.is("{") {
		p.want("{ before the properties of the variable")
		return
	}
	p.next()
	for depth := 1; depth > 0 && p.bad == nil; p.next() {
		switch {
		case p.is("{"):
			depth++
		case p.is("}"):
			depth--
		case p.t.Kind == TokenEOF, p.is(";"):
			p.want("} after the properties of the variable")
		}
	}
}
