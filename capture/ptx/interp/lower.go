package interp

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"btrace/capture/ptx"
	"btrace/capture/ptx/arith"
)

// lowering decodes one instruction.
type lowering struct {
	*compiler
	i     *ptx.Instruction
	in    *inst
	alloc allocation
}

// errUnknown is about an instruction of which nothing is known.
var errUnknown = errors.New("the emulator does not know this instruction")

// lower finds out what an instruction is. What has lanes, memory, control
// flow or barriers to it is here; everything else is arithmetic.
func (l *lowering) lower() error {
	switch l.i.Op {
	case "mov":
		return l.mov()
	case "cvta":
		return l.cvta()
	case "isspacep":
		return l.isspacep()
	case "mapa":
		return l.mapa()
	case "getctarank":
		return l.getctarank()
	case "ld", "ldu":
		return l.load()
	case "st":
		return l.store()
	case "atom", "red":
		return l.atomic()
	case "bra":
		return l.branch()
	case "brx":
		return l.branchTable()
	case "call":
		return l.call()
	case "ret":
		l.in.stop = leave
		return l.want(0)
	case "exit":
		l.in.stop = exit
		return l.want(0)
	case "trap":
		l.in.do = func(x *warp, in *inst, m uint32) { x.trap(in, lowest(m), trapInstruction, "the program traps") }
		return l.want(0)
	case "brkpt":
		l.in.do = func(x *warp, in *inst, m uint32) {
			x.trap(in, lowest(m), "breakpoint", "a breakpoint, and no debugger")
		}
		return l.want(0)
	case "bar", "barrier":
		return l.barrier()
	case "mbarrier":
		return l.mbarrier()
	case "cp":
		return l.copy()
	case "shfl":
		return l.shfl()
	case "vote":
		return l.vote()
	case "match":
		return l.match()
	case "redux":
		return l.redux()
	case "activemask":
		return l.activemask()
	case "elect":
		return l.elect()
	case "nanosleep":
		return l.nanosleep()
	case "membar", "fence", "prefetch", "prefetchu", "discard", "applypriority", "griddepcontrol", "setmaxnreg", "pmevent":
		return l.nothing()
	case "createpolicy":
		l.in.dst = l.dst(0)
		l.in.a = l.constant(0)
		l.in.do = copyColumn
		return nil
	case "mma", "ldmatrix", "stmatrix", "movmatrix", "wmma":
		return l.matrix()
	case "wgmma", "tcgen05", "tensormap":
		return l.opaqueOp()
	case "setp":
		return l.setp()
	case "selp":
		return l.selp()
	}
	return l.arithmetic()
}

func (l *lowering) has(mod string) bool { return slices.Contains(l.i.Mods, mod) }

// want refuses another number of operands.
func (l *lowering) want(n ...int) error {
	if slices.Contains(n, len(l.i.Operands)) {
		return nil
	}
	return fmt.Errorf("%d operands: it takes %d", len(l.i.Operands), n[0])
}

// nothing is an instruction that has no effect here: memory is always in
// order, and there are no caches.
func (l *lowering) nothing() error {
	l.in.do = func(*warp, *inst, uint32) {}
	return nil
}

// lastType is the last type among the modifiers.
func (l *lowering) lastType() (arith.Type, error) {
	for _, m := range slices.Backward(l.i.Mods) {
		if t, ok := arith.ParseType(m); ok {
			return t, nil
		}
	}
	return 0, errors.New("it names no type")
}

// The operands. An operand that is not what it has to be is refused, and
// something harmless stands in for it.

func (l *lowering) bad(format string, args ...any) int32 {
	l.refuse(l.i.Pos, "%s: %s", mnemonic(l.i), fmt.Sprintf(format, args...))
	return 0
}

func (l *lowering) operand(n int) ptx.Operand {
	if n < len(l.i.Operands) {
		return l.i.Operands[n]
	}
	return nil
}

// dst is the register that operand n names, as a destination.
func (l *lowering) dst(n int) int32 { return l.dstOf(l.operand(n)) }

func (l *lowering) dstOf(o ptx.Operand) int32 {
	name, ok := o.(*ptx.Name)
	switch {
	case ok && name.Name == "_":
		return l.scratch()
	case !ok || name.Sym == nil || name.Sym.Kind != ptx.SymRegister || name.Sym.Variable.Type == "pred":
		return l.bad("the destination has to be a register")
	}
	return l.slot(name.Sym)
}

// scratch is a register of nobody's.
func (l *lowering) scratch() int32 {
	l.k.regs++
	return int32(l.k.regs - 1)
}

// slot is where a register is in the register file.
func (l *lowering) slot(s *ptx.Symbol) int32 {
	i, ok := l.fn.slots[s.Index]
	if !ok {
		if s.Variable.Type == "pred" {
			i = int32(l.k.preds)
			l.k.preds++
		} else {
			if i, ok = l.alloc.register(s.Index); !ok {
				i = l.scratch()
			}
		}
		l.fn.slots[s.Index] = i
	}
	return i
}

func (l *lowering) predSlot(n *ptx.Name) int32 {
	if n.Sym == nil || n.Sym.Kind != ptx.SymRegister || n.Sym.Variable.Type != "pred" {
		return l.bad("%s has to be a predicate", n.Name)
	}
	return l.slot(n.Sym)
}

// predDst is a predicate as a destination; -1 for the sink.
func (l *lowering) predDst(o ptx.Operand) int32 {
	name, ok := o.(*ptx.Name)
	switch {
	case ok && name.Name == "_":
		return -1
	case !ok:
		return l.bad("the destination has to be a predicate")
	}
	return l.predSlot(name)
}

// predSrc is a predicate as a source: p, !p, or a constant.
func (l *lowering) predSrc(o ptx.Operand) predicate {
	switch o := o.(type) {
	case *ptx.Name:
		return predicate{slot: l.predSlot(o)}
	case *ptx.Not:
		if n, ok := o.X.(*ptx.Name); ok {
			return predicate{slot: l.predSlot(n), not: true}
		}
	case *ptx.Int:
		if o.Value != 0 {
			return noPredicate
		}
		return predicate{slot: l.predConstant()}
	}
	l.bad("the operand has to be a predicate")
	return noPredicate
}

// predConstant is a predicate that nobody sets.
func (l *lowering) predConstant() int32 {
	l.k.preds++
	return int32(l.k.preds - 1)
}

// src is operand n as a source of type t.
func (l *lowering) src(n int, t arith.Type) int32 { return l.srcOf(l.operand(n), t) }

func (l *lowering) srcOf(o ptx.Operand, t arith.Type) int32 {
	switch o := o.(type) {
	case *ptx.Int:
		if t.Float() {
			return l.bad("an integer constant where a .%s is wanted", t)
		}
		return l.constant(o.Value)
	case *ptx.Float:
		switch {
		case o.Single:
			return l.constant(uint64(o.Bits32))
		case t.Bits() == 32:
			return l.constant(uint64(math.Float32bits(float32(o.Value))))
		case t.Bits() == 64:
			return l.constant(math.Float64bits(o.Value))
		}
		return l.bad("a floating-point constant where a .%s is wanted", t)
	case *ptx.Name:
		return l.name(o)
	case nil:
		return l.bad("operands are missing")
	}
	return l.bad("the operand has to be a register or a constant")
}

// name is a name as a source: a register, or an address.
func (l *lowering) name(n *ptx.Name) int32 {
	if n.Sym == nil {
		return l.bad("%s cannot be read", n.Name)
	}
	switch n.Sym.Kind {
	case ptx.SymRegister:
		if n.Sym.Variable.Type == "pred" {
			return l.bad("%s is a predicate", n.Name)
		}
		return l.slot(n.Sym)
	case ptx.SymSpecial:
		return l.specialSlot(n)
	case ptx.SymVariable:
		sp, at := l.place(n.Sym.Variable)
		if sp == local {
			return l.bad("the address of a local variable has to be moved to a register first")
		}
		return l.constant(at + uint64(n.Offset))
	case ptx.SymFunction:
		return l.constant(l.pointer(l.function(n.Sym.Function)))
	}
	return l.bad("%s has no value", n.Name)
}

// lowest is the first of lanes.
func lowest(m uint32) int {
	for i := range 32 {
		if m>>i&1 != 0 {
			return i
		}
	}
	return 0
}
