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

// room sees to it that there is room for so many slots, and one for the word
// that the lane is done with the chunk: where a lane has none, all lanes go to
// a block in which it takes a chunk, and come back. If it got none it does not
// write the records. They go there, too, where a lane is in the middle of a
// slot, which it leaves, unless the records may begin there.
func (p *probe) room(slots, records int, middle bool) {
	p.labels++
	n := p.labels
	limit := (ChunkSlots - slots - 1) * SlotBytes
	if middle {
		limit -= SlotBytes // the second half of a slot may have to be left out
	}
	p.emit("cvt.u32.u64 %%bt_t, %%bt_w;")
	if !middle {
		p.emit("shl.b32 %%bt_z, %%bt_t, 28;") // the bit of half a slot becomes the highest
	}
	p.emit("and.b32 %%bt_t, %%bt_t, %d;", offsets)
	if !middle {
		p.emit("or.b32 %%bt_t, %%bt_t, %%bt_z;")
	}
	p.emit("setp.gt.and.u32 %%bt_q, %%bt_t, %d, %%bt_p;", limit)
	p.emit("vote.sync.any.pred %%bt_any, %%bt_q, %%bt_all;")
	p.emit("@%%bt_any bra.uni $bt_R%d;", n)
	p.emit("$bt_B%d:", n)
	p.coldAt(p.at).WriteString(p.refill(n, records, limit))
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

// refill is the block in which the lanes of q take a chunk: see package ring.
// The others of those that came together come along.
func (fn *function) refill(n, records, limit int) string {
	pause := "nanosleep.u32 200;"
	if v := fn.m.Version; v[0] == 6 && v[1] < 3 { // it is of 6.3
		pause = ""
	}
	return strings.NewReplacer("#", fmt.Sprint(n), "LOST", fmt.Sprint(records*chunkBytes), "LIMIT", fmt.Sprint(limit), "CTL", ControlName, "SPACE", fn.control, "RARE", fn.rare, "PAUSE", pause, "LAP", lapText).Replace(refillText)
}

// lapText puts the lap of a ticket in x where an entry of the fifo has it, into
// z, and the ticket into t: an entry less z is a chunk plus 1, if it is for
// this ticket. There are so few chunks that the lower half of the ticket has
// all bits of the lap that an entry has.
var lapText = fmt.Sprintf(`popc.b32 %%bt_z, %%bt_i;
	cvt.u32.u64 %%bt_t, %%bt_x;
	shr.u32 %%bt_z, %%bt_t, %%bt_z;
	shl.b32 %%bt_z, %%bt_z, %d;`, entryBits)

// All its branches are the same for all lanes, so that those stay together: b
// is who may have a chunk, r who waits for one. Who was in the middle of a slot
// may have room behind it. The chunk that is left, if there is one, is closed.
//
// What is added to the counter of tickets is 1, which ptxas cannot know: it
// would have one lane add for all, in code that has lanes part.
var refillText = fmt.Sprintf(`$bt_R#:RARE
	cvt.u32.u64 %%bt_t, %%bt_w;
	and.b32 %%bt_t, %%bt_t, 8;
	setp.ne.and.u32 %%bt_b, %%bt_t, 0, %%bt_q;
	mov.b64 %%bt_x, %#[12]x;
	@%%bt_b st.volatile.global.b64 [%%bt_w], %%bt_x;
	@%%bt_b add.u64 %%bt_w, %%bt_w, 8;
	cvt.u32.u64 %%bt_t, %%bt_w;
	and.b32 %%bt_t, %%bt_t, %[13]d;
	setp.gt.and.u32 %%bt_q, %%bt_t, LIMIT, %%bt_q;
	setp.ge.and.s64 %%bt_b, %%bt_w, 0, %%bt_q;
	and.b64 %%bt_x, %%bt_c, %#[4]x;
	or.b64 %%bt_x, %%bt_x, %#[11]x;
	@%%bt_b st.volatile.global.b64 [%%bt_w], %%bt_x;
	ld.SPACE.u64 %%bt_u, [CTL+8];
	ld.SPACE.u64 %%bt_v, [CTL+24];
	ld.SPACE.u32 %%bt_i, [CTL+16];
	ld.SPACE.u32 %%bt_j, [CTL+20];
	and.b32 %%bt_j, %%bt_j, 1;
	setp.ne.and.u32 %%bt_b, %%bt_j, 0, %%bt_q;
	mov.b64 %%bt_x, 0;
	@%%bt_b ld.volatile.global.u64 %%bt_x, [%%bt_u];
	cvt.u64.u32 %%bt_y, %%bt_i;
	setp.gt.and.u64 %%bt_b, %%bt_x, %%bt_y, %%bt_b;
	LAP
	and.b32 %%bt_t, %%bt_t, %%bt_i;
	mad.wide.u32 %%bt_x, %%bt_t, 4, %%bt_v;
	add.u32 %%bt_j, %%bt_z, 1;
	@%%bt_b ld.volatile.global.u32 %%bt_j, [%%bt_x];
	sub.u32 %%bt_j, %%bt_j, %%bt_z;
	sub.u32 %%bt_j, %%bt_j, 1;
	setp.lt.and.u32 %%bt_b, %%bt_j, %[10]d, %%bt_q;
	and.b32 %%bt_t, %%bt_m, %%bt_l;
	add.u32 %%bt_t, %%bt_t, 1;
	cvt.u64.u32 %%bt_x, %%bt_t;
	@%%bt_b atom.global.add.u64 %%bt_x, [%%bt_u], %%bt_x;
	setp.gt.and.u64 %%bt_r, %%bt_x, %%bt_y, %%bt_b;
	LAP
	and.b32 %%bt_j, %%bt_t, %%bt_i;
	mad.wide.u32 %%bt_v, %%bt_j, 4, %%bt_v;
	ld.SPACE.u64 %%bt_u, [CTL];
	vote.sync.any.pred %%bt_any, %%bt_r, %%bt_all;
	@!%%bt_any bra.uni $bt_E#;
$bt_L#:
	mov.b32 %%bt_j, 0;
	@%%bt_r ld.volatile.global.u32 %%bt_t, [%%bt_v];
	@%%bt_r ld.volatile.global.u32 %%bt_j, [%%bt_u+%[9]d];
	and.b32 %%bt_j, %%bt_j, 1;
	@%%bt_r sub.u32 %%bt_t, %%bt_t, %%bt_z;
	@%%bt_r sub.u32 %%bt_t, %%bt_t, 1;
	setp.ge.and.u32 %%bt_any, %%bt_t, %[10]d, %%bt_r;
	setp.eq.and.u32 %%bt_any, %%bt_j, 0, %%bt_any;
	vote.sync.any.pred %%bt_any, %%bt_any, %%bt_all;
	PAUSE
	@%%bt_any bra.uni $bt_L#;
$bt_E#:
	setp.lt.and.u32 %%bt_b, %%bt_t, %[10]d, %%bt_b;
	and.pred %%bt_r, %%bt_r, %%bt_b;
	@%%bt_r st.volatile.global.u32 [%%bt_v], 0;
	@%%bt_q mov.pred %%bt_p, %%bt_b;
	setp.lt.s64 %%bt_r, %%bt_w, 0;
	selp.b64 %%bt_u, %%bt_w, %#[1]x, %%bt_r;
	@%%bt_q add.u64 %%bt_w, %%bt_u, LOST;
	ld.SPACE.u64 %%bt_x, [CTL+32];
	@%%bt_b mad.wide.u32 %%bt_w, %%bt_t, %[3]d, %%bt_x;
	mov.u64 %%bt_x, %%gridid;
	or.b64 %%bt_x, %%bt_x, %#[2]x;
	mov.u32 %%bt_t, %%ctaid.z;
	mov.u32 %%bt_i, %%nctaid.y;
	mov.u32 %%bt_j, %%ctaid.y;
	mad.lo.u32 %%bt_t, %%bt_t, %%bt_i, %%bt_j;
	mov.u32 %%bt_i, %%nctaid.x;
	mov.u32 %%bt_j, %%ctaid.x;
	mad.lo.u32 %%bt_t, %%bt_t, %%bt_i, %%bt_j;
	mov.u32 %%bt_i, %%tid.z;
	mov.u32 %%bt_j, %%ntid.y;
	mov.u32 %%bt_z, %%tid.y;
	mad.lo.u32 %%bt_i, %%bt_i, %%bt_j, %%bt_z;
	mov.u32 %%bt_j, %%ntid.x;
	mov.u32 %%bt_z, %%tid.x;
	mad.lo.u32 %%bt_i, %%bt_i, %%bt_j, %%bt_z;
	shr.u32 %%bt_i, %%bt_i, 5;
	mov.u32 %%bt_j, %%laneid;
	shl.b32 %%bt_j, %%bt_j, 6;
	or.b32 %%bt_i, %%bt_i, %%bt_j;
	mov.u32 %%bt_j, %%smid;
	shl.b32 %%bt_j, %%bt_j, 11;
	or.b32 %%bt_i, %%bt_i, %%bt_j;
	or.b32 %%bt_i, %%bt_i, 0x80000000;
	mov.b64 %%bt_y, {%%bt_t, %%bt_i};
	@%%bt_b st.volatile.global.v2.b64 [%%bt_w], {%%bt_x, %%bt_y};
	mov.u64 %%bt_x, %%clock64;
	mov.u64 %%bt_y, %%globaltimer;
	or.b64 %%bt_x, %%bt_x, %#[2]x;
	or.b64 %%bt_y, %%bt_y, %#[2]x;
	@%%bt_b st.volatile.global.v2.b64 [%%bt_w+16], {%%bt_x, %%bt_y};
	@%%bt_b add.u64 %%bt_w, %%bt_w, %[6]d;
	shr.u64 %%bt_u, %%bt_u, %[7]d;
	cvt.u32.u64 %%bt_t, %%bt_u;
	and.b32 %%bt_t, %%bt_t, 0x7fffffff;
	setp.ne.and.u32 %%bt_q, %%bt_t, 0, %%bt_b;
	or.b32 %%bt_t, %%bt_t, 0x80000000;
	add.u32 %%bt_i, %%bt_l, 1;
	mov.b64 %%bt_y, {%%bt_i, %%bt_t};
	and.b64 %%bt_x, %%bt_c, %#[4]x;
	or.b64 %%bt_x, %%bt_x, %#[5]x;
	@%%bt_q st.volatile.global.v2.b64 [%%bt_w], {%%bt_x, %%bt_y};
	@%%bt_q add.u64 %%bt_w, %%bt_w, %[8]d;
	bra.uni $bt_B#;
`, none, valid, chunkBytes, uint64(clockMask), valid|SiteGap<<40, HeaderSlots*SlotBytes, log2(chunkBytes), SlotBytes, ringFlags, maxChunk, valid|SiteClose<<40, uint64(blank), offsets)

func log2(n int) (bits int) {
	for ; n > 1; n /= 2 {
		bits++
	}
	return bits
}

// site adds a site to the table. fields are the operands that its records
// bring.
func (fn *function) site(op trace.Op, takes Takes, slots int, fields ...trace.Field) uint32 {
	op.Has = op.Has.With(fields...)
	fn.out.Sites = append(fn.out.Sites, Site{Number: fn.next, Slots: slots, Function: fn.f.Name, Op: op, Takes: takes})
	fn.next++
	return fn.next - 1
}
