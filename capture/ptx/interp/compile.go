package interp

import (
	"fmt"
	"slices"

	"btrace/capture/emu"
	"btrace/capture/ptx"
)

const (
	// maxCode bounds the instructions of a kernel with all that it calls.
	maxCode = 1 << 22
	// maxParams is how many bytes of parameters a kernel may have (PTX ISA,
	// "Kernel Function Parameters").
	maxParams = 32764
)

// compiler makes the code of one kernel.
type compiler struct {
	m             *ptx.Module
	k             *Kernel
	fns           map[*ptx.Function]*function
	queue         []*function // to be compiled
	fn            *function   // under way
	consts        map[uint64]int32
	special       map[string]int32
	paramAt       map[*ptx.Variable]int64
	shared        map[*ptx.Variable]int64
	globals       map[*ptx.Variable]uint64
	initialised   int              // of Kernel.globals
	mem           *memory          // only its addresses
	statics       map[uint64]int32 // constants with addresses in static shared memory
	dynamics      map[uint64]int32 // constants with addresses in dynamic shared memory
	staticGlobals int64            // bytes
	tables        []branchTable
	refusals      Refusals
	noted         map[string]bool           // texts of notes
	waits         map[*ptx.Instruction]bool // tests that are waits
	sources       sources
}

// Compile decodes a kernel of a resolved module. The error is a Refusals if
// the kernel does what cannot be run: it lists everything that is. Another
// error is about a kernel that is too large.
func Compile(m *ptx.Module, entry *ptx.Function) (*Kernel, error) {
	k := &Kernel{Entry: entry, file: baseName(m.File), line: uint32(entry.Pos.Line)}
	c := &compiler{
		m: m, k: k, fns: make(map[*ptx.Function]*function), consts: make(map[uint64]int32), special: make(map[string]int32),
		paramAt: make(map[*ptx.Variable]int64), shared: make(map[*ptx.Variable]int64), globals: make(map[*ptx.Variable]uint64),
		mem: newMemory(), noted: make(map[string]bool), statics: make(map[uint64]int32), dynamics: make(map[uint64]int32),
	}
	if m.AddressSize == 32 {
		c.refuse(ptx.Pos{Line: 1, Col: 1}, "32-bit addresses (.address_size 32): compile with .address_size 64")
	}
	c.params(entry)
	k.entry = c.function(entry)
	for len(c.queue) > 0 || c.initialised < len(k.globals) {
		if len(c.queue) == 0 { // what only a variable names
			c.initialise(&k.globals[c.initialised])
			c.initialised++
			continue
		}
		fn := c.queue[0]
		c.queue = c.queue[1:]
		if err := c.compile(fn); err != nil {
			return nil, err
		}
	}
	if len(c.refusals) > 0 {
		return nil, c.refusals.sort()
	}
	c.placeDynamic()
	c.findRecursion()
	if size := k.sharedSize(0); size > emu.MaxShared {
		return nil, fmt.Errorf("%s:%d: %s has %d bytes of static shared memory: a CTA has at most %d", k.file, k.line, entry.Name, size, emu.MaxShared)
	}
	return k, nil
}

// params lays the kernel's parameters out, as the launch passes them.
func (c *compiler) params(entry *ptx.Function) {
	for _, p := range entry.Params {
		at := alignUp(c.k.paramLen, int64(p.Alignment()))
		c.k.params = append(c.k.params, slotOfParam{p, at})
		c.paramAt[p] = at
		if size := p.Size(); size < 0 || at+size > maxParams {
			c.refuse(p.Pos, "%s: a kernel has at most %d bytes of parameters", p.Name, maxParams)
			continue
		}
		c.k.paramLen = at + p.Size()
	}
}

// function is the compiled form of f, which is compiled if nobody asked for
// it yet.
func (c *compiler) function(f *ptx.Function) *function {
	if def := c.m.Lookup(f.Name); def != nil {
		f = def
	}
	fn := c.fns[f]
	if fn == nil {
		fn = &function{
			f: f, index: len(c.k.targets), align: leastAlign, vars: make(map[*ptx.Variable]int64), slots: make(map[int]int32), formals: make(map[*ptx.Variable]int32),
		}
		c.fns[f] = fn
		c.k.targets = append(c.k.targets, fn)
		c.queue = append(c.queue, fn)
	}
	return fn
}

// line is an instruction with what the flattening of a body knows of it.
type line struct {
	i   *ptx.Instruction
	loc *ptx.Loc
}

// compile appends the code of a function.
func (c *compiler) compile(fn *function) error {
	c.fn = fn
	fn.start, fn.end = int32(len(c.k.code)), int32(len(c.k.code))
	fn.regs, fn.preds = [2]int32{int32(c.k.regs)}, [2]int32{int32(c.k.preds)}
	if fn.f.Body == nil {
		c.refuse(fn.f.Pos, "function %s is declared here and defined nowhere", fn.f.Name)
		return nil
	}
	if !fn.f.Entry {
		for _, v := range slices.Concat(fn.f.Returns, fn.f.Params) {
			if v.Space == "reg" && v.Type == "pred" {
				c.refuse(v.Pos, "%s: predicates cannot be passed: use .reg .b32", v.Name)
			}
			c.local(v)
		}
	}
	var lines []line
	labels := make(map[*ptx.Label]int32)
	flatten(fn.f.Body, nil, &lines, labels, c.declare)
	if len(c.k.code)+len(lines) > maxCode {
		return fmt.Errorf("%s: more than %d instructions in a kernel", c.k.file, maxCode)
	}
	c.waits, c.sources = findWaits(lines, labels), sourcesOf(lines)
	if fn == c.k.entry {
		c.k.begin = c.siteAt(c.sources.first, fn.f.Pos)
	}
	alloc := c.allocate(lines, labels)
	for _, l := range lines {
		in := c.instruction(l.i, alloc)
		in.index, in.src = int32(len(c.k.code)), l.i
		in.site = c.site(l)
		c.k.code = append(c.k.code, in)
	}
	c.end(fn, lines)
	c.link(fn, labels)
	for _, v := range slices.Concat(fn.f.Returns, fn.f.Params) {
		if v.Space == "reg" && v.Sym != nil {
			if slot, ok := fn.slots[v.Sym.Index]; ok {
				fn.formals[v] = slot
			}
		}
	}
	fn.regs[1], fn.preds[1] = int32(c.k.regs), int32(c.k.preds)
	return nil
}

// end appends the return that a body without one has at its end. It counts as
// part of the last instruction's line.
func (c *compiler) end(fn *function, lines []line) {
	fn.end = int32(len(c.k.code))
	site := c.siteAt(c.sources.first, fn.f.Pos)
	if n := len(lines); n > 0 {
		site = c.site(lines[n-1])
	}
	c.k.code = append(c.k.code, inst{stop: leave, target: -1, guard: always(), index: fn.end, site: site})
}

// flatten lists the instructions of a block, and notes at which of them the
// labels stand. declare gets its variables.
func flatten(b *ptx.Block, loc *ptx.Loc, lines *[]line, labels map[*ptx.Label]int32, declare func(*ptx.Variable)) *ptx.Loc {
	for _, s := range b.Statements {
		switch s := s.(type) {
		case *ptx.Block:
			loc = flatten(s, loc, lines, labels, declare)
		case *ptx.Label:
			labels[s] = int32(len(*lines))
		case *ptx.Loc:
			loc = s
		case *ptx.Variable:
			declare(s)
		case *ptx.Instruction:
			*lines = append(*lines, line{s, loc})
		}
	}
	return loc
}

// site is where an instruction is in the sources: its line of PTX is its
// program counter, and its .loc, where it has one, its line: of code that was
// inlined that of the call in the function's own file.
func (c *compiler) site(l line) *emu.Site {
	return c.siteAt(c.sources.frame(l.loc), l.i.Pos)
}

// siteAt is a place in the sources, or in the PTX where it has no .loc.
func (c *compiler) siteAt(loc *ptx.Loc, pos ptx.Pos) *emu.Site {
	at, place := uint32(pos.Line), uint32(len(c.k.code))
	if file, line := sourceLine(c.m, loc); file != "" {
		return emu.NewSite(file, line, at, place)
	}
	return emu.NewSite(c.k.file, at, at, place)
}

// link gives the branches of a function their targets.
func (c *compiler) link(fn *function, labels map[*ptx.Label]int32) {
	for i := range c.k.code[fn.start:fn.end] {
		in := &c.k.code[int(fn.start)+i]
		if in.target < 0 {
			continue
		}
		if name, ok := in.src.Operands[0].(*ptx.Name); ok && name.Sym != nil && name.Sym.Label != nil {
			in.target = fn.start + labels[name.Sym.Label]
		}
	}
	c.linkTables(fn, labels)
}

// instruction decodes one instruction.
func (c *compiler) instruction(i *ptx.Instruction, alloc allocation) inst {
	in := inst{target: -1, guard: always()}
	l := &lowering{compiler: c, i: i, in: &in, alloc: alloc}
	if i.Guard != nil {
		in.guard = predicate{slot: l.predSlot(i.Guard.Name), not: i.Guard.Not}
	}
	if err := l.lower(); err != nil {
		c.refuse(i.Pos, "%s: %s", mnemonic(i), wording(i, err))
	}
	return in
}

// constant is the operand that holds a value in all lanes.
func (c *compiler) constant(v uint64) int32 {
	i, ok := c.consts[v]
	if !ok {
		i = c.column(v)
		c.consts[v] = i
	}
	return i
}

// column is a new constant.
func (c *compiler) column(v uint64) int32 {
	var col column
	for lane := range col {
		col[lane] = v
	}
	c.k.consts = append(c.k.consts, col)
	return ^int32(len(c.k.consts) - 1)
}
