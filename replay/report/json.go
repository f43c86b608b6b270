// Package report writes what a replay found: as JSON for machines, and as
// text for people. It decides nothing; the finding's sentences are written
// where the finding is made.
package report

import (
	"encoding/json"
	"io"

	"btrace/replay"
	"btrace/replay/rules"
	"btrace/trace"
)

// File is what is known of one trace file: the report, or why there is none.
type File struct {
	Name   string
	Report *replay.Report
	Err    error
}

// The document, version 1. Keys are added, never renamed or removed, as long
// as the version stays.
type (
	document struct {
		Version int         `json:"version"`
		Traces  []traceJSON `json:"traces"`
	}
	traceJSON struct {
		File     string         `json:"file"`
		Verdict  replay.Verdict `json:"verdict,omitempty"`
		Error    string         `json:"error,omitempty"` // instead of a verdict
		Launches []launchJSON   `json:"launches"`
		Counts   countsJSON     `json:"counts"`
		Findings []findingJSON  `json:"findings"`
	}
	launchJSON struct {
		ID      uint32         `json:"id"`
		Kernel  string         `json:"kernel"`
		Outcome trace.Outcome  `json:"outcome"`
		Verdict replay.Verdict `json:"verdict"`
	}
	countsJSON struct {
		WarpEvents   uint64 `json:"warp_events"`
		ThreadEvents uint64 `json:"thread_events"`
		Phases       uint64 `json:"phases"`
	}
	findingJSON struct {
		Rule     string        `json:"rule"`
		Severity string        `json:"severity"`
		Root     bool          `json:"root"`
		Launch   uint32        `json:"launch"`
		CTA      uint32        `json:"cta"`
		Barrier  string        `json:"barrier"`
		Phase    uint64        `json:"phase"`
		Threads  []string      `json:"threads"`
		Missing  []string      `json:"missing"`
		Time     int64         `json:"time_ns"`
		Message  string        `json:"message"`
		Hint     string        `json:"hint"`
		Location *locationJSON `json:"location,omitempty"`
		Events   []eventJSON   `json:"events"`
		Cycle    []string      `json:"cycle,omitempty"`
		Behind   []waitJSON    `json:"behind,omitempty"`
		Story    []string      `json:"story,omitempty"`
	}
	waitJSON struct {
		CTA      uint32        `json:"cta"`
		Barrier  string        `json:"barrier"`
		Phase    uint64        `json:"phase"`
		Threads  []string      `json:"threads"`
		Since    int64         `json:"since_ns"`
		Location *locationJSON `json:"location,omitempty"`
	}
	locationJSON struct {
		File string `json:"file"`
		Line uint32 `json:"line"`
		PC   uint64 `json:"pc,omitempty"`
	}
	eventJSON struct {
		CTA  uint32 `json:"cta"`
		Warp uint32 `json:"warp"`
		Seq  uint32 `json:"seq"`
	}
)

// WriteJSON writes the reports as one JSON document, in a line.
func WriteJSON(w io.Writer, files []File) error {
	doc := document{Version: 1, Traces: []traceJSON{}}
	for _, f := range files {
		doc.Traces = append(doc.Traces, newTrace(f))
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(doc)
}

func newTrace(f File) traceJSON {
	t := traceJSON{File: f.Name, Launches: []launchJSON{}, Findings: []findingJSON{}}
	if f.Err != nil {
		t.Error = f.Err.Error()
	}
	r := f.Report
	if r == nil {
		return t
	}
	t.Verdict = r.Verdict
	t.Counts = countsJSON(r.Counts)
	for _, l := range r.Launches {
		t.Launches = append(t.Launches, launchJSON{l.Launch.ID, l.Launch.Kernel, l.Launch.Outcome, l.Verdict})
	}
	for i := range r.Findings {
		t.Findings = append(t.Findings, newFinding(&r.Findings[i], launch(r, r.Findings[i].Launch)))
	}
	return t
}

func newFinding(f *replay.Finding, l *trace.Launch) findingJSON {
	out := findingJSON{
		Rule: string(f.Rule), Severity: string(f.Severity), Root: f.Root,
		Launch: f.Launch, CTA: f.CTA, Barrier: f.Barrier.String(), Phase: f.Phase,
		Threads: rules.Threads(f.Threads, f.CTA, l), Missing: rules.Threads(f.Missing, f.CTA, l),
		Time: f.Time, Message: f.Message, Hint: f.Hint,
		Location: newLocation(f.Location), Events: []eventJSON{}, Story: f.Story,
	}
	for _, e := range f.Events {
		out.Events = append(out.Events, eventJSON(e))
	}
	for _, b := range f.Cycle {
		out.Cycle = append(out.Cycle, rules.InCTA(b.CTA, f.CTA)+b.Barrier.String())
	}
	for _, b := range f.Behind {
		out.Behind = append(out.Behind, waitJSON{
			CTA: b.CTA, Barrier: b.Barrier.String(), Phase: b.Phase,
			Threads: rules.Threads(b.Threads, b.CTA, l), Since: b.Since, Location: newLocation(b.Location),
		})
	}
	return out
}

func newLocation(l replay.Location) *locationJSON {
	if l == (replay.Location{}) {
		return nil
	}
	return &locationJSON{l.File, l.Line, l.PC}
}

// launch finds the launch of a finding; a report has an entry for each.
func launch(r *replay.Report, id uint32) *trace.Launch {
	for i := range r.Launches {
		if r.Launches[i].Launch.ID == id {
			return &r.Launches[i].Launch
		}
	}
	return &trace.Launch{ID: id}
}
