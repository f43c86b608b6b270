package probe

import (
	"bytes"

	"btrace/capture/ptx"
	"btrace/capture/ptx/interp"
	"btrace/trace"
)

// The code of a mark: see the package's comment.
const (
	markName = "__btrace_mark"
	markCode = 0x62740000
)

// Marks.
const (
	markCompletionBegin = iota + 1
	markCompletionEnd
	markGroupArrive
	markGroupWait
	markGroupDone
	markText
	markInit
	markArrive
	markWait
	markDone
)

// mark is a block that says what the kernel does.
type mark struct {
	code    int
	a, b, c ptx.Operand
	at      interp.Instruction
}

// findMarks finds the marks of a block and of those in it.
func (fn *function) findMarks(b *ptx.Block) {
	at := make(map[*ptx.Instruction]int, len(fn.code))
	for n, i := range fn.code {
		at[i.Instruction] = n
	}
	fn.findMarksIn(b, at)
}

func (fn *function) findMarksIn(b *ptx.Block, at map[*ptx.Instruction]int) {
	for _, s := range b.Statements {
		inner, ok := s.(*ptx.Block)
		if !ok {
			continue
		}
		if m, ok := fn.readMark(inner, at); ok {
			fn.marks[inner] = m
		} else {
			fn.findMarksIn(inner, at)
		}
	}
}

// readMark reads a block that is a mark.
func (fn *function) readMark(b *ptx.Block, at map[*ptx.Instruction]int) (m mark, ok bool) {
	for _, s := range b.Statements {
		i, isInstruction := s.(*ptx.Instruction)
		if !isInstruction {
			continue
		}
		if i.Op != "mov" || i.Guard != nil || len(i.Operands) != 2 {
			return m, false
		}
		to, ok := i.Operands[0].(*ptx.Name)
		if !ok {
			return m, false
		}
		switch to.Name {
		case markName:
			n, ok := i.Operands[1].(*ptx.Int)
			if !ok || n.Value>>16 != markCode>>16 {
				return m, false
			}
			m.code = int(n.Value & 0xffff)
			m.at = fn.code[at[i]]
		case "__btrace_a":
			m.a = i.Operands[1]
		case "__btrace_b":
			m.b = i.Operands[1]
		case "__btrace_c":
			m.c = i.Operands[1]
		default:
			return m, false
		}
	}
	return m, m.code >= markCompletionBegin && m.code <= markDone && m.a != nil && m.b != nil && m.c != nil
}

// mark records a mark.
func (p *probe) mark(m mark) {
	p.clock("%bt_c")
	switch m.code {
	case markCompletionBegin, markCompletionEnd:
		kind := trace.KindCompletionBegin
		if m.code == markCompletionEnd {
			kind = trace.KindCompletionEnd
		}
		p.emit("cvta.to.shared.u64 %%bt_u, %s;", p.text(m.a))
		p.emit("cvt.u32.u64 %%bt_a, %%bt_u;")
		p.whoAgrees([]ptx.Operand{m.a}, false)
		p.record(p.site(p.opAt(m.at, kind), TakesAddr, 1, trace.FieldAddr), "%bt_a")
	case markText:
		op := p.opAt(m.at, trace.KindMark)
		op.Text = p.literal(m.a, "mark")
		p.lanes("")
		p.leader("")
		p.record(p.site(op, 0, 1, trace.FieldText), "")
	case markInit, markArrive, markWait, markDone:
		p.barrierMark(m)
	default:
		p.groupMark(m)
	}
	if p.tests {
		p.emit("mov.b64 %%bt_f, 0;")
	}
}

// barrierMark is of a barrier that is no mbarrier, and told as if it were one.
// In memory that is not shared it would be the same barrier in every CTA, which
// events of mbarriers cannot say: there it is left out.
func (p *probe) barrierMark(m mark) {
	var op trace.Op
	p.guard = "%bt_g"
	p.emit("isspacep.%s %s, %s;", p.isShared(), p.guard, p.text(m.a))
	fields, takes := []trace.Field{trace.FieldAddr}, TakesAddr
	p.emit("cvta.to.shared.u64 %%bt_u, %s;", p.text(m.a))
	p.emit("cvt.u32.u64 %%bt_a, %%bt_u;")
	p.lanes(p.guard)
	if !p.uniform(m.a) {
		p.split(p.guard, "b32", "%bt_a")
	}
	var values []value
	switch m.code {
	case markInit:
		op = p.opAt(m.at, trace.KindMbarInit)
		fields, takes = append(fields, trace.FieldCount), takes|TakesCount
		p.load("%bt_n", m.b)
		if !p.uniform(m.b) {
			p.split(p.guard, "b32", "%bt_n")
		}
		values = []value{p.zero(), p.shifted("%bt_n")}
	case markArrive:
		op = p.opAt(m.at, trace.KindMbarArrive)
		op.Count = 1
		fields = append(fields, trace.FieldCount)
	case markWait:
		op = p.opAt(m.at, trace.KindMbarWait)
	case markDone:
		op = p.opAt(m.at, trace.KindMbarDone)
	}
	if m.code != markInit {
		fields, takes = append(fields, trace.FieldPhase), takes|TakesPhase
		p.emit("mov.b64 %%bt_k, %s;", p.text(m.b))
		if !p.uniform(m.b) {
			p.split(p.guard, "b64", "%bt_k")
		}
		values = []value{func(r string) { p.emit("mov.b64 %s, %%bt_k;", r) }, p.zero()}
	}
	p.leader(p.guard)
	p.record(p.site(op, takes, 2, fields...), "%bt_a", values...)
}

// isShared is the shared memory that is asked for: that of the cluster where
// there are clusters.
func (r *rewriter) isShared() string {
	if v := r.m.Version; archNumber(r.out.Arch) >= 90 && (v[0] > 7 || v[0] == 7 && v[1] >= 8) {
		return "shared::cluster"
	}
	return "shared"
}

func (p *probe) groupMark(m mark) {
	kind := trace.KindGroupArrive
	switch m.code {
	case markGroupWait:
		kind = trace.KindGroupWait
	case markGroupDone:
		kind = trace.KindGroupDone
	}
	op := p.opAt(m.at, kind)
	op.Group = p.literal(m.a, "group")
	fields, takes := []trace.Field{trace.FieldGroup, trace.FieldPhase}, TakesPhase
	values := []value{func(r string) { p.emit("mov.b64 %s, %s;", r, p.text(m.b)) }, p.zero()}
	p.lanes("")
	if !p.uniform(m.b) {
		p.emit("mov.b64 %%bt_k, %s;", p.text(m.b))
		p.split("", "b64", "%bt_k")
	}
	if n, ok := m.c.(*ptx.Int); kind == trace.KindGroupArrive && (!ok || n.Value != 0) {
		fields, takes = append(fields, trace.FieldCount), takes|TakesCount
		p.load("%bt_n", m.c)
		if !p.uniform(m.c) {
			p.split("", "b32", "%bt_n")
		}
		values[1] = p.shifted("%bt_n")
	}
	p.leader("")
	p.record(p.site(op, takes, 2, fields...), "", values...)
}

// maxText bounds the texts of marks.
const maxText = 200

// literal is the text of a string literal that an operand is the address of;
// other if it cannot be found.
func (fn *function) literal(o ptx.Operand, other string) string {
	v := fn.variable(o)
	if v == nil || v.Type != "b8" && v.Type != "u8" && v.Type != "s8" || len(v.Init) == 0 {
		return other
	}
	var text []byte
	for _, i := range v.Init {
		if i.Symbol != "" || byte(i.Value) == 0 || len(text) == maxText {
			break
		}
		text = append(text, byte(i.Value))
	}
	text = bytes.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, bytes.ToValidUTF8(text, []byte("?")))
	if len(text) == 0 {
		return other
	}
	return string(text)
}
