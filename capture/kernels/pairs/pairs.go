// Package pairs has, for every rule of the catalogue, the smallest kernel
// that breaks it, and one that differs from it as little as possible and does
// not. `btrace explain` shows them, and a test holds the replay to them: what
// it finds in a recording of the first is that rule, in the second nothing.
//
// Some rules no kernel can break, because the emulator is right: they are
// about recordings that contradict themselves. There a kernel is recorded
// with a fault of the recorder.
package pairs

import (
	"context"
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"btrace/capture/emu"
	"btrace/replay/barrier"
	"btrace/trace"
)

// Pair shows one rule both ways.
type Pair struct {
	Rule    barrier.Rule
	Threads uint32 // of a CTA
	CTAs    uint32 // of the cluster that is the grid; 0 means 1
	Bad     Example
	Good    Example
	// Also are rules that Bad breaks as well, because Rule itself says so:
	// AlsoWhy says where.
	Also    []barrier.Rule
	AlsoWhy string
}

// Example is a kernel, and how it is recorded.
type Example struct {
	Run func(*emu.Thread)
	// Arch is the architecture that the launch says it ran on; "" for the
	// emulator's own.
	Arch  string
	Fault *Fault // of the recorder; nil for none
}

// All is the pairs, in the order of the catalogue.
func All() []Pair {
	return slices.Concat(named(), mbarriers(), transactions(), collectives(), warps(), hangs(), hazards(), recordings())
}

// Lookup finds the pair of a rule.
func Lookup(id barrier.Rule) (Pair, bool) {
	all := All()
	i := slices.IndexFunc(all, func(p Pair) bool { return p.Rule == id })
	if i < 0 {
		return Pair{}, false
	}
	return all[i], true
}

// Config is the launch of both examples.
func (p *Pair) Config() emu.Config {
	n := trace.Dim{max(p.CTAs, 1)}
	return emu.Config{Grid: n, Cluster: n, Block: trace.Dim{p.Threads}}
}

// Record runs the example and returns its events, as the recorder with its
// fault would have left them, and the outcome that it would have noted.
func (e *Example) Record(ctx context.Context, cfg emu.Config) ([]trace.Event, trace.Outcome, error) {
	var events collector
	r, err := emu.Launch(ctx, cfg, e.Run, &events)
	if err != nil {
		return nil, trace.OutcomeUnknown, fmt.Errorf("recording an example: %w", err)
	}
	if e.Fault == nil {
		return events, r.Outcome, nil
	}
	if e.Fault.Cut {
		r.Outcome = trace.OutcomeUnknown
	}
	return e.Fault.Apply(events), r.Outcome, nil
}

// collector is a sink that keeps all events.
type collector []trace.Event

func (c *collector) Write(events []trace.Event) error {
	*c = append(*c, events...)
	return nil
}

//go:embed *.go
var sources embed.FS

// Source is the Go source of the example's kernel, from its func line to the
// closing brace.
func (e *Example) Source() (string, error) {
	file, line := emu.Source(e.Run)
	text, err := sources.ReadFile(path.Base(file))
	if err != nil {
		return "", fmt.Errorf("source of an example: %w", err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	if line < 1 || line > len(lines) {
		return "", fmt.Errorf("source of an example: %s has no line %d", path.Base(file), line)
	}
	lines = lines[line-1:]
	end := slices.Index(lines, "}\n")
	if end < 0 {
		return "", fmt.Errorf("source of an example: the function at %s:%d has no end", path.Base(file), line)
	}
	return strings.Join(lines[:end+1], ""), nil
}
