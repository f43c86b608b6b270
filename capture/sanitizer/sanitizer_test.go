package sanitizer

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"btrace/capture/cupti/ring"
	"btrace/capture/ptx/probe"
	"btrace/trace"
)

const cubins = "../cupti/cubin/testdata/"

// disassembler is a program that prints a listing, in place of nvdisasm. In
// the listing some things may be replaced first.
func disassembler(t *testing.T, listing string, replace ...string) string {
	t.Helper()
	b, err := os.ReadFile(cubins + listing)
	if err != nil {
		t.Fatal(err)
	}
	listing = filepath.Join(t.TempDir(), "listing")
	if err := os.WriteFile(listing, []byte(strings.NewReplacer(replace...).Replace(string(b))), 0o644); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "nvdisasm")
	script := fmt.Sprintf("#!/bin/sh\ntest \"$1\" = -c && test -s \"$2\" && cat '%s'\n", listing)
	if err := os.WriteFile(name, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

func read(t *testing.T, cubin string, o Options) *Module {
	t.Helper()
	image, err := os.ReadFile(cubins + cubin)
	if err != nil {
		t.Fatal(err)
	}
	o.TempDir = t.TempDir()
	m, err := Read(t.Context(), image, o)
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(o.TempDir); len(left) > 0 {
		t.Errorf("%s was left behind", left[0].Name())
	}
	for i, s := range m.Sites {
		if s.Number != m.Sites[0].Number+uint32(i) || s.Slots < 1 || s.Slots > ring.MaxRecordSlots {
			t.Fatalf("site %d has number %d and %d slots", i, s.Number, s.Slots)
		}
	}
	if m.Next != m.Sites[0].Number+uint32(len(m.Sites)) {
		t.Errorf("the next module begins at %d, want %d", m.Next, m.Sites[0].Number+uint32(len(m.Sites)))
	}
	return m
}

// places reads a table as the library does.
func places(t *testing.T, table []byte) (generic uint32, sites map[string]uint32) {
	t.Helper()
	le := binary.LittleEndian
	u32 := func() uint32 {
		n := le.Uint32(table)
		table = table[4:]
		return n
	}
	generic = u32()
	sites = make(map[string]uint32)
	for range u32() {
		n := u32()
		name := string(table[:n])
		table = table[n:]
		if kernel := u32(); kernel != 1 {
			name += " (called)"
		}
		for range u32() {
			pc := le.Uint64(table)
			table = table[8:]
			sites[fmt.Sprintf("%s+%#x", name, pc)] = u32()
		}
	}
	if len(table) > 0 {
		t.Errorf("%d bytes too many in the table", len(table))
	}
	return generic, sites
}

// event is what a record of a variant at a place says.
func event(t *testing.T, m *Module, site uint32, operand uint32, values ...uint64) string {
	t.Helper()
	s := m.Site(site)
	if s == nil {
		t.Fatalf("no site %d", site)
	}
	r := probe.Record{Site: site, Clock: 1000, Operand: operand, Lanes: 0xff}
	copy(r.Values[:], values)
	if len(values) > 2*(s.Slots-1) {
		t.Fatalf("%d values for a record of %d slots", len(values), s.Slots)
	}
	var got []string
	for _, e := range s.Append(nil, &r, &probe.Place{CTA: 5, Grid: trace.Dim{8, 1, 1}, Cluster: trace.Dim{4, 1, 1}}) {
		w := []string{e.Kind.Spec().Name}
		for _, f := range []struct {
			f trace.Field
			s string
		}{
			{trace.FieldBar, fmt.Sprintf("bar=%d", e.Bar)}, {trace.FieldCount, fmt.Sprintf("count=%d", e.Count)},
			{trace.FieldMask, fmt.Sprintf("mask=%#x", e.Mask)}, {trace.FieldText, e.Text},
			{trace.FieldLine, fmt.Sprintf("%s:%d", filepath.Base(e.File), e.Line)},
		} {
			if e.Has.Has(f.f) {
				w = append(w, f.s)
			}
		}
		got = append(got, strings.Join(w, " "))
	}
	return strings.Join(got, "; ")
}

func TestRecords(t *testing.T) {
	m := read(t, "lineinfo.cubin", Options{Base: 100, Nvdisasm: disassembler(t, "lineinfo.sass")})
	if m.Note != "" {
		t.Errorf("a note: %s", m.Note)
	}
	generic, at := places(t, m.Table)
	if generic != 100 {
		t.Errorf("the sites begin at %d, want 100", generic)
	}
	for _, c := range []struct {
		place   string
		variant uint32
		operand uint32
		values  []uint64
		want    string
	}{
		{"relay+0x0", 0, 0, nil, "enter handoff.cu:15"},
		{"", 1, 0, nil, "exit"},
		{"relay+0xd0", 2, 64<<15 | 1, nil, "bar.sync bar=1 count=64 handoff.cu:17"},
		{"relay+0xd0", 3, 1, nil, "bar.done bar=1 handoff.cu:17"},
		{"relay+0xf0", 2, 0, nil, "bar.sync bar=0 count=0 handoff.cu:18"},
		{"handoff+0x2e0", 4, 0, []uint64{0xffff, 0}, "syncwarp mask=0xffff handoff.cu:46"},
		{"handoff+0x2e0", 5, 0, []uint64{0xffff, 0}, "syncwarp.done mask=0xffff handoff.cu:46"},
		{"", 6, 0, nil, "cluster.arrive"},
		{"", 7, 0, nil, "cluster.wait"},
		{"", 8, 0, nil, "cluster.done"},
		// Its partner arrives by bar.arrive, which nobody sees.
		{"handoff+0x190", 2, 64<<15 | 1, nil, "mark bar.sync: BAR.SYNC.DEFER_BLOCKING 0x1, 0x40 handoff.cu:37"},
		{"handoff+0x310", 3, 0, nil, "mark bar.done: BAR.RED.POPC.DEFER_BLOCKING 0x0, P0 handoff.cu:47"},
		{"handoff+0x100", 9, 0, nil, "mark mbar.init: SYNCS.EXCH.64 URZ, [UR6], UR4 handoff.cu:27"},
		{"handoff+0x270", 10, 0, nil, "mark mbar.arrive: SYNCS.ARRIVE.TRANS64.A1T0 R2, [R7+URZ], RZ handoff.cu:34"},
		{"handoff+0x1e0", 15, 0, nil, "mark mbar.wait: SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R7+URZ], R0 handoff.cu:42"},
		{"handoff+0x1e0", 16, 0, nil, "mark mbar.done: SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R7+URZ], R0 handoff.cu:42"},
		{"", 17, 0, nil, "mark mbar.copy"},
		{"", 18, 0, nil, "mark mbar.cp_async_arrive"},
		{"", 31, 0, nil, "mark unknown"},
	} {
		site, ok := at[c.place]
		if c.place == "" {
			site, ok = generic, true
		}
		if !ok {
			t.Errorf("%s is not in the table", c.place)
			continue
		}
		if got := event(t, m, site+c.variant, c.operand, c.values...); got != c.want {
			t.Errorf("%s, variant %d: %s\nwant %s", c.place, c.variant, got, c.want)
		}
	}
}

func TestObserves(t *testing.T) {
	const all, blind = "enter exit bar mbar cluster syncwarp", "enter exit cluster syncwarp"
	for _, c := range []struct{ cubin, listing, kernel, want, note string }{
		{"lineinfo.cubin", "lineinfo.sass", "relay", all, ""},
		{"lineinfo.cubin", "lineinfo.sass", "handoff", blind, ""},
		{"debug.cubin", "debug.sass", "relay", all, ""},
		{"debug.cubin", "debug.sass", "nowhere", blind, ""},
		{"plain.cubin", "", "relay", blind, "there is no nvdisasm: events have no lines, and named barriers are not observed"},
	} {
		o := Options{}
		if c.listing != "" {
			o.Nvdisasm = disassembler(t, c.listing)
		}
		m := read(t, c.cubin, o)
		if got := strings.Join(m.Observes(c.kernel), " "); got != c.want || m.Note != c.note {
			t.Errorf("%s of %s: observes %s, note %q\nwant %s, %q", c.kernel, c.cubin, got, m.Note, c.want, c.note)
		}
	}
}

// A kernel that calls functions does what any of them does.
func TestCallsAreObserved(t *testing.T) {
	call := []string{"BAR.SYNC.DEFER_BLOCKING 0x2, 0x40", "CALL.REL.NOINC `(handoff)"}
	for _, c := range []struct {
		replace []string
		want    string
	}{
		{nil, "enter exit bar mbar cluster syncwarp"},
		{call, "enter exit cluster syncwarp"},
		{append(call, "BAR.ARV", "BAR.SYNC"), "enter exit bar cluster syncwarp"},
		{append(call, "SYNCS", "NOTHING"), "enter exit mbar cluster syncwarp"},
		{[]string{"BAR.SYNC", "NOTHING"}, "enter exit bar mbar cluster syncwarp"},
	} {
		m := read(t, "lineinfo.cubin", Options{Nvdisasm: disassembler(t, "lineinfo.sass", c.replace...)})
		if got := strings.Join(m.Observes("relay"), " "); got != c.want {
			t.Errorf("with %q: observes %s, want %s", c.replace, got, c.want)
		}
	}
}

// A disassembler that fails costs lines, not the recording.
func TestNoDisassembler(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "nvdisasm")
	if err := os.WriteFile(bad, []byte("#!/bin/sh\necho nvdisasm fatal: no such arch >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	m := read(t, "lineinfo.cubin", Options{Nvdisasm: bad})
	if !strings.Contains(m.Note, "nvdisasm fatal: no such arch") {
		t.Errorf("note %q", m.Note)
	}
	if len(m.Entries) != 2 {
		t.Errorf("%d kernels, want 2", len(m.Entries))
	}
	_, at := places(t, m.Table)
	if got := event(t, m, at["relay+0x0"], 0); got != "enter handoff.cu:15" {
		t.Errorf("the begin of relay: %s", got)
	}
	if _, err := Read(t.Context(), []byte("no cubin"), Options{}); err == nil {
		t.Error("what is no cubin has sites")
	}
}

// The native part has numbers of its own: they are the same.
func TestNativeNumbers(t *testing.T) {
	b, err := Source.ReadFile("native/shared.h")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	number := func(name string) uint64 {
		m := regexp.MustCompile(name + ` = (\w+)[;,]`).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no %s in shared.h", name)
		}
		n, err := strconv.ParseUint(m[1], 0, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for name, want := range map[string]uint64{
		"ringMagic": ring.Magic, "ringVersion": ring.Version, "chunkBytes": ring.ChunkBytes,
		"slotBytes": ring.ChunkBytes / ring.ChunkSlots, "recordSlots": ring.MaxRecordSlots,
		"ringDrop": ring.FlagDrop, "siteClose": ring.SiteClose, "siteGap": ring.SiteGap, "variants": sitesOfPlace,
	} {
		if got := number(name); got != want {
			t.Errorf("%s is %#x in shared.h, want %#x", name, got, want)
		}
	}
	_, enum, _ := strings.Cut(text, "enum Variant : uint32_t {")
	enum, _, _ = strings.Cut(enum, "variants =")
	var names []string
	for line := range strings.Lines(enum) {
		if name, _, ok := strings.Cut(strings.TrimSpace(line), ","); ok {
			names = append(names, name)
		}
	}
	want := "vEnter vExit vBar vBarDone vSyncwarp vSyncwarpDone vClusterArrive vClusterWait vClusterDone vInit vArrive vArriveDrop " +
		"vArriveNoComplete vArriveDropNoComplete vInval vWait vDone vCopy vCpAsyncArrive"
	if got := strings.Join(names, " "); got != want || len(names) != len(variants) || len(variants) > sitesOfPlace {
		t.Errorf("variants in shared.h: %s\nwant %s", got, want)
	}
}
