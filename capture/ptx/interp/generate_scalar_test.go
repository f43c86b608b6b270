package interp_test

// scalarProgram: predicates, carries, and values taken apart and put together.
func scalarProgram(p *program) {
	logic := func() string { return p.pick("and", "or", "xor") }
	third := func() string { return p.pick("", "!") + p.coin() }
	// few is a number of few values, so that comparisons are not all alike.
	few := func() string {
		r := p.small(4)
		p.line("sub.s32 %s, %s, 2;", r, r)
		return r
	}
	for range 10 {
		q, r, d := p.reg("p"), p.reg("p"), p.reg("r")
		typ := p.pick("s32", "u32", "b32")
		cmp := p.pick("eq", "ne")
		if typ != "b32" {
			cmp = p.pick("eq", "ne", "lt", "le", "gt", "ge")
		}
		p.line("setp.%s.%s %s|%s, %s, %s;", cmp, typ, q, r, few(), few())
		p.keep(q, r)
		q, r = p.reg("p"), p.reg("p")
		p.line("setp.%s.%s.%s %s|%s, %s, %s, %s;", cmp, logic(), typ, q, r, few(), few(), third())
		p.keep(q, r)
		if typ != "b32" {
			p.line("set.%s.%s.%s.%s %s, %s, %s, %s;", cmp, logic(), p.pick("u32", "s32"), typ, d, few(), few(), third())
			p.keep(d)
		}
		f, g := p.reg("f"), p.reg("f")
		p.line("mov.b32 %s, %s; mov.b32 %s, %s;", f, p.value(), g, p.value())
		q, r = p.reg("p"), p.reg("p")
		p.line("setp.%s.%s.f32 %s|%s, %s, %s, %s;", p.pick("lt", "geu", "nan", "num", "neu", "equ"), logic(), q, r, f, g, third())
		p.keep(q, r)
		q, r = p.reg("p"), p.reg("p")
		p.line("setp.%s.%s.f16x2 %s|%s, %s, %s, %s;", p.pick("lt", "geu", "nan", "ne"), logic(), q, r, p.value(), p.value(), third())
		p.keep(q, r)
		d, q = p.reg("r"), p.reg("p")
		p.line("lop3.%s.b32 %s|%s, %s, %s, %s, %d, %s;", p.pick("and", "or"), d, q, few(), few(), few(), p.rng.IntN(256), third())
		p.keep(d, q)
		q = p.reg("p")
		p.line("%s.pred %s, %s, %s;", logic(), q, p.coin(), p.coin())
		p.keep(q)
	}
	for range 6 {
		a, b, c, d := p.reg("r"), p.reg("r"), p.reg("r"), p.reg("r")
		op := p.pick("add", "sub")
		p.line("%[1]s.cc.u32 %[2]s, %[3]s, %[4]s; %[1]sc.cc.u32 %[5]s, %[6]s, %[7]s; %[1]sc.u32 %[8]s, %[9]s, 0;", op, a, p.value(), p.value(), b, p.value(), p.value(), c, p.value())
		p.line("mad.lo.cc.u32 %[1]s, %[2]s, %[3]s, %[4]s; madc.hi.u32 %[1]s, %[1]s, %[5]s, %[6]s;", d, p.value(), p.value(), p.value(), p.value(), p.value())
		p.keep(a, b, c, d)
		q := p.coin() // the flag where the instruction is off
		e := p.reg("r")
		p.line("add.cc.u32 %[1]s, %[2]s, %[3]s; @%[4]s add.cc.u32 %[1]s, 1, 1; addc.u32 %[1]s, 0, 0;", e, p.value(), p.value(), q)
		p.keep(e)
	}
	for range 8 {
		d, lo, hi := p.wide(), p.reg("r"), p.reg("r")
		h := []string{p.reg("h"), p.reg("h"), p.reg("h"), p.reg("h")}
		p.line("mov.b64 {%s, %s}, %s; mov.b64 {%s, %s, %s, %s}, %s;", lo, hi, d, h[0], h[1], h[2], h[3], d)
		e, r := p.reg("d"), p.reg("r")
		p.line("mov.b64 %s, {%s, %s, %s, %s}; mov.b32 %s, {%s, %s}; mov.b32 {%s, %s}, %s;", e, h[3], h[1], h[0], h[2], r, h[2], h[2], h[0], h[1], hi)
		p.keep(lo, hi, e, r, h[0], h[1])
		q := p.coin()
		p.line("@%s mov.b32 {%s, %s}, %s; @!%s mov.b64 {%s, _}, %s;", q, h[0], h[1], lo, q, lo, e)
		p.keep(h[0], h[1], lo)
		s := p.reg("r")
		p.line("mov.u32 %s, %d; @%s mov.u32 %s, %s; @!%s selp.b32 %s, %s, 5, %s;", s, p.rng.IntN(100), q, s, lo, p.coin(), s, hi, p.coin())
		p.keep(s)
	}
	// What the lanes of a CTA are told by a reduction.
	for i, op := range []string{"popc.u32", "and.pred", "or.pred", "popc.u32"} {
		d := p.reg(map[bool]string{true: "r", false: "p"}[op == "popc.u32"])
		p.line("barrier.cta.red.%s %s, %d, %s%s;", op, d, i, p.pick("", "32, "), third())
		p.keep(d)
	}
}
