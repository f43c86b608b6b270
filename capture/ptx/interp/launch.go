package interp

import (
	"context"
	"fmt"
	"strconv"

	"btrace/capture/emu"
	"btrace/trace"
)

const (
	// gridWorkspace is the bytes that a cooperative launch has for its grid
	// barrier.
	gridWorkspace = 4096
	// maxState bounds the memory that the registers and shared memory of a
	// launch may take.
	maxState = 8 << 30
	// resident is how many threads the emulator runs side by side, unless the
	// launch is cooperative.
	resident = 2048
)

// Result is how a launch ended.
type Result struct {
	emu.Result
	// ThreadInstructions is how many instructions the threads ran, those
	// whose predicate was false not counted.
	ThreadInstructions uint64
	// Fault says of a trap that the interpreter found which instruction,
	// address and lane it was; "" for other ends.
	Fault string
	// Buffers is what the buffers that were passed hold afterwards, by
	// argument; nil for other arguments.
	Buffers [][]byte
	// Variables is what the module's variables in global memory hold
	// afterwards, by name: those that the kernel names.
	Variables map[string][]byte
}

// Prepare fills in what the kernel itself says about its launch (.reqntid,
// .reqnctapercluster), and checks the rest against it. Launch does it too.
func (k *Kernel) Prepare(cfg emu.Config) (emu.Config, error) {
	for _, d := range k.Entry.Directives {
		dim, ok := extent(d.Args)
		if !ok {
			continue
		}
		switch d.Name {
		case "reqntid":
			if cfg.Block == (trace.Dim{}) {
				cfg.Block = dim
			}
			if whole(cfg.Block) != dim {
				return cfg, fmt.Errorf("%s: a block of %s threads: the kernel demands %s (.reqntid)", k.Entry.Name, dims(cfg.Block), dims(dim))
			}
		case "maxntid":
			if n := whole(cfg.Block).Size(); n > dim.Size() {
				return cfg, fmt.Errorf("%s: a block of %d threads: the kernel was compiled for at most %d (.maxntid)", k.Entry.Name, n, dim.Size())
			}
		case "reqnctapercluster":
			if cfg.Cluster == (trace.Dim{}) {
				cfg.Cluster = dim
			}
			if whole(cfg.Cluster) != dim {
				return cfg, fmt.Errorf("%s: a cluster of %s CTAs: the kernel demands %s (.reqnctapercluster)", k.Entry.Name, dims(cfg.Cluster), dims(dim))
			}
		case "maxclusterrank":
			if n := whole(cfg.Cluster).Size(); n > dim.Size() {
				return cfg, fmt.Errorf("%s: a cluster of %d CTAs: the kernel was compiled for at most %d (.maxclusterrank)", k.Entry.Name, n, dim.Size())
			}
		}
	}
	cfg, err := cfg.Prepare()
	if err != nil {
		return cfg, err
	}
	if size := k.sharedSize(cfg.Shared); size > emu.MaxShared {
		return cfg, fmt.Errorf("%s: %d bytes of shared memory, static and dynamic: a CTA has at most %d", k.Entry.Name, size, emu.MaxShared)
	}
	if size := k.state(cfg); size > maxState {
		return cfg, fmt.Errorf("%s: the registers and shared memory of %d threads take %d MiB: the emulator takes %d, make the grid smaller",
			k.Entry.Name, cfg.Grid.Size()*cfg.Block.Size(), size>>20, maxState>>20)
	}
	return cfg, nil
}

// state is how much memory the CTAs that are there at the same time take.
func (k *Kernel) state(cfg emu.Config) uint64 {
	ctas, block := cfg.Grid.Size(), cfg.Block.Size()
	if !cfg.Cooperative {
		ctas = min(ctas, cfg.Cluster.Size()*max(resident/(block*cfg.Cluster.Size()), 1))
	}
	warp := uint64(len(column{}))*8*uint64(k.regs) + 4*uint64(k.preds)
	return ctas * ((block+31)/32*warp + uint64(k.sharedSize(cfg.Shared)))
}

// extent reads the arguments of a directive.
func extent(args []string) (trace.Dim, bool) {
	d := trace.Dim{1, 1, 1}
	if len(args) == 0 || len(args) > 3 {
		return d, false
	}
	for i, a := range args {
		n, err := strconv.ParseUint(a, 0, 32)
		if err != nil || n == 0 {
			return d, false
		}
		d[i] = uint32(n)
	}
	return d, true
}

// whole is a dimension with ones where it says nothing.
func whole(d trace.Dim) trace.Dim {
	for i := range d {
		d[i] = max(d[i], 1)
	}
	return d
}

func dims(d trace.Dim) string {
	d = whole(d)
	return fmt.Sprintf("%dx%dx%d", d[0], d[1], d[2])
}

// Launch runs the kernel, and hands the events of its barriers to the sink,
// which may be nil. It returns an error if the launch cannot be made: see
// emu.Launch. How many instructions it may take is emu.Config.StepBudget.
func (k *Kernel) Launch(ctx context.Context, cfg emu.Config, args []Arg, sink emu.Sink) (Result, error) {
	res := Result{Result: emu.Result{Outcome: trace.OutcomeUnknown}}
	cfg, err := k.Prepare(cfg)
	if err != nil {
		return res, err
	}
	r := &run{k: k, cfg: cfg, mem: newMemory()}
	for rank := range int(cfg.Cluster.Size()) {
		r.consts = append(r.consts, k.constsOf(rank))
	}
	res.Variables = make(map[string][]byte)
	for _, g := range k.globals {
		data := make([]byte, g.size)
		copy(data, g.init)
		if g.v.Space == "global" {
			res.Variables[g.v.Name] = data
		}
		r.mem.add("variable "+g.v.Name, data, g.v.Space == "const")
	}
	if r.param, res.Buffers, err = k.pass(r.mem, args); err != nil {
		return res, err
	}
	r.workspace = r.mem.add("the workspace of the grid", make([]byte, gridWorkspace), false)
	w := &witness{sink: sink}
	res.Result, err = emu.LaunchProgram(ctx, cfg, r, w)
	res.Fault, res.ThreadInstructions = r.faults.fault(w), r.threads.Load()
	return res, err
}
