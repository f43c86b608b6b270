package explore

import (
	"math/rand/v2"
	"strings"

	"btrace/trace"
)

// Search is how to look for a schedule that goes wrong.
type Search struct {
	Tries int    // schedules; 0 means 200
	Steps int    // operations in all of them; 0 means 20 million
	Seed  uint64 // the same seed finds the same
	// Hang has it look for hangs alone: a broken rule does not end a try.
	Hang bool
	// Suspects is the hazards to try first: operations that may come too early
	// or too late.
	Suspects []Hazard
}

const (
	defaultTries = 200
	defaultSteps = 20_000_000
)

// Run looks for a schedule of the program that hangs, traps or breaks a rule.
// Each try gives every strand a priority and lets the highest go on; a suspect
// comes as early, or as late, as the barriers let it. The search is not whole:
// to find nothing proves nothing.
func (s Search) Run(p *Program) Found {
	tries, left := s.Tries, s.Steps
	if tries == 0 {
		tries = defaultTries
	}
	if left == 0 {
		left = defaultSteps
	}
	var f Found
	for n := 0; n < tries && left > 0; n++ {
		t := newTry(p, rand.New(rand.NewPCG(s.Seed, uint64(n))))
		if len(s.Suspects) > 0 {
			h := &s.Suspects[n%len(s.Suspects)]
			t.suspect(h, n/len(s.Suspects)%2 == 0)
		}
		t.hang = s.Hang
		schedule, bad := t.run(&left)
		f.States += len(schedule)
		if bad != "" {
			f.Bad, f.Schedule = bad, schedule
			return f
		}
	}
	return f
}

// try is one schedule.
type try struct {
	*rand.Rand
	m        *Machine
	priority []float64 // of the strands
	async    float64   // of asynchronous work
	strand   int       // of the suspect; -1 for none
	at       int       // its operation
	early    bool
	hang     bool         // nothing but a hang is of interest
	changes  map[int]bool // steps at which the one about to run falls behind
}

func newTry(p *Program, rng *rand.Rand) *try {
	t := &try{Rand: rng, m: NewMachine(p), strand: -1, async: rng.Float64(), changes: make(map[int]bool)}
	total := 0
	for i := range p.Strands {
		t.priority = append(t.priority, rng.Float64())
		total += len(p.Strands[i].Ops) + 1
	}
	for range rng.IntN(4) {
		t.changes[rng.IntN(2*total+1)] = true
	}
	return t
}

// suspect has the operation of a hazard come early or late: early is what
// makes a phase take what is not its own, late is what makes a wait miss its
// phase.
func (t *try) suspect(h *Hazard, usual bool) {
	for i := range t.m.p.Strands {
		st := &t.m.p.Strands[i]
		if st.CTA != h.Event.CTA || st.Warp != h.Event.Warp || st.Lanes&h.Event.Lanes == 0 {
			continue
		}
		for j := range st.Ops {
			if op := &st.Ops[j]; op.Seq == h.Event.Seq || op.Kind == trace.KindMbarWait && op.Seq+1 == h.Event.Seq {
				t.strand, t.at, t.early = i, j, (h.Kind != Lap) == usual
			}
		}
	}
}

// run makes the schedule, and says what went wrong in it.
func (t *try) run(left *int) (schedule []int, bad string) {
	least := 0.0
	for ; *left > 0; *left-- {
		choices := t.m.Choices()
		if len(choices) == 0 {
			if !t.m.Done() && !t.m.testing() {
				bad = "hang"
			}
			return schedule, bad
		}
		best := choices[0]
		for _, c := range choices[1:] {
			if t.rank(c) > t.rank(best) {
				best = c
			}
		}
		if t.changes[len(schedule)] && best < len(t.priority) {
			least--
			t.priority[best] = least
		}
		schedule = append(schedule, best)
		t.m.Do(best)
		switch trapped := strings.HasPrefix(t.m.Bad, trapPrefix); {
		case t.m.Bad == "":
		case !t.hang:
			return schedule, t.m.Bad
		case trapped:
			return schedule, ""
		}
	}
	return schedule, ""
}

// rank is the priority of a choice now.
func (t *try) rank(c int) float64 {
	switch {
	case c >= len(t.priority):
		return t.async
	case c != t.strand:
		return t.priority[c]
	case t.early && t.m.strands[c].pc <= t.at:
		return 2
	case !t.early && t.m.strands[c].pc == t.at:
		return -1e9
	}
	return t.priority[c]
}

// testing reports whether a strand is at a test that would say no now: the
// program may go another way then, and nothing hangs.
func (m *Machine) testing() bool {
	for i := range m.strands {
		s := &m.strands[i]
		if !s.exited && !s.blocked && s.pc < len(m.p.Strands[i].Ops) && m.p.Strands[i].Ops[s.pc].Test {
			return true
		}
	}
	return false
}

// Replay runs a schedule that was found, and on from there to the end of the
// run, and returns its events and how it ended.
func (f *Found) Replay(p *Program) ([]trace.Event, trace.Outcome) {
	m := NewMachine(p)
	m.Record()
	for _, c := range f.Schedule {
		m.Do(c)
	}
	for {
		if reason, ok := strings.CutPrefix(m.Bad, trapPrefix); ok {
			return m.Events(), trace.Outcome("trap:" + reason)
		}
		choices := m.Choices()
		if len(choices) == 0 {
			break
		}
		m.Do(choices[0])
	}
	if m.Done() {
		return m.Events(), trace.OutcomeCompleted
	}
	return m.Events(), trace.OutcomeHung
}
