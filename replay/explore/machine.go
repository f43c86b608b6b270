package explore

import (
	"maps"
	"slices"

	"btrace/replay/barrier"
	"btrace/trace"
)

// Machine runs a program on the barrier models, one operation at a time, in
// an order that its caller chooses.
type Machine struct {
	p       *Program
	strands []strandState
	ctas    []ctaState
	colls   []collective
	async   []async
	eff     barrier.Effect
	// Bad is the first rule of the specification that was broken, or the trap;
	// "" while there is none.
	Bad string

	order *follower  // nil if nobody wants to know
	log   *recording // nil if nobody wants it
}

// strandState is where a strand is.
type strandState struct {
	pc      int
	blocked bool   // in the operation at pc
	free    bool   // it may leave it
	phase   uint64 // that it waits for
	exited  bool
	// tokens is the phase of its latest arrive on an mbarrier.
	tokens map[mbarKey]uint64
}

type mbarKey struct {
	cta  uint32
	addr uint64
}

// ctaState is the barriers of a CTA.
type ctaState struct {
	named *barrier.Named
	mbars map[uint64]*barrier.MBarrier
	warps []barrier.Warp
}

// async is asynchronous work under way: a copy, or the arrival of copies.
type async struct {
	mbarKey
	bytes   int64
	arrival bool
}

// NewMachine makes one at the beginning of the program.
func NewMachine(p *Program) *Machine {
	m := &Machine{p: p, strands: make([]strandState, len(p.Strands))}
	for range p.CTAs {
		ct := ctaState{named: barrier.NewNamed(p.Threads), mbars: make(map[uint64]*barrier.MBarrier)}
		for _, live := range ct.named.Live {
			ct.warps = append(ct.warps, barrier.NewWarp(live))
		}
		m.ctas = append(m.ctas, ct)
	}
	return m
}

// Clone is a copy that goes its own way. It is not followed.
func (m *Machine) Clone() *Machine {
	c := &Machine{p: m.p, strands: slices.Clone(m.strands), async: slices.Clone(m.async), Bad: m.Bad}
	for i := range c.strands {
		c.strands[i].tokens = maps.Clone(c.strands[i].tokens)
	}
	for i := range m.ctas {
		src := &m.ctas[i]
		named := *src.named
		named.Live = slices.Clone(named.Live)
		for j := range named.Bars {
			named.Bars[j].Parts = slices.Clone(named.Bars[j].Parts)
		}
		ct := ctaState{named: &named, mbars: make(map[uint64]*barrier.MBarrier, len(src.mbars)), warps: slices.Clone(src.warps)}
		for j := range ct.warps {
			ct.warps[j].Meetings = slices.Clone(ct.warps[j].Meetings)
		}
		for a, b := range src.mbars {
			cp := *b
			ct.mbars[a] = &cp
		}
		c.ctas = append(c.ctas, ct)
	}
	for _, g := range m.colls {
		b := barrier.NewCollective(g.Kind, g.Size)
		b.Phase, b.Count, b.Need, b.Warps = g.Phase, g.Count, g.Need, slices.Clone(g.Warps)
		g.Collective = b
		c.colls = append(c.colls, g)
	}
	return c
}

// Choices is how many things can happen next; each has a number that Do
// takes: those of the strands, and after them those of the work under way.
func (m *Machine) Choices() (list []int) {
	for i := range m.strands {
		if m.can(i) {
			list = append(list, i)
		}
	}
	for i := range m.async {
		if !slices.Contains(m.async[:i], m.async[i]) { // another of the same is the same
			list = append(list, len(m.strands)+i)
		}
	}
	return list
}

// can reports whether a strand can go on.
func (m *Machine) can(i int) bool {
	s := &m.strands[i]
	switch {
	case s.exited:
		return false
	case s.blocked:
		return s.free
	case s.pc == len(m.p.Strands[i].Ops):
		return true
	}
	st := &m.p.Strands[i]
	op := &st.Ops[s.pc].Op
	switch op.Kind {
	case trace.KindCompletionBegin:
		return m.mbar(st.CTA, op.Addr).Completing
	case trace.KindMbarArrive, trace.KindMbarArriveDrop, trace.KindMbarArriveNoComplete, trace.KindMbarArriveExpectTx:
		return !m.mbar(st.owner(op), op.Addr).Completing // its function runs first
	case trace.KindMbarWait:
	default:
		return true
	}
	b := m.ctas[st.owner(op)].mbars[op.Addr]
	if b == nil {
		return true
	}
	parity := op.Parity
	if op.Has.Has(trace.FieldPhase) {
		parity = uint8(s.tokens[mbarKey{st.owner(op), op.Addr}] & 1)
	}
	return b.TestParity(parity)
}

// Done reports whether all strands have exited.
func (m *Machine) Done() bool {
	for i := range m.strands {
		if !m.strands[i].exited {
			return false
		}
	}
	return true
}

// Do does one of the choices.
func (m *Machine) Do(choice int) {
	m.eff.Reset()
	if n := choice - len(m.strands); n >= 0 {
		m.finish(n)
		return
	}
	s, st := &m.strands[choice], &m.p.Strands[choice]
	switch {
	case s.blocked:
		s.blocked, s.free = false, false
		m.order.left(m, choice, &st.Ops[s.pc].Op, s.phase)
		m.log.left(m, choice, &st.Ops[s.pc])
		s.pc++
	case s.pc == len(st.Ops):
		m.exit(choice)
	default:
		m.perform(choice, &st.Ops[s.pc])
	}
}

// finish completes asynchronous work.
func (m *Machine) finish(n int) {
	a := m.async[n]
	m.async = slices.Delete(m.async, n, n+1)
	b := m.mbar(a.cta, a.addr)
	before := b.Phase
	if a.arrival {
		b.CpAsyncDone(&m.eff)
	} else {
		b.CompleteTx(a.bytes, &m.eff)
	}
	m.judge()
	m.order.ended(m, a.mbarKey, before)
}

func (m *Machine) mbar(cta uint32, addr uint64) *barrier.MBarrier {
	b := m.ctas[cta].mbars[addr]
	if b == nil {
		b = new(barrier.MBarrier)
		m.ctas[cta].mbars[addr] = b
	}
	return b
}

// trapPrefix begins what is bad about a program that traps.
const trapPrefix = "trap: "

// judge notes what the models say of the operation.
func (m *Machine) judge() {
	if m.Bad != "" {
		return
	}
	for _, v := range m.eff.Violations {
		if v.Rule == barrier.MbarDropToZero && !v.Escalated || v.Rule == barrier.ClusterMissingWait {
			continue // a warning
		}
		m.Bad = string(v.Rule)
		return
	}
	if m.eff.Trap != "" {
		m.Bad = trapPrefix + m.eff.Trap
	}
}

// release lets strands go whom a barrier of their CTA, warp or cluster has
// let go. Strands that were only held go on to their next operation.
func (m *Machine) release(rel barrier.Release, cta, warp uint32, held bool) {
	for i := range m.strands {
		st, s := &m.p.Strands[i], &m.strands[i]
		if st.CTA == cta && st.Warp == warp && s.blocked && st.Lanes&rel.Lanes != 0 {
			s.free = true
			if held && st.Ops[s.pc].Kind == trace.KindBarArrive {
				s.blocked, s.free = false, false
				s.pc++
			}
		}
	}
}

func (m *Machine) exit(i int) {
	s, st := &m.strands[i], &m.p.Strands[i]
	s.exited = true
	m.log.exits(m, i)
	ct := &m.ctas[st.CTA]
	m.order.exit(m, i)
	before := phasesOf(ct.named)
	ct.named.Exit(st.Warp, st.Lanes, &m.eff)
	m.settleNamed(st.CTA, before)
	m.eff.Reset()
	ct.warps[st.Warp].Exit(st.Lanes, &m.eff)
	for _, rel := range m.eff.Released {
		m.release(rel, st.CTA, st.Warp, false)
	}
	for i := range m.colls {
		if c := &m.colls[i]; c.exitLowers && (c.wide || c.cta == st.CTA) {
			m.eff.Reset()
			phase := c.Phase
			c.Exit(st.CTA, st.Warp, st.Lanes, &m.eff)
			m.settle(c, phase)
		}
	}
}

func phasesOf(n *barrier.Named) (p [barrier.NumNamed]uint64) {
	for i := range n.Bars {
		p[i] = n.Bars[i].Phase
	}
	return p
}

func (m *Machine) settleNamed(cta uint32, before [barrier.NumNamed]uint64) {
	m.judge()
	for i, p := range before {
		if m.ctas[cta].named.Bars[i].Phase != p {
			m.order.namedEnded(m, cta, uint32(i))
		}
	}
	for _, rel := range m.eff.Released {
		m.release(rel, cta, rel.Warp, true)
	}
}

// collective is the barrier of the cluster or of a cooperative group.
type collective struct {
	collKey
	*barrier.Collective
	wide       bool // of all CTAs
	exitLowers bool // a thread that exits is not waited for
}

type collKey struct {
	cta  uint32 // 0 where it is wide
	name string // of a group; "" for the cluster's own
}

// collective finds the barrier of an operation on the cluster or a group.
func (m *Machine) collective(st *Strand, op *Op) *collective {
	k := collKey{st.CTA, op.Group}
	if op.Kind >= trace.KindClusterArrive && op.Kind <= trace.KindClusterDone {
		k.name = ""
	}
	wide := k.name == "" || k.name == "cluster" || k.name == "grid"
	if wide {
		k.cta = 0
	}
	for i := range m.colls {
		if m.colls[i].collKey == k {
			return &m.colls[i]
		}
	}
	kind, known := barrier.Group, wide || k.name == "block"
	if k.name == "" {
		kind = barrier.Cluster
	}
	c := collective{collKey: k, Collective: barrier.NewCollective(kind, 0), wide: wide, exitLowers: known && k.name != "grid"}
	if !known {
		c.Size = uint64(op.Count)
	}
	for cta := range m.ctas {
		if !known || !wide && uint32(cta) != k.cta {
			continue
		}
		c.Add(uint32(cta), m.p.Threads)
		var eff barrier.Effect
		for i := range m.strands {
			if st := &m.p.Strands[i]; m.strands[i].exited && st.CTA == uint32(cta) {
				c.Exit(st.CTA, st.Warp, st.Lanes, &eff)
			}
		}
	}
	m.colls = append(m.colls, c)
	return &m.colls[len(m.colls)-1]
}

// function is a completion function that begins or ends.
func (m *Machine) function(i int, op *Op) {
	key := mbarKey{m.p.Strands[i].CTA, op.Addr}
	b := m.mbar(key.cta, key.addr)
	before := b.Phase
	m.order.function(m, i, &op.Op, key)
	if op.Kind == trace.KindCompletionEnd && b.Completing {
		b.Advance(&m.eff)
	}
	m.order.ended(m, key, before)
}

func (m *Machine) settle(c *collective, before uint64) {
	m.judge()
	if c.Phase != before {
		m.order.collectiveEnded(c)
	}
	for _, rel := range m.eff.Released {
		m.release(rel, rel.CTA, rel.Warp, false)
	}
}

// perform does the operation that a strand is at.
func (m *Machine) perform(i int, op *Op) {
	s, st := &m.strands[i], &m.p.Strands[i]
	ct := &m.ctas[st.CTA]
	m.log.does(m, i, op)
	switch op.Kind {
	case trace.KindBarArrive, trace.KindBarSync, trace.KindBarRed:
		id := op.Bar % barrier.NumNamed
		before := phasesOf(ct.named)
		s.blocked, s.phase = true, before[id]
		m.order.bar(m, i, &op.Op, id)
		ct.named.Do(&barrier.NamedOp{
			Kind: namedKind(&op.Op), Pred: op.Pred, Warp: st.Warp, Lanes: st.Lanes, Bar: op.Bar, Count: op.Count, Aligned: op.Aligned, Site: uint64(op.Line),
		}, &m.eff)
		m.settleNamed(st.CTA, before)
		return
	case trace.KindClusterArrive, trace.KindGroupArrive:
		c := m.collective(st, op)
		phase := c.Phase
		m.order.joins(m, i, &op.Op, c)
		c.Arrive(st.CTA, st.Warp, st.Lanes, &m.eff)
		m.settle(c, phase)
	case trace.KindClusterWait, trace.KindGroupWait:
		c := m.collective(st, op)
		s.blocked, s.phase = true, c.WaitPhase(st.CTA, st.Warp, st.Lanes)
		c.Wait(st.CTA, st.Warp, st.Lanes, &m.eff)
		m.settle(c, c.Phase)
		return
	case trace.KindCompletionBegin, trace.KindCompletionEnd:
		m.function(i, op)
	case trace.KindSyncwarp:
		s.blocked = true
		m.order.syncwarp(m, i, &op.Op)
		ct.warps[st.Warp].Sync(st.Lanes, op.Mask, &m.eff)
		m.judge()
		for _, rel := range m.eff.Released {
			m.release(rel, st.CTA, st.Warp, false)
		}
		return
	default:
		m.mbarrier(i, op)
	}
	s.pc++
}

func (m *Machine) mbarrier(i int, op *Op) {
	s, st := &m.strands[i], &m.p.Strands[i]
	key := mbarKey{st.owner(&op.Op), op.Addr}
	b := m.mbar(key.cta, key.addr)
	before := b.Phase
	m.order.mbarrier(m, i, &op.Op, key)
	switch op.Kind {
	case trace.KindMbarInit:
		b.Function = m.p.Functions[key.addr]
		b.Init(op.Count, &m.eff)
	case trace.KindMbarInval:
		b.Inval(&m.eff)
	case trace.KindMbarWait:
		if op.Has.Has(trace.FieldPhase) {
			b.CheckToken(s.tokens[key], &m.eff)
		} else if b.Life != barrier.Live {
			b.ExpectTx(0, &m.eff)
		}
	case trace.KindMbarExpectTx:
		b.ExpectTx(int64(st.lanes())*op.Bytes, &m.eff)
	case trace.KindMbarCompleteTx:
		b.CompleteTx(int64(st.lanes())*op.Bytes, &m.eff)
	case trace.KindMbarCopy:
		b.ExpectTx(0, &m.eff) // says if it cannot be used
		for rank := range m.ctas {
			to := key
			if op.CTAMask != 0 {
				if op.CTAMask>>rank&1 == 0 {
					continue
				}
				to.cta = uint32(rank)
			} else if rank > 0 {
				break
			}
			for range st.lanes() {
				m.async = append(m.async, async{mbarKey: to, bytes: op.Bytes})
			}
		}
	case trace.KindMbarCpAsyncArrive:
		for range st.lanes() {
			b.CpAsyncIssue(op.NoInc, &m.eff)
			m.async = append(m.async, async{mbarKey: key, arrival: true})
		}
	case trace.KindMbarArrive, trace.KindMbarArriveDrop, trace.KindMbarArriveNoComplete, trace.KindMbarArriveExpectTx:
		if s.tokens == nil {
			s.tokens = make(map[mbarKey]uint64)
		}
		a := barrier.Arrive{
			Count: max(op.Count, 1), Drop: op.Kind == trace.KindMbarArriveDrop, NoComplete: op.Kind == trace.KindMbarArriveNoComplete, Tx: op.Bytes,
		}
		spills := int64(a.Count)*int64(st.lanes()) > int64(b.Pending)
		s.tokens[key] = b.ArriveLanes(a, st.lanes(), &m.eff).Phase
		if spills {
			m.order.ended(m, key, before)
			before = b.Phase
			m.order.spills(m, i, &op.Op, key)
		}
	}
	m.judge()
	m.order.ended(m, key, before)
}

func namedKind(op *trace.Op) barrier.NamedKind {
	switch {
	case op.Kind == trace.KindBarArrive:
		return barrier.NamedArrive
	case op.Kind == trace.KindBarSync:
		return barrier.NamedSync
	case op.Red == trace.RedAnd:
		return barrier.NamedRedAnd
	case op.Red == trace.RedOr:
		return barrier.NamedRedOr
	}
	return barrier.NamedRedPopc
}
