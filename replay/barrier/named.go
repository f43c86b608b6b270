package barrier

import "math/bits"

// NumNamed is the number of named barriers of a CTA.
const NumNamed = 16

// NamedKind is an operation on a named barrier.
type NamedKind uint8

// The operations of PTX barrier{.cta}.
const (
	NamedArrive NamedKind = iota
	NamedSync
	NamedRedPopc
	NamedRedAnd
	NamedRedOr
)

func (k NamedKind) reduces() bool { return k >= NamedRedPopc }

// NamedOp is one operation by lanes of a warp.
type NamedOp struct {
	Kind    NamedKind
	Warp    uint32
	Lanes   uint32
	Bar     uint32
	Count   uint32 // threads; 0 = none given
	Aligned bool
	Pred    uint32 // of a reduction: lanes whose predicate is true
	Site    uint64 // identity of the instruction
}

// NamedPart is a warp's part in the current phase of a barrier. The warp
// counts as arrived once all its non-exited lanes have come: the instruction
// makes a thread wait for the non-exited threads of its own warp first (PTX
// ISA, barrier.cta). Until then even an arrive holds the lanes.
type NamedPart struct {
	Warp    uint32
	Lanes   uint32 // lanes that have come
	Waits   uint32 // of them, those that wait for the phase
	Pred    uint32
	Site    uint64
	Aligned bool
	Counted bool // the warp has arrived
}

// NamedBarrier is one named barrier.
type NamedBarrier struct {
	Phase  uint64 // completed phases
	Active bool   // some lanes have come in this phase
	// Count is the explicit thread count of the phase; 0 means all
	// non-exited threads of the CTA. Kind is the operation that opened it,
	// Opener the warp that did.
	Count   uint32
	Kind    NamedKind
	Opener  uint32
	Arrived uint32 // warps counted
	Parts   []NamedPart

	came uint64 // has a bit for the warps of Parts, one for several if there are more than 64
}

// Named is the sixteen named barriers of one CTA.
type Named struct {
	Threads int
	Live    []uint32 // per warp: lanes that have not exited
	Bars    [NumNamed]NamedBarrier

	alive uint32 // warps with lanes in Live
	open  uint16 // has a bit for the barriers that are active
}

// NewNamed returns the barriers of a CTA with so many threads.
func NewNamed(threads int) *Named {
	n := &Named{Live: make([]uint32, (threads+31)/32)}
	n.Begin(threads)
	return n
}

// Begin makes them those of a CTA that begins, with as many warps as the one
// before, whatever that did. No memory is made for it.
func (n *Named) Begin(threads int) {
	n.Threads = threads
	for w := range n.Live {
		n.Live[w] = lanesOf(threads, w)
	}
	for i := range n.Bars {
		n.Bars[i] = NamedBarrier{Parts: n.Bars[i].Parts[:0]}
	}
	n.Recount()
}

// Recount is called after Live or Parts were filled in by hand.
func (n *Named) Recount() {
	n.alive = 0
	for _, l := range n.Live {
		if l != 0 {
			n.alive++
		}
	}
	n.open = 0
	for i := range n.Bars {
		n.Bars[i].recount()
		n.note(uint32(i))
	}
}

// note keeps count of whether the barrier is active.
func (n *Named) note(id uint32) {
	if n.open &^= 1 << id; n.Bars[id].Active {
		n.open |= 1 << id
	}
}

func (b *NamedBarrier) recount() {
	b.came = 0
	for i := range b.Parts {
		b.came |= warpBit(b.Parts[i].Warp)
	}
}

func warpBit(warp uint32) uint64 { return 1 << (warp % 64) }

// Do performs an operation. Lanes that it does not release at once stay
// blocked until a later effect releases them.
func (n *Named) Do(op *NamedOp, eff *Effect) {
	id := op.Bar % NumNamed // seen on silicon: an id out of range completes, silently
	b := &n.Bars[id]
	if op.Bar >= NumNamed {
		eff.violate(BarIDRange, b.Phase, int64(op.Bar), NumNamed-1)
	}
	if !n.checkCount(b, op, eff) {
		return
	}
	if b.Active {
		n.checkPhase(b, op, eff)
		if eff.Trap != "" {
			return
		}
	} else {
		b.Active, b.Count, b.Kind, b.Opener = true, op.Count, op.Kind, op.Warp
	}
	if b.Kind == NamedArrive {
		b.Kind = op.Kind // an arrive goes with sync
	}
	p := b.part(op, eff)
	p.Lanes |= op.Lanes
	if op.Kind != NamedArrive {
		p.Waits |= op.Lanes
	}
	p.Pred |= op.Pred & op.Lanes
	n.open |= 1 << id
	n.count(id, b, p, eff)
	n.complete(id, b, eff)
}

// checkCount applies the rules about the count operand alone.
func (n *Named) checkCount(b *NamedBarrier, op *NamedOp, eff *Effect) bool {
	switch all := int64(32 * len(n.Live)); {
	case op.Count == 0 && op.Kind == NamedArrive:
		eff.violate(BarCountMissing, b.Phase, 0, 0)
		eff.Trap = TrapIllegalInstruction
	case op.Count%32 != 0:
		eff.violate(BarCountNotMultiple, b.Phase, int64(op.Count), int64(op.Count+31)/32*32)
		eff.Trap = TrapIllegalInstruction
	case int64(op.Count) > all:
		eff.violate(BarCountExceedsCTA, b.Phase, int64(op.Count), all)
	}
	return eff.Trap == ""
}

// checkPhase applies the rules about an operation that joins a phase which
// others opened.
func (n *Named) checkPhase(b *NamedBarrier, op *NamedOp, eff *Effect) {
	bad := func(r Rule, got, want int64) {
		eff.Violations = append(eff.Violations, Violation{Rule: r, Phase: b.Phase, Got: got, Want: want, Other: b.Opener})
		eff.Trap = TrapIllegalInstruction
	}
	switch {
	case b.Count != op.Count:
		bad(BarCountMismatch, int64(op.Count), int64(b.Count))
	case b.Kind.reduces() != op.Kind.reduces():
		bad(BarRedMixed, int64(op.Kind), int64(b.Kind))
	case b.Kind.reduces() && b.Kind != op.Kind:
		bad(BarRedOpMismatch, int64(op.Kind), int64(b.Kind))
	}
}

// part finds the warp's open part in this phase, or opens one.
func (b *NamedBarrier) part(op *NamedOp, eff *Effect) *NamedPart {
	if b.came&warpBit(op.Warp) == 0 { // nearly always: a warp comes once
		return b.open(op)
	}
	arrived, apart := false, false
	for i := range b.Parts {
		p := &b.Parts[i]
		if p.Warp != op.Warp {
			continue
		}
		if p.Counted {
			arrived = true
			continue
		}
		if (p.Aligned || op.Aligned) && p.Site != op.Site {
			// Seen on silicon: the two groups do not come together.
			if !apart {
				eff.violate(BarDivergent, b.Phase, int64(op.Site), int64(p.Site))
			}
			apart = true
			continue
		}
		return p
	}
	if arrived {
		// Seen on silicon: the second arrival counts as another warp's.
		eff.violate(BarOverrun, b.Phase, int64(op.Warp), 0)
	}
	return b.open(op)
}

// open begins a part of the warp in this phase.
func (b *NamedBarrier) open(op *NamedOp) *NamedPart {
	b.came |= warpBit(op.Warp)
	b.Parts = append(b.Parts, NamedPart{})
	p := &b.Parts[len(b.Parts)-1]
	p.Warp, p.Site, p.Aligned = op.Warp, op.Site, op.Aligned
	return p
}

// count lets the warp arrive if all its non-exited lanes have come.
func (n *Named) count(id uint32, b *NamedBarrier, p *NamedPart, eff *Effect) {
	if p.Counted || n.Live[p.Warp]&^p.Lanes != 0 {
		return
	}
	p.Counted = true
	b.Arrived++
	if free := p.Lanes &^ p.Waits; free != 0 {
		eff.Released = append(eff.Released, Release{Warp: p.Warp, Lanes: free, Bar: id, Phase: b.Phase})
	}
}

// Expected is the number of threads that the current phase waits for, in
// whole warps; 0 at rest.
func (n *Named) Expected(bar int) uint32 {
	b := &n.Bars[bar]
	switch {
	case !b.Active:
		return 0
	case b.Count > 0:
		return b.Count
	}
	return 32 * n.alive
}

func (n *Named) complete(id uint32, b *NamedBarrier, eff *Effect) {
	if !b.Active || b.Arrived == 0 || 32*b.Arrived < n.Expected(int(id)) {
		return
	}
	b.end(id, eff)
	n.note(id)
}

// End ends the current phase although it is not complete, for a recording
// that says it was: all lanes that have come are part of it.
func (n *Named) End(bar int, eff *Effect) {
	b := &n.Bars[bar]
	if !b.Active {
		return
	}
	for i := range b.Parts {
		b.Parts[i].Counted = true
	}
	b.end(uint32(bar), eff)
	n.note(uint32(bar))
}

// end ends the current phase for the warps that have arrived. Seen on
// silicon: a warp of which only some lanes have come is no part of it; they
// go on waiting in the next.
func (b *NamedBarrier) end(id uint32, eff *Effect) {
	result := b.reduce()
	early := b.Parts[:0]
	for i := range b.Parts {
		p := &b.Parts[i]
		switch {
		case !p.Counted:
			early = append(early, *p)
		case p.Waits != 0:
			eff.Released = append(eff.Released, Release{Warp: p.Warp, Lanes: p.Waits, Bar: id, Phase: b.Phase, Result: result})
		}
	}
	eff.Completed++
	b.Phase++
	b.Parts, b.Arrived = early, 0
	b.recount()
	if len(early) > 0 {
		b.Opener = early[0].Warp
		return
	}
	b.Active, b.Count, b.Kind, b.Opener = false, 0, NamedArrive, 0
}

// reduce computes the phase's reduction over the lanes that took part;
// exited lanes do not count.
func (b *NamedBarrier) reduce() uint32 {
	if !b.Kind.reduces() {
		return 0
	}
	ones, all, some := 0, true, false
	for i := range b.Parts {
		p := &b.Parts[i]
		if !p.Counted {
			continue
		}
		ones += bits.OnesCount32(p.Pred)
		all = all && p.Pred == p.Lanes
		some = some || p.Pred != 0
	}
	switch {
	case b.Kind == NamedRedPopc:
		return uint32(ones)
	case b.Kind == NamedRedAnd && all, b.Kind == NamedRedOr && some:
		return 1
	}
	return 0
}

// Exit takes lanes out of the CTA. An exited warp lowers "all threads" but
// never an explicit count, and a warp whose remaining lanes have all come
// arrives.
func (n *Named) Exit(warp, lanes uint32, eff *Effect) {
	if left := n.Live[warp] &^ lanes; left != n.Live[warp] {
		if n.Live[warp] = left; left == 0 {
			n.alive--
		}
	}
	for open := n.open; open != 0; open &= open - 1 {
		id := uint32(bits.TrailingZeros16(open))
		b := &n.Bars[id]
		for i := range b.Parts {
			if p := &b.Parts[i]; p.Warp == warp {
				n.count(id, b, p, eff)
			}
		}
		n.complete(id, b, eff)
	}
}
