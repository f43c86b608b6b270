package interp

import (
	"fmt"

	"btrace/capture/ptx"
)

// maxStatic bounds what a module's variables may take.
const maxStatic = 1 << 30

// declare makes room for a variable that a body declares. Those that are not
// in the frame get their place when they are used.
func (c *compiler) declare(v *ptx.Variable) {
	switch {
	case v.Space == "local" || v.Space == "param":
		c.local(v)
	case v.Space == "reg" && v.Vector > 0:
		c.refuse(v.Pos, "vector registers (.reg .v%d %s): use scalar ones", v.Vector, v.Name)
	}
}

// local gives a variable its place in the frame of the function.
func (c *compiler) local(v *ptx.Variable) {
	if v.Space == "reg" { // a parameter in a register
		return
	}
	at, size := alignUp(c.fn.frame, int64(v.Alignment())), v.Size()
	if size < 0 || at+size > maxLocal {
		c.refuse(v.Pos, "%s: more than %d bytes of local memory in a function", v.Name, maxLocal)
		return
	}
	c.fn.vars[v] = at
	c.fn.frame = at + size
	c.fn.align = min(max(c.fn.align, int64(v.Alignment())), localBase)
}

// dynamic reports whether a variable is the dynamic shared memory. It begins
// behind all that is static, which is known at the end.
func dynamic(v *ptx.Variable) bool {
	return v.Space == "shared" && v.Linkage == "extern" && v.Size() == 0
}

// place is the space of a variable and its address there. That of a variable
// in a frame counts from the frame. It is not asked for dynamic variables.
func (c *compiler) place(v *ptx.Variable) (space, uint64) {
	switch v.Space {
	case "shared":
		return shared, c.placeShared(v)
	case "global":
		return global, c.placeGlobal(v)
	case "const":
		return constant, c.placeGlobal(v)
	}
	if at, ok := c.paramAt[v]; ok {
		return param, uint64(at)
	}
	return local, uint64(c.fn.vars[v])
}

func (c *compiler) placeShared(v *ptx.Variable) uint64 {
	at, ok := c.shared[v]
	if !ok {
		at = alignUp(sharedBase+c.k.static, int64(v.Alignment()))
		c.shared[v] = at
		if end := at + v.Size() - sharedBase; end <= maxStatic {
			c.k.static = end
		} else {
			c.refuse(v.Pos, "%s: more shared memory than any device has", v.Name)
		}
	}
	return uint64(at)
}

func (c *compiler) placeGlobal(v *ptx.Variable) uint64 {
	at, ok := c.globals[v]
	if !ok {
		size := v.Size()
		if v.Linkage == "extern" {
			c.refuse(v.Pos, "%s is declared here and defined nowhere", v.Name)
		} else if c.staticGlobals += size; c.staticGlobals > maxStatic {
			c.refuse(v.Pos, "%s: more than %d bytes of variables", v.Name, maxStatic)
			size, c.staticGlobals = 0, 0
		}
		at = c.mem.reserve(uint64(size))
		c.globals[v] = at
		c.k.globals = append(c.k.globals, variable{v: v, addr: at, size: size})
	}
	return at
}

// sharedAddress is a constant with an address in static shared memory. It
// differs between the CTAs of a cluster.
func (c *compiler) sharedAddress(at uint64) int32 { return c.ranked(c.statics, at) }

// dynamicAddress is a constant with an address in dynamic shared memory.
func (c *compiler) dynamicAddress(v *ptx.Variable, offset uint64) int32 {
	c.k.align = max(c.k.align, int64(v.Alignment()))
	return c.ranked(c.dynamics, offset)
}

// ranked is the constant of a value, to which a CTA adds its rank.
func (c *compiler) ranked(of map[uint64]int32, value uint64) int32 {
	i, ok := of[value]
	if !ok {
		i = c.column(value)
		of[value] = i
		c.k.ranked = append(c.k.ranked, i)
	}
	return i
}

// placeDynamic fills in the addresses in dynamic shared memory.
func (c *compiler) placeDynamic() {
	for _, i := range c.dynamics {
		for lane := range c.k.consts[^i] {
			c.k.consts[^i][lane] += uint64(c.k.dynamicAt())
		}
	}
}

// initialise writes the initial value of a variable. It may hold addresses of
// other variables, which then have to be there too.
func (c *compiler) initialise(g *variable) {
	size, _ := ptx.TypeSize(g.v.Type)
	v, data := g.v, make([]byte, min(int64(size)*int64(len(g.v.Init)), g.size))
	g.init = data
	for i, init := range v.Init {
		value := init.Value
		if init.Sym != nil {
			at, err := c.symbolAddress(init.Sym, init.Generic)
			if err != nil {
				c.refuse(v.Pos, "%s: %v", v.Name, err)
				return
			}
			value += at
		}
		for mask := init.Mask; mask != 0 && mask&1 == 0; mask >>= 8 { // that byte of it
			value >>= 8
		}
		if (i+1)*size <= len(data) {
			store(data[i*size:], size, value)
		}
	}
}

// symbolAddress is the address of what an initialiser names.
func (c *compiler) symbolAddress(s *ptx.Symbol, isGeneric bool) (uint64, error) {
	switch {
	case s.Kind == ptx.SymFunction:
		return c.pointer(s.Function), nil
	case s.Kind == ptx.SymVariable && (s.Variable.Space == "global" || s.Variable.Space == "const" || s.Variable.Space == "shared" && !dynamic(s.Variable)):
		sp, at := c.place(s.Variable)
		if isGeneric {
			at += sp.base()
		}
		return at, nil
	}
	return 0, fmt.Errorf("%s has no address that is known before the launch", s.Name)
}
