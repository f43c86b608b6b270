package interp

import (
	"fmt"

	"btrace/capture/ptx"
)

// maxStatic bounds what a module's variables may take.
const maxStatic = 1 << 30

// variable makes room for a variable that a body declares.
func (c *compiler) variable(v *ptx.Variable) {
	if v.Space == "local" || v.Space == "param" {
		c.local(v)
	}
}

// local gives a variable its place in the frame of the function.
func (c *compiler) local(v *ptx.Variable) {
	if v.Space == "reg" { // a parameter in a register
		return
	}
	at := alignUp(c.fn.frame, int64(v.Alignment()))
	c.fn.vars[v] = at
	c.fn.frame = at + v.Size()
	if c.fn.frame > maxLocal {
		c.refuse(v.Pos, "%s: more than %d bytes of local memory in a function", v.Name, maxLocal)
		c.fn.frame = 0
	}
}

// dynamic reports whether a variable is the dynamic shared memory. It begins
// behind all that is static, which is known at the end.
func dynamic(v *ptx.Variable) bool {
	return v.Space == "shared" && v.Linkage == "extern" && v.Size() == 0
}

// place is the space of a variable and its address there. That of a variable
// in a frame counts from the frame.
func (c *compiler) place(v *ptx.Variable) (space, uint64) {
	switch v.Space {
	case "shared":
		at, ok := c.shared[v]
		if !ok {
			at = alignUp(sharedBase+c.k.static, int64(v.Alignment()))
			c.shared[v] = at
			c.k.static = at + v.Size() - sharedBase
			if c.k.static > maxStatic {
				c.refuse(v.Pos, "%s: more shared memory than any device has", v.Name)
				c.k.static = 0
			}
		}
		return shared, uint64(at)
	case "global", "const":
		sp := global
		if v.Space == "const" {
			sp = constant
		}
		at, ok := c.globals[v]
		if !ok {
			size := v.Size()
			if v.Linkage == "extern" {
				c.refuse(v.Pos, "%s is declared here and defined nowhere", v.Name)
			} else if c.staticGlobals += size; c.staticGlobals > maxStatic {
				c.refuse(v.Pos, "%s: more than %d bytes of variables", v.Name, maxStatic)
				size = 0
			}
			data := make([]byte, size)
			at = c.mem.add("variable "+v.Name, data, v.Space == "const")
			c.globals[v] = at
			c.k.globals = append(c.k.globals, variable{v, at, data})
		}
		return sp, at
	case "param":
		for _, p := range c.k.params {
			if p.v == v {
				return param, uint64(p.offset)
			}
		}
	}
	return local, uint64(c.fn.vars[v])
}

// dynamicAddress is a constant with an address in dynamic shared memory.
func (c *compiler) dynamicAddress(v *ptx.Variable, offset uint64) int32 {
	c.k.align = max(c.k.align, int64(v.Alignment()))
	if i, ok := c.dynamics[offset]; ok {
		return i
	}
	c.k.consts = append(c.k.consts, column{})
	i := ^int32(len(c.k.consts) - 1)
	c.dynamics[offset] = i
	return i
}

// placeDynamic fills in the addresses in dynamic shared memory.
func (c *compiler) placeDynamic() {
	for offset, i := range c.dynamics {
		for lane := range 32 {
			c.k.consts[^i][lane] = uint64(c.k.dynamicAt()) + offset
		}
	}
}

// initGlobals writes the initial values of the variables. A value may be the
// address of another variable, which then has to be there too.
func (c *compiler) initGlobals() {
	for n := 0; n < len(c.k.globals); n++ { // it grows on the way
		g := c.k.globals[n]
		size, ok := ptx.TypeSize(g.v.Type)
		if !ok {
			continue
		}
		for i, init := range g.v.Init {
			value := init.Value
			if init.Sym != nil {
				at, err := c.symbolAddress(init.Sym, init.Generic)
				if err != nil {
					c.refuse(g.v.Pos, "%s: %v", g.v.Name, err)
				}
				value += at
			}
			for mask := init.Mask; mask != 0 && mask&1 == 0; mask >>= 8 { // that byte of it
				value >>= 8
			}
			if (i+1)*size <= len(g.data) {
				store(g.data[i*size:], size, value)
			}
		}
	}
	for len(c.queue) > 0 { // functions that only a table names
		fn := c.queue[0]
		c.queue = c.queue[1:]
		if err := c.compile(fn); err != nil {
			c.refuse(fn.f.Pos, "%v", err)
		}
	}
}

// symbolAddress is the address of what an initialiser names.
func (c *compiler) symbolAddress(s *ptx.Symbol, isGeneric bool) (uint64, error) {
	switch {
	case s.Kind == ptx.SymFunction:
		return c.pointer(c.function(s.Function)), nil
	case s.Kind == ptx.SymVariable && (s.Variable.Space == "global" || s.Variable.Space == "const" || s.Variable.Space == "shared" && !dynamic(s.Variable)):
		sp, at := c.place(s.Variable)
		if isGeneric {
			at += sp.base()
		}
		return at, nil
	}
	return 0, fmt.Errorf("%s has no address that is known before the launch", s.Name)
}
