package interp

import (
	"fmt"
	"path"
	"slices"

	"btrace/capture/emu"
	"btrace/capture/ptx"
)

// Kernel is an entry of a PTX module, decoded and ready to run. It does not
// change while it runs: several launches may share it.
type Kernel struct {
	Entry *ptx.Function
	// Opaque lists the instructions that do not do to data what they should,
	// but only what they do to barriers.
	Opaque []Note

	file     string // base name of the module's
	line     uint32
	begin    *emu.Site // where it begins
	entry    *function
	code     []inst
	consts   []column
	ranked   []int32   // constants that are addresses in shared memory, in the CTA of rank 0
	regs     int       // columns of registers
	preds    int       // predicates
	specials []special // registers that hold a special register
	static   int64     // bytes of static shared memory
	align    int64     // of dynamic shared memory
	params   []slotOfParam
	paramLen int64
	globals  []variable // module variables in global and constant memory
	targets  []*function
}

// slotOfParam is where a parameter lies in the .param space of the kernel.
type slotOfParam struct {
	v      *ptx.Variable
	offset int64
}

// variable is a module variable in memory.
type variable struct {
	v    *ptx.Variable
	addr uint64
	size int64
	init []byte // what its first bytes hold; the others are 0
}

// function is a function of the module, in the code.
type function struct {
	f           *ptx.Function
	index       int // in Kernel.targets
	start       int32
	frame       int64 // bytes
	align       int64 // of the frame
	vars        map[*ptx.Variable]int64
	regs, preds [2]int32 // its registers: from, to
	calls       []*function
	indirect    bool // it calls what a register says
	pointed     bool // its address is taken
	recursive   bool
	slots       map[int]int32           // of its registers, by Symbol.Index
	end         int32                   // index of the return behind its last instruction
	formals     map[*ptx.Variable]int32 // parameters in registers
}

// inst is a decoded instruction. Exactly one of do, stop and target says what
// it does.
type inst struct {
	do     func(x *warp, in *inst, m uint32)
	stop   func(x *warp, in *inst, m uint32) bool // false: nobody stopped or left, all go on to the next
	finish func(x *warp, in *inst, m uint32)      // of lanes that stopped in it, when they go on
	// access does a lane's part of an access that is in order: see Access.
	access func(x *warp, in *inst, lane int) (b []byte, changed bool)
	writes bool
	target int32 // of a branch; -1 if it is none
	guard  predicate

	dst, a, b, c, d int32 // registers, or constants below 0
	f1              func(a uint64) uint64
	f2              func(a, b uint64) uint64
	f3              func(a, b, c uint64) uint64
	mem             access
	call            *call

	index int32
	site  *emu.Site
	src   *ptx.Instruction
}

// predicate is a predicate operand: one of the kernel's, or a constant, whose
// slot is constantSlot.
type predicate struct {
	slot int32
	not  bool
}

const constantSlot = -1

// always and never are the predicates that are constant.
func always() predicate { return predicate{slot: constantSlot} }
func never() predicate  { return predicate{slot: constantSlot, not: true} }

// place is where an instruction stands, for messages.
func (in *inst) place(k *Kernel) string {
	if in.src == nil {
		return k.file
	}
	return fmt.Sprintf("%s:%d: %s", k.file, in.src.Pos.Line, mnemonic(in.src))
}

// mnemonic is an instruction without its operands.
func mnemonic(i *ptx.Instruction) string {
	s := i.Op
	for _, m := range i.Mods {
		s += "." + m
	}
	return s
}

// constsOf is the constants of the CTA of that rank.
func (k *Kernel) constsOf(rank int) []column {
	if rank == 0 || len(k.ranked) == 0 {
		return k.consts
	}
	consts := slices.Clone(k.consts)
	for _, i := range k.ranked {
		for lane := range consts[^i] {
			consts[^i][lane] |= uint64(rank) << rankShift
		}
	}
	return consts
}

func baseName(file string) string { return path.Base(file) }

// sharedSize is the bytes of shared memory of a CTA with so many dynamic
// ones.
func (k *Kernel) sharedSize(dynamic int) int64 { return k.dynamicAt() - sharedBase + int64(dynamic) }

// dynamicAt is where dynamic shared memory begins: behind the static.
func (k *Kernel) dynamicAt() int64 { return alignUp(sharedBase+k.static, max(k.align, 16)) }

func alignUp(n, to int64) int64 { return (n + to - 1) / to * to }
