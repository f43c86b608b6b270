package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"btrace/replay"
	"btrace/replay/diagnose"
	"btrace/replay/rules"
	"btrace/replay/stats"
	"btrace/trace"
)

// fake is a timeline made of events, as simple as a timeline can be: it walks
// them anew for every question.
type fake struct {
	launch   trace.Launch
	rows     []replay.Row
	lanes    []replay.Lane
	events   map[replay.Row][]trace.Event
	phases   map[laneID][]replay.Phase
	expected map[laneID]uint64
	findings []replay.Finding
	later    map[replay.Row][]trace.Barrier // that rows would have come to
	from, to int64
	// asked counts questions; hook is called for each of them.
	asked int
	hook  func(ctx context.Context, what string) error
}

var _ replay.Timeline = (*fake)(nil)

func (f *fake) ask(ctx context.Context, what string) error {
	f.asked++
	if err := ctx.Err(); err != nil {
		return err
	}
	if f.hook != nil {
		return f.hook(ctx, what)
	}
	return nil
}

func (f *fake) Launch() trace.Launch   { return f.launch }
func (f *fake) Span() (from, to int64) { return f.from, f.to }
func (f *fake) Rows() []replay.Row     { return f.rows }
func (f *fake) Lanes() []replay.Lane   { return f.lanes }

func (f *fake) Findings() []replay.Finding {
	_ = f.ask(context.Background(), "findings")
	return f.findings
}

// add records an event. Its sequence number follows from the order.
func (f *fake) add(cta, warp uint32, t int64, lanes uint32, op trace.Op) {
	row := replay.Row{CTA: cta, Warp: warp}
	if f.events == nil {
		f.events, f.phases, f.expected = map[replay.Row][]trace.Event{}, map[laneID][]replay.Phase{}, map[laneID]uint64{}
	}
	if _, ok := f.events[row]; !ok {
		f.rows = append(f.rows, row)
	}
	op.Lanes = lanes
	if op.Line > 0 {
		op.Has = op.Has.With(trace.FieldLine)
	}
	seq := uint32(len(f.events[row]))
	f.events[row] = append(f.events[row], trace.Event{Time: t, Launch: f.launch.ID, CTA: cta, Warp: warp, Seq: seq, Op: op})
	if seq == 0 && len(f.rows) == 1 {
		f.from, f.to = t, t
	}
	f.from, f.to = min(f.from, t), max(f.to, t)
}

// phase records a phase of a barrier.
func (f *fake) phase(cta uint32, b trace.Barrier, p replay.Phase) {
	id := laneID{cta, b}
	if _, ok := f.phases[id]; !ok {
		f.lanes = append(f.lanes, replay.Lane{CTA: cta, Barrier: b})
	}
	p.Phase = uint64(len(f.phases[id]))
	f.phases[id] = append(f.phases[id], p)
	for i := range f.lanes {
		if l := &f.lanes[i]; l.CTA == cta && l.Barrier == b && p.To >= 0 {
			l.Phases++
		}
	}
}

// after is what lanes do once they have done an event; hung if they wait and
// never come out.
func (f *fake) after(ev *trace.Event, last bool) replay.Activity {
	switch ev.Kind {
	case trace.KindBarSync, trace.KindMbarWait, trace.KindClusterWait:
		if last {
			return replay.Hung
		}
		return replay.Waiting
	case trace.KindBarArrive, trace.KindClusterArrive:
		return replay.Arrived
	case trace.KindExit:
		return replay.Exited
	}
	return replay.Running
}

// strands are the lanes of a warp at t, in groups that did the same last.
func (f *fake) strands(row replay.Row, t int64) []replay.Strand {
	var lane [32]int // number of its last event, from 1
	evs := f.events[row]
	last := [32]int{}
	for i := range evs {
		for l := range 32 {
			if evs[i].Lanes&(1<<l) != 0 {
				last[l] = i + 1
				if evs[i].Time <= t {
					lane[l] = i + 1
				}
			}
		}
	}
	var out []replay.Strand
	for l := range 32 {
		if lane[l] == 0 {
			continue
		}
		ev := &evs[lane[l]-1]
		at := slices.IndexFunc(out, func(s replay.Strand) bool { return s.Seq == ev.Seq })
		if at < 0 {
			b := ev.Barrier(ev.Warp)
			s := replay.Strand{Activity: f.after(ev, lane[l] == last[l]), Since: ev.Time, Op: trace.Kinds()[ev.Kind].Name, Seq: ev.Seq}
			s.Location = replay.Location{File: f.launch.Program, Line: ev.Line}
			if s.Activity >= replay.Arrived {
				s.On = replay.BarrierRef{CTA: ev.CTA, Barrier: b, Phase: f.phaseAt(laneID{ev.CTA, b}, ev.Time)}
			}
			out = append(out, s)
			at = len(out) - 1
		}
		out[at].Lanes |= 1 << l
	}
	return out
}

func (f *fake) phaseAt(id laneID, t int64) uint64 {
	n := uint64(0)
	for _, p := range f.phases[id] {
		if p.To >= 0 && p.To <= t {
			n++
		}
	}
	return n
}

func (f *fake) Cells(ctx context.Context, row replay.Row, from, to int64, cells []replay.Cell) error {
	if err := f.ask(ctx, "cells"); err != nil {
		return err
	}
	w := window{from, to}
	for i := range cells {
		a, b := w.start(i, len(cells)), w.start(i+1, len(cells))
		c := &cells[i]
		join := func(t int64) {
			for _, s := range f.strands(row, t) {
				c.Mixed = c.Mixed || c.Activity != replay.Absent && s.Activity != c.Activity
				c.Activity = max(c.Activity, s.Activity)
			}
		}
		join(a)
		for _, ev := range f.events[row] {
			if ev.Time >= a && ev.Time < b {
				c.Events = true
				join(ev.Time)
			}
		}
		for _, x := range f.findings {
			if x.Time >= a && x.Time < b && len(x.Threads) > 0 && x.Threads[0].CTA == row.CTA && x.Threads[0].Warp == row.Warp {
				c.Severity = max(c.Severity, severity(x.Severity))
			}
		}
	}
	return nil
}

func (f *fake) Phases(ctx context.Context, lane replay.Lane, from, to int64, limit int) ([]replay.Phase, error) {
	if err := f.ask(ctx, "phases"); err != nil {
		return nil, err
	}
	var out []replay.Phase
	for _, p := range f.phases[laneID{lane.CTA, lane.Barrier}] {
		if p.From < to && (p.To < 0 || p.To >= from) {
			out = append(out, p)
		}
	}
	for len(out) > limit {
		for i := range len(out) / 2 {
			out[i] = out[2*i]
		}
		out = out[:len(out)/2]
	}
	return out, nil
}

func (f *fake) State(ctx context.Context, cta uint32, t int64) (*replay.State, error) {
	if err := f.ask(ctx, "state"); err != nil {
		return nil, err
	}
	s := &replay.State{Launch: f.launch.ID, Time: t}
	cl := clustersOf(f.launch)
	for _, row := range f.rows {
		if cl.of(row.CTA) == cl.of(cta) {
			s.Warps = append(s.Warps, replay.WarpState{CTA: row.CTA, Warp: row.Warp, Strands: f.strands(row, t)})
		}
	}
	for _, l := range f.lanes {
		if cl.of(l.CTA) != cl.of(cta) {
			continue
		}
		id := laneID{l.CTA, l.Barrier}
		b := replay.BarrierState{BarrierRef: replay.BarrierRef{CTA: l.CTA, Barrier: l.Barrier, Phase: f.phaseAt(id, t)}, Live: true}
		b.Expected = f.expected[id]
		b.Pending = b.Expected
		var begin int64
		for _, p := range f.phases[id] {
			if p.To >= 0 && p.To <= t {
				begin = p.To
			}
		}
		for _, row := range f.rows {
			for _, ev := range f.events[row] {
				if ev.Time <= begin || ev.Time > t || ev.Barrier(ev.Warp) != l.Barrier || ev.CTA != l.CTA {
					continue
				}
				switch ev.Kind {
				case trace.KindBarSync, trace.KindBarArrive, trace.KindMbarArrive, trace.KindMbarArriveExpectTx, trace.KindClusterArrive:
					b.Arrived = append(b.Arrived, replay.Lanes{CTA: row.CTA, Warp: row.Warp, Mask: ev.Lanes})
				}
			}
		}
		if b.Barrier.Kind == trace.BarrierNamed && len(b.Arrived) == 0 {
			b.Expected, b.Pending = 0, 0
		}
		b.Pending -= min(b.Pending, uint64(countLanes(b.Arrived)))
		for _, w := range s.Warps {
			for _, st := range w.Strands {
				if st.On.Barrier == l.Barrier && st.On.CTA == l.CTA && st.Activity >= replay.Waiting {
					b.Waiting = append(b.Waiting, replay.Lanes{CTA: w.CTA, Warp: w.Warp, Mask: st.Lanes})
				}
			}
		}
		s.Barriers = append(s.Barriers, b)
	}
	return s, nil
}

func (f *fake) Event(ctx context.Context, row replay.Row, t int64, dir int) (trace.Event, bool, error) {
	if err := f.ask(ctx, "event"); err != nil {
		return trace.Event{}, false, err
	}
	evs := f.events[row]
	i, _ := slices.BinarySearchFunc(evs, t, func(ev trace.Event, t int64) int { return cmp.Or(cmp.Compare(ev.Time, t), -1) })
	if dir > 0 {
		if i < len(evs) {
			return evs[i], true, nil
		}
		return trace.Event{}, false, nil
	}
	if i == 0 {
		return trace.Event{}, false, nil
	}
	return evs[i-1], true, nil
}

// bar and mbar are operations on a barrier.
func bar(kind trace.Kind, id, count, line uint32) trace.Op {
	return trace.Op{Kind: kind, Bar: id, Count: count, Line: line, Has: trace.Fields(0).With(trace.FieldBar, trace.FieldCount)}
}

func mbar(kind trace.Kind, addr uint64, line uint32) trace.Op {
	return trace.Op{Kind: kind, Addr: addr, Line: line, Has: trace.Fields(0).With(trace.FieldAddr)}
}

// pipeline is a producer warp that fills buffers for four consumer warps, on
// one full and one empty mbarrier. If it hangs, then because the empty one was
// initialised to 5 where 4 lanes arrive, as in the H100 recording
// tma_pipeline_count.
func pipeline(ctas uint32, hang bool) *fake {
	f := &fake{launch: trace.Launch{
		Kernel: "tma_pipeline", Program: "corpus.cu", Recorder: "self-recording kernel", Device: "NVIDIA H100 80GB HBM3", Arch: "sm_90",
		Grid: trace.Dim{ctas, 1, 1}, Block: trace.Dim{160, 1, 1}, Cluster: trace.Dim{1, 1, 1}, Outcome: trace.OutcomeCompleted,
	}}
	if hang {
		f.launch.Kernel, f.launch.Outcome = "tma_pipeline_count", trace.OutcomeHung
	}
	const all, full, empty = 0xffffffff, 0x1400, 0x1420
	fullBar, emptyBar := trace.Barrier{Kind: trace.BarrierMbar, ID: full}, trace.Barrier{Kind: trace.BarrierMbar, ID: empty}
	named := trace.Barrier{Kind: trace.BarrierNamed}
	for cta := range ctas {
		at := int64(cta) * 512
		for w := range uint32(5) {
			f.add(cta, w, at+int64(w)*1024, all, trace.Op{Kind: trace.KindEnter, Line: 322})
		}
		init := mbar(trace.KindMbarInit, empty, 330)
		init.Count, init.Has = 4, init.Has.With(trace.FieldCount)
		if hang {
			init.Count = 5
		}
		f.add(cta, 0, at+5120, 1, init)
		sync := bar(trace.KindBarSync, 0, 0, 334)
		for w := range uint32(5) {
			f.add(cta, w, at+6144+int64(w)*1024, all, sync)
		}
		f.phase(cta, named, replay.Phase{From: at + 6144, To: at + 10240, Arrivals: 160, Expected: 160})
		f.expected[laneID{cta, named}] = 160
		for w := range uint32(5) {
			f.add(cta, w, at+10272+int64(w)*32, all, bar(trace.KindBarDone, 0, 0, 334))
		}
		f.add(cta, 0, at+10496, 0xfffffffe, trace.Op{Kind: trace.KindExit, Line: 367})
		f.expected[laneID{cta, fullBar}], f.expected[laneID{cta, emptyBar}] = 1, uint64(init.Count)
		t := at + 12288
		for i := range 8 {
			wait := mbar(trace.KindMbarWait, empty, 343)
			wait.Parity, wait.Has = uint8(1-i&1), wait.Has.With(trace.FieldParity)
			f.add(cta, 0, t, 1, wait)
			for w := uint32(1); w < 5; w++ {
				f.add(cta, w, t+int64(w)*64, all, mbar(trace.KindMbarWait, full, 351))
			}
			if hang && i == 1 {
				f.phase(cta, emptyBar, replay.Phase{From: t - 2048, To: -1, Arrivals: 4, Expected: 5})
				f.phase(cta, fullBar, replay.Phase{From: t + 64, To: -1, Arrivals: 0, Expected: 1})
				f.findings = append(f.findings, pipelineFinding(cta, t))
				break
			}
			f.add(cta, 0, t+320, 1, mbar(trace.KindMbarDone, empty, 343))
			expect := mbar(trace.KindMbarArriveExpectTx, full, 344)
			expect.Bytes, expect.Has = 1024, expect.Has.With(trace.FieldBytes)
			f.add(cta, 0, t+640, 1, expect)
			f.phase(cta, fullBar, replay.Phase{From: t + 640, To: t + 1280, Arrivals: 1, Expected: 1})
			for w := uint32(1); w < 5; w++ {
				f.add(cta, w, t+1312+int64(w)*32, all, mbar(trace.KindMbarDone, full, 351))
				f.add(cta, w, t+2048+int64(w)*256, 1, mbar(trace.KindMbarArrive, empty, 358))
			}
			if !hang {
				f.phase(cta, emptyBar, replay.Phase{From: t + 2048 + 256, To: t + 2048 + 1024, Arrivals: 4, Expected: 4})
			}
			t += 4096
		}
		if !hang {
			f.add(cta, 0, t, 1, trace.Op{Kind: trace.KindExit, Line: 367})
			for w := uint32(1); w < 5; w++ {
				f.add(cta, w, t+int64(w)*32, all, trace.Op{Kind: trace.KindExit, Line: 367})
			}
		}
	}
	return f
}

func pipelineFinding(cta uint32, t int64) replay.Finding {
	ref := func(addr uint64, phase uint64) replay.BarrierRef {
		return replay.BarrierRef{CTA: cta, Barrier: trace.Barrier{Kind: trace.BarrierMbar, ID: addr}, Phase: phase}
	}
	var consumers []replay.Lanes
	for w := uint32(1); w < 5; w++ {
		consumers = append(consumers, replay.Lanes{CTA: cta, Warp: w, Mask: 0xffffffff})
	}
	return replay.Finding{
		Rule: "deadlock-count", Severity: rules.Error, Root: true, BarrierRef: ref(0x1420, 0),
		Threads: []replay.Lanes{{CTA: cta, Warp: 0, Mask: 1}}, Time: t,
		Message:  "mbar:0x1420 expects 5 arrivals in phase 0 and every lane that arrives on it has: 4",
		Hint:     "initialise it with 4, the number of consumer lanes that arrive",
		Location: replay.Location{File: "corpus.cu", Line: 330},
		Behind: []replay.Wait{{BarrierRef: ref(0x1400, 1), Threads: consumers, Since: t + 64,
			Location: replay.Location{File: "corpus.cu", Line: 351}}},
		Story: []string{
			"w1, w2, w3 and w4 arrived in phase 0, one lane each.",
			"w0 lane 0 waits for phase 0 to end, at corpus.cu:343.",
		},
	}
}

// timelines is the configuration of a trace with these launches.
func timelines(fakes ...*fake) Config {
	cfg := Config{Title: "pipeline.zst"}
	for i, f := range fakes {
		f.launch.ID = uint32(i)
		cfg.Launches = append(cfg.Launches, f.launch)
	}
	cfg.Open = func(_ context.Context, id uint32) (replay.Timeline, error) {
		if int(id) >= len(fakes) {
			return nil, fmt.Errorf("no launch %d", id)
		}
		return fakes[id], nil
	}
	return cfg
}

// reportOf is the report of these launches.
func reportOf(v replay.Verdict, fakes ...*fake) *replay.Report {
	r := &replay.Report{Verdict: v}
	for i, f := range fakes {
		lv := replay.Clean
		for _, x := range f.findings {
			x.Launch = uint32(i)
			r.Findings = append(r.Findings, x)
			lv = v
		}
		r.Launches = append(r.Launches, replay.LaunchReport{Launch: f.launch, Verdict: lv})
	}
	return r
}

func hangConfig() Config {
	f := pipeline(1, true)
	cfg := timelines(f)
	cfg.Title = "tma_pipeline_count.zst"
	cfg.Report = reportOf(replay.Deadlock, f)
	cfg.LoadStats = func(context.Context, uint32) (*stats.Launch, error) { return pipelineStats(), nil }
	return cfg
}

// pipelineStats are statistics such as those of the pipeline that hangs.
func pipelineStats() *stats.Launch {
	empty := stats.Barrier{Barrier: trace.Barrier{Kind: trace.BarrierMbar, ID: 0x1420}, CTAs: 1, Phases: 2,
		Late:   []stats.Latecomer{{Warp: 3, Times: 2, Total: 3000}, {Warp: 1, Times: 1, Total: 400}, {Bytes: true, Times: 1, Total: 10}},
		Costly: []stats.Phase{{Phase: 0, Open: 1, First: 14000}, {Phase: 1, Completed: true, Total: 900, First: 6000}}}
	empty.Waits.Count, empty.Waits.Total, empty.Waits.Max, empty.Waits.Open, empty.Waits.Since = 3, 4500, 3000, 1, 16384
	return &stats.Launch{CTAs: 1, Warps: 5, Active: 10000, Waiting: 4200, Barriers: []stats.Barrier{empty}}
}

func cleanConfig() Config {
	f := pipeline(2, false)
	cfg := timelines(f)
	cfg.Report = reportOf(replay.Clean, f)
	return cfg
}

func (f *fake) Events(ctx context.Context, q trace.Query, each func(*trace.Event) bool) error {
	if err := f.ask(ctx, "events"); err != nil {
		return err
	}
	var all []trace.Event
	for _, evs := range f.events {
		all = append(all, evs...)
	}
	slices.SortFunc(all, func(a, b trace.Event) int { return a.Compare(&b) })
	for i := range all {
		ev := &all[i]
		switch {
		case q.From != 0 && ev.Time < q.From, q.To != 0 && ev.Time >= q.To:
		case q.CTAs != nil && !slices.Contains(q.CTAs, ev.CTA), q.Warps != nil && !slices.Contains(q.Warps, ev.Warp):
		case q.Barriers != nil && !slices.Contains(q.Barriers, ev.Barrier(ev.Warp)):
		default:
			if !each(ev) {
				return nil
			}
		}
	}
	return nil
}

// Blocked takes for missing whoever has not arrived and would: on an mbarrier
// those who ever arrive on it.
func (f *fake) Blocked(ctx context.Context, cta uint32, t int64) ([]diagnose.Stuck, error) {
	if err := f.ask(ctx, "blocked"); err != nil {
		return nil, err
	}
	s, err := f.State(ctx, cta, t)
	if err != nil { // cancelled meanwhile
		return nil, err
	}
	var out []diagnose.Stuck
	for _, b := range s.Barriers {
		if len(b.Waiting) == 0 {
			continue
		}
		n := diagnose.Stuck{BarrierRef: b.BarrierRef, Pending: b.Pending, Expected: b.Expected, Arrived: b.Arrived}
		n.Waits = []replay.Wait{{BarrierRef: b.BarrierRef, Threads: b.Waiting}}
		for _, w := range s.Warps {
			row := replay.Row{CTA: w.CTA, Warp: w.Warp}
			here := func(l replay.Lanes) bool { return l.CTA == w.CTA && l.Warp == w.Warp }
			comes := slices.ContainsFunc(f.events[row], func(ev trace.Event) bool { return arrives(ev.Kind) && ev.Barrier(ev.Warp) == b.Barrier })
			comes = comes || slices.Contains(f.later[row], b.Barrier)
			if w.CTA != b.CTA || !comes || slices.ContainsFunc(b.Arrived, here) {
				continue
			}
			a := diagnose.Absent{Lanes: replay.Lanes{CTA: w.CTA, Warp: w.Warp, Mask: 0xffffffff}, Why: diagnose.Running}
			for _, st := range w.Strands {
				a.Location = st.Location
				if st.Activity >= replay.Waiting {
					a.Why, a.At, a.Mask = diagnose.Elsewhere, st.On, st.Lanes
					break
				}
			}
			n.Missing = append(n.Missing, a)
		}
		out = append(out, n)
	}
	return out, nil
}

// crossed is two warps that wait for each other on two barriers.
func crossed() *fake {
	f := &fake{launch: trace.Launch{Kernel: "crossed", Program: "crossed.cu", Grid: trace.Dim{1, 1, 1}, Block: trace.Dim{64, 1, 1},
		Cluster: trace.Dim{1, 1, 1}, Outcome: trace.OutcomeHung}}
	const all = 0xffffffff
	ref := func(id uint64) replay.BarrierRef {
		return replay.BarrierRef{Barrier: trace.Barrier{Kind: trace.BarrierNamed, ID: id}}
	}
	for w := range uint32(2) {
		f.add(0, w, int64(w)*100, all, trace.Op{Kind: trace.KindEnter, Line: 1})
	}
	for w := range uint32(2) {
		b := ref(uint64(w) + 1).Barrier
		at := 1000 + int64(w)*1000
		f.phase(0, b, replay.Phase{From: at, To: -1, Arrivals: 32, Expected: 64})
		f.expected[laneID{0, b}] = 64
		f.add(0, w, at, all, bar(trace.KindBarSync, w+1, 64, 10+w))
	}
	// Each would come to the other's barrier later: what it would do stands
	// behind the end of the recording.
	f.later = map[replay.Row][]trace.Barrier{{Warp: 0}: {ref(2).Barrier}, {Warp: 1}: {ref(1).Barrier}}
	f.findings = []replay.Finding{{
		Rule: "deadlock-cycle", Severity: rules.Error, Root: true, BarrierRef: ref(1), Cycle: []replay.BarrierRef{ref(1), ref(2)},
		Threads: []replay.Lanes{{Warp: 0, Mask: all}}, Missing: []replay.Lanes{{Warp: 1, Mask: all}}, Time: 1000,
		Message: "bar:1 waits for lanes that wait at bar:2, bar:2 waits for lanes that wait at bar:1",
		Behind:  []replay.Wait{{BarrierRef: ref(2), Threads: []replay.Lanes{{Warp: 1, Mask: all}}, Since: 2000}},
	}}
	return f
}
