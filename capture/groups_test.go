package capture

import (
	"bytes"
	"context"
	"testing"

	"btrace/capture/emu"
	"btrace/replay"
	"btrace/trace"
)

// TestGroupsOfThoseWhoExit: emulator and replay agree on which groups wait for
// threads that have exited, early or late.
func TestGroupsOfThoseWhoExit(t *testing.T) {
	for name, c := range map[string]struct {
		group func(*emu.Thread) emu.Group
		waits bool
	}{
		"block":   {(*emu.Thread).ThisBlock, false},
		"cluster": {(*emu.Thread).ThisCluster, false},
		"grid":    {(*emu.Thread).ThisGrid, true},
		"tile":    {func(t *emu.Thread) emu.Group { return t.Tile(32) }, true},
		"named":   {func(t *emu.Thread) emu.Group { return t.Group("all", 64) }, true},
	} {
		for _, late := range []int64{0, 1000} {
			cfg := emu.Config{Grid: trace.Dim{2}, Block: trace.Dim{64}, Cluster: trace.Dim{2}, Cooperative: true}
			var buf bytes.Buffer
			w, err := trace.NewWriter(&buf, trace.Options{})
			if err != nil {
				t.Fatal(err)
			}
			end, err := RecordFunc(context.Background(), "k", cfg, func(t *emu.Thread) {
				if t.Thread() == 7 {
					t.Work(late)
					return
				}
				t.Work(1000 - late)
				g := c.group(t)
				g.Sync()
				g.Sync()
			}, w)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			r, err := trace.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
			if err != nil {
				t.Fatal(err)
			}
			rep, err := replay.Check(context.Background(), r, replay.Options{})
			if err != nil {
				t.Fatal(err)
			}
			hangs := rep.Verdict == replay.Deadlock
			if (end == trace.OutcomeHung) != c.waits || hangs != c.waits || !c.waits && rep.Verdict != replay.Clean {
				t.Errorf("%s, %d ns: %s, verdict %s: %+v", name, late, end, rep.Verdict, rep.Findings)
			}
		}
	}
}
