package probe_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"btrace/capture/emu"
	"btrace/capture/ptx"
	"btrace/capture/ptx/interp"
	"btrace/capture/ptx/probe"
	"btrace/trace"
)

// How the emulator runs a rewritten module: the ring is variables of the
// module, and nobody reads it before the launch is over.

const chunkBytes = probe.ChunkSlots * probe.SlotBytes

// control declares the control block as a rewritten module does.
const control = ".visible .const .align 8 .b8 __btrace_ctl[64];"

// withRing gives a rewritten module a ring of that many chunks, which nobody
// has used before.
func withRing(tb testing.TB, src []byte, chunks int) []byte {
	tb.Helper()
	return declare(tb, src, fmt.Sprintf(`.global .align 16 .b8 ring_header[64];
.global .align 1024 .b8 ring_chunks[%d];
.global .align 8 .u64 ring_tickets;
.global .align 4 .u32 ring_fifo[%d];
.visible .const .align 8 .u64 __btrace_ctl[8] = {ring_header, ring_tickets, %d, ring_fifo, ring_chunks, 0, 0, 0};
`, chunks*chunkBytes, chunks, chunks-1))
}

// declare puts declarations in the place of the control block's.
func declare(tb testing.TB, src []byte, declarations string) []byte {
	tb.Helper()
	if !bytes.Contains(src, []byte(control)) {
		tb.Fatalf("no %s in\n%s", control, src)
	}
	return bytes.Replace(src, []byte(control), []byte(declarations), 1)
}

// record is one of the ring.
type record struct {
	probe.Record
	lane uint32 // that wrote it
	at   probe.Place
	warp uint32
}

// readRing reads all chunks, and checks what is true of every chunk. Where a
// trap cut a launch the last record of a chunk may lack slots; its values are
// then missing, if they are written behind the operation, and otherwise it does
// not count.
func readRing(tb testing.TB, m *probe.Module, mem []byte, grid, cluster trace.Dim, outcome trace.Outcome) (records []record) {
	tb.Helper()
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(mem[at:]) }
	const low = 1<<63 - 1
	for base := 0; base < len(mem); base += chunkBytes {
		if word(base) == 0 {
			continue
		}
		who := word(base + 8)
		r := record{lane: uint32(who >> 38 & 31), warp: uint32(who >> 32 & 63)}
		r.at = probe.Place{CTA: uint32(who), Grid: grid, Cluster: cluster}
		closed, last := false, int64(-1)
		at := base + probe.HeaderSlots*probe.SlotBytes
		for at < base+chunkBytes && word(at) != 0 {
			w0, w1 := word(at), word(at+8)
			middle := at%probe.SlotBytes != 0
			r.Site = uint32(w0 >> 40 & (1<<23 - 1))
			if at += 8; middle && r.Site == probe.SiteGap {
				continue // a blank
			}
			short := m.Site(r.Site) != nil && m.Site(r.Site).Short
			if short {
				w1 = 1<<63 | 1<<32 - 1
			} else if r.Site != probe.SiteClose {
				if middle {
					tb.Fatalf("a record of site %d in the middle of a slot", r.Site)
				}
				at += 8
			} else {
				w1 = 1 << 63
			}
			if w0>>63 != 1 || w1>>63 != 1 {
				tb.Fatalf("slot %d of a chunk: %#x %#x", (at-base)/probe.SlotBytes, w0, w1)
			}
			if closed {
				tb.Fatalf("a record behind the end of a chunk: %#x %#x", w0, w1)
			}
			r.Clock = int64(w0 & (1<<40 - 1))
			r.Operand, r.Lanes = uint32(w1>>32)&(1<<31-1), uint32(w1)
			r.Values = [6]uint64{}
			if r.Clock < last {
				tb.Fatalf("site %d: clock %d behind %d", r.Site, r.Clock, last)
			}
			last = r.Clock
			if r.Site == probe.SiteClose {
				closed = true
				continue
			}
			slots, tail, cut := 1, 0, false
			if r.Site != probe.SiteGap {
				s := m.Site(r.Site)
				if s == nil {
					tb.Fatalf("there is no site %d", r.Site)
				}
				slots, tail = s.Slots, s.Tail()
			}
			for n := 1; n < slots; n++ {
				v0, v1 := word(at), word(at+8)
				if cut = v0|v1 == 0 && strings.HasPrefix(string(outcome), "trap"); cut {
					r.Values[2*n-2], r.Values[2*n-1] = probe.Missing, probe.Missing
					if cut = n < slots-tail; cut {
						break
					}
					continue
				}
				if v0>>63 != 1 || v1>>63 != 1 {
					tb.Fatalf("site %d, slot %d: %#x %#x", r.Site, n, v0, v1)
				}
				r.Values[2*n-2], r.Values[2*n-1] = v0&low, v1&low
				at += probe.SlotBytes
			}
			if cut {
				break
			}
			if at == base+chunkBytes {
				tb.Fatalf("site %d: there is no room left to close the chunk", r.Site)
			}
			if r.Lanes>>r.lane&1 == 0 {
				tb.Fatalf("site %d: lane %d wrote for %08x", r.Site, r.lane, r.Lanes)
			}
			records = append(records, r)
		}
		if !closed && outcome == trace.OutcomeCompleted {
			tb.Fatalf("a lane left its chunk and did not close it")
		}
	}
	return records
}

// eventsOf is the events of records, those of a warp in the order of their
// clocks.
func eventsOf(m *probe.Module, records []record) (events []trace.Event) {
	for _, r := range records {
		if r.Site == probe.SiteGap {
			events = append(events, trace.Event{Op: trace.Op{Kind: trace.KindGap, Lanes: r.Lanes, Lost: uint64(r.Operand)}, Clk: r.Clock})
		} else {
			n := len(events)
			events = m.Site(r.Site).Append(events, &r.Record, &r.at)
			for i := range events[n:] {
				events[n+i].CTA, events[n+i].Warp = r.at.CTA, r.warp
			}
		}
	}
	slices.SortStableFunc(events, func(a, b trace.Event) int {
		return cmp.Or(cmp.Compare(a.CTA, b.CTA), cmp.Compare(a.Warp, b.Warp), cmp.Compare(a.Clk, b.Clk))
	})
	return events
}

// sink keeps events.
type sink []trace.Event

func (s *sink) Write(events []trace.Event) error {
	*s = append(*s, events...)
	return nil
}

// program is a kernel with its launch.
type program struct {
	name, file, entry string
	src               []byte
	cfg               emu.Config
	args              []string
	seeds             int
	lockstep          bool // how it ends depends on whether the lanes of a warp stay together
}

func (p *program) arguments(tb testing.TB) (args []interp.Arg) {
	tb.Helper()
	for _, text := range p.args {
		a, err := interp.ParseArg(text)
		if err != nil {
			tb.Fatal(err)
		}
		args = append(args, a)
	}
	return args
}

// parsed is a PTX file.
func parsed(tb testing.TB, file string, src []byte) *ptx.Module {
	tb.Helper()
	m, err := ptx.Parse(file, src)
	if err == nil {
		err = ptx.Resolve(m)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// compile makes the program ready to run, any number of times.
func (p *program) compile(tb testing.TB, m *ptx.Module) *interp.Kernel {
	tb.Helper()
	k, err := interp.Compile(m, m.Lookup(p.entry))
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// launch runs a module of the program once.
func (p *program) launch(tb testing.TB, k *interp.Kernel, cfg emu.Config) (interp.Result, []trace.Event) {
	tb.Helper()
	var events sink
	res, err := k.Launch(context.Background(), cfg, p.arguments(tb), &events)
	if err != nil {
		tb.Fatal(err)
	}
	return res, events
}

// run compiles and runs a module of the program.
func (p *program) run(tb testing.TB, src []byte, cfg emu.Config) (interp.Result, []trace.Event) {
	tb.Helper()
	return p.launch(tb, p.compile(tb, parsed(tb, p.file, src)), cfg)
}

// module is a file as it is, and with probes and a ring.
type module struct {
	src, probed *ptx.Module
	out         *probe.Module
	normal      *normal
	asks        bool // it asks which lanes are together: what it does then is its own affair
}

// rewritten is a module with probes in all kernels.
func rewritten(tb testing.TB, file string, src []byte) *module {
	tb.Helper()
	src = oneEach(src)
	out, err := probe.Rewrite(src, probe.Options{File: file, Base: 5})
	if err != nil {
		tb.Fatal(err)
	}
	m := &module{src: parsed(tb, file, src), out: out, asks: bytes.Contains(src, []byte("activemask"))}
	if len(out.Sites) > 0 {
		text := withRing(tb, out.PTX, 256)
		m.probed, m.normal = parsed(tb, file, text), normalOf(m.src, src, text)
	}
	return m
}

// check is checkIn for a program that has its module for itself.
func (p *program) check(t *testing.T) {
	t.Helper()
	p.checkIn(t, rewritten(t, p.file, p.src))
}

// checkIn runs a program as it is and with probes: it ends alike and leaves the
// same in memory, and the ring holds what the emulator recorded of that run.
func (p *program) checkIn(t *testing.T, m *module) {
	t.Helper()
	if !slices.ContainsFunc(m.out.Entries, func(e probe.Entry) bool { return e.Name == p.entry && e.Probed }) {
		return
	}
	k := p.compile(t, m.probed)
	seeds := uint64(max(p.seeds, 1))
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		cfg := p.cfg
		if seed > 0 {
			cfg.Schedule, cfg.Seed = emu.Random, seed
		}
		res, direct := p.launch(t, k, cfg)
		if seed == 0 {
			p.checkOutcome(t, m, res)
		}
		ring := readRing(t, m.out, res.Variables["ring_chunks"], p.cfg.Grid, p.cfg.Cluster, res.Outcome)
		m.normal.compare(t, direct, eventsOf(m.out, ring), string(res.Outcome))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// checkOutcome compares a run with probes with one without.
func (p *program) checkOutcome(t *testing.T, m *module, res interp.Result) {
	t.Helper()
	plain, _ := p.launch(t, p.compile(t, m.src), p.cfg)
	if p.lockstep {
		return
	}
	if res.Outcome != plain.Outcome {
		t.Fatalf("%s %s %v, without probes %s %v", res.Outcome, res.Fault, res.Stuck, plain.Outcome, plain.Stuck)
	}
	if res.Outcome != trace.OutcomeCompleted || m.asks {
		return
	}
	for i, b := range plain.Buffers {
		if !bytes.Equal(b, res.Buffers[i]) {
			t.Errorf("buffer %d differs", i)
		}
	}
}

// compare compares what the ring holds with what the emulator recorded of the
// same run, lane by lane.
func (n *normal) compare(t *testing.T, direct, ring []trace.Event, outcome string) {
	t.Helper()
	want, got := lanesOf(direct, n.direct), lanesOf(ring, n.ring)
	for lane := range got {
		if _, ok := want[lane]; !ok {
			t.Errorf("%v is in the ring only: %q", lane, got[lane])
		}
	}
	for lane, w := range want {
		g := got[lane]
		if strings.HasPrefix(outcome, "trap") { // what comes first is a matter of the schedule
			k := min(len(w), len(g))
			w, g = slices.Clone(w[:k]), g[:k]
			if k > 0 && !phases.MatchString(g[k-1]) { // it was written behind what trapped
				w[k-1] = phases.ReplaceAllString(w[k-1], "")
			}
		}
		if !slices.Equal(g, w) {
			i := 0
			for i < min(len(g), len(w)) && g[i] == w[i] {
				i++
			}
			t.Errorf("%v, event %d of %d and %d:\nring   %q\ndirect %q", lane, i, len(g), len(w), g[max(i-2, 0):min(i+4, len(g))], w[max(i-2, 0):min(i+4, len(w))])
			return
		}
	}
}

// lane is one of the launch.
type lane struct{ cta, warp, lane uint32 }

// lanesOf is the events of each lane, as text. How an event reads, text says;
// one that does not count is "".
func lanesOf(events []trace.Event, text func(*trace.Event, lane) string) map[lane][]string {
	all := make(map[lane][]string)
	for i := range events {
		e := &events[i]
		for n := range uint32(32) {
			if e.Lanes>>n&1 == 0 {
				continue
			}
			l := lane{e.CTA, e.Warp, n}
			s := text(e, l)
			// Of tests that fail again and again one counts.
			if s == "" || strings.Contains(s, "mbar.test") && strings.Contains(s, " no ") && len(all[l]) > 0 && all[l][len(all[l])-1] == s {
				continue
			}
			all[l] = append(all[l], s)
		}
	}
	return all
}

// normal makes events comparable.
type normal struct {
	rewritten, source listing
	waits             map[string]bool // instructions that are waits, as text
}

// normalOf is for a file that was rewritten.
func normalOf(m *ptx.Module, src, rewritten []byte) *normal {
	n := &normal{rewritten: listingOf(rewritten), source: listingOf(src)}
	n.waits = n.waitsOf(m)
	return n
}

// listing is the lines of a file, with the instructions in them that are
// recorded, once asked for.
type listing struct{ lines, operations []string }

func listingOf(src []byte) listing {
	lines := strings.Split(string(src), "\n")
	return listing{lines, make([]string, len(lines))}
}

func (l *listing) operation(line uint64) string {
	if l.operations[line-1] == "" {
		l.operations[line-1] = operation(l.lines[line-1])
	}
	return l.operations[line-1]
}

// direct is an event that the emulator recorded of the rewritten module.
// Waits are loops of tests there, since probes are in between.
func (n *normal) direct(e *trace.Event, l lane) string {
	line := n.rewritten.operation(e.PC)
	syncs := e.Kind == trace.KindSyncwarp || e.Kind == trace.KindSyncwarpDone
	if syncs && (!strings.Contains(line, "bar.warp.sync") || strings.Contains(line, "%bt_")) {
		return "" // of vote, shfl and the like: not recorded on a GPU; or of a probe
	}
	kind := e.Kind.String()
	if e.Kind == trace.KindMbarTest && n.waits[line] {
		if e.Result == 0 {
			return ""
		}
		kind = "mbar.done"
	}
	return n.text(e, l, kind, line)
}

// ring is an event of the ring.
func (n *normal) ring(e *trace.Event, l lane) string {
	if e.Kind == trace.KindMbarWait {
		return ""
	}
	return n.text(e, l, e.Kind.String(), n.source.operation(e.PC))
}

func (n *normal) text(e *trace.Event, l lane, kind, line string) string {
	var b strings.Builder
	b.WriteString(kind)
	has := func(f trace.Field, format string, v any) {
		if e.Has.Has(f) {
			fmt.Fprintf(&b, " "+format, v)
		}
	}
	has(trace.FieldBar, "bar=%d", e.Bar)
	has(trace.FieldAddr, "addr=%#x", e.Addr)
	has(trace.FieldCount, "count=%d", e.Count)
	has(trace.FieldAligned, "aligned=%v", e.Aligned)
	has(trace.FieldRed, "%s", e.Red)
	has(trace.FieldPred, "pred=%d", e.Pred>>l.lane&1)
	has(trace.FieldBytes, "bytes=%d", e.Bytes)
	has(trace.FieldParity, "parity=%d", e.Parity)
	has(trace.FieldOwnerCTA, "owner=%d", e.Owner)
	has(trace.FieldCTAMask, "ctas=%x", e.CTAMask)
	has(trace.FieldMask, "mask=%x", e.Mask)
	has(trace.FieldSem, "%s", e.Sem)
	has(trace.FieldReason, "%s", e.Text)
	if e.NoInc {
		b.WriteString(" noinc")
	}
	switch {
	case !e.Has.Has(trace.FieldResult) || kind == "mbar.done":
	case kind == "mbar.test":
		b.WriteString([]string{" no", " yes"}[e.Result&1])
	default:
		fmt.Fprintf(&b, " result=%d", e.Result)
	}
	// Who is told nothing by an arrive is told nothing here: the emulator
	// knows the phase all the same.
	switch {
	case strings.Contains(line, " _,") || strings.Contains(line, "tcgen05"):
	case e.Has.Has(trace.FieldToken):
		fmt.Fprintf(&b, " phase=%d", e.Token>>63)
	case e.Has.Has(trace.FieldPhase):
		fmt.Fprintf(&b, " phase=%d", e.Phase&1)
	}
	if kind != "enter" && kind != "exit" {
		fmt.Fprintf(&b, " | %s", line)
	}
	return b.String()
}

var phases = regexp.MustCompile(` phase=\d`)

var operations = regexp.MustCompile(`\b(bar|barrier|mbarrier|cp|st|red|tcgen05|trap)\b[^;]*;`)

// operation is the instruction of a line that is recorded; the line, if it has
// none.
func operation(line string) string {
	if s := operations.FindString(line); s != "" {
		return s
	}
	return strings.TrimSpace(line)
}

// oneEach puts instructions that are recorded on lines of their own: a site
// has a line only.
func oneEach(src []byte) []byte {
	lines := strings.SplitAfter(string(src), "\n")
	for i, l := range lines {
		if len(operations.FindAllString(l, 2)) == 2 {
			lines[i] = strings.ReplaceAll(l, "; ", ";\n")
		}
	}
	return []byte(strings.Join(lines, ""))
}

// waitsOf is the instructions of a module that are waits.
func (n *normal) waitsOf(m *ptx.Module) map[string]bool {
	waits := make(map[string]bool)
	for _, d := range m.Decls {
		if f, ok := d.(*ptx.Function); ok && f.Body != nil {
			_, code := interp.Look(m, f)
			for _, i := range code {
				if i.Wait {
					waits[n.source.operation(uint64(i.Pos.Line))] = true
				}
			}
		}
	}
	return waits
}
