// Package report writes what a replay found: as text for people, as JSON for
// scripts, as SARIF, JUnit and annotations for CI servers; and it keeps the
// findings that a project accepts. It finds nothing itself; a finding's
// sentences are written where the finding is made.
package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
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
	// Known marks the findings, by index, that a Baseline accepts; nil where
	// there is no baseline.
	Known []bool
}

func (f *File) known(i int) bool { return f.Known != nil && f.Known[i] }

// The document, version 1: {"version":1,"traces":[…],"baseline":"…","gone":[…],
// "shard":{…}}, of which baseline and gone are there with a baseline only, and
// shard if these are not all traces. Keys are added, never renamed or removed,
// as long as the version stays. ReadResults reads it back, so it has all that
// the other formats show.
type (
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
		Mangled string         `json:"mangled,omitempty"`
		Outcome trace.Outcome  `json:"outcome"`
		Verdict replay.Verdict `json:"verdict"`
		// Incomplete is true if events are missing, whatever the verdict.
		Incomplete bool `json:"incomplete,omitempty"`
		// Proved is true if every schedule of the same program orders goes as
		// this one did.
		Proved bool `json:"proved,omitempty"`
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
		// More is how often the same was found again at the same place.
		More int `json:"more,omitempty"`
		// Elsewhere counts the CTAs that have the same at the same place and no
		// finding of their own here: the 16 earliest have one, of which the first
		// has the count. Unlisted is how many more findings of the rule there are
		// at places that have none here, where it was broken at thousands.
		Elsewhere *elsewhereJSON `json:"elsewhere,omitempty"`
		Unlisted  int            `json:"unlisted,omitempty"`
		// Fingerprint is that of its Site, Known what the baseline says.
		Fingerprint string `json:"fingerprint"`
		Known       bool   `json:"known,omitempty"`
	}
	elsewhereJSON struct {
		CTAs  int   `json:"ctas"`
		Times int   `json:"times"` // in all of them
		Last  int64 `json:"last_ns"`
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
	shardJSON struct {
		Index uint32 `json:"index"`
		Of    uint32 `json:"of"`
		List  string `json:"list"`
	}
	eventJSON struct {
		CTA  uint32 `json:"cta"`
		Warp uint32 `json:"warp"`
		Seq  uint32 `json:"seq"`
	}
)

// WriteJSON writes the reports as one JSON document, in a line.
func WriteJSON(w io.Writer, files []File) error {
	out := newJSONWriter(w)
	for _, f := range files {
		if err := out.File(f); err != nil {
			return err
		}
	}
	return out.Close(End{})
}

// jsonWriter writes the document piece by piece.
type jsonWriter struct {
	w     io.Writer
	files int
}

func newJSONWriter(w io.Writer) *jsonWriter { return &jsonWriter{w: w} }

func (w *jsonWriter) File(f File) error {
	head := ","
	if w.files == 0 {
		head = `{"version":1,"traces":[`
	}
	w.files++
	return writeJSON(w.w, head, newTrace(f), "")
}

func (w *jsonWriter) Close(end End) error {
	head := "]"
	if w.files == 0 {
		head = `{"version":1,"traces":[]`
	}
	var err error
	if end.Baseline != "" {
		gone := []siteJSON{}
		for _, s := range end.Gone {
			gone = append(gone, siteJSON(s))
		}
		err = cmp.Or(writeJSON(w.w, head+`,"baseline":`, end.Baseline, ""), writeJSON(w.w, `,"gone":`, gone, ""))
		head = ""
	}
	if end.Shard != nil && err == nil {
		err = writeJSON(w.w, head+`,"shard":`, shardJSON(*end.Shard), "")
		head = ""
	}
	return cmp.Or(err, writeJSON(w.w, head+"}\n", nil, ""))
}

// writeJSON writes a part of a document: a value, if there is one, between
// two pieces of text.
func writeJSON(w io.Writer, before string, v any, after string) error {
	b := bytes.NewBufferString(before)
	if v != nil {
		enc := json.NewEncoder(b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
		b.Truncate(b.Len() - 1) // the newline that Encode ends with
	}
	b.WriteString(after)
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
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
		t.Launches = append(t.Launches, launchJSON{
			l.Launch.ID, l.Launch.Kernel, l.Launch.Mangled, l.Launch.Outcome, l.Verdict, l.Incomplete, l.Schedules.Proved,
		})
	}
	for i := range r.Findings {
		x := newFinding(&r.Findings[i], launch(r, r.Findings[i].Launch))
		x.Known = f.known(i)
		t.Findings = append(t.Findings, x)
	}
	return t
}

func newFinding(f *replay.Finding, l *trace.Launch) findingJSON {
	out := findingJSON{
		Rule: string(f.Rule), Severity: string(f.Severity), Root: f.Root,
		Launch: f.Launch, CTA: f.CTA, Barrier: f.Barrier.String(), Phase: f.Phase,
		Threads: rules.Threads(f.Threads, f.CTA, l), Missing: rules.Threads(f.Missing, f.CTA, l),
		Time: f.Time, Message: f.Message, Hint: f.Hint,
		Location: newLocation(f.Location), Events: []eventJSON{}, Story: f.Story, More: f.More, Unlisted: f.Unlisted,
		Fingerprint: SiteOf(f, l).Fingerprint,
	}
	if f.Elsewhere != (replay.Elsewhere{}) {
		out.Elsewhere = (*elsewhereJSON)(&f.Elsewhere)
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
