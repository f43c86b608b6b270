package probe

import (
	"strings"

	"btrace/capture/ptx"
	"btrace/capture/ptx/interp"
	"btrace/trace"
)

// address puts the address of an mbarrier in shared::cluster into register a:
// 32 bits, of which the upper 8 are the CTA's rank. target is the space that
// the instruction names; "" for a generic address.
func (p *probe) address(o ptx.Operand, target string) {
	a, ok := o.(*ptx.Address)
	if !ok {
		return
	}
	offset := a.Offset
	switch base := a.Base.(type) {
	case *ptx.Int:
		p.emit("mov.u32 %%bt_a, %d;", uint32(base.Value+uint64(offset)))
		return
	case *ptx.Name:
		if base.Sym.Kind == ptx.SymVariable {
			p.emit("mov.u32 %%bt_a, %s;", base.Name)
			offset += base.Offset
			break
		}
		switch name := p.text(base); {
		case p.size(base) == 8 && target == "":
			p.emit("cvta.to.shared.u64 %%bt_u, %s;", name)
			p.emit("cvt.u32.u64 %%bt_a, %%bt_u;")
		case p.size(base) == 8:
			p.emit("cvt.u32.u64 %%bt_a, %s;", name)
		default:
			p.emit("mov.b32 %%bt_a, %s;", name)
		}
	}
	if offset != 0 {
		p.emit("add.u32 %%bt_a, %%bt_a, %d;", int32(offset))
	}
}

// space is the shared memory that the modifiers name: shared, shared::cta or
// shared::cluster; "" if they name none.
func space(i interp.Instruction) string {
	for _, m := range i.Mods {
		if strings.HasPrefix(m, "shared") {
			return m
		}
	}
	return ""
}

// takesAddress is TakesAddr, with TakesLocal where the space is that of the own
// CTA.
func takesAddress(space string) Takes {
	if space == "shared" || space == "shared::cta" {
		return TakesAddr | TakesLocal
	}
	return TakesAddr
}

// number is an operand that is a count or a number of bytes: constant, or put
// in register n.
func (p *probe) number(o ptx.Operand) (constant uint32, known bool) {
	if n, ok := o.(*ptx.Int); ok {
		return uint32(n.Value), true
	}
	p.load("%bt_n", o)
	return 0, false
}

// mbar is init, inval, expect_tx and complete_tx.
func (p *probe) mbar(i interp.Instruction) {
	first, _ := i.Span()
	op := p.opAt(i, trace.KindMbarInval)
	order(&op, i)
	fields := []trace.Field{trace.FieldAddr}
	takes := takesAddress(space(i))
	p.clock("%bt_c")
	p.address(i.Operands[0], space(i))
	var values []value
	if len(i.Operands) > 1 {
		n, known := p.number(i.Operands[1])
		if has(i.Instruction, "init") {
			op.Kind, op.Count = trace.KindMbarInit, n
			fields, takes = append(fields, trace.FieldCount), takes|TakesCount
		} else {
			if op.Kind = trace.KindMbarExpectTx; has(i.Instruction, "complete_tx") {
				op.Kind = trace.KindMbarCompleteTx
			}
			op.Bytes = int64(int32(n))
			fields, takes = append(fields, trace.FieldBytes), takes|TakesBytes
		}
		if known {
			takes &^= TakesCount | TakesBytes
		} else {
			values = []value{p.zero(), p.shifted("%bt_n")}
		}
	}
	p.whoAgrees(i.Operands, values != nil)
	p.record(p.site(op, takes, 1+len(values)/2, fields...), "%bt_a", values...)
	p.before(first)
}

// whoAgrees finds the lanes with the same address, and with the same n if that
// counts, and the one that writes.
func (p *probe) whoAgrees(ops []ptx.Operand, n bool) {
	p.lanes(p.guard)
	switch {
	case p.agree(ops):
	case n:
		p.emit("mov.b64 %%bt_k, {%%bt_a, %%bt_n};")
		p.split(p.guard, "b64", "%bt_k")
	default:
		p.split(p.guard, "b32", "%bt_a")
	}
	p.leader(p.guard)
}

// arrive is arrive and arrive_drop, with .expect_tx and .noComplete. Of a record
// with a token the last slot is written behind it, when that is known.
func (p *probe) arrive(i interp.Instruction) {
	first, last := i.Span()
	at := arriveAddress(i.Instruction)
	op := p.opAt(i, trace.KindMbarArrive)
	order(&op, i)
	op.Count = 1
	fields := []trace.Field{trace.FieldAddr, trace.FieldCount}
	takes := takesAddress(space(i))
	p.clock("%bt_c")
	p.address(i.Operands[at], space(i))
	drop, expect := has(i.Instruction, "arrive_drop"), has(i.Instruction, "expect_tx")
	switch {
	case drop:
		op.Kind = trace.KindMbarArriveDrop
	case expect:
		op.Kind = trace.KindMbarArriveExpectTx
	case has(i.Instruction, "noComplete"):
		op.Kind = trace.KindMbarArriveNoComplete
	}
	unknown := false // what n is
	if len(i.Operands) > at+1 {
		n, known := p.number(i.Operands[at+1])
		unknown = !known
		if expect {
			op.Bytes = int64(int32(n))
			fields, takes = append(fields, trace.FieldBytes), takes|TakesBytes
		} else {
			op.Count = n
			takes |= TakesCount
		}
		if known {
			takes &^= TakesCount | TakesBytes
		}
	}
	token, ok := i.Operands[0].(*ptx.Name)
	if !ok || at == 0 || token.Name == "_" {
		var values []value
		if unknown {
			values = []value{p.zero(), p.shifted("%bt_n")}
		}
		p.whoAgrees(i.Operands[at:], unknown)
		p.record(p.site(op, takes, 1+len(values)/2, fields...), "%bt_a", values...)
		p.before(first)
		return
	}
	// What is known is written ahead of the arrive, which may trap. Lanes that
	// arrive together may arrive in different phases: bit 63 of their tokens
	// tells, and the record says who has that of its writer.
	slots := 2
	var known []value
	if unknown {
		slots, known = 3, []value{p.zero(), p.shifted("%bt_n")}
	}
	p.whoAgrees(i.Operands[at:], unknown)
	p.room(slots, 1, false)
	p.begin(p.site(op, takes|TakesToken|TakesPhases, slots, append(fields, trace.FieldToken)...), "%bt_a", known...)
	p.before(first)

	state := p.text(token)
	p.emit("setp.lt.s64 %%bt_q, %s, 0;", state)
	p.emit("mov.b32 %%bt_t, 0;")
	p.emitFor(p.guard, "vote.sync.ballot.b32 %%bt_t, %%bt_q, %%bt_m;")
	p.emit("@!%%bt_q not.b32 %%bt_t, %%bt_t;")
	low := func(r string) { p.emit("mov.b64 %s, %s;", r, state) }
	high := func(r string) {
		p.emit("mul.wide.u32 %s, %%bt_t, 2;", r)
		p.emit("shr.u64 %%bt_u, %s, 63;", state)
		p.emit("or.b64 %s, %s, %%bt_u;", r, r)
	}
	p.values(slots-1, low, high)
	p.finish(slots)
	p.behind(last)
}

// copy is a copy, store or reduction that completes bytes on an mbarrier.
func (p *probe) copy(i interp.Instruction) {
	first, _ := i.Span()
	ops := i.Operands
	op := p.opAt(i, trace.KindMbarCopy)
	fields := []trace.Field{trace.FieldAddr}
	barrier := 2
	if i.Op == "cp" {
		barrier = copyBarrier(i.Instruction)
	}
	target := "shared::cta" // that of the destination, and of the mbarrier
	if has(i.Instruction, "shared::cluster") {
		target = "shared::cluster"
	}
	takes := takesAddress(target)
	differ := []ptx.Operand{ops[barrier]}
	p.clock("%bt_c")
	p.address(ops[barrier], target)
	size, mask := false, false // in the record
	switch {
	case i.Op != "cp":
		op.Bytes = storeBytes(i)
		fields = append(fields, trace.FieldBytes)
	case barrier == 3:
		n, known := p.number(ops[2])
		op.Bytes, size = int64(int32(n)), !known
		fields = append(fields, trace.FieldBytes)
		differ = append(differ, ops[2])
	}
	if size {
		takes |= TakesBytes
	}
	if has(i.Instruction, "multicast::cluster") {
		if n := copyRanks(i.Instruction); n < len(ops) {
			mask = true
			p.load("%bt_o", ops[n])
			differ = append(differ, ops[n])
			takes |= TakesCTAMask
			fields = append(fields, trace.FieldCTAMask)
		}
	}
	p.lanes(p.guard)
	if !p.agree(differ) {
		p.keySplit(size, mask)
	}
	p.leader(p.guard)
	var values []value
	if size || mask {
		values = []value{p.zero(), p.zero()}
		if mask {
			values[0] = func(r string) {
				p.emit("cvt.u64.u32 %s, %%bt_o;", r)
				p.emit("and.b64 %s, %s, 0xffff;", r, r)
			}
		}
		if size {
			values[1] = p.shifted("%bt_n")
		}
	}
	p.record(p.site(op, takes, 1+len(values)/2, fields...), "%bt_a", values...)
	p.before(first)
}

// keySplit splits lanes by address, and by n and o if they count.
func (p *probe) keySplit(n, o bool) {
	if o {
		p.split(p.guard, "b32", "%bt_o")
	}
	if n {
		p.emit("mov.b64 %%bt_k, {%%bt_a, %%bt_n};")
		p.split(p.guard, "b64", "%bt_k")
		return
	}
	p.split(p.guard, "b32", "%bt_a")
}

// storeBytes is what st.async or red.async writes.
func storeBytes(i interp.Instruction) int64 {
	size, n := 0, 1
	for _, m := range i.Mods {
		if s, ok := ptx.TypeSize(m); ok {
			size = s
		}
		switch m {
		case "v2":
			n = 2
		case "v4":
			n = 4
		case "v8":
			n = 8
		}
	}
	return int64(size * n)
}

// cpAsyncArrive is cp.async.mbarrier.arrive.
func (p *probe) cpAsyncArrive(i interp.Instruction) {
	first, _ := i.Span()
	op := p.opAt(i, trace.KindMbarCpAsyncArrive)
	fields := []trace.Field{trace.FieldAddr}
	if op.NoInc = has(i.Instruction, "noinc"); op.NoInc {
		fields = append(fields, trace.FieldNoInc)
	}
	p.clock("%bt_c")
	p.address(i.Operands[0], space(i))
	p.whoAgrees(i.Operands, false)
	p.record(p.site(op, takesAddress(space(i)), 1, fields...), "%bt_a")
	p.before(first)
}

// commit is tcgen05.commit, which arrives when what was asked for before it is
// done.
func (p *probe) commit(i interp.Instruction) {
	first, _ := i.Span()
	op := p.opAt(i, trace.KindMbarArrive)
	op.Count = 1
	fields := []trace.Field{trace.FieldAddr, trace.FieldCount}
	takes := takesAddress(space(i))
	p.clock("%bt_c")
	p.address(i.Operands[0], space(i))
	many := has(i.Instruction, "multicast::cluster") && len(i.Operands) > 1
	var values []value
	if many {
		takes |= TakesEachCTA
		p.load("%bt_o", i.Operands[1])
		values = []value{func(r string) {
			p.emit("cvt.u64.u32 %s, %%bt_o;", r)
			p.emit("and.b64 %s, %s, 0xffff;", r, r)
		}, p.zero()}
	}
	p.lanes(p.guard)
	if !p.agree(i.Operands) {
		p.keySplit(false, many)
	}
	p.leader(p.guard)
	p.record(p.site(op, takes, 1+len(values)/2, fields...), "%bt_a", values...)
	p.before(first)
}
