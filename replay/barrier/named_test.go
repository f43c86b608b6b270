package barrier

import "testing"

const full = ^uint32(0)

// named makes an operation by all lanes of a warp on barrier 1, aligned, at a
// site of its own kind.
func named(k NamedKind, warp, count uint32) NamedOp {
	return NamedOp{Kind: k, Warp: warp, Lanes: full, Bar: 1, Count: count, Aligned: true, Site: uint64(k) + 1}
}

func (o NamedOp) on(bar uint32) NamedOp     { o.Bar = bar; return o }
func (o NamedOp) by(lanes uint32) NamedOp   { o.Lanes = lanes; return o }
func (o NamedOp) at(site uint64) NamedOp    { o.Site = site; return o }
func (o NamedOp) unaligned() NamedOp        { o.Aligned = false; return o }
func (o NamedOp) pred(lanes uint32) NamedOp { o.Pred = lanes; return o }

func do(o NamedOp, want string) step[*Named] {
	return step[*Named]{func(n *Named, e *Effect) { n.Do(&o, e) }, want}
}

func leave(warp, lanes uint32, want string) step[*Named] {
	return step[*Named]{func(n *Named, e *Effect) { n.Exit(warp, lanes, e) }, want}
}

func TestNamed(t *testing.T) {
	arrive := func(w, c uint32) NamedOp { return named(NamedArrive, w, c) }
	sync := func(w, c uint32) NamedOp { return named(NamedSync, w, c) }
	popc := func(w, c uint32) NamedOp { return named(NamedRedPopc, w, c) }
	and := func(w, c uint32) NamedOp { return named(NamedRedAnd, w, c) }
	or := func(w, c uint32) NamedOp { return named(NamedRedOr, w, c) }
	// Three warps, the last of 16 lanes.
	run(t, func() *Named { return NewNamed(80) }, []script[*Named]{
		{"all threads", []step[*Named]{
			do(sync(0, 0), ""), do(sync(2, 0).by(0xffff), ""),
			do(sync(1, 0), "complete:1 go:c0w0:ffffffff go:c0w2:ffff go:c0w1:ffffffff"),
		}},
		{"an exited warp is not waited for", []step[*Named]{
			leave(1, full, ""), do(sync(0, 0), ""), do(sync(2, 0).by(0xffff), "complete:1 go:c0w0:ffffffff go:c0w2:ffff"),
		}},
		{"an exit lets those go who wait for it", []step[*Named]{
			do(sync(0, 0), ""), do(sync(2, 0).by(0xffff), ""), leave(1, 0xff, ""),
			leave(1, ^uint32(0xff), "complete:1 go:c0w0:ffffffff go:c0w2:ffff"),
		}},
		{"an exit does not lower an explicit count", []step[*Named]{
			do(sync(0, 96), ""), leave(1, full, ""), do(sync(2, 96).by(0xffff), ""),
		}},
		{"a producer arrives, a consumer waits", []step[*Named]{
			do(arrive(0, 64), "go:c0w0:ffffffff"), do(sync(1, 64), "complete:1 go:c0w1:ffffffff"),
		}},
		{"arrives alone complete a phase", []step[*Named]{
			do(arrive(0, 64), "go:c0w0:ffffffff"), do(arrive(1, 64), "complete:1 go:c0w1:ffffffff"),
			do(sync(1, 64), ""), do(sync(0, 64), "complete:1 go:c0w1:ffffffff go:c0w0:ffffffff"),
		}},
		{"barriers are apart", []step[*Named]{
			do(sync(0, 64).on(2), ""), do(sync(1, 64).on(3), ""), do(sync(2, 64).by(0xffff).on(2), "complete:1 go:c0w0:ffffffff go:c0w2:ffff"),
		}},
		{"a warp comes lane by lane", []step[*Named]{
			do(sync(0, 64).by(0xfffffffe), ""), do(sync(1, 64), ""), do(sync(0, 64).by(1), "complete:1 go:c0w0:ffffffff go:c0w1:ffffffff"),
		}},
		{"an arrive holds its lanes until the warp is there", []step[*Named]{
			do(arrive(0, 64).by(0xffff), ""), do(arrive(0, 64).by(0xffff0000), "go:c0w0:ffffffff"),
		}},
		{"lanes that exit are not waited for by their warp", []step[*Named]{
			do(sync(0, 32).by(0xffff), ""), leave(0, 0xffff0000, "complete:1 go:c0w0:ffff"),
		}},
		{"a phase completes without a warp that is there in part", []step[*Named]{
			do(popc(2, 64).by(0xff).pred(0xff), ""), do(popc(0, 64).pred(1), ""), do(popc(1, 64).pred(2), "complete:1 go:c0w0:ffffffff=2 go:c0w1:ffffffff=2"),
			do(popc(0, 64).pred(1), ""), do(popc(2, 64).by(0xff00), "complete:1 go:c0w2:ffff=9 go:c0w0:ffffffff=9"),
		}},
		{"an arrive of a part of a warp outlasts a phase", []step[*Named]{
			do(arrive(2, 64).by(0xff), ""), do(sync(0, 64), ""), do(sync(1, 64), "complete:1 go:c0w0:ffffffff go:c0w1:ffffffff"),
			leave(2, 0xff00, "go:c0w2:ff"), do(sync(0, 64), "complete:1 go:c0w0:ffffffff"), do(sync(0, 96), ""),
		}},
		{"unaligned lanes at two places", []step[*Named]{
			do(sync(0, 32).unaligned().by(0x55555555).at(10), ""), do(sync(0, 32).unaligned().by(0xaaaaaaaa).at(11), "complete:1 go:c0w0:ffffffff"),
		}},
		{"bar-divergent", []step[*Named]{
			do(sync(0, 32).by(0x55555555).at(10), ""), do(sync(0, 32).by(0xaaaaaaaa).at(11), "bar-divergent(11,10)"),
		}},
		{"bar-divergent, aligned beside unaligned", []step[*Named]{
			do(sync(0, 32).by(0x55555555).at(10).unaligned(), ""), do(sync(0, 32).by(0xaaaaaaaa).at(11), "bar-divergent(11,10)"),
		}},
		{"two warps at two places", []step[*Named]{
			do(sync(0, 64).at(10), ""), do(sync(1, 64).at(11), "complete:1 go:c0w0:ffffffff go:c0w1:ffffffff"),
		}},
		{"bar-id-range", []step[*Named]{
			do(sync(0, 32).on(16), "complete:1 go:c0w0:ffffffff bar-id-range(16,15)"),
		}},
		{"bar-count-missing", []step[*Named]{do(arrive(0, 0), "bar-count-missing(0,0) trap:illegal instruction")}},
		{"bar-count-not-warp-multiple", []step[*Named]{
			do(sync(0, 48), "bar-count-not-warp-multiple(48,64) trap:illegal instruction"),
		}},
		{"bar-count-exceeds-cta", []step[*Named]{
			do(sync(0, 96), ""), do(sync(1, 128).on(2), "bar-count-exceeds-cta(128,96)"),
		}},
		{"bar-count-mismatch", []step[*Named]{
			do(sync(0, 64), ""), do(sync(1, 96), "bar-count-mismatch(96,64) trap:illegal instruction"),
		}},
		{"bar-count-mismatch, implicit with explicit", []step[*Named]{
			do(sync(0, 0), ""), do(sync(1, 96), "bar-count-mismatch(96,0) trap:illegal instruction"),
		}},
		{"another count in another phase", []step[*Named]{
			do(sync(0, 32), "complete:1 go:c0w0:ffffffff"), do(sync(0, 64), ""), do(sync(1, 64), "complete:1 go:c0w0:ffffffff go:c0w1:ffffffff"),
		}},
		{"bar-red-mixed, sync", []step[*Named]{
			do(sync(0, 64), ""), do(popc(1, 64), "bar-red-mixed(2,1) trap:illegal instruction"),
		}},
		{"bar-red-mixed, arrive", []step[*Named]{
			do(arrive(0, 64), "go:c0w0:ffffffff"), do(popc(1, 64), "bar-red-mixed(2,0) trap:illegal instruction"),
		}},
		{"bar-red-op-mismatch", []step[*Named]{
			do(popc(0, 64), ""), do(and(1, 64), "bar-red-op-mismatch(3,2) trap:illegal instruction"),
		}},
		{"bar-overrun, arrive twice", []step[*Named]{
			do(arrive(0, 64), "go:c0w0:ffffffff"), do(arrive(0, 64), "complete:1 go:c0w0:ffffffff bar-overrun(0,0)"), do(sync(1, 64), ""),
		}},
		{"bar-overrun, arrive then sync", []step[*Named]{
			do(arrive(0, 64), "go:c0w0:ffffffff"), do(sync(0, 64), "complete:1 go:c0w0:ffffffff bar-overrun(0,0)"),
		}},
		{"popc counts participants", []step[*Named]{
			do(popc(0, 64).pred(0xff), ""), do(popc(2, 64).by(0xffff).pred(0xffffffff), "complete:1 go:c0w0:ffffffff=24 go:c0w2:ffff=24"),
		}},
		{"popc of the non-exited", []step[*Named]{
			do(popc(0, 0).by(0xf).pred(0xff), ""), leave(0, ^uint32(0xf), ""), leave(1, full, ""),
			do(popc(2, 0).by(0xffff).pred(1), "complete:1 go:c0w0:f=5 go:c0w2:ffff=5"),
		}},
		{"and", []step[*Named]{
			do(and(0, 64).pred(full), ""), do(and(2, 64).by(0xffff).pred(0xffff), "complete:1 go:c0w0:ffffffff=1 go:c0w2:ffff=1"),
			do(and(0, 64).pred(full), ""), do(and(2, 64).by(0xffff).pred(0x7fff), "complete:1 go:c0w0:ffffffff go:c0w2:ffff"),
		}},
		{"or", []step[*Named]{
			do(or(0, 64), ""), do(or(1, 64).pred(1<<31), "complete:1 go:c0w0:ffffffff=1 go:c0w1:ffffffff=1"),
			do(or(0, 64), ""), do(or(1, 64), "complete:1 go:c0w0:ffffffff go:c0w1:ffffffff"),
		}},
	})
}

func TestNamedExpected(t *testing.T) {
	n, e := NewNamed(80), new(Effect)
	if got := n.Expected(1); got != 0 {
		t.Errorf("at rest: %d, want 0", got)
	}
	n.Do(new(named(NamedSync, 0, 0)), e)
	if got := n.Expected(1); got != 96 {
		t.Errorf("all threads of 80: %d, want the 96 of three whole warps", got)
	}
	n.Exit(1, full, e)
	if got := n.Expected(1); got != 64 {
		t.Errorf("after a warp exited: %d, want 64", got)
	}
	n.Do(new(named(NamedSync, 2, 96).on(3)), e)
	if got := n.Expected(3); got != 96 {
		t.Errorf("explicit count: %d, want 96", got)
	}
}

// TestNamedEnd: a recording may say that a phase ended of which not all have
// come; then it did for everybody.
func TestNamedEnd(t *testing.T) {
	n, e := NewNamed(80), new(Effect)
	n.End(1, e)
	n.Do(new(named(NamedSync, 0, 96).by(0xff)), e)
	n.Do(new(named(NamedSync, 1, 96)), e)
	if e.String() != "" {
		t.Fatalf("before: %q", e.String())
	}
	n.End(1, e)
	if got := e.String(); got != "complete:1 go:c0w0:ff go:c0w1:ffffffff" {
		t.Errorf("%q", got)
	}
	if b := n.Bars[1]; b.Active || b.Phase != 1 || len(b.Parts) != 0 {
		t.Errorf("not at rest: %+v", b)
	}
}
