//go:build linux

package cupti

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"btrace/capture/cupti/ring"
	"btrace/capture/ptx/probe"
	"btrace/replay"
	"btrace/replay/rules"
	"btrace/trace"
)

// recording is what came of an application.
type recording struct {
	res   Result
	err   error
	notes []string
	r     *trace.Reader
	rep   *replay.Report
}

// record records one of the applications. The change may cancel the recording
// when a note comes.
func record(t *testing.T, application string, change func(o *Options, cancel func())) recording {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", dir)
	t.Setenv(envFake, application)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("BTRACE_TEST_DIR", here)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var rec recording
	var mu sync.Mutex
	o := Options{Args: []string{os.Args[0]}, Library: "/lib.so", HangTimeout: time.Minute, Buffer: 1 << 20, Stderr: os.Stderr}
	o.Note = func(line string) {
		mu.Lock()
		defer mu.Unlock()
		rec.notes = append(rec.notes, line)
	}
	if change != nil {
		change(&o, cancel)
	}
	var buf bytes.Buffer
	w, err := trace.NewWriter(&buf, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rec.res, rec.err = Record(ctx, o, w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if rec.r, err = trace.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len())); err != nil {
		t.Fatal(err)
	}
	for p, err := range rec.r.Check(t.Context()) {
		t.Errorf("the trace: %v, %v", p, err)
	}
	if rec.rep, err = replay.Check(t.Context(), rec.r, replay.Options{}); err != nil {
		t.Fatal(err)
	}
	return rec
}

// ok fails if the recording did.
func (rec *recording) ok(t *testing.T) {
	t.Helper()
	if rec.err != nil || len(rec.notes) > 0 && !strings.Contains(rec.notes[0], "ptxas") {
		t.Errorf("error %v, notes %q", rec.err, rec.notes)
	}
}

// verdicts are the launches' outcomes and verdicts, in their order.
func (rec *recording) verdicts(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for i, l := range rec.r.Launches() {
		got = append(got, fmt.Sprintf("%d %s: %s", l.ID, l.Outcome, rec.rep.Launches[i].Verdict))
	}
	slices.Sort(got) // those without events begin when they end
	if !slices.Equal(got, want) {
		t.Errorf("launches %q, want %q", got, want)
		for _, f := range rec.rep.Findings {
			t.Logf("%s: %s", f.Rule, f.Message)
		}
	}
}

// kinds counts the events of a launch.
func (rec *recording) kinds(t *testing.T, launch uint32) map[trace.Kind]int {
	t.Helper()
	n := make(map[trace.Kind]int)
	for b, err := range rec.r.Blocks(t.Context(), trace.Query{Launch: &launch}) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Len() {
			n[b.Ops[b.Op[i]].Kind]++
		}
	}
	return n
}

func TestSameSlots(t *testing.T) {
	if probe.ChunkSlots != ring.ChunkSlots || probe.MaxSlots != ring.MaxRecordSlots || probe.FirstSite != ring.FirstSite {
		t.Errorf("probes write chunks of %d slots, records of %d, sites from %d; read are %d, %d, %d",
			probe.ChunkSlots, probe.MaxSlots, probe.FirstSite, ring.ChunkSlots, ring.MaxRecordSlots, ring.FirstSite)
	}
}

func TestRecord(t *testing.T) {
	rec := record(t, "clean", nil)
	rec.ok(t)
	rec.verdicts(t, "0 completed: clean", "1 completed: clean", "2 completed: clean")
	l := rec.r.Launches()[1]
	if l.Kernel != "handoff" || l.Recorder != "cupti" || l.Device != "Fake GPU" || l.Arch != "sm_90" || l.Grid != (trace.Dim{6, 1, 1}) || l.Block != (trace.Dim{64, 1, 1}) {
		t.Errorf("launch %+v", l)
	}
	if l.Extra != `"stream":"0x0"` || l.EndExtra != `"start_ns":1000,"end_ns":2000` {
		t.Errorf("extra %s, at its end %s", l.Extra, l.EndExtra)
	}
	if want := []string{"enter", "exit", "bar", "mbar", "cluster", "syncwarp"}; !slices.Equal(l.Observes, want) {
		t.Errorf("observes %q, want %q", l.Observes, want)
	}
	want := map[trace.Kind]int{trace.KindEnter: 12, trace.KindBarArrive: 600, trace.KindBarSync: 600, trace.KindBarDone: 600, trace.KindExit: 12}
	for k, n := range want {
		if got := rec.kinds(t, 1)[k]; got != n {
			t.Errorf("%d %s, want %d", got, k, n)
		}
	}
	if rec.res.Rows != 3*1824 || rec.res.Lost != 0 || rec.res.Late != 0 || rec.res.Exit != "" {
		t.Errorf("result %+v", rec.res)
	}
}

// A hang is seen, said, and ends the application.
func TestRecordHang(t *testing.T) {
	start := time.Now()
	rec := record(t, "hang", func(o *Options, _ func()) { o.HangTimeout = 200 * time.Millisecond })
	rec.ok(t)
	rec.verdicts(t, "0 completed: clean", "1 hung: deadlock", "2 unknown: incomplete")
	if !slices.Equal(rec.res.Hung, []uint32{1}) || rec.res.After < 200*time.Millisecond || rec.res.Exit != "signal: terminated" {
		t.Errorf("result %+v", rec.res)
	}
	if time.Since(start) > 30*time.Second {
		t.Error("the application was waited for")
	}
}

// An application that does not end when it is asked is killed, and one that
// is to be kept is left.
func TestRecordHangEnds(t *testing.T) {
	timeout := func(o *Options, _ func()) { o.HangTimeout = 100 * time.Millisecond }
	rec := record(t, "ignores SIGTERM", timeout)
	rec.verdicts(t, "0 hung: deadlock")
	if rec.res.Exit != "signal: killed" {
		t.Errorf("the application ended: %s", rec.res.Exit)
	}
	rec = record(t, "hang that notes", func(o *Options, cancel func()) {
		timeout(o, cancel)
		o.Keep = true
		o.Note = func(line string) {
			var pid int
			if n, _ := fmt.Sscanf(line, "%d hangs", &pid); n == 1 {
				t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
			}
		}
	})
	rec.verdicts(t, "0 hung: deadlock")
	if rec.res.Exit != "" {
		t.Errorf("the application ended: %s", rec.res.Exit)
	}
}

// Ctrl-C in a hang leaves all that is needed to explain it.
func TestRecordInterrupted(t *testing.T) {
	rec := record(t, "hang that notes", func(o *Options, cancel func()) {
		o.Note = func(line string) {
			if strings.HasSuffix(line, " hangs") {
				time.AfterFunc(2*liveFor, cancel)
			}
		}
	})
	rec.verdicts(t, "0 unknown: deadlock")
	if !rec.res.Interrupted {
		t.Errorf("result %+v", rec.res)
	}
}

// A kernel that was at work when it was cut short is no hang: some lane may
// have had no time to record what it did.
func TestRecordInterruptedAtWork(t *testing.T) {
	rec := record(t, "works until it is ended", func(o *Options, cancel func()) {
		o.Note = func(line string) {
			if line == "it works" {
				cancel()
			}
		}
	})
	for _, f := range rec.rep.Findings {
		if f.Severity == rules.Error {
			t.Errorf("%s: %s", f.Rule, f.Message)
		}
	}
	if !rec.res.Interrupted {
		t.Errorf("result %+v", rec.res)
	}
}

// What a process recorded outlives it, even by kill -9.
func TestRecordKilled(t *testing.T) {
	rec := record(t, "killed in a hang", nil)
	rec.ok(t)
	if n := rec.kinds(t, 0); n[trace.KindEnter] != 3 || n[trace.KindBarSync] != 2 || rec.res.Exit != "signal: killed" {
		t.Errorf("events %v, the application ended: %s", n, rec.res.Exit)
	}
	rec = record(t, "killed at work", nil)
	if n := rec.kinds(t, 0); n[trace.KindEnter] != 2 || n[trace.KindBarDone] != 1 || n[trace.KindGap] < 1 {
		t.Errorf("events %v", n)
	}
	rec.verdicts(t, "0 unknown: incomplete")
	rec = record(t, "crash", nil)
	rec.verdicts(t, "0 completed: clean") // all lanes were seen to exit
	if rec.res.Exit != "exit status 3" {
		t.Errorf("the application ended: %s", rec.res.Exit)
	}
}

func TestRecordTrap(t *testing.T) {
	rec := record(t, "trap", nil)
	rec.ok(t)
	if l := rec.r.Launches()[0]; l.Outcome != "trap:misaligned address" {
		t.Errorf("outcome %s", l.Outcome)
	}
	rec = record(t, "refused", nil)
	rec.ok(t)
	rec.verdicts(t, "0 unknown: incomplete", "1 completed: clean")
	for _, l := range rec.r.Launches() {
		if strings.Contains(l.Extra, `"launch failed":"CUDA_ERROR_INVALID_VALUE"`) != (l.ID == 0) {
			t.Errorf("launch %+v", l)
		}
	}
}

// Kernels that may lose records say where, and nothing false comes of it.
func TestRecordDrop(t *testing.T) {
	rec := record(t, "drop", func(o *Options, _ func()) { o.Buffer, o.Drop = 16*ring.ChunkBytes, true })
	rec.ok(t)
	n := rec.kinds(t, 0)
	if rec.res.Lost == 0 || n[trace.KindGap] == 0 {
		t.Errorf("lost %d, events %v", rec.res.Lost, n)
	}
	rec.verdicts(t, "0 completed: incomplete")

	// Of a warp of which all was dropped nothing is concluded, either.
	rec = record(t, "drop a warp", func(o *Options, _ func()) { o.Buffer, o.Drop = 16*ring.ChunkBytes, true })
	rec.ok(t)
	if n := rec.kinds(t, 0); n[trace.KindEnter] != 16 || n[trace.KindGap] < 16 {
		t.Errorf("events %v", n)
	}
	rec.verdicts(t, "0 completed: incomplete")

	// Nor where lanes go on and then tell that they lost some.
	rec = record(t, "drop in the middle", func(o *Options, _ func()) { o.Buffer, o.Drop = 16*ring.ChunkBytes, true })
	rec.ok(t)
	rec.verdicts(t, "0 completed: incomplete")
}

// Lanes that have all of the buffer and wait for more are no hang of the
// program's.
func TestRecordStarved(t *testing.T) {
	rec := record(t, "starve", func(o *Options, _ func()) { o.Buffer, o.HangTimeout = 16*ring.ChunkBytes, 200*time.Millisecond })
	if !rec.res.Full || len(rec.res.Hung) > 0 {
		t.Errorf("result %+v", rec.res)
	}
	rec.verdicts(t, "0 unknown: incomplete")
}

// Records find their launch, in whatever order kernels run.
func TestRecordJoins(t *testing.T) {
	rec := record(t, "streams", nil)
	rec.ok(t)
	for _, l := range rec.r.Launches() {
		want := map[uint32]int{0: 2, 1: 8}[l.ID] // a sync a warp and round
		if n := rec.kinds(t, l.ID); n[trace.KindBarSync] != want || l.Outcome != trace.OutcomeCompleted {
			t.Errorf("launch %d in stream %s: %s, %v", l.ID, l.Extra, l.Outcome, n)
		}
	}
	rec = record(t, "graph", func(o *Options, _ func()) { o.HangTimeout = 1500 * time.Millisecond })
	rec.verdicts(t, "0 completed: clean", "1 completed: clean", "2 completed: clean", "3 hung: deadlock")
	for id := range uint32(3) {
		if n := rec.kinds(t, id); n[trace.KindBarSync] != int(4*(id+1)) {
			t.Errorf("launch %d of the graph: %v", id, n)
		}
	}
}

// Launches whose ends are told before their records were looked at have them
// all the same.
func TestRecordBacklog(t *testing.T) {
	rec := record(t, "backlog", func(o *Options, _ func()) { o.Buffer = 64 << 20 })
	rec.ok(t)
	rec.verdicts(t, "0 completed: clean", "1 completed: clean", "2 completed: clean", "3 completed: clean")
	for id := range uint32(4) {
		if n := rec.kinds(t, id)[trace.KindBarSync]; n != 64*2*500 {
			t.Errorf("launch %d: %d syncs", id, n)
		}
	}
	if rec.res.Late > 0 || rec.res.Lost > 0 {
		t.Errorf("result %+v", rec.res)
	}
}

// What cannot be instrumented is in the trace, without a claim.
func TestRecordUninstrumented(t *testing.T) {
	rec := record(t, "without PTX", nil)
	rec.verdicts(t, "0 completed: incomplete")
	l := rec.r.Launches()[0]
	if l.Observes == nil || len(l.Observes) > 0 || !strings.Contains(l.Extra, `"not instrumented":`) {
		t.Errorf("launch %+v", l)
	}
	rec = record(t, "silent", nil)
	rec.verdicts(t, "0 completed: incomplete")
	l = rec.r.Launches()[0]
	if l.Observes == nil || len(l.Observes) > 0 || !strings.Contains(l.Extra, `"not instrumented":"no record came of it`) || len(rec.res.Uninstrumented) != 1 {
		t.Errorf("launch %+v, result %+v", l, rec.res)
	}
	rec = record(t, "quiet", nil)
	rec.ok(t)
	rec.verdicts(t, "0 completed: clean") // a kernel without barriers is not in it
	if rec.res.Left != 1 {
		t.Errorf("result %+v", rec.res)
	}
	rec = record(t, "without CUDA", nil)
	rec.ok(t)
	if rec.verdicts(t); rec.res.Processes != 0 {
		t.Errorf("result %+v", rec.res)
	}
}

// The user's choice of kernels, launches, CTAs and warps, whether or not those
// that are not chosen write records. Of warps that are not recorded nothing is
// concluded.
func TestRecordChosen(t *testing.T) {
	rec := record(t, "clean", func(o *Options, _ func()) { o.Launches = Range{1, 1, true} })
	rec.ok(t)
	rec.verdicts(t, "1 completed: clean")
	for _, all := range []string{"", "1"} {
		t.Setenv("BTRACE_TEST_ALL", all)
		rec = record(t, "clean", func(o *Options, _ func()) { o.CTAs = Range{2, 3, true} })
		rec.verdicts(t, "0 completed: clean", "1 completed: clean", "2 completed: clean")
		if n := rec.kinds(t, 0); n[trace.KindEnter] != 4 || n[trace.KindExit] != 4 {
			t.Errorf("events %v", n)
		}
		rec = record(t, "clean", func(o *Options, _ func()) { o.CTAs = Range{1 << 40, 1 << 41, true} })
		rec.verdicts(t, "0 completed: clean", "1 completed: clean", "2 completed: clean")
		if n := rec.kinds(t, 0); len(n) > 0 {
			t.Errorf("events %v of CTAs that there are not", n)
		}
		rec = record(t, "hang that notes", func(o *Options, _ func()) {
			o.Warps, o.HangTimeout = Range{1, 1, true}, 200*time.Millisecond
		})
		if n := rec.kinds(t, 0); n[trace.KindEnter] != 1 || n[trace.KindGap] != 2 {
			t.Errorf("events %v", n)
		}
		rec.verdicts(t, "0 hung: incomplete")
	}
}

// Nothing of the application's can break the recorder.
func TestRecordNonsense(t *testing.T) {
	rec := record(t, "nonsense", nil)
	rec.verdicts(t, "0 completed: clean")
	if rec.err != nil || !strings.Contains(strings.Join(rec.notes, "\n"), "is not recorded any more: a message of type") {
		t.Errorf("error %v, notes %q", rec.err, rec.notes)
	}
	rec = record(t, "another version", nil)
	if rec.err != nil || !strings.Contains(strings.Join(rec.notes, "\n"), "version 99") {
		t.Errorf("error %v, notes %q", rec.err, rec.notes)
	}
}

// A recorder that is killed leaves a trace of what it had written, and the
// application goes on.
func TestRecorderGone(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.zst")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envFake+"=recorder", "BTRACE_TEST_TRACE="+file, "XDG_RUNTIME_DIR="+dir)
	cmd.Stderr = os.Stderr
	var failed *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &failed) || failed.String() != "signal: killed" {
		t.Fatalf("the recorder ended: %v", err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		if _, err := os.Stat(file + ".alive"); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the application does not go on")
		}
		time.Sleep(time.Millisecond)
	}
	if _, err := trace.Open(file); err != nil {
		t.Error(err)
	}
}

// A program that assembles PTX gets probes in what it assembles, if that is
// any good, and notices nothing.
func TestShim(t *testing.T) {
	for _, c := range []struct{ probed, original, said string }{
		{said("handoff", "40", "0"), said("handoff", "30", "0"), "Used 40 registers"},
		{said("handoff", "40", "8"), said("handoff", "30", "0"), "Used 30 registers"},
		{said("handoff", "40", "8"), said("handoff", "30", "8"), "Used 40 registers"},
	} {
		work := t.TempDir()
		t.Setenv("BTRACE_TEST_WORK", work)
		t.Setenv("TRITON_PTXAS_PATH", fakeAssembler(t, c.probed, c.original).Path)
		var stderr bytes.Buffer
		rec := record(t, "assembles", func(o *Options, _ func()) {
			o.Shim, o.Stdout, o.Stderr = os.Args[0], &stderr, &stderr
			if abs, err := filepath.Abs(o.Shim); err == nil {
				o.Shim = abs
			}
		})
		rec.ok(t)
		cubin, err := os.ReadFile(filepath.Join(work, "k.cubin"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(stderr.String(), c.said) || bytes.Contains(cubin, []byte(probe.ControlName)) != strings.Contains(c.said, "40") {
			t.Errorf("said %q, with probes: %v", stderr.String(), bytes.Contains(cubin, []byte(probe.ControlName)))
		}
	}
}

// Without a recorder the shim is the real assembler, also in how it fails.
func TestShimAlone(t *testing.T) {
	link := filepath.Join(t.TempDir(), "ptxas")
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	real := filepath.Join(t.TempDir(), "real")
	if err := os.WriteFile(real, []byte("#!/bin/sh\necho \"$@\"\nexit 7\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, socket := range []string{"", "/no/such/socket"} {
		cmd := exec.Command(link, "-v", "x.ptx", "-o", "x.cubin")
		cmd.Env = append(os.Environ(), EnvAssembler+"="+real, EnvSocket+"="+socket)
		out, err := cmd.Output()
		var failed *exec.ExitError
		if !errors.As(err, &failed) || failed.ExitCode() != 7 || string(out) != "-v x.ptx -o x.cubin\n" {
			t.Errorf("%v, said %q", err, out)
		}
	}
}

func TestRecordNoProgram(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	w, err := trace.NewWriter(new(bytes.Buffer), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Record(t.Context(), Options{Args: []string{"./no-such-program"}, Library: "/lib.so"}, w)
	if err == nil || err.Error() != "start ./no-such-program: no such file or directory" {
		t.Errorf("error %v", err)
	}
}
