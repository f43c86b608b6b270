package probe

import (
	"slices"
	"strings"

	"btrace/capture/ptx"
)

// A register has the same value in all threads of a CTA, whenever they look at
// it, if one instruction writes it, always, and computes it from nothing but
// such registers, constants, parameters and the like. Then there is no need to
// ask the lanes whether they agree on it.

// definition is the only instruction that writes a register; nil if there are
// several.
type definition struct {
	i *ptx.Instruction
}

// define finds the definitions of registers.
func (fn *function) define() {
	fn.defs, fn.same = make(map[*ptx.Symbol]definition), make(map[*ptx.Symbol]bool)
	for _, i := range fn.code {
		for _, s := range i.Writes {
			if _, twice := fn.defs[s]; twice || i.Guard != nil {
				fn.defs[s] = definition{}
			} else {
				fn.defs[s] = definition{i.Instruction}
			}
		}
	}
}

// pure is instructions whose result depends on their operands only.
var pure = []string{"mov", "cvt", "cvta", "add", "sub", "mul", "mad", "shl", "shr", "and", "or", "xor", "not", "neg", "min", "max", "mul24", "bfe"}

// maxChain bounds the instructions that a register may come out of.
const maxChain = 64

// uniform reports whether an operand is the same in all lanes.
func (fn *function) uniform(o ptx.Operand) bool { return fn.uniformTo(o, maxChain) }

func (fn *function) uniformTo(o ptx.Operand, depth int) bool {
	switch o := o.(type) {
	case *ptx.Int, *ptx.Float:
		return true
	case *ptx.Address:
		return fn.uniformTo(o.Base, depth) && o.Sampler == nil && len(o.Coordinates) == 0
	case *ptx.Name:
		if o.Sym == nil {
			return false
		}
		switch o.Sym.Kind {
		case ptx.SymVariable, ptx.SymFunction:
			return true
		case ptx.SymSpecial:
			switch o.Name {
			case "%ctaid", "%nctaid", "%ntid", "%cluster_ctarank", "%cluster_nctarank", "%dynamic_smem_size":
				return true
			}
		case ptx.SymRegister:
			return fn.uniformRegister(o.Sym, depth)
		}
	}
	return false
}

func (fn *function) uniformRegister(s *ptx.Symbol, depth int) bool {
	if same, ok := fn.same[s]; ok {
		return same
	}
	if depth == 0 {
		return false
	}
	fn.same[s] = false // of one that is computed from itself
	fn.same[s] = fn.uniformDefinition(fn.defs[s].i, depth-1)
	return fn.same[s]
}

func (fn *function) uniformDefinition(i *ptx.Instruction, depth int) bool {
	if i == nil || len(i.Operands) < 2 {
		return false
	}
	switch {
	case i.Op == "ld":
		a, ok := i.Operands[1].(*ptx.Address)
		if !ok || !fn.f.Entry || !slices.ContainsFunc(i.Mods, func(m string) bool { return strings.HasPrefix(m, "param") }) {
			return false
		}
		name, ok := a.Base.(*ptx.Name)
		return ok && name.Sym != nil && name.Sym.Kind == ptx.SymVariable && slices.Contains(fn.f.Params, name.Sym.Variable)
	case slices.Contains(pure, i.Op):
		if has(i, "cc") {
			return false
		}
		for _, o := range i.Operands[1:] {
			if !fn.uniformTo(o, depth) {
				return false
			}
		}
		return true
	}
	return false
}

// constant is the value of an operand, if it is known.
func (fn *function) constant(o ptx.Operand) (value uint64, known bool) {
	for range maxChain {
		switch x := o.(type) {
		case *ptx.Int:
			return x.Value, true
		case *ptx.Name:
			if x.Sym == nil || x.Offset != 0 || x.Sym.Kind != ptx.SymRegister {
				return 0, false
			}
			i := fn.defs[x.Sym].i
			if i == nil || i.Op != "mov" || len(i.Operands) != 2 {
				return 0, false
			}
			o = i.Operands[1]
		default:
			return 0, false
		}
	}
	return 0, false
}

// variable is the variable whose address an operand is, if it is known.
func (fn *function) variable(o ptx.Operand) *ptx.Variable {
	for range maxChain {
		n, ok := o.(*ptx.Name)
		if !ok || n.Sym == nil || n.Offset != 0 {
			return nil
		}
		switch n.Sym.Kind {
		case ptx.SymVariable:
			return n.Sym.Variable
		case ptx.SymRegister:
			i := fn.defs[n.Sym].i
			if i == nil || i.Op != "mov" && i.Op != "cvta" || len(i.Operands) != 2 {
				return nil
			}
			o = i.Operands[1]
		default:
			return nil
		}
	}
	return nil
}
