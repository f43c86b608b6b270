package interp_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"btrace/capture/emu"
	"btrace/capture/ptx"
	"btrace/capture/ptx/interp"
	"btrace/trace"
)

// snippet is the body of a kernel k(.param .u64 out) that has to leave certain
// values in its buffer. The body finds
//
//	%r0  the thread's number in the grid, and in %d1 the address of its word
//	%d0  the address of the buffer
//
// and registers %p, %h (16 bits), %r, %f, %d (64 bits) and %g (f64) to use. Its
// lines are numbered from 1.
type snippet struct {
	name  string
	decls string // of the module, before the kernel, on one line
	body  string
	cfg   emu.Config
	words int                          // of a thread in the buffer; 0 means 1
	each  func(thread uint32) []uint32 // what they have to be
	want  []uint32                     // or all of them
	// once is set where another schedule may leave other values.
	once bool
}

// firstLine is the line of the file that the body begins in.
const firstLine = 9

func (s *snippet) source() string {
	return strings.ReplaceAll(s.decls, "\n", " ") + `
.visible .entry k(.param .u64 out) {
.reg .pred %p<40>; .reg .b16 %h<40>; .reg .b32 %r<60>; .reg .f32 %f<40>; .reg .b64 %d<40>; .reg .f64 %g<20>;
ld.param.u64 %d0, [out]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r0, %r0, %r1, %r2;
mul.wide.u32 %d1, %r0, ` + fmt.Sprint(4*max(s.words, 1)) + "; add.u64 %d1, %d1, %d0;\n" + strings.Trim(s.body, "\n") + "\nret;\n}\n"
}

const head = ".version 8.7\n.target sm_100a\n.address_size 64\n"

// module reads the text of a module, and puts a head before it that takes
// three lines.
func module(tb testing.TB, text string) *ptx.Module {
	tb.Helper()
	m, err := ptx.Parse("t.ptx", []byte(head+text))
	if err != nil {
		tb.Fatalf("%v\n%.2000s", err, text)
	}
	if err := ptx.Resolve(m); err != nil {
		tb.Fatalf("%v\n%.2000s", err, text)
	}
	return m
}

// kernel compiles the kernel k of a module.
func kernel(tb testing.TB, text string) *interp.Kernel {
	tb.Helper()
	m := module(tb, text)
	k, err := interp.Compile(m, m.Lookup("k"))
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// recording is a sink that keeps the events.
type recording []trace.Event

func (r *recording) Write(events []trace.Event) error {
	*r = append(*r, events...)
	return nil
}

// start launches a kernel with arguments.
func start(tb testing.TB, k *interp.Kernel, cfg emu.Config, args ...string) (interp.Result, recording) {
	tb.Helper()
	var rec recording
	res, err := k.Launch(context.Background(), cfg, arguments(tb, args...), &rec)
	if err != nil {
		tb.Fatal(err)
	}
	return res, rec
}

func words(b []byte) (ws []uint32) {
	for ; len(b) >= 4; b = b[4:] {
		ws = append(ws, binary.LittleEndian.Uint32(b))
	}
	return ws
}

// check runs a snippet: twice alike, the second time with clusters on two
// cores, and then under other schedules.
func (s *snippet) check(t *testing.T) {
	t.Helper()
	k := kernel(t, s.source())
	cfg, err := k.Prepare(s.cfg)
	if err != nil {
		t.Fatal(err)
	}
	want := s.want
	if s.each != nil {
		for i := range uint32(cfg.Grid.Size() * cfg.Block.Size()) {
			want = append(want, s.each(i)...)
		}
	}
	buf := fmt.Sprintf("buf:%d", max(4*len(want), 4*max(s.words, 1)*int(cfg.Grid.Size()*cfg.Block.Size())))
	first, events := start(t, k, s.cfg, buf)
	demand := func(how string, res interp.Result) {
		t.Helper()
		if res.Outcome != trace.OutcomeCompleted {
			t.Fatalf("%s: %s: %s %v", how, res.Outcome, res.Fault, res.Stuck)
		}
		if got := words(res.Buffers[0])[:len(want)]; !slices.Equal(got, want) {
			t.Fatalf("%s: got\n%s, want\n%s", how, numbers(got), numbers(want))
		}
	}
	demand("rr", first)
	cfg = s.cfg
	cfg.Workers = 2
	again, same := start(t, k, cfg, buf)
	demand("rr on two cores", again)
	if !slices.EqualFunc(events, same, equal) {
		t.Errorf("other events on two cores:\n%s\nand on one:\n%s", same, events)
	}
	if s.once {
		return
	}
	for _, schedule := range []string{emu.Random, emu.PCT} {
		for seed := range uint64(3) {
			cfg.Schedule, cfg.Seed = schedule, seed
			cfg.Workers = 1 + int(seed)%2
			res, events := start(t, k, cfg, buf)
			demand(fmt.Sprintf("%s, seed %d", schedule, seed), res)
			if _, same := start(t, k, cfg, buf); !slices.EqualFunc(events, same, equal) {
				t.Errorf("%s, seed %d: other events when repeated", schedule, seed)
			}
		}
	}
}

func equal(a, b trace.Event) bool { return a == b }

// numbers prints words, eight a line.
func numbers(ws []uint32) string {
	var b strings.Builder
	for i, w := range ws {
		if i%8 == 0 {
			fmt.Fprintf(&b, "\n%4d:", i)
		}
		fmt.Fprintf(&b, " %08x", w)
	}
	return b.String()
}

func check(t *testing.T, snippets []snippet) {
	t.Helper()
	for _, s := range snippets {
		t.Run(s.name, s.check)
	}
}

// block is the configuration of one CTA.
func block(threads ...uint32) emu.Config {
	var cfg emu.Config
	copy(cfg.Block[:], threads)
	return cfg
}
