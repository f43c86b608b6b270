package tui

import (
	"strings"
	"testing"
)

// graphText is the wait-for graph as text.
func (s *session) graphText() string {
	if !s.m.shown(paneGraph) {
		s.press("G")
	}
	p := page{width: 200}
	s.m.graphPage(&p)
	return p.text()
}

// The wait-for graph of recorded hangs: cycles close where the finding says
// so, and those who have exited, or whom nobody misses, are named.
func TestGraphOfRecordedHangs(t *testing.T) {
	for _, x := range []struct {
		file string
		want string
	}{
		{"hang_cross.zst", `
  bar:1 #0  64/128  holds w0 w1
  └ w2 w3 held at corpus.cu:399
    └ bar:2 #0  64/128  holds w2 w3
      └ w0 w1 held at corpus.cu:396
        └ ↺ bar:1 #0  a cycle
`},
		{"hang_mixed_cycle.zst", `
  mbar:0x400 #0  0/1  holds w0
  └ w1 held at corpus.cu:531
    └ bar:5 #0  32/64  holds w1
      └ w0 held at corpus.cu:528
        └ ↺ mbar:0x400 #0  a cycle
`},
	} {
		s := open(t, recording(t, x.file), 160, 50)
		if got := s.graphText(); got != x.want[1:] {
			t.Errorf("%s:\n%swant%s", x.file, got, x.want)
		}
	}
	for file, want := range map[string]string{
		"hang_early_exit.zst":        "exited",
		"tma_pipeline_count.zst":     "nobody is left who comes here",
		"tma_pipeline_bytes.zst":     "bytes have not come",
		"emu-circular-wait.zst":      "a cycle",
		"hang_exit_without_drop.zst": "exited",
	} {
		if got := open(t, recording(t, file), 160, 50).graphText(); !strings.Contains(got, want) {
			t.Errorf("%s: the graph lacks %q:\n%s", file, want, got)
		}
	}
}

// Walking through a cycle with w comes back to where it began.
func TestWalkAroundACycle(t *testing.T) {
	s := open(t, recording(t, "hang_cross.zst"), 160, 50).at("cta0/w0  bar:1")
	s.press("w").at("cta0/w2  bar:2").press("w").at("cta0/w0  bar:1")
}

// In a pipeline that ran, a consumer that waits leads to the producer, and who
// was released to who did it.
func TestWhoReleasedWhom(t *testing.T) {
	s := open(t, recording(t, "producer_consumer.zst"), 160, 50)
	s.press("W")
	row := s.m.focus.row
	s.press("w")
	if s.m.focus.row == row || !strings.Contains(s.m.message, "completed by") {
		t.Errorf("%v waits for %v: %s", row, s.m.focus.row, s.m.message)
	}
	by, at := s.m.focus.row, s.m.focus.time
	s.press("u", ".", "r")
	if s.m.focus.row != by || s.m.focus.time != at {
		t.Errorf("%v was released by %v at %d, not %v at %d", row, s.m.focus.row, s.m.focus.time, by, at)
	}
}

// A moment at which nobody waits has no graph, and a time without an answer
// says so.
func TestNobodyWaits(t *testing.T) {
	s := open(t, cleanConfig(), 160, 50).press("G").shows("nobody waits at this time")
	s.press("g").types("7us").press("enter").shows("bar:0 #0", "holds w0")
}
