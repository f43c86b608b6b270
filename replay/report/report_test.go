package report

import (
	"encoding/json"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"btrace/replay"
	"btrace/replay/barrier"
	"btrace/replay/rules"
	"btrace/trace"
	"btrace/trace/plain"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// hang is a report with everything in it: a deadlock over two CTAs, a
// warning, and strings that try to reach the terminal.
func hang() File {
	l := trace.Launch{ID: 3, Kernel: "k\x1b[31m<4>", Outcome: trace.OutcomeHung, Block: trace.Dim{72, 1, 1}, Grid: trace.Dim{2, 1, 1}, Cluster: trace.Dim{2, 1, 1}}
	bar := func(cta uint32, n, phase uint64) replay.BarrierRef {
		return replay.BarrierRef{CTA: cta, Barrier: trace.Barrier{Kind: trace.BarrierNamed, ID: n}, Phase: phase}
	}
	return File{Name: "x.zst", Report: &replay.Report{
		Verdict: replay.Deadlock,
		Counts:  replay.Counts{WarpEvents: 94, ThreadEvents: 1700, Phases: 1},
		Launches: []replay.LaunchReport{
			{Launch: trace.Launch{ID: 2, Kernel: "init", Outcome: trace.OutcomeCompleted}, Verdict: replay.Clean},
			{Launch: l, Verdict: replay.Deadlock},
		},
		Findings: []replay.Finding{
			{
				Rule: rules.DeadlockCycle, Severity: rules.Error, Root: true, Launch: 3, BarrierRef: bar(0, 1, 4),
				Threads: []replay.Lanes{{CTA: 0, Warp: 0, Mask: ^uint32(0)}, {CTA: 1, Warp: 2, Mask: 0xff}},
				Missing: []replay.Lanes{{CTA: 0, Warp: 1, Mask: 0x8000000f}},
				Time:    107552, Message: "warp 0 waits on bar:1", Hint: "wait in the same order",
				Location: replay.Location{File: "corpus.cu", Line: 396},
				Events:   []replay.EventRef{{CTA: 0, Warp: 0, Seq: 27}},
				Cycle:    []replay.BarrierRef{bar(0, 1, 4), bar(1, 2, 0)},
				Behind: []replay.Wait{{
					BarrierRef: bar(1, 0, 2), Threads: []replay.Lanes{{CTA: 1, Warp: 1, Mask: ^uint32(0)}},
					Location: replay.Location{PC: 0x1f0}, Since: 5312,
				}},
				Story: []string{"w0 arrived on bar:1 at 5.312 µs"},
			},
			{
				Rule: barrier.MbarDropToZero, Severity: rules.Warning, Launch: 2,
				BarrierRef: replay.BarrierRef{Barrier: trace.Barrier{Kind: trace.BarrierMbar, ID: 0x1420}},
				Message:    "the expected count of mbar:0x1420 is zero", Location: replay.Location{Line: 12},
			},
		},
	}}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got:\n%s", path, got)
	}
}

func TestJSON(t *testing.T) {
	var b strings.Builder
	files := []File{hang(), {Name: "gone.zst", Err: errors.New("open gone.zst: no such file")}}
	if err := WriteJSON(&b, files); err != nil {
		t.Fatal(err)
	}
	if strings.Count(b.String(), "\n") != 1 {
		t.Errorf("the document is not one line: %s", b.String())
	}
	var doc any
	if err := json.Unmarshal([]byte(b.String()), &doc); err != nil {
		t.Fatal(err)
	}
	indented, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "hang.json", string(indented)+"\n")
}

func TestJSONOfNothing(t *testing.T) {
	var b strings.Builder
	if err := WriteJSON(&b, nil); err != nil {
		t.Fatal(err)
	}
	if b.String() != `{"version":1,"traces":[]}`+"\n" {
		t.Errorf("got %s", b.String())
	}
}

func print(write func(*plain.Printer)) string {
	var b strings.Builder
	p := plain.NewPrinter(&b)
	write(p)
	p.Flush()
	return b.String()
}

func TestText(t *testing.T) {
	golden(t, "hang.txt", print(func(p *plain.Printer) { WriteText(p, hang()) }))
}

func TestTextOfManyFindings(t *testing.T) {
	f := hang()
	one := f.Report.Findings[1]
	f.Report.Findings = nil
	for i := range 60 {
		one.Location.Line = uint32(i)
		f.Report.Findings = append(f.Report.Findings, one)
	}
	got := print(func(p *plain.Printer) { WriteText(p, f) })
	if n := strings.Count(got, "mbar-drop-to-zero"); n != 50 {
		t.Errorf("%d findings printed, want 50", n)
	}
	if !strings.Contains(got, "and 10 kinds more: --format json lists them all") {
		t.Errorf("does not say how many are left out:\n%s", got)
	}
}

// A kernel with a bug has it in every CTA; it is told once.
func TestSameFindingInManyCTAs(t *testing.T) {
	f := hang()
	root := f.Report.Findings[0]
	f.Report.Findings = nil
	for cta := range uint32(132) {
		root.CTA, root.Phase = cta, uint64(cta%2)
		f.Report.Findings = append(f.Report.Findings, root)
	}
	for name, got := range map[string]string{
		"text":      print(func(p *plain.Printer) { WriteText(p, f) }),
		"diagnosis": print(func(p *plain.Printer) { WriteDiagnosis(p, f) }),
	} {
		if strings.Count(got, root.Message) != 1 || !strings.Contains(got, "also in CTA 1 2 3 4 5 6 7 8 and 123 others") {
			t.Errorf("%s:\n%s", name, got)
		}
	}
	if Hangs(f) != 132 {
		t.Errorf("%d hangs, want 132", Hangs(f))
	}
}

// What a report counts and does not list is told as if it were listed.
func TestCTAsThatAreNotListed(t *testing.T) {
	all, f := hang(), hang()
	all.Report.Findings, f.Report.Findings = nil, nil
	for _, x := range hang().Report.Findings {
		var rest replay.Elsewhere
		first := len(f.Report.Findings)
		for i := range 132 {
			x.CTA, x.More = uint32(i), i%3
			all.Report.Findings = append(all.Report.Findings, x)
			if i < 16 {
				f.Report.Findings = append(f.Report.Findings, x)
			} else {
				rest.CTAs++
				rest.Times += 1 + x.More
			}
		}
		f.Report.Findings[first].Elsewhere = rest
	}
	for _, format := range []Format{Text, Summary, SARIF, JUnit, GitHub} {
		got, want := written(t, format, Options{}, []File{f}, End{}), written(t, format, Options{}, []File{all}, End{})
		if got != want {
			t.Errorf("%s:\n%s\nwhere all are listed:\n%s", format, got, want)
		}
	}
	if n := len(readBack(t, "x.json", written(t, JSON, Options{}, []File{f}, End{})).Files[0].Report.Findings); n != 32 {
		t.Errorf("JSON has %d findings", n)
	}
	if Hangs(f) != 132 {
		t.Errorf("%d hangs, want 132", Hangs(f))
	}
}

// Of places that are too many to list, the number is told.
func TestPlacesThatAreNotListed(t *testing.T) {
	f := hang()
	f.Report.Findings[1].Unlisted = 41
	got := written(t, Text, Options{}, []File{f}, End{})
	if !strings.Contains(got, "41 more findings of this rule at places that are not listed") || !strings.Contains(got, "42 warnings") {
		t.Errorf("got\n%s", got)
	}
}

func TestDiagnosis(t *testing.T) {
	golden(t, "diagnosis.txt", print(func(p *plain.Printer) { WriteDiagnosis(p, hang()) }))
	if n := Hangs(hang()); n != 1 {
		t.Errorf("%d hangs, want 1", n)
	}
	f := hang()
	f.Report.Findings, f.Report.Verdict = f.Report.Findings[1:], replay.Clean
	if n := Hangs(f); n != 0 {
		t.Errorf("%d hangs, want none", n)
	}
	got := print(func(p *plain.Printer) { WriteDiagnosis(p, f) })
	if !strings.HasPrefix(got, "x.zst: no hang, clean") {
		t.Errorf("got %q", got)
	}
}

// Nothing of a trace reaches the terminal as it is.
func TestHostileStrings(t *testing.T) {
	f := hang()
	const evil = "\x1b]0;owned\a\n"
	f.Name = evil
	r := &f.Report.Findings[0]
	r.Message, r.Hint, r.Story, r.Location.File = evil, evil, []string{evil}, evil
	r.Barrier = trace.Barrier{Kind: trace.BarrierGroup, Name: evil}
	for name, got := range map[string]string{
		"text":      print(func(p *plain.Printer) { WriteText(p, f) }),
		"diagnosis": print(func(p *plain.Printer) { WriteDiagnosis(p, f) }),
	} {
		if strings.ContainsAny(got, "\x1b\a") {
			t.Errorf("%s lets control characters through: %q", name, got)
		}
	}
}

func TestTime(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "0 ns", 96: "96 ns", 1000: "1 µs", 107552: "107.552 µs", 5312: "5.312 µs",
		2_500_000: "2.5 ms", 1_000_000_001: "1.000000001 s", -1500: "-1.5 µs",
		math.MinInt64: "-9223372036.854775808 s",
	} {
		if got := Time(ns); got != want {
			t.Errorf("Time(%d) = %q, want %q", ns, got, want)
		}
	}
}

// stuck is a state with one of everything: a split warp, a partial one, a
// barrier at rest, one in use and one that is gone.
func stuck() (*trace.Launch, *replay.State) {
	l := &trace.Launch{ID: 0, Kernel: "pipe", Block: trace.Dim{40, 1, 1}}
	full := replay.BarrierRef{CTA: 1, Barrier: trace.Barrier{Kind: trace.BarrierMbar, ID: 0x1410}, Phase: 3}
	return l, &replay.State{
		Time: 107552,
		Warps: []replay.WarpState{
			{CTA: 1, Warp: 0, Strands: []replay.Strand{
				{Lanes: 1, Activity: replay.Running, Since: 90000, Op: "mbar.arrive", Seq: 11, Location: replay.Location{File: "a.cu", Line: 7}},
				{Lanes: ^uint32(1), Activity: replay.Hung, On: full, Since: 80000, Op: "mbar.wait", Seq: 10},
			}},
			{CTA: 1, Warp: 1, Strands: []replay.Strand{{Lanes: 0xff, Activity: replay.Absent}}},
		},
		Barriers: []replay.BarrierState{
			{BarrierRef: replay.BarrierRef{CTA: 1, Barrier: trace.Barrier{Kind: trace.BarrierNamed, ID: 0}, Phase: 2}, Live: true},
			{BarrierRef: full, Live: true, Expected: 5, Pending: 1, Tx: 1024, InFlight: 512,
				Arrived: []replay.Lanes{{CTA: 1, Warp: 0, Mask: 1}}, Waiting: []replay.Lanes{{CTA: 1, Warp: 0, Mask: ^uint32(1)}},
				Init: replay.Location{File: "a.cu", Line: 3}},
			{BarrierRef: replay.BarrierRef{CTA: 1, Barrier: trace.Barrier{Kind: trace.BarrierMbar, ID: 0x1420}}},
		},
	}
}

func TestState(t *testing.T) {
	l, s := stuck()
	golden(t, "state.txt", print(func(p *plain.Printer) { WriteState(p, "x.zst", l, s) }))
}

func TestStateJSON(t *testing.T) {
	l, s := stuck()
	var b strings.Builder
	if err := WriteStateJSON(&b, "x.zst", l, s); err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal([]byte(b.String()), &doc); err != nil {
		t.Fatal(err)
	}
	indented, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "state.json", string(indented)+"\n")
}
