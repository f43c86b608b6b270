package interp_test

import "testing"

// TestMoves: mov in all its forms (PTX ISA, "mov").
func TestMoves(t *testing.T) {
	check(t, []snippet{
		{name: "pack and unpack", words: 8, want: []uint32{0x22221111, 0x55667788, 0x11223344, 0x4433, 0x11, 0x22, 0x1234, 0x89abcdef}, body: `
mov.b16 %h0, 0x1111; mov.b16 %h1, 0x2222;
mov.b32 %r3, {%h0, %h1};
mov.b64 %d2, 0x1122334455667788;
mov.b64 {%r4, %r5}, %d2;
mov.b64 {%h2, _, %h3, _}, 0x0000003300004433;
mov.b32 {%h4, %h5}, 0x00220011;
mov.b16 %h6, {%h7, %h8};
mov.b32 %r10, 0x89abcdef;
mov.b32 %r11, 0x1234;
mov.b64 %d3, {%r11, %r10};
cvt.u32.u16 %r6, %h2; cvt.u32.u16 %r7, %h4; cvt.u32.u16 %r8, %h5;
st.global.v4.b32 [%d0], {%r3, %r4, %r5, %r6};
st.global.v2.b32 [%d0+16], {%r7, %r8};
st.global.b64 [%d0+24], %d3;`},
		{name: "unpacking into what it takes apart", want: []uint32{2, 1}, body: `
mov.b32 %r3, 1; mov.b32 %r4, 2;
mov.b64 %d2, {%r3, %r4};
mov.b64 {%r4, %r3}, %d2;
st.global.v2.b32 [%d0], {%r3, %r4};`},
		{name: "packing from what it goes to", want: []uint32{0x20001}, body: `
mov.b32 %r3, 0x10002;
mov.b32 {%h0, %h1}, %r3;
mov.b32 %r3, {%h1, %h0};
st.global.b32 [%d0], %r3;`},
		{name: "bytes", want: []uint32{0x44332211, 0x22, 0x44}, body: `
mov.b16 %h0, 0x11; mov.b16 %h1, 0xff22; mov.b16 %h2, 0x33; mov.b16 %h3, 0x44;
mov.b32 %r3, {%h0, %h1, %h2, %h3};
mov.b32 {_, %h4, _, %h5}, %r3;
cvt.u32.u16 %r4, %h4; cvt.u32.u16 %r5, %h5;
st.global.b32 [%d0], %r3; st.global.b32 [%d0+4], %r4; st.global.b32 [%d0+8], %r5;`},
		{name: "constants", words: 8, want: []uint32{0x3f800000, 0x3fc00000, 0, 0x40000000, 0xffffffff, 16, 0x7fffffff, 32}, body: `
mov.f32 %f0, 0f3F800000;
mov.f32 %f1, 1.5;
mov.f64 %g0, 0d4000000000000000;
mov.s32 %r3, -1;
mov.u32 %r4, 0b10000;
mov.u32 %r5, (0xffffffff >> 1);
mov.u32 %r6, WARP_SZ;
st.global.v2.f32 [%d0], {%f0, %f1};
st.global.f64 [%d0+8], %g0;
st.global.v4.b32 [%d0+16], {%r3, %r4, %r5, %r6};`},
		{name: "a single constant where a double is wanted", want: []uint32{0, 0x40080000}, body: `
mov.f64 %g0, 2.0;
add.f64 %g1, %g0, 0f3F800000;
st.global.f64 [%d0], %g1;`},
		{name: "predicates", want: []uint32{0b110101}, body: `
mov.pred %p0, 1;
mov.pred %p1, 0;
mov.pred %p2, %p0;
mov.pred %p3, !%p0;
not.pred %p4, %p3;
xor.pred %p5, %p4, %p1;
mov.u32 %r3, 0;
@%p0 or.b32 %r3, %r3, 1;
@%p1 or.b32 %r3, %r3, 2;
@%p2 or.b32 %r3, %r3, 4;
@%p3 or.b32 %r3, %r3, 8;
@%p4 or.b32 %r3, %r3, 16;
@%p5 or.b32 %r3, %r3, 32;
st.global.b32 [%d0], %r3;`},
	})
}

// TestPredication: what a predicate forbids does not happen, and what was
// never written can be read.
func TestPredication(t *testing.T) {
	check(t, []snippet{
		{name: "a write that is off keeps the old value", cfg: block(32), words: 4, each: func(i uint32) []uint32 {
			if i%2 == 0 {
				return []uint32{i, 7, 1, 11}
			}
			return []uint32{99, 5, 0, 12}
		}, body: `
and.b32 %r3, %r2, 1;
setp.ne.u32 %p0, %r3, 0;
mov.u32 %r4, %r2;
@%p0 mov.u32 %r4, 99;
mov.u32 %r5, 7;
@%p0 ld.global.u32 %r5, [five];
mov.pred %p1, 1;
@%p0 setp.eq.u32 %p1, %r3, 0;
selp.u32 %r6, 1, 0, %p1;
mov.u32 %r7, 11;
mov.u32 %r8, 12;
@!%p0 st.global.u32 [%d1+12], %r7;
@%p0 st.global.u32 [%d1+12], %r8;
st.global.v2.u32 [%d1], {%r4, %r5};
st.global.u32 [%d1+8], %r6;`, decls: ".global .u32 five = 5;"},
		{name: "an access that is off does not trap", want: []uint32{1}, body: `
mov.u64 %d2, 0;
setp.eq.u64 %p0, %d2, 1;
@%p0 ld.global.u32 %r3, [%d2];
@%p0 st.shared.u32 [%d2+1], %r3;
@%p0 atom.global.add.u32 %r3, [%d2+3], 1;
@%p0 trap;
@%p0 exit;
@%p0 ret;
st.global.u32 [%d0], 1;`},
		{name: "what was never written", want: []uint32{3}, body: `
add.u32 %r3, %r4, %r5;
add.f32 %f0, %f1, %f2;
@%p9 add.u32 %r6, %r7, 1;
setp.eq.and.u32 %p1, %r8, %r9, %p2;
mov.b64 %d2, {%r10, %r11};
mov.u32 %r3, 3;
st.global.u32 [%d0], %r3;`},
		{name: "a value that only some lanes have replaced", cfg: block(32), each: func(i uint32) []uint32 {
			if i < 3 {
				return []uint32{100 + i}
			}
			return []uint32{50 + i}
		}, body: `
add.u32 %r3, %r2, 50;
mov.u32 %r4, 1000;
add.u32 %r5, %r4, %r4;
setp.lt.u32 %p0, %r2, 3;
add.u32 %r6, %r5, %r3;
@%p0 add.u32 %r3, %r2, 100;
add.u32 %r7, %r6, %r5;
st.global.u32 [%d1], %r3;`},
	})
}

// TestComparisons: setp with two destinations and a third predicate, set,
// selp, slct, lop3 with a predicate.
func TestComparisons(t *testing.T) {
	check(t, []snippet{
		{name: "p and q, combined", words: 8, want: []uint32{0b01, 0b00, 0b11, 0b01, 0b10, 0b01, 0b10, 0b01}, body: `
mov.pred %p0, 1; mov.pred %p1, 0;
mov.u32 %r9, 0;
setp.lt.s32 %p2|%p3, -1, 1;            selp.u32 %r3, 1, 0, %p2; selp.u32 %r4, 2, 0, %p3; or.b32 %r3, %r3, %r4; st.global.u32 [%d0], %r3;
setp.lt.and.s32 %p2|%p3, -1, 1, %p1;   selp.u32 %r3, 1, 0, %p2; selp.u32 %r4, 2, 0, %p3; or.b32 %r3, %r3, %r4; st.global.u32 [%d0+4], %r3;
setp.lt.or.s32 %p2|%p3, 1, -1, %p0;    selp.u32 %r3, 1, 0, %p2; selp.u32 %r4, 2, 0, %p3; or.b32 %r3, %r3, %r4; st.global.u32 [%d0+8], %r3;
setp.lt.xor.s32 %p2|%p3, 1, -1, %p0;   selp.u32 %r3, 1, 0, %p2; selp.u32 %r4, 2, 0, %p3; or.b32 %r3, %r3, %r4; st.global.u32 [%d0+12], %r3;
setp.lt.and.u32 %p2|%p3, -1, 1, !%p1;  selp.u32 %r3, 1, 0, %p2; selp.u32 %r4, 2, 0, %p3; or.b32 %r3, %r3, %r4; st.global.u32 [%d0+16], %r3;
setp.eq.f32 %p2|%p3, 0f3F800000, 1.0;  selp.u32 %r3, 1, 0, %p2; selp.u32 %r4, 2, 0, %p3; or.b32 %r3, %r3, %r4; st.global.u32 [%d0+20], %r3;
setp.lt.f32 %p2|%p3, 0f7FC00000, 1.0;  selp.u32 %r3, 1, 0, %p2; selp.u32 %r4, 2, 0, %p3; or.b32 %r3, %r3, %r4; st.global.u32 [%d0+24], %r3;
setp.ltu.f32 %p2|_, 0f7FC00000, 1.0;   selp.u32 %r3, 1, 0, %p2; st.global.u32 [%d0+28], %r3;`},
		{name: "a predicate as its own third operand", want: []uint32{2}, body: `
mov.pred %p0, 1;
setp.eq.and.u32 %p1|%p0, 1, 2, %p0;
selp.u32 %r3, 1, 0, %p1; selp.u32 %r4, 2, 0, %p0; or.b32 %r3, %r3, %r4;
st.global.u32 [%d0], %r3;`},
		{name: "halves", want: []uint32{1, 2}, body: `
mov.b32 %r3, 0x3c004000;
mov.b32 %r4, 0x40003c00;
setp.gt.f16x2 %p0|%p1, %r3, %r4;
selp.u32 %r5, 1, 0, %p0; selp.u32 %r6, 1, 2, %p1;
st.global.v2.u32 [%d0], {%r5, %r6};`},
		{name: "set, with a predicate and without", words: 8, want: []uint32{0xffffffff, 0x3f800000, 0, 0xffffffff, 0, 0, 0xffffffff, 0}, body: `
mov.pred %p0, 1; mov.pred %p1, 0;
set.lt.u32.s32 %r3, -1, 1;
set.lt.f32.s32 %f0, -1, 1;
set.lt.and.u32.s32 %r4, -1, 1, %p1;
set.lt.or.u32.s32 %r5, 1, -1, %p0;
set.lt.xor.s32.s32 %r6, -1, 1, %p0;
set.lt.xor.u32.s32 %r7, -1, 1, !%p1;
set.lt.and.u32.s32 %r8, -1, 1, !%p1;
st.global.u32 [%d0], %r3; st.global.f32 [%d0+4], %f0; st.global.u32 [%d0+8], %r4; st.global.u32 [%d0+12], %r5; st.global.u32 [%d0+16], %r6; st.global.u32 [%d0+20], %r7; st.global.u32 [%d0+24], %r8;`},
		{name: "selp and slct", want: []uint32{1, 2, 3, 4}, body: `
mov.pred %p0, 1;
selp.b32 %r3, 1, 9, %p0;
selp.s32 %r4, 9, 2, !%p0;
@%p1 mov.u32 %r4, 9;
slct.u32.s32 %r5, 3, 9, 0;
slct.u32.f32 %r6, 9, 4, 0fBF800000;
selp.s32 %r4, 9, 2, %p1;
st.global.v4.u32 [%d0], {%r3, %r4, %r5, %r6};`},
		{name: "lop3 with a predicate", want: []uint32{0b1000, 0, 1, 1}, body: `
mov.pred %p0, 1; mov.pred %p1, 0;
lop3.or.b32 %r3|%p2, 0b1100, 0b1010, 0, 0xc0, %p1;
lop3.and.b32 %r4|%p3, 0b1100, 0b0011, 0, 0xc0, %p0;
lop3.or.b32 _|%p4, 0, 0, 0, 0xc0, %p0;
selp.u32 %r5, 1, 0, %p2;
@%p3 mov.u32 %r5, 7;
selp.u32 %r6, 1, 0, %p4;
st.global.v4.u32 [%d0], {%r3, %r4, %r5, %r6};`},
		{name: "testp", want: []uint32{1, 0}, body: `
testp.notanumber.f32 %p0, 0f7FC00000;
testp.finite.f32 %p1, 0f7F800000;
selp.u32 %r3, 1, 0, %p0; selp.u32 %r4, 1, 0, %p1;
st.global.v2.u32 [%d0], {%r3, %r4};`},
	})
}

// TestCarry: the carry flag is a lane's own (PTX ISA, "Extended-Precision
// Integer Arithmetic Instructions").
func TestCarry(t *testing.T) {
	check(t, []snippet{
		{name: "sums and differences of 96 bits", want: []uint32{0, 0, 2, 0xffffffff, 0xffffffff, 0xfffffffe}, words: 8, body: `
add.cc.u32 %r3, 0xffffffff, 1;
addc.cc.u32 %r4, 0xffffffff, 0;
addc.u32 %r5, 1, 0;
sub.cc.u32 %r6, 0, 1;
subc.cc.u32 %r7, 0, 0;
subc.u32 %r8, 0xffffffff, 0;
st.global.v4.u32 [%d0], {%r3, %r4, %r5, %r6};
st.global.v2.u32 [%d0+16], {%r7, %r8};`},
		{name: "products of 64 bits", want: []uint32{1, 0xfffffffe, 0, 1}, body: `
mad.lo.cc.u32 %r3, 0xffffffff, 0xffffffff, 0;
madc.hi.u32 %r4, 0xffffffff, 0xffffffff, 0;
mad.lo.cc.u32 %r5, 2, 0x80000000, 0;
mad.lo.cc.u32 %r5, 1, 0xffffffff, 1;
madc.hi.u32 %r6, 1, 1, 0;
st.global.v4.u32 [%d0], {%r3, %r4, %r5, %r6};`},
		{name: "of 64 bits at once", want: []uint32{0, 0, 6, 0}, body: `
add.cc.u64 %d2, 0xffffffffffffffff, 1;
addc.u64 %d3, 2, 3;
st.global.v2.u64 [%d0], {%d2, %d3};`},
		{name: "in lanes that part in between", cfg: block(32), each: func(i uint32) []uint32 {
			if i < 8 {
				return []uint32{1}
			}
			return []uint32{0}
		}, body: `
setp.lt.u32 %p0, %r2, 8;
@%p0 bra low;
add.cc.u32 %r3, 1, 1;
bra join;
low:
add.cc.u32 %r3, 0xffffffff, 1;
join:
addc.u32 %r4, 0, 0;
st.global.u32 [%d1], %r4;`},
		{name: "kept where the instruction is off", cfg: block(32), each: func(i uint32) []uint32 { return []uint32{i % 2} }, body: `
and.b32 %r3, %r2, 1;
setp.eq.u32 %p0, %r3, 1;
add.cc.u32 %r4, 1, 1;
@%p0 add.cc.u32 %r4, 0xffffffff, 1;
addc.u32 %r5, 0, 0;
st.global.u32 [%d1], %r5;`},
	})
}

// TestManyValues: registers that are needed at the same time do not share a
// place, in loops and behind branches.
func TestManyValues(t *testing.T) {
	check(t, []snippet{
		{name: "used in the next turn of a loop", cfg: block(32), each: func(i uint32) []uint32 { return []uint32{2*i + 3 + 5 + 7 + 7} }, body: `
mov.u32 %r3, 0;
mov.u32 %r4, %r2;
mov.u32 %r5, %r2;
loop:
add.u32 %r6, %r5, %r3;
mov.u32 %r7, %r6;
mov.u32 %r8, 11;
add.u32 %r9, %r8, %r7;
sub.u32 %r5, %r9, 11;
add.u32 %r3, %r3, 2;
setp.eq.u32 %p1, %r3, 2; @%p1 add.u32 %r3, %r3, 1;
setp.lt.u32 %p0, %r3, 8;
@%p0 bra loop;
mov.u32 %r20, 0;
sub.u32 %r5, %r5, 0;
add.u32 %r10, %r5, %r4;
add.u32 %r10, %r10, 7;
st.global.u32 [%d1], %r10;`},
		{name: "written in a loop, read behind it", want: []uint32{12}, body: `
mov.u32 %r3, 0;
loop:
setp.eq.u32 %p0, %r3, 4;
@%p0 mov.u32 %r5, 12;
mov.u32 %r6, 99;
add.u32 %r7, %r6, %r6;
add.u32 %r3, %r3, 1;
setp.lt.u32 %p1, %r3, 9;
@%p1 bra loop;
st.global.u32 [%d0], %r5;`},
		{name: "on one way only", cfg: block(32), each: func(i uint32) []uint32 {
			if i%3 == 0 {
				return []uint32{i + 1}
			}
			return []uint32{i + 2}
		}, body: `
rem.u32 %r3, %r2, 3;
setp.eq.u32 %p0, %r3, 0;
@%p0 bra a;
add.u32 %r4, %r2, 2;
bra b;
a:
add.u32 %r5, %r2, 1;
mov.u32 %r4, %r5;
b:
mov.u32 %r6, 77;
mov.u32 %r7, %r6;
st.global.u32 [%d1], %r4;`},
	})
}
