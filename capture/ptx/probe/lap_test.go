package probe_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"btrace/capture/cupti/ring"
	"btrace/capture/cupti/ring/ringtest"
	"btrace/capture/ptx/probe"
	"btrace/trace"
)

// Here the ring is one that package ring made, and its reader reads it and
// hands out its chunks again.

// ringChunks is the least that there can be, for many laps.
const ringChunks = ring.MinChunks

// realRing is memory with a ring and its reader.
type realRing struct {
	mem     []byte
	reader  *ring.Reader
	tickets uint64 // that lanes took
}

// newRing is a ring of which lanes had so many chunks before, and gave them
// back.
func newRing(tb testing.TB, tickets uint64) *realRing {
	tb.Helper()
	words := make([]uint64, ring.Size(ringChunks)/8+1)
	mem := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 8*len(words))
	if uintptr(unsafe.Pointer(&words[0]))%16 != 0 {
		mem = mem[8:]
	}
	r := &realRing{mem: mem[:ring.Size(ringChunks)], tickets: tickets}
	if err := ring.Format(r.mem, ringChunks, 0); err != nil {
		tb.Fatal(err)
	}
	var err error
	if r.reader, err = ring.NewReader(r.mem); err != nil {
		tb.Fatal(err)
	}
	lanes := ringtest.New(r.mem)
	var b ring.Batch
	for range tickets {
		l := lanes.Lane(1, 0, 0, 0, 0)
		l.Record(2, 0, 1)
		l.Close()
		r.reader.Poll([]ring.RecordSize{2: {Slots: 1}}, &b, 1)
		b.Reset()
	}
	return r
}

// entry is what the reader wrote to the fifo for a ticket.
func (r *realRing) entry(ticket uint64) uint32 {
	fifo := binary.LittleEndian.Uint64(r.mem[0x18:])
	return binary.LittleEndian.Uint32(r.mem[fifo+4*(ticket%ringChunks):])
}

// withhold takes the entry of a ticket back, and leaves that of the lap before
// there, of another chunk: as if the lane of that ticket had not come yet.
func (r *realRing) withhold(tb testing.TB, ticket uint64) (entry uint32) {
	tb.Helper()
	before := newRing(tb, ticket-ringChunks).entry(ticket - ringChunks)
	entry = r.entry(ticket)
	if before == 0 || before == entry {
		tb.Fatalf("entries %#x of a ticket and %#x of that a lap before it", entry, before)
	}
	fifo := binary.LittleEndian.Uint64(r.mem[0x18:])
	binary.LittleEndian.PutUint32(r.mem[fifo+4*(ticket%ringChunks):], before+4)
	return entry
}

// put gives a rewritten module the ring as it is, as the variables ring and
// ring_tickets, and flags in its control block.
func (r *realRing) put(tb testing.TB, src []byte, flags uint32) []byte {
	tb.Helper()
	mem := strings.Builder{}
	for i, blank := 0, 0; i < len(r.mem); i += 8 {
		w := binary.LittleEndian.Uint64(r.mem[i:])
		if w == 0 {
			blank++
			continue
		}
		mem.WriteString(strings.Repeat("0, ", blank))
		fmt.Fprintf(&mem, "%d, ", w)
		blank = 0
	}
	fifo, chunks := binary.LittleEndian.Uint64(r.mem[0x18:]), binary.LittleEndian.Uint64(r.mem[0x20:])
	return declare(tb, src, fmt.Sprintf(`.global .align %d .u64 ring[%d] = {%s};
.global .align 8 .u64 ring_tickets = %d;
.visible .const .align 8 .u64 __btrace_ctl[8] = {ring, ring_tickets, %d, ring+%d, ring+%d, 0, 0, 0};
`, ring.ChunkBytes, len(r.mem)/8, strings.TrimSuffix(mem.String(), ", "), r.tickets, uint64(flags)<<32|ringChunks-1, fifo, chunks))
}

// read reads what a launch left in the ring, and gives its chunks back.
func (r *realRing) read(tb testing.TB, m *probe.Module, variables map[string][]byte, grid, cluster trace.Dim) (records []record) {
	tb.Helper()
	copy(r.mem, variables["ring"])
	r.tickets = binary.LittleEndian.Uint64(variables["ring_tickets"])
	sizes := make([]ring.RecordSize, m.Next)
	for _, s := range m.Sites {
		sizes[s.Number] = ring.RecordSize{Slots: uint8(s.Slots), Head: uint8(s.Slots - s.Tail()), Short: s.Short}
	}
	var b ring.Batch
	if r.reader.Poll(sizes, &b, 1<<20) || r.reader.Broken() > 0 || r.reader.Taken() > 0 {
		tb.Fatalf("of all chunks %d are broken and %d not closed", r.reader.Broken(), r.reader.Taken())
	}
	for _, run := range b.Runs {
		word := run.FirstWord
		for i := run.First; i < run.First+run.N; i++ {
			one := record{lane: uint32(run.Lane), warp: uint32(run.Warp), at: probe.Place{CTA: run.CTA, Grid: grid, Cluster: cluster}}
			one.Site, one.Clock, one.Operand, one.Lanes = b.Site[i], int64(b.Clock[i]), b.Operand[i], b.Lanes[i]
			if one.Site != probe.SiteGap {
				word += copy(one.Values[:], b.Value[word:word+2*(int(sizes[one.Site].Slots)-1)])
			}
			records = append(records, one)
		}
	}
	return records
}

// TestLaps: chunks that the reader hands out again, launch after launch, are
// what lanes take: in the first laps, and where the lap's number in the fifo
// begins at 0 again.
func TestLaps(t *testing.T) {
	const ctas = 4 // of 2 warps, of which each needs one chunk or two
	p := kernel("", `
	@%p0 mbarrier.init.shared.b64 [mb], 1;
	@%p0 mbarrier.arrive.shared.b64 %d1, [mb];
	vote.sync.any.pred %p1, %p0, -1; // lanes that part take more chunks
	bar.sync 0;
	vote.sync.any.pred %p1, %p0, -1;
	bar.sync 3, 64;
	vote.sync.any.pred %p1, %p0, -1;`, 64, ctas, 1)
	for _, before := range []uint64{0, 4095*ringChunks - 5} {
		r := newRing(t, before)
		for launch := range 4 {
			src, m, direct, records := r.runIn(t, p, 0)
			normalOf(parsed(t, p.file, p.src), p.src, src).compare(t, direct, eventsOf(m, records), "")
			if t.Failed() {
				t.Fatalf("launch %d", launch)
			}
		}
		if r.tickets < before+4*2*ctas {
			t.Errorf("lanes took %d chunks, want one a warp and launch", r.tickets-before)
		}
	}
}

// TestFullChunks: wherever in a chunk a lane is when it has to take another,
// all its records come out. Barriers that follow each other share the room that
// one of them sees to.
func TestFullChunks(t *testing.T) {
	for barriers := 1; barriers <= 18; barriers++ {
		p := kernel("", `
	mov.u32 %r2, 0;
LOOP:
	`+strings.Repeat("bar.sync 0;\n\t", barriers)+`add.u32 %r2, %r2, 1;
	setp.lt.u32 %p1, %r2, `+fmt.Sprint(3000/barriers)+`;
	@%p1 bra LOOP;`, 32, 1, 1)
		r := newRing(t, 0)
		src, m, direct, records := r.runIn(t, p, 0)
		normalOf(parsed(t, p.file, p.src), p.src, src).compare(t, direct, eventsOf(m, records), "")
		if t.Failed() {
			t.Fatalf("%d barriers a round", barriers)
		}
		if len(direct) < 5800 || r.tickets < 3 {
			t.Errorf("%d events, in %d chunks: none was full", len(direct), r.tickets)
		}
	}
}

// waiting is a kernel of two CTAs of one thread, of which the first one writes
// entries to the fifo, behind its second barrier: those of the tickets from
// ticket on.
func waiting(ticket uint64, entries ...uint32) program {
	publish := ""
	for i, e := range entries {
		publish += fmt.Sprintf("@%%p1 st.volatile.global.u32 [ring+%d], %d;\n", 0x1000+4*((ticket+uint64(i))%ringChunks), e)
	}
	return kernel("", `
	bar.sync 0;
	bar.sync 1, 32;
	atom.global.add.u32 %r2, [%d0], 1;
	setp.eq.u32 %p1, %r2, 0;
	`+publish+`
PUBLISHED:
	bar.sync 0;`, 1, 2, 1, fmt.Sprintf(".extern .global .align %d .u64 ring[%d];", ring.ChunkBytes, ring.Size(ringChunks)/8))
}

// runIn runs a program with probes and the ring.
func (r *realRing) runIn(t *testing.T, p program, flags uint32) (src []byte, m *probe.Module, direct []trace.Event, records []record) {
	t.Helper()
	m, err := probe.Rewrite(p.src, probe.Options{File: p.file})
	if err != nil {
		t.Fatal(err)
	}
	src = r.put(t, m.PTX, flags)
	p.cfg.StepBudget = 1 << 20
	res, direct := p.run(t, src, p.cfg)
	if res.Outcome != trace.OutcomeCompleted {
		t.Fatalf("when %d tickets were taken: %s: %s %v", r.tickets, res.Outcome, res.Fault, res.Stuck)
	}
	return src, m, direct, r.read(t, m, res.Variables, p.cfg.Grid, p.cfg.Cluster)
}

// TestWaitsForChunk: a lane that finds no chunk for its ticket waits until
// there is one, also if there is one for an earlier ticket.
func TestWaitsForChunk(t *testing.T) {
	const ticket = 2*ringChunks + 1
	r := newRing(t, ticket-1)
	p := waiting(ticket, r.withhold(t, ticket))
	src, m, direct, records := r.runIn(t, p, 0)
	normalOf(parsed(t, p.file, p.src), p.src, src).compare(t, direct, eventsOf(m, records), "")
	if r.tickets != ticket+1 {
		t.Errorf("lanes took %d tickets", r.tickets)
	}
}

// TestDrops: where records may be dropped a lane without a chunk goes on, and
// says how many it lost when it has one again.
func TestDrops(t *testing.T) {
	const ticket = 2*ringChunks + 3
	r := newRing(t, ticket)
	p := waiting(ticket, r.withhold(t, ticket), r.withhold(t, ticket+1))
	_, _, _, records := r.runIn(t, p, ring.FlagDrop)
	var lost, kept [2]int
	for _, one := range records {
		if one.Site == probe.SiteGap {
			lost[one.at.CTA] += int(one.Operand)
		} else {
			kept[one.at.CTA]++
		}
	}
	// The first one to pass loses its beginning and two barriers of two
	// records each, the other perhaps more; a third barrier and the end are
	// kept.
	for i := range lost {
		if lost[i]+kept[i] != 8 || kept[i] == 0 {
			t.Errorf("CTA %d lost %d and kept %d records, want 8 of both", i, lost[i], kept[i])
		}
	}
	if max(kept[0], kept[1]) != 3 {
		t.Errorf("the CTAs kept %v records, want 3 of the first", kept)
	}
	if r.tickets != ticket+2 {
		t.Errorf("lanes took %d tickets, want 2", r.tickets-ticket)
	}
}

// TestGivesUp: a lane that waits for a chunk drops its record when the ring's
// header says so.
func TestGivesUp(t *testing.T) {
	const ticket = 2 * ringChunks
	r := newRing(t, ticket)
	for i := range uint64(ringChunks) {
		r.withhold(t, ticket+i)
	}
	binary.LittleEndian.PutUint32(r.mem[0x14:], ring.FlagDrop)
	if _, _, _, records := r.runIn(t, waiting(ticket), 0); len(records) > 0 {
		t.Errorf("%d records without a chunk", len(records))
	}
}
