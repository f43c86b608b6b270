package barrier

import "testing"

// Two CTAs of 40 threads.
func twoCTAs() *Collective {
	c := NewCollective(Cluster, 0)
	c.Add(4, 40)
	c.Add(5, 40)
	return c
}

func TestCluster(t *testing.T) {
	type m = *Collective
	arrive := func(cta, warp, lanes uint32, want string) step[m] {
		return step[m]{func(c m, e *Effect) { c.Arrive(cta, warp, lanes, e) }, want}
	}
	wait := func(cta, warp, lanes uint32, want string) step[m] {
		return step[m]{func(c m, e *Effect) { c.Wait(cta, warp, lanes, e) }, want}
	}
	exit := func(cta, warp, lanes uint32, want string) step[m] {
		return step[m]{func(c m, e *Effect) { c.Exit(cta, warp, lanes, e) }, want}
	}
	pending := func(n uint64) step[m] {
		return step[m]{func(c m, e *Effect) {
			if c.Pending() != n {
				t.Errorf("pending %d, want %d", c.Pending(), n)
			}
		}, ""}
	}
	run(t, twoCTAs, []script[m]{
		{"all arrive, then wait", []step[m]{
			pending(80), arrive(4, 0, full, ""), arrive(4, 1, 0xff, ""), arrive(5, 0, full, ""), pending(8), arrive(5, 1, 0xff, "complete:1"), pending(80),
			wait(4, 0, full, "go:c4w0:ffffffff"), wait(5, 1, 0xff, "go:c5w1:ff"),
		}},
		{"those who wait are let go", []step[m]{
			arrive(4, 0, full, ""), wait(4, 0, full, ""), arrive(4, 1, 0xff, ""), wait(4, 1, 0xff, ""), arrive(5, 0, full, ""),
			arrive(5, 1, 0xff, "complete:1 go:c4w0:ffffffff go:c4w1:ff"),
		}},
		{"lanes of a warp may come apart", []step[m]{
			arrive(4, 0, 0xffff, ""), wait(4, 0, 0xffff, ""), arrive(4, 0, 0xffff0000, ""), arrive(4, 1, 0xff, ""), arrive(5, 0, full, ""),
			arrive(5, 1, 0xff, "complete:1 go:c4w0:ffff"), wait(4, 0, 0xffff0000, "go:c4w0:ffff0000"),
		}},
		{"exited threads are not waited for", []step[m]{
			exit(5, 0, full, ""), exit(5, 1, 0xff, ""), pending(40), arrive(4, 0, full, ""), wait(4, 0, full, ""), arrive(4, 1, 0xff, "complete:1 go:c4w0:ffffffff"),
		}},
		{"an exit lets those go who wait for it", []step[m]{
			arrive(4, 0, full, ""), wait(4, 0, full, ""), exit(4, 1, 0xff, ""), exit(5, 0, full, ""), exit(5, 1, 0xff, "complete:1 go:c4w0:ffffffff"),
		}},
		{"cluster-wait-before-arrive", []step[m]{
			wait(4, 0, full, "go:c4w0:ffffffff cluster-wait-before-arrive(0,0)"), arrive(4, 0, full, ""), pending(48),
		}},
		{"cluster-arrive-twice", []step[m]{
			arrive(4, 0, full, ""), arrive(4, 0, full, "cluster-arrive-twice(0,0)"), pending(48),
		}},
		{"cluster-arrive-twice, in two phases", []step[m]{
			arrive(4, 0, full, ""), arrive(4, 1, 0xff, ""), arrive(5, 0, full, ""), arrive(5, 1, 0xff, "complete:1"),
			arrive(4, 0, full, "cluster-arrive-twice(0,0)"), wait(4, 0, full, "go:c4w0:ffffffff"), wait(4, 0, full, ""),
		}},
		{"cluster-missing-wait", []step[m]{
			arrive(4, 0, full, ""), exit(4, 0, full, "cluster-missing-wait(0,0)"), arrive(4, 1, 0xff, ""), arrive(5, 0, full, ""), arrive(5, 1, 0xff, "complete:1"), pending(48),
			exit(4, 1, 0xff, "cluster-missing-wait(0,0)"),
		}},
	})
}

func TestGroup(t *testing.T) {
	type m = *Collective
	arrive := func(warp, lanes uint32, want string) step[m] {
		return step[m]{func(c m, e *Effect) { c.Arrive(0, warp, lanes, e) }, want}
	}
	wait := func(warp, lanes uint32, phase uint64, want string) step[m] {
		return step[m]{func(c m, e *Effect) {
			if got := c.WaitPhase(0, warp, lanes); got != phase {
				t.Errorf("wait for phase %d, want %d", got, phase)
			}
			c.Wait(0, warp, lanes, e)
		}, want}
	}
	run(t, func() m { return NewCollective(Group, 48) }, []script[m]{
		{"threads are known by their number only", []step[m]{
			arrive(3, full, ""), wait(3, full, 0, ""), arrive(1, 0xffff, "complete:1 go:c0w3:ffffffff"), wait(1, 0xffff, 0, "go:c0w1:ffff"),
		}},
		{"an exit is no arrival", []step[m]{
			arrive(3, full, ""), wait(3, full, 0, ""), {func(c m, e *Effect) { c.Exit(0, 1, 0xffff, e) }, ""},
		}},
		{"group-arrive-twice", []step[m]{arrive(3, full, ""), arrive(3, 1, "group-arrive-twice(0,0)")}},
		{"group-wait-without-arrive", []step[m]{wait(3, full, 0, "go:c0w3:ffffffff group-wait-without-arrive(0,0)")}},
	})
	c := NewCollective(Group, 48)
	c.Arrive(0, 3, full, new(Effect))
	if c.Pending() != 16 || c.Expected() != 48 {
		t.Errorf("pending %d of %d, want 16 of 48", c.Pending(), c.Expected())
	}
}

// TestCollectiveFromCheckpoint: the exported state is all there is.
func TestCollectiveFromCheckpoint(t *testing.T) {
	c, e := twoCTAs(), new(Effect)
	c.Arrive(4, 0, full, e)
	c.Wait(4, 0, full, e)
	d := &Collective{Kind: c.Kind, Phase: c.Phase, Size: c.Size, Count: c.Count, Need: c.Need, Warps: append([]CollectiveWarp(nil), c.Warps...)}
	d.Arrive(4, 1, 0xff, e)
	d.Arrive(5, 0, full, e)
	e.Reset()
	d.Arrive(5, 1, 0xff, e)
	if got := e.String(); got != "complete:1 go:c4w0:ffffffff" {
		t.Errorf("%q", got)
	}
}
