package explore

import (
	"fmt"
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
	cluster *barrier.Collective
	async   []async
	eff     barrier.Effect
	// Bad is the first rule of the specification that was broken, or the trap;
	// "" while there is none.
	Bad string

	order *follower // nil if nobody wants to know
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
	m := &Machine{p: p, strands: make([]strandState, len(p.Strands)), cluster: barrier.NewCollective(barrier.Cluster, 0)}
	for c := range p.CTAs {
		ct := ctaState{named: barrier.NewNamed(p.Threads), mbars: make(map[uint64]*barrier.MBarrier)}
		for _, live := range ct.named.Live {
			ct.warps = append(ct.warps, barrier.NewWarp(live))
		}
		m.ctas = append(m.ctas, ct)
		m.cluster.Add(uint32(c), p.Threads)
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
	cl := *m.cluster
	cluster := barrier.NewCollective(cl.Kind, cl.Size)
	cluster.Phase, cluster.Count, cluster.Need, cluster.Warps = cl.Phase, cl.Count, cl.Need, slices.Clone(cl.Warps)
	c.cluster = cluster
	return c
}

// Key is the state as a string: two machines of a program with equal keys go
// on in the same ways.
func (m *Machine) Key() string {
	b := make([]byte, 0, 256)
	for i := range m.strands {
		s := &m.strands[i]
		b = fmt.Appendf(b, "%d%t%t%d;", s.pc, s.blocked, s.free, s.phase)
		for _, k := range sortedKeys(s.tokens) {
			b = fmt.Appendf(b, "%v=%d,", k, s.tokens[k])
		}
	}
	for i := range m.ctas {
		c := &m.ctas[i]
		for j := range c.named.Bars {
			if bar := &c.named.Bars[j]; bar.Active || bar.Phase > 0 {
				b = fmt.Appendf(b, "|%d%v", j, *bar)
			}
		}
		for _, a := range slices.Sorted(maps.Keys(c.mbars)) {
			b = fmt.Appendf(b, "|%x%v", a, *c.mbars[a])
		}
		b = fmt.Appendf(b, "|%v", c.warps)
	}
	b = fmt.Appendf(b, "|%v%d%d|", m.cluster.Warps, m.cluster.Phase, m.cluster.Count)
	rest := slices.Clone(m.async)
	slices.SortFunc(rest, func(x, y async) int { return slices.Compare(x.sortKey(), y.sortKey()) })
	return string(fmt.Appendf(b, "%v", rest))
}

func (a async) sortKey() []int64 {
	return []int64{int64(a.cta), int64(a.addr), a.bytes, int64(bit(a.arrival))}
}

func bit(v bool) uint8 {
	if v {
		return 1
	}
	return 0
}

func sortedKeys(m map[mbarKey]uint64) []mbarKey {
	return slices.SortedFunc(maps.Keys(m), func(a, b mbarKey) int {
		return slices.Compare([]uint64{uint64(a.cta), a.addr}, []uint64{uint64(b.cta), b.addr})
	})
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
	op := &st.Ops[s.pc]
	if op.Kind != trace.KindMbarWait {
		return true
	}
	b := m.ctas[st.owner(op)].mbars[op.Addr]
	if b == nil {
		return op.Parity&1 == 1 && !op.Has.Has(trace.FieldPhase) // as a fresh barrier
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
		m.order.left(m, choice, &st.Ops[s.pc], s.phase)
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
		m.Bad = "trap: " + m.eff.Trap
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
	m.eff.Reset()
	phase := m.cluster.Phase
	m.cluster.Exit(st.CTA, st.Warp, st.Lanes, &m.eff)
	m.settleCluster(phase)
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

func (m *Machine) settleCluster(before uint64) {
	m.judge()
	if m.cluster.Phase != before {
		m.order.clusterEnded(m)
	}
	for _, rel := range m.eff.Released {
		m.release(rel, rel.CTA, rel.Warp, false)
	}
}

// perform does the operation that a strand is at.
func (m *Machine) perform(i int, op *trace.Op) {
	s, st := &m.strands[i], &m.p.Strands[i]
	ct := &m.ctas[st.CTA]
	switch op.Kind {
	case trace.KindBarArrive, trace.KindBarSync, trace.KindBarRed:
		id := op.Bar % barrier.NumNamed
		before := phasesOf(ct.named)
		s.blocked, s.phase = true, before[id]
		m.order.bar(m, i, op, id)
		ct.named.Do(barrier.NamedOp{
			Kind: namedKind(op), Warp: st.Warp, Lanes: st.Lanes, Bar: op.Bar, Count: op.Count, Aligned: op.Aligned, Site: uint64(op.Line),
		}, &m.eff)
		m.settleNamed(st.CTA, before)
		return
	case trace.KindClusterArrive:
		phase := m.cluster.Phase
		m.order.clusterArrive(m, i, op)
		m.cluster.Arrive(st.CTA, st.Warp, st.Lanes, &m.eff)
		m.settleCluster(phase)
	case trace.KindClusterWait:
		s.blocked, s.phase = true, m.cluster.WaitPhase(st.CTA, st.Warp, st.Lanes)
		m.cluster.Wait(st.CTA, st.Warp, st.Lanes, &m.eff)
		m.settleCluster(m.cluster.Phase)
		return
	case trace.KindSyncwarp:
		s.blocked = true
		m.order.syncwarp(m, i, op)
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

func (m *Machine) mbarrier(i int, op *trace.Op) {
	s, st := &m.strands[i], &m.p.Strands[i]
	key := mbarKey{st.owner(op), op.Addr}
	b := m.mbar(key.cta, key.addr)
	before := b.Phase
	m.order.mbarrier(m, i, op, key)
	switch op.Kind {
	case trace.KindMbarInit:
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
		for range st.lanes() {
			m.async = append(m.async, async{mbarKey: key, bytes: op.Bytes})
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
			m.order.spills(m, i, op, key)
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
