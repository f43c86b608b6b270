package probe

import (
	"fmt"
	"strings"

	"btrace/capture/ptx"
	"btrace/trace"
)

// The registers of probes, in every function that has some.
//
//	off      nothing is recorded of this warp: probes are jumped over
//	w        where the thread writes next; or, without a chunk, none | chunkBytes*lost
//	l        %lanemask_lt
//	s        it waits for an mbarrier, and this is recorded
//	f        the last test of an mbarrier that failed, if it did nothing since
//	g        the predicate of the instruction
//	c, d     clocks: of the record, and before the instruction
//	all      lanes that come by together
//	m, p     of them, lanes of the record; this one writes it
//	full     in a run: they are all lanes of the warp
//	a, o, n  address or operand, and what else the record holds
//	k        what lanes of one record agree on
//	the others hold something for a few instructions
const registers = `	.reg .b64 %bt_w, %bt_f, %bt_c, %bt_d, %bt_k, %bt_x, %bt_y, %bt_u, %bt_v;
	.reg .b32 %bt_l, %bt_all, %bt_m, %bt_a, %bt_o, %bt_n, %bt_h, %bt_t, %bt_i, %bt_j, %bt_z;
	.reg .pred %bt_p, %bt_q, %bt_r, %bt_b, %bt_e, %bt_g, %bt_s, %bt_off, %bt_full, %bt_any;
`

const (
	chunkBytes = ChunkSlots * SlotBytes
	offsets    = chunkBytes - SlotBytes // the bits of an address that say which slot of its chunk it is
	valid      = uint64(1) << 63
	blank      = valid | SiteGap<<40 // fills the second half of a slot
	none       = valid | offsets     // no chunk: no room, and nothing lost
	clockMask  = 1<<40 - 1
	ringFlags  = 0x14 // where in the ring's header the flags are

	// An entry of the fifo: the lap above these bits, and the chunk plus 1 in
	// them.
	entryBits = 20
	maxChunk  = 1<<entryBits - 1 // above all chunks
)

// probe is code that is put before or behind an instruction.
type probe struct {
	*function
	lines []string
	guard string // the predicate of the lanes that execute it; "" for all that come by
}

func (p *probe) emit(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

// emitFor is emit for the lanes with a predicate only.
func (p *probe) emitFor(pred, format string, args ...any) {
	p.emit(format, args...)
	if pred != "" {
		p.lines[len(p.lines)-1] = "@" + pred + " " + p.lines[len(p.lines)-1]
	}
}

// before and behind put the code at an instruction, and begin anew. A warp that
// is off jumps over it.
func (p *probe) before(token int) {
	if len(p.lines) > 0 {
		p.edits.InsertBefore(token, p.code()+"\n\t")
	}
}

func (p *probe) behind(token int) {
	if len(p.lines) > 0 {
		p.edits.InsertAfter(token, "\n\t"+p.code())
	}
}

func (p *probe) code() string {
	p.labels++
	lines := p.lines
	p.lines = nil
	// The label begins a block of its own: what is before it is written before
	// lanes meet for what is behind it.
	return fmt.Sprintf("@%%bt_off bra.uni $bt_S%[1]d;\n\t%[2]s\n\t$bt_S%[1]d:", p.labels, strings.Join(lines, "\n\t"))
}

// keepGuard copies the predicate of an instruction, which may write it.
func (p *probe) keepGuard(g *ptx.Guard) {
	if g == nil {
		return
	}
	p.guard = "%bt_g"
	op := "mov"
	if g.Not {
		op = "not"
	}
	p.emit("%s.pred %%bt_g, %s;", op, g.Name.Name)
}

// clock reads the clock.
func (p *probe) clock(into string) { p.emit("mov.u64 %s, %%clock64;", into) }

// clockBehind reads the clock behind an instruction that waits. A warp that
// waits at a barrier goes on to read clock64, so that this would have the time
// before the wait; it does not go on to what reads clock. And so both are read,
// clock first, and what is added to the other is always 0, which ptxas cannot
// know. Measured on an H100: 50,000 cycles too early without.
func (p *probe) clockBehind(into string) {
	p.emit("mov.u32 %%bt_t, %%clock;")
	p.clock(into)
	p.emit("cvt.u32.u64 %%bt_z, %s;", into)
	p.emit("sub.u32 %%bt_z, %%bt_z, %%bt_t;")
	p.emit("shr.u32 %%bt_z, %%bt_z, 31;")
	p.emit("mov.b64 {%%bt_i, %%bt_j}, %s;", into)
	p.emit("add.u32 %%bt_i, %%bt_i, %%bt_z;")
	p.emit("mov.b64 %s, {%%bt_i, %%bt_j};", into)
}

// lanes asks which lanes are here, and which of them have a predicate. They
// stay together until the probe ends: where one has to wait for a chunk all
// wait. Left to themselves they would part there, and what is behind is made for
// warps that are whole: on an H100 a warp in which lanes had parted came to
// aligned barriers, which then never ended, and records had others' lanes.
func (p *probe) lanes(pred string) {
	p.emit("activemask.b32 %%bt_all;")
	if pred == "" {
		p.emit("mov.b32 %%bt_m, %%bt_all;")
	} else {
		p.emit("vote.sync.ballot.b32 %%bt_m, %s, %%bt_all;", pred)
	}
}

// split leaves of the lanes those that have the same value in a register as
// this one. The lanes have to be here: what lanes asked for last.
func (p *probe) split(pred, typ, register string) {
	if pred != "" {
		p.emit("setp.eq.u32 %%bt_r, 0, 0;")
	}
	p.emitFor(pred, "match.all.sync.%s %%bt_t|%%bt_r, %s, %%bt_m;", typ, register)
	p.emit("@!%%bt_r match.any.sync.%s %%bt_m, %s, %%bt_m;", typ, register)
}

// leader makes the first of the lanes the one that writes.
func (p *probe) leader(pred string) {
	p.emit("and.b32 %%bt_t, %%bt_m, %%bt_l;")
	if pred == "" {
		p.emit("setp.eq.u32 %%bt_p, %%bt_t, 0;")
	} else {
		p.emit("setp.eq.and.u32 %%bt_p, %%bt_t, 0, %s;", pred)
	}
}

// coldAt is what is to stand at the end of a block.
func (fn *function) coldAt(b *ptx.Block) *strings.Builder {
	if fn.cold[b] == nil {
		fn.cold[b] = new(strings.Builder)
	}
	return fn.cold[b]
}

// value is one of the two words of a slot behind the first: code that leaves it
// in a register, but for bit 63.
type value func(register string)

// record has the leader write a record of a site, whose operand is a register
// or a number, "" for 0. The other slots are values.
func (p *probe) record(site uint32, operand string, values ...value) {
	p.room(1+len(values)/2, 1, false)
	p.begin(site, operand, values...)
	p.finish(1 + len(values)/2)
}

// begin writes the first slots of a record, and finish ends one of so many
// slots.
func (p *probe) begin(site uint32, operand string, values ...value) {
	p.emit("and.b64 %%bt_x, %%bt_c, %#x;", uint64(clockMask))
	p.emit("or.b64 %%bt_x, %%bt_x, %#x;", valid|uint64(site)<<40)
	p.operand(operand)
	p.emit("@%%bt_p st.volatile.global.v2.b64 [%%bt_w], {%%bt_x, %%bt_y};")
	p.values(1, values...)
}

func (p *probe) finish(slots int) { p.advance(SlotBytes * slots) }

// advance goes on behind what was written: it ends in its chunk, whose address
// has 0 in the bits that count its bytes.
func (p *probe) advance(bytes int) {
	p.emit("mov.b64 {%%bt_t, %%bt_z}, %%bt_w;")
	p.emit("@%%bt_p add.u32 %%bt_t, %%bt_t, %d;", bytes)
	p.emit("mov.b64 %%bt_w, {%%bt_t, %%bt_z};")
}

// short writes a record of one word, if all lanes are here, and otherwise, in a
// block at the end, that of another site, with an operand.
func (p *probe) short(site, other uint32, operand string) {
	p.labels++
	n := p.labels
	long := &probe{function: p.function}
	long.emit("cvt.u32.u64 %%bt_t, %%bt_w;")
	long.emit("and.b32 %%bt_t, %%bt_t, 8;")
	long.emit("setp.ne.and.u32 %%bt_q, %%bt_t, 0, %%bt_p;")
	long.emit("mov.b64 %%bt_x, %#x;", uint64(blank))
	long.emit("@%%bt_q st.volatile.global.b64 [%%bt_w], %%bt_x;")
	long.emit("@%%bt_q add.u64 %%bt_w, %%bt_w, 8;")
	long.begin(other, operand)
	long.advance(SlotBytes)
	fmt.Fprintf(p.coldAt(p.at), "$bt_N%d:%s\n\t%s\n\tbra $bt_M%d;\n", n, p.rare, strings.Join(long.lines, "\n\t"), n)

	p.emit("@!%%bt_full bra.uni $bt_N%d;", n)
	p.emit("and.b64 %%bt_x, %%bt_c, %#x;", uint64(clockMask))
	p.emit("or.b64 %%bt_x, %%bt_x, %#x;", valid|uint64(site)<<40)
	p.emit("@%%bt_p st.volatile.global.b64 [%%bt_w], %%bt_x;")
	p.advance(SlotBytes / 2)
	p.emit("$bt_M%d:", n)
}

// operand makes the second word of a record.
func (p *probe) operand(operand string) {
	if operand == "" {
		operand = "0"
	}
	p.emit("or.b32 %%bt_h, %s, 0x80000000;", operand)
	p.emit("mov.b64 %%bt_y, {%%bt_m, %%bt_h};")
}

// values writes slots of a record, from that number on.
func (p *probe) values(slot int, values ...value) {
	for n := 0; n+1 < len(values); n += 2 {
		values[n]("%bt_x")
		values[n+1]("%bt_y")
		p.emit("or.b64 %%bt_x, %%bt_x, %#x;", valid)
		p.emit("or.b64 %%bt_y, %%bt_y, %#x;", valid)
		p.emit("@%%bt_p st.volatile.global.v2.b64 [%%bt_w+%d], {%%bt_x, %%bt_y};", SlotBytes*(slot+n/2))
	}
}

// zero, wide and shifted are values: 0, what a register of 32 bits holds, and
// that from bit 1 on.
func (p *probe) zero() value { return func(r string) { p.emit("mov.b64 %s, 0;", r) } }

func (p *probe) wide(from string) value {
	return func(r string) { p.emit("cvt.u64.u32 %s, %s;", r, from) }
}

func (p *probe) shifted(from string) value {
	return func(r string) { p.emit("mul.wide.u32 %s, %s, 2;", r, from) }
}

// close has lanes say that they write no more to their chunk, if they have
// one.
func (p *probe) close() {
	if p.guard == "" {
		p.emit("setp.ge.s64 %%bt_q, %%bt_w, 0;")
	} else {
		p.emit("setp.ge.and.s64 %%bt_q, %%bt_w, 0, %s;", p.guard)
	}
	p.emit("and.b64 %%bt_x, %%bt_c, %#x;", uint64(clockMask))
	p.emit("or.b64 %%bt_x, %%bt_x, %#x;", valid|SiteClose<<40)
	p.emit("@%%bt_q st.volatile.global.b64 [%%bt_w], %%bt_x;")
}

// site adds a site to the table. fields are the operands that its records
// bring.
func (fn *function) site(op trace.Op, takes Takes, slots int, fields ...trace.Field) uint32 {
	op.Has = op.Has.With(fields...)
	fn.out.Sites = append(fn.out.Sites, Site{Number: fn.next, Slots: slots, Function: fn.f.Name, Op: op, Takes: takes})
	fn.next++
	return fn.next - 1
}
