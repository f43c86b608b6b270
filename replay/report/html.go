package report

import (
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"btrace/replay"
	"btrace/replay/rules"
	"btrace/trace"
	"btrace/trace/plain"
)

//go:embed html.tmpl
var pageText string

// page is everything that the page shows. All strings in it came through
// plain.Text or from this program; the template escapes them.
type page struct {
	File, Verdict, Summary string
	Launch                 []pair
	Finding                *pageFinding // nil: there is none
	Others                 []pageLine
	More                   int // findings that are not listed
	Figure                 *figure
	Warps, Barriers        []pageLine
	At                     string // of the state
	Left                   int    // warps and barriers that are not listed
}

// maxLines bounds the warps, and the barriers, whose state is listed: all of a
// cluster of four full CTAs.
const maxLines = 128

type pair struct{ Name, Value string }

type pageLine struct{ Name, Text string }

type pageFinding struct {
	Severity, Rule, Message, Where string
	Facts                          []pair
	Story                          []string
	Cycle, Behind                  []string
	Hint                           string
	Title, Meaning, Example        string
	Sources                        []string
}

// Opener opens a launch of the file that a report is about.
type Opener func(ctx context.Context, launch uint32) (replay.Timeline, error)

// WriteHTML writes a page about finding n (from 0) of a file: what happened,
// where, what to change, what the rule means, a picture of the CTAs that it
// happened in, and what all warps and barriers of them did then. The page
// needs nothing but itself and runs no script. Of a file without findings it
// shows the first launch.
func WriteHTML(ctx context.Context, w io.Writer, f File, n int, open Opener) error {
	r := f.Report
	if n < 0 || n > 0 && n >= len(r.Findings) {
		return fmt.Errorf("no finding %d: there are %d", n, len(r.Findings))
	}
	p := page{File: plain.Text(f.Name), Verdict: string(r.Verdict), Summary: summary(f)}
	var about *replay.Finding
	id := uint32(0)
	if len(r.Launches) > 0 {
		id = r.Launches[0].Launch.ID
	}
	if len(r.Findings) > 0 {
		about = &r.Findings[n]
		id = about.Launch
	}
	l := launch(r, id)
	p.Launch = launchPairs(l)
	if about != nil {
		p.Finding = newPageFinding(about, l)
		p.others(r, n)
	}
	if len(r.Launches) > 0 {
		tl, err := open(ctx, id)
		if err != nil {
			return err
		}
		if err := p.draw(ctx, tl, about, l); err != nil {
			return err
		}
	}
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return err
	}
	return t.Execute(w, &p)
}

func launchPairs(l *trace.Launch) []pair {
	list := []pair{{"launch", fmt.Sprint(l.ID)}, {"kernel", l.Kernel}, {"outcome", string(l.Outcome)}, {"program", l.Program}, {"recorder", l.Recorder},
		{"device", strings.TrimSpace(l.Device + " " + l.Arch)}}
	if l.Threads() > 0 {
		list = append(list, pair{"grid, block, cluster", extent(l.Grid) + ", " + extent(l.Block) + ", " + extent(l.Cluster)})
	}
	var out []pair
	for _, x := range list {
		if x.Value != "" {
			out = append(out, pair{x.Name, plain.Text(x.Value)})
		}
	}
	return out
}

// extent is 4x2x1 without the trailing ones.
func extent(d trace.Dim) string {
	s := fmt.Sprintf("%dx%dx%d", max(d[0], 1), max(d[1], 1), max(d[2], 1))
	return strings.TrimSuffix(strings.TrimSuffix(s, "x1"), "x1")
}

func newPageFinding(f *replay.Finding, l *trace.Launch) *pageFinding {
	x := &pageFinding{
		Severity: string(f.Severity), Rule: string(f.Rule), Message: plain.Text(f.Message), Hint: plain.Text(f.Hint),
		Where: plain.Text(strings.Join(where(f, false), ", ")),
	}
	add := func(name, value string) {
		if value != "" {
			x.Facts = append(x.Facts, pair{name, plain.Text(value)})
		}
	}
	add("threads", names(f.Threads, f.CTA, l))
	add("missing", names(f.Missing, f.CTA, l))
	if f.More > 0 {
		add("found again", fmt.Sprintf("%d times at this place", f.More))
	}
	if n := f.Elsewhere.CTAs; n > 0 {
		add("not listed", "the same in "+count(n, "more CTA"))
	}
	if f.Unlisted > 0 {
		add("other places", count(f.Unlisted, "more finding")+" of this rule, which are not listed")
	}
	for _, s := range f.Story {
		x.Story = append(x.Story, plain.Text(s))
	}
	for i, b := range f.Cycle {
		x.Cycle = append(x.Cycle, plain.Text(barrierName(b)+" waits for "+barrierName(f.Cycle[(i+1)%len(f.Cycle)])))
	}
	for i, b := range f.Behind {
		if i == most {
			x.Behind = append(x.Behind, "and "+count(len(f.Behind)-most, "wait")+" more")
			break
		}
		s := names(b.Threads, b.CTA, l) + " on " + barrierName(b.BarrierRef)
		if at := source(b.Location); at != "" {
			s += " at " + at
		}
		x.Behind = append(x.Behind, plain.Text(s+", since "+Time(b.Since)))
	}
	if r, ok := rules.Lookup(f.Rule); ok {
		x.Title, x.Meaning, x.Example = r.Title, r.Meaning, r.Example
		for _, s := range r.Source {
			x.Sources = append(x.Sources, s.String())
		}
	}
	return x
}

// others lists the findings that the page is not about.
func (p *page) others(r *replay.Report, n int) {
	for i := range r.Findings {
		switch f := &r.Findings[i]; {
		case i == n:
		case len(p.Others) == most:
			p.More++
		default:
			p.Others = append(p.Others, pageLine{fmt.Sprintf("%d %s %s", i, f.Severity, f.Rule), plain.Text(f.Message)})
		}
	}
}

// draw adds the picture of the finding's CTAs and their state at its time; at
// the end where nothing was found, or where it hangs: then all that matters
// has happened.
func (p *page) draw(ctx context.Context, tl replay.Timeline, f *replay.Finding, l *trace.Launch) error {
	from, to := tl.Span()
	at, cta := to, uint32(0)
	if f != nil {
		cta = f.CTA
		if !f.Root {
			at = f.Time
		}
	}
	s, err := tl.State(ctx, cta, at)
	if err != nil {
		return err
	}
	p.At = Time(at)
	for _, w := range s.Warps[:min(len(s.Warps), maxLines)] {
		for _, st := range w.Strands {
			who := strings.Join(rules.Threads([]rules.Lanes{{CTA: w.CTA, Warp: w.Warp, Mask: st.Lanes}}, w.CTA, l), " ")
			p.Warps = append(p.Warps, pageLine{fmt.Sprintf("CTA %d %s", w.CTA, who), plain.Text(strandText(&st, l))})
		}
	}
	for _, b := range s.Barriers[:min(len(s.Barriers), maxLines)] {
		p.Barriers = append(p.Barriers, pageLine{plain.Text(fmt.Sprintf("CTA %d %s", b.CTA, b.Barrier)), plain.Text(strings.Join(barrierState(&b, l), ", "))})
	}
	p.Left = max(len(s.Warps)-maxLines, 0) + max(len(s.Barriers)-maxLines, 0)
	if len(s.Warps) == 0 {
		return nil
	}
	p.Figure, err = newFigure(ctx, tl, s, from, to, f)
	return err
}
