package probe

import (
	"slices"

	"btrace/capture/ptx"
	"btrace/trace"
)

// op is what an instruction means to the recorder.
type op uint8

const (
	opNone op = iota
	opRet
	opExit
	opTrap
	opBar
	opSyncwarp
	opCluster
	opMbar   // init, inval, expect_tx, complete_tx
	opArrive // on an mbarrier
	opTest   // test_wait, try_wait
	opCopy   // that completes bytes on an mbarrier
	opCpAsyncArrive
	opCommit // of tcgen05, which arrives on an mbarrier
)

func has(i *ptx.Instruction, mod string) bool { return slices.Contains(i.Mods, mod) }

// classify tells what an instruction is. One with operands that it cannot have
// is none: the assembler will refuse it.
func classify(i *ptx.Instruction) op {
	n := len(i.Operands)
	switch i.Op {
	case "ret":
		return opRet
	case "exit":
		return opExit
	case "trap", "brkpt":
		return opTrap
	case "bar", "barrier":
		switch {
		case has(i, "warp"):
			return given(opSyncwarp, n == 1)
		case has(i, "cluster"):
			return given(opCluster, has(i, "arrive") || has(i, "wait"))
		case has(i, "red"):
			return given(opBar, (n == 3 || n == 4) && (has(i, "popc") || has(i, "and") || has(i, "or")))
		}
		return given(opBar, (n == 1 || n == 2) && (has(i, "sync") || has(i, "arrive")))
	case "mbarrier":
		switch {
		case has(i, "test_wait"), has(i, "try_wait"):
			return given(opTest, n >= 3 && isAddress(i, 1) && isPredicate(i.Operands[0]))
		case has(i, "arrive"), has(i, "arrive_drop"):
			at := arriveAddress(i)
			return given(opArrive, isAddress(i, at) && n >= at+1 && n <= at+2)
		case has(i, "inval"):
			return given(opMbar, n == 1 && isAddress(i, 0))
		case has(i, "init"), has(i, "expect_tx"), has(i, "complete_tx"):
			return given(opMbar, n == 2 && isAddress(i, 0))
		}
	case "cp":
		switch {
		case has(i, "mbarrier") && has(i, "arrive"):
			return given(opCpAsyncArrive, n == 1 && isAddress(i, 0))
		case has(i, "bulk") && has(i, "mbarrier::complete_tx::bytes"):
			return given(opCopy, isAddress(i, copyBarrier(i)))
		}
	case "st", "red":
		if has(i, "async") && has(i, "mbarrier::complete_tx::bytes") {
			return given(opCopy, isAddress(i, 2))
		}
	case "tcgen05":
		if has(i, "commit") {
			return given(opCommit, (n == 1 || n == 2) && isAddress(i, 0))
		}
	}
	return opNone
}

func given(o op, ok bool) op {
	if !ok {
		return opNone
	}
	return o
}

func isAddress(i *ptx.Instruction, n int) bool {
	if n >= len(i.Operands) {
		return false
	}
	a, ok := i.Operands[n].(*ptx.Address)
	if !ok || len(a.Coordinates) > 0 || a.Sampler != nil {
		return false
	}
	switch b := a.Base.(type) {
	case *ptx.Int:
		return true
	case *ptx.Name:
		return b.Sym != nil && (b.Sym.Kind == ptx.SymRegister || b.Sym.Kind == ptx.SymVariable)
	}
	return false
}

// isPredicate reports whether an operand is a register of type .pred.
func isPredicate(o ptx.Operand) bool {
	n, ok := o.(*ptx.Name)
	return ok && n.Sym != nil && n.Sym.Kind == ptx.SymRegister && n.Sym.Variable.Type == "pred"
}

// arriveAddress is which operand of an arrive is the address: behind the
// state, if there is one.
func arriveAddress(i *ptx.Instruction) int {
	if len(i.Operands) > 0 {
		if _, ok := i.Operands[0].(*ptx.Address); ok {
			return 0
		}
	}
	return 1
}

// copyBarrier is which operand of a bulk copy is the mbarrier: behind the size,
// which tensor copies do not have.
func copyBarrier(i *ptx.Instruction) int {
	if has(i, "tensor") {
		return 2
	}
	return 3
}

// copyRanks is which operand of a copy is the mask of CTAs: behind the
// mbarrier, and behind the offsets of .im2col.
func copyRanks(i *ptx.Instruction) int {
	n := copyBarrier(i) + 1
	for n < len(i.Operands)-1 {
		if _, ok := i.Operands[n].(*ptx.Vector); !ok {
			break
		}
		n++
	}
	return n
}

// memoryOrder is the ordering that the modifiers name.
func memoryOrder(i *ptx.Instruction) trace.Sem {
	for _, m := range i.Mods {
		switch m {
		case "relaxed":
			return trace.SemRelaxed
		case "acquire":
			return trace.SemAcquire
		case "release":
			return trace.SemRelease
		case "acq_rel":
			return trace.SemAcqRel
		}
	}
	return trace.SemNone
}
