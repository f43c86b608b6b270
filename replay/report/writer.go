package report

import (
	"bufio"
	"fmt"
	"io"

	"btrace/trace/plain"
)

// Format is a form in which verdicts are written.
type Format string

// The formats.
const (
	Text    Format = "text"    // for people: findings in full
	Summary Format = "summary" // for people: a line a file, and a total
	JSON    Format = "json"    // btrace's own document
	SARIF   Format = "sarif"   // SARIF 2.1.0, for code scanning
	JUnit   Format = "junit"   // JUnit XML, for test reports
	GitHub  Format = "github"  // workflow commands of GitHub Actions
)

// Writer writes the verdicts of files in one format, the files in the order
// in which they are given to it. What it holds in memory does not grow with
// the findings, except for JUnit, whose first line has the totals.
type Writer interface {
	// File adds a file.
	File(File) error
	// Close ends the output; nothing is complete before.
	Close(End) error
}

// End is what is only known when all files were checked.
type End struct {
	Baseline string // name of the baseline; empty where there is none
	Gone     []Site // known findings that were not found again
	Shard    *Shard // which part of the traces these were; nil for all of them
}

// Shard is a part of a list of traces: part Index of Of, counted from 1. List
// is the same for all parts of one list, and another for another list. Only
// the JSON form tells of it.
type Shard struct {
	Index, Of uint32
	List      string
}

// String is the form that people write: 2/8.
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// Options of a Writer.
type Options struct {
	Strict  bool   // warnings count: a JUnit test fails with one
	Version string // of btrace, for SARIF
}

// NewWriter returns a Writer for the format.
func NewWriter(w io.Writer, format Format, opt Options) (Writer, error) {
	switch format {
	case Text:
		return &textWriter{p: plain.NewPrinter(w)}, nil
	case Summary:
		return &summaryWriter{p: plain.NewPrinter(w)}, nil
	case JSON:
		return newJSONWriter(w), nil
	case SARIF:
		return newSARIFWriter(w, opt.Version), nil
	case JUnit:
		return &junitWriter{w: w, strict: opt.Strict}, nil
	case GitHub:
		return &githubWriter{out: bufio.NewWriter(w)}, nil
	}
	return nil, fmt.Errorf("unknown format %q", string(format))
}

// textWriter writes the findings of each file in full, and a total where there
// is more than one.
type textWriter struct {
	p     *plain.Printer
	tally Tally
}

func (w *textWriter) File(f File) error {
	w.tally.Add(f)
	WriteText(w.p, f)
	return w.p.Flush()
}

func (w *textWriter) Close(end End) error {
	if line := GoneLine(end.Baseline, end.Gone); line != "" {
		w.p.Printf("%s\n", line)
	}
	if w.tally.Files > 1 {
		w.p.Printf("%s\n", w.tally.String())
	}
	return w.p.Flush()
}
