package emu

import (
	"fmt"

	"btrace/replay/barrier"
	"btrace/trace"
)

// Group is a thread's handle of a cooperative group: a set of threads with a
// barrier that each of them arrives on once a phase (CUDA C++ Programming
// Guide, "Cooperative Groups"). The groups of a block and of a cluster follow
// the hardware barriers that they are made of: a thread that has exited is
// not waited for. All others wait for all their threads; one that exits is
// missed.
type Group struct {
	t *Thread
	g *group
}

// group is a cooperative group.
type group struct {
	name string
	size int
	bar  *barrier.Collective
}

// GroupToken is what barrier_arrive returns and barrier_wait takes.
type GroupToken struct {
	phase uint64
}

// ThisBlock is this_thread_block().
func (t *Thread) ThisBlock() Group {
	t.own("group block")
	if t.cta.block == nil {
		t.cta.block = hardwareGroup("block", t.cta)
	}
	return Group{t, t.cta.block}
}

// ThisCluster is this_cluster().
func (t *Thread) ThisCluster() Group {
	t.own("group cluster")
	cl := t.cta.cluster
	if cl.whole == nil {
		cl.whole = hardwareGroup("cluster", cl.ctas...)
	}
	return Group{t, cl.whole}
}

// ThisGrid is this_grid(). It needs a launch with Config.Cooperative.
func (t *Thread) ThisGrid() Group {
	if !t.m.l.cfg.Cooperative {
		panic(fmt.Errorf("this_grid needs a cooperative launch"))
	}
	return t.groupIn(t.m.grid, "grid", t.Threads()*t.CTAs())
}

// Tile is tiled_partition: the block's threads in tiles of n, the last of
// which may be smaller, and of them the one that the thread is in.
func (t *Thread) Tile(n int) Group {
	if n < 1 {
		panic(fmt.Errorf("a tile of %d threads", n))
	}
	i := t.Thread() / n
	return t.groupIn(t.cta.groups, fmt.Sprintf("tile:%d:%d", n, i), min(n, t.Threads()-i*n))
}

// Group is a group of any threads of the CTA: those that ask for it by that
// name. There must be size of them.
func (t *Thread) Group(name string, size int) Group {
	if name == "block" || name == "cluster" || name == "grid" {
		panic(fmt.Errorf("group %q: the name is that of another group", name))
	}
	return t.groupIn(t.cta.groups, name, size)
}

func (t *Thread) groupIn(groups map[string]*group, name string, size int) Group {
	t.own("group " + name)
	g := groups[name]
	if g == nil {
		if size < 1 {
			panic(fmt.Errorf("group %q of %d threads", name, size))
		}
		g = &group{name: name, size: size, bar: barrier.NewCollective(barrier.Group, uint64(size))}
		groups[name] = g
	}
	if g.size != size {
		panic(fmt.Errorf("group %q is of %d threads and of %d", name, g.size, size))
	}
	return Group{t, g}
}

// hardwareGroup is a group of all threads of CTAs. Its barrier knows them, and
// does not wait for those that have exited.
func hardwareGroup(name string, ctas ...*cta) *group {
	g := &group{name: name, bar: barrier.NewCollective(barrier.Group, 0)}
	var eff barrier.Effect
	for _, c := range ctas {
		n := int(c.m.l.cfg.Block.Size())
		g.size += n
		g.bar.Add(c.id, n)
		for _, w := range c.warps {
			g.bar.Exit(c.id, w.index, w.all()&^w.live, &eff)
		}
	}
	return g
}

// Size is the number of threads in the group.
func (g Group) Size() int { return g.g.size }

// Arrive is barrier_arrive().
//
//go:noinline
func (g Group) Arrive() GroupToken {
	g.t.here()
	return g.arrive()
}

// Wait is barrier_wait(): waits until all have arrived in the phase.
//
//go:noinline
func (g Group) Wait(k GroupToken) {
	g.t.here()
	g.wait(k)
}

// Sync is sync(): Arrive and Wait.
//
//go:noinline
func (g Group) Sync() {
	g.t.here()
	g.wait(g.arrive())
}

func (g Group) arrive() GroupToken {
	g.t.do(op{kind: trace.KindGroupArrive, group: g.g})
	return GroupToken{g.t.token.Phase}
}

func (g Group) wait(k GroupToken) {
	g.t.do(op{kind: trace.KindGroupWait, group: g.g, phase: k.phase})
}

func (m *machine) groupBarrier(w *warp, lanes uint32, o *op) uint32 {
	bar := o.group.bar
	e := m.record(w, lanes, o.kind, o)
	e.Group, e.Phase = o.group.name, o.phase
	e.Has = e.Has.With(trace.FieldGroup, trace.FieldPhase)
	m.eff.Reset()
	switch o.kind {
	case trace.KindGroupArrive:
		e.Count, e.Phase = uint32(o.group.size), bar.Phase
		e.Has = e.Has.With(trace.FieldCount)
		w.each(lanes, func(t *Thread) { t.token.Phase = bar.Phase })
		bar.Arrive(w.cta.id, w.index, lanes, &m.eff)
		m.settleCollective()
	case trace.KindGroupWait:
		w.hold(lanes)
		w.then(lanes, trace.KindGroupDone)
		bar.Wait(w.cta.id, w.index, lanes, &m.eff)
		m.settleCollective()
		return 0
	}
	return lanes
}
