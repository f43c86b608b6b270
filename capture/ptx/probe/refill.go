package probe

import (
	"fmt"
	"strings"
)

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
