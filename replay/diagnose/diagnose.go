// Package diagnose says why a launch hangs. It is given the barriers at which
// lanes are stuck, with who has come and who has not and where those are, and
// finds the roots: the one thing that is wrong, apart from the waits that
// merely follow from it.
//
// It knows nothing of events: what is stuck is the replay's finding.
package diagnose

import (
	"cmp"
	"slices"

	"btrace/replay/barrier"
	"btrace/replay/rules"
	"btrace/trace"
)

// Whereabouts is where lanes are that have not come.
type Whereabouts uint8

// The whereabouts.
const (
	Exited     Whereabouts = iota // ended the kernel
	Elsewhere                     // stuck at another barrier
	Running                       // last seen running
	Skipped                       // went past the place where their peers arrived
	NotStarted                    // never seen
)

// Absent is lanes that have not come, and where they are instead.
type Absent struct {
	rules.Lanes
	Why      Whereabouts
	At       rules.BarrierRef // where they are stuck, if they are
	Location rules.Location   // of their last event
	Op       string           // its name
	Times    int64            // how often they arrived here before
}

// Stuck is a barrier in a phase that does not complete, with lanes waiting
// for it.
type Stuck struct {
	rules.BarrierRef
	Waits   []rules.Wait
	Events  []rules.EventRef // of the waits
	Arrived []rules.Lanes
	Missing []Absent
	// Members is true where the missing lanes are known to belong: all of
	// them must come. Otherwise they are candidates.
	Members bool
	// Pending of Expected arrivals have not come.
	Pending, Expected uint64
	// Tx bytes are announced and will not complete; TxUnknown where byte
	// counts are not known.
	Tx        int64
	TxUnknown bool
	// Bound is the number of threads that exist, where Expected is more.
	Bound uint64
	// CountOff is true if every lane ever seen arriving has arrived.
	CountOff bool
	// Split is true if only part of a warp came to a named barrier, Aligned
	// if by the aligned form.
	Split, Aligned bool
	// Waited is, for waits by parity, the latest phase that the lanes had
	// waited for before (-1: none); WrongParity if a completed phase lies
	// between that and this one. Fresh: no phase completed and nobody ever
	// arrived.
	Waited int64
	Parity uint8
	// Skips: one lies between, or did before an earlier wait.
	WrongParity bool
	Skips       bool
	Fresh       bool
	Init        rules.Location // of an mbarrier
	Announced   rules.Location // where bytes were last announced
	AnnouncedBy rules.EventRef
	// Copied is where the last copy that completes here was issued, CopiedBy
	// who did.
	Copied   rules.Location
	CopiedBy rules.Lanes
	// Takers is how many lanes ever arrived on an mbarrier, or 0 where that
	// need not be how many it has to expect.
	Takers uint64
	// Low is an mbarrier whose phases end too early, on which the waiting
	// lanes arrive; LowItself if it is this one, or of the same place.
	Low       *Low
	LowItself bool
	// Runner is the lanes that run the completion function for which the
	// phase waits.
	Runner rules.Lanes
	Misuse *rules.Finding // a broken rule that explains it
}

// Low is an mbarrier on which more lanes arrive than it expects.
type Low struct {
	rules.BarrierRef
	Expected, Takers uint64
	Init             rules.Location
	Misuse           *rules.Finding // an arrive that cannot have been in its phase
}

// waiting is the number of lanes that wait.
func (n *Stuck) waiting() (lanes int) {
	for _, w := range n.Waits {
		for _, t := range w.Threads {
			lanes += ones(t.Mask)
		}
	}
	return lanes
}

// since is when the first of the waits began.
func (n *Stuck) since() int64 {
	t := n.Waits[0].Since
	for _, w := range n.Waits[1:] {
		t = min(t, w.Since)
	}
	return t
}

func ones(m uint32) (n int) {
	for ; m != 0; m &= m - 1 {
		n++
	}
	return n
}

// causes, strongest first. Weak ones give way to any other cause that the
// barrier is behind.
type cause uint8

const (
	none cause = iota
	misused
	lowCount
	wrongParity
	bytesLeft
	wrongCount
	skipped
	gone
	split
	absent
	external // weak
)

func (c cause) strong() bool { return c != none && c < external }

// hard causes are facts of their own, whatever other waits may have led to.
func (c cause) hard() bool { return c == misused || c == bytesLeft || c == wrongCount }

// Roots finds the root of every hang among the stuck barriers of a scope.
// It returns one finding for each; a misuse that is the root is marked in
// place and returned too.
func Roots(l *trace.Launch, nodes []*Stuck) []*rules.Finding {
	g := newGraph(nodes)
	local := make([]cause, len(nodes))
	for i, n := range nodes {
		local[i] = localCause(n)
	}
	g.parity(local)
	g.lowCounts(local)
	owner := make([]int, len(nodes)) // the root that a node is behind, or -1
	for i := range owner {
		owner[i] = -1
	}
	claim := func(is func(cause) bool) {
		for i := range nodes {
			if owner[i] < 0 && is(local[i]) {
				owner[i] = i
			}
		}
		for again := true; again; {
			again = false
			for i := range nodes {
				if owner[i] >= 0 {
					continue
				}
				if to := slices.IndexFunc(g.edges[i], func(j int) bool { return owner[j] >= 0 }); to >= 0 {
					owner[i] = owner[g.edges[i][to]]
					again = true
				}
			}
		}
	}
	claim(cause.strong)
	cycles := g.cycles(owner)
	for _, c := range cycles {
		for _, i := range c {
			owner[i] = c[0]
		}
	}
	claim(func(c cause) bool { return c == external })
	for i := range nodes {
		if owner[i] < 0 {
			owner[i] = i
		}
	}

	circle := make(map[int][]*Stuck)
	for _, c := range cycles {
		for _, j := range c {
			circle[c[0]] = append(circle[c[0]], nodes[j])
		}
	}
	behind := make([][]*Stuck, len(nodes))
	for j, i := range owner {
		if i != j {
			behind[i] = append(behind[i], nodes[j])
		}
	}
	var out []*rules.Finding
	for i, n := range nodes {
		if owner[i] == i {
			out = append(out, tell(l, n, local[i], circle[i], behind[i]))
		}
	}
	return out
}

// localCause is what is wrong with a stuck barrier in itself.
func localCause(n *Stuck) cause {
	count := map[Whereabouts]int{}
	reach := 0 // arrivals that may still come
	otherMask := false
	for _, m := range n.Missing {
		count[m.Why]++
		otherMask = otherMask || n.otherMask(m)
		if m.Why != Exited && m.Why != Skipped {
			reach += arrivals(n, m.Lanes)
		}
	}
	switch {
	case n.Misuse != nil:
		return misused
	case n.WrongParity:
		return wrongParity
	case n.Pending == 0 && n.Tx != 0 && !n.TxUnknown:
		return bytesLeft
	case n.Bound > 0 && n.Expected > n.Bound, n.CountOff && n.Pending > 0:
		return wrongCount
	case count[Skipped] > 0:
		return skipped
	case count[Exited] > 0 && !n.Members && uint64(reach) < n.Pending:
		return gone
	case n.Split && n.Aligned && count[Running] > 0:
		return split
	case otherMask,
		count[NotStarted] > 0 && count[Elsewhere] == 0,
		n.Members && count[Running] > 0:
		return absent
	case count[Running] > 0, n.Pending == 0 && n.TxUnknown:
		return external
	}
	return none
}

// otherMask reports whether lanes that a syncwarp misses are at one of the
// same warp with another mask.
func (n *Stuck) otherMask(m Absent) bool {
	return n.Barrier.Kind == trace.BarrierWarp && m.Why == Elsewhere && m.At == n.BarrierRef
}

// arrivals is how many arrivals lanes can make: a warp makes 32 on a named
// barrier, whatever lanes it has.
func arrivals(n *Stuck, l rules.Lanes) int {
	if n.Barrier.Kind == trace.BarrierNamed {
		return 32
	}
	return ones(l.Mask)
}

// graph is the wait-for graph: an edge leads from a barrier to one at which
// lanes are stuck that it waits for.
type graph struct {
	nodes []*Stuck
	edges [][]int
}

func newGraph(nodes []*Stuck) *graph {
	slices.SortStableFunc(nodes, func(a, b *Stuck) int {
		return cmp.Or(cmp.Compare(a.since(), b.since()), cmp.Compare(a.CTA, b.CTA), cmp.Compare(a.Barrier.Kind, b.Barrier.Kind), cmp.Compare(a.Barrier.ID, b.Barrier.ID))
	})
	index := make(map[rules.BarrierRef]int, len(nodes))
	for i, n := range nodes {
		index[n.BarrierRef] = i
	}
	g := &graph{nodes: nodes, edges: make([][]int, len(nodes))}
	for i, n := range nodes {
		for _, m := range n.Missing {
			if m.Why != Elsewhere {
				continue
			}
			if j, ok := index[m.At]; ok && !slices.Contains(g.edges[i], j) {
				g.edges[i] = append(g.edges[i], j)
			}
		}
	}
	return g
}

// cycles finds the circles among the nodes that have no owner yet (Tarjan's
// strongly connected components), each from its earliest wait on, in
// wait-for order where it is a simple circle.
func (g *graph) cycles(owner []int) [][]int {
	n := len(g.nodes)
	index, low, on := make([]int, n), make([]int, n), make([]bool, n)
	var stack []int
	var out [][]int
	next := 1
	// An explicit stack: a hang of many barriers must not end in deep
	// recursion.
	type frame struct{ v, edge int }
	for root := range n {
		if index[root] != 0 || owner[root] >= 0 {
			continue
		}
		frames := []frame{{root, 0}}
		for len(frames) > 0 {
			f := &frames[len(frames)-1]
			v := f.v
			if f.edge == 0 {
				index[v], low[v] = next, next
				next++
				stack, on[v] = append(stack, v), true
			}
			if f.edge < len(g.edges[v]) {
				w := g.edges[v][f.edge]
				f.edge++
				switch {
				case owner[w] >= 0:
				case index[w] == 0:
					frames = append(frames, frame{w, 0})
				case on[w]:
					low[v] = min(low[v], index[w])
				}
				continue
			}
			frames = frames[:len(frames)-1]
			if len(frames) > 0 {
				p := frames[len(frames)-1].v
				low[p] = min(low[p], low[v])
			}
			if low[v] != index[v] {
				continue
			}
			var comp []int
			for {
				w := stack[len(stack)-1]
				stack, on[w] = stack[:len(stack)-1], false
				comp = append(comp, w)
				if w == v {
					break
				}
			}
			if len(comp) > 1 || slices.Contains(g.edges[v], v) {
				out = append(out, g.walk(comp))
			}
		}
	}
	return out
}

// walk puts a component in wait-for order, from its earliest wait.
func (g *graph) walk(comp []int) []int {
	slices.Sort(comp) // nodes are in order of their first wait
	in := make(map[int]bool, len(comp))
	for _, i := range comp {
		in[i] = true
	}
	out := []int{comp[0]}
	delete(in, comp[0])
	for at := comp[0]; ; {
		k := slices.IndexFunc(g.edges[at], func(j int) bool { return in[j] })
		if k < 0 {
			break
		}
		at = g.edges[at][k]
		delete(in, at)
		out = append(out, at)
	}
	for _, i := range comp {
		if in[i] {
			out = append(out, i)
		}
	}
	return out
}

// parity finds circles of which every wait is by parity on an mbarrier that
// nobody ever arrived on: both sides wait for the other to begin. One of them
// must start with the parity that a fresh barrier passes; it is the side with
// the fewest waiting lanes, as the producer of a pipeline is.
func (g *graph) parity(local []cause) {
	owner := make([]int, len(g.nodes))
	for i := range owner {
		owner[i] = -1
		if local[i].strong() {
			owner[i] = i
		}
	}
	for _, c := range g.cycles(owner) {
		fresh, first := true, c[0]
		for _, i := range c {
			n := g.nodes[i]
			fresh = fresh && n.Fresh && n.Barrier.Kind == trace.BarrierMbar
			if n.waiting() < g.nodes[first].waiting() {
				first = i
			}
		}
		if fresh && len(c) > 1 {
			local[first] = wrongParity
		}
	}
}

// lowCounts finds waits by parity that have fallen out of step with an
// mbarrier whose phases end too early. The first of them, or the wait on that
// barrier itself if there is one, stands for all.
func (g *graph) lowCounts(local []cause) {
	type waits struct {
		root  int
		skips bool
		all   []int
	}
	found := make(map[*Low]*waits)
	var order []*waits
	for i, n := range g.nodes {
		if n.Low == nil || local[i].hard() || !n.Skips && !n.LowItself {
			continue
		}
		w := found[n.Low]
		if w == nil {
			w = &waits{root: i}
			found[n.Low] = w
			order = append(order, w)
		}
		if n.LowItself && !g.nodes[w.root].LowItself {
			w.root = i
		}
		w.skips = w.skips || n.Skips
		w.all = append(w.all, i)
	}
	for _, w := range order {
		if !w.skips {
			continue
		}
		for _, i := range w.all {
			local[i] = none
			if i != w.root && !slices.Contains(g.edges[i], w.root) {
				g.edges[i] = append(g.edges[i], w.root)
			}
		}
		local[w.root] = lowCount
	}
}

// ruleOf is the rule that stands for a cause.
func ruleOf(n *Stuck, c cause) barrier.Rule {
	switch c {
	case wrongParity, lowCount:
		return rules.DeadlockParity
	case bytesLeft:
		return rules.DeadlockTx
	case wrongCount:
		return rules.DeadlockCount
	case gone:
		if n.Barrier.Kind == trace.BarrierGroup {
			return rules.GroupMissingThread
		}
		return rules.DeadlockExited
	case split:
		return barrier.BarDivergent
	case external:
		return rules.DeadlockExternal
	case skipped, absent:
		switch n.Barrier.Kind {
		case trace.BarrierWarp:
			return rules.SyncwarpMissingLane
		case trace.BarrierGroup:
			return rules.GroupMissingThread
		}
		return rules.DeadlockMissingArrival
	}
	return rules.HangUnexplained
}
