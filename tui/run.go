package tui

import (
	"context"
	"errors"
	"fmt"
	"os"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"

	"btrace/replay"
	"btrace/trace"
)

// Config is what the viewer shows and how.
type Config struct {
	Title    string // the file's name
	Launches []trace.Launch
	// Open opens the timeline of a launch. It is called outside the frame,
	// and again when the user comes back to a launch.
	Open func(ctx context.Context, launch uint32) (replay.Timeline, error)
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
	NoColor    bool // no colours; bold and reverse stay
	ASCII      bool // draw with ASCII characters only
	NoMouse    bool // leave the mouse to the terminal
}

// ErrNoTerminal is returned by Run where there is no terminal to draw on.
var ErrNoTerminal = errors.New("no terminal to draw on")

// Run shows the viewer on the terminal until the user leaves it. However it
// ends, the terminal is as it was before.
func Run(ctx context.Context, cfg Config) error {
	if !term.IsTerminal(os.Stdout.Fd()) {
		return ErrNoTerminal
	}
	return run(ctx, cfg)
}

func run(ctx context.Context, cfg Config, opts ...tea.ProgramOption) error {
	// Whatever the viewer asked for ends with it.
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	_, err := newProgram(inner, cfg, opts...).Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("viewer: %w", err)
}

func newProgram(ctx context.Context, cfg Config, opts ...tea.ProgramOption) *tea.Program {
	opts = append([]tea.ProgramOption{tea.WithContext(ctx), tea.WithFilter(calm())}, opts...)
	if cfg.NoColor {
		opts = append(opts, tea.WithColorProfile(colorprofile.ASCII))
	}
	return tea.NewProgram(newModel(ctx, cfg), opts...)
}
