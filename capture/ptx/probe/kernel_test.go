package probe_test

import (
	"strings"
	"testing"

	"btrace/capture/emu"
	"btrace/capture/ptx/probe"
	"btrace/trace"
)

const head = ".version 8.7\n.target sm_100a\n.address_size 64\n"

// kernel is a program with the entry k, whose body is given. It finds its
// thread's number in %r0, the warp's in %r1 and its buffer's address in %d0.
func kernel(name, body string, threads, ctas, cluster uint32, decls ...string) program {
	return program{
		name: name, file: "k.ptx", entry: "k", seeds: 6, args: []string{"buf:4096"},
		src: []byte(head + strings.Join(decls, "\n") + `
.visible .entry k(.param .u64 out) {
	.reg .pred %p<8>; .reg .b16 %h<4>; .reg .b32 %r<20>; .reg .b64 %d<20>;
	.shared .align 8 .b64 mb[8];
	.shared .align 16 .b8 data[1024];
	ld.param.u64 %d0, [out];
	mov.u32 %r0, %tid.x;
	shr.u32 %r1, %r0, 5;
	setp.eq.u32 %p0, %r0, 0;
` + body + "\n}\n"),
		cfg: emu.Config{Grid: trace.Dim{ctas, 1, 1}, Cluster: trace.Dim{cluster, 1, 1}, Block: trace.Dim{threads, 1, 1}},
	}
}

// TestKernels: what the litmus programs and the corpus do not have.
func TestKernels(t *testing.T) {
	for _, p := range []program{
		kernel("barriers and counts in registers, that differ between warps", `
	add.u32 %r2, %r1, 4;
	mov.u32 %r3, 32;
	bar.sync %r2, %r3;
	barrier.sync %r2, 32;
	setp.lt.u32 %p1, %r0, 40;
	bar.red.popc.u32 %r4, 1, %p1;
	barrier.red.or.pred %p2, 2, 64, !%p1;
	barrier.red.and.aligned.pred %p2, %r2, %r3, %p1;
	bar.red.popc.u32 %r4, 3, %p1;`, 64, 1, 1),
		kernel("under a predicate", `
	@%p0 mbarrier.init.shared.b64 [mb], 3;
	bar.sync 0;
	setp.lt.u32 %p1, %r0, 2;
	not.pred %p2, %p1;
	@%p1 mbarrier.arrive.shared.b64 %d1, [mb];
	setp.eq.u32 %p3, %r1, 1;
	@%p3 bar.arrive 3, 64;
	@!%p3 bar.sync 3, 64;
	@!%p1 bra LAST;
	@%p1 mbarrier.arrive.shared.b64 _, [mb], 0;
LAST:
	setp.eq.u32 %p4, %r0, 33;
	@%p4 mbarrier.arrive.shared.b64 %d1, [mb], 1;
	@%p2 bra AGAIN;
	@%p1 mbarrier.test_wait.shared.b64 %p1, [mb], %d1;
AGAIN:
	mbarrier.try_wait.parity.shared.b64 %p5, [mb], 0;
	@!%p5 bra AGAIN;
	@%p3 exit;
	@%p0 ret;`, 64, 1, 1),
		kernel("many mbarriers at once", `
	and.b32 %r2, %r0, 7;
	mov.u32 %r3, mb;
	mad.lo.u32 %r3, %r2, 8, %r3;
	cvt.u64.u32 %d3, %r3;
	cvta.shared.u64 %d4, %d3;
	setp.lt.u32 %p1, %r0, 8;
	add.u32 %r4, %r2, 4;
	@%p1 mbarrier.init.b64 [%d4], %r4;
	bar.sync 0;
	@!%p1 bra WAIT;
	mbarrier.arrive.noComplete.release.cta.b64 %d5, [%d4], %r2;
WAIT:
	mbarrier.arrive.b64 %d4, [%d4];
	mbarrier.test_wait.acquire.cta.b64 %p2, [%r3], %d4;
	@!%p2 mbarrier.test_wait.shared.b64 %p2, [%r3], %d4;
	@!%p2 bra WAIT2;
	bra DONE;
WAIT2:
	mbarrier.try_wait.shared.b64 %p2, [%r3], %d4, 100;
	@!%p2 bra WAIT2;
DONE:
	@%p1 mbarrier.inval.shared.b64 [%r3];`, 32, 1, 1),
		kernel("a test that goes on", `
	@%p0 mbarrier.init.shared.b64 [mb], 2;
	bar.sync 0;
	mov.u32 %r5, 0;
	setp.ne.u32 %p1, %r1, 0;
	@%p1 bra LATE;
ASK:
	mbarrier.test_wait.parity.shared.b64 %p2, [mb], 0;
	@%p2 bra GO;
	add.u32 %r5, %r5, 1;
	st.shared.u32 [data], %r5;
	bra ASK;
LATE:
	setp.lt.u32 %p3, %r0, 34;
	nanosleep.u32 300;
	@%p3 mbarrier.arrive.shared.b64 _, [mb];
GO:
	mbarrier.test_wait.parity.shared.b64 %p2, [mb], 1;
	mbarrier.test_wait.parity.shared.b64 %p2, [mb], 1;`, 64, 1, 1),
		kernel("copies", `
	@!%p0 bra WAIT;
	mbarrier.init.shared.b64 [mb], 1;
	mov.u32 %r2, 64;
	mbarrier.expect_tx.relaxed.cta.shared.b64 [mb], %r2;
	cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [data], [%d0], 64, [mb];
	cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [data], [%d0], %r2, [mb];
	mbarrier.arrive.expect_tx.shared.b64 _, [mb], 64;
	cp.async.ca.shared.global [data+64], [%d0], 4;
	cp.async.mbarrier.arrive.shared.b64 [mb];
	mbarrier.complete_tx.relaxed.cta.shared.b64 [mb], 0;
	mbarrier.arrive.expect_tx.shared.b64 %d5, [mb], %r3;
WAIT:
	bar.warp.sync %r4;`, 1, 1, 1),
		kernel("a cluster", `
	mov.u32 %r2, %cluster_ctarank;
	mov.u32 %r3, mb;
	@%p0 mbarrier.init.shared.b64 [%r3], 4;
	barrier.cluster.arrive.release.aligned;
	barrier.cluster.wait.acquire.aligned;
	xor.b32 %r4, %r2, 1;
	mapa.shared::cluster.u32 %r5, %r3, %r4;
	cvta.shared.u64 %d5, mb;
	mapa.u64 %d6, %d5, %r4;
	setp.lt.u32 %p1, %r0, 2;
	@%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];
	@%p0 mbarrier.arrive.release.cluster.b64 _, [%d6], 1;
	mov.u32 %r6, 16;
	@%p0 st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r5+8], %r6, [%r5];
	@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 4;
AGAIN:
	mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r3], 0;
	@%p2 bra DONE;
	bra AGAIN;
DONE:
	barrier.cluster.arrive;
	barrier.cluster.wait;`, 32, 4, 2),
		kernel("multicast", `
	mov.u32 %r2, %cluster_ctarank;
	@%p0 mbarrier.init.shared.b64 [mb], 1;
	@%p0 mbarrier.init.shared.b64 [mb+8], 3;
	@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [mb], 64;
	barrier.cluster.arrive;
	barrier.cluster.wait;
	mov.u16 %h0, 3;
	setp.eq.and.u32 %p1, %r2, 0, %p0;
	@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [data], [%d0], 64, [mb], %h0;
	@%p1 cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [data], [%d0, {%r0}], [mb+8], 0;
	@%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [mb+8], %h0;
	tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [mb+8];
AGAIN:
	mbarrier.try_wait.parity.shared.b64 %p2, [mb], 0;
	@!%p2 bra AGAIN;
	barrier.cluster.arrive;
	barrier.cluster.wait;`, 1, 2, 2),
		kernel("functions", `
	mov.u32 %r2, 0;
	call.uni meet, (%r0);
LOOP:
	call (%r3), twice, (%r2);
	add.u32 %r2, %r2, 1;
	setp.lt.u32 %p1, %r2, 3;
	@%p1 bra LOOP;
	{
		.reg .pred q;
		setp.eq.u32 q, %r0, 40;
		@q bra INNER;
		bar.warp.sync 0xffffffff;
	INNER:
	}
	call.uni quit, (%r0);
	bar.sync 0;`, 64, 1, 1, `
.func meet(.reg .b32 %n) { .reg .pred %p; setp.lt.u32 %p, %n, 100; @!%p ret; bar.sync 1; }
.func (.reg .b32 %v) twice(.reg .b32 %n) { barrier.sync %n; mul.lo.u32 %v, %n, 2; barrier.sync 4, 64; ret; }
.func none(.reg .b32 %n) { ret; }
.func quit(.reg .b32 %n) { .reg .pred %p; setp.lt.u32 %p, %n, 32; @%p exit; call none, (%n); ret; }`),
		kernel("lanes that arrive together in two phases", `
	@%p0 mbarrier.init.shared.b64 [mb], 16;
	bar.sync 0;
	mbarrier.arrive.shared.b64 %d1, [mb];
	setp.lt.u32 %p1, %r0, 20;
	add.u32 %r3, %r1, 1;
	@%p1 mbarrier.arrive.release.cta.shared.b64 %d2, [mb], %r3;`, 32, 1, 1),
		kernel("all lanes and some of them, in turn", `
	@%p0 mbarrier.init.shared.b64 [mb], 1000;
	mov.u32 %r2, 0;
	setp.lt.u32 %p1, %r0, 20;
LOOP:
	bar.sync 1, 32;
	bar.arrive 3, 1024;
	@!%p1 bra REST;
	barrier.arrive 2, 1024;
	barrier.arrive 2, 1024;
REST:
	bar.warp.sync -1;
	bar.arrive 3, 1024;
	mbarrier.arrive.shared.b64 _, [mb];
	bar.arrive 3, 1024;
	bar.arrive 4, 1024;
	add.u32 %r2, %r2, 1;
	setp.lt.u32 %p2, %r2, 5;
	@%p2 bra LOOP;`, 32, 1, 1),
		kernel("a trap", `
	bar.sync 0;
	setp.eq.u32 %p1, %r0, 3;
	@%p1 trap;`, 32, 1, 1),
		kernel("a wait in braces, unrolled once", `
	@%p0 mbarrier.init.shared.b64 [mb], 64;
	bar.sync 0;
	mbarrier.arrive.shared.b64 _, [mb];
	mov.u32 %r7, mb;
	{
		.reg .pred P1;
		mbarrier.try_wait.parity.shared::cta.b64 P1, [%r7], 0;
		@P1 bra DONE;
	LAB_WAIT:
		mbarrier.try_wait.parity.shared::cta.b64 P1, [%r7], 0;
		@P1 bra DONE;
		bra LAB_WAIT;
	DONE:
	}
	ret;`, 64, 1, 1),
	} {
		t.Run(p.name, p.check)
	}
}

// TestOff: with an empty control block nothing is recorded.
func TestOff(t *testing.T) {
	p := kernel("", "bar.sync 0;", 64, 1, 1)
	m, err := probe.Rewrite(p.src, probe.Options{File: p.file})
	if err != nil {
		t.Fatal(err)
	}
	if res, _ := p.run(t, m.PTX, p.cfg); res.Outcome != trace.OutcomeCompleted {
		t.Fatalf("%s: %s %v", res.Outcome, res.Fault, res.Stuck)
	}
}

// TestFull: a lane takes chunk after chunk, and leaves none with room for less
// than a record.
func TestFull(t *testing.T) {
	p := kernel("", `
	mov.u32 %r2, 0;
	@%p0 mbarrier.init.shared.b64 [mb], 64;
	bar.sync 0;
LOOP:
	mbarrier.arrive.shared.b64 %d1, [mb];
AGAIN:
	mbarrier.try_wait.shared.b64 %p2, [mb], %d1;
	@!%p2 bra AGAIN;
	bar.warp.sync -1;
	add.u32 %r2, %r2, 1;
	setp.lt.u32 %p1, %r2, 700;
	@%p1 bra LOOP;`, 64, 1, 1)
	p.seeds = 1
	p.check(t)
}
