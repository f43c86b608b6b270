package interp_test

import (
	"strings"
	"testing"

	"btrace/capture/emu"
	"btrace/trace"
)

// TestBarriers: bar, barrier and barrier.cluster: results, and what is
// recorded, with the line of PTX and that of .loc.
func TestBarriers(t *testing.T) {
	for _, c := range []struct {
		snippet
		events string
	}{
		{snippet{name: "sync and arrive, with and without counts", cfg: block(64), each: func(uint32) []uint32 { return []uint32{1} }, body: `
bar.sync 0;
barrier.sync.aligned 1;
barrier.cta.sync 2, 64;
setp.lt.u32 %p0, %r2, 32;
@%p0 bar.arrive 3, 64;
@!%p0 bar.sync 3, 64;
st.global.u32 [%d1], 1;`}, `
w0 ffffffff bar.sync bar=0 count=0 aligned @1
w1 ffffffff bar.sync bar=0 count=0 aligned @1
w0 ffffffff bar.done bar=0 @1
w1 ffffffff bar.done bar=0 @1
w0 ffffffff bar.sync bar=1 count=0 aligned @2
w1 ffffffff bar.sync bar=1 count=0 aligned @2
w0 ffffffff bar.done bar=1 @2
w1 ffffffff bar.done bar=1 @2
w0 ffffffff bar.sync bar=2 count=64 @3
w1 ffffffff bar.sync bar=2 count=64 @3
w0 ffffffff bar.done bar=2 @3
w1 ffffffff bar.done bar=2 @3
w0 ffffffff bar.arrive bar=3 count=64 aligned @5
w1 ffffffff bar.sync bar=3 count=64 aligned @6
w1 ffffffff bar.done bar=3 @6`},
		{snippet{name: "reductions", cfg: block(64), words: 4, each: func(i uint32) []uint32 { return []uint32{3, 0, 1, 61} }, body: `
setp.lt.u32 %p0, %r2, 3;
bar.red.popc.u32 %r3, 0, %p0;
barrier.cta.red.and.aligned.pred %p1, 1, 64, %p0; selp.u32 %r4, 1, 0, %p1;
barrier.red.or.pred %p2, 2, %p0; selp.u32 %r5, 1, 0, %p2;
bar.cta.red.popc.u32 %r6, 0, !%p0;
st.global.v4.u32 [%d1], {%r3, %r4, %r5, %r6};`}, `
w0 ffffffff bar.red bar=0 count=0 aligned popc pred=7 @2
w1 ffffffff bar.red bar=0 count=0 aligned popc pred=0 @2
w0 ffffffff bar.done bar=0 result=3 @2
w1 ffffffff bar.done bar=0 result=3 @2
w0 ffffffff bar.red bar=1 count=64 aligned and pred=7 @3
w1 ffffffff bar.red bar=1 count=64 aligned and pred=0 @3
w0 ffffffff bar.done bar=1 result=0 @3
w1 ffffffff bar.done bar=1 result=0 @3
w0 ffffffff bar.red bar=2 count=0 or pred=7 @4
w1 ffffffff bar.red bar=2 count=0 or pred=0 @4
w0 ffffffff bar.done bar=2 result=1 @4
w1 ffffffff bar.done bar=2 result=1 @4
w0 ffffffff bar.red bar=0 count=0 aligned popc pred=fffffff8 @5
w1 ffffffff bar.red bar=0 count=0 aligned popc pred=ffffffff @5
w0 ffffffff bar.done bar=0 result=61 @5
w1 ffffffff bar.done bar=0 result=61 @5`},
		{snippet{name: "a barrier and a count in registers, that differ between warps", cfg: block(128), each: func(uint32) []uint32 { return []uint32{1} }, body: `
shr.u32 %r3, %r2, 6; add.u32 %r3, %r3, 4;
mov.u32 %r4, 64;
bar.sync %r3, %r4;
st.global.u32 [%d1], 1;`, once: true}, `
w0 ffffffff bar.sync bar=4 count=64 aligned @3
w1 ffffffff bar.sync bar=4 count=64 aligned @3
w2 ffffffff bar.sync bar=5 count=64 aligned @3
w3 ffffffff bar.sync bar=5 count=64 aligned @3
w0 ffffffff bar.done bar=4 @3
w1 ffffffff bar.done bar=4 @3
w2 ffffffff bar.done bar=5 @3
w3 ffffffff bar.done bar=5 @3`},
		{snippet{name: "bar.warp.sync of two halves", cfg: block(32), each: func(uint32) []uint32 { return []uint32{1} }, body: `
setp.lt.u32 %p0, %r2, 16;
selp.u32 %r3, 0xffff, 0xffff0000, %p0;
bar.warp.sync %r3;
st.global.u32 [%d1], 1;`}, `
w0 ffff syncwarp mask=ffff @3
w0 ffff syncwarp.done mask=ffff @3
w0 ffff0000 syncwarp mask=ffff0000 @3
w0 ffff0000 syncwarp.done mask=ffff0000 @3`},
		{snippet{name: "clusters", cfg: emu.Config{Grid: trace.Dim{2}, Cluster: trace.Dim{2}, Block: trace.Dim{1}}, each: func(uint32) []uint32 { return []uint32{1} }, body: `
barrier.cluster.arrive.relaxed.aligned;
barrier.cluster.wait.acquire;
st.global.u32 [%d1], 1;`}, `
w0 1 cluster.arrive aligned relaxed @1
c1 w0 1 cluster.arrive aligned relaxed @1
w0 1 cluster.wait acquire @2
c1 w0 1 cluster.wait acquire @2
w0 1 cluster.done @2
c1 w0 1 cluster.done @2`},
		{snippet{name: "source lines, and none before the first", cfg: block(1), each: func(uint32) []uint32 { return []uint32{1} }, decls: `.file 1 "/a/b/kernel.cu" .file 2 "x.cuh"`, body: `
bar.sync 1;
.loc 1 17 3
bar.sync 0;
.loc 1 18 1
bar.sync 0;
{ .loc 1 19 1
bar.sync 0; }
bar.sync 0;
.loc 3 5 1
bar.sync 2;
st.global.u32 [%d1], 1;`}, `
w0 1 bar.sync bar=1 count=0 aligned @1
w0 1 bar.done bar=1 @1
w0 1 bar.sync bar=0 count=0 aligned kernel.cu:17 @3
w0 1 bar.done bar=0 kernel.cu:17 @3
w0 1 bar.sync bar=0 count=0 aligned kernel.cu:18 @5
w0 1 bar.done bar=0 kernel.cu:18 @5
w0 1 bar.sync bar=0 count=0 aligned kernel.cu:19 @7
w0 1 bar.done bar=0 kernel.cu:19 @7
w0 1 bar.sync bar=0 count=0 aligned kernel.cu:19 @8
w0 1 bar.done bar=0 kernel.cu:19 @8
w0 1 bar.sync bar=2 count=0 aligned @10
w0 1 bar.done bar=2 @10`},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.check(t)
			_, rec := start(t, kernel(t, c.source()), c.cfg, "buf:4096")
			if got := rec.all().String(); got != strings.TrimSpace(c.events) {
				t.Errorf("recorded\n%s\nwant%s", got, c.events)
			}
		})
	}
}

// TestEarlyExit: lanes and warps that have left are not waited for.
func TestEarlyExit(t *testing.T) {
	check(t, []snippet{
		{name: "a warp", cfg: block(96), each: func(i uint32) []uint32 { return []uint32{1 - i/64} }, body: `
setp.ge.u32 %p0, %r2, 64; @%p0 exit;
bar.sync 0;
st.global.u32 [%d1], 1;`},
		{name: "lanes that come to the end by ret, at different times", cfg: block(32), each: func(i uint32) []uint32 { return []uint32{i} }, body: `
mov.u32 %r3, 0;
loop:
st.global.u32 [%d1], %r3;
setp.eq.u32 %p0, %r3, %r2; @%p0 ret;
add.u32 %r3, %r3, 1;
bra loop;`},
	})
}
