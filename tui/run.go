package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"

	"btrace/replay"
	"btrace/replay/diff"
	"btrace/replay/stats"
	"btrace/trace"
)

// Config is what the viewer shows and how.
type Config struct {
	Title    string // the file's name
	Launches []trace.Launch
	// Open opens the timeline of a launch. It is called outside the frame,
	// and again when the user comes back to a launch.
	Open func(ctx context.Context, launch uint32) (replay.Timeline, error)
	// Sketch draws what can be shown of a launch while Open is at work, and
	// hands out again and again what it has drawn up to a time. If it is nil, or
	// shows nothing, Open is quick.
	Sketch func(ctx context.Context, launch uint32, show func(drawn replay.Timeline, upTo int64)) error
	// Progress is which parts of their work, 0 to 1, Open and LoadReport have
	// done. Nil means that it is not known.
	Progress func() (opening, checking float64)
	// Report has the verdict and the findings of all launches. Nil means that
	// they are not known; LoadReport, if it is set, is then asked for them
	// after the first frame.
	Report     *replay.Report
	LoadReport func(context.Context) (*replay.Report, error)
	// SourceRoot is a directory: only source files under it are read and
	// shown. Empty means none.
	SourceRoot string
	// ReadSource reads a source file instead, by the name that the trace has
	// for it.
	ReadSource func(name string) ([]byte, error)
	// LoadStats counts the waits of a launch, when they are to be shown. Nil
	// means that there are no statistics.
	LoadStats func(ctx context.Context, launch uint32) (*stats.Launch, error)
	// Other is the recording that this one is compared with, and Diff where
	// they part: Other is the first of the two, A. Both or none are set.
	Other *Config
	Diff  func(context.Context) (*diff.Report, error)
	// Save writes a file that the user asked for: an exported view. Nil means
	// that there is nowhere to write to.
	Save func(name string, data []byte) error
	// Keys binds commands to other keys than the table does.
	Keys    Keymap
	Theme   string // a name of Themes; empty: by the terminal's background
	NoColor bool   // no colours; bold and reverse stay
	ASCII   bool   // draw with ASCII characters only
	NoMouse bool   // leave the mouse to the terminal
}

// ErrNoTerminal is returned by Run where there is no terminal to draw on.
var ErrNoTerminal = errors.New("no terminal to draw on")

// Run shows the viewer on the terminal until the user leaves it. However it
// ends, the terminal is as it was before.
func Run(ctx context.Context, cfg Config) error {
	if !term.IsTerminal(os.Stdout.Fd()) {
		return ErrNoTerminal
	}
	inner, stop := signal.NotifyContext(ctx, endings()...)
	defer stop()
	err := run(inner, cfg, os.Stdout)
	if inner.Err() != nil && ctx.Err() == nil {
		return errors.New("the viewer was ended by a signal")
	}
	return err
}

// endings are the signals that end the viewer: so does a terminal that hangs
// up, unless whoever started the viewer wants it to go on.
func endings() []os.Signal {
	s := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		s = append(s, syscall.SIGHUP)
	}
	return s
}

func run(ctx context.Context, cfg Config, out io.Writer, opts ...tea.ProgramOption) error {
	// Whatever the viewer asked for ends with it.
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	program, paint, err := newProgram(inner, cfg, out, opts...)
	if err != nil {
		return err
	}
	_, err = program.Run()
	paint.out.leave()
	switch {
	case err == nil && paint.out.err != nil:
		return fmt.Errorf("viewer: write to the terminal: %w", paint.out.err)
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("viewer: %w", err)
}

// newProgram makes the program that reads keys and runs commands. What its
// renderer writes goes nowhere: the painter writes to the terminal. The
// renderer's clock cannot be stopped, but made as slow as one tick a second.
func newProgram(ctx context.Context, cfg Config, out io.Writer, opts ...tea.ProgramOption) (*tea.Program, *painter, error) {
	m, err := newModel(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	p := &painter{m: m, out: &terminal{out: out}, auto: cfg.Theme == "" && !cfg.NoColor}
	var quiet io.Writer = io.Discard
	if file, ok := out.(term.File); ok {
		quiet = silent{file}
	}
	opts = append([]tea.ProgramOption{tea.WithContext(ctx), tea.WithFilter(calm()), tea.WithOutput(quiet), tea.WithFPS(1),
		// A signal ends the context. Bubble Tea's own handler waits for ever to
		// hand its signal on to a loop that the context has ended.
		tea.WithoutSignalHandler()}, opts...)
	if cfg.NoColor {
		opts = append(opts, tea.WithColorProfile(colorprofile.ASCII))
	}
	return tea.NewProgram(p, opts...), p, nil
}

// silent is a terminal that can be asked for its size and colours, and that
// nothing is written to.
type silent struct{ file term.File }

func (s silent) Fd() uintptr                 { return s.file.Fd() }
func (s silent) Read(p []byte) (int, error)  { return s.file.Read(p) }
func (s silent) Write(p []byte) (int, error) { return len(p), nil }
func (s silent) Close() error                { return nil }
