package kernels

import (
	"strings"
	"testing"

	"btrace/capture/emu"
	"btrace/replay"
	"btrace/trace"
)

// lucky is kernels that end well under emu.RoundRobin only because of what no
// kernel of the gallery does.
func lucky() []struct {
	Name          string
	Threads, CTAs uint32
	Wrong         Wrong
	Run           func(*emu.Thread)
} {
	return []struct {
		Name          string
		Threads, CTAs uint32
		Wrong         Wrong
		Run           func(*emu.Thread)
	}{
		{"lanes that waited together and then part do not know of each other's wait", 64, 1, Hangs, partingLanes},
		{"bytes announced after the arrive, before the copy that brings them", 64, 1, Nothing, lateAnnouncement},
		{"copies that arrive by themselves, and that no other arrival waits for", 64, 1, Nothing, lateCopies},
		{"an end of the barrier's life that does not wait for its waiters", 64, 1, Errs, earlyInval},
		{"a CTA that leaves before others have arrived on its barrier", 32, 2, Errs, earlyLeave},
		{"a warp that leaves between arrive and wait is not waited for", 64, 1, Hangs, leavingInBetween},
	}
}

func partingLanes(t *emu.Thread) {
	full, empty := emu.SharedMbarrier(t, "full"), emu.SharedMbarrier(t, "empty")
	if t.Thread() == 0 {
		full.Init(1)
		empty.Init(1)
	}
	t.Syncthreads()
	if t.Warp() == 0 {
		if t.Lane() == 0 {
			full.Arrive()
			empty.WaitParity(0)
			full.Arrive()
		}
		return
	}
	if t.Lane() == 5 {
		t.Work(1) // it may fall behind here
	}
	full.WaitParity(0)
	if t.Lane() == 0 {
		empty.Arrive() // the other lanes may not have come so far
	}
}

func lateAnnouncement(t *emu.Thread) {
	src, dst := make([]byte, 1024), emu.Shared[byte](t, "tile", 1024)
	full := emu.SharedMbarrier(t, "full")
	if t.Thread() == 0 {
		full.Init(2)
	}
	t.Syncthreads()
	if t.Thread() == 0 {
		full.Arrive()
		full.ExpectTx(1024) // in phase 0 only if thread 32 is late
		emu.BulkCopy(dst, src, full)
	}
	if t.Thread() == 32 {
		t.Work(100)
		full.Arrive()
	}
	full.WaitParity(0)
}

func lateCopies(t *emu.Thread) {
	bar := emu.SharedMbarrier(t, "bar")
	if t.Thread() == 0 {
		bar.Init(1)
	}
	t.Syncthreads()
	if t.Thread() == 0 {
		t.Work(1000)
		bar.Arrive()
	}
	if t.Thread() == 32 {
		bar.CpAsyncArrive() // in phase 0 only if thread 0 is late
	}
	bar.WaitParity(0)
}

func earlyInval(t *emu.Thread) {
	bar := emu.SharedMbarrier(t, "bar")
	if t.Thread() == 0 {
		bar.Init(64)
	}
	t.Syncthreads()
	bar.Arrive()
	bar.WaitParity(0)
	if t.Thread() == 0 {
		bar.Inval()
	}
}

func earlyLeave(t *emu.Thread) {
	bar := emu.SharedMbarrier(t, "bar")
	if t.Thread() == 0 {
		bar.Init(1)
	}
	t.ClusterSync()
	if t.ClusterRank() == 0 {
		t.Work(2000)
	} else if t.Thread() == 0 {
		bar.Remote(0).Arrive()
	}
}

func leavingInBetween(t *emu.Thread) {
	bar := emu.SharedMbarrier(t, "bar")
	if t.Thread() == 0 {
		bar.Init(1)
		bar.Arrive()
	}
	t.ClusterSync()
	if t.Warp() == 1 {
		t.ClusterArrive()
		bar.WaitParity(0)
		return
	}
	t.Work(1000)
	t.ClusterArrive()
	t.ClusterWait() // this does not say that warp 1 has seen phase 0
	if t.Thread() == 0 {
		bar.WaitParity(0)
		bar.Arrive()
	}
}

// TestLuckIsNotProof: nothing is proved of a kernel that another schedule
// could harm, or in which another would give other phases.
func TestLuckIsNotProof(t *testing.T) {
	for _, l := range lucky() {
		k := Kernel{
			Name: "lucky", Block: trace.Dim{l.Threads}, Grid: trace.Dim{l.CTAs}, Cluster: trace.Dim{l.CTAs},
			Run: l.Run, Check: func(emu.Result) error { return nil },
		}
		rec, r := record(t, &k, emu.RoundRobin, 0)
		rep := check(t, rec)
		if r.Outcome != trace.OutcomeCompleted || rep.Verdict != replay.Clean {
			t.Errorf("%s: %s, %s", l.Name, r.Outcome, rep.Verdict)
		}
		if rep.Launches[0].Schedules.Proved || !strings.Contains(listed(rep), "hazard-") {
			t.Errorf("%s: proved: %t, with\n%s", l.Name, rep.Launches[0].Schedules.Proved, listed(rep))
		}
		if l.Wrong != Nothing && !goesWrong(t, &k, emu.Random, l.Wrong) && !goesWrong(t, &k, emu.PCT, l.Wrong) {
			t.Errorf("%s: no schedule of 600 in which it %s", l.Name, l.Wrong)
		}
	}
}
