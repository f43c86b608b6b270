package tui

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"pgregory.net/rapid"

	"btrace/replay"
	"btrace/replay/rules"
	"btrace/trace"
)

func TestNothingToShow(t *testing.T) {
	open(t, Config{Title: "empty.zst"}, 80, 24).shows("the trace has no launch", "? no launch")
	empty := &fake{launch: trace.Launch{Kernel: "k"}}
	s := open(t, timelines(empty), 80, 24).shows("this launch has no events")
	for _, c := range Commands() {
		s.press(c.Keys...) // nothing may fail
		s.m.mode = modeNormal
	}
}

func TestOneEvent(t *testing.T) {
	f := &fake{launch: trace.Launch{Kernel: "k"}}
	f.add(0, 0, math.MaxInt64, 1, trace.Op{Kind: trace.KindEnter})
	s := open(t, timelines(f), 80, 24).shows("enter", "▶ ▷ warp 0").at("9223372036.854775807 s  cta0/w0")
	for _, k := range []string{"+", "-", "Z", "left", "right", "home", "end", ".", ",", "f", "c", "]", "z"} {
		s.press(k).at("9223372036.854775807 s  cta0/w0")
	}
}

func TestTimesAtTheEndsOfTime(t *testing.T) {
	f := &fake{launch: trace.Launch{Kernel: "k"}}
	f.add(0, 0, math.MinInt64, 1, trace.Op{Kind: trace.KindEnter})
	f.add(0, 0, math.MaxInt64, 1, trace.Op{Kind: trace.KindExit})
	s := open(t, timelines(f), 80, 24).at("-9223372036.854775808 s  cta0/w0")
	s.press("right", "right", "+", "+", "left", "Z", "end").at("9223372036.854775807 s  cta0/w0").press(",").at("-9223372036.854775808 s  cta0/w0")
}

func TestManyCTAs(t *testing.T) {
	l := newLarge(10000, 0, 1e9)
	cfg := Config{Launches: []trace.Launch{l.launch}, Open: func(context.Context, uint32) (replay.Timeline, error) { return l, nil }}
	s := open(t, cfg, 120, 40).shows("▷ CTA 0", "warps (40000)").hides("warp 1")
	s.press("enter").shows("warp 3")
	s.press("s", "7", "7", "7", "7", "/", "2", "enter").at("cta7777/w2").shows("▽ CTA 7777")
	s.press("F").at("cta7777").press("F").press("pgdown", "pgdown").shows("warp 0")
	s.press("s", "c", "t", "a", "9", "9", "9", "9", "enter").at("cta9999").shows("CTA 9999")
}

func TestManyFindings(t *testing.T) {
	l := newLarge(100, 10000, 1e8)
	cfg := Config{Launches: []trace.Launch{l.launch}, Open: func(context.Context, uint32) (replay.Timeline, error) { return l, nil }}
	s := open(t, cfg, 120, 40).shows("findings (10000)", "finding number 0", "✗ violation")
	s.press("N").shows("finding number 9999").press("n").shows("finding number 0")
	for range 30 {
		s.press("n")
	}
	s.shows("finding number 30")
	if asked := strings.Count(s.screen(), "✗"); asked < 40 {
		t.Errorf("only %d findings show in the overview", asked)
	}
}

// Of a fault that is in more CTAs than are listed, the list and the story say
// so, and the overview shows where it ends.
func TestFaultOfManyCTAs(t *testing.T) {
	l := newLarge(100, 1, 1e8)
	x := &l.findings[0]
	x.Time, x.Elsewhere = 0, replay.Elsewhere{CTAs: 84, Times: 90, Last: 99e6}
	cfg := Config{Launches: []trace.Launch{l.launch}, Open: func(context.Context, uint32) (replay.Timeline, error) { return l, nil }}
	s := open(t, cfg, 200, 40).shows("cta0 and 84 others 0 ns", "the same in 84 more CTAs than are listed")
	if _, line, ok := strings.Cut(s.screen(), "whole"); !ok || strings.Count(strings.SplitN(line, "\n", 2)[0], "✗") != 2 {
		t.Errorf("the overview does not show the last of them:\n%s", s.screen())
	}
}

// A trace may hold anything at all: every string of it reaches the screen as
// text.
func TestHostileStrings(t *testing.T) {
	evil := "\x1b]0;owned\x07\x1b[2J\u202egnp\u0000\r\n世界"
	f := pipeline(1, true)
	f.launch.Kernel, f.launch.Device, f.launch.Arch, f.launch.Program = evil, evil, evil, evil
	x := &f.findings[0]
	x.Message, x.Hint, x.Rule, x.Story = evil, evil, "evil\x1b[31m", []string{evil}
	x.Location.File = evil
	group := trace.Barrier{Kind: trace.BarrierGroup, Name: evil}
	f.phase(0, group, replay.Phase{From: 0, To: 100})
	op := trace.Op{Kind: trace.KindUnknown, Name: evil, Group: evil, File: evil, Line: 3, Has: trace.Fields(0).With(trace.FieldGroup, trace.FieldFile)}
	f.add(0, 0, 16500, 1, op)
	cfg := timelines(f)
	cfg.Title = evil
	cfg.Report = reportOf(replay.Deadlock, f)
	cfg.ReadSource = func(string) ([]byte, error) { return []byte("a\n\x1b[2Jb\n\x00\u202ec\n"), nil }
	for _, cols := range []int{40, 80, 120, 300} {
		s := open(t, cfg, cols, 40).press("end", "b")
		checkScreen(t, s.screen(), cols, 40)
		for _, keys := range [][]string{nil, {"tab"}, {"tab"}, {"tab"}, {"tab"}, {"?"}} {
			s.press(keys...)
			content := s.content()
			for _, bad := range []string{"\x1b]", "\x1b[2J", "\u202e", "\x00", "\r", "\x07", "世"} {
				if strings.Contains(content, bad) {
					t.Fatalf("%d columns: %q reaches the terminal", cols, bad)
				}
			}
		}
		if title := s.m.title(); strings.ContainsAny(title, "\x1b\x07\r\n") {
			t.Errorf("the window's title is %q", title)
		}
		if text := s.m.focusText(); strings.ContainsAny(text, "\x1b\x07\r\u202e") {
			t.Errorf("what is copied is %q", text)
		}
	}
}

// Every size of screen is drawn exactly, whatever is pressed on it.
func TestAnySizeAnyKeys(t *testing.T) {
	var keys []string
	for _, c := range Commands() {
		keys = append(keys, c.Keys...)
	}
	cfgs := []Config{hangConfig(), cleanConfig(), timelines(pipeline(1, false), pipeline(2, true)), timelines(&fake{})}
	rapid.Check(t, func(t *rapid.T) {
		cfg := rapid.SampledFrom(cfgs).Draw(t, "trace")
		cfg.ASCII = rapid.Bool().Draw(t, "ascii")
		cols, rows := rapid.IntRange(1, 310).Draw(t, "cols"), rapid.IntRange(1, 70).Draw(t, "rows")
		d := driverOf(t, cfg, cols, rows)
		for _, k := range rapid.SliceOfN(rapid.SampledFrom(keys), 0, 30).Draw(t, "keys") {
			key, err := parseKey(k)
			if err != nil {
				t.Fatal(err)
			}
			d.send(key)
			if rapid.IntRange(0, 9).Draw(t, "resize") == 0 {
				cols, rows = rapid.IntRange(1, 310).Draw(t, "cols"), rapid.IntRange(1, 70).Draw(t, "rows")
				d.send(tea.WindowSizeMsg{Width: cols, Height: rows})
			}
			lines := strings.Split(strings.TrimSuffix(d.screen(), "\n"), "\n")
			if len(lines) != rows {
				t.Fatalf("%d lines of %d", len(lines), rows)
			}
			for _, l := range lines {
				if len([]rune(l)) > cols {
					t.Fatalf("%q is wider than %d", l, cols)
				}
			}
			if f := d.m.focus; d.m.tl != nil && len(d.m.tree.all) > 0 {
				if at := d.m.win.cell(f.time, d.m.track()); at < 0 || at > d.m.track() {
					t.Fatalf("the playhead is at cell %d of %d", at, d.m.track())
				}
				if !d.m.tree.has(f.row) {
					t.Fatalf("the focus is on %v, which does not exist", f.row)
				}
			}
		}
	})
}

func TestResizeKeepsTheFocus(t *testing.T) {
	s := open(t, hangConfig(), 120, 40).press("j", "+").at("16.384 µs  cta0/w1  mbar:0x1420")
	for _, size := range [][2]int{{40, 10}, {300, 60}, {80, 24}} {
		s.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		checkScreen(t, s.screen(), size[0], size[1])
		s.shows("16.384 µs", "▶")
	}
	s.at("16.384 µs  cta0/w1  mbar:0x1420")
}

func TestOpeningFails(t *testing.T) {
	cfg := timelines(pipeline(1, false), pipeline(1, false))
	good := cfg.Open
	cfg.Open = func(ctx context.Context, id uint32) (replay.Timeline, error) {
		if id == 0 {
			return nil, errors.New("block 3 is corrupt")
		}
		return good(ctx, id)
	}
	open(t, cfg, 120, 30).shows("open launch 0: block 3 is corrupt", "? unknown").
		press("right").shows("block 3 is corrupt").
		press("}").shows("warp 0", "no findings")
}

// What cannot be loaded is said to be so where it would stand, is not asked
// for again and again, and does not keep the rest from being shown.
func TestLoadingFails(t *testing.T) {
	for _, what := range []string{"cells", "phases", "state", "event"} {
		f := pipeline(1, false)
		f.hook = func(_ context.Context, asked string) error {
			if asked == what {
				return fmt.Errorf("no-%s", what)
			}
			return nil
		}
		s := open(t, timelines(f), 120, 40).shows("no-" + what)
		if what == "event" {
			s.press(".").shows("look for an event: no-event")
		}
		if what == "phases" {
			s.press("]").shows("look for a phase: no-phases")
		}
		asked := f.asked
		s.press("m", "m")
		if f.asked != asked {
			t.Errorf("%s: %d more questions although nothing has changed", what, f.asked-asked)
		}
	}
}

// Nothing is asked twice: coming back to a place costs no questions, and an
// idle viewer asks none.
func TestWhatIsLoadedIsKept(t *testing.T) {
	f := pipeline(1, false)
	s := open(t, timelines(f), 120, 40).press("+", "right", "right")
	asked := f.asked
	s.press("left", "right", "m", "tab", "?", "esc", "u", "U")
	if f.asked != asked {
		t.Errorf("%d questions about what had been shown before", f.asked-asked)
	}
}

// A job whose answer nobody waits for any more is cancelled, and its answer
// does not show.
func TestStaleJobsAreCancelled(t *testing.T) {
	f := pipeline(1, false)
	m := modelOf(t, timelines(f))
	update := func(msg tea.Msg) tea.Cmd {
		return m.update(msg)
	}
	run := func(cmd tea.Cmd) []tea.Msg {
		var out []tea.Msg
		for queue := []tea.Cmd{cmd}; len(queue) > 0; queue = queue[1:] {
			if queue[0] == nil {
				continue
			}
			if msg := queue[0](); msg != nil {
				if b, ok := msg.(tea.BatchMsg); ok {
					queue = append(queue, b...)
				} else {
					out = append(out, msg)
				}
			}
		}
		return out
	}
	cmd := update(tea.WindowSizeMsg{Width: 80, Height: 24})
	msgs := run(tea.Batch(cmd, m.init()))
	cmd = update(msgs[0]) // opened: the state at the focus is asked for
	if m.work.job.kind != jobMoment {
		t.Fatalf("job %v runs", m.work.job.kind)
	}
	stale := m.work.job.moment
	update(tea.KeyPressMsg{Code: tea.KeyEnd}) // while it is under way
	msgs = run(cmd)
	if done := msgs[0].(workDone); done.apply != nil {
		t.Error("the answer about the old place is still of use")
	}
	cmd = update(msgs[0])
	if m.moments.has(stale) || m.work.job.moment != m.momentKey() {
		t.Error("the next job is not about the new place")
	}
	for cmd != nil {
		msgs = run(cmd)
		if len(msgs) == 0 {
			break
		}
		cmd = update(msgs[0])
	}
	if !m.moments.has(m.momentKey()) || m.work.busy {
		t.Error("the new place was not loaded")
	}
}

// The findings may come after the first frame: a viewer that nobody has
// touched goes to the root, one that is in use stays where it is.
func TestReportComesLater(t *testing.T) {
	f := pipeline(1, true)
	report := reportOf(replay.Deadlock, f)
	f.findings = nil
	cfg := timelines(f)
	cfg.LoadReport = func(context.Context) (*replay.Report, error) { return report, nil }
	open(t, cfg, 120, 40).shows("✗ deadlock", "▶✗ root deadlock-count").at("16.384 µs  cta0/w0  mbar:0x1420")

	m := modelOf(t, cfg)
	d := &driver{m: m}
	m.reporting = true // it takes its time
	d.send(tea.WindowSizeMsg{Width: 120, Height: 40})
	s := &session{d, t}
	m.reporting = false
	later := m.loadReport()
	s.shows("⋯ checking").press("right").at("281 ns")
	d.run(later)
	s.shows("✗ deadlock", "root deadlock-count").at("281 ns").press("n").at("16.384 µs  cta0/w0")

	cfg.LoadReport = func(context.Context) (*replay.Report, error) { return nil, errors.New("no memory") }
	open(t, cfg, 120, 40).shows("verdict: no memory", "? unknown")
}

// Where a report is to come, the timeline is not asked for its findings, which
// may cost a replay; where none is, it is asked outside the frame, last of all.
func TestFindingsAreAskedForLast(t *testing.T) {
	f := pipeline(1, true)
	var asked []string
	f.hook = func(_ context.Context, what string) error {
		asked = append(asked, what)
		return nil
	}
	cfg := timelines(f)
	cfg.LoadReport = func(context.Context) (*replay.Report, error) { return reportOf(replay.Deadlock, f), nil }
	open(t, cfg, 120, 40).shows("✗ deadlock")
	if slices.Contains(asked, "findings") {
		t.Error("the timeline is asked for findings although a report came")
	}
	asked = nil
	cfg.LoadReport = nil
	s := open(t, cfg, 120, 40).shows("✗ deadlock").at("16.384 µs  cta0/w0")
	if n := slices.Index(asked, "findings"); n < 5 {
		t.Errorf("the findings are question %d of %v", n, asked)
	}
	asked = nil
	s.press("n", "n", "right").m.draw()
	if slices.Contains(asked, "findings") {
		t.Error("the findings are asked for twice")
	}
}

// A trace with several launches opens on the launch of the root finding;
// undo crosses launches.
func TestLaunches(t *testing.T) {
	a, b := pipeline(1, false), pipeline(1, true)
	cfg := timelines(a, b)
	cfg.Report = reportOf(replay.Deadlock, a, b)
	s := open(t, cfg, 120, 40).shows("launch 2/2", "✗ deadlock", "launch 1 root").at("16.384 µs  cta0/w0")
	s.press("{").shows("launch 1/2", "✓ clean").at("0 ns").press("right")
	s.press("u", "u").shows("launch 2/2").at("16.384 µs  cta0/w0")
	s.press("U").shows("launch 1/2").press("n").shows("launch 2/2").at("16.384 µs")
}

func TestVerdictWithoutReport(t *testing.T) {
	f := pipeline(1, true)
	open(t, timelines(f), 120, 40).shows("✗ deadlock")
	f.findings[0].Root = false
	open(t, timelines(f), 120, 40).shows("✗ violation")
	f.findings[0].Severity = rules.Warning
	open(t, timelines(f), 120, 40).shows("! warnings only").at("0 ns")
	f.findings = nil
	open(t, timelines(f), 120, 40).shows("? no findings")
}

// In a cluster the barriers of all its CTAs are shown, with their CTA.
func TestClusters(t *testing.T) {
	f := pipeline(4, false)
	f.launch.Cluster = trace.Dim{2, 1, 1}
	s := open(t, timelines(f), 120, 40).shows("barriers of CTA 0's cluster", "0 bar:0", "1 bar:0").hides("2 bar:0")
	s.press("s", "2", "/", "1", "enter").shows("barriers of CTA 2's cluster", "2 bar:0", "3 bar:0").at("cta2/w1  bar:0")
	c := clusters{trace.Dim{4, 4, 1}, trace.Dim{2, 2, 1}}
	for cta, want := range map[uint32]uint64{0: 0, 1: 0, 4: 0, 5: 0, 2: 1, 7: 1, 8: 2, 15: 3} {
		if got := c.of(cta); got != want {
			t.Errorf("CTA %d lies in cluster %d, want %d", cta, got, want)
		}
	}
}

func TestSearch(t *testing.T) {
	f := pipeline(3, false)
	s := open(t, timelines(f), 120, 40)
	find := func(q string) {
		s.press("s")
		for _, r := range q {
			k := string(r)
			if r == ' ' {
				k = "space"
			}
			s.press(k)
		}
		s.press("enter")
	}
	for _, x := range []struct{ query, want string }{
		{"1/3", "cta1/w3"}, {"w2", "cta1/w2"}, {"cta 2 / warp 4", "cta2/w4"}, {"CTA0", "cta0"}, {"0x1420", "mbar:0x1420"},
		{"0x14", "mbar:0x1400"}, {"bar:0", "bar:0"}, {"warp:1", "w1"},
	} {
		find(x.query)
		s.at(x.want)
	}
	find("9/9")
	s.shows("no row cta9/w9 in this launch")
	s.press("esc")
	find("nothing")
	s.shows(`no row or barrier "nothing"`)
	s.press("esc", "s", "w", "1", "enter", "end", "s", "enter").at("w1")
}

func TestScriptErrors(t *testing.T) {
	run := func(keys string, cols, rows int) error {
		_, err := Script(context.Background(), hangConfig(), strings.NewReader(keys), cols, rows)
		return err
	}
	for _, x := range []struct{ keys, want string }{
		{"right\n\n# a comment\nrigth\n", `keys, line 4: unknown key "rigth"`},
		{"hyper+x", `keys, line 1: unknown key "hyper+x"`},
		{"ctrl+", `unknown key "ctrl+"`},
		{"\x1b", "unknown key"},
	} {
		if err := run(x.keys, 80, 24); err == nil || !strings.Contains(err.Error(), x.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("keys %q: %v, want %q", x.keys, err, x.want)
		}
	}
	if err := run("q\nnonsense", 80, 24); err != nil {
		t.Errorf("keys after q are still read: %v", err)
	}
	if err := run("", 0, 24); err == nil {
		t.Error("a screen without columns is drawn")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Script(ctx, hangConfig(), strings.NewReader("right"), 80, 24); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func FuzzParseKey(f *testing.F) {
	for _, c := range Commands() {
		f.Add(c.Keys[0])
	}
	f.Fuzz(func(t *testing.T, s string) {
		if k, err := parseKey(s); err == nil && k.String() != s {
			t.Errorf("%q is taken for %q", s, k.String())
		}
	})
}
