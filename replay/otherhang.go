package replay

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"btrace/replay/explore"
	"btrace/replay/rules"
	"btrace/trace"
)

// How far a replay looks for a hang of another schedule: hazards of a launch,
// schedules for each, operations of a program, and looks at a strand in all
// schedules together, which is what bounds the time (a fraction of a second).
const (
	hangSuspects = 8
	hangTries    = 12
	hangOps      = 1 << 14
	hangLooks    = 1 << 21
)

// otherHangs looks, for hazards of a launch that went well, for a schedule of
// its program orders in which lanes wait for ever, and says which wait that
// is. It is a quick look: to find none means nothing, and Explore goes on.
func otherHangs(ctx context.Context, src Source, lr *LaunchReport, list []Finding) ([]Finding, error) {
	if lr.Incomplete || lr.Verdict != Clean {
		return nil, nil
	}
	e := explorer{src: src, launch: &lr.Launch, limit: hangOps, layout: newLayout(&lr.Launch)}
	e.search = explore.Search{Tries: hangTries, Hang: true, Steps: hangLooks / max(1, int(lr.Launch.Threads()))}
	var hangs []Finding
	var tried []*Finding // CTAs that all do the same are looked at once
	for i := range list {
		f := &list[i]
		same := func(x *Finding) bool { return x.Rule == f.Rule && x.Barrier == f.Barrier && x.Location == f.Location }
		if !isHazard(f) || len(tried) == hangSuspects || slices.ContainsFunc(tried, same) {
			continue
		}
		tried = append(tried, f)
		t, err := e.try(ctx, f.Threads[0].CTA, f)
		if err != nil {
			return nil, err
		}
		if t.Bad == "" {
			continue
		}
		h, err := e.hang(ctx, &t)
		if err != nil {
			return nil, err
		}
		again := func(x Finding) bool { return x.BarrierRef == h.BarrierRef && x.Location == h.Location }
		if h.Rule != "" && !slices.ContainsFunc(hangs, again) {
			hangs = append(hangs, h)
		}
	}
	return hangs, nil
}

// hang is the warning of a schedule that hangs: where its root wait is, and
// the operation of the recording that leads there.
func (e *explorer) hang(ctx context.Context, t *Trial) (Finding, error) {
	root, err := t.root(ctx)
	if err != nil || root == nil {
		return Finding{}, err
	}
	owner := root.CTA
	h := Finding{
		Rule: rules.HazardDeadlock, Launch: e.launch.ID, BarrierRef: e.ref(root.BarrierRef),
		Threads: e.lanes(root.Threads), Missing: e.lanes(root.Missing), Time: t.Hazard.Time,
		Location: root.Location, Events: t.Hazard.Events,
	}
	for _, c := range root.Cycle {
		h.Cycle = append(h.Cycle, e.ref(c))
	}
	rule, _ := rules.Lookup(h.Rule)
	h.Severity, h.Hint = rule.Severity, rule.Hint
	names := func(l []Lanes) string { return strings.Join(rules.Threads(l, e.ctas[owner], e.launch), ", ") }
	at := fmt.Sprintf("%s in phase %d", h.Barrier, h.Phase)
	if strings.HasPrefix(string(root.Rule), "deadlock-") {
		h.Message = fmt.Sprintf("another schedule hangs (%s): %s waits on %s for ever", root.Rule, names(h.Threads), at)
		if len(h.Missing) > 0 {
			h.Message += fmt.Sprintf(", for %s", names(h.Missing))
		}
	} else {
		h.Message = fmt.Sprintf("another schedule hangs: %s breaks %s on %s", names(h.Threads), root.Rule, at)
	}
	h.Message += fmt.Sprintf("; %s of %s on %s is what leads there", t.Hazard.Rule, names(t.Hazard.Threads), t.Hazard.Barrier)
	return h, nil
}

// ref is a barrier of the program as one of the launch.
func (e *explorer) ref(b BarrierRef) BarrierRef {
	b.CTA = e.ctas[b.CTA]
	return b
}

// lanes is lanes of the program as those of the launch.
func (e *explorer) lanes(list []Lanes) (out []Lanes) {
	for _, l := range list {
		l.CTA = e.ctas[l.CTA]
		out = append(out, l)
	}
	return out
}

// root is the first cause of the hang that a schedule ends in, as a replay of
// it says; nil if that finds none.
func (t *Trial) root(ctx context.Context) (*Finding, error) {
	var buf bytes.Buffer
	w, err := trace.NewWriter(&buf, trace.Options{})
	if err != nil {
		return nil, err
	}
	if err := t.Write(w); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	r, err := trace.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		return nil, err
	}
	rep, err := Check(ctx, r, Options{NoHazards: true})
	if err != nil {
		return nil, fmt.Errorf("replaying another schedule: %w", err)
	}
	for i := range rep.Findings {
		if f := &rep.Findings[i]; f.Root && len(f.Threads) > 0 && f.Barrier != (trace.Barrier{}) {
			return f, nil
		}
	}
	return nil, nil
}
