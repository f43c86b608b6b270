package tui

import (
	"context"
	"strings"
	"testing"

	"btrace/replay"
	"btrace/replay/report"
)

// shownRows are the warps that are listed.
func (s *session) shownRows() string {
	var names []string
	for _, id := range s.m.tree.flat {
		if !id.whole {
			names = append(names, id.String())
		}
	}
	return strings.Join(names, " ")
}

// A filter shows the warps of which all of its terms hold, those about
// barriers of one and the same barrier.
func TestFilters(t *testing.T) {
	for query, want := range map[string]string{
		"warp:3":                    "cta0/w3 cta1/w3",
		"cta:1 warp:0,2-3":          "cta1/w0 cta1/w2 cta1/w3",
		"warp:4-":                   "cta0/w4 cta1/w4",
		"!warp:0-3":                 "cta0/w4 cta1/w4",
		"op:expect":                 "cta0/w0 cta1/w0",
		"cta:0 op:mbar.arrive":      "cta0/w0 cta0/w1 cta0/w2 cta0/w3 cta0/w4",
		"mbar:0x1420 op:wait":       "cta0/w0 cta1/w0",
		"mbar:1420 op:wait cta:0":   "cta0/w0",
		"mbar:0x1400 op:expect":     "cta0/w0 cta1/w0",
		"mbar:0x1420 op:expect":     "",
		"cta:0 !op:expect":          "cta0/w1 cta0/w2 cta0/w3 cta0/w4",
		"bar:0 wait>4us":            "cta0/w0 cta1/w0",
		"bar:0 wait>2us wait<3.2us": "cta0/w1 cta0/w2 cta1/w1 cta1/w2",
		"is:hung":                   "",
		"cta:0 is:waiting":          "cta0/w0 cta0/w1 cta0/w2 cta0/w3 cta0/w4",
		"cta:0 !is:hung warp:2":     "cta0/w2",
	} {
		f := pipeline(2, false)
		s := open(t, timelines(f), 120, 40)
		all := s.shownRows()
		s.press("/").types(query).press("enter")
		if want == "" {
			s.shows("no warp matches " + strings.ToLower(query)[:4])
			want = all
		}
		if got := s.shownRows(); got != want {
			t.Errorf("%s shows %s, want %s", query, got, want)
		}
	}
	for _, query := range []string{"warp", "warp:", "warp:x", "warp:3-1", "op:nonsense", "wait>soon", "wait", "bar:x", "is:blue", "colour:3", "!", "\x1b[2J:1"} {
		if _, err := parseFilter(query); err == nil || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%q: %v", query, err)
		}
	}
}

func FuzzParseFilter(f *testing.F) {
	f.Add("warp:1-3 bar:1 op:arrive wait>10us is:hung !cta:2")
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 1000 {
			return
		}
		if x, err := parseFilter(s); err == nil {
			_ = x.match(replay.Row{}, &facts{of: map[replay.Row]*rowFacts{{}: {uses: []use{{}}}}})
		}
	})
}

// Whoever goes to a row that is filtered out, hidden or folded sees it.
func TestHiddenRowsAreFound(t *testing.T) {
	f := pipeline(2, false)
	s := open(t, timelines(f), 120, 40).press("/").types("warp:3").press("enter")
	s.press("s").types("1/2").press("enter").at("cta1/w2").shows("▶ ▷ warp 2", "warps (10)")
	s.press("x").press("s").types("1/2").press("enter").at("cta1/w2").shows("▶ ▷ warp 2")
	s.press("F").press("s").types("0/4").press("enter").shows("▶ ▷ warp 4")
}

// Of a recording the order by waiting is that of the times waited, and every
// warp that hangs is found, the one first that has hung longest.
func TestOrdersOfARecording(t *testing.T) {
	s := open(t, recording(t, "tma_pipeline_count.zst"), 120, 40)
	s.press("O")
	var before int64 = 1 << 62
	for _, id := range s.m.tree.flat[1:] {
		w := s.m.facts.of[id.row()].waited
		if w > before {
			t.Errorf("%v waited %d ns, and stands behind one that waited %d", id, w, before)
		}
		before = w
	}
	s.press("O").shows("first to hang first")
	if first := s.m.tree.flat[1]; first.warp != 0 {
		t.Errorf("%v hangs first", first)
	}
	s.press("X", "/").types("is:hung").press("enter").shows("5 of 5 warps")
}

// The longest wait that the facts know is the longest that statistics count.
func TestFactsAgreeWithStatistics(t *testing.T) {
	for _, file := range []string{"tma_pipeline.zst", "producer_consumer.zst", "pingpong.zst", "emu-tma-pipeline.zst"} {
		cfg := recording(t, file)
		s := open(t, cfg, 120, 40).press("O")
		counted, err := cfg.LoadStats(context.Background(), cfg.Launches[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		want, got := int64(0), int64(0)
		for i := range counted.Barriers {
			want = max(want, counted.Barriers[i].Waits.Max)
		}
		for _, r := range s.m.facts.of {
			got = max(got, r.longest.length())
		}
		if got != want {
			t.Errorf("%s: the longest wait is %s, statistics say %s", file, report.Time(got), report.Time(want))
		}
	}
}
