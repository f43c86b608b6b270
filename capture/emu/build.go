package emu

import (
	"math/bits"

	"btrace/replay/barrier"
	"btrace/trace"
)

// build makes the CTAs of a machine, and has their threads begin.
func (m *machine) build() {
	m.built = true
	m.ctas, m.grid, m.sites = make(map[uint32]*cta), make(map[string]*group), make(map[uintptr]*site)
	m.layout = newLayout(m.l.cfg.Shared)
	clusters := uint64(1)
	if m.l.cfg.Cooperative {
		clusters = m.l.cfg.Grid.Size() / m.l.cfg.Cluster.Size()
	}
	for i := range clusters {
		m.addCluster(m.unit + i)
	}
	m.sched, m.log = newSchedule(m)
	for _, w := range m.warps {
		m.release(w, w.live)
	}
}

// addCluster makes cluster number i of the grid.
func (m *machine) addCluster(i uint64) {
	cfg := &m.l.cfg
	var in trace.Dim // clusters in the grid
	for k := range in {
		in[k] = cfg.Grid[k] / cfg.Cluster[k]
	}
	at := unflatten(i, in)
	cl := &cluster{bar: barrier.NewCollective(barrier.Cluster, 0)}
	for r := range cfg.Cluster.Size() {
		idx := unflatten(r, cfg.Cluster)
		for k := range idx {
			idx[k] += at[k] * cfg.Cluster[k]
		}
		m.addCTA(cl, idx)
	}
}

func (m *machine) addCTA(cl *cluster, idx trace.Dim) {
	n := int(m.l.cfg.Block.Size())
	c := &cta{
		m: m, id: flatten(idx, m.l.cfg.Grid), idx: idx, rank: len(cl.ctas), cluster: cl,
		named: barrier.NewNamed(n), mbars: make(map[uint64]*mbar), groups: make(map[string]*group), shared: make(map[string]any),
	}
	if code := m.l.code; code != nil {
		c.program = code.CTA(Place{CTA: c.id, Index: idx, Rank: c.rank, Size: int(m.l.cfg.Cluster.Size())})
	}
	cl.ctas = append(cl.ctas, c)
	cl.bar.Add(c.id, n)
	m.ctas[c.id] = c
	m.order = append(m.order, c)
	m.live += n
	lanes := make([]Thread, n)
	for i, live := range c.named.Live {
		w := &warp{cta: c, index: uint32(i), live: live, sync: barrier.NewWarp(live)}
		w.actor = actor{id: uint64(len(m.warps)), warp: w, at: -1}
		w.lanes = make([]*Thread, bits.OnesCount32(live))
		for j := range w.lanes {
			t := &lanes[32*i+j]
			t.m, t.cta, t.warp, t.lane = m, c, w, j
			t.set(op{kind: trace.KindEnter})
			w.lanes[j] = t
		}
		if c.program != nil {
			w.runner = c.program.Warp(i)
		}
		c.warps = append(c.warps, w)
		m.warps = append(m.warps, w)
	}
}

// free gives up what a machine that has come to its end does not need any
// more. Its events are still to be handed over.
func (m *machine) free() {
	m.l.choices.add(m)
	m.l.missed += m.missed
	*m = machine{l: m.l, unit: m.unit, events: m.events, sent: m.sent}
}
