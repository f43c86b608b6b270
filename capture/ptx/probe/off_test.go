package probe_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"btrace/trace"
)

// TestChosen: only the CTAs and warps that the control block names write
// records, all that they would write otherwise. A cluster counts as a whole.
func TestChosen(t *testing.T) {
	const most = 1<<32 - 1
	flat := kernel("", `
	@%p0 mbarrier.init.shared.b64 [mb], 1;
	bar.sync 0;
	call.uni meet, (%r1);
	bar.sync 0;`, 96, 8, 1, ".func meet(.reg .b32 %n) { bar.arrive 3, 128; ret; }")
	clusters := flat
	clusters.cfg.Cluster = trace.Dim{2, 1, 1}
	deep := flat
	deep.cfg.Grid, deep.cfg.Cluster = trace.Dim{2, 2, 2}, trace.Dim{1, 2, 1}
	for _, c := range []struct {
		name                                string
		p                                   program
		cta, lastCTA, warp, lastWarp, flags uint64
		ctas, warps                         []uint32
	}{
		{"a CTA", flat, 3, 3, 0, most, 2, []uint32{3}, []uint32{0, 1, 2}},
		{"the first CTAs and the last warps", flat, 0, 1, 1, 1000, 2, []uint32{0, 1}, []uint32{1, 2}},
		{"a warp", flat, 0, most, 2, 2, 2, []uint32{0, 1, 2, 3, 4, 5, 6, 7}, []uint32{2}},
		{"none", flat, 8, most, 0, most, 2, nil, nil},
		{"without the flag", flat, 3, 3, 0, 0, 0, []uint32{0, 1, 2, 3, 4, 5, 6, 7}, []uint32{0, 1, 2}},
		{"clusters", clusters, 3, 4, 0, 0, 2, []uint32{2, 3, 4, 5}, []uint32{0}},
		{"a cluster that another has a CTA between", deep, 5, 5, 0, 0, 2, []uint32{4, 5, 6, 7}, []uint32{0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := rewritten(t, c.p.file, c.p.src)
			var events []trace.Event
			for _, chosen := range []bool{false, true} {
				flags := uint64(0)
				if chosen {
					flags = c.flags
				}
				src := withRing(t, m.out.PTX, 256)
				words := fmt.Sprintf("{ring_header, ring_tickets, %d, ring_fifo, ring_chunks, %d, %d, 0}", flags<<32|255, c.lastCTA<<32|c.cta, c.lastWarp<<32|c.warp)
				src = bytes.Replace(src, []byte("{ring_header, ring_tickets, 255, ring_fifo, ring_chunks, 0, 0, 0}"), []byte(words), 1)
				res, _ := c.p.run(t, src, c.p.cfg)
				if res.Outcome != trace.OutcomeCompleted {
					t.Fatalf("%s: %s %v", res.Outcome, res.Fault, res.Stuck)
				}
				got := eventsOf(m.out, readRing(t, m.out, res.Variables["ring_chunks"], c.p.cfg.Grid, c.p.cfg.Cluster, res.Outcome))
				if !chosen {
					events = slices.DeleteFunc(got, func(e trace.Event) bool {
						return !slices.Contains(c.ctas, e.CTA) || !slices.Contains(c.warps, e.Warp)
					})
					continue
				}
				brief := func(events []trace.Event) (out []string) {
					for _, e := range events {
						out = append(out, fmt.Sprintf("CTA %d w%d %08x %s line %d", e.CTA, e.Warp, e.Lanes, e.Kind, e.PC))
					}
					return out
				}
				if !slices.Equal(brief(got), brief(events)) {
					t.Errorf("got %q, want %q", brief(got), brief(events))
				}
			}
		})
	}
}
