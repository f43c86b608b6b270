package report

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"btrace/replay"
	"btrace/replay/barrier"
	"btrace/replay/rules"
	"btrace/trace"
)

var allFormats = []Format{Text, Summary, JSON, SARIF, JUnit, GitHub}

// same fails the test if two sets of files read differently in any format.
func same(t fataler, files []File, end End, again []File, endAgain End) {
	t.Helper()
	for _, format := range allFormats {
		for _, opt := range []Options{{Version: "v1"}, {Version: "v1", Strict: true}} {
			want, got := written(t, format, opt, files, end), written(t, format, opt, again, endAgain)
			if want != got {
				t.Fatal(fmt.Sprintf("%s differs:\n%s\nnow:\n%s", format, want, got))
			}
		}
	}
}

// readBack reads a document that was written.
func readBack(t fataler, name, text string) Results {
	t.Helper()
	all, err := ReadResults(name, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 {
		t.Fatal(fmt.Sprintf("%d documents", len(all)))
	}
	return all[0]
}

func TestResultsReadBack(t *testing.T) {
	known, end := accepted(t)
	for _, tt := range []struct {
		files []File
		end   End
	}{
		{job(t), End{}},
		{known, end},
		{known, End{Baseline: "b.json"}},
		{[]File{hang()}, End{Shard: &Shard{2, 3, "list"}}},
		{known, End{Baseline: "known.json", Gone: end.Gone, Shard: &Shard{1, 1, "list"}}},
		{nil, End{}},
		{nil, End{Baseline: "known.json", Shard: &Shard{3, 3, "list"}}},
	} {
		r := readBack(t, "x.json", written(t, JSON, Options{}, tt.files, tt.end))
		same(t, tt.files, tt.end, r.Files, r.End)
	}
}

// drawFiles makes reports with whatever a finding can have.
func drawFiles(t *rapid.T) []File {
	text := func(name string) string {
		return rapid.OneOf(rapid.String(), rapid.Just("cta1/w0:l3 \u2028<b>")).Draw(t, name)
	}
	n := rapid.IntRange(0, 5).Draw(t, "files")
	var files []File
	for i := range n {
		f := File{Name: fmt.Sprintf("%d/%s", i, text("name"))}
		if rapid.IntRange(0, 4).Draw(t, "unreadable") == 0 {
			f.Err = errors.New("x" + text("error"))
			files = append(files, f)
			continue
		}
		verdict := rapid.SampledFrom([]replay.Verdict{replay.Clean, replay.Violation, replay.Deadlock, replay.Incomplete})
		f.Report = &replay.Report{Verdict: verdict.Draw(t, "verdict"), Counts: replay.Counts{WarpEvents: rapid.Uint64().Draw(t, "events")}}
		for id := range rapid.Uint32Range(1, 3).Draw(t, "launches") {
			l := trace.Launch{ID: id, Kernel: text("kernel"), Mangled: text("mangled"), Outcome: trace.Outcome(text("outcome"))}
			l.Block = trace.Dim{rapid.Uint32Range(1, 1024).Draw(t, "block"), 1, 1}
			f.Report.Launches = append(f.Report.Launches, replay.LaunchReport{
				Launch: l, Verdict: verdict.Draw(t, "launch's verdict"), Incomplete: rapid.Bool().Draw(t, "incomplete"),
				Schedules: replay.Schedules{Proved: rapid.Bool().Draw(t, "proved")},
			})
		}
		for range rapid.IntRange(0, 3).Draw(t, "findings") {
			f.Report.Findings = append(f.Report.Findings, drawFinding(t, text, f.Report.Launches))
		}
		files = append(files, f)
	}
	return files
}

func drawFinding(t *rapid.T, text func(string) string, launches []replay.LaunchReport) replay.Finding {
	ref := func() replay.BarrierRef {
		b := trace.Barrier{Kind: rapid.SampledFrom([]trace.BarrierKind{
			trace.BarrierNone, trace.BarrierNamed, trace.BarrierMbar, trace.BarrierCluster, trace.BarrierGroup, trace.BarrierWarp,
		}).Draw(t, "barrier")}
		switch b.Kind {
		case trace.BarrierGroup:
			b.Name = text("group")
		case trace.BarrierMbar:
			b.ID = rapid.Uint64().Draw(t, "address")
		case trace.BarrierNamed, trace.BarrierWarp:
			b.ID = uint64(rapid.Uint32().Draw(t, "number"))
		}
		return replay.BarrierRef{CTA: rapid.Uint32Range(0, 2).Draw(t, "cta"), Barrier: b, Phase: rapid.Uint64().Draw(t, "phase")}
	}
	l := rapid.SampledFrom(launches).Draw(t, "launch")
	lanes := func() (out []replay.Lanes) {
		for range rapid.IntRange(0, 3).Draw(t, "threads") {
			w := rapid.Uint32Range(0, uint32(l.Launch.Warps())-1).Draw(t, "warp")
			mask := rapid.OneOf(rapid.Uint32(), rapid.Just(^uint32(0))).Draw(t, "mask")
			if n := l.Launch.Threads() - uint64(w)*32; n < 32 {
				mask &= 1<<n - 1 // a warp has no other lanes
			}
			out = append(out, replay.Lanes{CTA: rapid.Uint32Range(0, 2).Draw(t, "cta"), Warp: w, Mask: mask})
		}
		return out
	}
	place := func() replay.Location {
		return replay.Location{File: text("file"), Line: rapid.Uint32().Draw(t, "line"), PC: rapid.Uint64().Draw(t, "pc")}
	}
	f := replay.Finding{
		Rule:     rapid.SampledFrom([]barrier.Rule{rules.DeadlockCycle, barrier.MbarDropToZero, "a-rule-of-tomorrow"}).Draw(t, "rule"),
		Severity: rapid.SampledFrom([]rules.Severity{rules.Error, rules.Warning, rules.Note}).Draw(t, "severity"),
		Root:     rapid.Bool().Draw(t, "root"), Launch: l.Launch.ID, BarrierRef: ref(), Threads: lanes(), Missing: lanes(),
		Time: rapid.Int64().Draw(t, "time"), Message: text("message"), Hint: text("hint"), Location: place(),
		More: rapid.IntRange(0, 1<<40).Draw(t, "more"), Unlisted: rapid.IntRange(0, 2).Draw(t, "unlisted"),
		Elsewhere: replay.Elsewhere{CTAs: rapid.IntRange(0, 20_000).Draw(t, "more CTAs"), Times: rapid.IntRange(0, 1<<40).Draw(t, "times"), Last: rapid.Int64().Draw(t, "last")},
	}
	if rapid.Bool().Draw(t, "with a story") {
		f.Events = []replay.EventRef{{CTA: 1, Warp: 2, Seq: 3}}
		f.Cycle = []replay.BarrierRef{ref(), ref()}
		f.Behind = []replay.Wait{{BarrierRef: ref(), Threads: lanes(), Since: f.Time, Location: place()}}
		f.Story = []string{text("story")}
	}
	return f
}

// Shards that are merged, in whatever order, read like all files at once, in
// every format.
func TestMergedShardsAreTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		files := drawFiles(t)
		end := End{}
		base := NewBaseline()
		if rapid.Bool().Draw(t, "baseline") {
			base.learn = false
			base.known = map[string]Site{}
			end.Baseline = "known.json"
			for i, f := range files {
				if f.Report == nil {
					continue
				}
				for j := range f.Report.Findings {
					if rapid.Bool().Draw(t, "known") {
						s := SiteOf(&files[i].Report.Findings[j], launch(f.Report, f.Report.Findings[j].Launch))
						base.known[s.Fingerprint] = s
					}
				}
			}
			never := Site{Fingerprint: strings.Repeat("0", 32), Rule: "bar-overrun", About: "old"}
			base.known[never.Fingerprint] = never
		}
		accept := func(files []File) ([]File, End) {
			if end.Baseline == "" {
				return files, end
			}
			b := &Baseline{known: base.known, met: map[string]Site{}}
			var out []File
			for _, f := range files {
				out = append(out, b.Accept(f))
			}
			return out, End{Baseline: end.Baseline, Gone: b.Gone()}
		}

		n := rapid.IntRange(1, 4).Draw(t, "shards")
		cuts := []int{0, len(files)}
		for range n - 1 {
			cuts = append(cuts, rapid.IntRange(0, len(files)).Draw(t, "cut"))
		}
		slices.Sort(cuts)
		var docs []string
		for i := range n {
			part, e := accept(files[cuts[i]:cuts[i+1]])
			e.Shard = &Shard{uint32(i + 1), uint32(n), "list"}
			docs = append(docs, written(t, JSON, Options{}, part, e))
		}
		parts, err := ReadResults("-", strings.NewReader(strings.Join(rapid.Permutation(docs).Draw(t, "order"), "")))
		if err != nil {
			t.Fatal(err)
		}
		merged, mergedEnd, err := Merge(parts)
		if err != nil {
			t.Fatal(err)
		}
		whole, wholeEnd := accept(files)
		same(t, whole, wholeEnd, merged, mergedEnd)
	})
}

func TestMergeRefuses(t *testing.T) {
	shard := func(i, of uint32, list, file string) Results {
		return Results{Name: fmt.Sprintf("%d.json", i), Files: []File{{Name: file, Err: errors.New("x")}}, End: End{Shard: &Shard{i, of, list}}}
	}
	plain := func(name, file string) Results {
		return Results{Name: name, Files: []File{{Name: file, Err: errors.New("x")}}}
	}
	based := plain("based.json", "z.zst")
	based.End.Baseline = "known.json"
	var many []Results
	for i := range uint32(2) {
		many = append(many, shard(i+20, 40, "l", fmt.Sprint(i)))
	}
	for _, tt := range []struct {
		parts []Results
		want  string
	}{
		{nil, "there are no results to merge"},
		{[]Results{shard(1, 3, "l", "a"), shard(3, 3, "l", "c")}, "there is no shard 2/3 among the results"},
		{many, "there is no shard 1/40, 2/40, 3/40, 4/40, 5/40, 6/40, 7/40, 8/40 and 30 others among the results"},
		{[]Results{shard(1, 2, "l", "a"), shard(1, 2, "l", "b")}, "1.json is shard 1/2, and so is 1.json"},
		{[]Results{shard(1, 2, "l", "a"), shard(2, 2, "m", "b")}, "1.json and 2.json are shards of different lists of traces: traces came, went or changed between the two runs"},
		{[]Results{shard(1, 2, "l", "a"), shard(2, 3, "l", "b")}, "1.json is shard 1/2, and 2.json is shard 2/3: they do not belong together"},
		{[]Results{shard(1, 1, "l", "a"), plain("p.json", "b")}, "1.json is shard 1/1 of its traces, and p.json is no shard: they do not belong together"},
		{[]Results{plain("p.json", "b"), shard(1, 1, "l", "a")}, "1.json is shard 1/1 of its traces, and p.json is no shard: they do not belong together"},
		{[]Results{plain("p.json", "a.zst"), plain("q.json", "a.zst")}, "q.json has the results of a.zst, and so has p.json"},
		{[]Results{plain("p.json", "a.zst"), based}, "p.json was made with no baseline, based.json with the baseline known.json: give all of them the same, or give it here"},
	} {
		if _, _, err := Merge(tt.parts); err == nil || err.Error() != tt.want {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
	// Results of different machines, which are no shards, stay in their order.
	files, _, err := Merge([]Results{plain("p.json", "b.zst"), plain("q.json", "a.zst")})
	if err != nil || len(files) != 2 || files[0].Name != "b.zst" {
		t.Errorf("got %v, %v", files, err)
	}
}

const oneTrace = `{"file":"a.zst","verdict":"clean","launches":[{"id":0,"kernel":"k","outcome":"completed","verdict":"clean"}],"counts":{"warp_events":1,"thread_events":1,"phases":0},"findings":[FINDING]}`

func TestReadResultsRefuses(t *testing.T) {
	doc := func(trace string) string { return `{"version":1,"traces":[` + trace + `]}` }
	finding := func(with string) string {
		f := `{"rule":"bar-overrun","severity":"error","root":false,"launch":0,"cta":0,"barrier":"bar:1","phase":0,"threads":["w0:l3"],"missing":[],"time_ns":0,"message":"","hint":"","events":[],"fingerprint":"` +
			SiteOf(&replay.Finding{Rule: "bar-overrun", BarrierRef: replay.BarrierRef{Barrier: trace.Barrier{Kind: trace.BarrierNamed, ID: 1}}}, &trace.Launch{Kernel: "k"}).Fingerprint + `"}`
		old, now, _ := strings.Cut(with, " => ")
		if old != "" && !strings.Contains(f, old) {
			t.Fatalf("%s is not in %s", old, f)
		}
		return doc(strings.Replace(oneTrace, "FINDING", strings.Replace(f, old, now, 1), 1))
	}
	ok := strings.Replace(oneTrace, "FINDING", "", 1)
	for _, good := range []string{doc(ok), doc(""), finding(""), " \n" + doc(ok) + "\n\n" + doc("") + " "} {
		if _, err := ReadResults("x", strings.NewReader(good)); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, tt := range []struct{ in, want string }{
		{"", "x: has no results in it (`btrace validate --format json` writes them)"},
		{" \n", "x: has no results in it"},
		{"[]", "byte 1: not results of `btrace validate --format json`: want {, got ["},
		{"7", "want {, got 7"},
		{`"a\nb"`, `want {, got "a\nb"`},
		{"hello", "invalid character 'h'"},
		{doc(ok) + "x", "invalid character 'x'"},
		{doc(ok)[:40], "byte 23: not results of `btrace validate --format json`: unexpected EOF"},
		{`{"version":1`, "unexpected EOF"},
		{`{"version":1,`, "unexpected EOF"},
		{`{}`, "it has no version"},
		{`{"version":1}`, "it has no traces"},
		{`{"version":2,"traces":[]}`, "version 2, this btrace reads version 1"},
		{`{"version":1,"version":1,"traces":[]}`, `it has "version" twice`},
		{`{"version":1,"launches":[]}`, `unknown key "launches" (of a newer btrace?)`},
		{`{"version":1,"traces":{}}`, "want [, got {"},
		{`{"version":1,"traces":[],"gone":[]}`, "of a baseline it has the name or what is gone, but not both"},
		{`{"version":1,"traces":[],"baseline":"","gone":[]}`, "of a baseline it has the name or what is gone, but not both"},
		{`{"version":1,"traces":[],"baseline":"b","gone":[{"fingerprint":"7"}]}`, "a fingerprint that is not 32 digits"},
		{`{"version":1,"traces":[],"shard":{"index":5,"of":4,"list":""}}`, "there is no shard 5/4"},
		{`{"version":1,"traces":[],"shard":{"index":0,"of":0,"list":""}}`, "there is no shard 0/0"},
		{doc(`{"file":"a.zst"}`), `trace "a.zst": unknown verdict ""`},
		{doc(strings.Replace(ok, "clean", "good", 1)), `trace "a.zst": unknown verdict "good"`},
		{doc(strings.Replace(ok, `"verdict":"clean"}`, `"verdict":"fine"}`, 1)), `launch 0: unknown verdict "fine"`},
		{doc(strings.Replace(ok, `"counts"`, `"error":"e","counts"`, 1)), `trace "a.zst": it is not what this version of btrace writes`},
		{doc(strings.Replace(ok, `"findings":[]`, `"findings":null`, 1)), "it is not what this version of btrace writes"},
		{doc(strings.Replace(ok, `"findings":[]`, `"findings":[],"new":1`, 1)), `unknown field "new"`},
		{doc(strings.Replace(ok, `"launches":[`, `"launches":[{"id":0,"kernel":"k","outcome":"completed","verdict":"clean"},`, 1)), "it has launch 0 twice"},
		{finding(`"error" => "bad"`), `finding 1: unknown severity "bad"`},
		{finding(`bar:1 => bar:01`), "it is not what this version of btrace writes"},
		{finding(`bar:1 => tar:1`), "finding 1: it is not what this version of btrace writes"},
		{finding(`w0:l3 => w0:l3-2`), "finding 1: it is not what this version of btrace writes"},
		{finding(`w0:l3 => w0:l0-31`), "it is not what this version of btrace writes"},
		{finding(`w0:l3 => w0:l32`), "finding 1: it is not what this version of btrace writes"},
		{finding(`w0:l3 => ctax/w0`), "finding 1: it is not what this version of btrace writes"},
		{finding(`"fingerprint" => "more":-1,"fingerprint"`), "finding 1: found -1 times"},
		{finding(`"fingerprint" => "elsewhere":{"ctas":300000000000000,"times":1,"last_ns":0},"fingerprint"`), "finding 1: found 300000000000000 times"},
		{finding(`"fingerprint" => "elsewhere":{"ctas":0,"times":0,"last_ns":0},"fingerprint"`), "it is not what this version of btrace writes"},
		{finding(`"fingerprint":" => "fingerprint":"0`), "it is not what this version of btrace writes"},
		{finding(`"fingerprint" => "known":true,"fingerprint"`), "it has known findings, but no baseline"},
	} {
		_, err := ReadResults("x", strings.NewReader(tt.in))
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %s", tt.in, err, tt.want)
		}
	}
}

func TestReadResultsIsBounded(t *testing.T) {
	_, err := ReadResults("x", io.MultiReader(strings.NewReader(`{"version":1,"traces":[{"file":"`), new(endless)))
	if err == nil || !strings.Contains(err.Error(), "a trace with more than 64 MB of results") {
		t.Errorf("got %v", err)
	}
}

// Whatever is read back writes what reads back the same.
func FuzzReadResults(f *testing.F) {
	f.Add(`{"version":1,"traces":[` + strings.Replace(oneTrace, "FINDING", "", 1) + `],"baseline":"b","gone":[]}`)
	f.Add(written(f, JSON, Options{}, []File{hang()}, End{Shard: &Shard{2, 3, "l"}}))
	f.Add(`{"version":1,"traces":[]}{"version":1,"traces":[]}`)
	f.Fuzz(func(t *testing.T, s string) {
		all, err := ReadResults("x", strings.NewReader(s))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of several lines: %v", err)
			}
			return
		}
		for _, r := range all {
			text := written(t, JSON, Options{}, r.Files, r.End)
			again := readBack(t, "x", text)
			if now := written(t, JSON, Options{}, again.Files, again.End); now != text {
				t.Errorf("written: %s\nagain: %s", text, now)
			}
		}
		Merge(all)
	})
}
