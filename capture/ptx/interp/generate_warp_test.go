package interp_test

import (
	"fmt"
	"strings"
)

// segments is a third operand of shfl: a clamp, and which part of a lane's
// number names its segment.
func (p *program) segments(mode string, least int) int {
	mask := 0
	for n := 32; n > least && p.rng.IntN(2) == 0; n /= 2 {
		mask = 32 - n/2
	}
	if least == 16 {
		mask |= 16
	}
	clamp := 31
	if mode == "up" {
		clamp = 0
	}
	if least != 16 && p.rng.IntN(4) == 0 {
		clamp = p.rng.IntN(32)
	}
	return mask<<8 | clamp
}

// warpOp is an instruction by which lanes look at each other, of the lanes in
// mask, which is all or a half of them.
func warpOp(p *program, mask string) {
	d, e, q := p.reg("r"), p.reg("r"), p.reg("p")
	least := 1
	if mask != "-1" {
		least = 16
	}
	switch p.rng.IntN(10) {
	default:
		mode := p.pick("up", "down", "bfly", "idx")
		b, c := fmt.Sprint(p.rng.IntN(40)), fmt.Sprint(p.segments(mode, least))
		if least == 16 && mode != "idx" {
			b = fmt.Sprint(p.rng.IntN(16))
		}
		if p.rng.IntN(2) == 0 && least == 1 {
			b = p.small(40)
		}
		p.line("shfl.sync.%s.b32 %s|%s, %s, %s, %s, %s;", mode, d, q, p.value(), b, c, mask)
		p.keep(d, q)
	case 4:
		p.line("vote.sync.ballot.b32 %s, %s, %s;", d, p.coin(), mask)
		p.keep(d)
	case 5:
		p.line("vote.sync.%s.pred %s, %s%s, %s;", p.pick("any", "all", "uni"), q, p.pick("", "!"), p.coin(), mask)
		p.keep(q)
	case 6:
		p.line("match.any.sync.b32 %s, %s, %s;", d, p.small(1+p.rng.IntN(5)), mask)
		r := p.reg("d")
		p.line("mov.b64 %s, {%s, %s}; match.any.sync.b64 %s, %s, %s;", r, p.small(3), p.small(2), e, r, mask)
		p.keep(d, e)
	case 7:
		p.line("match.all.sync.b32 %s|%s, %s, %s;", d, q, p.small(1+p.rng.IntN(2)), mask)
		p.keep(d, q)
	case 8:
		p.line("redux.sync.%s %s, %s, %s;", p.pick("add.u32", "add.s32", "min.u32", "max.u32", "min.s32", "max.s32", "and.b32", "or.b32", "xor.b32"), d, p.value(), mask)
		p.keep(d)
	case 9:
		p.line("elect.sync %s|%s, %s;", d, q, mask)
		p.keep(d, q)
	}
}

// warpProgram: all lanes together.
func warpProgram(p *program) {
	for range 60 {
		warpOp(p, "-1")
	}
}

// partedProgram: the halves of a warp each by itself, and then together.
func partedProgram(p *program) {
	half := p.reg("p")
	p.line("setp.lt.u32 %s, %%lane, 16;", half)
	for n := range 8 {
		p.line("@%s bra low%d;", half, n)
		at := p.at
		for range 3 {
			warpOp(p, "0xffff0000")
		}
		p.line("bra join%d;\nlow%d:", n, n)
		high := p.at
		p.at = at
		for range 3 {
			warpOp(p, "0xffff")
		}
		p.at = max(p.at, high)
		p.line("join%d:", n)
		warpOp(p, "-1")
	}
}

// matrixProgram: ldmatrix and stmatrix of rows anywhere, movmatrix.
func matrixProgram(p *program) {
	base := p.reg("r")
	p.line("mov.u32 %s, s;", base)
	own := p.reg("r")
	p.line("mad.lo.u32 %s, %%lane, 64, %s;", own, base)
	for i := range 16 {
		p.line("st.shared.b32 [%s+%d], %s;", own, 4*i, p.value())
	}
	row := func() string {
		r := p.reg("r")
		p.line("mad.lo.u32 %s, %s, 16, %s;", r, p.small(128), base)
		return r
	}
	p.line("bar.warp.sync -1;")
	for _, n := range []int{1, 2, 4, 1, 2, 4} {
		for _, trans := range []string{"", ".trans"} {
			var d []string
			for range n {
				d = append(d, p.reg("r"))
			}
			p.line("ldmatrix.sync.aligned.m8n8.x%d%s.shared.b16 {%s}, [%s];", n, trans, strings.Join(d, ", "), row())
			m := p.reg("r")
			p.line("movmatrix.sync.aligned.m8n8.trans.b16 %s, %s;", m, d[0])
			p.keep(append(d, m)...)
		}
	}
	for _, n := range []int{1, 2, 4} {
		for _, trans := range []string{"", ".trans"} {
			// Rows that do not overlap: lane i has row 32*k + i.
			to := p.reg("r")
			p.line("mad.lo.u32 %s, %%lane, 16, %s; add.u32 %s, %s, %d;", to, base, to, to, 512*p.rng.IntN(4))
			var v []string
			for range n {
				v = append(v, p.value())
			}
			p.line("bar.warp.sync -1;\nstmatrix.sync.aligned.m8n8.x%d%s.shared.b16 [%s], {%s};\nbar.warp.sync -1;", n, trans, to, strings.Join(v, ", "))
			for i := range 16 {
				d := p.reg("r")
				p.line("ld.shared.b32 %s, [%s+%d];", d, own, 4*i)
				p.keep(d)
			}
		}
	}
}

const controlDecls = `.func (.param .b32 r) rec(.param .b32 n)
{
	.reg .b32 %x<6>; .reg .pred %q<2>; .local .b32 keep[2];
	ld.param.b32 %x0, [n];
	st.local.b32 [keep], %x0;
	setp.lt.u32 %q0, %x0, 2;
	mov.u32 %x3, %x0;
	@%q0 bra leaf;
	sub.u32 %x1, %x0, 1;
	{ .param .b32 a; .param .b32 b; st.param.b32 [a], %x1; call.uni (b), rec, (a); ld.param.b32 %x2, [b]; }
	shr.u32 %x1, %x0, 1;
	{ .param .b32 a; .param .b32 b; st.param.b32 [a], %x1; call.uni (b), rec, (a); ld.param.b32 %x3, [b]; }
	ld.local.b32 %x4, [keep];
	mad.lo.u32 %x3, %x3, 3, %x2; add.u32 %x3, %x3, %x4;
leaf:
	st.param.b32 [r], %x3;
	ret;
}
.func (.param .b32 r) f0(.param .b32 n)
{
	.reg .b32 %x<2>;
	ld.param.b32 %x0, [n]; mul.lo.u32 %x0, %x0, 77; st.param.b32 [r], %x0; ret;
}
.func (.param .b32 r) f1(.param .b32 n)
{
	.reg .b32 %x<2>; .reg .pred %q;
	ld.param.b32 %x0, [n]; and.b32 %x1, %x0, 1; setp.eq.u32 %q, %x1, 0; st.param.b32 [r], %x0; @%q ret;
	add.u32 %x0, %x0, 1000; st.param.b32 [r], %x0; ret;
}
.global .align 8 .u64 table[2] = {f0, f1};`

// controlProgram: branches, loops, calls and tables that depend on the thread,
// in each other.
func controlProgram(p *program) {
	labels := 0
	label := func() string { labels++; return fmt.Sprintf("L%d", labels) }
	var statement func(x string, depth int)
	statements := func(x string, depth int) {
		for range 1 + p.rng.IntN(3) {
			statement(x, depth)
		}
	}
	pass := func(x, format string, args ...any) {
		p.line("{ .param .b32 a; .param .b32 b; st.param.b32 [a], %s; %s ld.param.b32 %s, [b]; }", x, fmt.Sprintf(format, args...), x)
	}
	statement = func(x string, depth int) {
		r, q := p.reg("r"), p.reg("p")
		kind := p.rng.IntN(8)
		if depth == 0 && kind > 1 && kind < 6 {
			kind = 0
		}
		switch kind {
		case 0, 1:
			p.line("mad.lo.u32 %s, %s, %d, %%t; shr.u32 %s, %s, 7; xor.b32 %s, %s, %s;", x, x, p.rng.Uint32()|1, r, x, x, x, r)
		case 2, 3:
			els, end := label(), label()
			p.line("and.b32 %s, %s, %d; setp.eq.u32 %s, %s, 0; @%s bra %s;", r, x, 1<<p.rng.IntN(5), q, r, q, els)
			statements(x, depth-1)
			p.line("bra %s;\n%s:", end, els)
			statements(x, depth-1)
			p.line("%s:", end)
		case 4:
			loop, end := label(), label()
			n := p.reg("r")
			p.line("rem.u32 %s, %s, %d;\n%s:", n, x, 2+p.rng.IntN(4), loop)
			p.line("setp.eq.u32 %s, %s, 0; @%s bra %s; sub.u32 %s, %s, 1;", q, n, q, end, n, n)
			statements(x, depth-1)
			p.line("bra %s;\n%s:", loop, end)
		case 5:
			a, b, c, end, t := label(), label(), label(), label(), label()
			p.line("rem.u32 %s, %s, 3;\n%s: .branchtargets %s, %s, %s;\nbrx.idx %s, %s;", r, x, t, a, b, c, r, t)
			for i, l := range []string{a, b, c} {
				p.line("%s:", l)
				p.line("add.u32 %s, %s, %d;", x, x, i)
				statements(x, depth-1)
				p.line("bra %s;", end)
			}
			p.line("%s:", end)
		case 6:
			p.line("rem.u32 %s, %s, 9;", r, x)
			pass(r, "call (b), rec, (a);")
			p.line("add.u32 %s, %s, %s;", x, x, r)
		case 7:
			d, e := p.reg("d"), p.reg("d")
			proto := label()
			p.line("and.b32 %s, %s, 1; mul.wide.u32 %s, %s, 8; mov.u64 %s, table; add.u64 %s, %s, %s; ld.global.u64 %s, [%s];", r, x, d, r, e, d, d, e, d, d)
			pass(x, "%s: .callprototype (.param .b32 _) _ (.param .b32 _); call (b), %s, (a), %s;", proto, d, proto)
		}
	}
	for range 4 {
		x := p.value()
		for range 4 {
			statement(x, 3)
		}
		p.keep(x)
	}
}
