package interp_test

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"btrace/trace"
)

// shuffled is what shfl is to give (PTX ISA, "shfl.sync"), told again: lanes
// of a segment of 32>>log lanes.
func shuffled(mode string, lane, b, clamp, mask uint32) (from uint32, ok bool) {
	low := lane & mask
	high := low | clamp&^mask
	j := int32(lane)
	switch mode {
	case "up":
		j -= int32(b)
		ok = j >= int32(high)
	case "down":
		j += int32(b)
		ok = j <= int32(high)
	case "bfly":
		j ^= int32(b)
		ok = j <= int32(high)
	case "idx":
		j = int32(low | b&^mask)
		ok = j <= int32(high)
	}
	if !ok {
		return lane, false
	}
	return uint32(j), true
}

// TestShuffle: all modes with segments and clamps.
func TestShuffle(t *testing.T) {
	for _, mode := range []string{"up", "down", "bfly", "idx"} {
		for _, c := range []struct{ b, c uint32 }{
			{1, 31}, {16, 31}, {31, 31}, {5, 31}, {0, 0}, {3, 0x1800 | 31&^24}, {2, 0x1c00 | 3}, {1, 0x1c00}, {7, 0x101f}, {31, 5}, {4, 0x0700 | 0x1f}, {33, 0xffffffff},
		} {
			s := snippet{
				name: fmt.Sprintf("%s b=%d c=%#x", mode, c.b, c.c), cfg: block(32), words: 2,
				body: fmt.Sprintf("mul.lo.u32 %%r3, %%r2, 3; shfl.sync.%s.b32 %%r4|%%p0, %%r3, %d, %#x, -1; selp.u32 %%r5, 1, 0, %%p0; st.global.v2.u32 [%%d1], {%%r4, %%r5};", mode, c.b, c.c),
				each: func(i uint32) []uint32 {
					from, ok := shuffled(mode, i, c.b&31, c.c&31, c.c>>8&31)
					if ok {
						return []uint32{3 * from, 1}
					}
					return []uint32{3 * i, 0}
				},
			}
			t.Run(s.name, s.check)
		}
	}
	check(t, []snippet{
		{name: "operands that differ between lanes", cfg: block(32), each: func(i uint32) []uint32 { return []uint32{100 + (31 - i)} }, body: `
add.u32 %r3, %r2, 100;
sub.u32 %r4, 31, %r2;
shfl.sync.idx.b32 %r3, %r3, %r4, 31, 0xffffffff;
st.global.u32 [%d1], %r3;`},
		{name: "halves of the warp, each with its own mask", cfg: block(32), each: func(i uint32) []uint32 { return []uint32{i ^ 1} }, body: `
and.b32 %r3, %r2, 16;
shl.b32 %r4, 0xffff, %r3;
shfl.sync.bfly.b32 %r5, %r2, 1, 31, %r4;
st.global.u32 [%d1], %r5;`},
		{name: "the form without a mask", cfg: block(32), each: func(i uint32) []uint32 { return []uint32{i ^ 16} }, body: `
shfl.bfly.b32 %r5, %r2, 16, 31;
st.global.u32 [%d1], %r5;`},
		{name: "64-bit registers give their lower half", cfg: block(32), words: 2, each: func(i uint32) []uint32 { return []uint32{0xffffffff - (i ^ 1), 0} }, body: `
cvt.s64.s32 %d2, %r2; not.b64 %d2, %d2;
cvt.u32.u64 %r3, %d2;
shfl.sync.bfly.b32 %r4, %r3, 1, 31, -1;
cvt.u64.u32 %d3, %r4;
st.global.u64 [%d1], %d3;`},
	})
}

// TestWarpOperations: vote, match, redux, elect, activemask.
func TestWarpOperations(t *testing.T) {
	full := ^uint32(0)
	check(t, []snippet{
		{name: "votes", cfg: block(32), words: 8, each: func(i uint32) []uint32 {
			return []uint32{0b111, 0, 1, 0, 1, 1, full &^ 0b111, 0}
		}, body: `
setp.lt.u32 %p0, %r2, 3;
vote.sync.ballot.b32 %r3, %p0, -1;
vote.sync.all.pred %p1, %p0, -1; selp.u32 %r4, 1, 0, %p1;
vote.sync.any.pred %p1, %p0, -1; selp.u32 %r5, 1, 0, %p1;
vote.sync.uni.pred %p1, %p0, -1; selp.u32 %r6, 1, 0, %p1;
vote.sync.all.pred %p1, 1, -1; selp.u32 %r7, 1, 0, %p1;
vote.sync.uni.pred %p1, 0, -1; selp.u32 %r8, 1, 0, %p1;
vote.sync.ballot.b32 %r9, !%p0, -1;
st.global.v4.u32 [%d1], {%r3, %r4, %r5, %r6};
st.global.v4.u32 [%d1+16], {%r7, %r8, %r9, 0};`},
		{name: "votes of before sm_70 are of those who are there", cfg: block(32), each: func(i uint32) []uint32 {
			if i < 4 {
				return []uint32{0b1010}
			}
			return []uint32{0}
		}, body: `
setp.ge.u32 %p0, %r2, 4;
@%p0 bra done;
and.b32 %r3, %r2, 1;
setp.eq.u32 %p1, %r3, 1;
vote.ballot.b32 %r4, %p1;
vote.any.pred %p2, %p1;
@%p2 st.global.u32 [%d1], %r4;
done:`},
		{name: "match", cfg: block(32), words: 4, each: func(i uint32) []uint32 {
			mask := uint32(0x49249249) << (i % 3)
			return []uint32{mask & full, full, 0, mask}
		}, body: `
rem.u32 %r3, %r2, 3;
match.any.sync.b32 %r4, %r3, -1;
match.all.sync.b32 %r5, 7, -1;
match.all.sync.b32 %r6|%p0, %r3, -1;
@%p0 mov.u32 %r6, 99;
cvt.u64.u32 %d2, %r3; shl.b64 %d2, %d2, 33;
match.any.sync.b64 %r7, %d2, -1;
st.global.v4.u32 [%d1], {%r4, %r5, %r6, %r7};`},
		{name: "match of part of a warp", cfg: block(32), words: 2, each: func(i uint32) []uint32 {
			if i < 8 {
				return []uint32{0xff, 1}
			}
			return []uint32{0, 0}
		}, body: `
setp.ge.u32 %p0, %r2, 8;
@%p0 bra done;
match.all.sync.b32 %r4|%p1, 5, 0xff;
selp.u32 %r5, 1, 0, %p1;
st.global.v2.u32 [%d1], {%r4, %r5};
done:`},
		{name: "redux", cfg: block(32), words: 8, each: func(i uint32) []uint32 {
			return []uint32{496, 0, 0xffffffff, 31, 0xfffffff0, 15, 31, 0}
		}, body: `
redux.sync.add.u32 %r3, %r2, -1;
redux.sync.min.u32 %r4, %r2, -1;
sub.s32 %r10, %r2, 1; redux.sync.max.u32 %r5, %r10, -1;
redux.sync.max.s32 %r6, %r2, -1;
sub.s32 %r11, %r2, 16; redux.sync.min.s32 %r7, %r11, -1;
redux.sync.max.s32 %r8, %r11, -1;
redux.sync.or.b32 %r9, %r2, -1;
redux.sync.xor.b32 %r12, %r2, -1;
st.global.v4.u32 [%d1], {%r3, %r4, %r5, %r6};
st.global.v4.u32 [%d1+16], {%r7, %r8, %r9, %r12};`},
		{name: "elect", cfg: block(32), words: 2, each: func(i uint32) []uint32 {
			if i < 8 {
				return []uint32{0, uint32(1 &^ min(i, 1))}
			}
			return []uint32{8, uint32(bits.LeadingZeros32(i^8) / 32)}
		}, body: `
setp.lt.u32 %p0, %r2, 8;
@%p0 bra low;
elect.sync %r3|%p1, 0xffffff00;
bra join;
low:
elect.sync %r3|%p1, 0xff;
join:
selp.u32 %r4, 1, 0, %p1;
elect.sync _|%p2, -1;
st.global.v2.u32 [%d1], {%r3, %r4};`},
		{name: "activemask of lanes that have parted", cfg: block(32), each: func(i uint32) []uint32 {
			if i < 8 {
				return []uint32{0xff}
			}
			return []uint32{0xffffff00}
		}, body: `
setp.lt.u32 %p0, %r2, 8;
@%p0 bra low;
activemask.b32 %r3;
bra join;
low:
activemask.b32 %r3;
join:
st.global.u32 [%d1], %r3;`, once: true},
		{name: "a partial warp", cfg: block(40), words: 3, each: func(i uint32) []uint32 {
			if i < 32 {
				return []uint32{full, 31, 0}
			}
			return []uint32{0xff, 39, 32}
		}, body: `
vote.sync.ballot.b32 %r3, 1, -1;
redux.sync.max.u32 %r4, %r2, -1;
shfl.sync.idx.b32 %r5, %r2, 0, 31, -1;
st.global.u32 [%d1], %r3; st.global.u32 [%d1+4], %r4; st.global.u32 [%d1+8], %r5;`},
		{name: "exited lanes are not waited for", cfg: block(32), each: func(i uint32) []uint32 {
			if i < 24 {
				return []uint32{0xffffff}
			}
			return []uint32{0}
		}, body: `
setp.ge.u32 %p0, %r2, 24;
@%p0 exit;
vote.sync.ballot.b32 %r3, 1, -1;
st.global.u32 [%d1], %r3;`},
	})
}

// TestMeeting: lanes of a .sync instruction that come to it apart meet as by
// bar.warp.sync, and are recorded so; lanes that are together are not.
func TestMeeting(t *testing.T) {
	s := snippet{cfg: block(32), body: `
setp.lt.u32 %p0, %r2, 8;
vote.sync.ballot.b32 %r9, %p0, -1;
@%p0 bra low;
nanosleep.u32 100;
bra join;
low:
mov.u32 %r4, 1;
join:
shfl.sync.bfly.b32 %r3, %r2, 16, 31, -1;
st.global.u32 [%d1], %r3;`, each: func(i uint32) []uint32 { return []uint32{i ^ 16} }}
	s.check(t)
	_, rec := start(t, kernel(t, s.source()), s.cfg, "buf:128")
	want := `w0 ffffffff syncwarp mask=ffffffff relaxed @9
w0 ffffffff syncwarp.done mask=ffffffff @9`
	if got := rec.all().String(); got != want {
		t.Errorf("recorded\n%s\nwant\n%s", got, want)
	}

	// Lanes that never come are a hang.
	k := kernel(t, (&snippet{body: `
setp.lt.u32 %p0, %r2, 8;
@%p0 bra low;
loop: bar.sync 1, 64; bra loop;
low:
mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%g0, %g1}, {%g2}, {%g3}, {%g4, %g5};`}).source())
	res, _ := start(t, k, block(32), "buf:128")
	var stuck []string
	for _, s := range res.Stuck {
		stuck = append(stuck, s.String())
	}
	if got := strings.Join(stuck, "\n"); res.Outcome != trace.OutcomeHung || got != `cta 0 warp 0 lanes 000000ff: syncwarp warp:0 at t.ptx:13
cta 0 warp 0 lanes ffffff00: bar.sync bar:1 at t.ptx:11` {
		t.Errorf("%s\n%s", res.Outcome, got)
	}
}

// TestMatrices: fragments go through registers, memory and products; the
// arithmetic itself is tested where it is (package matrix).
func TestMatrices(t *testing.T) {
	check(t, []snippet{
		{name: "ldmatrix, movmatrix, stmatrix", cfg: block(32), words: 4, decls: ".shared .align 16 .b8 s[1024];", each: func(i uint32) []uint32 {
			// Lane i holds row i/4, columns 2*(i%4) and the next.
			row, col := i/4, 2*(i%4)
			a, b := 16*row+col, 16*col+row
			return []uint32{a | (a+1)<<16, b | (b+16)<<16, b | (b+16)<<16, a | (a+1)<<16}
		}, body: `
mov.u32 %r20, s;
setp.ge.u32 %p0, %r2, 8; @%p0 bra filled;
mov.u32 %r3, 0;
fill:
shl.b32 %r4, %r2, 4; add.u32 %r5, %r4, %r3; add.u32 %r6, %r4, %r3; sub.u32 %r6, %r6, %r3; add.u32 %r6, %r6, %r3; add.u32 %r6, %r6, %r3; add.u32 %r6, %r6, %r20;
st.shared.u16 [%r6], %r5;
add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 8; @%p1 bra fill;
filled:
bar.warp.sync -1;
and.b32 %r7, %r2, 7; shl.b32 %r7, %r7, 4; add.u32 %r7, %r7, %r20;
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r8}, [%r7];
ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r9}, [%r7];
movmatrix.sync.aligned.m8n8.trans.b16 %r10, %r8;
add.u32 %r7, %r7, 512;
stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r7], {%r10};
shl.b32 %r11, %r2, 2; add.u32 %r11, %r11, %r20;
ld.shared.u32 %r12, [%r11+512];
st.global.v4.u32 [%d1], {%r8, %r9, %r10, %r12};`},
		{name: "mma of lanes that come apart", cfg: block(32), words: 4, each: func(i uint32) []uint32 { return []uint32{0, 0x40100000, 0, 0x40100000} }, body: `
setp.lt.u32 %p0, %r2, 8;
mov.f64 %g2, 1.0; mov.f64 %g3, 1.0; mov.f64 %g4, 0.0; mov.f64 %g5, 0.0;
@%p0 nanosleep.u32 50;
mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%g0, %g1}, {%g2}, {%g3}, {%g4, %g5};
st.global.v2.f64 [%d1], {%g0, %g1};`},
		{name: "wmma through memory", cfg: block(32), words: 8, decls: ".shared .align 32 .b8 a[512]; .shared .align 32 .b8 c[1024];", each: func(i uint32) []uint32 {
			return []uint32{0x41800000, 0x41800000, 0x41800000, 0x41800000, 0x41800000, 0x41800000, 0x41800000, 0x41800000}
		}, body: `
shl.b32 %r3, %r2, 4; mov.u32 %r4, a; add.u32 %r3, %r3, %r4;
st.shared.v4.b32 [%r3], {0x3c003c00, 0x3c003c00, 0x3c003c00, 0x3c003c00};
bar.warp.sync -1;
mov.u64 %d2, a; mov.u64 %d3, c;
wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}, [%d2], 16;
wmma.load.b.sync.aligned.col.m16n16k16.shared.f16 {%r20, %r21, %r22, %r23, %r24, %r25, %r26, %r27}, [%d2], 16;
wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, {%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}, {%r20, %r21, %r22, %r23, %r24, %r25, %r26, %r27}, {%f10, %f11, %f12, %f13, %f14, %f15, %f16, %f17};
wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%d3], {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, 16;
bar.warp.sync -1;
shl.b32 %r3, %r2, 5; mov.u32 %r4, c; add.u32 %r3, %r3, %r4;
ld.shared.v4.b32 {%r30, %r31, %r32, %r33}, [%r3];
ld.shared.v4.b32 {%r34, %r35, %r36, %r37}, [%r3+16];
st.global.v4.b32 [%d1], {%r30, %r31, %r32, %r33};
st.global.v4.b32 [%d1+16], {%r34, %r35, %r36, %r37};`},
	})
}
