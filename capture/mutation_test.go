package capture

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"btrace/capture/kernels"
	"btrace/replay"
	"btrace/replay/explore"
	"btrace/replay/rules"
	"btrace/trace"
)

// mutant is a program with one fault.
type mutant struct {
	kind    string
	program *explore.Program
	op      explore.Op // where the fault is
	strand  int
}

func isArrive(op *explore.Op) bool {
	switch op.Kind {
	case trace.KindBarArrive, trace.KindClusterArrive, trace.KindGroupArrive:
		return true
	}
	return op.Kind >= trace.KindMbarArrive && op.Kind <= trace.KindMbarArriveExpectTx && op.Kind != trace.KindMbarExpectTx
}

func isWait(op *explore.Op) bool {
	switch op.Kind {
	case trace.KindBarSync, trace.KindMbarWait, trace.KindClusterWait, trace.KindGroupWait:
		return true
	}
	return false
}

// plant makes a fault of a kind at operation n of a strand; nil if there can
// be none.
func plant(p *explore.Program, kind string, strand, n int) *mutant {
	q := *p
	q.Strands = slices.Clone(p.Strands)
	ops := slices.Clone(p.Strands[strand].Ops)
	m := &mutant{kind: kind, program: &q, op: ops[n], strand: strand}
	op := &ops[n]
	switch kind {
	case "drop an arrive":
		if !isArrive(op) {
			return nil
		}
		ops = slices.Delete(ops, n, n+1)
	case "double an arrive":
		if !isArrive(op) {
			return nil
		}
		ops = slices.Insert(ops, n, *op)
	case "change a count":
		switch {
		case op.Kind == trace.KindMbarInit:
			op.Count++
		case op.Kind >= trace.KindBarArrive && op.Kind <= trace.KindBarRed && op.Count > 32:
			op.Count -= 32
		default:
			return nil
		}
	case "change an id":
		if op.Kind < trace.KindBarArrive || op.Kind > trace.KindBarRed {
			return nil
		}
		op.Bar ^= 1
	case "flip a parity":
		if op.Kind != trace.KindMbarWait || op.Has.Has(trace.FieldPhase) {
			return nil
		}
		op.Parity ^= 1
	case "change bytes":
		if op.Bytes == 0 {
			return nil
		}
		op.Bytes += 16
	case "swap two waits":
		if !isWait(op) {
			return nil
		}
		k := slices.IndexFunc(ops[n+1:], func(o explore.Op) bool { return isWait(&o) })
		if k < 0 || sameWait(op, &ops[n+1+k]) {
			return nil
		}
		ops[n], ops[n+1+k] = ops[n+1+k], ops[n]
	case "skip an iteration":
		k := slices.IndexFunc(ops[n+1:], func(o explore.Op) bool { return o.Line == op.Line && o.Kind == op.Kind })
		if k < 0 {
			return nil
		}
		ops = slices.Delete(ops, n, n+1+k)
	case "exit early":
		if n == 0 {
			return nil
		}
		ops = ops[:n]
	}
	q.Strands[strand].Ops = ops
	return m
}

func sameWait(a, b *explore.Op) bool {
	return a.Kind == b.Kind && a.Bar == b.Bar && a.Addr == b.Addr && a.Parity == b.Parity && a.Count == b.Count
}

// runOf runs a program, at random, and prefers a run that goes well.
func runOf(p *explore.Program, rng *rand.Rand) ([]trace.Event, trace.Outcome) {
	var events []trace.Event
	outcome := trace.OutcomeUnknown
	for range 8 {
		m := explore.NewMachine(p)
		m.Record()
		for {
			c := m.Choices()
			if len(c) == 0 || strings.HasPrefix(m.Bad, "trap: ") {
				break
			}
			m.Do(c[rng.IntN(len(c))])
		}
		events, outcome = m.Events(), trace.OutcomeHung
		if reason, ok := strings.CutPrefix(m.Bad, "trap: "); ok {
			outcome = trace.Outcome("trap:" + reason)
		} else if m.Done() {
			outcome = trace.OutcomeCompleted
		}
		if m.Bad == "" && m.Done() {
			break
		}
	}
	return events, outcome
}

// checkRun replays a run.
func checkRun(t *testing.T, l trace.Launch, ctas int, events []trace.Event, outcome trace.Outcome) *replay.Report {
	t.Helper()
	l.Grid = trace.Dim{uint32(ctas), 1, 1}
	l.Cluster, l.Ended, l.Outcome, l.Extra, l.EndExtra = l.Grid, false, trace.OutcomeUnknown, "", ""
	var buf bytes.Buffer
	w, err := trace.NewWriter(&buf, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Begin(l); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(events); err != nil {
		t.Fatal(err)
	}
	if err := w.End(l.ID, outcome, ""); err != nil {
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
	return rep
}

// names reports whether a finding points at where the fault is: its line, its
// barrier, or lanes of its strand that are missing.
func (m *mutant) names(f *replay.Finding) bool {
	st := &m.program.Strands[m.strand]
	op := m.op.Op
	if f.Barrier == op.Barrier(st.Warp) || f.Location.Line == op.Line {
		return true
	}
	return slices.ContainsFunc(slices.Concat(f.Missing, f.Threads), func(l rules.Lanes) bool {
		return l.CTA == st.CTA && l.Warp == st.Warp && l.Mask&st.Lanes != 0
	})
}

// place is an operation of a strand.
type place struct{ strand, op int }

// placesOf is all operations of a program: now of one strand, now of another,
// so that one with few is not lost among many.
func placesOf(p *explore.Program, rng *rand.Rand) (list []place) {
	left := make([][]int, len(p.Strands))
	for i := range p.Strands {
		left[i] = rng.Perm(len(p.Strands[i].Ops))
	}
	for found := true; found; {
		found = false
		for _, i := range rng.Perm(len(left)) {
			if len(left[i]) > 0 {
				found = true
				list = append(list, place{i, left[i][0]})
				left[i] = left[i][1:]
			}
		}
	}
	return list
}

// TestMutants plants faults in what the clean kernels of the gallery do. Of
// those that some schedule shows, a replay of one run, which may well go well,
// finds nearly all, and says where.
func TestMutants(t *testing.T) {
	kinds := []string{
		"drop an arrive", "double an arrive", "change a count", "change an id", "flip a parity", "change bytes", "swap two waits",
		"skip an iteration", "exit early",
	}
	type score struct{ alive, caught, named, quiet int }
	total := make(map[string]*score)
	for _, kind := range kinds {
		total[kind] = new(score)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, k := range kernels.All() {
		if k.Expect.Verdict != string(replay.Clean) {
			continue
		}
		_, r, _ := record(t, k, Options{})
		l := r.Launches()[0]
		var ctas []uint32
		for c := range uint32(l.ClusterSize()) {
			ctas = append(ctas, c)
		}
		p, err := explore.Extract(context.Background(), r, &l, ctas, explore.MaxOps)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range kinds {
			places := placesOf(p, rng)
			for range 6 {
				var m *mutant
				for m == nil && len(places) > 0 {
					m = plant(p, kind, places[0].strand, places[0].op)
					places = places[1:]
				}
				if m == nil {
					break
				}
				if found := (explore.Search{Tries: 40, Steps: 200_000, Seed: 3}).Run(m.program); found.Bad == "" {
					continue // as far as a search can tell it is none
				}
				s := total[kind]
				s.alive++
				events, outcome := runOf(m.program, rng)
				rep := checkRun(t, l, len(ctas), events, outcome)
				caught, named := false, false
				for i := range rep.Findings {
					f := &rep.Findings[i]
					if f.Severity == rules.Note {
						continue
					}
					caught = true
					named = named || m.names(f)
				}
				if rep.Verdict == replay.Clean && caught {
					s.quiet++
				}
				if caught {
					s.caught++
				} else {
					t.Logf("%s: %s at %s line %d is not found", k.Name, kind, m.op.Kind, m.op.Line)
				}
				if named {
					s.named++
				}
			}
		}
	}
	var all score
	for _, kind := range kinds {
		s := total[kind]
		all.alive, all.caught, all.named, all.quiet = all.alive+s.alive, all.caught+s.caught, all.named+s.named, all.quiet+s.quiet
		t.Logf("%-18s %3d mutants, %3d caught (%d in a run that went well), %3d named", kind, s.alive, s.caught, s.quiet, s.named)
	}
	t.Logf("%-18s %3d mutants, %3d caught (%d in a run that went well), %3d named", "all", all.alive, all.caught, all.quiet, all.named)
	if all.alive < 100 {
		t.Errorf("only %d mutants", all.alive)
	}
	if 100*all.caught < 98*all.alive || 100*all.named < 90*all.alive {
		t.Errorf("caught %d and named %d of %d", all.caught, all.named, all.alive)
	}
}
