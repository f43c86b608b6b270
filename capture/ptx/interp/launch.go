package interp

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"btrace/capture/emu"
	"btrace/trace"
)

// gridWorkspace is the bytes that a cooperative launch has for its grid
// barrier.
const gridWorkspace = 4096

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
}

// faults keeps the first trap of a launch.
type faults struct {
	mu   sync.Mutex
	time int64
	cta  uint32
	text string
}

func (f *faults) add(time int64, cta uint32, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.text == "" || cmp.Or(cmp.Compare(time, f.time), cmp.Compare(cta, f.cta)) < 0 {
		f.time, f.cta, f.text = time, cta, text
	}
}

// Prepare fills in what the kernel itself says about its launch (.reqntid,
// .reqnctapercluster), and checks the rest against it.
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
				return cfg, fmt.Errorf("%s: a block of %d threads: the kernel demands %d (.reqntid)", k.Entry.Name, cfg.Block, dim)
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
				return cfg, fmt.Errorf("%s: a cluster of %d CTAs: the kernel demands %d (.reqnctapercluster)", k.Entry.Name, cfg.Cluster, dim)
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
	return cfg, nil
}

// extent reads the arguments of a directive.
func extent(args []string) (trace.Dim, bool) {
	d := trace.Dim{1, 1, 1}
	if len(args) == 0 || len(args) > 3 {
		return d, false
	}
	for i, a := range args {
		if n, err := fmt.Sscan(a, &d[i]); n != 1 || err != nil || d[i] == 0 {
			return d, false
		}
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

// Launch runs the kernel, and hands the events of its barriers to the sink.
// It returns an error if the launch cannot be made: see emu.Launch. How many
// instructions it may take is emu.Config.StepBudget.
func (k *Kernel) Launch(ctx context.Context, cfg emu.Config, args []Arg, sink emu.Sink) (Result, error) {
	cfg, err := k.Prepare(cfg)
	if err != nil {
		return Result{Result: emu.Result{Outcome: trace.OutcomeUnknown}}, err
	}
	r := &run{k: k, cfg: cfg, mem: newMemory(), consts: k.consts}
	for _, g := range k.globals {
		r.mem.add("variable "+g.v.Name, append([]byte(nil), g.data...), g.v.Space == "const")
	}
	res := Result{Buffers: make([][]byte, len(args))}
	if err := k.pass(r, args, res.Buffers); err != nil {
		return Result{Result: emu.Result{Outcome: trace.OutcomeUnknown}}, err
	}
	r.workspace = r.mem.add("the workspace of the grid", make([]byte, gridWorkspace), false)
	res.Result, err = emu.LaunchProgram(ctx, cfg, r, sink)
	res.Fault, res.ThreadInstructions = r.fault.text, r.threads.Load()
	return res, err
}
