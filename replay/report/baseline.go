package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"btrace/replay"
	"btrace/replay/barrier"
	"btrace/replay/rules"
	"btrace/trace/plain"
)

// Baseline is a set of findings that are accepted: they are still shown, but
// make no verdict. What is wrong with a recording (trace-gap, trace-truncated)
// cannot be accepted: of what is missing, nothing is known.
//
// A Baseline is not safe for concurrent use.
type Baseline struct {
	known map[string]Site
	met   map[string]Site
	learn bool
}

// NewBaseline returns a baseline that accepts whatever it meets.
func NewBaseline() *Baseline {
	return &Baseline{met: map[string]Site{}, learn: true}
}

// baselineVersion goes up when the fingerprints or the form change.
const baselineVersion = 1

// maxBaseline bounds how much of a file is read: it would hold some hundred
// thousand findings.
const maxBaseline = 64 << 20

type (
	baselineJSON struct {
		Version  int         `json:"version"`
		Findings *[]siteJSON `json:"findings"`
	}
	siteJSON struct {
		Fingerprint string       `json:"fingerprint"`
		Rule        barrier.Rule `json:"rule"`
		About       string       `json:"about"`
	}
)

// ReadBaseline reads what Write wrote.
func ReadBaseline(r io.Reader) (*Baseline, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxBaseline+1))
	if err != nil {
		return nil, fmt.Errorf("read baseline: %w", err)
	}
	if len(text) > maxBaseline {
		return nil, fmt.Errorf("not a baseline: it is larger than %d MB", maxBaseline>>20)
	}
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("not a baseline (--write-baseline makes one): %w", err)
	}
	if head.Version != baselineVersion {
		return nil, fmt.Errorf("baseline of version %d, this btrace reads version %d: make it anew with --write-baseline", head.Version, baselineVersion)
	}
	var doc baselineJSON
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&doc); err != nil {
		return nil, fmt.Errorf("not a baseline (--write-baseline makes one): %w", err)
	}
	if doc.Findings == nil {
		return nil, errors.New("not a baseline (--write-baseline makes one): it has no list of findings")
	}
	b := &Baseline{known: map[string]Site{}, met: map[string]Site{}}
	for i, s := range *doc.Findings {
		if !isFingerprint(s.Fingerprint) {
			return nil, fmt.Errorf("broken baseline: finding %d has no fingerprint of 32 digits", i+1)
		}
		b.known[s.Fingerprint] = Site(s)
	}
	return b, nil
}

func isFingerprint(s string) bool {
	return len(s) == 32 && strings.Trim(s, "0123456789abcdef") == ""
}

// Learn makes the baseline accept whatever it meets from now on.
func (b *Baseline) Learn() { b.learn = true }

// Accept marks the known findings of a file and takes them out of its
// verdicts.
func (b *Baseline) Accept(f File) File {
	if f.Report == nil {
		return f
	}
	f.Known = make([]bool, len(f.Report.Findings))
	for i := range f.Report.Findings {
		x := &f.Report.Findings[i]
		if ofRecording(x.Rule) {
			continue
		}
		s := SiteOf(x, launch(f.Report, x.Launch))
		b.met[s.Fingerprint] = s
		_, old := b.known[s.Fingerprint]
		f.Known[i] = b.learn || old
	}
	if !slices.Contains(f.Known, true) {
		return f
	}
	r := *f.Report
	r.Launches = slices.Clone(r.Launches)
	for i := range r.Launches {
		r.Launches[i].Verdict = newVerdict(&f, &r.Launches[i])
	}
	r.Verdict = replay.Clean
	for _, l := range r.Launches {
		r.Verdict = worse(r.Verdict, l.Verdict)
	}
	f.Report = &r
	return f
}

// newVerdict is the verdict of a launch without its known findings.
func newVerdict(f *File, l *replay.LaunchReport) replay.Verdict {
	known := false
	v := replay.Clean
	if l.Incomplete {
		v = replay.Incomplete
	}
	for i := range f.Report.Findings {
		x := &f.Report.Findings[i]
		switch {
		case x.Launch != l.Launch.ID:
		case ofRecording(x.Rule):
		case x.Severity != rules.Error:
		case f.known(i):
			known = true
		case x.Root:
			v = replay.Deadlock
		default:
			v = worse(v, replay.Violation)
		}
	}
	if !known {
		return l.Verdict
	}
	return v
}

// worse is the verdict of two parts together.
func worse(a, b replay.Verdict) replay.Verdict {
	rank := []replay.Verdict{replay.Clean, replay.Incomplete, replay.Violation, replay.Deadlock}
	return slices.MaxFunc([]replay.Verdict{a, b}, func(a, b replay.Verdict) int {
		return cmp.Compare(slices.Index(rank, a), slices.Index(rank, b))
	})
}

// Gone lists the known findings that no file had, in the order of Write.
func (b *Baseline) Gone() []Site {
	gone := maps.Clone(b.known)
	for fp := range b.met {
		delete(gone, fp)
	}
	return inOrder(gone)
}

// Write writes the findings that were met as a baseline: one a line, in an
// order that does not depend on the run, so that two versions can be compared.
func (b *Baseline) Write(w io.Writer) error {
	var out strings.Builder
	fmt.Fprintf(&out, "{\n  \"version\": %d,\n  \"findings\": [", baselineVersion)
	for i, s := range inOrder(b.met) {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, "\n    {\"fingerprint\": %s, \"rule\": %s, \"about\": %s}", quoted(s.Fingerprint), quoted(string(s.Rule)), quoted(s.About))
	}
	if len(b.met) > 0 {
		out.WriteString("\n  ")
	}
	out.WriteString("]\n}\n")
	_, err := io.WriteString(w, out.String())
	return err
}

func inOrder(sites map[string]Site) []Site {
	return slices.SortedFunc(maps.Values(sites), func(a, b Site) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.About, b.About), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
}

// quoted is a JSON string that is safe to look at.
func quoted(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(plain.Text(s)) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}

// GoneLine says which known findings of the baseline with this name were not
// found again; it is empty if there are none.
func GoneLine(baseline string, gone []Site) string {
	if len(gone) == 0 {
		return ""
	}
	const most = 3
	var names []string
	for _, s := range gone[:min(len(gone), most)] {
		names = append(names, string(s.Rule)+" in "+s.About)
	}
	was := "was"
	if len(gone) > 1 {
		was = "were"
	}
	line := fmt.Sprintf("%s of %s %s not found again: %s", count(len(gone), "known finding"), baseline, was, strings.Join(names, ", "))
	if n := len(gone) - most; n > 0 {
		line += " and " + count(n, "other")
	}
	return line
}
