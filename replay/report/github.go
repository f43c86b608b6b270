package report

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"

	"btrace/replay"
	"btrace/replay/rules"
	"btrace/trace/plain"
)

// maxAnnotations is how many annotations of a kind GitHub shows of one step;
// it drops the others without a word.
const maxAnnotations = 10

// githubWriter writes workflow commands of GitHub Actions, which become
// annotations of the source: the worst findings of all files first, and not
// more than are shown. Known findings are counted only.
type githubWriter struct {
	out   *bufio.Writer
	tally Tally
	// The commands, by how bad they are; each list has its first few.
	unread, roots, errors, warnings, notices bucket
}

// bucket keeps the first few of many.
type bucket struct {
	first []string
	n     int
}

func (b *bucket) add(command func() string) {
	if b.n++; b.n <= maxAnnotations {
		b.first = append(b.first, command())
	}
}

func (w *githubWriter) File(f File) error {
	w.tally.Add(f)
	if f.Report == nil {
		w.unread.add(func() string { return command("error", f.Name, 0, "not checked", plain.Text(f.Err.Error())) })
		return nil
	}
	for _, g := range grouped(f, func(*replay.Finding) bool { return true }) {
		x := g.first
		switch {
		case g.known:
		case x.Severity == rules.Error && x.Root:
			w.roots.add(func() string { return w.annotation("error", f, &g) })
		case x.Severity == rules.Error:
			w.errors.add(func() string { return w.annotation("error", f, &g) })
		case x.Severity == rules.Warning:
			w.warnings.add(func() string { return w.annotation("warning", f, &g) })
		default:
			w.notices.add(func() string { return w.annotation("notice", f, &g) })
		}
	}
	return nil
}

// annotation is the command for a finding.
func (w *githubWriter) annotation(kind string, f File, g *group) string {
	x := g.first
	l := launch(f.Report, x.Launch)
	lines := []string{x.Message, f.Name + ": " + l.Kernel + ", " + strings.Join(where(x, len(f.Report.Launches) > 1), ", ")}
	if also := g.also(); also != "" {
		lines = append(lines, also)
	}
	if x.Hint != "" {
		lines = append(lines, "change: "+x.Hint)
	}
	for i := range lines {
		lines[i] = plain.Text(lines[i])
	}
	file, line := x.Location.File, x.Location.Line
	if file == "" || line == 0 {
		file, line = f.Name, 0
	}
	return command(kind, file, line, string(x.Rule), strings.Join(lines, "\n"))
}

// Close writes the commands and, after them, the total.
func (w *githubWriter) Close(end End) error {
	var more []counted
	room := maxAnnotations
	for _, b := range []*bucket{&w.unread, &w.roots, &w.errors} {
		room = w.write(b, room)
	}
	more = append(more, left("error", maxAnnotations, w.unread.n+w.roots.n+w.errors.n))
	w.write(&w.warnings, maxAnnotations)
	more = append(more, left("warning", maxAnnotations, w.warnings.n))

	room = maxAnnotations
	gone := GoneLine(end.Baseline, end.Gone)
	if gone != "" {
		room--
	}
	if list(more) != "" || w.notices.n > room {
		room-- // for the line that says so
	}
	w.write(&w.notices, room)
	more = append(more, left("notice", room, w.notices.n))
	if gone != "" {
		fmt.Fprintln(w.out, command("notice", "", 0, "baseline", plain.Text(gone)))
	}
	if s := list(more); s != "" {
		fmt.Fprintln(w.out, command("notice", "", 0, "btrace", "GitHub shows ten annotations of a kind. Not shown: "+s+". They are in --format text and sarif."))
	}
	fmt.Fprintf(w.out, "btrace: %s\n", w.tally.String())
	if err := w.out.Flush(); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// write writes a list as far as there is room, and returns what room is left.
func (w *githubWriter) write(b *bucket, room int) int {
	for _, c := range b.first[:min(len(b.first), room)] {
		fmt.Fprintln(w.out, c)
	}
	return max(0, room-b.n)
}

// left counts what there is no room for.
func left(noun string, room, n int) counted {
	n = max(0, n-room)
	return counted{n, plural(n, noun)}
}

// command is a workflow command that annotates a line of a file; line 0 is
// the whole file, and without a file it is the run's.
//
// Its grammar: GitHub Docs, "Workflow commands for GitHub Actions".
func command(kind, file string, line uint32, title, message string) string {
	var properties []string
	if file != "" {
		properties = append(properties, "file="+escapeProperty(plain.Text(file)))
	}
	if line > 0 {
		properties = append(properties, "line="+strconv.FormatUint(uint64(line), 10))
	}
	properties = append(properties, "title="+escapeProperty(plain.Text(title)))
	return fmt.Sprintf("::%s %s::%s", kind, strings.Join(properties, ","), escapeData(message))
}

// escapeData writes a message so that it stays one line.
func escapeData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// escapeProperty writes a value so that it ends neither itself nor the
// properties.
func escapeProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}
