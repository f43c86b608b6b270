package interp

import (
	"math"
	"math/bits"

	"btrace/capture/emu"
	"btrace/trace"
)

// slice is how many instructions a warp runs until it lets others go on.
const slice = 2048

// column is a register of the 32 lanes.
type column = [32]uint64

const everyone = ^uint32(0) // lanes

// warp is one warp. Every lane has a program counter of its own; lanes that
// are at the same instruction run it together.
type warp struct {
	*block
	index  int
	handle emu.Warp
	pc     [32]int32
	depth  [32]int32 // of calls
	regs   []column
	preds  []uint32 // one bit a lane
	carry  uint32   // the CC.CF flag
	calls  [32][]frame
	saved  [32][]uint64 // registers of functions that call themselves
	passed []byte       // of the call under way
	fp     [32]uint32   // where a lane's frame begins in its local memory
	top    [32]uint32   // where it ends
	local  [32][]byte   // from localBase on
	seen   [32]sight
	left   [32]uint32 // CTAs that a commit of tcgen05 has yet to tell
	copies copies
	hint   int // segment of the last access

	count   uint64 // instructions in this Run
	threads uint64 // of all lanes
	pending uint32 // lanes that have yet to come to an operation
	inside  uint32 // lanes that stopped in an instruction, and have to finish it
	paused  uint32 // lanes that stopped before one
	soft    uint32 // lanes inside an instruction that nobody has to end for them
	polling uint32 // lanes that ask for the same again and again
	faulted bool
	news    bool // lanes did something at a barrier since all met
}

func newWarp(b *block, index int) *warp {
	x := &warp{block: b, index: index, regs: make([]column, b.k.regs), preds: make([]uint32, b.k.preds)}
	for i := range x.pc {
		x.pc[i] = b.k.entry.start
		x.top[i] = uint32(alignUp(b.k.entry.frame, leastAlign))
	}
	for _, s := range b.k.specials {
		for lane := range 32 {
			x.regs[s.slot][lane] = s.value(x, lane)
		}
	}
	return x
}

// val is a source operand: a register, or a constant of all lanes.
func (x *warp) val(s int32) *column {
	if s >= 0 {
		return &x.regs[s]
	}
	return &x.consts[^s]
}

// pred is the lanes in which a predicate operand is true.
func (x *warp) pred(p predicate) uint32 {
	v := everyone
	if p.slot >= 0 {
		v = x.preds[p.slot]
	}
	if p.not {
		return ^v
	}
	return v
}

func (x *warp) setPred(slot int32, mask, value uint32) {
	if slot >= 0 {
		x.preds[slot] = x.preds[slot]&^mask | value&mask
	}
}

// fill gives lanes the same value.
func (x *warp) fill(dst int32, m uint32, v uint64) {
	d := &x.regs[dst]
	for ; m != 0; m &= m - 1 {
		d[bits.TrailingZeros32(m)&31] = v
	}
}

// keep writes a result of lanes.
func (x *warp) keep(dst int32, v *column, m uint32) {
	d := &x.regs[dst]
	for ; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m) & 31
		d[i] = v[i]
	}
}

// Run has lanes, which are all at one place, go on until each is at an
// operation (emu.Runner).
func (x *warp) Run(w emu.Warp, lanes uint32) uint64 {
	x.handle, x.count, x.threads, x.pending, x.faulted = w, 0, 0, lanes, false
	x.paused &^= lanes
	if m := lanes & x.inside; m != 0 {
		x.finish(m)
	}
	for moved := false; x.pending != 0 && !x.faulted; moved = true {
		group := x.behind()
		if moved && x.waitsFor(group) {
			x.pause(group)
			continue
		}
		x.step(group)
	}
	x.pause(x.pending)
	x.run.threads.Add(x.threads)
	return x.count
}

// finish lets lanes out of the instruction in which they stopped. It may stop
// some of them in it once more.
func (x *warp) finish(lanes uint32) {
	pc := x.pc[first(lanes)]
	x.inside &^= lanes
	x.soft &^= lanes
	if in := &x.k.code[pc]; in.finish != nil {
		in.finish(x, in, lanes)
	}
	x.setPC(lanes&^x.inside, pc+1)
}

func (x *warp) setPC(lanes uint32, pc int32) {
	for k := lanes; k != 0; k &= k - 1 {
		x.pc[bits.TrailingZeros32(k)&31] = pc
	}
}

// behind is the pending lanes that are furthest behind: deepest in calls, and
// of those the first in the code. To let them go first brings the lanes of a
// warp together again after a branch.
func (x *warp) behind() (group uint32) {
	best, deepest := int32(math.MaxInt32), int32(-1)
	for k := x.pending; k != 0; k &= k - 1 {
		i := bits.TrailingZeros32(k) & 31
		switch d, pc := x.depth[i], x.pc[i]; {
		case d > deepest || d == deepest && pc < best:
			best, deepest, group = pc, d, 1<<i
		case d == deepest && pc == best:
			group |= 1 << i
		}
	}
	return group
}

// waitsFor reports whether other lanes of the warp will be where group is
// before long: they are behind it, and stopped at what ends by itself.
func (x *warp) waitsFor(group uint32) bool {
	g := bits.TrailingZeros32(group) & 31
	for k := (x.paused | x.soft) &^ (x.polling | group); k != 0; k &= k - 1 {
		i := bits.TrailingZeros32(k) & 31
		if x.depth[i] > x.depth[g] || x.depth[i] == x.depth[g] && x.pc[i] <= x.pc[g] {
			return true
		}
	}
	return false
}

// limit is the instruction at which group meets other lanes, that are pending
// or have paused.
func (x *warp) limit(group uint32) int32 {
	g := bits.TrailingZeros32(group) & 31
	at := int32(math.MaxInt32)
	for k := (x.pending | x.paused) &^ group; k != 0; k &= k - 1 {
		i := bits.TrailingZeros32(k) & 31
		if x.depth[i] == x.depth[g] && x.pc[i] > x.pc[g] && x.pc[i] < at {
			at = x.pc[i]
		}
	}
	return at
}

// step runs group, which is all at one place, until its lanes part, meet
// others or come to an operation.
func (x *warp) step(group uint32) {
	pc := x.pc[bits.TrailingZeros32(group)&31]
	limit := x.limit(group)
	code := x.k.code
	for {
		if x.count >= slice {
			x.setPC(group, pc)
			x.pause(x.pending)
			return
		}
		x.count++
		in := &code[pc]
		m := group
		if in.guard.slot >= 0 {
			m &= x.pred(in.guard)
		}
		x.threads += uint64(bits.OnesCount32(m))
		switch {
		case in.do != nil:
			if m != 0 {
				in.do(x, in, m)
			}
			if x.faulted {
				x.setPC(group, pc)
				return
			}
		case in.target >= 0: // a branch
			if m == 0 {
				break
			}
			if m != group || (x.pending|x.paused)&^group != 0 {
				x.setPC(group&^m, pc+1)
				x.setPC(m, in.target)
				return
			}
			pc = in.target - 1
		case m != 0:
			x.setPC(group, pc)
			if in.stop(x, in, m) {
				x.setPC(group&^m, pc+1)
				return
			}
		}
		if pc++; pc >= limit {
			x.setPC(group, pc)
			return
		}
	}
}

// pause stops lanes before their next instruction.
func (x *warp) pause(lanes uint32) {
	x.paused |= lanes
	x.pending &^= lanes
	for lanes != 0 {
		i := first(lanes)
		same := x.with(i, lanes)
		x.handle.At(same, &emu.Op{Kind: emu.OpPause, Site: x.site(i), Depth: x.turn(i)}, 0)
		lanes &^= same
	}
}

// with is those of lanes that are at the same instruction as lane, and in
// turn.
func (x *warp) with(lane int, lanes uint32) (same uint32) {
	for k := lanes; k != 0; k &= k - 1 {
		if i := bits.TrailingZeros32(k) & 31; x.pc[i] == x.pc[lane] && x.turn(i) == x.turn(lane) {
			same |= 1 << i
		}
	}
	return same
}

// stopAt stops lanes in the instruction that they are at, with the same
// operands. preds is the lanes whose predicate, of a reduction, is true.
func (x *warp) stopAt(lanes uint32, o *emu.Op, preds uint32) {
	x.inside |= lanes
	x.pending &^= lanes
	switch o.Kind {
	case emu.OpAccess, trace.KindMbarTest:
		x.soft |= lanes
	case emu.OpSleep, emu.OpPause:
	default:
		x.polling &^= lanes
	}
	switch {
	case o.Kind == trace.KindSyncwarp:
		x.news = x.news && lanes != x.handle.Live()
	case o.Kind != emu.OpAccess && o.Kind != emu.OpSleep && o.Kind != emu.OpPause && o.Kind != trace.KindExit:
		x.news = true
	}
	i := first(lanes)
	o.Site, o.Depth = x.site(i), x.turn(i)
	x.handle.At(lanes, o, preds)
}

// turn is how soon the emulator should let a lane go on before others of the
// warp: the deeper in calls, the sooner, and last of all if it polls. The lane
// that it polls for may be one of them, and further on.
func (x *warp) turn(lane int) int {
	if x.polling>>lane&1 != 0 {
		return 0
	}
	return 1 + int(x.depth[lane])
}

// parts calls f for lanes that agree on the values of some operands: all of
// them at once, or each by itself.
func (x *warp) parts(m uint32, f func(lane int, lanes uint32), operands ...int32) {
	for _, s := range operands {
		if s < 0 {
			continue
		}
		v := &x.regs[s]
		for k := m; k != 0; k &= k - 1 {
			if v[bits.TrailingZeros32(k)&31] == v[first(m)] {
				continue
			}
			for ; m != 0 && !x.faulted; m &= m - 1 {
				i := bits.TrailingZeros32(m) & 31
				f(i, 1<<i)
			}
			return
		}
	}
	f(first(m), m)
}

func (x *warp) site(lane int) *emu.Site { return x.k.code[x.pc[lane]].site }
