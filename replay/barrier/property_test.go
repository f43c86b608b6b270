package barrier

import (
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// crowd is the lanes of a CTA on its named barriers, kept apart from the
// model: who is blocked, and with what.
type crowd struct {
	n       *Named
	blocked []uint32
	phase   [NumNamed]uint64
	parts   [NumNamed][]NamedOp // of the current phase, whole warps only
}

func newCrowd(threads int) *crowd {
	n := NewNamed(threads)
	return &crowd{n: n, blocked: make([]uint32, len(n.Live))}
}

// settle takes an effect in, and checks what always holds.
func (c *crowd) settle(t *rapid.T, bar uint32, e *Effect) {
	for _, r := range e.Released {
		if r.Lanes&^c.blocked[r.Warp] != 0 {
			t.Fatalf("warp %d lanes %x released, of which only %x wait", r.Warp, r.Lanes, c.blocked[r.Warp])
		}
		c.blocked[r.Warp] &^= r.Lanes
	}
	if got := c.n.Bars[bar].Phase; got != c.phase[bar]+uint64(e.Completed) {
		t.Fatalf("phase %d after %d and %d completed", got, c.phase[bar], e.Completed)
	}
	c.phase[bar] += uint64(e.Completed)
	for id := range c.n.Bars {
		b := &c.n.Bars[id]
		if b.Active && b.Arrived > 0 && 32*b.Arrived >= c.n.Expected(id) {
			t.Fatalf("barrier %d has %d warps of %d threads and is not complete", id, b.Arrived, c.n.Expected(id))
		}
	}
}

// TestNamedReductions: whole warps reduce and synchronise on a few barriers,
// in any order, and exit. Results are those that are recomputed from the
// predicates of the participants, and a phase completes exactly with the
// warp that makes it complete.
func TestNamedReductions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		warps := rapid.IntRange(1, 6).Draw(t, "warps")
		c := newCrowd(32*warps - rapid.IntRange(0, 31).Draw(t, "missing"))
		kinds := [4]NamedKind{NamedSync, NamedRedPopc, NamedRedAnd, NamedRedOr}
		var e Effect
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			w := uint32(rapid.IntRange(0, warps-1).Draw(t, "warp"))
			live := c.n.Live[w]
			if live == 0 || c.blocked[w] != 0 {
				continue
			}
			e.Reset()
			if rapid.IntRange(0, 19).Draw(t, "exits") == 0 {
				c.n.Exit(w, live, &e)
				for _, r := range e.Released {
					c.blocked[r.Warp] &^= r.Lanes
				}
				for id := range c.parts {
					if p := c.n.Bars[id].Phase; p != c.phase[id] {
						c.check(t, uint32(id), &e)
						c.phase[id] = p
					}
				}
				continue
			}
			bar := uint32(rapid.IntRange(0, 3).Draw(t, "bar"))
			op := NamedOp{Kind: kinds[bar], Warp: w, Lanes: live, Bar: bar, Pred: rapid.Uint32().Draw(t, "pred"), Aligned: true}
			if bar%2 == 1 {
				op.Count = uint32(32 * warps)
			}
			c.blocked[w] = live
			c.parts[bar] = append(c.parts[bar], op)
			c.n.Do(&op, &e)
			if len(e.Violations) > 0 || e.Trap != "" {
				t.Fatalf("%+v: %s", op, e.String())
			}
			if want := 32*uint32(len(c.parts[bar])) >= max(op.Count, 32*c.alive()); (e.Completed == 1) != want {
				t.Fatalf("%+v with %d warps there: %s", op, len(c.parts[bar]), e.String())
			}
			if e.Completed == 1 {
				c.check(t, bar, &e)
			}
			c.settle(t, bar, &e)
		}
	})
}

// check recomputes the reduction of a phase that has completed.
func (c *crowd) check(t *rapid.T, bar uint32, e *Effect) {
	ones, lanes := 0, 0
	for _, p := range c.parts[bar] {
		ones += bits.OnesCount32(p.Pred & p.Lanes)
		lanes += bits.OnesCount32(p.Lanes)
	}
	want := [4]uint32{0, uint32(ones), 0, 0}
	if ones == lanes {
		want[2] = 1
	}
	if ones > 0 {
		want[3] = 1
	}
	released := 0
	for _, r := range e.Released {
		if r.Bar == bar {
			released += bits.OnesCount32(r.Lanes)
			if r.Result != want[bar] {
				t.Fatalf("barrier %d gives %d, want %d of %+v", bar, r.Result, want[bar], c.parts[bar])
			}
		}
	}
	if released != lanes {
		t.Fatalf("barrier %d lets %d lanes go, of %d", bar, released, lanes)
	}
	c.parts[bar] = nil
}

// TestNamedOrder: in which order the warps of a phase come, whole or in
// pieces, does not matter: the same are released with the same result.
func TestNamedOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		warps := rapid.IntRange(1, 5).Draw(t, "warps")
		kind := rapid.SampledFrom([]NamedKind{NamedSync, NamedRedPopc, NamedRedAnd, NamedRedOr}).Draw(t, "kind")
		count := uint32(rapid.SampledFrom([]int{0, 32 * warps}).Draw(t, "count"))
		preds := rapid.SliceOfN(rapid.Uint32(), warps, warps).Draw(t, "preds")
		var ops []NamedOp
		for w := range warps {
			op := NamedOp{Kind: kind, Warp: uint32(w), Lanes: full, Count: count, Pred: preds[w], Aligned: true}
			cut := rapid.Uint32().Draw(t, "cut")
			for _, lanes := range []uint32{cut, ^cut} {
				if op.Lanes = lanes; lanes != 0 {
					ops = append(ops, op)
				}
			}
		}
		end := func(ops []NamedOp) []Release {
			n := NewNamed(32 * warps)
			var e Effect
			for _, op := range ops {
				n.Do(&op, &e)
			}
			if e.Completed != 1 || len(e.Violations) > 0 || e.Trap != "" {
				t.Fatalf("%+v: %s", ops, e.String())
			}
			slices.SortFunc(e.Released, func(a, b Release) int { return int(a.Warp) - int(b.Warp) })
			return e.Released
		}
		a, b := end(ops), end(rapid.Permutation(ops).Draw(t, "order"))
		if !slices.Equal(a, b) {
			t.Fatalf("released %+v, in another order %+v", a, b)
		}
	})
}

// TestMBarrierCounts: after any operations the counts are in range, phases
// only go up, and by as many as are reported; a phase that could complete has.
func TestMBarrierCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b MBarrier
		var e Effect
		copies := 0 // cp.async under way
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			before := b
			e.Reset()
			small := rapid.IntRange(0, 4)
			op := rapid.SampledFrom([]string{
				"arrive", "arrive", "arrive", "drop", "nocomplete", "arrive tx", "expect", "complete", "issue", "issue noinc", "done", "init", "inval",
			}).Draw(t, "op")
			switch op {
			case "arrive", "drop", "nocomplete":
				b.Arrive(Arrive{Count: uint32(small.Draw(t, "count")), Drop: op == "drop", NoComplete: op == "nocomplete"}, &e)
			case "arrive tx":
				b.Arrive(Arrive{Count: 1, Tx: int64(8 * small.Draw(t, "bytes"))}, &e)
			case "expect":
				b.ExpectTx(int64(8*small.Draw(t, "bytes")), &e)
			case "complete":
				b.CompleteTx(int64(8*small.Draw(t, "bytes")), &e)
			case "issue", "issue noinc":
				b.CpAsyncIssue(op == "issue noinc", &e)
				copies++
			case "done":
				if copies > 0 {
					copies--
					b.CpAsyncDone(&e)
				}
			case "init":
				if b.Life != Live {
					b.Init(uint32(rapid.IntRange(1, 6).Draw(t, "expected")), &e)
					before = b
				}
			case "inval":
				if b.Life == Live && rapid.IntRange(0, 9).Draw(t, "really") == 0 {
					b.Inval(&e)
				}
			}
			if b.Pending > MaxCount || b.Expected > MaxCount || b.Tx > MaxTx || b.Tx < -MaxTx {
				t.Fatalf("%s: out of range: %+v", op, b)
			}
			if b.Phase != before.Phase+uint64(e.Completed) {
				t.Fatalf("%s: from phase %d to %d with %d completed", op, before.Phase, b.Phase, e.Completed)
			}
			if b.Life == Live && b.TestParity(0) == b.TestParity(1) {
				t.Fatalf("%s: both parities agree: %+v", op, b)
			}
			if e.Completed > 0 && b.Pending != b.Expected {
				t.Fatalf("%s: not armed again: %+v", op, b)
			}
			if e.Trap != "" {
				return
			}
		}
	})
}

// TestMBarrierOrder: the arrivals and bytes of one phase may come in any
// order: the phase completes once, with the last of them.
func TestMBarrierOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.IntRange(1, 9), 1, 8).Draw(t, "counts")
		type part struct{ arrive, expect, complete int }
		var parts []part
		total := 0
		for _, n := range counts {
			total += n
			tx := 16 * rapid.IntRange(0, 3).Draw(t, "tx")
			// Bytes are announced at the latest by an arrival, or else the
			// phase could complete before.
			parts = append(parts, part{arrive: n, expect: tx})
			if tx > 0 {
				parts = append(parts, part{complete: tx})
			}
		}
		var b MBarrier
		var e Effect
		b.Init(uint32(total), &e)
		parts = rapid.Permutation(parts).Draw(t, "order")
		for i, p := range parts {
			switch {
			case p.arrive > 0:
				if tok := b.Arrive(Arrive{Count: uint32(p.arrive), Tx: int64(p.expect)}, &e); tok.Phase != 0 {
					t.Fatalf("arrival %d of %+v in phase %d", i, parts, tok.Phase)
				}
			default:
				b.CompleteTx(int64(p.complete), &e)
			}
			if (e.Completed == 1) != (i == len(parts)-1) {
				t.Fatalf("after %d of %+v: %s", i+1, parts, e.String())
			}
		}
	})
}

// TestTokenWordRoundTrip: the word gives back what the hardware keeps of a
// token.
func TestTokenWordRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tok := Token{Phase: rapid.Uint64().Draw(t, "phase"), Pending: uint32(rapid.IntRange(0, MaxCount).Draw(t, "pending"))}
		w := tok.Word()
		if PendingCount(w) != tok.Pending || uint64(WordParity(w)) != tok.Phase&1 || w<<21 != 0 {
			t.Fatalf("%+v: word %016x says %d pending, parity %d", tok, w, PendingCount(w), WordParity(w))
		}
	})
}

// TestClusterNeverLosesALane: lanes arrive, wait and exit at will; who waits
// is released exactly once, when the phase it waits for completes, and the
// count of missing arrivals is the one that is recomputed.
func TestClusterNeverLosesALane(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := NewCollective(Cluster, 0)
		const ctas, warps = 2, 2
		for i := range uint32(ctas) {
			c.Add(i, 32*warps)
		}
		type lanes struct{ live, arrived, waiting uint32 }
		var all [ctas][warps]lanes
		for i := range all {
			for j := range all[i] {
				all[i][j].live = full
			}
		}
		var e Effect
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			i, j := rapid.IntRange(0, ctas-1).Draw(t, "cta"), rapid.IntRange(0, warps-1).Draw(t, "warp")
			l := &all[i][j]
			mask := rapid.SampledFrom([]uint32{full, 0xffff, 0xffff0000}).Draw(t, "lanes") & l.live &^ l.waiting
			e.Reset()
			phase := c.Phase
			op := rapid.SampledFrom([]string{"arrive", "arrive", "wait", "wait", "exit"}).Draw(t, "op")
			switch op {
			case "arrive":
				mask &^= l.arrived
				c.Arrive(uint32(i), uint32(j), mask, &e)
				l.arrived |= mask
			case "wait":
				mask &= l.arrived
				c.Wait(uint32(i), uint32(j), mask, &e)
				l.waiting |= mask
			case "exit":
				if rapid.IntRange(0, 3).Draw(t, "really") > 0 {
					continue
				}
				mask &^= l.arrived
				c.Exit(uint32(i), uint32(j), mask, &e)
				l.live &^= mask
			}
			if len(e.Violations) > 0 {
				t.Fatalf("%s cta %d warp %d %x: %s", op, i, j, mask, e.String())
			}
			for _, r := range e.Released {
				w := &all[r.CTA][r.Warp]
				if r.Lanes&^w.waiting != 0 {
					t.Fatalf("released %x of cta %d warp %d, of which only %x wait", r.Lanes, r.CTA, r.Warp, w.waiting)
				}
				w.waiting &^= r.Lanes
				w.arrived &^= r.Lanes
			}
			if c.Phase != phase+uint64(e.Completed) {
				t.Fatalf("from phase %d to %d with %d completed", phase, c.Phase, e.Completed)
			}
			need := uint64(0)
			for _, w := range c.Warps {
				need += uint64(bits.OnesCount32(w.Live &^ w.Arrived))
			}
			if c.Pending() != need {
				t.Fatalf("pending %d, recomputed %d", c.Pending(), need)
			}
		}
	})
}

// TestSyncwarpNeverLosesALane: every lane that comes is let go once, when all
// non-exited lanes of its mask are there.
func TestSyncwarpNeverLosesALane(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := NewWarp(full)
		masks := []uint32{0x0000ffff, 0xffff0000}
		waiting := uint32(0)
		var e Effect
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			mask := rapid.SampledFrom(masks).Draw(t, "mask")
			lanes := rapid.Uint32().Draw(t, "lanes") & mask & w.Live &^ waiting
			if lanes == 0 {
				continue
			}
			e.Reset()
			if rapid.IntRange(0, 9).Draw(t, "exit") == 0 {
				w.Exit(lanes, &e)
			} else {
				w.Sync(lanes, mask, &e)
				waiting |= lanes
			}
			for _, r := range e.Released {
				if r.Lanes&^waiting != 0 {
					t.Fatalf("released %x, of which only %x wait", r.Lanes, waiting)
				}
				waiting &^= r.Lanes
			}
			for _, m := range masks {
				if here := waiting & m; here != 0 && w.Live&m&^here == 0 {
					t.Fatalf("%x of %x wait for nobody", here, m)
				}
			}
		}
	})
}

// alive is how many warps have lanes that have not exited.
func (c *crowd) alive() (warps uint32) {
	for _, lanes := range c.n.Live {
		if lanes != 0 {
			warps++
		}
	}
	return warps
}
