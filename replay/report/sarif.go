package report

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"path"
	"strconv"
	"strings"

	"btrace/replay"
	"btrace/replay/barrier"
	"btrace/replay/rules"
	"btrace/trace"
	"btrace/trace/plain"
)

// sarifSchema is the schema that the document follows: SARIF 2.1.0, errata 01.
const sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

// fingerprintKey names how a fingerprint is made (SARIF 2.1.0, "fingerprints
// property"). GitHub computes one of its own from the source line, under a
// key of its own.
const fingerprintKey = "btraceSite/v1"

// sarifWriter writes a SARIF log with one run. The results come first and
// the tool last, because its rules are those that were met.
type sarifWriter struct {
	w          io.Writer
	tool       sarifTool
	invocation sarifInvocation
	index      map[barrier.Rule]int // in the rules of the tool
	results    int
}

func newSARIFWriter(w io.Writer, version string) *sarifWriter {
	return &sarifWriter{
		w: w, index: map[barrier.Rule]int{},
		tool:       sarifTool{sarifDriver{Name: "btrace", Version: version, Rules: []sarifRule{}}},
		invocation: sarifInvocation{ExecutionSuccessful: true},
	}
}

// sourceRoot is the name that GitHub and others take for the checkout.
const sourceRoot = "%SRCROOT%"

func (w *sarifWriter) head() string {
	if w.results > 0 {
		return ",\n"
	}
	return `{"$schema":"` + sarifSchema + `","version":"2.1.0","runs":[{"results":[`
}

func (w *sarifWriter) File(f File) error {
	if f.Report == nil {
		in := &w.invocation
		in.ExecutionSuccessful = false
		in.Notifications = append(in.Notifications, sarifNotification{
			Level: sarifError, Message: message(f.Err.Error()),
			Locations: []sarifLocation{{Physical: &sarifPhysical{Artifact: artifact(f.Name)}}},
		})
		return nil
	}
	for _, g := range grouped(f, func(*replay.Finding) bool { return true }) {
		if err := writeJSON(w.w, w.head(), w.result(f, &g), ""); err != nil {
			return err
		}
		w.results++
	}
	return nil
}

func (w *sarifWriter) Close(end End) error {
	bases := map[string]sarifBase{sourceRoot: {message("The folder that the paths of sources and traces are relative to: in CI, the checkout.")}}
	if line := GoneLine(end.Baseline, end.Gone); line != "" {
		in := &w.invocation
		in.Notifications = append(in.Notifications, sarifNotification{Level: sarifNote, Message: message(line)})
	}
	head := ""
	if w.results == 0 {
		head = w.head()
	}
	return cmp.Or(
		writeJSON(w.w, head+"],\n"+`"tool":`, w.tool, ""),
		writeJSON(w.w, ",\n"+`"invocations":`, []sarifInvocation{w.invocation}, ""),
		writeJSON(w.w, ",\n"+`"originalUriBaseIds":`, bases, "}]}\n"),
	)
}

// rule is the number of a rule in the run; one that was not met before is
// added.
func (w *sarifWriter) rule(id barrier.Rule) int {
	if n, ok := w.index[id]; ok {
		return n
	}
	out := sarifRule{ID: string(id)}
	if r, ok := rules.Lookup(id); ok {
		out.Short, out.Full = &sarifText{Text: r.Title}, &sarifText{Text: r.Meaning}
		out.Help = &sarifText{Text: helpText(r), Markdown: helpMarkdown(r)}
		out.Default = &sarifDefault{sarifLevelOf(r.Severity)}
	}
	n := len(w.tool.Driver.Rules)
	w.tool.Driver.Rules = append(w.tool.Driver.Rules, out)
	w.index[id] = n
	return n
}

// result is a finding; the same one in several CTAs is one result.
func (w *sarifWriter) result(f File, g *group) sarifResult {
	x := g.first
	l := launch(f.Report, x.Launch)
	at := sarifLocation{Physical: physical(x.Location), Logical: logical(x, l)}
	out := sarifResult{
		RuleID: string(x.Rule), RuleIndex: w.rule(x.Rule), Level: sarifLevelOf(x.Severity),
		Message: message(sentences(g)), Times: g.times,
		Fingerprints: map[string]string{fingerprintKey: SiteOf(x, l).Fingerprint},
		Related:      waits(x, l),
		Properties:   newProperties(f.Name, x, l),
	}
	if at.Physical == nil {
		at.Physical = &sarifPhysical{Artifact: artifact(f.Name)}
	} else {
		target := artifact(f.Name)
		out.Target = &target
	}
	out.Locations = []sarifLocation{at}
	if f.Known != nil {
		// All results of a run have suppressions, or none has.
		out.Baseline, out.Suppressions = baselineNew, &[]sarifSuppression{}
		if g.known {
			out.Baseline = baselineUnchanged
			*out.Suppressions = append(*out.Suppressions, sarifSuppression{
				Kind: suppressedExternally, Status: suppressionAccepted, Justification: "The baseline accepts it.",
			})
		}
	}
	return out
}

// sentences is what a result says: what happened, where else, who did what,
// and what to change.
func sentences(g *group) string {
	text := sentence(g.first.Message)
	if also := g.also(); also != "" {
		text += " " + sentence(strings.ToUpper(also[:1])+also[1:])
	}
	for _, line := range g.first.Story {
		text += "\n" + plain.Text(line)
	}
	if g.first.Hint != "" {
		text += "\nChange: " + sentence(g.first.Hint)
	}
	return text
}

// sentence ends with a full stop.
func sentence(s string) string {
	if s = plain.Text(s); strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

// message is a plain text message. Braces would be placeholders (SARIF 2.1.0,
// "Messages with placeholders").
func message(s string) sarifMessage {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = plain.Text(lines[i])
	}
	return sarifMessage{strings.NewReplacer("{", "{{", "}", "}}").Replace(strings.Join(lines, "\n"))}
}

// physical is a place in the source; nil where it is not known.
func physical(l replay.Location) *sarifPhysical {
	if l.File == "" || l.Line == 0 {
		return nil
	}
	return &sarifPhysical{Artifact: artifact(l.File), Region: &sarifRegion{l.Line}}
}

// logical names the kernel, the CTA and the barrier of a finding.
func logical(f *replay.Finding, l *trace.Launch) []sarifLogical {
	kernel := plain.Text(l.Kernel)
	if kernel == "" {
		kernel = "launch " + strconv.FormatUint(uint64(l.ID), 10)
	}
	cta := fmt.Sprintf("cta%d", f.CTA)
	out := []sarifLogical{
		{Name: kernel, Full: kernel, Kind: "function"},
		{Name: cta, Full: kernel + "/" + cta, Kind: "cta"},
	}
	if f.Barrier.Kind != trace.BarrierNone {
		bar := plain.Text(f.Barrier.String())
		out = append(out, sarifLogical{Name: bar, Full: kernel + "/" + cta + "/" + bar, Kind: "barrier"})
	}
	return out
}

// waits are the places where lanes wait behind a finding.
func waits(f *replay.Finding, l *trace.Launch) []sarifLocation {
	var out []sarifLocation
	for _, b := range f.Behind[:min(len(f.Behind), most)] {
		p := physical(b.Location)
		if p == nil {
			continue
		}
		m := message(names(b.Threads, b.CTA, l) + " on " + barrierName(b.BarrierRef))
		out = append(out, sarifLocation{Physical: p, Message: &m})
	}
	return out
}

// artifact is the URI of a file. A path that is not absolute is taken from
// the root of the sources, unless it leaves it.
func artifact(name string) sarifArtifact {
	p := strings.ReplaceAll(name, `\`, "/")
	switch {
	case strings.HasPrefix(p, "/"):
		return sarifArtifact{URI: (&url.URL{Scheme: "file", Path: path.Clean(p)}).String()}
	case len(p) > 2 && p[1] == ':' && p[2] == '/': // C:/
		return sarifArtifact{URI: (&url.URL{Scheme: "file", Path: "/" + path.Clean(p)}).String()}
	}
	p = path.Clean(p)
	out := sarifArtifact{URI: (&url.URL{Path: p}).String()}
	if p != ".." && !strings.HasPrefix(p, "../") {
		out.Base = sourceRoot
	}
	return out
}

func helpText(r rules.Rule) string {
	text := r.Meaning + "\n\nChange: " + r.Hint + ".\n\nSource:"
	for _, s := range r.Source {
		text += "\n" + s.String()
	}
	return text + "\n\nExample:\n" + r.Example
}

func helpMarkdown(r rules.Rule) string {
	escape := strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "<", `\<`, "[", `\[`, "]", `\]`, "#", `\#`).Replace
	text := escape(r.Meaning) + "\n\n**Change:** " + escape(r.Hint) + ".\n\n**Source:**\n"
	for _, s := range r.Source {
		text += "\n- " + escape(s.String())
	}
	return text + "\n\n**Example:**\n\n```\n" + r.Example + "\n```\n"
}
