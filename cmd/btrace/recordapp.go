package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"btrace/capture/cupti"
	"btrace/capture/ptx"
	"btrace/replay"
	"btrace/replay/report"
	"btrace/trace"
	"btrace/trace/plain"
)

// appFlags are the flags of a program that uses a GPU.
type appFlags struct {
	via, kernel, launch, cta, warp, onFull, buffer, lib string
	hangTimeout                                         time.Duration
	keep                                                bool
}

// appFlagNames are the flags that only a program has.
func appFlagNames() []string {
	return []string{"via", "kernel", "launch", "cta", "warp", "on-full", "buffer", "lib", "hang-timeout", "keep"}
}

func (f *appFlags) define(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.via, "via", "auto", "program: the way in: cupti (puts probes into PTX), sanitizer (patches machine code, sees less), or auto (cupti, where its library can be built)")
	fs.StringVar(&f.kernel, "kernel", "", "program: only kernels whose name matches this regular expression")
	fs.StringVar(&f.launch, "launch", "", "program: only launch N, or N..M, of the kernels that are recorded, counted from 0")
	fs.StringVar(&f.cta, "cta", "", "program: only CTA N, or N..M, with their clusters")
	fs.StringVar(&f.warp, "warp", "", "program: only warp N, or N..M, of each CTA")
	fs.DurationVar(&f.hangTimeout, "hang-timeout", 10*time.Second, "program: a kernel of which nothing comes for so long hangs; 0 = wait forever")
	fs.BoolVar(&f.keep, "keep", false, "program: leave a program that hangs running")
	fs.StringVar(&f.onFull, "on-full", "wait", "program: what a kernel does when the buffer is full: wait for the recorder, or drop events, which leaves gaps")
	fs.StringVar(&f.buffer, "buffer", "512MiB", "program: memory for events on their way to the trace")
	fs.StringVar(&f.lib, "lib", "", "program: the library to load into it (default: beside btrace, or built once in your cache)")
}

// isApp reports whether the arguments are a program: they follow a --.
func isApp(cmd *cobra.Command) bool { return cmd.ArgsLenAtDash() >= 0 }

// recordArgs checks that there is one thing to record.
func recordArgs(cmd *cobra.Command, args []string) error {
	switch {
	case !isApp(cmd):
		if err := exactly(1, "one kernel, one PTX file, or -- and a program")(cmd, args); err != nil {
			return err
		}
		for _, name := range appFlagNames() {
			if cmd.Flags().Changed(name) {
				return fmt.Errorf("--%s is for programs: btrace record --%s … -- ./app", name, name)
			}
		}
		return nil
	case cmd.ArgsLenAtDash() > 0:
		return fmt.Errorf("record wants a kernel, or a program behind --, got both: %s", strings.Join(args, " "))
	case len(args) == 0:
		return errors.New("record wants a program behind --: btrace record -- ./app")
	}
	return nil
}

// options is what the flags say about a program.
func (f *appFlags) options(args []string) (cupti.Options, error) {
	o := cupti.Options{Args: args, HangTimeout: f.hangTimeout, Keep: f.keep}
	if err := oneOf("--via", f.via, "auto", "cupti", "sanitizer"); err != nil {
		return o, err
	}
	if err := oneOf("--on-full", f.onFull, "wait", "drop"); err != nil {
		return o, err
	}
	o.Drop = f.onFull == "drop"
	if f.hangTimeout < 0 {
		return o, fmt.Errorf("--hang-timeout %v: give a time, or 0 for ever", f.hangTimeout)
	}
	if f.kernel != "" {
		re, err := regexp.Compile(f.kernel)
		if err != nil {
			return o, fmt.Errorf("--kernel %q: %w", f.kernel, err)
		}
		o.Kernels = func(name string) bool { return re.MatchString(name) || re.MatchString(ptx.Readable(name)) }
	}
	for _, r := range []struct {
		flag, text string
		to         *cupti.Range
	}{{"--launch", f.launch, &o.Launches}, {"--cta", f.cta, &o.CTAs}, {"--warp", f.warp, &o.Warps}} {
		var err error
		if *r.to, err = parseRange(r.flag, r.text); err != nil {
			return o, err
		}
	}
	var err error
	o.Buffer, err = parseBytes("--buffer", f.buffer)
	return o, err
}

// parseRange reads N, N.., ..M or N..M.
func parseRange(flag, text string) (cupti.Range, error) {
	if text == "" {
		return cupti.Range{}, nil
	}
	r := cupti.Range{Last: math.MaxUint64, Set: true}
	first, last, several := strings.Cut(text, "..")
	var err, err2 error
	if first != "" {
		r.First, err = strconv.ParseUint(first, 10, 32)
	}
	switch {
	case !several:
		r.Last = r.First
	case last != "":
		r.Last, err2 = strconv.ParseUint(last, 10, 32)
	}
	if err != nil || err2 != nil || text == ".." || r.Last < r.First {
		return r, fmt.Errorf("%s %q: give a number, or two: 3, or 3..7", flag, text)
	}
	return r, nil
}

// parseBytes reads bytes: 64MiB, 1GiB, 1048576.
func parseBytes(flag, text string) (int64, error) {
	number, shift := text, 0
	for i, unit := range []string{"KiB", "MiB", "GiB"} {
		if n, ok := strings.CutSuffix(text, unit); ok {
			number, shift = n, 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(number, 10, 34)
	if err != nil || n <= 0 || n<<shift < 256<<10 || n<<shift > 8<<30 || n > 8<<30>>shift {
		return 0, fmt.Errorf("%s %q: give 256KiB to 8GiB, such as 512MiB", flag, text)
	}
	return n << shift, nil
}

// runApp records a program.
func (f *recordFlags) runApp(cmd *cobra.Command, args []string) error {
	for _, name := range slices.Concat(ptxFlags(), []string{"grid", "block", "cluster", "schedule", "seed", "runs", "until-fail", "steps"}) {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s is for kernels that run in the emulator: a program runs as it is", name)
		}
	}
	o, err := f.app.options(args)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	say := func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), "btrace: "+plain.Text(line)) }
	way := cupti.CUPTI()
	if f.app.via == "sanitizer" || f.app.via == "auto" && filepath.Base(f.app.lib) == cupti.Sanitizer().File {
		way = cupti.Sanitizer()
	}
	o.Library, err = way.Find(cmd.Context(), f.app.lib, self, say)
	if err != nil && f.app.via == "auto" && f.app.lib == "" {
		other := cupti.Sanitizer()
		if lib, oerr := other.Find(cmd.Context(), "", self, say); oerr == nil {
			say(fmt.Sprintf("by the Compute Sanitizer, because %v", err))
			way, o.Library, err = other, lib, nil
		}
	}
	if err != nil {
		return noGPU(err)
	}
	if a, ok := cupti.FindAssembler(); ok {
		o.Assembler = &a
	}
	o.Disassembler, o.Note = cupti.FindDisassembler(), say
	o.Stdin, o.Stdout, o.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	if way.Name == "cupti" {
		o.Shim = self
	}
	name := f.out
	if name == "" {
		name = filepath.Base(args[0]) + ".zst"
	}
	if name == "-" {
		o.Stdout = cmd.ErrOrStderr() // the trace has the other one to itself
	}
	out, err := newOutput(name)
	if err != nil {
		return err
	}
	defer out.discard()
	res, err := recordApp(cmd.Context(), o, out)
	if err != nil {
		return err
	}
	if res.Launches == 0 {
		return nothing(&o, res)
	}
	ctx := context.WithoutCancel(cmd.Context()) // an interrupt has ended the recording, and no more
	if err := attachSections(ctx, out.tmp); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	hangs := len(res.Hung) > 0 || res.Interrupted
	if hangs && name != "-" {
		if hangs, err = f.diagnosis(ctx, cmd, out); err != nil {
			return err
		}
	}
	if err := out.commit(cmd.OutOrStdout()); err != nil {
		return err
	}
	p := plain.NewPrinter(cmd.ErrOrStderr())
	tellApp(p, &o, res, named(name), way)
	suggest(p, hangs, name)
	if err := p.Flush(); err != nil {
		return err
	}
	if f.strict && res.Ends[trace.OutcomeCompleted] < res.Launches {
		return exit(exitFound)
	}
	return nil
}

// recordApp writes the trace of a program.
func recordApp(ctx context.Context, o cupti.Options, out *output) (cupti.Result, error) {
	w, err := trace.Create(out.tmp, trace.Options{Fast: true})
	if err != nil {
		return cupti.Result{}, fmt.Errorf("%s: cannot be written: %w", out.name, reason(err))
	}
	res, err := cupti.Record(ctx, o, w.Writer)
	if err != nil {
		w.Abort()
		return res, err
	}
	if err := w.Close(); err != nil {
		return res, fmt.Errorf("%s: cannot be written: %w", out.name, reason(err))
	}
	return res, nil
}

// diagnosis prints why the program hangs, if it does.
func (f *recordFlags) diagnosis(ctx context.Context, cmd *cobra.Command, out *output) (hangs bool, err error) {
	r, err := trace.Open(out.tmp)
	if err != nil {
		return false, err
	}
	defer r.Close()
	file := checkTrace(ctx, out.name, r, replay.Options{NoHazards: true})
	if file.Err != nil || report.Hangs(file) == 0 {
		return false, file.Err
	}
	p := plain.NewPrinter(cmd.ErrOrStderr())
	report.WriteDiagnosis(p, file)
	return true, p.Flush()
}

// tellApp says what a recording came to.
func tellApp(p *plain.Printer, o *cupti.Options, res cupti.Result, out string, way cupti.Way) {
	name := filepath.Base(o.Args[0])
	switch {
	case res.Full:
		p.Printf("the kernel's threads took all of the buffer and wait for more: give a larger --buffer, or record fewer of them (--kernel, --on-full drop)\n")
	case res.After > 0 && o.Keep:
		p.Printf("nothing happened for %v: %s hangs, and is left running\n", res.After.Round(100*time.Millisecond), name)
	case res.After > 0:
		p.Printf("nothing happened for %v: %s hung, and was ended\n", res.After.Round(100*time.Millisecond), name)
	case res.Interrupted:
		p.Printf("interrupted: %s was ended\n", name)
	case res.Exit != "":
		p.Printf("%s ended: %s\n", name, res.Exit)
	}
	if res.Stays {
		p.Printf("%s does not end, not even by SIGKILL: it is left, and what was recorded until then is kept\n", name)
	}
	for _, why := range slices.Sorted(maps.Keys(res.Uninstrumented)) {
		p.Printf("not instrumented: %s: %s\n", launches(res.Uninstrumented[why]), why)
	}
	if len(res.Uninstrumented) > 0 && way.Name == "cupti" && o.Kernels == nil {
		p.Printf("(--via sanitizer records kernels without PTX; --kernel chooses kernels)\n")
	}
	if res.Beyond > 0 {
		p.Printf("%s more than a trace holds: choose with --kernel or --launch\n", launches(res.Beyond))
	}
	if res.Lost > 0 {
		p.Printf("%d events were lost, each a gap in the trace\n", res.Lost)
	}
	var ends []string
	for _, end := range slices.Sorted(maps.Keys(res.Ends)) {
		ends = append(ends, fmt.Sprintf("%d %s", res.Ends[end], end))
	}
	p.Printf("%s: %s (%s), %d events, recorded to %s\n", name, launches(res.Launches), strings.Join(ends, ", "), res.Rows, out)
}

// nothing is the error for a program of which there is nothing to keep.
func nothing(o *cupti.Options, res cupti.Result) error {
	name := filepath.Base(o.Args[0])
	why := ""
	if res.Exit != "" {
		why = fmt.Sprintf(" (it ended: %s)", res.Exit)
	}
	switch {
	case res.Interrupted:
		return exit(exitFailed)
	case res.Processes == 0:
		return noGPU(fmt.Errorf("%s did not use CUDA%s, or its driver did not load %s: nothing was recorded", name, why, o.Library))
	case res.Left > 0:
		return fmt.Errorf("%s made %s, none that was chosen and has barriers: nothing was recorded", name, launches(res.Left))
	}
	return fmt.Errorf("%s launched no kernel%s: nothing was recorded", name, why)
}

// noGPU says so instead, where there is none.
func noGPU(err error) error {
	for _, device := range []string{"/dev/nvidiactl", "/dev/dxg"} {
		if _, serr := os.Stat(device); serr == nil {
			return err
		}
	}
	return fmt.Errorf("there is no NVIDIA GPU here (no /dev/nvidiactl): btrace record KERNEL and FILE.ptx need none (%w)", err)
}

// launches counts them, in words.
func launches(n int) string {
	if n == 1 {
		return "1 launch"
	}
	return fmt.Sprintf("%d launches", n)
}
