package probe

import (
	"btrace/capture/ptx"
	"btrace/capture/ptx/interp"
	"btrace/trace"
)

// A test of an mbarrier is recorded behind it, when the answer is known.
//
// One that is a wait (package interp says which) has up to three kinds of
// records, whose sites have consecutive numbers: the wait began, since the
// answer was no for the first time; it is done; it was done at once. What was
// recorded is kept for each lane, in s: as lanes that wait can do nothing
// else, one register is enough for all waits of a function.
//
// Of others every success is recorded, and the first failure of several that
// ask the same with nothing recorded in between. f says what the lane asked
// last, if the answer was no: the site and the address.

// Kinds of records of a wait.
const (
	waitBegan = iota
	waitDone
	waitPassed
	waitKinds
)

// test is test_wait and try_wait.
func (p *probe) test(i interp.Instruction) {
	first, last := i.Span()
	answer := p.text(i.Operands[0])
	byToken := !has(i.Instruction, "parity")
	takes := takesAddress(space(i))
	fields := []trace.Field{trace.FieldAddr}
	token := ""

	p.clock("%bt_d")
	p.address(i.Operands[1], space(i))
	if byToken {
		takes |= TakesToken
		fields = append(fields, trace.FieldToken)
		token = p.text(i.Operands[2])
	} else {
		takes |= TakesParity
		fields = append(fields, trace.FieldParity)
		p.parity(i.Operands[2])
	}
	p.before(first)

	site := p.next
	if i.Wait {
		p.wait(i, answer, takes, byToken, fields)
	} else {
		p.ask(i, answer, token, site, takes, byToken, fields)
	}
	// Lanes that have nothing to say go on to ask again. Those of one record have
	// the same to say, and have been together before the instruction: they read
	// the clock at one time.
	p.labels++
	over := p.labels
	p.emit("@!%%bt_e bra $bt_T%d;", over)
	p.lanes("")
	// The clock is read when the answer is there, which activemask waited for:
	// it need not be when the next instruction begins.
	p.emit("mov.b64 %%bt_c, %%bt_d;")
	p.emit("@%s mov.u64 %%bt_c, %%clock64;", answer)
	p.emit("shl.b32 %%bt_o, %%bt_h, 30;")
	p.emit("xor.b32 %%bt_o, %%bt_o, %%bt_a;")
	p.emit("cvt.u32.u64 %%bt_t, %%bt_d;")
	p.emit("mov.b64 %%bt_k, {%%bt_o, %%bt_t};")
	p.split("", "b64", "%bt_k")
	if byToken && !p.uniform(i.Operands[2]) {
		p.split("", "b64", token)
	}
	p.leader("")
	p.testRecord(site, token, i.Wait)
	p.emit("$bt_T%d:", over)
	p.behind(last)
}

// parity puts the parity that is waited for into bit 0 of the address.
func (p *probe) parity(o ptx.Operand) {
	if n, ok := o.(*ptx.Int); ok {
		if n.Value&1 != 0 {
			p.emit("or.b32 %%bt_a, %%bt_a, 1;")
		}
		return
	}
	p.load("%bt_o", o)
	p.emit("and.b32 %%bt_o, %%bt_o, 1;")
	p.emit("or.b32 %%bt_a, %%bt_a, %%bt_o;")
}

// wait says which lanes have something to record of a wait, in e, and what,
// in h, and notes who waits now.
func (p *probe) wait(i interp.Instruction, answer string, takes Takes, byToken bool, fields []trace.Field) {
	op := p.opAt(i, trace.KindMbarWait)
	order(&op, i)
	slots := 1
	if byToken {
		slots = 2
	}
	p.site(op, takes, slots, fields...)
	op.Kind = trace.KindMbarDone
	p.site(op, takes, slots, fields...)
	passed := takes | TakesSince
	if byToken {
		passed = takes | TakesBegan
	}
	p.site(op, passed, slots, fields...)
	p.emit("selp.b32 %%bt_h, %d, %d, %%bt_s;", waitDone, waitPassed)
	p.emit("selp.b32 %%bt_h, %%bt_h, %d, %s;", waitBegan, answer)
	p.emit("not.pred %%bt_e, %%bt_s;")
	p.emit("or.pred %%bt_e, %%bt_e, %s;", answer)
	if p.guard != "" {
		p.emit("and.pred %%bt_e, %%bt_e, %s;", p.guard)
	}
	p.emitFor(p.guard, "not.pred %%bt_s, %s;", answer)
}

// ask says which lanes have something to record of a test, in e, and the
// answer, in h, and notes what they asked in vain.
func (p *probe) ask(i interp.Instruction, answer, token string, site uint32, takes Takes, byToken bool, fields []trace.Field) {
	op := p.opAt(i, trace.KindMbarTest)
	order(&op, i)
	slots := 1
	if byToken {
		slots = 2
	}
	fields = append(fields, trace.FieldResult)
	p.site(op, takes, slots, fields...)
	p.site(op, takes|TakesYes, slots, fields...)
	p.emit("mov.b32 %%bt_o, %%bt_a;")
	if byToken {
		p.emit("shr.u64 %%bt_u, %s, 63;", token)
		p.emit("cvt.u32.u64 %%bt_t, %%bt_u;")
		p.emit("or.b32 %%bt_o, %%bt_o, %%bt_t;")
	}
	p.emit("mov.b32 %%bt_h, %d;", site)
	p.emit("mov.b64 %%bt_k, {%%bt_o, %%bt_h};")
	p.emit("selp.b32 %%bt_h, 1, 0, %s;", answer)
	p.emit("setp.ne.u64 %%bt_e, %%bt_k, %%bt_f;")
	p.emit("or.pred %%bt_e, %%bt_e, %s;", answer)
	if p.guard != "" {
		p.emit("and.pred %%bt_e, %%bt_e, %s;", p.guard)
	}
	p.emitFor(p.guard, "selp.b64 %%bt_f, 0, %%bt_k, %s;", answer)
}

// testRecord writes the record of a test whose site is that of number site and
// as many more as h says.
func (p *probe) testRecord(site uint32, token string, isWait bool) {
	slots := 1
	if token != "" {
		slots = 2
	}
	p.room(slots, 1, false)
	p.emit("and.b64 %%bt_x, %%bt_c, %#x;", uint64(clockMask))
	p.emit("cvt.u64.u32 %%bt_y, %%bt_h;")
	p.emit("shl.b64 %%bt_y, %%bt_y, 40;")
	p.emit("add.u64 %%bt_y, %%bt_y, %#x;", valid|uint64(site)<<40)
	p.emit("or.b64 %%bt_x, %%bt_x, %%bt_y;")
	if isWait && token == "" {
		p.since()
	}
	p.operand("%bt_a")
	p.emit("@%%bt_p st.volatile.global.v2.b64 [%%bt_w], {%%bt_x, %%bt_y};")
	if token != "" {
		p.values(1,
			func(r string) { p.emit("mov.b64 %s, %s;", r, token) },
			func(r string) {
				p.emit("shl.b64 %s, %%bt_d, 1;", r)
				p.emit("shr.u64 %%bt_u, %s, 63;", token)
				p.emit("or.b64 %s, %s, %%bt_u;", r, r)
			})
	}
	p.finish(slots)
}

// since puts the time that a wait took into the upper bits of its address, if
// it was over at once: that address is in the own CTA, so that its lower bits
// say all.
func (p *probe) since() {
	p.emit("cvt.u32.u64 %%bt_t, %%bt_c;")
	p.emit("cvt.u32.u64 %%bt_i, %%bt_d;")
	p.emit("sub.u32 %%bt_t, %%bt_t, %%bt_i;")
	p.emit("shr.u32 %%bt_t, %%bt_t, %d;", sinceUnit)
	p.emit("min.u32 %%bt_t, %%bt_t, %d;", maxSince)
	p.emit("shl.b32 %%bt_t, %%bt_t, %d;", sinceShift)
	p.emit("and.b32 %%bt_i, %%bt_a, %d;", 1<<sinceShift-1)
	p.emit("or.b32 %%bt_t, %%bt_t, %%bt_i;")
	p.emit("setp.eq.u32 %%bt_q, %%bt_h, %d;", waitPassed)
	p.emit("selp.b32 %%bt_a, %%bt_t, %%bt_a, %%bt_q;")
}
