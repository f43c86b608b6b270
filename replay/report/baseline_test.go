package report

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"btrace/replay"
	"btrace/replay/barrier"
	"btrace/replay/rules"
	"btrace/trace"
)

// What a run makes up anew does not change a site.
func TestSiteIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := replay.Finding{
			Rule: rules.DeadlockCount, Severity: rules.Error, Location: replay.Location{File: "src/gemm.cu", Line: 330},
			BarrierRef: replay.BarrierRef{Barrier: trace.Barrier{Kind: trace.BarrierMbar, ID: 0x1420}},
		}
		l := trace.Launch{ID: 0, Kernel: "gemm<4>"}
		want := SiteOf(&f, &l)

		id := rapid.Uint32().Draw(t, "launch")
		f.Launch, l.ID = id, id
		f.Time, f.Phase, f.CTA = rapid.Int64().Draw(t, "time"), rapid.Uint64().Draw(t, "phase"), rapid.Uint32().Draw(t, "cta")
		f.Barrier.ID = rapid.Uint64().Draw(t, "address")
		f.Location.PC = rapid.Uint64().Draw(t, "pc")
		f.Location.File = rapid.SampledFrom([]string{"", "/home/me/checkout/", `C:\work\`, "../"}).Draw(t, "folder") + "gemm.cu"
		f.Message, f.Root, f.More = rapid.String().Draw(t, "message"), rapid.Bool().Draw(t, "root"), rapid.Int().Draw(t, "more")
		f.Severity = rules.Warning
		f.Threads = []replay.Lanes{{Warp: rapid.Uint32().Draw(t, "warp"), Mask: 1}}
		if got := SiteOf(&f, &l); got != want {
			t.Fatalf("%+v, want %+v", got, want)
		}
	})
}

func TestSitesDiffer(t *testing.T) {
	base := func() (replay.Finding, trace.Launch) {
		return replay.Finding{
			Rule: rules.DeadlockCount, Location: replay.Location{File: "a.cu", Line: 7},
			BarrierRef: replay.BarrierRef{Barrier: trace.Barrier{Kind: trace.BarrierNamed, ID: 1}},
		}, trace.Launch{Kernel: "k"}
	}
	seen := map[string]string{}
	for name, change := range map[string]func(*replay.Finding, *trace.Launch){
		"base":    func(*replay.Finding, *trace.Launch) {},
		"rule":    func(f *replay.Finding, _ *trace.Launch) { f.Rule = rules.DeadlockTx },
		"kernel":  func(_ *replay.Finding, l *trace.Launch) { l.Kernel = "k2" },
		"mangled": func(_ *replay.Finding, l *trace.Launch) { l.Kernel, l.Mangled = "", "_Z1k" },
		"number":  func(f *replay.Finding, _ *trace.Launch) { f.Barrier.ID = 2 },
		"kind":    func(f *replay.Finding, _ *trace.Launch) { f.Barrier.Kind = trace.BarrierMbar },
		"cluster": func(f *replay.Finding, _ *trace.Launch) { f.Barrier.Kind = trace.BarrierCluster },
		"warp":    func(f *replay.Finding, _ *trace.Launch) { f.Barrier.Kind = trace.BarrierWarp },
		"group": func(f *replay.Finding, _ *trace.Launch) {
			f.Barrier = trace.Barrier{Kind: trace.BarrierGroup, Name: "tile"}
		},
		"none":           func(f *replay.Finding, _ *trace.Launch) { f.Barrier = trace.Barrier{} },
		"file":           func(f *replay.Finding, _ *trace.Launch) { f.Location.File = "b.cu" },
		"line":           func(f *replay.Finding, _ *trace.Launch) { f.Location.Line = 8 },
		"pc":             func(f *replay.Finding, _ *trace.Launch) { f.Location = replay.Location{PC: 16} },
		"other pc":       func(f *replay.Finding, _ *trace.Launch) { f.Location = replay.Location{PC: 32} },
		"place unknown":  func(f *replay.Finding, _ *trace.Launch) { f.Location = replay.Location{} },
		"a name like it": func(f *replay.Finding, l *trace.Launch) { l.Kernel, f.Barrier = `k" "bar:1`, trace.Barrier{} },
	} {
		f, l := base()
		change(&f, &l)
		s := SiteOf(&f, &l)
		if other, ok := seen[s.Fingerprint]; ok {
			t.Errorf("%s and %s have the same fingerprint", name, other)
		}
		if !isFingerprint(s.Fingerprint) {
			t.Errorf("%s: %q", name, s.Fingerprint)
		}
		seen[s.Fingerprint] = name
	}
}

// Fingerprints are kept in files and in databases of CI servers: they may
// change only together with their version.
func TestFingerprintsStay(t *testing.T) {
	x := sample(t, "hang_cross.zst").Report
	got := SiteOf(&x.Findings[0], &x.Launches[0].Launch)
	want := Site{"b2c17e003832676a3d33d59b288f41dd", rules.DeadlockCycle, "hang_cross: bar:1 at corpus.cu:396"}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func writtenBaseline(t testing.TB, b *Baseline) string {
	t.Helper()
	var out strings.Builder
	if err := b.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestBaselineRoundTrip(t *testing.T) {
	learnt := NewBaseline()
	for _, f := range job(t) {
		learnt.Accept(f)
	}
	text := writtenBaseline(t, learnt)
	golden(t, "baseline.json", text)

	// The order of the files does not matter.
	again := NewBaseline()
	files := job(t)
	slices.Reverse(files)
	for _, f := range files {
		again.Accept(f)
	}
	if got := writtenBaseline(t, again); got != text {
		t.Errorf("in another order it is\n%s", got)
	}

	read, err := ReadBaseline(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var all Tally
	for _, f := range job(t) {
		all.Add(read.Accept(f))
	}
	if got, want := all.String(), "6 traces: 1 not checked, 5 clean; 5 known"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if gone := read.Gone(); len(gone) != 0 {
		t.Errorf("gone: %v", gone)
	}
	if got := writtenBaseline(t, read); got != text {
		t.Errorf("written again it is\n%s", got)
	}
}

func TestEmptyBaseline(t *testing.T) {
	b := NewBaseline()
	b.Accept(sample(t, "reductions.zst"))
	text := writtenBaseline(t, b)
	if text != "{\n  \"version\": 1,\n  \"findings\": []\n}\n" {
		t.Errorf("got %s", text)
	}
	if _, err := ReadBaseline(strings.NewReader(text)); err != nil {
		t.Error(err)
	}
}

// Accepted findings make no verdict; what is missing in a recording cannot be
// accepted.
func TestAccept(t *testing.T) {
	for _, tt := range []struct {
		verdicts []replay.Verdict // of launches, with a finding for each
		accept   []barrier.Rule
		want     []replay.Verdict
		file     replay.Verdict
	}{
		{verdicts: []replay.Verdict{replay.Violation}, want: []replay.Verdict{replay.Violation}, file: replay.Violation},
		{verdicts: []replay.Verdict{replay.Violation}, accept: []barrier.Rule{rules.BarTarget}, want: []replay.Verdict{replay.Clean}, file: replay.Clean},
		{
			verdicts: []replay.Verdict{replay.Violation, replay.Deadlock, replay.Incomplete}, accept: []barrier.Rule{rules.DeadlockTx, rules.TraceGap},
			want: []replay.Verdict{replay.Violation, replay.Clean, replay.Incomplete}, file: replay.Violation,
		},
		{
			verdicts: []replay.Verdict{replay.Violation, replay.Incomplete}, accept: []barrier.Rule{rules.BarTarget, rules.TraceGap},
			want: []replay.Verdict{replay.Clean, replay.Incomplete}, file: replay.Incomplete,
		},
		{verdicts: []replay.Verdict{replay.Clean}, accept: []barrier.Rule{barrier.ClusterMissingWait}, want: []replay.Verdict{replay.Clean}, file: replay.Clean},
	} {
		f := launches(tt.verdicts...)
		b := &Baseline{known: map[string]Site{}, met: map[string]Site{}}
		for i := range f.Report.Findings {
			x := &f.Report.Findings[i]
			if s := SiteOf(x, launch(f.Report, x.Launch)); slices.Contains(tt.accept, x.Rule) {
				b.known[s.Fingerprint] = s
			}
		}
		got := b.Accept(f)
		var verdicts []replay.Verdict
		for _, l := range got.Report.Launches {
			verdicts = append(verdicts, l.Verdict)
		}
		if !slices.Equal(verdicts, tt.want) || got.Report.Verdict != tt.file {
			t.Errorf("%v without %v: %v, %s; want %v, %s", tt.verdicts, tt.accept, verdicts, got.Report.Verdict, tt.want, tt.file)
		}
		for i, l := range f.Report.Launches {
			if l.Verdict != tt.verdicts[i] {
				t.Errorf("Accept changed the report that it was given")
			}
		}
	}
}

// A launch with a known fault and a gap is not checked as a whole: it is
// incomplete.
func TestAcceptInALaunchWithAGap(t *testing.T) {
	f := launches(replay.Violation, replay.Incomplete)
	f.Report.Findings[1].Launch = 0
	f.Report.Launches = f.Report.Launches[:1]
	f.Report.Launches[0].Incomplete = true
	if got := NewBaseline().Accept(f).Report.Verdict; got != replay.Incomplete {
		t.Errorf("verdict %s", got)
	}
}

func TestBadBaselines(t *testing.T) {
	for in, want := range map[string]string{
		``:                              "not a baseline (--write-baseline makes one): ",
		`<<<<<<< HEAD`:                  "not a baseline (--write-baseline makes one): ",
		`[]`:                            "not a baseline (--write-baseline makes one): ",
		`{"version":"1"}`:               "not a baseline (--write-baseline makes one): ",
		`{"version":1}`:                 "it has no list of findings",
		`{}`:                            "baseline of version 0, this btrace reads version 1: make it anew with --write-baseline",
		`{"version":2}`:                 "baseline of version 2, this btrace reads version 1: make it anew with --write-baseline",
		`{"version":1} {}`:              "not a baseline (--write-baseline makes one): ",
		`{"version":1,"traces":[]}`:     `unknown field "traces"`,
		`{"version":1,"findings":[{}]}`: "broken baseline: finding 1 has no fingerprint of 32 digits",
		`{"version":1,"findings":[{"fingerprint":"` + strings.Repeat("g", 32) + `"}]}`: "broken baseline: finding 1 has no fingerprint of 32 digits",
	} {
		b, err := ReadBaseline(strings.NewReader(in))
		if err == nil || b != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
}

func TestBaselineIsBounded(t *testing.T) {
	r := &endless{}
	if _, err := ReadBaseline(r); err == nil || !strings.Contains(err.Error(), "larger than 64 MB") {
		t.Errorf("error %v", err)
	}
}

// endless is an endless run of blanks.
type endless struct{}

func (*endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

// What is read is written as it was read, and nothing makes the reader fall
// over.
func FuzzReadBaseline(f *testing.F) {
	f.Add(`{"version":1,"findings":[{"fingerprint":"b2c17e003832676a3d33d59b288f41dd","rule":"deadlock-cycle","about":"k: bar:1 at a.cu:1"}]}`)
	f.Add(`{"version":2}`)
	f.Add("{\"version\":1,\"findings\":[{\"fingerprint\":\"b2c17e003832676a3d33d59b288f41dd\",\"about\":\"\x1b\"}]}")
	f.Fuzz(func(t *testing.T, s string) {
		b, err := ReadBaseline(strings.NewReader(s))
		if err != nil {
			return
		}
		b.met = b.known
		text := writtenBaseline(t, b)
		again, err := ReadBaseline(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		again.met = again.known
		if got := writtenBaseline(t, again); got != text {
			t.Fatalf("written again it is\n%s\nnot\n%s", got, text)
		}
	})
}

func TestGoneLine(t *testing.T) {
	site := func(s string) Site { return Site{Rule: rules.BarTarget, About: s} }
	for _, tt := range []struct {
		gone []Site
		want string
	}{
		{nil, ""},
		{[]Site{site("a")}, "1 known finding of b.json was not found again: bar-target in a"},
		{[]Site{site("a"), site("b")}, "2 known findings of b.json were not found again: bar-target in a, bar-target in b"},
		{[]Site{site("a"), site("b"), site("c"), site("d"), site("e")},
			"5 known findings of b.json were not found again: bar-target in a, bar-target in b, bar-target in c and 2 others"},
	} {
		if got := GoneLine("b.json", tt.gone); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
