// Package capture makes recordings: it runs a kernel on one of the backends
// and writes what its barriers did as a trace. The backends are packages of
// their own; what a recording means is for package replay to say.
package capture

import (
	"context"
	"fmt"
	"path"

	"btrace/capture/emu"
	"btrace/capture/kernels"
	"btrace/trace"
)

// Recorder and device of a recording that the emulator made.
const (
	Emulator       = "emulator"
	EmulatorDevice = "btrace emulator"
	EmulatorArch   = "sm_90"
)

// Options says how a kernel is launched. A zero Grid, Block or Cluster is the
// kernel's own. Several Workers are for kernels whose CTAs write their results
// to places of their own.
type Options struct {
	Grid, Block, Cluster trace.Dim
	Seed                 uint64
	Schedule             string            // as emu.Config has it
	Workers              int               // how many clusters may run at the same time
	StepBudget           uint64            // as emu.Config has it
	Launch               uint32            // number of the launch in the trace
	Progress             func(ctas uint64) // as emu.Config has it
}

// Config is how a kernel of the gallery is launched with the options.
func (o Options) Config(k kernels.Kernel) emu.Config {
	cfg := emu.Config{
		Grid: k.Grid, Block: k.Block, Cluster: k.Cluster, Seed: o.Seed, Schedule: o.Schedule,
		Workers: o.Workers, StepBudget: o.StepBudget, Launch: o.Launch, Progress: o.Progress,
	}
	for _, d := range []struct{ own, asked *trace.Dim }{{&cfg.Grid, &o.Grid}, {&cfg.Block, &o.Block}, {&cfg.Cluster, &o.Cluster}} {
		if *d.asked != (trace.Dim{}) {
			*d.own = *d.asked
		}
	}
	return cfg
}

// Record runs a kernel of the gallery on the emulator and writes its launch
// to w. The outcome is unknown if there is an error; a hang or a trap is
// none. After an error other than emu.ErrConfig the trace holds what happened
// until then.
func Record(ctx context.Context, k kernels.Kernel, o Options, w *trace.Writer) (trace.Outcome, error) {
	outcome, err := RecordFunc(ctx, k.Name, o.Config(k), k.Run, w)
	if err != nil {
		return outcome, fmt.Errorf("kernel %s: %w", k.Name, err)
	}
	return outcome, nil
}

// RecordFunc runs any kernel on the emulator and writes its launch to w, as
// Record does.
func RecordFunc(ctx context.Context, name string, cfg emu.Config, kernel func(*emu.Thread), w *trace.Writer) (trace.Outcome, error) {
	r, err := Run(ctx, name, cfg, kernel, w)
	return r.Outcome, err
}

// Run is RecordFunc that gives back all of the result.
func Run(ctx context.Context, name string, cfg emu.Config, kernel func(*emu.Thread), w *trace.Writer) (emu.Result, error) {
	cfg, err := cfg.Prepare()
	if err != nil {
		return emu.Result{Outcome: trace.OutcomeUnknown}, err
	}
	file, _ := emu.Source(kernel)
	err = w.Begin(trace.Launch{
		ID: cfg.Launch, Kernel: name, Program: path.Base(file), Recorder: Emulator, Device: EmulatorDevice, Arch: EmulatorArch,
		Grid: cfg.Grid, Block: cfg.Block, Cluster: cfg.Cluster, Shared: uint32(cfg.Shared), Observes: observes(),
	})
	if err != nil {
		return emu.Result{Outcome: trace.OutcomeUnknown}, fmt.Errorf("beginning launch %d: %w", cfg.Launch, err)
	}
	res, err := emu.Launch(ctx, cfg, kernel, w)
	if end := w.End(cfg.Launch, res.Outcome, ""); err == nil && end != nil {
		err = fmt.Errorf("ending launch %d: %w", cfg.Launch, end)
	}
	return res, err
}

// observes is every family: the emulator sees all.
func observes() []string {
	var all []string
	seen := make(map[trace.Family]bool)
	for _, k := range trace.Kinds() {
		if f := k.Family; f != trace.FamilyOther && !seen[f] {
			seen[f] = true
			all = append(all, string(f))
		}
	}
	return all
}
