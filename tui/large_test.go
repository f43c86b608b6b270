package tui

import (
	"context"
	"fmt"

	"btrace/replay"
	"btrace/replay/diagnose"
	"btrace/replay/rules"
	"btrace/trace"
)

// large is a timeline of any size that is computed where it is asked for.
type large struct {
	launch   trace.Launch
	rows     []replay.Row
	lanes    []replay.Lane
	findings []replay.Finding
	span     int64
}

// newLarge makes a timeline of many CTAs of four warps that meet at two
// barriers every 1,000 ns.
func newLarge(ctas, findings int, span int64) *large {
	l := &large{span: span, launch: trace.Launch{
		Kernel: "large", Program: "large.cu", Grid: trace.Dim{uint32(ctas), 1, 1}, Block: trace.Dim{128, 1, 1}, Cluster: trace.Dim{1, 1, 1},
	}}
	for c := range uint32(ctas) {
		for w := range uint32(4) {
			l.rows = append(l.rows, replay.Row{CTA: c, Warp: w})
		}
		for b := range uint64(2) {
			l.lanes = append(l.lanes, replay.Lane{CTA: c, Barrier: trace.Barrier{Kind: trace.BarrierNamed, ID: b}})
		}
	}
	for i := range findings {
		row := l.rows[i*7919%len(l.rows)]
		l.findings = append(l.findings, replay.Finding{
			Rule: "bar-count-mismatch", Severity: rules.Error, Time: span / int64(findings) * int64(i),
			BarrierRef: replay.BarrierRef{CTA: row.CTA, Barrier: trace.Barrier{Kind: trace.BarrierNamed, ID: 1}, Phase: uint64(i)},
			Threads:    []replay.Lanes{{CTA: row.CTA, Warp: row.Warp, Mask: 0xffffffff}},
			Message:    fmt.Sprintf("finding number %d", i),
		})
	}
	return l
}

func (l *large) Launch() trace.Launch       { return l.launch }
func (l *large) Span() (from, to int64)     { return 0, l.span }
func (l *large) Rows() []replay.Row         { return l.rows }
func (l *large) Lanes() []replay.Lane       { return l.lanes }
func (l *large) Findings() []replay.Finding { return l.findings }

func (l *large) activity(row replay.Row, t int64) replay.Activity {
	switch x := (t + int64(row.CTA)*37) % 1000; {
	case x < 400+int64(row.Warp)*100:
		return replay.Running
	case x < 980:
		return replay.Waiting
	}
	return replay.Released
}

func (l *large) Cells(_ context.Context, row replay.Row, from, to int64, cells []replay.Cell) error {
	w := window{from, to}
	for i := range cells {
		a, b := w.start(i, len(cells)), w.start(i+1, len(cells))
		cells[i] = replay.Cell{Activity: l.activity(row, a), Events: b-a > 200}
		if b-a > 1000 {
			cells[i] = replay.Cell{Activity: replay.Waiting, Mixed: true, Events: true}
		}
	}
	return nil
}

func (l *large) Phases(_ context.Context, lane replay.Lane, from, to int64, limit int) ([]replay.Phase, error) {
	var out []replay.Phase
	first, last := max(from/1000, 0), min(to/1000, l.span/1000)
	step := max((last-first)/int64(limit), 1)
	for i := first; i <= last && len(out) < limit; i += step {
		out = append(out, replay.Phase{Phase: uint64(i), From: i*1000 + 400, To: i*1000 + 980, Arrivals: 128, Expected: 128})
	}
	return out, nil
}

func (l *large) State(_ context.Context, cta uint32, t int64) (*replay.State, error) {
	s := &replay.State{Time: t}
	for w := range uint32(4) {
		row := replay.Row{CTA: cta, Warp: w}
		s.Warps = append(s.Warps, replay.WarpState{CTA: cta, Warp: w, Strands: []replay.Strand{{
			Lanes: 0xffffffff, Activity: l.activity(row, t), Since: t - t%1000, Op: "bar.sync",
			On: replay.BarrierRef{CTA: cta, Barrier: trace.Barrier{Kind: trace.BarrierNamed, ID: 1}, Phase: uint64(t / 1000)},
		}}})
	}
	for b := range uint64(2) {
		s.Barriers = append(s.Barriers, replay.BarrierState{
			BarrierRef: replay.BarrierRef{CTA: cta, Barrier: trace.Barrier{Kind: trace.BarrierNamed, ID: b}, Phase: uint64(t / 1000)},
			Live:       true, Expected: 128, Pending: 64,
			Arrived: []replay.Lanes{{CTA: cta, Warp: 0, Mask: 0xffffffff}, {CTA: cta, Warp: 1, Mask: 0xffffffff}},
		})
	}
	return s, nil
}

func (l *large) Event(_ context.Context, row replay.Row, t int64, dir int) (trace.Event, bool, error) {
	i := t / 100
	if dir > 0 {
		i++
	}
	ev := trace.Event{Time: i * 100, CTA: row.CTA, Warp: row.Warp, Seq: uint32(i), Op: bar(trace.KindBarSync, 1, 128, 42)}
	ev.Lanes = 0xffffffff
	return ev, ev.Time <= l.span, nil
}

func (l *large) Events(ctx context.Context, q trace.Query, each func(*trace.Event) bool) error {
	for _, row := range l.rows {
		for t := max(q.From, 0) / 100 * 100; t <= l.span && t < max(q.From, 0)+10000; t += 100 {
			if ev, ok, _ := l.Event(ctx, row, t, 0); ok && !each(&ev) {
				return nil
			}
		}
	}
	return nil
}

func (l *large) Blocked(_ context.Context, cta uint32, t int64) ([]diagnose.Stuck, error) {
	ref := replay.BarrierRef{CTA: cta, Barrier: trace.Barrier{Kind: trace.BarrierNamed, ID: 1}, Phase: uint64(t / 1000)}
	return []diagnose.Stuck{{BarrierRef: ref, Pending: 64, Expected: 128,
		Waits:   []replay.Wait{{BarrierRef: ref, Threads: []replay.Lanes{{CTA: cta, Warp: 0, Mask: 0xffffffff}}}},
		Missing: []diagnose.Absent{{Lanes: replay.Lanes{CTA: cta, Warp: 3, Mask: 0xffffffff}, Why: diagnose.Running}},
	}}, nil
}
