package interp_test

import (
	"testing"

	"btrace/capture/emu"
	"btrace/trace"
)

// TestAddresses: every form of an address, in every space (PTX ISA, "Addresses
// as Operands").
func TestAddresses(t *testing.T) {
	check(t, []snippet{
		{name: "register, register plus offset, register minus offset", want: []uint32{1, 2, 3}, body: `
st.global.u32 [%d0], 1;
st.global.u32 [%d0+4], 2;
add.u64 %d2, %d0, 16;
st.global.u32 [%d2+-8], 3;`},
		{name: "variable, variable plus offset", want: []uint32{7, 9, 8, 9}, decls: ".global .u32 v[4] = {7, 8};", body: `
st.global.u32 [v+12], 9;
ld.global.u32 %r3, [v];
ld.global.u32 %r4, [v+12];
st.global.u32 [%d0], %r3;
st.global.u32 [%d0+4], %r4;
mov.u64 %d2, v;
ld.global.u32 %r5, [%d2+4];
st.global.u32 [%d0+8], %r5;
mov.u64 %d3, v+12;
ld.global.u32 %r6, [%d3];
st.global.u32 [%d0+12], %r6;`},
		{name: "immediate", want: []uint32{5}, decls: ".shared .u32 s[4];", body: `
st.shared.u32 [s+8], 5;
ld.shared.u32 %r3, [0x408];
st.global.u32 [%d0], %r3;`},
		{name: "32-bit registers in shared memory, negative offset", want: []uint32{6}, decls: ".shared .u32 s[4];", body: `
mov.u32 %r3, s;
add.s32 %r3, %r3, 12;
st.shared.u32 [%r3+-12], 6;
ld.shared.u32 %r4, [s];
st.global.u32 [%d0], %r4;`},
		{name: "a register wider than the space needs is truncated", want: []uint32{6}, decls: ".shared .u32 s[4];", body: `
mov.u64 %d2, s;
add.u64 %d2, %d2, 0x700000000;
st.shared.u32 [%d2], 6;
ld.shared.u32 %r4, [s];
st.global.u32 [%d0], %r4;`},
		{name: "a negative 32-bit index", want: []uint32{0, 6}, decls: ".shared .u32 s[4];", body: `
mov.u32 %r3, -4;
mov.u32 %r4, s;
add.s32 %r3, %r3, %r4;
st.shared.u32 [%r3+8], 6;
ld.shared.u32 %r4, [s+4];
st.global.u32 [%d0+4], %r4;`},
		{name: "local arrays, by register", want: []uint32{3, 4}, body: `
.local .align 8 .b8 l[64];
mov.u64 %d2, l;
st.local.u32 [%d2+8], 3;
st.local.u32 [l+12], 4;
ld.local.v2.u32 {%r3, %r4}, [l+8];
st.global.v2.u32 [%d0], {%r3, %r4};`},
		{name: "parameters, by name and by pointer", want: []uint32{1, 1}, body: `
mov.u64 %d2, out;
ld.param.u64 %d3, [%d2];
setp.eq.u64 %p0, %d3, %d0;
selp.u32 %r3, 1, 0, %p0;
cvta.param.u64 %d4, %d2;
ld.u64 %d5, [%d4];
setp.eq.u64 %p1, %d5, %d0;
selp.u32 %r4, 1, 0, %p1;
st.global.v2.u32 [%d0], {%r3, %r4};`},
	})
}

// TestGeneric: addresses of all spaces as generic ones, and back (PTX ISA,
// "Generic Addressing", "cvta", "isspacep").
func TestGeneric(t *testing.T) {
	const decls = ".shared .u32 s[2]; .global .u32 g[2]; .const .u32 c[2] = {40, 41};"
	spaces := func(reg string) string {
		text := "mov.u32 %r9, 0;\n"
		for i, sp := range []string{"global", "shared", "local", "param", "const", "shared::cta", "shared::cluster", "param::entry"} {
			text += "isspacep." + sp + " %p1, " + reg + "; selp.u32 %r10, " + []string{"1", "2", "4", "8", "16", "32", "64", "128"}[i] + ", 0, %p1; or.b32 %r9, %r9, %r10;\n"
		}
		return text
	}
	check(t, []snippet{
		{name: "shared", decls: decls, want: []uint32{11, 12, 2 + 32 + 64}, body: `
cvta.shared.u64 %d2, s;
st.u32 [%d2], 11;
ld.shared.u32 %r3, [s];
mov.u64 %d3, s;
cvta.shared.u64 %d3, %d3;
st.u32 [%d3+4], 12;
cvta.to.shared.u64 %d4, %d3;
ld.shared.u32 %r4, [%d4+4];` + "\n" + spaces("%d3") + `st.global.u32 [%d0], %r3; st.global.u32 [%d0+4], %r4; st.global.u32 [%d0+8], %r9;`},
		{name: "global", decls: decls, want: []uint32{13, 1}, body: `
cvta.global.u64 %d2, g+4;
st.u32 [%d2], 13;
cvta.to.global.u64 %d3, %d2;
ld.global.u32 %r3, [%d3];` + "\n" + spaces("%d2") + `st.global.u32 [%d0], %r3; st.global.u32 [%d0+4], %r9;`},
		{name: "local", decls: decls, want: []uint32{14, 4, 15}, body: `
.local .u32 l[4];
cvta.local.u64 %d2, l;
st.u32 [%d2], 14;
ld.local.u32 %r3, [l];
mov.u64 %d4, l;
add.u64 %d4, %d4, 4;
cvta.local.u64 %d5, %d4;
st.u32 [%d5], 15;
cvta.to.local.u64 %d6, %d5;
ld.local.u32 %r4, [%d6];` + "\n" + spaces("%d2") + `st.global.u32 [%d0], %r3; st.global.u32 [%d0+4], %r9; st.global.u32 [%d0+8], %r4;`},
		{name: "const", decls: decls, want: []uint32{41, 16, 40}, body: `
cvta.const.u64 %d2, c;
ld.u32 %r3, [%d2+4];
ld.const.u32 %r4, [c];` + "\n" + spaces("%d2") + `st.global.u32 [%d0], %r3; st.global.u32 [%d0+4], %r9; st.global.u32 [%d0+8], %r4;`},
		{name: "a kernel parameter is in the global window too", decls: decls, want: []uint32{1 + 8 + 128}, body: `
mov.u64 %d2, out;
cvta.param.u64 %d2, %d2;` + "\n" + spaces("%d2") + `st.global.u32 [%d0], %r9;`},
		{name: "an instruction without a space takes that of the variable", decls: decls, want: []uint32{21, 22, 23, 40}, body: `
.local .u32 l;
st.u32 [s], 21;
st.u32 [g], 22;
st.u32 [l], 23;
ld.u32 %r3, [s];
ld.u32 %r4, [g];
ld.u32 %r5, [l];
ld.u32 %r6, [c];
st.v4.u32 [%d0], {%r3, %r4, %r5, %r6};`},
	})
}

// TestVariables: initial values, their addresses in each other, and where
// shared memory lies.
func TestVariables(t *testing.T) {
	ptr := func(body string) string {
		return body + "\nst.global.u32 [%d0], %r3;"
	}
	check(t, []snippet{
		{name: "all widths", want: []uint32{0x0403ff01, 0x80007fff, 0xffffffff, 0x9abcdef0, 0x12345678, 0x3f800000, 0, 0x40000000},
			decls: `.global .align 8 .u8 a[4] = {1, -1, 3, 4}; .global .align 8 .s16 b[2] = {32767, -32768};
.const .align 8 .b64 c[1] = {0x123456789abcdef0}; .global .s32 m = -1; .global .f32 f = 1.0; .global .f64 g = 2.0;`, body: `
ld.global.u32 %r3, [a];
ld.global.u32 %r4, [b];
ld.global.u32 %r5, [m];
ld.const.v2.u32 {%r6, %r7}, [c];
ld.global.u32 %r8, [f];
ld.global.v2.u32 {%r9, %r10}, [g];
st.global.v4.u32 [%d0], {%r3, %r4, %r5, %r6};
st.global.v4.u32 [%d0+16], {%r7, %r8, %r9, %r10};`},
		{name: "what has no initial value is zero", want: []uint32{0, 5, 0}, decls: ".global .u32 a[3] = {0, 5}; .global .u32 z;", body: `
ld.global.u32 %r3, [z];
ld.global.u32 %r4, [a+4];
ld.global.u32 %r5, [a+8];
st.global.u32 [%d0], %r3;
st.global.u32 [%d0+4], %r4;
st.global.u32 [%d0+8], %r5;`},
		{name: "two dimensions", want: []uint32{6}, decls: ".global .u32 a[2][3] = {{1, 2, 3}, {4, 5, 6}};",
			body: ptr("ld.global.u32 %r3, [a+20];")},
		{name: "the address of a variable", want: []uint32{77}, decls: ".global .u32 x[2] = {76, 77}; .global .u64 p = x+4;",
			body: ptr("ld.global.u64 %d2, [p]; ld.global.u32 %r3, [%d2];")},
		{name: "of one that is declared later, in constant memory", want: []uint32{78}, decls: ".extern .global .u32 x[2]; .const .u64 p[2] = {0, generic(x)}; .global .u32 x[2] = {78};",
			body: ptr("ld.const.u64 %d2, [p+8]; ld.u32 %r3, [%d2];")},
		{name: "generic address of shared memory", want: []uint32{79}, decls: ".shared .u32 s[2]; .global .u64 p = generic(s)+4;",
			body: ptr("ld.global.u64 %d2, [p]; st.shared.u32 [s+4], 79; ld.u32 %r3, [%d2];")},
		{name: "bytes of an address", want: []uint32{1}, decls: `.global .u32 x; .global .u8 p[8] = {0xFF(x), 0xFF00(x), 0xFF0000(x), 0xFF000000(x), 0xFF00000000(x), 0xFF0000000000(x), 0xFF000000000000(x), 0xFF00000000000000(x)};`, body: `
ld.global.u8 %d2, [p+7];
mov.u32 %r4, 6;
loop:
cvt.u64.u32 %d3, %r4; mov.u64 %d4, p; add.u64 %d3, %d3, %d4; ld.global.u8 %d5, [%d3]; shl.b64 %d2, %d2, 8; or.b64 %d2, %d2, %d5;
sub.u32 %r4, %r4, 1;
setp.ge.s32 %p0, %r4, 0;
@%p0 bra loop;
mov.u64 %d6, x;
setp.eq.u64 %p1, %d6, %d2;
selp.u32 %r3, 1, 0, %p1;
st.global.u32 [%d0], %r3;`},
		{name: "a table of functions", want: []uint32{30}, decls: ".func (.reg .b32 r) one() { mov.u32 r, 10; ret; } .func (.reg .b32 r) two() { mov.u32 r, 20; ret; } .global .u64 table[2] = {one, two};", body: `
ld.global.u64 %d2, [table];
call (%r4), %d2, (), proto;
ld.global.u64 %d2, [table+8];
call (%r5), %d2, (), proto;
add.u32 %r3, %r4, %r5;
st.global.u32 [%d0], %r3;
proto: .callprototype (.reg .b32 _) _ ();`},
		{name: "dynamic shared memory is behind the static, however they are named", cfg: emu.Config{Shared: 64}, want: []uint32{1, 2, 1, 3, 1},
			decls: ".extern .shared .align 4 .b8 dyn[]; .shared .u32 a; .shared .u32 b[2];", body: `
mov.u32 %r20, dyn;
st.shared.u32 [a], 1;
st.shared.u32 [b+4], 2;
st.shared.u32 [dyn+4], 3;
ld.shared.u32 %r3, [a];
ld.shared.u32 %r4, [b+4];
ld.shared.u32 %r5, [%r20+4];
mov.u32 %r6, b;
setp.gt.u32 %p0, %r20, %r6;
selp.u32 %r7, 1, 0, %p0;
mov.u64 %d3, dyn;
cvta.shared.u64 %d4, dyn;
cvta.to.shared.u64 %d4, %d4;
setp.eq.u64 %p1, %d3, %d4;
cvt.u32.u64 %r8, %d3;
setp.eq.and.u32 %p1, %r8, %r20, %p1;
selp.u32 %r9, 1, 0, %p1;
st.global.u32 [%d0], %r3; st.global.u32 [%d0+4], %r4; st.global.u32 [%d0+8], %r7; st.global.u32 [%d0+12], %r5; st.global.u32 [%d0+16], %r9;`},
		{name: "alignment of dynamic shared memory", cfg: emu.Config{Shared: 64}, want: []uint32{0}, decls: ".extern .shared .align 1024 .b8 dyn[]; .shared .u32 a[3];", body: `
st.shared.u32 [a], 1;
mov.u32 %r4, dyn;
and.b32 %r3, %r4, 1023;
st.global.u32 [%d0], %r3;`},
		{name: "shared memory of functions", want: []uint32{5, 5}, decls: ".func f() { .shared .u32 s; .reg .u32 r; ld.shared.u32 r, [s]; add.u32 r, r, 1; st.shared.u32 [s], r; ret; } .func (.reg .b32 r) g() { .shared .u32 s; ld.shared.u32 r, [s]; add.u32 r, r, 5; st.shared.u32 [s], r; ret; }", body: `
call f; call f;
call (%r3), g;
st.global.u32 [%d0], %r3;
call f;
ld.global.u32 %r4, [%d0];
st.global.u32 [%d0+4], %r4;`},
		{name: "every launch begins with the initial values", want: []uint32{1}, decls: ".global .u32 n;", body: `
atom.global.add.u32 %r3, [n], 1;
add.u32 %r3, %r3, 1;
st.global.u32 [%d0], %r3;`},
	})
}

// TestWidths: sign extension and truncation of what is loaded and stored, and
// vectors.
func TestWidths(t *testing.T) {
	const v = ".global .align 16 .b8 v[32] = {0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x8b, 0x8c, 0x8d, 0x8e, 0x8f, 0x90, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};"
	check(t, []snippet{
		{name: "loads into wider registers", decls: v, want: []uint32{0xffffff81, 0x81, 0xffff8281, 0x8281, 0x84838281, 0xffffffff, 0x84838281, 0}, body: `
ld.global.s8 %r3, [v];
ld.global.u8 %r4, [v];
ld.global.s16 %r5, [v];
ld.global.b16 %r6, [v];
st.global.v4.u32 [%d0], {%r3, %r4, %r5, %r6};
ld.global.s32 %d3, [v];
ld.global.u32 %d4, [v];
st.global.v2.u64 [%d0+16], {%d3, %d4};`},
		{name: "sign extension in shared and local memory, strong and weak", decls: ".shared .u32 s;", want: []uint32{0xfffffffe, 0xfffffffe, 0xfffffffe, 0xfffffffe}, body: `
.local .u32 l;
st.shared.u32 [s], 0xfffe;
st.local.u32 [l], 0xfe;
ld.shared.s16 %r3, [s];
ld.volatile.shared.s16 %r4, [s];
ld.local.s8 %r5, [l];
ld.relaxed.cta.shared.s8 %r6, [s];
st.global.v4.u32 [%d0], {%r3, %r4, %r5, %r6};`},
		{name: "stores of parts of registers", want: []uint32{0xaa78, 0x5678, 0x9abcdef0}, body: `
mov.b64 %d2, 0x123456789abcdef0;
mov.b32 %r3, 0x12345678;
st.global.u8 [%d0+1], 0xaa;
st.global.u8 [%d0], %r3;
st.global.u16 [%d0+4], %r3;
st.global.u32 [%d0+8], %d2;`},
		{name: "vectors of every shape", decls: v, words: 8, want: []uint32{0x8281, 0x8483, 0x81, 0x84, 0x8c8b8a89, 0x100f0e0d, 0x8786, 0}, body: `
ld.global.v2.u16 {%h0, %h1}, [v];
cvt.u32.u16 %r3, %h0; cvt.u32.u16 %r4, %h1;
ld.global.v4.u8 {%r5, _, %r6, %r6}, [v];
ld.global.v4.b32 {%r7, %r8, %r9, %r10}, [v];
ld.global.v2.b64 {%d2, %d3}, [v+16];
shr.u64 %d3, %d3, 32;
cvt.u32.u64 %r11, %d3;
ld.global.v4.u16 {_, _, %h2, %h3}, [v];
st.global.v4.b32 [%d0], {%r3, %r4, %r5, %r6};
st.global.v2.b32 [%d0+16], {%r9, %r11};
mov.b16 %h4, 0x8786;
st.global.v4.u8 [%d0+24], {%h4, %h5, 0, 0};
shr.u16 %h5, %h4, 8;
st.global.u8 [%d0+25], %h5;`},
		{name: "eight at a time", words: 16, want: []uint32{1, 2, 3, 4, 5, 6, 7, 8, 1, 0, 2, 0, 3, 0, 4, 0}, cfg: emu.Config{}, body: `
.local .align 32 .b8 l[64];
mov.u32 %r3, 1; mov.u32 %r4, 2; mov.u32 %r5, 3; mov.u32 %r6, 4;
st.local.v8.b32 [l], {%r3, %r4, %r5, %r6, 5, 6, 7, 8};
ld.local.v8.b32 {%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}, [l];
st.global.v4.b32 [%d0], {%r10, %r11, %r12, %r13};
st.global.v4.b32 [%d0+16], {%r14, %r15, %r16, %r17};
st.local.v4.b64 [l+32], {1, 2, 3, 4};
ld.local.v4.b64 {%d2, %d3, %d4, %d5}, [l+32];
st.global.v2.b64 [%d0+32], {%d2, %d3};
st.global.v2.b64 [%d0+48], {%d4, %d5};`},
		{name: "cache operators and policies change nothing", decls: v, want: []uint32{0x84838281, 0x84838281, 0x84838281, 0x84838281}, body: `
createpolicy.fractional.L2::evict_last.b64 %d5, 1.0;
ld.global.ca.u32 %r3, [v];
ld.global.nc.L1::no_allocate.L2::128B.u32 %r4, [v];
ld.global.L2::cache_hint.u32 %r5, [v], %d5;
ldu.global.u32 %r6, [v];
st.global.cs.v2.u32 [%d0], {%r3, %r4};
st.global.L2::cache_hint.v2.u32 [%d0+8], {%r5, %r6}, %d5;
prefetch.global.L2 [%d0]; prefetchu.L1 [%d0]; discard.global.L2 [%d2], 128; applypriority.global.L2::evict_normal [%d0], 128;`},
	})
}

// TestSharedOfClusters: every CTA has its own shared memory, and reaches that
// of its cluster.
func TestSharedOfClusters(t *testing.T) {
	cluster := func(grid, cluster uint32) emu.Config {
		return emu.Config{Grid: trace.Dim{grid}, Cluster: trace.Dim{cluster}, Block: trace.Dim{1}}
	}
	check(t, []snippet{
		{name: "mapa, generic and explicit, loads, stores and atomics", cfg: cluster(4, 2), decls: ".shared .u32 s[4];", words: 4, each: func(i uint32) []uint32 {
			peer := i ^ 1
			return []uint32{100 + peer, 200 + peer, 300 + 2*i + 1, 1}
		}, body: `
mov.u32 %r3, %cluster_ctarank;
xor.b32 %r4, %r3, 1;
add.u32 %r5, %r0, 100;
st.shared.u32 [s], %r5;
mov.u32 %r6, s;
mapa.shared::cluster.u32 %r7, %r6, %r4;
mov.u64 %d2, s;
cvta.shared.u64 %d2, %d2;
mapa.u64 %d3, %d2, %r4;
add.u32 %r8, %r0, 200;
st.shared::cluster.u32 [%r7+4], %r8;
add.u32 %r9, %r0, 300;
atom.shared::cluster.add.u32 %r10, [%r7+8], %r9;
add.u32 %r9, %r0, %r0;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
ld.u32 %r11, [%d3];
ld.shared.u32 %r12, [s+4];
ld.shared.u32 %r13, [s+8];
add.u32 %r13, %r13, %r0; add.u32 %r13, %r13, %r0; add.u32 %r13, %r13, 1;
sub.u32 %r14, %r0, 0; xor.b32 %r14, %r14, 1; sub.u32 %r13, %r13, %r14;
getctarank.u64 %r15, %d3;
setp.eq.u32 %p0, %r15, %r4;
getctarank.shared::cluster.u32 %r16, %r7;
setp.eq.and.u32 %p0, %r16, %r4, %p0;
getctarank.u64 %r17, %d2;
setp.eq.and.u32 %p0, %r17, %r3, %p0;
isspacep.shared::cta %p1, %d3;
isspacep.shared::cluster %p2, %d3;
xor.pred %p1, %p1, %p2;
and.pred %p0, %p0, %p1;
selp.u32 %r18, 1, 0, %p0;
st.global.v4.u32 [%d1], {%r11, %r12, %r13, %r18};
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;`},
		{name: "an address has the rank above bit 24, as on sm_90, whoever masks it", cfg: cluster(2, 2), decls: ".shared .u32 s;", each: func(i uint32) []uint32 { return []uint32{i<<24 | 0x400 + (1-i)*7} }, body: `
mov.u32 %r3, s;
mov.u32 %r4, %cluster_ctarank;
and.b32 %r5, %r3, 0xfeffffff;
setp.ne.u32 %p0, %r4, 0;
@%p0 st.shared::cluster.u32 [%r5], 7;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
ld.shared.u32 %r6, [s];
add.u32 %r3, %r3, %r6;
st.global.u32 [%d1], %r3;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;`},
		{name: "mapa of the own rank, and of what is no shared memory", cfg: cluster(1, 1), decls: ".shared .u32 s;", want: []uint32{5, 1}, body: `
mov.u32 %r6, s;
mapa.shared::cluster.u32 %r7, %r6, 0;
st.shared.u32 [%r7], 5;
ld.shared.u32 %r8, [s];
mapa.u64 %d2, %d0, 0;
setp.eq.u64 %p0, %d2, %d0;
selp.u32 %r9, 1, 0, %p0;
st.global.v2.u32 [%d0], {%r8, %r9};`},
	})
}
