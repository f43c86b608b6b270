package stats

import (
	"encoding/json"
	"io"

	"btrace/replay/rules"
	"btrace/trace"
)

type (
	reportJSON struct {
		Version  int          `json:"version"`
		File     string       `json:"file"`
		Launches []launchJSON `json:"launches"`
	}
	launchJSON struct {
		ID       uint32        `json:"id"`
		Kernel   string        `json:"kernel"`
		Outcome  trace.Outcome `json:"outcome"`
		CTAs     uint64        `json:"ctas"`
		Warps    uint64        `json:"warps"`
		Partial  uint64        `json:"partial_ctas"`
		Active   int64         `json:"active_ns"`
		Waiting  int64         `json:"waiting_ns"`
		Waits    waitsJSON     `json:"waits"`
		Barriers []barrierJSON `json:"barriers"`
		Sites    []siteJSON    `json:"sites"`
		Stages   []stageJSON   `json:"stages"`
	}
	waitsJSON struct {
		Count uint64 `json:"count"`
		Open  uint64 `json:"without_end"`
		Since *int64 `json:"without_end_since_ns,omitempty"`
		Total int64  `json:"total_ns"`
		P50   int64  `json:"p50_ns"`
		P99   int64  `json:"p99_ns"`
		Max   int64  `json:"max_ns"`
	}
	spreadJSON struct {
		P50 int64 `json:"p50_ns"`
		P99 int64 `json:"p99_ns"`
		Max int64 `json:"max_ns"`
	}
	barrierJSON struct {
		Barrier string      `json:"barrier"`
		CTAs    uint64      `json:"ctas"`
		Phases  uint64      `json:"phases"`
		Waits   waitsJSON   `json:"waits"`
		Spread  spreadJSON  `json:"arrival_spread"`
		Late    []lateJSON  `json:"late"`
		Costly  []phaseJSON `json:"costliest_phases"`
	}
	lateJSON struct {
		Who    string `json:"who"`
		Phases uint64 `json:"phases"`
		Total  int64  `json:"late_ns"`
		Max    int64  `json:"max_ns"`
	}
	phaseJSON struct {
		CTA       uint32   `json:"cta"`
		Phase     uint64   `json:"phase"`
		Completed bool     `json:"completed"`
		First     int64    `json:"first_ns"`
		Waits     uint64   `json:"waits"`
		Open      uint64   `json:"without_end"`
		Total     int64    `json:"total_ns"`
		Max       int64    `json:"max_ns"`
		Arrivals  uint64   `json:"arrivals"`
		Expected  uint64   `json:"expected"`
		Spread    int64    `json:"arrival_spread_ns"`
		Last      []string `json:"last"`
		Late      int64    `json:"late_ns"`
	}
	siteJSON struct {
		File  string    `json:"file,omitempty"`
		Line  uint32    `json:"line,omitempty"`
		PC    uint64    `json:"pc,omitempty"`
		Kind  string    `json:"kind"`
		Waits waitsJSON `json:"waits"`
	}
	stageJSON struct {
		Full  string `json:"full"`
		Empty string `json:"empty"`
		CTAs  uint64 `json:"ctas"`
		Fills uint64 `json:"fills"`
		Busy  int64  `json:"full_ns"`
		Span  int64  `json:"used_ns"`
	}
)

// WriteJSON writes the statistics of a file as one JSON document; top bounds
// the lists, 0 does not.
func WriteJSON(w io.Writer, file string, rep *Report, top int) error {
	doc := reportJSON{Version: 1, File: file, Launches: []launchJSON{}}
	for i := range rep.Launches {
		doc.Launches = append(doc.Launches, newLaunchJSON(&rep.Launches[i], top))
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(doc)
}

// first is the first n of a list; all of it where n is 0.
func first[T any](list []T, n int) []T {
	if n == 0 {
		return list
	}
	return list[:min(n, len(list))]
}

func newLaunchJSON(l *Launch, top int) launchJSON {
	out := launchJSON{
		ID: l.ID, Kernel: l.Kernel, Outcome: l.Outcome, CTAs: l.CTAs, Warps: l.Warps, Partial: l.Partial,
		Active: l.Active, Waiting: l.Waiting, Waits: newWaitsJSON(&l.Waits),
		Barriers: []barrierJSON{}, Sites: []siteJSON{}, Stages: []stageJSON{},
	}
	for _, b := range first(l.Barriers, top) {
		x := barrierJSON{
			Barrier: name(b.Barrier), CTAs: b.CTAs, Phases: b.Phases, Waits: newWaitsJSON(&b.Waits),
			Spread: spreadJSON{b.Spread.Quantile(.5), b.Spread.Quantile(.99), b.Spread.Max},
			Late:   []lateJSON{}, Costly: []phaseJSON{},
		}
		for _, late := range first(b.Late, top) {
			x.Late = append(x.Late, lateJSON{late.who(l, b.Barrier), late.Times, late.Total, late.Max})
		}
		if b.Others.Times > 0 {
			x.Late = append(x.Late, lateJSON{"others", b.Others.Times, b.Others.Total, b.Others.Max})
		}
		for _, p := range first(b.Costly, top) {
			x.Costly = append(x.Costly, phaseJSON{
				CTA: p.CTA, Phase: p.Phase, Completed: p.Completed, First: p.First, Waits: p.Waits, Open: p.Open,
				Total: p.Total, Max: p.Max, Arrivals: p.Arrivals, Expected: p.Expected, Spread: p.Spread,
				Last: p.last(l), Late: p.Late,
			})
		}
		out.Barriers = append(out.Barriers, x)
	}
	for _, s := range first(l.Sites, top) {
		out.Sites = append(out.Sites, siteJSON{s.File, s.Line, s.PC, kindName(s.Kind), newWaitsJSON(&s.Waits)})
	}
	for _, s := range first(l.Stages, top) {
		out.Stages = append(out.Stages, stageJSON{name(s.Full), name(s.Empty), s.CTAs, s.Fills, s.Busy, s.Span})
	}
	return out
}

// last is who came last in a phase.
func (x *Phase) last(l *Launch) []string {
	switch {
	case x.Bytes:
		return []string{"bytes"}
	case x.Arrivals == 0:
		return []string{}
	}
	return rules.Threads([]rules.Lanes{x.Last}, x.CTA, &l.Launch)
}

func newWaitsJSON(w *Waits) waitsJSON {
	out := waitsJSON{Count: w.Count, Open: w.Open, Total: w.Total, P50: w.Quantile(.5), P99: w.Quantile(.99), Max: w.Max}
	if w.Open > 0 {
		out.Since = &w.Since
	}
	return out
}

// kindName is the word for a kind of barrier.
func kindName(k trace.BarrierKind) string {
	switch k {
	case trace.BarrierNamed:
		return "bar"
	case trace.BarrierMbar:
		return "mbar"
	case trace.BarrierCluster:
		return "cluster"
	case trace.BarrierGroup:
		return "group"
	case trace.BarrierWarp:
		return "warp"
	}
	return "others"
}
