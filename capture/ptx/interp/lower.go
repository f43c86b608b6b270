package interp

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"

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
	if m, ok := unknownModifier(l.i); ok {
		return fmt.Errorf("it takes no .%s", m)
	}
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
		return l.calls()
	case "ret":
		l.in.stop = leave
		return l.want(0)
	case "exit":
		l.in.stop = exit
		return l.want(0)
	case "trap":
		return l.trap(trapInstruction, "the program traps")
	case "brkpt":
		return l.trap("breakpoint", "a breakpoint, and no debugger")
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
		l.in.dst, l.in.a = l.dst(0), l.constant(0)
		l.in.do = copyColumn
		return nil
	case "mma", "ldmatrix", "stmatrix", "movmatrix", "wmma":
		return l.matrix()
	case "wgmma", "tensormap":
		return l.opaque()
	case "tcgen05":
		return l.tensorCore()
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
	var numbers []string
	for _, k := range n {
		numbers = append(numbers, fmt.Sprint(k))
	}
	return fmt.Errorf("%d operands: it takes %s", len(l.i.Operands), strings.Join(numbers, " or "))
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
		t, ok := arith.ParseType(m)
		switch {
		case t == arith.Pred:
			return 0, errors.New("it takes no predicates")
		case ok:
			return t, nil
		case m == "b128":
			return 0, errors.New("128-bit registers are not supported: use two of 64 bits")
		}
	}
	return 0, errors.New("it names no type")
}

// wording is an error about an instruction for somebody who has its name
// beside it.
func wording(i *ptx.Instruction, err error) string {
	text := strings.TrimPrefix(err.Error(), arith.ErrUnknown.Error()+": ")
	if text == "no instruction "+i.Op {
		return errUnknown.Error()
	}
	return strings.TrimPrefix(text, mnemonic(i)+": ")
}

// first is the first of lanes, of which there is at least one.
func first(lanes uint32) int { return bits.TrailingZeros32(lanes) & 31 }

func bit(v bool) uint32 {
	if v {
		return 1
	}
	return 0
}
