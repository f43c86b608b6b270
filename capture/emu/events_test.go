package emu_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"btrace/capture/emu"
	"btrace/trace"
)

var update = flag.Bool("update", false, "write the golden files")

// everything does every operation once.
func everything(t *emu.Thread) {
	b := emu.SharedMbarrier(t, "b")
	f := emu.SharedBarrierFunc(t, "f", func() { t.Mark("all here") })
	if t.Warp() == 0 && t.Lane() == 0 {
		b.Init(2)
		f.Init(2)
		k := b.Arrive()
		b.ArriveNoComplete(1)
		b.TestWait(k)
		b.TestWaitParity(1)
		b.TryWait(k)
		b.TryWaitParity(0)
		b.Wait(k)
		b.WaitParity(0)
		b.ExpectTx(8)
		b.CompleteTx(8)
		b.ArriveExpectTx(4)
		emu.BulkCopy(emu.Shared[int32](t, "dst", 1), []int32{1}, b)
		b.ArriveDrop()
		b.CpAsyncArrive()
		b.CpAsyncArriveNoInc()
		b.Inval()
		f.Arrive(1)
		f.ArriveAndDrop()
	}
	t.Syncwarp()
	t.BarSync(1, 64)
	t.BarrierSync(1, 64)
	if t.Warp() == 0 {
		t.BarArrive(2, 64)
		t.BarrierArrive(3, 64)
	} else {
		t.BarSync(2, 64)
		t.BarSync(3, 64)
	}
	t.BarRedPopc(4, t.Lane() < 2)
	t.BarRedAnd(4, true, 64)
	t.BarrierRedOr(4, false)
	t.ClusterArrive()
	t.ClusterWait()
	t.ClusterSync()
	g := t.ThisBlock()
	g.Wait(g.Arrive())
	t.Tile(32).Sync()
	emu.SharedMbarrier(t, "r").Remote(1 - t.ClusterRank()).Arrive()
	if t.CTA() == 1 && t.Warp() == 1 {
		t.Trap("the end")
	}
}

// TestEvents: what is recorded of every operation.
func TestEvents(t *testing.T) {
	cfg := emu.Config{Grid: trace.Dim{2}, Cluster: trace.Dim{2}, Block: trace.Dim{64}}
	_, rec := launch(t, cfg, everything)
	// Only CTA 0 in full; lines relative to the kernel's first.
	var first recording
	seen := make(map[trace.Kind]bool)
	_, line := emu.Source(everything)
	for _, e := range rec {
		seen[e.Kind] = true
		if e.CTA == 0 || e.Kind == trace.KindTrap {
			e.Line -= min(e.Line, uint32(line))
			first = append(first, e)
		}
	}
	for _, s := range trace.Kinds() {
		switch s.Kind {
		case trace.KindUnknown, trace.KindGap, trace.KindExit:
		default:
			if !seen[s.Kind] {
				t.Errorf("%s is not recorded", s.Name)
			}
		}
	}
	got := regexp.MustCompile(`"type":"event","launch":0,|"type":"mark","launch":0,`).ReplaceAllString(first.text(), "")
	name := filepath.Join("testdata", "events.ndjson")
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			t.Fatalf("%s differs from line %d on; if it is meant to, write it with -update\ngot:  %s\nwant: %s", name, i+1, g[min(i, len(g)-1)], w[min(i, len(w)-1)])
		}
	}
}

// TestRecordedKeysAreKnown: every event has the operands that its kind
// requires and none that it does not know.
func TestRecordedKeysAreKnown(t *testing.T) {
	_, rec := launch(t, emu.Config{Grid: trace.Dim{2}, Cluster: trace.Dim{2}, Block: trace.Dim{64}}, everything)
	for _, e := range rec {
		s := e.Kind.Spec()
		allowed := trace.Fields(0).With(append(s.Required, s.Optional...)...).With(trace.FieldLine, trace.FieldFile)
		if required := trace.Fields(0).With(s.Required...); e.Has&required != required || e.Has&^allowed != 0 {
			t.Errorf("%s has operands %b, requires %b, allows %b", s.Name, e.Has, required, allowed)
		}
	}
}
