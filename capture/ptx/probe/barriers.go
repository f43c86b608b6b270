package probe

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"btrace/capture/ptx"
	"btrace/capture/ptx/interp"
	"btrace/trace"
)

// text is an operand as it stands in the source.
func (fn *function) text(o ptx.Operand) string {
	first, last := o.Span()
	var b strings.Builder
	for _, t := range fn.m.Tokens[first : last+1] {
		b.WriteString(t.Text)
	}
	return b.String()
}

// load puts a source operand of 32 bits or less in a register.
func (p *probe) load(into string, o ptx.Operand) {
	switch p.size(o) {
	case 8:
		p.emit("cvt.u32.u64 %s, %s;", into, p.text(o))
	case 2:
		p.emit("cvt.u32.u16 %s, %s;", into, p.text(o))
	default:
		p.emit("mov.b32 %s, %s;", into, p.text(o))
	}
}

// size is the bytes of a register; 0 of another operand.
func (p *probe) size(o ptx.Operand) int {
	n, ok := o.(*ptx.Name)
	if !ok || n.Sym == nil || n.Sym.Kind != ptx.SymRegister {
		return 0
	}
	size, _ := ptx.TypeSize(n.Sym.Variable.Type)
	return size
}

// The widths of what a record says of a named barrier.
const (
	maxBar   = 1<<15 - 1
	maxCount = 1<<16 - 1
)

// bar is bar and barrier of the CTA: arrive, sync and red.
func (p *probe) bar(i interp.Instruction) {
	ops := i.Operands
	op := p.opAt(i, trace.KindBarSync)
	op.Aligned = i.Op == "bar" || has(i.Instruction, "aligned")
	fields := []trace.Field{trace.FieldBar, trace.FieldCount, trace.FieldAligned}
	takes := TakesBar
	var pred, result ptx.Operand
	switch {
	case has(i.Instruction, "sync"):
	case has(i.Instruction, "arrive"):
		op.Kind = trace.KindBarArrive
	default:
		op.Kind = trace.KindBarRed
		switch {
		case has(i.Instruction, "popc"):
			op.Red = trace.RedPopc
		case has(i.Instruction, "and"):
			op.Red = trace.RedAnd
		default:
			op.Red = trace.RedOr
		}
		takes |= TakesPred
		fields = append(fields, trace.FieldRed, trace.FieldPred)
		result, pred = ops[0], ops[len(ops)-1]
		ops = ops[1 : len(ops)-1]
	}
	first, last := i.Span()

	p.clock("%bt_c")
	operand := p.barOperand(ops, false)
	r, inRun := p.runs[i.Instruction]
	if !inRun || r.slots > 0 {
		p.lanes(p.guard)
		if !p.agree(ops) {
			p.split(p.guard, "b32", "%bt_o")
		}
		p.leader(p.guard)
		if r.short {
			p.emit("setp.eq.u32 %%bt_full, %%bt_m, 0xffffffff;")
		}
	}
	var values []value
	if pred != nil {
		p.emit("mov.b32 %%bt_n, 0;")
		p.emitFor(p.guard, "vote.sync.ballot.b32 %%bt_n, %s, %%bt_m;", p.text(pred))
		values = []value{p.wide("%bt_n"), p.zero()}
	}
	slots := 1 + len(values)/2
	if !inRun {
		p.room(slots, 1, false)
	} else if r.slots > 0 {
		p.room(r.slots, r.records, r.short)
	}
	site := p.site(op, takes, slots, fields...)
	if r.short {
		p.short(p.shortSite(operand), site, operand)
	} else {
		p.begin(site, operand, values...)
		p.finish(slots)
	}
	p.before(first)
	if op.Kind == trace.KindBarArrive {
		return
	}

	done := p.opAt(i, trace.KindBarDone)
	fields = []trace.Field{trace.FieldBar}
	p.clockBehind("%bt_c")
	operand = p.barOperand(ops, true)
	if n, ok := result.(*ptx.Name); ok && n.Name != "_" {
		fields = append(fields, trace.FieldResult)
		if op.Red == trace.RedPopc {
			p.load("%bt_n", result)
		} else {
			p.emit("selp.b32 %%bt_n, 1, 0, %s;", p.text(result))
		}
		p.emit("mad.lo.u32 %%bt_o, %%bt_n, %d, %s;", maxBar+1, operand)
		operand = "%bt_o"
	}
	site = p.site(done, TakesResult, 1, fields...)
	if r.short {
		p.short(p.shortSite(operand), site, operand)
	} else if inRun {
		p.begin(site, operand)
		p.finish(1)
	} else {
		// Lanes may come out of different phases here.
		p.lanes(p.guard)
		if !p.agree(ops) || result != nil && !op.Aligned {
			p.split(p.guard, "b32", "%bt_o")
		}
		p.leader(p.guard)
		p.record(site, operand)
	}
	p.behind(last)
}

// shortSite adds a site for those records of the last one that are short: their
// operand is known.
func (p *probe) shortSite(operand string) uint32 {
	s := p.out.Sites[len(p.out.Sites)-1]
	n, _ := strconv.ParseUint(operand, 10, 32)
	s.Op = s.Append(nil, &Record{Operand: uint32(n), Lanes: math.MaxUint32}, &Place{})[0].Op
	s.Op.Lanes = 0
	s.Op.Has &^= trace.Fields(0).With(trace.FieldClk)
	s.Number, s.Takes, s.Short = p.next, 0, true
	p.out.Sites = append(p.out.Sites, s)
	p.next++
	return s.Number
}

// barOperand is barrier and count together, as the operand of a record: a
// constant, or register o. Behind the barrier only the former counts, which
// may be in o.
func (p *probe) barOperand(ops []ptx.Operand, behind bool) string {
	bar, barKnown := p.constant(ops[0])
	if behind && !barKnown { // the instruction may have written the register
		p.emit("and.b32 %%bt_o, %%bt_o, %d;", maxBar)
		return "%bt_o"
	}
	count, countKnown := uint64(0), true
	if len(ops) > 1 && !behind {
		count, countKnown = p.constant(ops[1])
	}
	bar, count = min(bar&math.MaxUint32, maxBar), min(count&math.MaxUint32, maxCount)
	if barKnown && countKnown {
		return fmt.Sprint(bar | count*(maxBar+1))
	}
	if barKnown {
		p.emit("mov.b32 %%bt_o, %d;", bar)
	} else {
		p.load("%bt_o", ops[0])
		p.emit("min.u32 %%bt_o, %%bt_o, %d;", maxBar)
	}
	switch {
	case !countKnown:
		p.load("%bt_n", ops[1])
		p.emit("min.u32 %%bt_n, %%bt_n, %d;", maxCount)
		p.emit("mad.lo.u32 %%bt_o, %%bt_n, %d, %%bt_o;", maxBar+1)
	case count > 0:
		p.emit("or.b32 %%bt_o, %%bt_o, %d;", count*(maxBar+1))
	}
	return "%bt_o"
}

// agree reports whether operands are the same in all lanes.
func (p *probe) agree(ops []ptx.Operand) bool {
	for _, o := range ops {
		if !p.uniform(o) {
			return false
		}
	}
	return true
}

// syncwarp is bar.warp.sync.
func (p *probe) syncwarp(i interp.Instruction) {
	first, last := i.Span()
	var takes Takes
	var values []value
	op, done := p.opAt(i, trace.KindSyncwarp), p.opAt(i, trace.KindSyncwarpDone)
	p.clock("%bt_c")
	if n, ok := i.Operands[0].(*ptx.Int); ok {
		op.Mask, done.Mask = uint32(n.Value), uint32(n.Value)
	} else {
		takes = TakesMask
		p.load("%bt_n", i.Operands[0])
		values = []value{p.wide("%bt_n"), p.zero()}
	}
	who := func() {
		p.lanes(p.guard)
		if !p.agree(i.Operands) {
			p.split(p.guard, "b32", "%bt_n")
		}
		p.leader(p.guard)
	}
	who()
	p.record(p.site(op, takes, 1+len(values)/2, trace.FieldMask), "", values...)
	p.before(first)
	p.clockBehind("%bt_c")
	who()
	p.record(p.site(done, takes, 1+len(values)/2, trace.FieldMask), "", values...)
	p.behind(last)
}

// cluster is barrier.cluster.
func (p *probe) cluster(i interp.Instruction) {
	first, last := i.Span()
	kind := trace.KindClusterArrive
	if has(i.Instruction, "wait") {
		kind = trace.KindClusterWait
	}
	op := p.opAt(i, kind)
	var fields []trace.Field
	if op.Aligned = has(i.Instruction, "aligned"); op.Aligned {
		fields = append(fields, trace.FieldAligned)
	}
	order(&op, i)
	p.clock("%bt_c")
	p.lanes(p.guard)
	p.leader(p.guard)
	p.record(p.site(op, 0, 1, fields...), "")
	p.before(first)
	if kind == trace.KindClusterWait {
		p.clockBehind("%bt_c")
		p.lanes(p.guard)
		p.leader(p.guard)
		p.record(p.site(p.opAt(i, trace.KindClusterDone), 0, 1), "")
		p.behind(last)
	}
}

// order notes the memory ordering of an instruction.
func order(op *trace.Op, i interp.Instruction) {
	if op.Sem = memoryOrder(i.Instruction); op.Sem != trace.SemNone {
		op.Has = op.Has.With(trace.FieldSem)
	}
}
