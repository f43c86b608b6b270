//go:build linux

package cupti

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"btrace/capture/cupti/ring/ringtest"
	"btrace/capture/ptx/probe"
	"btrace/trace"
)

// The application of these tests is this test binary, started again: it
// speaks the protocol as the injection library does, and writes to the ring as
// a GPU would.

const envFake = "BTRACE_TEST_APPLICATION"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "ptxas" {
		os.Exit(ActAsAssembler(context.Background(), "ptxas", os.Args[1:], os.Stdout, os.Stderr))
	}
	if name := os.Getenv(envFake); name != "" {
		os.Exit(applications[name]())
	}
	os.Exit(m.Run())
}

//go:embed testdata/handoff.ptx
var handoffPTX []byte

// fakeApp is an application with one context and one module.
type fakeApp struct {
	link  *Link
	gpu   *ringtest.Context
	id    uint64
	sites map[trace.Kind]uint32
	grids uint64
	corr  uint64
}

// check ends an application that cannot go on.
func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "application:", err)
		os.Exit(100)
	}
}

func (a *fakeApp) send(m Message) { check(a.link.Send(m, nil)) }

// ask sends a request and waits for its answer.
func ask[A Message](a *fakeApp, m Message, f *os.File) (A, *os.File) {
	check(a.link.Send(m, f))
	got, file, err := a.link.Receive()
	check(err)
	answer, ok := got.(A)
	if !ok {
		check(fmt.Errorf("%T answers %T", got, m))
	}
	return answer, file
}

// connect says hello, makes a context, and loads the module.
func connect() *fakeApp {
	a := &fakeApp{sites: make(map[trace.Kind]uint32)}
	var err error
	a.link, err = Dial(os.Getenv(EnvSocket))
	check(err)
	w, _ := ask[*Welcome](a, &Hello{Version: ProtocolVersion, Role: RoleCUPTI, PID: uint32(os.Getpid()), Program: os.Args[0]}, nil)
	if w.Error != "" {
		check(errors.New(w.Error))
	}
	r, f := ask[*Ring](a, &Context{Context: 1, Major: 9, SMs: 4, Threads: 2048, Registers: 64 << 10, ClockKHz: 2_000_000, Name: "Fake GPU"}, nil)
	if r.Error != "" {
		check(errors.New(r.Error))
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, int(r.Size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	check(err)
	a.gpu = ringtest.New(mem)
	if os.Getenv("BTRACE_TEST_ALL") != "" {
		a.gpu.All()
	}
	a.gpu.Start = time.Now()
	return a
}

// load loads an image, and knows the sites if it comes back with probes.
func (a *fakeApp) load(image []byte) *Answer {
	f, err := imageFile(image)
	check(err)
	answer, got := ask[*Answer](a, &Image{Context: 1, Door: DoorLibraryLoadData, Size: uint64(len(image)), Name: "a.ptx"}, f)
	if answer.Action != ActionReplace {
		return answer
	}
	a.id = answer.Module
	text, err := readFile(got, answer.Size)
	check(err)
	// The same module rewritten has the same sites.
	m, err := probe.Rewrite(image, probe.Options{File: "a.ptx", Base: 2, Module: answer.Module})
	check(err)
	if !bytes.Equal(bytes.TrimRight(text, "\x00"), m.PTX) {
		check(errors.New("another module came back"))
	}
	for _, s := range m.Sites {
		if !s.Short {
			a.sites[s.Op.Kind] = s.Number
		}
	}
	a.send(&Module{Module: a.id, Context: 1})
	return answer
}

// ready is an application that has its module.
func ready() *fakeApp {
	a := connect()
	a.load(handoffPTX)
	return a
}

// fakeLaunch is a launch under way.
type fakeLaunch struct {
	a    *fakeApp
	grid uint64
	m    Launch
}

func (a *fakeApp) launch(function string, stream uint64, ctas, threads uint32) *fakeLaunch {
	a.grids++
	a.corr++
	l := &fakeLaunch{a, a.grids, Launch{Correlation: a.corr, Stream: stream, Module: a.id, Context: 1, Function: function,
		Grid: [3]uint32{ctas, 1, 1}, Block: [3]uint32{threads, 1, 1}}}
	a.send(&l.m)
	return l
}

func (l *fakeLaunch) done() {
	l.a.send(&Done{Correlation: l.m.Correlation, GridID: l.grid, Start: 1000, End: 2000, Context: 1,
		Grid: l.m.Grid, Block: l.m.Block, Stream: l.m.Stream, Function: l.m.Function})
}

// fakeWarp is a warp whose lane 0 leads.
type fakeWarp struct {
	l *fakeLaunch
	*ringtest.Lane
}

func (l *fakeLaunch) warp(cta uint32, warp uint8) fakeWarp {
	return fakeWarp{l, l.a.gpu.Lane(l.grid, cta, warp, 0, uint16(cta%4))}
}

func (w fakeWarp) do(k trace.Kind) { w.Record(w.l.a.sites[k], 0, 1<<32-1) }

// bar is an operation on a named barrier.
func (w fakeWarp) bar(k trace.Kind, id, count uint32) {
	w.Record(w.l.a.sites[k], id|count<<15, 1<<32-1)
}

func (w fakeWarp) exit() {
	w.do(trace.KindExit)
	w.Close()
}

// round hands something over from one warp to the other, and back.
func round(first, second fakeWarp) {
	second.bar(trace.KindBarSync, 1, 64)
	first.bar(trace.KindBarArrive, 1, 64)
	second.bar(trace.KindBarDone, 1, 0)
	first.bar(trace.KindBarSync, 2, 64)
	second.bar(trace.KindBarArrive, 2, 64)
	first.bar(trace.KindBarDone, 2, 0)
}

// handoff runs CTAs of two warps.
func (l *fakeLaunch) handoff(rounds int) {
	var ctas sync.WaitGroup
	for cta := range l.m.Grid[0] {
		ctas.Go(func() {
			first, second := l.warp(cta, 0), l.warp(cta, 1)
			first.do(trace.KindEnter)
			second.do(trace.KindEnter)
			for range rounds {
				round(first, second)
			}
			first.exit()
			second.exit()
		})
	}
	ctas.Wait()
}

// stuck runs a CTA of which two warps wait for the third, which has exited.
func (l *fakeLaunch) stuck() {
	third := l.warp(0, 2)
	third.do(trace.KindEnter)
	third.exit()
	for warp := range uint8(2) {
		w := l.warp(0, warp)
		w.do(trace.KindEnter)
		w.bar(trace.KindBarSync, 1, 96)
	}
}

func (a *fakeApp) note(text string) { a.send(&Note{text}) }

// forever is what a program does whose kernel does not end.
func forever() int {
	select {}
}

var applications = map[string]func() int{
	"clean": func() int {
		a := ready()
		for range 3 {
			l := a.launch("handoff", 0, 6, 64)
			l.handoff(50)
			l.done()
		}
		a.send(&Bye{})
		return 0
	},
	"backlog": func() int {
		a := ready()
		var all []*fakeLaunch
		for range 4 { // one behind the other, without the host in between
			all = append(all, a.launch("handoff", 0, 64, 64))
		}
		for _, l := range all {
			l.handoff(500)
			l.done()
		}
		a.send(&Bye{})
		return 0
	},
	"hang": func() int {
		a := ready()
		l := a.launch("handoff", 0, 1, 64)
		l.handoff(2)
		l.done()
		a.launch("handoff", 0, 1, 96).stuck()
		a.launch("handoff", 0, 1, 64) // behind it
		return forever()
	},
	"hang that notes": func() int {
		a := ready()
		a.launch("handoff", 0, 1, 96).stuck()
		a.note(fmt.Sprintf("%d hangs", os.Getpid()))
		return forever()
	},
	"ignores SIGTERM": func() int {
		signal.Ignore(syscall.SIGTERM)
		a := ready()
		a.launch("handoff", 0, 1, 96).stuck()
		a.note("it hangs")
		return forever()
	},
	"killed in a hang": func() int {
		a := ready()
		a.launch("handoff", 0, 1, 96).stuck()
		check(syscall.Kill(os.Getpid(), syscall.SIGKILL))
		return forever()
	},
	"killed at work": func() int {
		a := ready()
		l := a.launch("handoff", 0, 1, 64)
		first, second := l.warp(0, 0), l.warp(0, 1)
		first.do(trace.KindEnter)
		second.do(trace.KindEnter)
		first.Torn(a.sites[trace.KindBarArrive])
		second.bar(trace.KindBarSync, 1, 64)
		second.bar(trace.KindBarDone, 1, 0)
		check(syscall.Kill(os.Getpid(), syscall.SIGKILL))
		return forever()
	},
	"works until it is ended": func() int {
		a := ready()
		l := a.launch("handoff", 0, 1, 64)
		a.note("it works")
		first, second := l.warp(0, 0), l.warp(0, 1)
		first.do(trace.KindEnter)
		second.do(trace.KindEnter)
		for {
			round(first, second)
		}
	},
	"crash": func() int {
		a := ready()
		l := a.launch("handoff", 0, 2, 64)
		l.handoff(3)
		return 3 // no activity record, no BYE
	},
	"trap": func() int {
		a := ready()
		a.launch("handoff", 0, 1, 96).stuck()
		a.send(&Failed{Context: 1, Result: 716, Name: "CUDA_ERROR_MISALIGNED_ADDRESS"})
		a.send(&Bye{})
		return 0
	},
	"refused": func() int {
		a := ready()
		l := a.launch("handoff", 0, 1, 64)
		a.send(&Failed{Correlation: l.m.Correlation, Context: 1, Result: 1, Name: "CUDA_ERROR_INVALID_VALUE"})
		l.a.grids--
		l = a.launch("handoff", 0, 1, 64)
		l.handoff(1)
		l.done()
		a.send(&Bye{})
		return 0
	},
	"drop a warp": func() int { // which never has a chunk
		a := ready()
		l := a.launch("handoff", 0, 16, 64)
		var firsts []fakeWarp
		for cta := range uint32(16) {
			firsts = append(firsts, l.warp(cta, 0))
			firsts[cta].do(trace.KindEnter)
		}
		for cta := range uint32(16) {
			second := l.warp(cta, 1)
			second.do(trace.KindEnter)
			for range 3 {
				round(firsts[cta], second)
			}
			second.exit()
		}
		for _, w := range firsts {
			w.exit()
		}
		l.done()
		a.send(&Bye{})
		return 0
	},
	"drop in the middle": func() int { // and tell so after others went on
		a := ready()
		l := a.launch("handoff", 0, 16, 64)
		first, second := l.warp(0, 0), l.warp(0, 1)
		first.do(trace.KindEnter)
		second.do(trace.KindEnter)
		var others []fakeWarp
		for cta := uint32(1); cta < 15; cta++ { // the other chunks
			others = append(others, l.warp(cta, 0))
			others[cta-1].do(trace.KindEnter)
		}
		for range 600 { // the second needs its next chunk when there is none
			first.bar(trace.KindBarArrive, 1, 64)
			second.bar(trace.KindBarSync, 1, 64)
			second.bar(trace.KindBarDone, 1, 0)
		}
		for _, w := range others {
			w.exit()
		}
		first.exit()
		second.exit()
		l.done()
		a.send(&Bye{})
		return 0
	},
	"drop": func() int {
		a := ready()
		l := a.launch("handoff", 0, 40, 64)
		var warps []fakeWarp
		for cta := range uint32(40) {
			w := l.warp(cta, 0)
			w.do(trace.KindEnter)
			warps = append(warps, w)
		}
		for _, w := range warps { // a chunk that is closed goes to the next
			w.exit()
			time.Sleep(2 * time.Millisecond)
		}
		l.done()
		a.send(&Bye{})
		return 0
	},
	"starve": func() int {
		a := ready()
		l := a.launch("handoff", 0, 40, 64)
		for cta := range uint32(40) {
			w := l.warp(cta, 0)
			w.do(trace.KindEnter)
			w.bar(trace.KindBarSync, 1, 64)
		}
		return 0
	},
	"streams": func() int {
		a := ready()
		x, y := a.launch("handoff", 1, 1, 64), a.launch("handoff", 2, 2, 64)
		y.handoff(2) // the later one is first
		x.handoff(1)
		y.done()
		x.done()
		a.send(&Bye{})
		return 0
	},
	"graph": func() int {
		a := ready()
		a.send(&Launch{Correlation: 50, Flags: LaunchCaptured, Module: a.id, Context: 1, Function: "handoff", Grid: [3]uint32{2, 1, 1}, Block: [3]uint32{64, 1, 1}})
		run := func(correlation uint64) *fakeLaunch {
			return &fakeLaunch{a, 10, Launch{Correlation: correlation, Context: 1, Function: "handoff", Grid: [3]uint32{2, 1, 1}, Block: [3]uint32{64, 1, 1}}}
		}
		// Its kernel has one number in all launches of the graph. Their ends
		// are told late.
		first, second, third := run(60), run(61), run(62)
		first.handoff(1)
		second.handoff(2)
		first.done()
		third.handoff(3)
		second.done()
		third.done()
		fourth := run(63)
		waits, leaves := fourth.warp(0, 0), fourth.warp(0, 1)
		waits.do(trace.KindEnter)
		leaves.do(trace.KindEnter)
		waits.bar(trace.KindBarSync, 1, 64)
		leaves.exit()
		return forever()
	},
	"without PTX": func() int {
		a := connect()
		image, err := os.ReadFile(filepath.Join(os.Getenv("BTRACE_TEST_DIR"), "fatbin/testdata/relocatable.fatbin"))
		check(err)
		if answer := a.load(image); answer.Action != ActionOriginal || answer.Reason == "" {
			check(fmt.Errorf("answered %+v", answer))
		}
		a.launch("mystery", 0, 1, 64).done()
		a.send(&Bye{})
		return 0
	},
	"quiet": func() int {
		a := ready()
		a.launch("quiet", 0, 1, 64).done()
		l := a.launch("handoff", 0, 1, 64)
		l.handoff(1)
		l.done()
		a.send(&Bye{})
		return 0
	},
	"silent": func() int { // other code ran than what came back with probes
		a := ready()
		a.launch("handoff", 0, 1, 64).done()
		a.send(&Bye{})
		return 0
	},
	"without CUDA": func() int { return 0 },
	"assembles": func() int { // as Triton does
		in, out := filepath.Join(os.Getenv("BTRACE_TEST_WORK"), "k.ptx"), filepath.Join(os.Getenv("BTRACE_TEST_WORK"), "k.cubin")
		check(os.WriteFile(in, handoffPTX, 0o600))
		cmd := exec.Command(os.Getenv("TRITON_PTXAS_PATH"), "-lineinfo", "-v", "--gpu-name=sm_90", in, "-o", out)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		check(cmd.Run())
		if os.Getenv("TRITON_CACHE_DIR") == "" {
			check(errors.New("cached code would be used"))
		}
		return 0
	},
	"nonsense": func() int {
		a := ready()
		l := a.launch("handoff", 0, 1, 64)
		l.handoff(1)
		l.done()
		_, err := a.link.conn.Write([]byte("nonsense, and not even short"))
		check(err)
		if _, _, err := a.link.Receive(); !errors.Is(err, io.EOF) {
			check(fmt.Errorf("the connection stands: %v", err))
		}
		return 0
	},
	"another version": func() int {
		l, err := Dial(os.Getenv(EnvSocket))
		check(err)
		a := &fakeApp{link: l}
		if w, _ := ask[*Welcome](a, &Hello{Version: 99, Role: RoleCUPTI}, nil); w.Error == "" {
			check(errors.New("welcome"))
		}
		return 0
	},
	"recorder": func() int { // records, and is killed
		f, err := os.Create(os.Getenv("BTRACE_TEST_TRACE"))
		check(err)
		w, err := trace.NewWriter(f, trace.Options{})
		check(err)
		check(os.Setenv(envFake, "outlives the recorder"))
		_, err = Record(context.Background(), Options{Args: []string{os.Args[0]}, Library: "/lib.so", Stderr: os.Stderr}, w)
		check(err)
		return 0
	},
	"outlives the recorder": func() int {
		a := ready()
		l := a.launch("handoff", 0, 2, 64)
		l.handoff(20)
		l.done()
		check(syscall.Kill(os.Getppid(), syscall.SIGKILL))
		_, _, err := a.link.Receive()
		if errors.Is(err, io.EOF) {
			check(os.WriteFile(os.Getenv("BTRACE_TEST_TRACE")+".alive", nil, 0o600))
		}
		return 0
	},
}
