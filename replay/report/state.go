package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"btrace/replay"
	"btrace/replay/rules"
	"btrace/trace"
	"btrace/trace/plain"
)

type (
	stateJSON struct {
		Version  int                `json:"version"`
		File     string             `json:"file"`
		Launch   uint32             `json:"launch"`
		Kernel   string             `json:"kernel"`
		Time     int64              `json:"time_ns"`
		Warps    []warpJSON         `json:"warps"`
		Barriers []barrierStateJSON `json:"barriers"`
	}
	warpJSON struct {
		CTA     uint32       `json:"cta"`
		Warp    uint32       `json:"warp"`
		Strands []strandJSON `json:"strands"`
	}
	strandJSON struct {
		Lanes    string        `json:"lanes"` // hex mask, as in events
		Activity string        `json:"activity"`
		On       *phaseJSON    `json:"on,omitempty"`
		Since    int64         `json:"since_ns"`
		Op       string        `json:"op"`
		Seq      uint32        `json:"seq"`
		Location *locationJSON `json:"location,omitempty"`
	}
	phaseJSON struct {
		CTA     uint32 `json:"cta"`
		Barrier string `json:"barrier"`
		Phase   uint64 `json:"phase"`
	}
	barrierStateJSON struct {
		phaseJSON
		Live      bool          `json:"live"`
		Expected  uint64        `json:"expected"`
		Pending   uint64        `json:"pending"`
		Tx        int64         `json:"tx"`
		InFlight  int64         `json:"in_flight"`
		TxUnknown bool          `json:"tx_unknown"`
		Arrived   []string      `json:"arrived"`
		Waiting   []string      `json:"waiting"`
		Init      *locationJSON `json:"init,omitempty"`
	}
)

// WriteStateJSON writes the state of a launch as one JSON document.
func WriteStateJSON(w io.Writer, file string, l *trace.Launch, s *replay.State) error {
	doc := stateJSON{
		Version: 1, File: file, Launch: l.ID, Kernel: l.Kernel, Time: s.Time,
		Warps: []warpJSON{}, Barriers: []barrierStateJSON{},
	}
	for _, ws := range s.Warps {
		out := warpJSON{CTA: ws.CTA, Warp: ws.Warp, Strands: []strandJSON{}}
		for _, st := range ws.Strands {
			strand := strandJSON{
				Lanes: fmt.Sprintf("%08x", st.Lanes), Activity: st.Activity.String(),
				Since: st.Since, Op: st.Op, Seq: st.Seq, Location: newLocation(in(l, st.Location)),
			}
			if st.On.Barrier.Kind != trace.BarrierNone {
				strand.On = &phaseJSON{st.On.CTA, st.On.Barrier.String(), st.On.Phase}
			}
			out.Strands = append(out.Strands, strand)
		}
		doc.Warps = append(doc.Warps, out)
	}
	for _, b := range s.Barriers {
		doc.Barriers = append(doc.Barriers, barrierStateJSON{
			phaseJSON: phaseJSON{b.CTA, b.Barrier.String(), b.Phase},
			Live:      b.Live, Expected: b.Expected, Pending: b.Pending,
			Tx: b.Tx, InFlight: b.InFlight, TxUnknown: b.TxUnknown,
			Arrived: rules.Threads(b.Arrived, b.CTA, l), Waiting: rules.Threads(b.Waiting, b.CTA, l),
			Init: newLocation(in(l, b.Init)),
		})
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(doc)
}

// WriteState prints the state of a launch for people: a line for every
// strand of every warp, and one for every barrier.
func WriteState(p *plain.Printer, file string, l *trace.Launch, s *replay.State) {
	p.Printf("%s: launch %d, %s, at %s (%d ns)\n", file, l.ID, l.Kernel, Time(s.Time), s.Time)
	p.Printf("warps\n")
	for _, w := range s.Warps {
		for _, st := range w.Strands {
			who := strings.Join(rules.Threads([]rules.Lanes{{CTA: w.CTA, Warp: w.Warp, Mask: st.Lanes}}, w.CTA, l), " ")
			p.Printf("  cta %d %-12s %s\n", w.CTA, who, strandText(&st, l))
		}
	}
	p.Printf("barriers\n")
	for _, b := range s.Barriers {
		p.Printf("  cta %d %-12s %s\n", b.CTA, b.Barrier.String(), strings.Join(barrierState(&b, l), ", "))
	}
}

// strandText is what lanes do, in a line.
func strandText(st *replay.Strand, l *trace.Launch) string {
	what := []string{st.Activity.String()}
	if st.On.Barrier.Kind != trace.BarrierNone {
		what = append(what, "on", barrierName(st.On))
	}
	if st.Op != "" {
		what = append(what, "since", Time(st.Since), "after", fmt.Sprintf("%s #%d", st.Op, st.Seq))
	}
	if at := source(in(l, st.Location)); at != "" {
		what = append(what, "at", at)
	}
	return strings.Join(what, " ")
}

func barrierState(b *replay.BarrierState, l *trace.Launch) []string {
	parts := []string{fmt.Sprintf("phase %d", b.Phase)}
	switch {
	case !b.Live:
		parts = append(parts, "not initialised")
	case b.Expected > 0:
		parts = append(parts, fmt.Sprintf("%d of %d pending", b.Pending, b.Expected))
	default:
		parts = append(parts, "at rest")
	}
	if b.Barrier.Kind == trace.BarrierMbar && b.Live {
		tx := fmt.Sprintf("tx %d", b.Tx)
		if b.TxUnknown {
			tx = "tx unknown"
		}
		parts = append(parts, tx)
	}
	if b.InFlight != 0 {
		parts = append(parts, fmt.Sprintf("%d bytes in flight", b.InFlight))
	}
	if len(b.Arrived) > 0 {
		parts = append(parts, "arrived "+names(b.Arrived, b.CTA, l))
	}
	if len(b.Waiting) > 0 {
		parts = append(parts, "waiting "+names(b.Waiting, b.CTA, l))
	}
	return parts
}

// in fills in the launch's program where a place has no file of its own.
func in(l *trace.Launch, at replay.Location) replay.Location {
	if at.File == "" && at.Line > 0 {
		at.File = l.Program
	}
	return at
}
