package arith

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Op is what an instruction does with the values of one lane. Exactly one of
// F1 to F4, Test and Carry is set: of F1 to F4 the one with as many
// parameters as Src has types.
//
// Values are the bits of the types, in a uint64. Of an argument the bits
// above the type's width are ignored. A result is sign-extended to 64 bits if
// Dst is a signed type, else zero-extended. The functions have no state: any
// number of goroutines may call them.
type Op struct {
	Dst Type   // of the result; Pred if there is a Test
	Src []Type // of the sources, in the order of the operands

	F1 func(a uint64) uint64
	F2 func(a, b uint64) uint64
	F3 func(a, b, c uint64) uint64
	F4 func(a, b, c, d uint64) uint64

	// Test is the comparison of setp and testp (which ignores b). TestHi, of
	// a setp of packed values, is that of the upper halves, for the second
	// destination; Test is then that of the lower halves.
	Test, TestHi func(a, b uint64) bool

	// Carry is an instruction of the add.cc family: it takes and gives the
	// carry flag CC.CF. It ignores c where Src has two types, and cc where
	// ReadsCC is not set. After a subtraction the flag says that there was no
	// borrow.
	Carry             func(a, b, c uint64, cc bool) (d uint64, carry bool)
	ReadsCC, WritesCC bool

	// Bool is and, or or xor where setp or lop3 combines its result with a
	// predicate: for setp.lt.and.s32 p|q, a, b, c they are p = (a<b) and c,
	// q = !(a<b) and c; for lop3.or.b32 d|p, …, q it is p = (d != 0) or q.
	// Otherwise it is empty.
	Bool string
}

// ErrUnknown is wrapped by the errors of Lookup and Atomic.
var ErrUnknown = errors.New("unknown arithmetic")

// Lookup finds the operation of an instruction by its name and its modifiers
// in source order, types among them: add.sat.s32 is "add", {"sat", "s32"}.
// Instructions of which PTX has a form with fewer and one with more operands
// under one name give that with fewer, as min.f32: see ThreeInput. The error
// wraps ErrUnknown and names what is not known: the instruction, a modifier,
// or the type for this instruction.
func Lookup(op string, mods []string) (Op, error) {
	f := form{name: op}
	for _, m := range mods {
		if t, ok := ParseType(m); ok {
			f.types = append(f.types, t)
		} else {
			f.mods = append(f.mods, m)
		}
	}
	build := builder(op)
	if build == nil {
		return Op{}, fmt.Errorf("%w: no instruction %s", ErrUnknown, op)
	}
	o, ok := build(&f)
	if ok && len(f.mods) == 0 {
		return o, nil
	}
	full := strings.Join(append([]string{op}, mods...), ".")
	for _, m := range f.mods {
		if !modifier(m) {
			return Op{}, fmt.Errorf("%w: %s: no modifier .%s is known", ErrUnknown, full, m)
		}
	}
	switch {
	case ok:
		return Op{}, fmt.Errorf("%w: %s: takes no .%s", ErrUnknown, full, f.mods[0])
	case len(f.types) == 0:
		return Op{}, fmt.Errorf("%w: %s: names no type", ErrUnknown, full)
	}
	return Op{}, fmt.Errorf("%w: %s: no such form for the type, or a modifier is missing", ErrUnknown, full)
}

// modifier reports whether there is a modifier of that name.
func modifier(name string) bool {
	switch name {
	case "rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi",
		"approx", "full", "ftz", "sat", "satfinite", "relu", "NaN", "xorsign", "abs",
		"cc", "lo", "hi", "wide", "shiftamt", "clamp", "wrap", "l", "r", "pack", "u2", "s2", "u4", "s4",
		"f4e", "b4e", "rc8", "ecl", "ecr", "rc16",
		"eq", "ne", "lt", "le", "gt", "ge", "ls", "hs",
		"equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan", "and", "or", "xor",
		"finite", "infinite", "number", "notanumber", "normal", "subnormal":
		return true
	}
	return false
}

// form is an instruction as it is looked up.
type form struct {
	name  string
	mods  []string // those that nobody asked for yet, types apart
	types []Type
}

// has takes a modifier if it is there.
func (f *form) has(mod string) bool {
	i := slices.Index(f.mods, mod)
	if i < 0 {
		return false
	}
	f.mods = slices.Delete(f.mods, i, i+1)
	return true
}

// one takes that of the modifiers which is there; "" if none is.
func (f *form) one(mods ...string) string {
	for _, m := range mods {
		if f.has(m) {
			return m
		}
	}
	return ""
}

// only is the one type of the instruction; 0 if there is none or several.
func (f *form) only() Type {
	if len(f.types) != 1 {
		return 0
	}
	return f.types[0]
}

// builder is what makes the Op of an instruction: it takes what modifiers it
// knows and reports whether there is such a form. nil if there is no
// instruction of that name here.
func builder(op string) func(*form) (Op, bool) {
	switch op {
	case "add", "addc", "sub", "subc", "mul", "mad", "madc", "fma":
		return buildSum
	case "mul24", "mad24":
		return buildMul24
	case "div":
		return buildDiv
	case "rem", "sad":
		return buildInteger
	case "abs", "neg":
		return buildSign
	case "min", "max":
		return buildMinMax
	case "popc", "clz", "brev", "bfind", "bfe", "bfi", "bmsk", "szext", "fns":
		return buildBits
	case "prmt":
		return buildPrmt
	case "shl", "shr":
		return buildShift
	case "shf":
		return buildFunnel
	case "and", "or", "xor", "not", "cnot", "lop3":
		return buildLogic
	case "dp4a", "dp2a":
		return buildDot
	case "selp", "slct":
		return buildSelect
	case "set", "setp":
		return buildCompare
	case "testp":
		return buildTestp
	case "copysign":
		return buildCopysign
	case "sqrt", "rcp":
		return buildRoot
	case "rsqrt", "sin", "cos", "lg2", "ex2", "tanh":
		return buildApprox
	case "cvt":
		return buildCvt
	}
	return nil
}

// same is n times a type: the sources of most instructions.
func same(t Type, n int) []Type {
	return slices.Repeat([]Type{t}, n)
}
