package interp

import (
	"fmt"
	"math"

	"btrace/capture/ptx"
	"btrace/capture/ptx/arith"
)

// The operands. An operand that is not what it has to be is refused, and
// something harmless stands in for it.

// The types of operands that are not what the modifiers say.
const (
	u32 = arith.U32
	u64 = arith.U64
)

func (l *lowering) bad(format string, args ...any) int32 {
	l.refuse(l.i.Pos, "%s: %s", mnemonic(l.i), fmt.Sprintf(format, args...))
	return 0
}

// operand is operand n; nil if there is none.
func (l *lowering) operand(n int) ptx.Operand {
	if n < len(l.i.Operands) {
		return l.i.Operands[n]
	}
	return nil
}

// policies is how many cache policies there are behind the other operands.
func (l *lowering) policies() int { return int(bit(l.has("L2::cache_hint"))) }

// isPredicate reports whether an operand is a predicate register.
func isPredicate(o ptx.Operand) bool {
	n, ok := o.(*ptx.Name)
	return ok && n.Sym != nil && n.Sym.Kind == ptx.SymRegister && n.Sym.Variable.Type == "pred"
}

// variableOf is the variable that an operand names; nil if it is something
// else.
func variableOf(o ptx.Operand) *ptx.Variable {
	if n, ok := o.(*ptx.Name); ok && n.Sym != nil && n.Sym.Kind == ptx.SymVariable {
		return n.Sym.Variable
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
	case !ok || name.Sym == nil || name.Sym.Kind != ptx.SymRegister || isPredicate(o):
		return l.bad("the destination has to be a register")
	}
	return l.register(name)
}

// pairDst is a destination that may be d|p; p is the sink if it is not.
func (l *lowering) pairDst(o ptx.Operand) (d, p int32) {
	if pair, ok := o.(*ptx.Pair); ok {
		return l.dstOf(pair.A), l.predDst(pair.B)
	}
	return l.dstOf(o), sink
}

// scratch is a register of nobody's.
func (l *lowering) scratch() int32 {
	l.k.regs++
	return int32(l.k.regs - 1)
}

// register is where a register is in the register file.
func (l *lowering) register(n *ptx.Name) int32 {
	if n.Component != "" {
		return l.bad("%s.%s: a part of a register cannot be taken", n.Name, n.Component)
	}
	return l.slot(n.Sym)
}

// slot is where a register or predicate is.
func (l *lowering) slot(s *ptx.Symbol) int32 {
	i, ok := l.fn.slots[s.Index]
	if !ok {
		if s.Variable.Type == "pred" {
			i = int32(l.k.preds)
			l.k.preds++
		} else if i, ok = l.alloc.register(s.Index); !ok {
			i = l.scratch()
		}
		l.fn.slots[s.Index] = i
	}
	return i
}

// sink is a destination that keeps nothing.
const sink = int32(-1)

func (l *lowering) predSlot(n *ptx.Name) int32 {
	if !isPredicate(n) {
		return l.bad("%s has to be a predicate", n.Name)
	}
	return l.slot(n.Sym)
}

// predDst is a predicate as a destination.
func (l *lowering) predDst(o ptx.Operand) int32 {
	name, ok := o.(*ptx.Name)
	switch {
	case ok && name.Name == "_":
		return sink
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
		return predicate{slot: constantSlot, not: o.Value == 0}
	}
	l.bad("the operand has to be a predicate")
	return always()
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
		return l.float(o, t)
	case *ptx.Name:
		return l.name(o)
	case nil:
		return l.bad("operands are missing")
	}
	return l.bad("the operand has to be a register or a constant")
}

// float is a floating-point constant: one of double precision where it was not
// written in hexadecimal as a single (PTX ISA, "Floating-Point Constants").
func (l *lowering) float(o *ptx.Float, t arith.Type) int32 {
	switch {
	case t.Bits() == 32 && o.Single:
		return l.constant(uint64(o.Bits32))
	case t.Bits() == 32:
		return l.constant(uint64(math.Float32bits(float32(o.Value))))
	case t.Bits() == 64 && o.Single:
		return l.constant(math.Float64bits(float64(math.Float32frombits(o.Bits32))))
	case t.Bits() == 64:
		return l.constant(math.Float64bits(o.Value))
	}
	return l.bad("a floating-point constant where a .%s is wanted", t)
}

// name is a name as a source: a register, or an address.
func (l *lowering) name(n *ptx.Name) int32 {
	if n.Sym == nil {
		return l.bad("%s cannot be read", n.Name)
	}
	switch n.Sym.Kind {
	case ptx.SymRegister:
		if isPredicate(n) {
			return l.bad("%s is a predicate", n.Name)
		}
		return l.register(n)
	case ptx.SymSpecial:
		return l.specialSlot(n)
	case ptx.SymVariable:
		if at, ok := l.variableAddress(n); ok {
			return at
		}
		return l.bad("the address of %s, which differs between threads, has to be moved to a register first", n.Name)
	case ptx.SymFunction:
		return l.constant(l.pointer(n.Sym.Function))
	}
	return l.bad("%s has no value", n.Name)
}

// variableAddress is the address of a variable in its space; not ok if it is
// in the thread's local memory.
func (l *lowering) variableAddress(n *ptx.Name) (at int32, ok bool) {
	v := n.Sym.Variable
	if dynamic(v) {
		return l.dynamicAddress(v, uint64(n.Offset)), true
	}
	sp, addr := l.place(v)
	if sp == local {
		return 0, false
	}
	if sp == shared {
		return l.sharedAddress(addr + uint64(n.Offset)), true
	}
	return l.constant(addr + uint64(n.Offset)), true
}

// pointer is the value of a pointer to a function.
func (c *compiler) pointer(f *ptx.Function) uint64 {
	fn := c.function(f)
	fn.pointed = true
	return codeBase + codeStep*uint64(fn.index)
}
