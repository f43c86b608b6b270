package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"btrace/capture/kernels"
	"btrace/replay"
	"btrace/replay/diff"
	"btrace/replay/stats"
	"btrace/trace"
	"btrace/tui"
)

type viewFlags struct {
	keys, size, dump, source, keymap, theme string
	ascii, noMouse                          bool
}

func newView() *cobra.Command {
	var f viewFlags
	cmd := &cobra.Command{
		Use:   "view TRACE | view A B",
		Short: "Look at a trace: timeline of warps and barriers, state, findings; or at where two runs part",
		Long: `View opens the viewer; "?" in it shows the keys, ":" finds a command by its name. With --dump it runs without a terminal:
it takes the keys of --keys, one a line (or ":command"), and writes the last screen as plain text.
With two traces it shows the second with the first below it, laid over one another where they part, as btrace diff says; D changes
them, d hides the one below.
Keys are bound in $XDG_CONFIG_HOME/btrace/keys, one command a line: zoom-in = + ctrl+up`,
		Example: "  btrace view run.zst --source src\n  btrace view good.zst hung.zst\n  btrace view run.zst --keys keys.txt --size 120x40 --dump screen.txt",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return exactly(1, "one trace, or two to compare")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			script := f.dump != "" || f.keys != ""
			cols, rows, err := parseSize(f.size)
			switch {
			case err != nil:
				return err
			case !script && cmd.Flags().Changed("size"):
				return errors.New("--size is the size of the screen that --dump writes")
			case !script && !(isTerminal(cmd.InOrStdin()) && isTerminal(cmd.OutOrStdout())):
				return fmt.Errorf("view needs a terminal: give --dump FILE to write a screen as text, or use `btrace info %s`", args[0])
			}
			name := args[len(args)-1]
			r, closeTrace, err := openTrace(cmd, name, nil)
			if err != nil {
				return err
			}
			defer closeTrace()
			var made prepared
			cfg := viewer(r, name, f, &made)
			if len(args) == 2 {
				a, closeOther, err := openTrace(cmd, args[0], nil)
				if err != nil {
					return err
				}
				defer closeOther()
				other := viewer(a, args[0], f, &prepared{})
				cfg.Other = &other
				cfg.Diff = func(ctx context.Context) (*diff.Report, error) { return diff.Compare(ctx, a, r, diff.Options{}) }
			}
			if cfg.Keys, err = readKeymap(f.keymap); err != nil {
				return err
			}
			if script {
				err = dumpScreen(cmd, cfg, f, cols, rows)
			} else {
				err = tui.Run(cmd.Context(), cfg)
			}
			if sections := made.take(); len(sections) > 0 && r.Whole() && name != "-" {
				closeTrace()
				// The next view opens faster. A trace that cannot be written
				// to is looked at all the same.
				_ = trace.Attach(name, sections)
			}
			return err
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.keys, "keys", "", "a file of keys to press, one a line (- for standard input)")
	fs.StringVar(&f.size, "size", "120x40", "columns and rows of the screen with --dump")
	fs.StringVar(&f.dump, "dump", "", "write the last screen to this file as text (- for standard output)")
	fs.StringVar(&f.source, "source", "", "the directory that the kernels' source files lie in")
	fs.StringVar(&f.keymap, "keymap", "", "a file of key bindings (default $XDG_CONFIG_HOME/btrace/keys, if it is there)")
	fs.StringVar(&f.theme, "theme", "", "colours: "+strings.Join(tui.Themes(), ", ")+" (default by the terminal's background)")
	fs.BoolVar(&f.ascii, "ascii", false, "draw with ASCII characters only")
	fs.BoolVar(&f.noMouse, "no-mouse", false, "leave the mouse to the terminal")
	return cmd
}

// viewer is what the viewer needs to know of a trace. What had to be computed
// to open a launch is added to made.
func viewer(r *trace.Reader, name string, f viewFlags, made *prepared) tui.Config {
	opening, checking := &rowCounter{Reader: r}, &rowCounter{Reader: r}
	cfg := tui.Config{
		Title:    name,
		Launches: r.Launches(),
		Open: func(ctx context.Context, launch uint32) (replay.Timeline, error) {
			opening.begin(&launch, 2) // once for the times, once for the replay
			tl, err := replay.Open(ctx, opening, launch)
			if err == nil {
				made.add(replay.Prepared(tl))
			}
			return tl, err
		},
		Sketch: func(ctx context.Context, launch uint32, show func(replay.Timeline, int64)) error {
			return replay.Sketch(ctx, r, launch, show)
		},
		LoadReport: func(ctx context.Context) (*replay.Report, error) {
			checking.begin(nil, 1)
			if err := r.Verify(ctx); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			return replay.Check(ctx, checking, replay.Options{})
		},
		Progress: func() (float64, float64) { return opening.part(), checking.part() },
		LoadStats: func(ctx context.Context, launch uint32) (*stats.Launch, error) {
			rep, err := stats.Collect(ctx, r, stats.Options{Launch: &launch})
			if err != nil || len(rep.Launches) == 0 {
				return nil, err
			}
			return &rep.Launches[0], nil
		},
		Save:       saveFile,
		SourceRoot: f.source,
		Theme:      f.theme,
		NoColor:    os.Getenv("NO_COLOR") != "",
		ASCII:      f.ascii,
		NoMouse:    f.noMouse,
	}
	if f.source == "" {
		cfg.ReadSource = gallerySource
	}
	return cfg
}

// readKeymap reads the user's key bindings: the given file, or the one in the
// place where configuration lies, if it is there.
func readKeymap(name string) (tui.Keymap, error) {
	asked := name != ""
	if !asked {
		dir := os.Getenv("XDG_CONFIG_HOME")
		if !filepath.IsAbs(dir) {
			home, err := os.UserHomeDir()
			if err != nil {
				return nil, nil // nobody's configuration
			}
			dir = filepath.Join(home, ".config")
		}
		name = filepath.Join(dir, "btrace", "keys")
	}
	file, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) && !asked {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be read: %w", name, reason(err))
	}
	defer file.Close()
	keys, err := tui.ParseKeymap(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return keys, nil
}

// prepared collects what a viewer computed that its trace did not bring. The
// viewer opens launches beside drawing.
type prepared struct {
	mu   sync.Mutex
	list []trace.Section
}

func (p *prepared) add(list []trace.Section) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, list...)
}

func (p *prepared) take() []trace.Section {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.list
}

// rowCounter is a reader that counts the rows that are read of it.
type rowCounter struct {
	*trace.Reader
	rows, all atomic.Int64
}

// begin counts from nothing: all rows of a launch, or of all, so many times.
func (c *rowCounter) begin(launch *uint32, times int64) {
	n := int64(0)
	for _, l := range c.Info().Launches {
		if launch == nil || l.ID == *launch {
			n += int64(l.Rows)
		}
	}
	c.rows.Store(0)
	c.all.Store(n * times)
}

// part is how much of them has been read.
func (c *rowCounter) part() float64 {
	if all := c.all.Load(); all > 0 {
		return min(float64(c.rows.Load())/float64(all), 1)
	}
	return 0
}

func (c *rowCounter) Blocks(ctx context.Context, q trace.Query) iter.Seq2[*trace.Block, error] {
	blocks := c.Reader.Blocks(ctx, q)
	if len(q.Kinds)+len(q.Barriers) > 0 { // a look for something: no reading of everything
		return blocks
	}
	return func(yield func(*trace.Block, error) bool) {
		for b, err := range blocks {
			if err == nil {
				c.rows.Add(int64(b.Len()))
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

// gallerySource is the source of the kernels that come with btrace.
func gallerySource(name string) ([]byte, error) {
	text, ok := kernels.Source(name)
	if !ok {
		return nil, fmt.Errorf("%s: give the directory that it lies in with --source", name)
	}
	return []byte(text), nil
}

func dumpScreen(cmd *cobra.Command, cfg tui.Config, f viewFlags, cols, rows int) error {
	keys := io.Reader(strings.NewReader(""))
	switch f.keys {
	case "":
	case "-":
		keys = cmd.InOrStdin()
	default:
		file, err := os.Open(f.keys)
		if err != nil {
			return fmt.Errorf("%s: %w", f.keys, reason(err))
		}
		defer file.Close()
		keys = file
	}
	screen, err := tui.Script(cmd.Context(), cfg, keys, cols, rows)
	if err != nil && f.keys != "" {
		return fmt.Errorf("%s: %w", f.keys, err)
	}
	if err != nil {
		return err
	}
	if f.dump == "" || f.dump == "-" {
		_, err := io.WriteString(cmd.OutOrStdout(), screen)
		return err
	}
	return saveFile(f.dump, []byte(screen))
}

// saveFile writes a file whole or not at all.
func saveFile(name string, data []byte) error {
	if name == "-" {
		return errors.New("name a file")
	}
	o, err := newOutput(name)
	if err != nil {
		return err
	}
	defer o.discard()
	if err := os.WriteFile(o.tmp, data, 0o666); err != nil {
		return fmt.Errorf("%s: cannot be written: %w", name, reason(err))
	}
	return o.commit(nil)
}

// parseSize reads 120x40: columns and rows.
func parseSize(s string) (cols, rows int, err error) {
	n, err := fmt.Sscanf(s, "%dx%d", &cols, &rows)
	if err != nil || n != 2 || fmt.Sprintf("%dx%d", cols, rows) != s {
		return 0, 0, fmt.Errorf("--size %q: give columns and rows, such as 120x40", s)
	}
	if cols < 40 || cols > 300 || rows < 10 || rows > 200 {
		return 0, 0, fmt.Errorf("--size %s: the viewer draws on 40 to 300 columns and 10 to 200 rows", s)
	}
	return cols, rows, nil
}
