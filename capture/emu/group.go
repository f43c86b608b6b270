package emu

import (
	"fmt"

	"btrace/replay/barrier"
	"btrace/trace"
)

// Group is a thread's handle of a cooperative group: a set of threads with a
// barrier that each of them arrives on once a phase (CUDA C++ Programming
// Guide, "Cooperative Groups"). Its barrier waits for all its threads; one
// that exits is missed.
type Group struct {
	t *Thread
	g *group
}

// group is a cooperative group.
type group struct {
	name string
	bar  *barrier.Collective
}

// GroupToken is what barrier_arrive returns and barrier_wait takes.
type GroupToken struct {
	phase uint64
}

// ThisBlock is this_thread_block().
func (t *Thread) ThisBlock() Group {
	return t.groupIn(t.cta.groups, "block", t.Threads())
}

// ThisCluster is this_cluster().
func (t *Thread) ThisCluster() Group {
	return t.groupIn(t.cta.cluster.groups, "cluster", t.Threads()*t.ClusterSize())
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
	return t.groupIn(t.cta.groups, name, size)
}

func (t *Thread) groupIn(groups map[string]*group, name string, size int) Group {
	t.own("group " + name)
	g := groups[name]
	if g == nil {
		if size < 1 {
			panic(fmt.Errorf("group %q of %d threads", name, size))
		}
		g = &group{name, barrier.NewCollective(barrier.Group, uint64(size))}
		groups[name] = g
	}
	if g.bar.Size != uint64(size) {
		panic(fmt.Errorf("group %q is of %d threads and of %d", name, g.bar.Size, size))
	}
	return Group{t, g}
}

// Size is the number of threads in the group.
func (g Group) Size() int { return int(g.g.bar.Size) }

// Arrive is barrier_arrive().
func (g Group) Arrive() GroupToken {
	g.t.here()
	return g.arrive()
}

// Wait is barrier_wait(): waits until all have arrived in the phase.
func (g Group) Wait(k GroupToken) {
	g.t.here()
	g.wait(k)
}

// Sync is sync(): Arrive and Wait.
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
		e.Count, e.Phase = uint32(bar.Size), bar.Phase
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
