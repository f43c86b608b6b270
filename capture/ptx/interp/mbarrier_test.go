package interp_test

import (
	"strings"
	"testing"

	"btrace/capture/emu"
	"btrace/trace"
)

// TestMbarriers: the mbarrier family: what the threads get, and what is
// recorded.
func TestMbarriers(t *testing.T) {
	const decls = ".shared .align 8 .b64 bar[2];"
	for _, c := range []struct {
		snippet
		events string // of barriers
	}{
		{snippet{name: "init, arrive, wait by token, pending_count, inval", decls: decls, words: 4, want: []uint32{1, 2, 1, 0}, body: `
mbarrier.init.shared::cta.b64 [bar], 2;
mbarrier.arrive.shared::cta.b64 %d2, [bar];
mbarrier.pending_count.b64 %r3, %d2;
mbarrier.test_wait.shared.b64 %p0, [bar], %d2; selp.u32 %r4, 1, 2, %p0;
mbarrier.arrive.release.cta.shared.b64 %d3, [bar];
mbarrier.pending_count.b64 %r5, %d3;
mbarrier.test_wait.acquire.cta.shared.b64 %p1, [bar], %d2; selp.u32 %r6, 0, 1, %p1;
mbarrier.inval.shared.b64 [bar];
sub.u32 %r3, %r3, 1;
st.global.v4.b32 [%d0], {%r3, %r4, %r5, %r6};`}, `
w0 1 mbar.init addr=0x400 count=2 @1
w0 1 mbar.arrive addr=0x400 count=1 phase=0 @2
w0 1 mbar.test addr=0x400 result=0 phase=0 @4
w0 1 mbar.arrive addr=0x400 count=1 phase=0 release @5
w0 1 mbar.test addr=0x400 result=1 phase=0 acquire @7
w0 1 mbar.inval addr=0x400 @8`},
		{snippet{name: "the second barrier of an array, through a generic address, with counts", decls: decls, want: []uint32{5}, body: `
cvta.shared.u64 %d4, bar;
mbarrier.init.b64 [%d4+8], 6;
mbarrier.arrive.noComplete.b64 %d2, [%d4+8], 2;
mbarrier.arrive.b64 _, [%d4+8], 3;
mbarrier.arrive_drop.b64 %d3, [%d4+8];
mbarrier.arrive.b64 %d3, [%d4+8], 4;
mbarrier.arrive.b64 %d3, [%d4+8];
mbarrier.pending_count.b64 %r3, %d3;
add.u32 %r3, %r3, 4;
st.global.b32 [%d0], %r3;`}, `
w0 1 mbar.init addr=0x408 count=6 @2
w0 1 mbar.arrive_nocomplete addr=0x408 count=2 phase=0 @3
w0 1 mbar.arrive addr=0x408 count=3 phase=0 @4
w0 1 mbar.arrive_drop addr=0x408 count=1 phase=0 @5
w0 1 mbar.arrive addr=0x408 count=4 phase=1 @6
w0 1 mbar.arrive addr=0x408 count=1 phase=1 @7`},
		{snippet{name: "bytes", decls: decls, want: []uint32{1}, body: `
mbarrier.init.shared.b64 [bar], 2;
mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 48;
mbarrier.arrive.expect_tx.shared.b64 %d2, [bar], 16;
mbarrier.complete_tx.shared::cta.b64 [bar], 60;
mov.u32 %r3, -4;
mbarrier.expect_tx.shared::cta.b64 [bar], %r3;
mbarrier.arrive.shared.b64 _, [bar];
wait: mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0, 1000; @%p0 bra done; bra wait;
done:
selp.u32 %r3, 1, 0, %p0;
st.global.b32 [%d0], %r3;`}, `
w0 1 mbar.init addr=0x400 count=2 @1
w0 1 mbar.expect_tx addr=0x400 bytes=48 relaxed @2
w0 1 mbar.arrive_expect_tx addr=0x400 count=1 bytes=16 phase=0 @3
w0 1 mbar.complete_tx addr=0x400 bytes=60 @4
w0 1 mbar.expect_tx addr=0x400 bytes=-4 @6
w0 1 mbar.arrive addr=0x400 count=1 phase=0 @7
w0 1 mbar.wait addr=0x400 parity=0 @8
w0 1 mbar.done addr=0x400 parity=0 @8`},
		{snippet{name: "lanes with barriers of their own, and lanes that share one", cfg: block(4), decls: decls, each: func(i uint32) []uint32 { return []uint32{1} }, body: `
and.b32 %r3, %r2, 1; shl.b32 %r3, %r3, 3; mov.u32 %r4, bar; add.u32 %r3, %r3, %r4;
setp.lt.u32 %p0, %r2, 2;
@%p0 mbarrier.init.shared.b64 [%r3], 2;
bar.warp.sync -1;
mbarrier.arrive.shared.b64 %d2, [%r3];
mbarrier.test_wait.shared.b64 %p1, [%r3], %d2;
selp.u32 %r5, 1, 0, %p1;
st.global.b32 [%d1], %r5;`}, `
w0 1 mbar.init addr=0x400 count=2 @3
w0 2 mbar.init addr=0x408 count=2 @3
w0 f syncwarp mask=ffffffff @4
w0 f syncwarp.done mask=ffffffff @4
w0 5 mbar.arrive addr=0x400 count=1 phase=0 @5
w0 a mbar.arrive addr=0x408 count=1 phase=0 @5
w0 5 mbar.test addr=0x400 result=1 phase=0 @6
w0 a mbar.test addr=0x408 result=1 phase=0 @6`},
		{snippet{name: "on the barrier of a peer", cfg: emu.Config{Grid: trace.Dim{2}, Cluster: trace.Dim{2}, Block: trace.Dim{1}}, decls: decls, each: func(uint32) []uint32 { return []uint32{1} }, body: `
mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
mov.u32 %r3, %cluster_ctarank; xor.b32 %r3, %r3, 1; mov.u32 %r4, bar; mapa.shared::cluster.u32 %r4, %r4, %r3;
mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r4];
wait: mbarrier.test_wait.parity.acquire.cluster.shared.b64 %p0, [bar], 0; @!%p0 bra wait;
st.global.b32 [%d1], 1;
barrier.cluster.arrive; barrier.cluster.wait;`, once: true}, `
w0 1 mbar.init addr=0x400 count=1 @1
c1 w0 1 mbar.init addr=0x400 count=1 @1
w0 1 cluster.arrive aligned release @2
c1 w0 1 cluster.arrive aligned release @2
w0 1 cluster.wait aligned acquire @2
c1 w0 1 cluster.wait aligned acquire @2
w0 1 cluster.done @2
c1 w0 1 cluster.done @2
w0 1 mbar.arrive addr=0x400 count=1 owner=1 release @4
c1 w0 1 mbar.arrive addr=0x400 count=1 owner=0 release @4
w0 1 mbar.wait addr=0x400 parity=0 acquire @5
c1 w0 1 mbar.wait addr=0x400 parity=0 acquire @5
w0 1 mbar.done addr=0x400 parity=0 acquire @5
c1 w0 1 mbar.done addr=0x400 parity=0 acquire @5
w0 1 cluster.arrive @7
c1 w0 1 cluster.arrive @7
w0 1 cluster.wait @7
c1 w0 1 cluster.wait @7
w0 1 cluster.done @7
c1 w0 1 cluster.done @7`},
		{snippet{name: "cp.async arrivals", cfg: block(2), decls: source16 + ".shared .align 8 .b64 bar; .shared .align 16 .b32 s[4];", each: func(i uint32) []uint32 { return []uint32{i + 1} }, body: `
setp.eq.u32 %p0, %r2, 0;
@%p0 mbarrier.init.shared.b64 [bar], 4;
bar.warp.sync -1;
shl.b32 %r3, %r2, 2; mov.u32 %r4, s; add.u32 %r4, %r4, %r3; cvt.u64.u32 %d3, %r3; mov.u64 %d4, g; add.u64 %d4, %d4, %d3;
cp.async.ca.shared.global [%r4], [%d4], 4;
cp.async.mbarrier.arrive.noinc.shared.b64 [bar];
cp.async.mbarrier.arrive.shared.b64 [bar];
ld.shared.b32 %r5, [%r4];
mbarrier.arrive.shared.b64 %d5, [bar];
wait: mbarrier.try_wait.shared.b64 %p1, [bar], %d5; @!%p1 bra wait;
ld.shared.b32 %r6, [%r4];
add.u32 %r6, %r6, %r5;
st.global.b32 [%d1], %r6;`, once: true}, `
w0 1 mbar.init addr=0x400 count=4 @2
w0 3 syncwarp mask=ffffffff @3
w0 3 syncwarp.done mask=ffffffff @3
w0 3 mbar.cp_async_arrive addr=0x400 noinc @6
w0 3 mbar.cp_async_arrive addr=0x400 @7
w0 3 mbar.arrive addr=0x400 count=1 phase=0 @9
w0 3 mbar.wait addr=0x400 phase=0 @10
w0 3 mbar.done addr=0x400 phase=0 @10`},
		{snippet{name: "copies", cfg: emu.Config{Grid: trace.Dim{2}, Cluster: trace.Dim{2}, Block: trace.Dim{1}}, decls: source16 + ".shared .align 8 .b64 bar; .shared .align 16 .b32 s[4];", body: `
mbarrier.init.shared.b64 [bar], 1;
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 32;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
mov.u32 %r3, %cluster_ctarank; xor.b32 %r4, %r3, 1; mov.u32 %r5, bar; mapa.shared::cluster.u32 %r5, %r5, %r4; mov.u32 %r6, s; mapa.shared::cluster.u32 %r6, %r6, %r4;
cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r6], [s], 16, [%r5];
setp.eq.u32 %p0, %r3, 0;
@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [g], 16, [bar], 3;
wait: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra wait;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;`, once: true}, `
w0 1 mbar.copy addr=0x400 bytes=16 owner=1 @5
c1 w0 1 mbar.copy addr=0x400 bytes=16 owner=0 @5
w0 1 mbar.copy addr=0x400 bytes=16 ctas=3 @7`},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.check(t)
			_, rec := start(t, kernel(t, c.source()), c.cfg, "buf:256")
			some := rec.all()
			if c.name == "copies" {
				some = rec.of(trace.KindMbarCopy)
			}
			if got := some.String(); got != strings.TrimSpace(c.events) {
				t.Errorf("recorded\n%s\nwant%s", got, c.events)
			}
		})
	}
}

// TestWaits: a loop that can do nothing but ask an mbarrier again is recorded
// as a wait; where a thread told no can do something else, it polls, and that
// is recorded as tests: of those that fail one after the other the first.
func TestWaits(t *testing.T) {
	const (
		waits = "mbar.wait mbar.done"
		polls = "mbar.test mbar.test"
		fresh = "mbar.test mbar.test mbar.test" // and more, as each is another question than the last
	)
	for _, c := range []struct {
		name string
		body string // of a thread that asks for phase 0 of [bar], until it is complete
		want string
	}{
		{"branch back", "l: mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0; @!%p0 bra l;", waits},
		{"branch out", "l: mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0; @%p0 bra done; bra.uni l; done:", waits},
		{"test_wait", "l: mbarrier.test_wait.parity.shared.b64 %p0, [bar], 0; @!%p0 bra l;", waits},
		{"with a pause", "l: mbarrier.test_wait.parity.shared.b64 %p0, [bar], 0; @%p0 bra done; nanosleep.u32 20; bra l; done:", waits},
		{"the answer as a number", "l: mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0; selp.b32 %r3, 1, 0, %p0; setp.eq.s32 %p1, %r3, 0; @%p1 bra l;", waits},
		{"the answer as a byte, negated", "l: mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0; selp.u16 %h0, 1, 0, %p0; cvt.u32.u16 %r3, %h0; xor.b32 %r3, %r3, 1; and.b32 %r3, %r3, 255; setp.ne.s32 %p1, %r3, 0; @%p1 bra l;", waits},
		{"the answer as a predicate, twice", "l: mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0; not.pred %p1, %p0; mov.pred %p2, %p1; @%p2 bra l;", waits},
		{"asked once before the loop", "mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0; @%p0 bra done; l: mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0; @!%p0 bra l; done:", waits},
		{"asked twice and no more", "mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0; mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0; l: mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0; st.shared.u32 [word], 1; @!%p1 bra l;", "mbar.test mbar.test mbar.test mbar.test"},
		{"a count of the tries that leads nowhere", "mov.u32 %r3, 0; l: mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0; @%p0 bra done; add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 20; @%p1 bra l; nanosleep.u32 20; bra l; done:", waits},
		{"an address that is computed again", "mov.u64 %d3, bar; l: add.u64 %d4, %d3, 0; mbarrier.try_wait.parity.shared.b64 %p0, [%d4], 0; @!%p0 bra l;", waits},
		{"a limit to the tries", "mov.u32 %r3, 0; l: mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0; @%p0 bra done; add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 10000; @%p1 bra l; trap; done:", polls},
		{"a limit to the time", "mov.u64 %d3, %clock64; l: mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0; @%p0 bra done; mov.u64 %d4, %clock64; sub.u64 %d4, %d4, %d3; setp.lt.u64 %p1, %d4, 1000000; @%p1 bra l; trap; done:", polls},
		{"a parity that goes on", "mov.u32 %r3, 0; l: mbarrier.try_wait.parity.shared.b64 %p0, [bar], %r3; add.u32 %r3, %r3, 2; @!%p0 bra l;", polls},
		{"a parity that goes on before the test", "mov.u32 %r3, 0; l: add.u32 %r3, %r3, 2; mbarrier.try_wait.parity.shared.b64 %p0, [bar], %r3; @!%p0 bra l;", polls},
		{"a parity that is one behind", "mov.u32 %r3, 0; mov.u32 %r4, 0; l: mov.u32 %r4, %r3; add.u32 %r3, %r3, 2; mbarrier.try_wait.parity.shared.b64 %p0, [bar], %r4; @!%p0 bra l;", polls},
		{"a store in between", "l: mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0; @!%p0 st.shared.u32 [word], 1; @!%p0 bra l;", polls},
		{"a guard on the test", "mov.pred %p1, 1; l: @%p1 mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0; @!%p0 bra l;", polls},
		{"another barrier in between", "l: mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0; @%p0 bra done; mbarrier.test_wait.parity.shared.b64 %p1, [bar+8], 0; @!%p1 bra l; bra l; done:", fresh},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := snippet{cfg: block(64), decls: ".shared .align 8 .b64 bar[2]; .shared .u32 word;", body: `
setp.eq.u32 %p9, %r2, 32;
@%p9 mbarrier.init.shared.b64 [bar], 1; @%p9 mbarrier.init.shared.b64 [bar+8], 1;
bar.sync 0;
setp.ge.u32 %p8, %r2, 32; @%p8 bra producer;
setp.ne.u32 %p7, %r2, 0; @%p7 exit;
` + c.body + `
st.global.u32 [%d0], 1;
exit;
producer:
@!%p9 exit;
nanosleep.u32 10000;
mbarrier.arrive.shared.b64 _, [bar];`, each: func(i uint32) []uint32 { return []uint32{1 / (i + 1)} }, once: true}
			s.check(t)
			_, rec := start(t, kernel(t, s.source()), s.cfg, "buf:256")
			var kinds []string
			for _, e := range rec.of(trace.KindMbarTest, trace.KindMbarWait, trace.KindMbarDone) {
				if e.Addr == 0x400 {
					kinds = append(kinds, e.Kind.String())
				}
			}
			got := strings.Join(kinds, " ")
			if got != c.want && !(c.want == fresh && strings.HasPrefix(got, fresh) && !strings.Contains(got, "wait")) {
				t.Errorf("recorded %s", got)
			}
		})
	}
}
