package diff

import (
	"encoding/json"
	"io"

	"btrace/replay/rules"
	"btrace/trace"
)

type (
	reportJSON struct {
		Version  int          `json:"version"`
		A        string       `json:"a"`
		B        string       `json:"b"`
		Same     bool         `json:"same"`
		Launches []launchJSON `json:"launches"`
	}
	launchJSON struct {
		A           *launchRefJSON   `json:"a"` // null: no such launch
		B           *launchRefJSON   `json:"b"`
		Same        bool             `json:"same"`
		Differs     []string         `json:"differs"`
		Operations  uint64           `json:"warp_operations"`
		Warps       int              `json:"warps"`
		Divergent   int              `json:"divergent_warps"`
		Divergences []divergenceJSON `json:"divergences"`
	}
	launchRefJSON struct {
		ID      uint32        `json:"id"`
		Kernel  string        `json:"kernel"`
		Outcome trace.Outcome `json:"outcome"`
	}
	divergenceJSON struct {
		CTA     uint32   `json:"cta"`
		Warp    uint32   `json:"warp"`
		Threads []string `json:"threads"`
		Kind    Kind     `json:"kind"`
		Index   uint64   `json:"same_before"`
		Fields  []string `json:"fields"`
		// Events in the interchange form; null: there is none.
		LastA json.RawMessage `json:"last_a"`
		LastB json.RawMessage `json:"last_b"`
		A     json.RawMessage `json:"next_a"`
		B     json.RawMessage `json:"next_b"`
	}
)

// WriteJSON writes a comparison as one JSON document; top bounds the
// divergences of a launch, 0 does not.
func WriteJSON(w io.Writer, a, b string, rep *Report, top int) error {
	doc := reportJSON{Version: 1, A: a, B: b, Same: rep.Same(), Launches: []launchJSON{}}
	for i := range rep.Launches {
		l := &rep.Launches[i]
		x := launchJSON{
			A: newLaunchRef(l.A), B: newLaunchRef(l.B), Same: l.Same(), Differs: append([]string{}, l.Differs...),
			Operations: l.Operations, Warps: l.Warps, Divergent: l.Divergent, Divergences: []divergenceJSON{},
		}
		for k := range l.Divergences {
			if top > 0 && k == top {
				break
			}
			d := &l.Divergences[k]
			x.Divergences = append(x.Divergences, divergenceJSON{
				CTA: d.CTA, Warp: d.Warp, Threads: rules.Threads([]rules.Lanes{{CTA: d.CTA, Warp: d.Warp, Mask: d.Lanes}}, d.CTA, l.A),
				Kind: d.Kind, Index: d.Index, Fields: append([]string{}, names(d.Fields)...),
				LastA: line(d.LastA), LastB: line(d.LastB), A: line(d.A), B: line(d.B),
			})
		}
		doc.Launches = append(doc.Launches, x)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(doc)
}

func newLaunchRef(l *trace.Launch) *launchRefJSON {
	if l == nil {
		return nil
	}
	return &launchRefJSON{l.ID, l.Kernel, l.Outcome}
}

// line is an event in the interchange form.
func line(e *trace.Event) json.RawMessage {
	if e == nil {
		return nil
	}
	return trace.AppendNDJSON(nil, e)
}
