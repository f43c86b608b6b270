package interp

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"btrace/capture/emu"
	"btrace/capture/ptx"
)

// maxCode bounds the instructions of a kernel with all that it calls.
const maxCode = 1 << 22

// Refusal is an instruction, or something else in a module, that cannot be
// run.
type Refusal struct {
	Note
}

func (r *Refusal) Error() string { return r.String() }

// Refusals is all that cannot be run, in the order of the file.
type Refusals []*Refusal

// shown is how many refusals an error message lists.
const shown = 5

func (rs Refusals) Error() string {
	var lines []string
	for i, r := range rs {
		if i == shown {
			lines = append(lines, fmt.Sprintf("and %d more", len(rs)-shown))
			break
		}
		lines = append(lines, r.Error())
	}
	return strings.Join(lines, "; ")
}

// compiler makes the code of one kernel.
type compiler struct {
	m             *ptx.Module
	k             *Kernel
	fns           map[*ptx.Function]*function
	queue         []*function
	fn            *function // under way
	consts        map[uint64]int32
	special       map[string]int32
	shared        map[*ptx.Variable]int64
	globals       map[*ptx.Variable]uint64
	mem           *memory          // only its addresses
	dynamics      map[uint64]int32 // constants with addresses in dynamic shared memory
	staticGlobals int64            // bytes
	tables        []branchTable
	refusals      Refusals
	opaque        map[string]bool
	waits         map[*ptx.Instruction]bool // tests that are waits
}

// Compile decodes a kernel of a resolved module. The error is a Refusals if
// the kernel does what cannot be run.
func Compile(m *ptx.Module, entry *ptx.Function) (*Kernel, error) {
	k := &Kernel{Entry: entry, file: baseName(m.File), line: uint32(entry.Pos.Line)}
	c := &compiler{
		m: m, k: k, fns: make(map[*ptx.Function]*function), consts: make(map[uint64]int32), special: make(map[string]int32),
		shared: make(map[*ptx.Variable]int64), globals: make(map[*ptx.Variable]uint64), mem: newMemory(),
		opaque: make(map[string]bool), dynamics: make(map[uint64]int32),
	}
	if m.AddressSize == 32 {
		c.refuse(ptx.Pos{Line: 1, Col: 1}, "32-bit addresses (.address_size 32): compile with .address_size 64")
	}
	c.params(entry)
	k.entry = c.function(entry)
	for len(c.queue) > 0 {
		fn := c.queue[0]
		c.queue = c.queue[1:]
		if err := c.compile(fn); err != nil {
			return nil, err
		}
	}
	if len(c.refusals) > 0 {
		slices.SortStableFunc(c.refusals, func(a, b *Refusal) int { return cmp.Compare(a.Pos.Offset, b.Pos.Offset) })
		return nil, c.refusals
	}
	c.initGlobals()
	c.placeDynamic()
	c.findRecursion()
	if len(c.refusals) > 0 {
		return nil, c.refusals
	}
	if size := k.sharedSize(0); size > emu.MaxShared {
		return nil, fmt.Errorf("%s:%d: %s has %d bytes of static shared memory: a CTA has at most %d", k.file, k.line, entry.Name, size, emu.MaxShared)
	}
	return k, nil
}

// Check lists what cannot be run in all of a module's entries, and in the
// functions that they call.
func Check(m *ptx.Module) error {
	var all Refusals
	seen := make(map[Note]bool)
	for _, e := range m.Entries() {
		_, err := Compile(m, e)
		var rs Refusals
		switch {
		case errors.As(err, &rs):
			for _, r := range rs {
				if !seen[r.Note] {
					seen[r.Note] = true
					all = append(all, r)
				}
			}
		case err != nil:
			return err
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b *Refusal) int { return cmp.Compare(a.Pos.Offset, b.Pos.Offset) })
	return all
}

func (c *compiler) refuse(pos ptx.Pos, format string, args ...any) {
	c.refusals = append(c.refusals, &Refusal{Note{c.k.file, pos, fmt.Sprintf(format, args...)}})
}

// params lays the kernel's parameters out, as the launch passes them.
func (c *compiler) params(entry *ptx.Function) {
	for _, p := range entry.Params {
		at := alignUp(c.k.paramLen, int64(p.Alignment()))
		c.k.params = append(c.k.params, slotOfParam{p, at})
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
		fn = &function{f: f, vars: make(map[*ptx.Variable]int64), slots: make(map[int]int32), formals: make(map[*ptx.Variable]int32)}
		c.fns[f] = fn
		c.k.targets = append(c.k.targets, fn)
		c.queue = append(c.queue, fn)
	}
	return fn
}

// pointer is the value of a pointer to the function.
func (c *compiler) pointer(fn *function) uint64 {
	return codeBase + 16*uint64(slices.Index(c.k.targets, fn))
}

// line is an instruction with what the flattening of a body knows of it.
type line struct {
	i   *ptx.Instruction
	loc *ptx.Loc
}

// compile appends the code of a function.
func (c *compiler) compile(fn *function) error {
	c.fn = fn
	fn.start = int32(len(c.k.code))
	fn.regs[0], fn.preds[0] = int32(c.k.regs), int32(c.k.preds)
	if fn.f.Body == nil {
		c.refuse(fn.f.Pos, "function %s is declared here and defined nowhere", fn.f.Name)
		return nil
	}
	if !fn.f.Entry {
		for _, v := range slices.Concat(fn.f.Returns, fn.f.Params) {
			c.local(v)
		}
	}
	var lines []line
	labels := make(map[*ptx.Label]int32)
	c.flatten(fn.f.Body, nil, &lines, labels)
	if len(c.k.code)+len(lines) > maxCode {
		return fmt.Errorf("%s: more than %d instructions in a kernel", c.k.file, maxCode)
	}
	c.waits = findWaits(lines, labels)
	alloc := c.allocate(lines, labels)
	for _, l := range lines {
		in := c.instruction(l.i, alloc)
		in.index, in.src = int32(len(c.k.code)), l.i
		in.site = c.site(l)
		c.k.code = append(c.k.code, in)
	}
	fn.returns = int32(len(c.k.code))
	end := fn.f.Pos
	if n := len(lines); n > 0 {
		end = lines[n-1].i.Pos
	}
	c.k.code = append(c.k.code, inst{
		stop: leave, target: -1, guard: noPredicate, index: fn.returns, site: emu.NewSite(c.k.file, uint32(end.Line), uint32(end.Line), uint32(fn.returns)),
	})
	c.link(fn, labels)
	for _, s := range fn.f.Registers {
		if slot, ok := fn.slots[s.Index]; ok && (slices.Contains(fn.f.Params, s.Variable) || slices.Contains(fn.f.Returns, s.Variable)) {
			fn.formals[s.Variable] = slot
		}
	}
	fn.regs[1], fn.preds[1] = int32(c.k.regs), int32(c.k.preds)
	return nil
}

// flatten lists the instructions of a block, and notes at which of them the
// labels stand.
func (c *compiler) flatten(b *ptx.Block, loc *ptx.Loc, lines *[]line, labels map[*ptx.Label]int32) *ptx.Loc {
	for _, s := range b.Statements {
		switch s := s.(type) {
		case *ptx.Block:
			loc = c.flatten(s, loc, lines, labels)
		case *ptx.Label:
			labels[s] = int32(len(*lines))
		case *ptx.Loc:
			loc = s
		case *ptx.Variable:
			if s.Space != "reg" {
				c.variable(s)
			} else if s.Vector > 0 {
				c.refuse(s.Pos, "vector registers (.reg .v%d %s): use scalar ones", s.Vector, s.Name)
			}
		case *ptx.Instruction:
			*lines = append(*lines, line{s, loc})
		}
	}
	return loc
}

// site is where an instruction is in the sources: its line of PTX is its
// program counter, and its .loc, where it has one, its line.
func (c *compiler) site(l line) *emu.Site {
	at := uint32(l.i.Pos.Line)
	place := uint32(len(c.k.code))
	if l.loc != nil && l.loc.Line > 0 {
		if name := c.m.Files[l.loc.File]; name != "" {
			return emu.NewSite(baseName(name), uint32(l.loc.Line), at, place)
		}
	}
	return emu.NewSite(c.k.file, at, at, place)
}

// link gives the branches of a function their targets.
func (c *compiler) link(fn *function, labels map[*ptx.Label]int32) {
	for i := range c.k.code[fn.start:fn.returns] {
		in := &c.k.code[int(fn.start)+i]
		if in.src.Op != "bra" || in.target < 0 {
			continue
		}
		if name, ok := in.src.Operands[0].(*ptx.Name); ok && name.Sym != nil && name.Sym.Label != nil {
			in.target = fn.start + labels[name.Sym.Label]
		}
	}
	c.linkTables(fn, labels)
}

// findRecursion finds the functions that may call themselves: their registers
// are saved at a call.
func (c *compiler) findRecursion() {
	var pointed []*function // whoever calls by pointer may call any of these
	for _, fn := range c.k.targets {
		if !fn.f.Entry {
			pointed = append(pointed, fn)
		}
	}
	callees := func(fn *function) []*function {
		if fn.indirect {
			return pointed
		}
		return fn.calls
	}
	for _, fn := range c.k.targets {
		seen := make(map[*function]bool)
		todo := slices.Clone(callees(fn))
		for len(todo) > 0 {
			g := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if g == fn {
				fn.recursive = true
				break
			}
			if !seen[g] {
				seen[g] = true
				todo = append(todo, callees(g)...)
			}
		}
	}
}

// instruction decodes one instruction.
func (c *compiler) instruction(i *ptx.Instruction, alloc allocation) inst {
	l := &lowering{compiler: c, i: i, alloc: alloc}
	in := inst{target: -1, guard: noPredicate}
	if i.Guard != nil {
		in.guard = predicate{slot: l.predSlot(i.Guard.Name), not: i.Guard.Not}
	}
	l.in = &in
	if err := l.lower(); err != nil {
		c.refuse(i.Pos, "%s: %v", mnemonic(i), err)
	}
	return in
}

// constant is the operand that holds a value in all lanes.
func (c *compiler) constant(v uint64) int32 {
	i, ok := c.consts[v]
	if !ok {
		var col column
		for lane := range col {
			col[lane] = v
		}
		i = ^int32(len(c.k.consts))
		c.k.consts = append(c.k.consts, col)
		c.consts[v] = i
	}
	return i
}
