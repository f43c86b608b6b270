package interp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"btrace/capture/emu"
	"btrace/trace"
)

// TestFaults: what cannot be ends the launch, as on a GPU, and says which
// instruction, address and lane it was.
func TestFaults(t *testing.T) {
	const (
		misaligned = "trap:misaligned address"
		illegal    = "trap:illegal memory access"
		bad        = "trap:illegal instruction"
		assert     = "trap:device-side assert triggered"
	)
	const decls = ".global .align 16 .u32 g[4]; .const .u32 c[4] = {1}; .shared .align 16 .u32 s[4]; .shared .align 8 .b64 bar; .global .u32 last[2];"
	for _, c := range []struct {
		name    string
		body    string
		outcome string
		fault   string // behind the file's name; "" for none
		threads uint32
	}{
		{"null", "mov.u64 %d2, 0;\nld.global.u32 %r3, [%d2];", illegal, "10: ld.global.u32: 4 bytes at global address 0x0: a null pointer, by cta 0 warp 0 lane 0", 0},
		{"past a buffer", "ld.global.u32 %r3, [%d0+256];", illegal, "9: ld.global.u32: 4 bytes at global address 0x1000000100: 0 bytes past the end of argument 0 (256 bytes), by cta 0 warp 0 lane 0", 0},
		{"across the end of a buffer", "ld.global.v4.u8 {%r3, %r4, %r5, %r6}, [%d0+252];\nadd.u64 %d2, %d0, 256;\nst.global.u64 [%d2+-8], 1;\nadd.u64 %d2, %d2, -4;\nld.global.u32 %r3, [%d2];\nadd.u64 %d2, %d2, 4;\nst.global.u8 [%d2], 1;", illegal, "15: st.global.u8: 1 bytes at global address 0x1000000100: 0 bytes past the end of argument 0 (256 bytes), by cta 0 warp 0 lane 0", 0},
		{"before a buffer", "ld.global.u32 %r3, [%d0+-16];", illegal, "9: ld.global.u32: 4 bytes at global address 0xffffffff0: 16 bytes before argument 0, by cta 0 warp 0 lane 0", 0},
		{"before a variable", "mov.u64 %d2, last;\nst.global.u32 [%d2+-4], 1;", illegal, "10: st.global.u32: 4 bytes at global address 0xffffffffc: 4 bytes before variable last, by cta 0 warp 0 lane 0", 0},
		{"nowhere", "mov.u64 %d2, 0x123456789abcde0;\nld.u32 %r3, [%d2];", illegal, "10: ld.u32: 4 bytes at generic address 0x123456789abcde0: in no buffer, by cta 0 warp 0 lane 0", 0},
		{"a store to constants", "cvta.const.u64 %d2, c;\nst.u32 [%d2], 1;", illegal, "10: st.u32: 4 bytes at generic address 0x1000000000: variable c is constant, by cta 0 warp 0 lane 0", 0},
		{"a strong store to constants", "cvta.const.u64 %d2, c;\nst.volatile.u32 [%d2], 1;", illegal, "10: st.volatile.u32: 4 bytes at generic address 0x1000000000: variable c is constant, by cta 0 warp 0 lane 0", 0},
		{"an atomic on constants", "cvta.const.u64 %d2, c;\natom.add.u32 %r3, [%d2], 1;", illegal, "10: atom.add.u32: 4 bytes at generic address 0x1000000000: variable c is constant, by cta 0 warp 0 lane 0", 0},
		{"past shared memory", "ld.shared.u32 %r3, [s+16];", illegal, "9: ld.shared.u32: 4 bytes at shared address 0x410: shared memory is 0x400 to 0x410, by cta 0 warp 0 lane 0", 0},
		{"before shared memory", "mov.u32 %r3, s;\nst.shared.v2.u32 [%r3+-8], {1, 2};", illegal, "10: st.shared.v2.u32: 8 bytes at shared address 0x3f8: shared memory is 0x400 to 0x410, by cta 0 warp 0 lane 0", 0},
		{"past shared memory, by a generic address", "cvta.shared.u64 %d2, s;\nst.volatile.u32 [%d2+0x1000], 1;", illegal, "10: st.volatile.u32: 4 bytes at generic address 0x7f0000001400: shared memory is 0x400 to 0x410, by cta 0 warp 0 lane 0", 0},
		{"a CTA that is not there", "mov.u32 %r3, s;\nmapa.shared::cluster.u32 %r3, %r3, 3;\nst.shared::cluster.u32 [%r3], 1;", illegal, "11: st.shared::cluster.u32: 4 bytes at shared::cluster address 0x3000400: there is no CTA of rank 3 in the cluster, by cta 0 warp 0 lane 0", 0},
		{"past local memory", ".local .u32 l[3];\nld.local.u32 %r3, [l];\nld.local.u32 %r3, [l+16];", illegal, "11: ld.local.u32: 4 bytes at local address 0x110: the thread's local memory is 0x100 to 0x110, by cta 0 warp 0 lane 0", 0},
		{"before local memory", ".local .u32 l[3];\nmov.u64 %d2, l;\nst.local.u32 [%d2+-256], 1;", illegal, "11: st.local.u32: 4 bytes at local address 0x0: the thread's local memory is 0x100 to 0x110, by cta 0 warp 0 lane 0", 0},
		{"past the parameters", "mov.u64 %d2, out;\nld.param.u32 %r3, [%d2+8];", illegal, "10: ld.param.u32: 4 bytes at param address 0x8: the kernel has 8 bytes of parameters, by cta 0 warp 0 lane 0", 0},
		{"a store to the parameters", "mov.u64 %d2, out;\ncvta.param.u64 %d2, %d2;\nst.u32 [%d2], 1;", illegal, "11: st.u32: 4 bytes at generic address 0x7c0000000000: kernel parameters cannot be written, by cta 0 warp 0 lane 0", 0},
		{"misaligned in each space", "ld.global.u32 %r3, [%d0+4];\n.local .align 8 .b8 l[16];\nst.local.u16 [l+2], 1;\nld.shared.u32 %r3, [s+2];", misaligned, "12: ld.shared.u32: 4 bytes at shared address 0x402: not a multiple of 4, by cta 0 warp 0 lane 0", 0},
		{"a misaligned vector", "ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [g+8];", misaligned, "9: ld.global.v4.u32: 16 bytes at global address 0x1000000008: not a multiple of 16, by cta 0 warp 0 lane 0", 0},
		{"a misaligned atomic", "atom.shared.add.u32 %r3, [s+1], 1;", misaligned, "9: atom.shared.add.u32: 4 bytes at shared address 0x401: not a multiple of 4, by cta 0 warp 0 lane 0", 0},
		{"one lane of a warp", "mul.lo.u32 %r3, %r2, 8; cvt.u64.u32 %d2, %r3; add.u64 %d2, %d2, %d0;\nst.global.u32 [%d2], 1;", illegal, "10: st.global.u32: 4 bytes at global address 0x1000000100: 0 bytes past the end of argument 0 (256 bytes), by cta 0 warp 1 lane 0", 64},
		{"with a guard", "setp.eq.u32 %p0, %r2, 7; mov.u64 %d2, 4096;\n@%p0 ld.global.u8 %r3, [%d2];", illegal, "10: ld.global.u8: 1 bytes at global address 0x1000: in no buffer, by cta 0 warp 0 lane 7", 32},
		{"cp.async to nowhere", "mov.u32 %r3, 0x10000;\ncp.async.ca.shared.global [%r3], [g], 4;", illegal, "10: cp.async.ca.shared.global: 4 bytes at shared address 0x10000: shared memory is 0x400 to 0x400, by cta 0 warp 0 lane 0", 0},
		{"cp.async from nowhere", "cp.async.cg.shared.global [s], [g+16], 16;", illegal, "9: cp.async.cg.shared.global: 16 bytes at global address 0x1000000010: 0 bytes past the end of variable g (16 bytes), by cta 0 warp 0 lane 0", 0},
		{"cp.async, misaligned", "cp.async.cg.shared.global [s], [g+4], 16, 8;", misaligned, "9: cp.async.cg.shared.global: 16 bytes at global address 0x1000000004: not a multiple of 16, by cta 0 warp 0 lane 0", 0},
		{"a bulk copy, misaligned", "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [g], 8, [bar];", misaligned, "9: cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes: 8 bytes at global address 0x1000000000: address and size have to be multiples of 16, by cta 0 warp 0 lane 0", 0},
		{"a bulk copy past its end", "cp.async.bulk.global.shared::cta.bulk_group [g], [s], 32;", illegal, "9: cp.async.bulk.global.shared::cta.bulk_group: 32 bytes at shared address 0x400: shared memory is 0x400 to 0x410, by cta 0 warp 0 lane 0", 0},
		{"a bulk reduction past its end", "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [last], [s], 16;", illegal, "9: cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32: 16 bytes at global address 0x1000000000: across the end of variable last (8 bytes), by cta 0 warp 0 lane 0", 0},
		{"an mbarrier in global memory", "cvta.global.u64 %d2, g;\nmbarrier.init.b64 [%d2], 1;", illegal, "10: mbarrier.init.b64: 8 bytes at global address 0x1000000000: an mbarrier has to be in shared memory, by cta 0 warp 0 lane 0", 0},
		{"a misaligned mbarrier", "mbarrier.init.shared.b64 [bar+4], 1;", misaligned, "9: mbarrier.init.shared.b64: 8 bytes at shared address 0x404: not a multiple of 8, by cta 0 warp 0 lane 0", 0},
		{"too many arrivals, which is the barrier's to find", "mbarrier.init.shared.b64 [bar], 1;\nmbarrier.arrive.shared.b64 _, [bar], 2;", "trap:unspecified launch failure", "", 0},
		{"a count that is not whole warps", "mov.u32 %r3, 48; barrier.sync 1, %r3;", bad, "", 64},
		{"ldmatrix of nowhere", "mov.u32 %r3, 0;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r3];", illegal, "10: ldmatrix.sync.aligned.m8n8.x1.shared.b16: 16 bytes at shared address 0x0: shared memory is 0x400 to 0x400, by cta 0 warp 0 lane 0", 32},
		{"a branch beside its table", "mov.u32 %r3, 2; t: .branchtargets a, b; a: b:\nbrx.idx %r3, t;", bad, "10: brx.idx: target 2 of 2, by cta 0 warp 0 lane 0", 0},
		{"a call of nothing", "mov.u64 %d2, 7;\ncall %d2, (), p; p: .callprototype _ ();", bad, "10: call: 0x7 is not the address of a function, by cta 0 warp 0 lane 0", 0},
		{"a call of something else", "mov.u64 %d2, f; add.u64 %d2, %d2, 1;\ncall %d2, (), p; p: .callprototype _ ();", bad, "10: call: 0x600000000011 is not the address of a function, by cta 0 warp 0 lane 0", 0},
		{"a call with too few arguments", "mov.u64 %d2, f;\ncall %d2, (), p; p: .callprototype _ ();", bad, "10: call: f: it takes 1 arguments, and is called with 0, by cta 0 warp 0 lane 0", 0},
		{"the instruction", "setp.eq.u32 %p0, %r2, 33;\n@%p0 trap;", bad, "10: trap: the program traps, by cta 0 warp 1 lane 1", 64},
		{"a breakpoint", "brkpt;", "trap:breakpoint", "9: brkpt: a breakpoint, and no debugger, by cta 0 warp 0 lane 0", 0},
		{"recursion without end", "call again, (1);", "trap:stack overflow", "4: call: 4096 calls deep, with 196608 bytes of local memory, by cta 0 warp 0 lane 0", 0},
		{"an assertion", "mov.u64 %d2, text; mov.u64 %d3, file;\n.param .b64 m; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 s; st.param.b64 [m], %d2; st.param.b64 [f], %d3; st.param.b32 [l], 12;\ncall __assertfail, (m, f, l, n, s);", assert, "11: call: an assertion failed: i < n, k.cu:12, by cta 0 warp 0 lane 0", 0},
		{"an assertion with nonsense", ".param .b64 m; .param .b32 l; call __assertfail, (m, m, l, m, m);", assert, "9: call: an assertion failed, by cta 0 warp 0 lane 0", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := snippet{body: c.body, decls: decls + `.func f(.reg .b32 a) { ret; } .func again(.reg .b32 n) { .local .b32 keep[8]; st.local.u32 [keep], n; call again, (n); ret; }
.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e); .global .b8 text[6] = {105, 32, 60, 32, 110, 0}; .global .b8 file[10] = {47, 97, 47, 107, 46, 99, 117, 0};`}
			k := kernel(t, s.source())
			res, rec := start(t, k, block(max(c.threads, 1)), "buf:256")
			want := c.fault
			if want != "" {
				want = "t.ptx:" + want
			}
			if string(res.Outcome) != c.outcome || res.Fault != want {
				t.Errorf("%s\n%s\nwant %s\n%s", res.Outcome, res.Fault, c.outcome, want)
			}
			last := rec[len(rec)-1]
			if last.Kind != trace.KindTrap || "trap:"+last.Text != c.outcome {
				t.Errorf("the last event is %s", describe(last))
			}
			_, line, _ := strings.Cut(want, ":")
			line, _, _ = strings.Cut(line, ":")
			if want != "" && fmt.Sprint(last.PC) != line {
				t.Errorf("the trap is recorded at line %d: %s", last.PC, want)
			}
		})
	}
}

// TestFaultOfTheOutcome: of several traps the text is that of the one which
// ended the launch, however many cores there are.
func TestFaultOfTheOutcome(t *testing.T) {
	s := snippet{body: `
mul.lo.u32 %r3, %r0, 7; rem.u32 %r3, %r3, 5; add.u32 %r3, %r3, 1;
loop: sub.u32 %r3, %r3, 1; setp.ne.u32 %p0, %r3, 0; nanosleep.u32 1000; @%p0 bra loop;
setp.eq.u32 %p1, %r0, 3; mov.u32 %r4, 48; @%p1 barrier.sync 1, %r4;
trap;`}
	k := kernel(t, s.source())
	for _, schedule := range []string{"rr", "random", "pct"} {
		for seed := range uint64(5) {
			for _, workers := range []int{1, 2} {
				cfg := emu.Config{Grid: trace.Dim{10}, Block: trace.Dim{1}, Schedule: schedule, Seed: seed, Workers: workers}
				res, rec := start(t, k, cfg, "buf:256")
				last := rec[len(rec)-1]
				want := fmt.Sprintf("t.ptx:12: trap: the program traps, by cta %d warp 0 lane 0", last.CTA)
				if last.CTA == 3 && last.PC == 11 {
					want = ""
				}
				if res.Fault != want {
					t.Errorf("%s, seed %d, %d workers: %s, want %s", schedule, seed, workers, res.Fault, want)
				}
			}
		}
	}
}

// TestHangs: what does not end is given up, and says where each warp is.
func TestHangs(t *testing.T) {
	for _, c := range []struct {
		name, body string
		givenUp    bool
		stuck      string
	}{
		{"an endless loop", "loop:\nadd.u32 %r3, %r3, 1;\nbra loop;", true, "cta 0 warp 0 lanes ffffffff: work  at t.ptx:11\ncta 0 warp 1 lanes 000000ff: work  at t.ptx:11"},
		{"an endless loop in a function", "call f;", true, "cta 0 warp 0 lanes ffffffff: work  at t.ptx:4\ncta 0 warp 1 lanes 000000ff: work  at t.ptx:4"},
		{"a flag that nobody sets", "loop:\nld.volatile.shared.u32 %r3, [s];\nsetp.eq.u32 %p0, %r3, 0;\n@%p0 bra loop;", false, "cta 0 warp 0 lanes ffffffff: atomic  at t.ptx:10\ncta 0 warp 1 lanes 000000ff: atomic  at t.ptx:10"},
		{"a barrier with too high a count", "bar.sync 1, 96;", false, "cta 0 warp 0 lanes ffffffff: bar.sync bar:1 at t.ptx:9\ncta 0 warp 1 lanes 000000ff: bar.sync bar:1 at t.ptx:9"},
		{"a wait for a phase that does not come", "setp.ne.u32 %p0, %r2, 0; @%p0 exit;\nmbarrier.init.shared.b64 [bar], 2;\nl: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;\n@!%p1 bra l;", false, "cta 0 warp 0 lanes 00000001: mbar.wait mbar:0x400 at t.ptx:11"},
		{"a poll for a phase that does not come", "setp.ne.u32 %p0, %r2, 0; @%p0 exit;\nmbarrier.init.shared.b64 [bar], 2;\nl: mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0;\n@!%p1 st.shared.u32 [s], 1; @!%p1 bra l;", false, "cta 0 warp 0 lanes 00000001: mbar.test mbar:0x400 at t.ptx:11"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := kernel(t, (&snippet{body: c.body, decls: ".shared .u32 s; .shared .align 8 .b64 bar; .func f() { l: bra l; }"}).source())
			cfg := block(40)
			cfg.StepBudget = 100000
			res, _ := start(t, k, cfg, "buf:256")
			var stuck []string
			for _, s := range res.Stuck {
				stuck = append(stuck, s.String())
			}
			got := strings.Join(stuck, "\n")
			if res.Outcome != trace.OutcomeHung || res.GivenUp != c.givenUp || got != c.stuck {
				t.Errorf("%s, given up: %t\n%s\nwant\n%s", res.Outcome, res.GivenUp, got, c.stuck)
			}
		})
	}
}

// TestCancelled: a context that is done ends the launch with its error.
func TestCancelled(t *testing.T) {
	k := kernel(t, (&snippet{body: "l: bra l;"}).source())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	res, err := k.Launch(ctx, emu.Config{}, arguments(t, "buf:4"), nil)
	if err != context.Canceled || res.Outcome != trace.OutcomeUnknown {
		t.Errorf("%s, %v", res.Outcome, err)
	}
}

// TestStackOfManyRegisters: the registers that a call saves are memory, too.
func TestStackOfManyRegisters(t *testing.T) {
	var adds strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&adds, "add.u32 %%x%d, n, %d; ", i, i)
	}
	for i := range 1000 {
		fmt.Fprintf(&adds, "add.u32 n, n, %%x%d; ", i)
	}
	s := snippet{body: "call f, (1);", decls: ".func f(.reg .b32 n) { .reg .b32 %x<1000>; " + adds.String() + " call f, (n); ret; }"}
	res, _ := start(t, kernel(t, s.source()), emu.Config{}, "buf:4")
	if !strings.Contains(res.Fault, "calls deep") || res.Outcome != "trap:stack overflow" || strings.Contains(res.Fault, "4096 calls") {
		t.Errorf("%s: %s", res.Outcome, res.Fault)
	}
}
