package interp_test

import (
	"testing"

	"btrace/capture/emu"
	"btrace/trace"
)

// TestSpecialRegisters: what they hold (PTX ISA, "Special Registers").
func TestSpecialRegisters(t *testing.T) {
	xyz := func(d trace.Dim, i uint32) []uint32 { return []uint32{i % d[0], i / d[0] % d[1], i / d[0] / d[1], 0} }
	check(t, []snippet{
		{name: "tid of a block of three dimensions, and lanes", cfg: block(5, 3, 4), words: 8, each: func(i uint32) []uint32 {
			return append(xyz(trace.Dim{5, 3, 4}, i), i%32, i/32, 5<<16|3<<8|4, 0)
		}, body: `
mov.u32 %r3, %tid.x; mov.u32 %r4, %tid.y; mov.u32 %r5, %tid.z; mov.u32 %r6, %tid.w;
mad.lo.u32 %r20, %r5, 3, %r4; mad.lo.u32 %r20, %r20, 5, %r3;
mul.wide.u32 %d2, %r20, 32; add.u64 %d2, %d2, %d0;
mov.u32 %r7, %laneid; mov.u32 %r8, %warpid;
mov.u32 %r9, %ntid.x; mov.u32 %r10, %ntid.y; mov.u32 %r11, %ntid.z;
shl.b32 %r9, %r9, 8; or.b32 %r9, %r9, %r10; shl.b32 %r9, %r9, 8; or.b32 %r9, %r9, %r11;
st.global.v4.u32 [%d2], {%r3, %r4, %r5, %r6};
st.global.v4.u32 [%d2+16], {%r7, %r8, %r9, 0};`},
		{name: "CTAs and clusters of three dimensions", cfg: emu.Config{Grid: trace.Dim{4, 2, 3}, Cluster: trace.Dim{2, 2, 1}, Block: trace.Dim{1}}, words: 16, each: func(i uint32) []uint32 {
			x, y, z := i%4, i/4%2, i/8
			return []uint32{x, y, z, 4, 2, 3, x % 2, y % 2, 0, x / 2, y / 2, z, x%2 + 2*(y%2), 4, 2<<16 | 1<<8 | 3, 2<<16 | 2<<8 | 1}
		}, body: `
mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ctaid.y; mov.u32 %r5, %ctaid.z;
mad.lo.u32 %r20, %r5, 2, %r4; mad.lo.u32 %r20, %r20, 4, %r3;
mul.wide.u32 %d2, %r20, 64; add.u64 %d2, %d2, %d0;
mov.u32 %r6, %nctaid.x; mov.u32 %r7, %nctaid.y; mov.u32 %r8, %nctaid.z;
mov.u32 %r9, %cluster_ctaid.x; mov.u32 %r10, %cluster_ctaid.y; mov.u32 %r11, %cluster_ctaid.z;
mov.u32 %r12, %clusterid.x; mov.u32 %r13, %clusterid.y; mov.u32 %r14, %clusterid.z;
mov.u32 %r15, %cluster_ctarank; mov.u32 %r16, %cluster_nctarank;
mov.u32 %r17, %nclusterid.x; mov.u32 %r18, %nclusterid.y; mov.u32 %r19, %nclusterid.z;
shl.b32 %r17, %r17, 8; or.b32 %r17, %r17, %r18; shl.b32 %r17, %r17, 8; or.b32 %r17, %r17, %r19;
mov.u32 %r21, %cluster_nctaid.x; mov.u32 %r22, %cluster_nctaid.y; mov.u32 %r23, %cluster_nctaid.z;
shl.b32 %r21, %r21, 8; or.b32 %r21, %r21, %r22; shl.b32 %r21, %r21, 8; or.b32 %r21, %r21, %r23;
st.global.v4.u32 [%d2], {%r3, %r4, %r5, %r6};
st.global.v4.u32 [%d2+16], {%r7, %r8, %r9, %r10};
st.global.v4.u32 [%d2+32], {%r11, %r12, %r13, %r14};
st.global.v4.u32 [%d2+48], {%r15, %r16, %r17, %r21};`},
		{name: "lane masks", cfg: block(32), words: 5, each: func(i uint32) []uint32 {
			bit := uint32(1) << i
			return []uint32{bit, bit - 1, bit | (bit - 1), ^(bit | (bit - 1)), ^(bit - 1)}
		}, body: `
mov.u32 %r3, %lanemask_eq; mov.u32 %r4, %lanemask_lt; mov.u32 %r5, %lanemask_le; mov.u32 %r6, %lanemask_gt; mov.u32 %r7, %lanemask_ge;
st.global.u32 [%d1], %r3; st.global.u32 [%d1+4], %r4; st.global.u32 [%d1+8], %r5; st.global.u32 [%d1+12], %r6; st.global.u32 [%d1+16], %r7;`},
		{name: "sizes of shared memory", cfg: emu.Config{Shared: 100}, words: 4, decls: ".extern .shared .align 4 .b8 dyn[]; .shared .b8 s[40];", want: []uint32{256, 1024 + 140, 100, 0x120}, body: `
st.shared.u8 [s], 1; st.shared.u8 [dyn], 1;
mov.u32 %r3, %total_smem_size; mov.u32 %r4, %aggr_smem_size; mov.u32 %r5, %dynamic_smem_size; mov.u32 %r6, %reserved_smem_offset_end;
st.global.v4.u32 [%d0], {%r3, %r4, %r5, %r6};`},
		{name: "clusters that are, and are none", cfg: emu.Config{Cluster: trace.Dim{2}, Grid: trace.Dim{2}}, want: []uint32{1, 1}, body: `
mov.pred %p0, %is_explicit_cluster;
selp.u32 %r3, 1, 0, %p0;
st.global.u32 [%d1], %r3;`},
		{name: "no cluster", want: []uint32{0}, body: `
mov.pred %p0, %is_explicit_cluster;
selp.u32 %r3, 1, 0, %p0;
st.global.u32 [%d1], %r3;`},
		{name: "time goes on", cfg: block(32), each: func(uint32) []uint32 { return []uint32{31} }, body: `
mov.u64 %d2, %clock64; mov.u32 %r3, %clock; mov.u64 %d3, %globaltimer; mov.u32 %r4, %globaltimer_lo;
nanosleep.u32 1000;
mov.u64 %d4, %clock64; mov.u32 %r5, %clock; mov.u64 %d5, %globaltimer; mov.u32 %r6, %globaltimer_lo; mov.u32 %r7, %clock_hi; mov.u32 %r8, %globaltimer_hi;
sub.u64 %d4, %d4, %d2; sub.u32 %r5, %r5, %r3; sub.u64 %d5, %d5, %d3; sub.u32 %r6, %r6, %r4;
mov.u32 %r9, 0;
setp.ge.u64 %p0, %d4, 1000; @%p0 add.u32 %r9, %r9, 1;
setp.ge.u32 %p0, %r5, 1000; @%p0 add.u32 %r9, %r9, 2;
setp.ge.u64 %p0, %d5, 1000; @%p0 add.u32 %r9, %r9, 4;
setp.ge.u32 %p0, %r6, 1000; @%p0 add.u32 %r9, %r9, 8;
or.b32 %r7, %r7, %r8; setp.eq.u32 %p0, %r7, 0; @%p0 add.u32 %r9, %r9, 16;
st.global.u32 [%d1], %r9;`, once: true},
		{name: "names for components, and what a launch does not have", words: 4, cfg: block(2, 1, 1), each: func(i uint32) []uint32 { return []uint32{i, 0, 0, 0} }, body: `
mov.u32 %r3, %tid.r; mov.u32 %r4, %tid.a; mov.u64 %d2, %current_graph_exec; mov.u32 %r5, %envreg7; cvt.u32.u64 %r6, %d2;
st.global.v4.u32 [%d1], {%r3, %r4, %r5, %r6};`},
		{name: "as operands of anything", cfg: block(32), each: func(i uint32) []uint32 { return []uint32{2 * i} }, body: `
add.u32 %r3, %tid.x, %laneid;
st.global.u32 [%d1], %r3;`},
		{name: "the launch's number", cfg: emu.Config{Launch: 3}, want: []uint32{3}, body: `
mov.u64 %d2, %gridid; cvt.u32.u64 %r3, %d2; st.global.u32 [%d0], %r3;`},
	})
}

// TestCooperative: the driver hands the grid's workspace over in %envreg1 and
// 2; it is zero, and all CTAs see the same.
func TestCooperative(t *testing.T) {
	check(t, []snippet{{
		name: "a grid barrier by hand", cfg: emu.Config{Grid: trace.Dim{5}, Block: trace.Dim{32}, Cooperative: true},
		each: func(uint32) []uint32 { return []uint32{160} }, body: `
mov.b32 %r3, %envreg1; mov.b32 %r4, %envreg2; mov.b64 %d2, {%r4, %r3};
red.release.gpu.global.add.u32 [%d2+16], 1;
spin:
ld.acquire.gpu.global.u32 %r5, [%d2+16];
setp.lt.u32 %p0, %r5, 160;
@%p0 bra spin;
st.global.u32 [%d1], %r5;`}})
}
