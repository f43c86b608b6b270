package interp_test

import (
	"testing"

	"btrace/capture/emu"
	"btrace/trace"
)

// TestDivergence: lanes of a warp part and come together again.
func TestDivergence(t *testing.T) {
	check(t, []snippet{
		{name: "nested ifs", cfg: block(32), each: func(i uint32) []uint32 {
			v := []uint32{0b100, 0b101, 0b110, 0b111}[i%4]
			return []uint32{v*100 + 32} // all 32 are together again
		}, body: `
mov.u32 %r3, 4;
and.b32 %r4, %r2, 2; setp.eq.u32 %p0, %r4, 0;
@%p0 bra even2;
add.u32 %r3, %r3, 2;
and.b32 %r5, %r2, 1; setp.eq.u32 %p1, %r5, 0;
@%p1 bra end;
add.u32 %r3, %r3, 1;
bra end;
even2:
and.b32 %r5, %r2, 1; setp.eq.u32 %p1, %r5, 0;
@%p1 bra end;
add.u32 %r3, %r3, 1;
end:
vote.sync.ballot.b32 %r6, 1, -1; popc.b32 %r6, %r6;
mad.lo.u32 %r3, %r3, 100, %r6;
st.global.u32 [%d1], %r3;`},
		{name: "loops of different lengths", cfg: block(64), each: func(i uint32) []uint32 { return []uint32{i * (i + 1) / 2} }, body: `
mov.u32 %r3, 0; mov.u32 %r4, 0;
loop:
add.u32 %r3, %r3, %r4;
add.u32 %r4, %r4, 1;
setp.le.u32 %p0, %r4, %r2;
@%p0 bra loop;
st.global.u32 [%d1], %r3;`},
		{name: "a loop in a loop, with continue and break", cfg: block(32), each: func(i uint32) []uint32 {
			var n uint32
			for a := uint32(0); a < 6; a++ {
				if a == i%6 {
					continue
				}
				for b := uint32(0); b < 6 && (a+b+i)%7 != 0; b++ {
					n += a + b
				}
			}
			return []uint32{n}
		}, body: `
mov.u32 %r3, 0; mov.u32 %r4, 0; rem.u32 %r10, %r2, 6;
outer:
setp.eq.u32 %p0, %r4, %r10; @%p0 bra next;
mov.u32 %r5, 0;
inner:
add.u32 %r6, %r4, %r5; add.u32 %r7, %r6, %r2; rem.u32 %r7, %r7, 7;
setp.eq.u32 %p1, %r7, 0; @%p1 bra next;
add.u32 %r3, %r3, %r6;
add.u32 %r5, %r5, 1;
setp.lt.u32 %p2, %r5, 6; @%p2 bra inner;
next:
add.u32 %r4, %r4, 1;
setp.lt.u32 %p3, %r4, 6; @%p3 bra outer;
st.global.u32 [%d1], %r3;`},
		{name: "brx", cfg: block(32), each: func(i uint32) []uint32 { return []uint32{[]uint32{10, 20, 20, 40}[i%4]} }, body: `
and.b32 %r3, %r2, 3;
brx.idx %r3, table;
table: .branchtargets a, b, b, c;
a: mov.u32 %r4, 10; bra done;
b: mov.u32 %r4, 20; bra done;
c: mov.u32 %r4, 40;
done:
st.global.u32 [%d1], %r4;`},
		{name: "lanes leave one by one", cfg: block(32), each: func(i uint32) []uint32 { return []uint32{32 - i} }, body: `
mov.u32 %r3, 0;
loop:
vote.ballot.b32 %r4, 1;
st.global.u32 [%d1], %r3;
activemask.b32 %r4; popc.b32 %r4, %r4;
st.global.u32 [%d1], %r4;
setp.eq.u32 %p0, %r2, %r3;
@%p0 exit;
add.u32 %r3, %r3, 1;
bra loop;`, once: true},
		{name: "a lock between the lanes of a warp", cfg: block(64), decls: ".shared .u32 lock; .shared .u32 n;", each: func(i uint32) []uint32 {
			if i == 0 {
				return []uint32{64 * 63 / 2}
			}
			return []uint32{0}
		}, body: `
acquire:
atom.shared.cas.b32 %r3, [lock], 0, 1;
setp.ne.u32 %p0, %r3, 0;
@%p0 bra acquire;
ld.shared.u32 %r4, [n];
add.u32 %r4, %r4, %r2;
st.shared.u32 [n], %r4;
atom.shared.exch.b32 %r5, [lock], 0;
bar.sync 0;
setp.ne.u32 %p1, %r2, 0;
@%p1 exit;
ld.shared.u32 %r6, [n];
st.global.u32 [%d0], %r6;`},
		{name: "a lock whose holder leaves the loop, and a volatile unlock", cfg: block(32), decls: ".global .u32 lock; .global .u32 n;", each: func(i uint32) []uint32 { return []uint32{32} }, body: `
mov.u32 %r7, 0;
again:
setp.ne.u32 %p2, %r7, 0; @%p2 bra end;
atom.global.cas.b32 %r3, [lock], 0, 1;
setp.ne.u32 %p0, %r3, 0;
@%p0 bra again;
ld.volatile.global.u32 %r4, [n];
add.u32 %r4, %r4, 1;
st.volatile.global.u32 [n], %r4;
membar.gl;
st.volatile.global.u32 [lock], 0;
mov.u32 %r7, 1;
bra again;
end:
bar.warp.sync -1;
ld.volatile.global.u32 %r5, [n];
st.global.u32 [%d1], %r5;`},
		{name: "lanes hand a word on, each to the next", cfg: block(32), decls: ".shared .u32 turn;", each: func(i uint32) []uint32 { return []uint32{i} }, body: `
sub.u32 %r9, 31, %r2;
spin:
ld.volatile.shared.u32 %r3, [turn];
setp.ne.u32 %p0, %r3, %r9;
@%p0 bra spin;
sub.u32 %r4, 31, %r3;
st.global.u32 [%d1], %r4;
add.u32 %r5, %r3, 1;
st.volatile.shared.u32 [turn], %r5;`},
		{name: "warps hand a word on in global memory, over CTAs", cfg: emu.Config{Grid: trace.Dim{3}, Block: trace.Dim{64}}, decls: ".global .u32 turn;", each: func(i uint32) []uint32 { return []uint32{i / 32} }, body: `
shr.u32 %r9, %r0, 5;
spin:
ld.acquire.gpu.global.u32 %r3, [turn];
setp.ne.u32 %p0, %r3, %r9;
@%p0 bra spin;
st.global.u32 [%d1], %r3;
bar.warp.sync -1;
mov.u32 %r4, %laneid;
setp.ne.u32 %p1, %r4, 0;
@%p1 exit;
add.u32 %r5, %r3, 1;
st.release.gpu.global.u32 [turn], %r5;`},
		{name: "labels of the same name in several scopes", want: []uint32{1110}, body: `
mov.u32 %r3, 0;
{
again: add.u32 %r3, %r3, 1; setp.lt.u32 %p0, %r3, 10; @%p0 bra again;
{
again: add.u32 %r3, %r3, 100; setp.lt.u32 %p0, %r3, 1000; @%p0 bra again;
}
.reg .b32 %r3;
mov.u32 %r3, 5;
}
add.u32 %r3, %r3, 100;
st.global.u32 [%d0], %r3;`},
	})
}

// TestCalls: functions, however they are called and whatever they are passed.
func TestCalls(t *testing.T) {
	const fib = `.func (.param .b32 r) fib(.param .b32 n) {
.reg .b32 %x<9>; .reg .pred %q<2>; .local .b32 keep[2];
ld.param.u32 %x1, [n];
st.local.u32 [keep], %x1;
setp.lt.u32 %q0, %x1, 2;
setp.ge.u32 %q1, %x1, 2;
mov.u32 %x4, %x1;
@%q0 bra leaf;
sub.u32 %x2, %x1, 1;
{ .param .b32 a; .param .b32 b; st.param.b32 [a], %x2; call (b), fib, (a); ld.param.b32 %x3, [b]; }
sub.u32 %x2, %x1, 2;
{ .param .b32 a; .param .b32 b; st.param.b32 [a], %x2; call (b), fib, (a); ld.param.b32 %x4, [b]; }
add.u32 %x4, %x4, %x3;
ld.local.u32 %x5, [keep];
setp.ne.u32 %q0, %x5, %x1; @%q0 mov.u32 %x4, 999;
@!%q1 mov.u32 %x4, 888;
leaf:
st.param.b32 [r], %x4;
ret;
}`
	fibonacci := func(n uint32) uint32 {
		a, b := uint32(0), uint32(1)
		for range n {
			a, b = b, a+b
		}
		return a
	}
	check(t, []snippet{
		{name: "parameters in memory", want: []uint32{42, 7}, decls: `.func (.param .b32 r) f(.param .b32 a, .param .align 8 .b8 s[16]) {
.reg .b32 %x<5>; ld.param.b32 %x0, [a]; ld.param.b32 %x1, [s+12]; add.u32 %x0, %x0, %x1; st.param.b32 [r], %x0; ret; }`, body: `
.param .b32 a; .param .align 8 .b8 s[16]; .param .b32 r; .param .b32 next;
st.param.b32 [next], 7;
st.param.b32 [a], 40; st.param.b32 [s+12], 2;
call.uni (r), f, (a, s);
ld.param.b32 %r3, [r]; ld.param.b32 %r4, [next];
st.global.v2.b32 [%d0], {%r3, %r4};`},
		{name: "parameters in registers, and the value returned", want: []uint32{42, 0, 1, 2}, words: 4, decls: `.func (.reg .b32 r, .reg .b64 q) f(.reg .b32 a, .reg .b64 b) {
.reg .b32 t; .reg .b64 u; add.u32 r, a, 2; mov.u32 t, 77; mul.lo.u32 t, t, t; st.global.u32 [b], t; mov.u64 q, 0x200000001; mov.u64 u, 5; add.u64 u, u, u; st.global.u64 [b], u; ret; }`, body: `
mov.u32 %r3, 40;
call (%r4, %d2), f, (%r3, %d0);
st.global.b32 [%d0], %r4; st.global.b32 [%d0+4], 0;
st.global.b64 [%d0+8], %d2;`},
		{name: "a register parameter from a variable of the frame leaves its neighbours alone", want: []uint32{12, 34}, decls: `.func (.reg .b32 r) f(.reg .b32 a) { mov.u32 r, a; ret; }`, body: `
.param .b32 a; .param .b32 b;
st.param.b32 [a], 12; st.param.b32 [b], 34;
call (%r3), f, (a);
ld.param.b32 %r4, [b];
st.global.v2.b32 [%d0], {%r3, %r4};`},
		{name: "a result that nobody takes, an argument that nobody uses", want: []uint32{5}, decls: `.func (.reg .b32 r) f(.reg .b32 a, .param .b32 b) { mov.u32 r, 1; ret; } .func g() { ret; } .func h(.reg .b32 never) { }`, body: `
.param .b32 b;
call f, (1, b);
call g;
call h, (1);
st.global.b32 [%d0], 5;`},
		{name: "recursion with locals, in lanes that go to different depths", cfg: block(32), decls: fib, each: func(i uint32) []uint32 { return []uint32{fibonacci(i % 9)} }, body: `
.param .b32 a; .param .b32 b;
rem.u32 %r3, %r2, 9;
st.param.b32 [a], %r3;
call (b), fib, (a);
ld.param.b32 %r4, [b];
st.global.b32 [%d1], %r4;`},
		{name: "in divergent code", cfg: block(32), decls: `.func (.reg .b32 r) f(.reg .b32 a) { .reg .pred p; setp.gt.u32 p, a, 20; @p bra big; add.u32 r, a, 1000; ret; big: add.u32 r, a, 2000; }`, each: func(i uint32) []uint32 {
			switch {
			case i < 10:
				return []uint32{i}
			case i <= 20:
				return []uint32{i + 1000}
			}
			return []uint32{i + 2000}
		}, body: `
mov.u32 %r4, %r2;
setp.ge.u32 %p0, %r2, 10;
@!%p0 bra over;
call (%r4), f, (%r2);
over:
st.global.b32 [%d1], %r4;`},
		{name: "with a guard", cfg: block(32), decls: `.func (.reg .b32 r) f(.reg .b32 a) { add.u32 r, a, 1000; ret; }`, each: func(i uint32) []uint32 { return []uint32{i + 1000*(i&1)} }, body: `
mov.u32 %r4, %r2;
and.b32 %r5, %r2, 1; setp.eq.u32 %p0, %r5, 1;
@%p0 call (%r4), f, (%r2);
st.global.b32 [%d1], %r4;`},
		{name: "lanes leave the kernel inside a call", cfg: block(32), decls: `.func f(.reg .b32 a, .reg .b64 to) { .reg .pred p; setp.gt.u32 p, a, 20; @p exit; st.global.u32 [to], 1; ret; }`, each: func(i uint32) []uint32 {
			if i > 20 {
				return []uint32{0}
			}
			return []uint32{0x1fffff}
		}, body: `
call f, (%r2, %d1);
vote.sync.ballot.b32 %r3, 1, -1;
st.global.b32 [%d1], %r3;`},
		{name: "through pointers that differ between lanes", cfg: block(32), decls: `.func (.reg .b32 r) f0(.reg .b32 a) { add.u32 r, a, 100; ret; } .func (.reg .b32 r) f1(.reg .b32 a) { add.u32 r, a, 200; ret; }`, each: func(i uint32) []uint32 { return []uint32{i + 100 + 100*(i%2)} }, body: `
mov.u64 %d2, f0; mov.u64 %d3, f1;
and.b32 %r3, %r2, 1; setp.eq.u32 %p0, %r3, 1;
selp.b64 %d4, %d3, %d2, %p0;
call (%r4), %d4, (%r2), proto;
proto: .callprototype (.reg .b32 _) _ (.reg .b32 _);
st.global.b32 [%d1], %r4;`},
		{name: "a function that calls itself through a pointer", want: []uint32{15}, decls: `.func (.reg .b32 r) sum(.reg .b32 n, .reg .b64 self) { .reg .b32 %x<3>; .reg .pred %q; mov.u32 r, 0; setp.eq.u32 %q, n, 0; @%q ret; sub.u32 %x0, n, 1; call (%x1), self, (%x0, self), proto; add.u32 r, n, %x1; ret; proto: .callprototype (.reg .b32 _) _ (.reg .b32 _, .reg .b64 _); }`, body: `
mov.u64 %d2, sum;
call (%r3), sum, (5, %d2);
st.global.b32 [%d0], %r3;`},
		{name: "two functions that call each other", want: []uint32{1, 0}, decls: `.func (.reg .b32 r) odd(.reg .b32 n); .func (.reg .b32 r) even(.reg .b32 n) { .reg .b32 %x<2>; .reg .pred %q; setp.eq.u32 %q, n, 0; @%q bra yes; sub.u32 %x0, n, 1; call (%x1), odd, (%x0); mov.u32 r, %x1; ret; yes: mov.u32 r, 1; ret; } .func (.reg .b32 r) odd(.reg .b32 n) { .reg .b32 %x<2>; .reg .pred %q; setp.eq.u32 %q, n, 0; @%q bra no; sub.u32 %x0, n, 1; call (%x1), even, (%x0); mov.u32 r, %x1; ret; no: mov.u32 r, 0; ret; }`, body: `
call (%r3), even, (10);
call (%r4), even, (7);
st.global.v2.b32 [%d0], {%r3, %r4};`},
		{name: "the address of a parameter and of a local variable of a function", want: []uint32{21, 22, 1}, decls: `.func (.reg .b32 r) f(.param .b32 a, .reg .b64 out) { .reg .b64 %y<5>; .local .b32 l; mov.b64 %y0, a; ld.local.b32 r, [%y0]; mov.b64 %y1, l; cvta.local.u64 %y2, %y1; st.b32 [%y2], 22; ld.local.b32 r, [l]; st.global.b32 [out+4], r; cvta.local.u64 %y3, l; .reg .pred p; setp.eq.u64 p, %y2, %y3; selp.b32 r, 1, 0, p; st.global.b32 [out+8], r; ld.local.b32 r, [%y0]; ret; }`, body: `
.param .b32 a;
st.param.b32 [a], 21;
call (%r3), f, (a, %d0);
st.global.b32 [%d0], %r3;`},
		{name: "variables of functions are aligned as they say", want: []uint32{0, 3}, decls: `.func (.reg .b32 r) f(.reg .b32 n) { .local .align 64 .b8 a[80]; .local .b8 odd[3]; .reg .b64 %y<2>; .reg .b32 %x<3>; .reg .pred p; mov.u64 %y0, a; cvt.u32.u64 r, %y0; and.b32 r, r, 63; st.local.u8 [odd], n; setp.eq.u32 p, n, 0; @p ret; sub.u32 %x0, n, 1; call (%x1), f, (%x0); or.b32 r, r, %x1; ld.local.u8 %x2, [odd]; setp.ne.u32 p, %x2, n; @p mov.u32 r, 99; ret; }`, body: `
.local .b8 first; st.local.u8 [first], 3;
call (%r3), f, (5);
ld.local.u8 %r4, [first];
st.global.v2.b32 [%d0], {%r3, %r4};`},
		{name: "a function of another name", want: []uint32{9}, decls: `.func (.reg .b32 r) impl() { mov.u32 r, 9; ret; } .func (.reg .b32 r) other(); .alias other, impl;`, body: `
call (%r3), other;
st.global.b32 [%d0], %r3;`},
	})
}
