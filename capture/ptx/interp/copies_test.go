package interp_test

import (
	"testing"

	"btrace/capture/emu"
	"btrace/trace"
)

const source16 = ".global .align 16 .b32 g[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};"

// TestCpAsync: cp.async and its groups (PTX ISA, "cp.async").
func TestCpAsync(t *testing.T) {
	const decls = source16 + ".shared .align 16 .b32 s[16];"
	show := "ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [s]; st.global.v4.b32 [%d0], {%r10, %r11, %r12, %r13};\nld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [s+16]; st.global.v4.b32 [%d0+16], {%r10, %r11, %r12, %r13};"
	dirty := "mov.b32 %r9, 99; st.shared.v4.b32 [s], {%r9, %r9, %r9, %r9}; st.shared.v4.b32 [s+16], {%r9, %r9, %r9, %r9};\n"
	check(t, []snippet{
		{name: "sizes", decls: decls, words: 8, want: []uint32{1, 99, 3, 4, 5, 6, 7, 8}, body: dirty + `
cp.async.ca.shared.global [s], [g], 4;
cp.async.ca.shared.global [s+8], [g+8], 8;
cp.async.cg.shared.global.L2::128B [s+16], [g+16], 16;
cp.async.wait_all;
` + show},
		{name: "src-size fills with zeros", decls: decls, words: 8, want: []uint32{1, 2, 0, 0, 0, 0, 0, 0}, body: dirty + `
mov.u32 %r3, 8;
cp.async.cg.shared.global [s], [g], 16, %r3;
mov.u64 %d3, 0;
cp.async.cg.shared.global [s+16], [%d3], 16, 0;
cp.async.wait_all;
` + show},
		{name: "ignore-src", decls: decls, words: 8, want: []uint32{0, 0, 0, 0, 5, 6, 7, 8}, body: dirty + `
mov.pred %p0, 1;
mov.u64 %d3, 0;
cp.async.cg.shared.global [s], [%d3], 16, %p0;
cp.async.cg.shared.global [s+16], [g+16], 16, !%p0;
cp.async.wait_all;
` + show},
		{name: "with a cache policy", decls: decls, words: 8, want: []uint32{1, 0, 99, 99, 5, 6, 7, 8}, body: dirty + `
createpolicy.fractional.L2::evict_last.b64 %d5, 1.0;
cp.async.ca.shared.global.L2::cache_hint [s], [g], 8, 4, %d5;
cp.async.cg.shared.global.L2::cache_hint [s+16], [g+16], 16, %d5;
cp.async.wait_all;
` + show},
		{name: "groups: only what is waited for has happened", decls: decls, words: 8, want: []uint32{1, 99, 3, 99, 99, 99, 99, 99}, body: dirty + `
cp.async.ca.shared.global [s], [g], 4;
cp.async.commit_group;
cp.async.commit_group;
cp.async.ca.shared.global [s+8], [g+8], 4;
cp.async.commit_group;
cp.async.ca.shared.global [s+4], [g+4], 4;
cp.async.commit_group;
cp.async.ca.shared.global [s+16], [g+16], 4;
cp.async.wait_group 1;
` + show},
		{name: "a group more than there are", decls: decls, words: 8, want: []uint32{99, 99, 99, 99, 99, 99, 99, 99}, body: dirty + `
cp.async.ca.shared.global [s], [g], 4;
cp.async.commit_group;
cp.async.wait_group 0xffffffff;
cp.async.wait_group 2;
` + show},
		{name: "the groups of a lane are its own", cfg: block(2), decls: decls, words: 4, each: func(i uint32) []uint32 { return [][]uint32{{1, 99, 99, 99}, {1, 2, 99, 99}}[i] }, body: `
setp.ne.u32 %p0, %r2, 0;
@!%p0 mov.b32 %r9, 99; @!%p0 st.shared.v4.b32 [s], {%r9, %r9, %r9, %r9};
bar.warp.sync -1;
shl.b32 %r3, %r2, 2; mov.u32 %r4, s; add.u32 %r4, %r4, %r3; cvt.u64.u32 %d3, %r3; mov.u64 %d4, g; add.u64 %d4, %d4, %d3;
cp.async.ca.shared.global [%r4], [%d4], 4;
@!%p0 cp.async.commit_group;
cp.async.wait_group 0;
@!%p0 ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [s];
@!%p0 st.global.v4.b32 [%d1], {%r10, %r11, %r12, %r13};
@%p0 cp.async.wait_all;
@%p0 ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [s];
@%p0 st.global.v4.b32 [%d1], {%r10, %r11, %r12, %r13};`, once: true},
		{name: "what the source holds when the copy happens", decls: ".global .u32 v = 1; .shared .u32 s[1];", want: []uint32{2}, body: `
cp.async.ca.shared.global [s], [v], 4;
st.global.u32 [v], 2;
cp.async.wait_all;
ld.shared.u32 %r3, [s];
st.global.u32 [%d0], %r3;`},
	})
}

// TestBulkCopies: cp.async.bulk in all directions, its groups, multicasts and
// reductions.
func TestBulkCopies(t *testing.T) {
	pair := emu.Config{Grid: trace.Dim{2}, Cluster: trace.Dim{2}, Block: trace.Dim{1}}
	const decls = source16 + ".shared .align 16 .b32 s[16]; .shared .align 8 .b64 bar; .global .align 16 .b32 o[16];"
	init := "mbarrier.init.shared.b64 [bar], 1;\n"
	wait := "again: mbarrier.try_wait.parity.shared.b64 %p9, [bar], 0; @!%p9 bra again;\n"
	meet := "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
	show := "ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [s]; st.global.v4.b32 [%d1], {%r10, %r11, %r12, %r13};\n"
	check(t, []snippet{
		{name: "global to shared", decls: decls, words: 8, want: []uint32{5, 6, 7, 8, 9, 10, 11, 12}, body: init + `
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 32;
mov.u32 %r3, 32;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [g+16], %r3, [bar];
` + wait + show + "ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [s+16]; st.global.v4.b32 [%d1+16], {%r10, %r11, %r12, %r13};"},
		{name: "of no bytes", decls: decls, words: 4, want: []uint32{0, 0, 0, 0}, body: init + `
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 0;
mov.u64 %d3, 0;
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [%d3], 0, [bar];
` + wait + show},
		{name: "shared to global, in groups", decls: decls, words: 8, want: []uint32{0, 7, 7, 7, 7, 5, 6, 7}, body: `
mov.b32 %r9, 7; st.shared.v4.b32 [s], {%r9, %r9, %r9, %r9}; st.shared.v4.b32 [s+16], {5, 6, %r9, 8};
cp.async.bulk.global.shared::cta.bulk_group [o], [s], 16;
cp.async.bulk.commit_group;
ld.global.b32 %r3, [o];
cp.async.bulk.global.shared::cta.bulk_group [o+16], [s+16], 16;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group.read 1;
ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [o];
cp.async.bulk.wait_group 0;
ld.global.v2.b32 {%r8, %r11}, [o+16]; ld.global.b32 %r12, [o+24];
st.global.v4.b32 [%d0], {%r3, %r4, %r5, %r6};
st.global.v4.b32 [%d0+16], {%r7, %r8, %r11, %r12};`},
		{name: "with a byte mask", decls: decls, words: 4, want: []uint32{0x02000001, 0, 0, 0x08000000}, body: `
st.shared.v4.b32 [s], {0x02000001, 0x04000003, 0x06000005, 0x08000007};
mov.b16 %h0, 0x8009;
cp.async.bulk.global.shared::cta.bulk_group.cp_mask [o], [s], 16, %h0;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;
ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [o];
st.global.v4.b32 [%d0], {%r4, %r5, %r6, %r7};`},
		{name: "at the end of the thread, whoever waits or not", decls: decls, words: 4, want: []uint32{1, 2, 3, 4}, body: `
st.shared.v4.b32 [s], {1, 2, 3, 4};
cp.async.bulk.global.shared::cta.bulk_group [%d0], [s], 16;`},
		{name: "to the shared memory of a peer", cfg: pair, decls: decls, words: 4, each: func(i uint32) []uint32 { b := 100 * (i ^ 1); return []uint32{b, b + 1, b + 2, b + 3} }, body: init + `
mul.lo.u32 %r3, %r0, 100; add.u32 %r4, %r3, 1; add.u32 %r5, %r3, 2; add.u32 %r6, %r3, 3;
st.shared.v4.b32 [s+16], {%r3, %r4, %r5, %r6};
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;
` + meet + `
mov.u32 %r20, %cluster_ctarank; xor.b32 %r20, %r20, 1;
mov.u32 %r21, s; mapa.shared::cluster.u32 %r21, %r21, %r20;
mov.u32 %r22, bar; mapa.shared::cluster.u32 %r22, %r22, %r20;
cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r21], [s+16], 16, [%r22];
` + wait + show + meet},
		{name: "multicast", cfg: pair, decls: decls, words: 4, each: func(uint32) []uint32 { return []uint32{1, 2, 3, 4} }, body: init + `
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;
` + meet + `
mov.u32 %r20, %cluster_ctarank; setp.ne.u32 %p0, %r20, 0;
mov.b16 %h0, 3;
@!%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [g], 16, [bar], %h0;
` + wait + show + meet},
		{name: "multicast to another, with a policy, by a constant", cfg: pair, decls: decls, words: 4, each: func(i uint32) []uint32 { return [][]uint32{{0, 0, 0, 0}, {1, 2, 3, 4}}[i] }, body: init + meet + `
mov.u32 %r20, %cluster_ctarank; setp.ne.u32 %p0, %r20, 0;
@!%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [s], [g], 16, [bar], 2, %d9;
@!%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [g], 16, [bar], 0;
@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;
@%p0 bra again;
bra over;
` + wait + "over:\n" + show + meet},
		{name: "reductions of arrays", decls: decls, words: 8, want: []uint32{11, 22, 33, 44, 1, 1, 3, 4}, body: init + `
st.shared.v4.b32 [s], {10, 20, 30, 40}; st.shared.v4.b32 [s+16], {1, 2, 3, 4}; st.shared.v4.b32 [s+32], {5, 1, 9, 4};
st.global.v4.b32 [%d0], {1, 2, 3, 4};
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d0], [s], 16;
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;
cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.min.u32 [s+32], [s+16], 16, [bar];
` + wait + `
ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [s+32]; st.global.v4.b32 [%d0+16], {%r10, %r11, %r12, %r13};`},
		{name: "st.async and red.async", cfg: pair, decls: decls, words: 4, each: func(i uint32) []uint32 { p := i ^ 1; return []uint32{p + 1, p + 2, 7 + p, 0} }, body: init + `
st.shared.b32 [s+8], 7;
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 12;
` + meet + `
mov.u32 %r20, %cluster_ctarank; xor.b32 %r21, %r20, 1;
mov.u32 %r22, s; mapa.shared::cluster.u32 %r22, %r22, %r21;
mov.u32 %r23, bar; mapa.shared::cluster.u32 %r23, %r23, %r21;
add.u32 %r3, %r20, 1; add.u32 %r4, %r20, 2;
st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r22], {%r3, %r4}, [%r23];
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r22+8], %r20, [%r23];
` + wait + show + meet},
	})
}

// TestAtomics: atom and red in all spaces; what they compute is tested in
// package arith.
func TestAtomics(t *testing.T) {
	check(t, []snippet{
		{name: "operations", decls: ".shared .align 8 .u32 s[2];", words: 16, want: []uint32{5, 8, 3, 7, 2, 6, 0, 9, 1, 4, 9, 8, 0xffffffff, 0xfffffffe, 0, 0}, body: `
st.shared.u32 [s], 5;
atom.shared.add.u32 %r3, [s], 3;           ld.shared.u32 %r4, [s];
st.shared.u32 [s], 3;
atom.shared.or.b32 %r5, [s], 4;            ld.shared.u32 %r6, [s];
st.shared.u32 [s], 2;
atom.shared.max.u32 %r7, [s], 6;           ld.shared.u32 %r8, [s];
st.shared.u32 [s], 0;
atom.shared.dec.u32 %r9, [s], 9;           ld.shared.u32 %r10, [s];
st.shared.u32 [s], 1;
atom.shared.cas.b32 %r11, [s], 1, 4;       ld.shared.u32 %r12, [s];
st.shared.u32 [s], 9;
atom.shared.cas.b32 %r13, [s], 1, 4;       atom.shared.exch.b32 %r14, [s], 8; ld.shared.u32 %r14, [s];
st.shared.u32 [s], -1;
atom.shared.min.s32 %r15, [s], -2;         ld.shared.u32 %r16, [s];
st.global.v4.u32 [%d0], {%r3, %r4, %r5, %r6};
st.global.v4.u32 [%d0+16], {%r7, %r8, %r9, %r10};
st.global.v4.u32 [%d0+32], {%r11, %r12, %r13, %r14};
st.global.v2.u32 [%d0+48], {%r15, %r16};`},
		{name: "vectors", words: 8, want: []uint32{0x40000000, 0x3f800000, 0x3f800000, 0, 0x3c003c00, 0x3c00, 0x40004000, 0x4000}, body: `
mov.f32 %f0, 1.0; mov.f32 %f1, 0.0; mov.b32 %r3, 0x3c003c00; mov.b32 %r4, 0x3c00;
red.global.add.v2.f32 [%d0], {%f0, %f0};
atom.global.add.v2.f32 {%f2, %f3}, [%d0], {%f0, %f1};
st.global.v2.f32 [%d0+8], {%f2, %f1};
red.global.add.noftz.v2.f16x2 [%d0+16], {%r3, %r4};
red.global.add.noftz.v2.f16x2 [%d0+24], {%r3, %r4};
red.global.add.noftz.v2.f16x2 [%d0+24], {%r3, %r4};`},
		{name: "every lane in turn, with what was there", cfg: block(64), decls: ".global .u32 n;", each: func(i uint32) []uint32 { return []uint32{i} }, body: `
atom.global.add.u32 %r3, [n], 1;
mul.wide.u32 %d2, %r3, 4; add.u64 %d2, %d2, %d0;
st.global.u32 [%d2], %r3;`},
		{name: "generic, narrow and wide, floating", decls: ".shared .align 8 .b64 s;", words: 8, want: []uint32{0x3fc00000, 0x40400000, 0xffffffff, 0, 0xab12, 0, 5, 1}, body: `
cvta.shared.u64 %d2, s;
st.shared.b32 [s], 0x3fc00000;
atom.add.f32 %f0, [%d2], 1.5; ld.shared.f32 %f1, [s];
st.shared.b64 [s], -1;
atom.shared.add.u64 %d3, [s], 0xffffffff00000001;
shr.u64 %d3, %d3, 32;
st.shared.b64 [s], 0xab12;
atom.shared.cas.b16 %h0, [s], 0xab12, 0; cvt.u32.u16 %r5, %h0; ld.shared.u32 %r6, [s];
red.global.add.u32 [%d0+24], 5;
red.relaxed.gpu.global.inc.u32 [%d0+28], 8;
st.global.v2.f32 [%d0], {%f0, %f1};
st.global.u64 [%d0+8], %d3;
st.global.v2.u32 [%d0+16], {%r5, %r6};`},
		{name: "a sum of subnormals is flushed in global memory, not in shared", decls: ".shared .b32 s; .global .b32 v = 1;", words: 4, want: []uint32{2, 0, 2, 0}, body: `
mov.b32 %f0, 1;
st.shared.f32 [s], %f0;
red.shared.add.f32 [s], %f0; ld.shared.b32 %r3, [s];
red.global.add.f32 [v], %f0; ld.global.b32 %r4, [v];
st.shared.f32 [s], %f0;
cvta.shared.u64 %d2, s; red.add.f32 [%d2], %f0; ld.shared.b32 %r5, [s];
st.global.f32 [v], %f0;
mov.u64 %d3, v; red.add.f32 [%d3], %f0; ld.global.b32 %r6, [v];
st.global.v4.b32 [%d0], {%r3, %r4, %r5, %r6};`},
	})
}
