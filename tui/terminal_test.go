package tui

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"

	"btrace/replay"
)

// terminal is a virtual terminal with the real program on it: keys go in as
// bytes, and what is asserted is what a person would see.
type tty struct {
	t       *testing.T
	emu     *vt.Emulator
	keys    *io.PipeWriter
	changed chan struct{}
	cancel  context.CancelFunc
	ended   chan error
	program *tea.Program
	paint   *painter

	mu     sync.Mutex   // guards the emulator, and:
	out    bytes.Buffer // everything that was sent to the terminal
	cursor bool
}

func start(t *testing.T, cfg Config, cols, rows int) *tty {
	t.Helper()
	return startIn(t, context.Background(), cfg, cols, rows)
}

func startIn(t *testing.T, ctx context.Context, cfg Config, cols, rows int) *tty {
	t.Helper()
	in, keys := io.Pipe()
	ctx, cancel := context.WithCancel(ctx)
	x := &tty{t: t, emu: vt.NewEmulator(cols, rows), keys: keys, changed: make(chan struct{}, 1), cancel: cancel,
		ended: make(chan error, 1), cursor: true}
	x.emu.SetCallbacks(vt.Callbacks{CursorVisibility: func(v bool) { x.cursor = v }})
	// A terminal answers questions on the same line that keys come on.
	go func() { _, _ = io.Copy(keys, x.emu) }()
	program, paint, err := newProgram(ctx, cfg, x, tea.WithInput(in), tea.WithWindowSize(cols, rows),
		tea.WithEnvironment([]string{"TERM=xterm-256color", "COLORTERM=truecolor"}), tea.WithColorProfile(colorprofile.TrueColor))
	if err != nil {
		t.Fatal(err)
	}
	x.program, x.paint = program, paint
	go func() {
		_, err := program.Run()
		paint.out.leave()
		_ = in.Close() // nobody reads keys any more: press fails
		x.ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		_ = in.Close()
		_ = x.emu.InputPipe().(io.Closer).Close()
	})
	return x
}

// Write takes what the program sends. The line discipline of a terminal turns
// a line feed into a carriage return and a line feed.
func (x *tty) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.out.Write(p)
	text := bytes.ReplaceAll(bytes.ReplaceAll(p, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
	_, err := x.emu.Write(text)
	select {
	case x.changed <- struct{}{}:
	default:
	}
	return len(p), err
}

func (x *tty) screen() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var b strings.Builder
	for y := range x.emu.Height() {
		var line strings.Builder
		for c := range x.emu.Width() {
			if cell := x.emu.CellAt(c, y); cell != nil && cell.Content != "" {
				line.WriteString(cell.Content)
			} else {
				line.WriteByte(' ')
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// shows waits until the screen is as asked for.
func (x *tty) shows(what string, ok func(screen string) bool) {
	x.t.Helper()
	giveUp := time.After(20 * time.Second)
	for !ok(x.screen()) {
		select {
		case <-x.changed:
		case err := <-x.ended:
			x.t.Fatalf("the viewer has ended: %v", err)
		case <-giveUp:
			x.t.Fatalf("the screen does not show %s:\n%s", what, x.screen())
		}
	}
}

func (x *tty) waitFor(texts ...string) {
	x.t.Helper()
	x.shows(strings.Join(texts, ", "), func(s string) bool {
		for _, text := range texts {
			if !strings.Contains(s, text) {
				return false
			}
		}
		return true
	})
}

func (x *tty) press(bytes string) {
	x.t.Helper()
	if _, err := io.WriteString(x.keys, bytes); err != nil {
		x.t.Fatal(err)
	}
}

// end waits for the program and asserts that the terminal is as it was before.
func (x *tty) end() error {
	x.t.Helper()
	var err error
	select {
	case err = <-x.ended:
	case <-time.After(20 * time.Second):
		x.t.Fatal("the viewer does not end")
	}
	out := x.sent()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.emu.IsAltScreen() {
		x.t.Error("the terminal is left on the alternate screen")
	}
	if !x.cursor {
		x.t.Error("the cursor is left hidden")
	}
	if on, off := strings.LastIndex(out, ansi.SetModeMouseExtSgr), strings.LastIndex(out, ansi.ResetModeMouseExtSgr); on > off {
		x.t.Error("the mouse is left on")
	}
	return err
}

// resize changes the size of the terminal's window.
func (x *tty) resize(cols, rows int) {
	x.mu.Lock()
	x.emu.Resize(cols, rows)
	x.mu.Unlock()
	x.program.Send(tea.WindowSizeMsg{Width: cols, Height: rows})
}

func (x *tty) sent() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.out.String()
}

// A person opens a hang, sees the root, walks to the event before it, asks for
// help, resizes the window and leaves; the screen is the one that Script draws.
func TestOnATerminal(t *testing.T) {
	x := start(t, hangConfig(), 120, 40)
	x.waitFor("✗ deadlock", "▶✗ root deadlock-count", "16.384 µs  cta0/w0  mbar:0x1420", "4/5, 1 pending", "█████")
	want := show(t, hangConfig(), 120, 40)
	x.shows("what Script draws:\n"+want, func(s string) bool { return s == want })
	x.press(",")
	x.waitFor("12.928 µs  cta0/w0  mbar:0x1400", "mbar.arrive_expect_tx")
	x.press("\x1b[C\x1b[C") // right, right
	x.waitFor("13.47")
	x.press("?")
	x.waitFor("help: enter does the selected command")
	x.press("\x1b[B\r") // down, enter: row below
	x.waitFor("cta0/w1")
	x.resize(80, 24)
	x.waitFor("▶ ▷ warp 1", "? help")
	x.shows("24 lines", func(s string) bool { return strings.Count(s, "\n") == 24 && strings.Contains(s, "─ deadlock-count") })
	x.press("q")
	if err := x.end(); err != nil {
		t.Errorf("q: %v", err)
	}
}

func TestMouseOnATerminal(t *testing.T) {
	x := start(t, hangConfig(), 120, 40)
	x.waitFor("16.384 µs  cta0/w0")
	x.press("\x1b[<0;31;12M\x1b[<0;31;12m") // click into the row of warp 2
	x.waitFor("4.772 µs  cta0/w2")
	for i := range 2000 { // a flood of drags
		x.press("\x1b[<32;" + string(rune('2'+i%2)) + "0;12M")
	}
	x.press("\x1b[<32;14;12M")
	x.waitFor("  0 ns  cta0/w2")
	x.press("\x1b[<65;31;12M") // wheel down
	x.waitFor("cta0/w3")
	x.press("\x1b[<0;31;6M") // click on the barrier in the second lane
	x.waitFor("mbar:0x1400", "━ barriers")
	x.press("\x1b[<0;90;3M") // click on the finding
	x.waitFor("16.384 µs  cta0/w0", "━ findings")
	x.press("M")
	x.waitFor("mouse off")
	x.press("\x03")
	if err := x.end(); err != nil {
		t.Errorf("ctrl+c: %v", err)
	}
}

func TestCopyOnATerminal(t *testing.T) {
	x := start(t, hangConfig(), 120, 40)
	x.waitFor("4/5, 1 pending")
	x.press("y")
	x.waitFor("copied ")
	x.press("q")
	if err := x.end(); err != nil {
		t.Error(err)
	}
	_, rest, ok := strings.Cut(x.sent(), "\x1b]52;c;")
	if !ok {
		t.Fatal("nothing is sent to the clipboard")
	}
	text, err := base64.StdEncoding.DecodeString(rest[:strings.IndexAny(rest, "\x07\x1b")])
	if err != nil || !strings.Contains(string(text), "finding  deadlock-count") {
		t.Errorf("the clipboard gets %q, %v", text, err)
	}
}

// Whatever goes wrong, the terminal is usable afterwards.
func TestCrashRestoresTheTerminal(t *testing.T) {
	f := pipeline(1, false)
	var broken atomic.Bool
	f.hook = func(context.Context, string) error {
		if broken.Load() {
			panic("a fault in the timeline")
		}
		return nil
	}
	x := start(t, timelines(f), 80, 24)
	x.waitFor("warp 4", "enter  w0, number 0", "├0═")
	if !strings.Contains(x.sent(), ansi.SetModeAltScreenSaveCursor) {
		t.Fatal("the viewer does not use the alternate screen")
	}
	broken.Store(true)
	x.press("j")
	if err := x.end(); !errors.Is(err, tea.ErrProgramPanic) {
		t.Errorf("the viewer ends with %v", err)
	}
}

// Cancelling the context ends the viewer, even while the timeline is at work.
func TestCancelEndsTheViewer(t *testing.T) {
	f := pipeline(1, false)
	asked := make(chan struct{})
	f.hook = func(ctx context.Context, what string) error {
		close(asked)
		<-ctx.Done()
		return ctx.Err()
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	in, _ := io.Pipe()
	go func() {
		done <- run(ctx, timelines(f), io.Discard, tea.WithInput(in), tea.WithWindowSize(80, 24))
	}()
	<-asked
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("run returns %v", err)
	}
}

// A terminal that does not know its size is taken for one of 80x24.
func TestTerminalWithoutSize(t *testing.T) {
	s := open(t, hangConfig(), 80, 24)
	want := s.screen()
	if s.send(tea.WindowSizeMsg{}); s.screen() != want {
		t.Errorf("the screen is\n%s", s.screen())
	}
}

// A frame never waits: while the timeline is at work the screen answers keys.
func TestFrameNeverWaits(t *testing.T) {
	f := pipeline(1, false)
	let := make(chan struct{})
	f.hook = func(ctx context.Context, what string) error {
		select {
		case <-let:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	x := start(t, timelines(f), 120, 40)
	x.waitFor("warp 4", "loading", "⋯⋯⋯")
	x.press("j")
	x.waitFor("cta0/w1")
	x.press("\x1b[F") // end
	x.waitFor("45.184 µs")
	close(let)
	x.waitFor("exit  w1, number", "├0═")
	x.press("q")
	if err := x.end(); err != nil {
		t.Error(err)
	}
}

func TestNoTerminal(t *testing.T) {
	// Tests have no terminal on standard output.
	if err := Run(context.Background(), Config{}); !errors.Is(err, ErrNoTerminal) {
		t.Errorf("Run returns %v", err)
	}
}

// The verdict of a report is what the header says, whatever the findings are.
func TestVerdicts(t *testing.T) {
	for v, want := range map[replay.Verdict]string{
		replay.Clean: "✓ clean", replay.Violation: "✗ violation", replay.Deadlock: "✗ deadlock", replay.Incomplete: "? incomplete",
	} {
		f := pipeline(1, false)
		cfg := timelines(f)
		cfg.Report = &replay.Report{Verdict: v}
		open(t, cfg, 80, 24).shows(want)
	}
}

// sketchOf is a timeline that knows only what happened, as replay's sketches.
type sketchOf struct{ *fake }

func (sketchOf) Lanes() []replay.Lane { return nil }

func (sketchOf) State(context.Context, uint32, int64) (*replay.State, error) {
	return nil, replay.ErrSketch
}

// A launch that takes long to open is shown as its events alone show it; the
// rest fills in when it is there, and the user stays where he went meanwhile.
func TestSketchComesFirst(t *testing.T) {
	f, drawn := pipeline(1, true), pipeline(1, true)
	drawn.findings = nil
	cfg := timelines(f)
	cfg.Report = reportOf(replay.Deadlock, f)
	let := make(chan struct{})
	open := cfg.Open
	cfg.Open = func(ctx context.Context, id uint32) (replay.Timeline, error) {
		select {
		case <-let:
			return open(ctx, id)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	cfg.Sketch = func(_ context.Context, _ uint32, show func(replay.Timeline, int64)) error {
		show(sketchOf{drawn}, math.MaxInt64)
		return nil
	}
	x := start(t, cfg, 120, 40)
	x.waitFor("warp 4", "still being replayed", "░░")
	x.press("jjj\x1b[F") // row below, three times; end
	x.waitFor("16.64 µs  cta0/w2")
	close(let)
	x.waitFor("16.64 µs  cta0/w2", "✗#0 4/5", "█ w2 hung")
	x.press("q")
	if err := x.end(); err != nil {
		t.Error(err)
	}
	// Nobody has moved: it opens on the root.
	cfg.Open = open
	y := start(t, cfg, 120, 40)
	y.waitFor("▶✗ root deadlock-count", "16.384 µs  cta0/w0", "4/5, 1 pending")
	y.press("q")
	if err := y.end(); err != nil {
		t.Error(err)
	}
}

// A sketch that is under way says how far it has got: what has not been read
// is drawn as such, what is drawn grows, and so does the number of warps; what
// a user makes of the rows stays.
func TestSketchGrows(t *testing.T) {
	all, some := pipeline(1, true), pipeline(1, true)
	some.rows = some.rows[:3]
	cfg := timelines(all)
	more, let := make(chan struct{}), make(chan struct{})
	wait := func(ctx context.Context, c chan struct{}) error {
		select {
		case <-c:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	open := cfg.Open
	cfg.Open = func(ctx context.Context, id uint32) (replay.Timeline, error) {
		if err := wait(ctx, let); err != nil {
			return nil, err
		}
		return open(ctx, id)
	}
	cfg.Sketch = func(ctx context.Context, _ uint32, show func(replay.Timeline, int64)) error {
		show(sketchOf{some}, 8000)
		if err := wait(ctx, more); err != nil {
			return err
		}
		show(sketchOf{all}, math.MaxInt64)
		return nil
	}
	cfg.LoadReport = func(context.Context) (*replay.Report, error) { return reportOf(replay.Deadlock, all), nil }
	cfg.Progress = func() (float64, float64) { return 0.42, 0.7 }
	x := start(t, cfg, 120, 40)
	x.waitFor("opening 42 %", "warps (3)", "warp 2   ", "⋯⋯⋯⋯⋯⋯⋯⋯⋯⋯⋯⋯⋯⋯⋯⋯⋯⋯⋯⋯")
	x.press("jP") // row below, pin
	x.waitFor("▶◆ cta0/w0")
	close(more)
	x.waitFor("opening 42 %", "warps (5)", "warp 4", "▶◆ cta0/w0")
	x.shows("no cell that is not drawn", func(s string) bool { return !strings.Contains(s, "⋯⋯") })
	close(let)
	x.waitFor("✗ deadlock", "warps (5)", "▶◆ cta0/w0", "✗#0 4/5")
	x.press("q")
	if err := x.end(); err != nil {
		t.Error(err)
	}
}
