package capture

import (
	"context"
	"fmt"
	"path"

	"btrace/capture/emu"
	"btrace/capture/ptx"
	"btrace/capture/ptx/interp"
	"btrace/trace"
)

// PTX is the recorder of a recording of PTX that the emulator ran.
const PTX = "ptx"

// RunPTX runs a kernel of a PTX module on the emulator and writes its launch
// to w, as Run does for one that is written in Go.
func RunPTX(ctx context.Context, m *ptx.Module, k *interp.Kernel, cfg emu.Config, args []interp.Arg, w *trace.Writer) (interp.Result, error) {
	unknown := interp.Result{Result: emu.Result{Outcome: trace.OutcomeUnknown}}
	cfg, err := k.Prepare(cfg)
	if err != nil {
		return unknown, err
	}
	l := trace.Launch{
		ID: cfg.Launch, Kernel: ptx.Readable(k.Entry.Name), Program: path.Base(m.File), Recorder: PTX, Device: EmulatorDevice, Arch: EmulatorArch,
		Grid: cfg.Grid, Block: cfg.Block, Cluster: cfg.Cluster, Shared: uint32(cfg.Shared), Observes: observes(),
	}
	if l.Kernel != k.Entry.Name {
		l.Mangled = k.Entry.Name
	}
	if len(m.Target) > 0 {
		l.Arch = m.Target[0]
	}
	if err := w.Begin(l); err != nil {
		return unknown, fmt.Errorf("beginning launch %d: %w", cfg.Launch, err)
	}
	res, err := k.Launch(ctx, cfg, args, w)
	if end := w.End(cfg.Launch, res.Outcome, ""); err == nil && end != nil {
		err = fmt.Errorf("ending launch %d: %w", cfg.Launch, end)
	}
	return res, err
}
