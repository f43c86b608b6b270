package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"btrace/replay/rules"
	"btrace/trace"
)

// teller writes about one launch.
type teller struct {
	l *trace.Launch
	n *Stuck
}

// tell makes the finding of a root.
func tell(l *trace.Launch, n *Stuck, c cause, cycle, behind []*Stuck) *rules.Finding {
	t := teller{l, n}
	f := &rules.Finding{}
	switch {
	case c == misused:
		f = n.Misuse
		f.Behind = nil
	case c == lowCount && n.Low.Misuse != nil:
		f = n.Low.Misuse
		f.Behind = nil
	default:
		f.Rule = ruleOf(n, c)
		f.Launch, f.BarrierRef, f.Time = l.ID, n.BarrierRef, n.since()
		f.Location = n.Waits[0].Location
		f.Events = n.Events
		for _, w := range n.Waits {
			f.Threads = append(f.Threads, w.Threads...)
		}
	}
	f.Root = true
	switch {
	case c == misused:
		f.Story = append(f.Story, t.waiters()+".")
		if f.Rule == rules.MbarReuseBeforeWait && n.Takers > n.Expected {
			t.tooMany(f, n.Takers, n.Expected, n.Init)
		}
	case len(cycle) > 0 && !c.strong():
		t.cycle(f, cycle)
	default:
		t.message(f, c)
	}
	r, _ := rules.Lookup(f.Rule)
	f.Severity = rules.Error // a hang is one, whatever the misuse alone would be
	if f.Hint == "" {
		f.Hint = r.Hint
	}
	if f.Location.File == "" && f.Location.Line > 0 {
		f.Location.File = l.Program
	}
	inCycle := map[*Stuck]bool{n: true}
	for _, m := range cycle {
		inCycle[m] = true
	}
	if c == misused || c == lowCount && n.BarrierRef != f.BarrierRef {
		f.Behind = append(f.Behind, n.Waits...)
	}
	for _, m := range cycle {
		if m != n {
			f.Behind = append(f.Behind, m.Waits...)
		}
	}
	for _, m := range behind {
		if !inCycle[m] {
			f.Behind = append(f.Behind, m.Waits...)
		}
	}
	for i := range f.Behind {
		if w := &f.Behind[i]; w.Location.File == "" && w.Location.Line > 0 {
			w.Location.File = l.Program
		}
	}
	return f
}

func (t teller) name() string {
	return t.barrier(t.n.BarrierRef)
}

func (t teller) barrier(b rules.BarrierRef) string {
	if t.l.CTAs() > 1 {
		return fmt.Sprintf("%s of CTA %d", b.Barrier, b.CTA)
	}
	return b.Barrier.String()
}

// message writes the sentence, hint, place and story of a root that is no
// circle.
func (t teller) message(f *rules.Finding, c cause) {
	n := t.n
	what := fmt.Sprintf("phase %d of %s", n.Phase, t.name())
	f.Story = append(f.Story, t.waiters()+".", t.count())
	switch c {
	case wrongCount:
		if n.Bound > 0 && n.Expected > n.Bound {
			f.Message = fmt.Sprintf("%s waits for %d threads, but only %d exist", what, n.Expected, n.Bound)
			f.Hint = fmt.Sprintf("give a count of at most %d, or launch %d threads", n.Bound, n.Expected)
		} else {
			f.Message = fmt.Sprintf("%s waits for %d arrivals, but everyone who arrives on it has, and that makes %d", what, n.Expected, n.Expected-n.Pending)
			f.Hint = fmt.Sprintf("the count is %d too high: use %d, or let the missing %s arrive", n.Pending, n.Expected-n.Pending, plural(n.Pending, "arrival"))
		}
		if n.Init.Line > 0 {
			f.Location = n.Init
			f.Story = append(f.Story, fmt.Sprintf("it was initialised with %d at %s.", n.Expected, t.at(n.Init)))
			more := "one more thread"
			if n.Pending > 1 {
				more = fmt.Sprintf("%d more threads", n.Pending)
			}
			f.Hint = fmt.Sprintf("initialise it with %d instead of %d at %s, or let %s arrive", n.Expected-n.Pending, n.Expected, t.at(n.Init), more)
		}
	case bytesLeft:
		f.Message = fmt.Sprintf("everyone has arrived in %s, but %d bytes are outstanding: more was announced than is copied", what, n.Tx)
		f.Hint = fmt.Sprintf("announce the bytes that the copies complete: %d fewer in this phase", n.Tx)
		if n.Tx < 0 {
			f.Message = fmt.Sprintf("everyone has arrived in %s, but %d bytes more were copied than announced", what, -n.Tx)
			f.Hint = fmt.Sprintf("announce what the copies complete: %d bytes more in this phase", -n.Tx)
		}
		switch {
		case n.Announced.Line > 0:
			f.Location = n.Announced
			f.Events = append([]rules.EventRef{n.AnnouncedBy}, f.Events...)
			f.Story = append(f.Story, fmt.Sprintf("the bytes were last announced at %s.", t.at(n.Announced)))
			f.Hint += fmt.Sprintf(" (%s)", t.at(n.Announced))
		case n.Copied.Line > 0:
			f.Location = n.Copied
			f.Story = append(f.Story, fmt.Sprintf("%s issued the copy at %s; nobody announced bytes on this barrier.", t.list([]rules.Lanes{n.CopiedBy}), t.at(n.Copied)))
			f.Hint = fmt.Sprintf("announce the bytes of the copy at %s: let the arrive of the phase be arrive.expect_tx", t.at(n.Copied))
			if n.CopiedBy.CTA != n.CTA {
				f.Hint += fmt.Sprintf(", in CTA %d as well", n.CTA)
			}
		}
	case wrongParity:
		t.parity(f, what)
	case lowCount:
		t.low(f)
	case gone:
		f.Missing = t.missing(Exited)
		f.Message = fmt.Sprintf("%s waits for %s, which %s exited", what, t.list(f.Missing), have(f.Missing))
		if n.Barrier.Kind == trace.BarrierGroup {
			break
		}
		came := slices.ContainsFunc(n.Missing, func(m Absent) bool { return m.Why == Exited && m.Times > 0 })
		switch {
		case n.Barrier.Kind != trace.BarrierNamed:
			f.Hint = "an exit is not an arrival: arrive, or arrive_and_drop, before the return"
		case came:
			f.Hint = "let all of them come to the barrier equally often: an exited warp does not lower the count"
		default:
			f.Hint = fmt.Sprintf("an exited warp does not lower the count %d: let it arrive before it returns, or count only the warps that come", n.Expected)
		}
	case skipped:
		f.Missing = t.missing(Skipped)
		f.Message = fmt.Sprintf("%s waits for %s, which went on without arriving", what, t.list(f.Missing))
		f.Hint = "find the branch that leads around the arrive, and arrive on it too"
	case split:
		f.Missing = t.missing(Running)
		f.Message = fmt.Sprintf("%s waits for %s: the aligned form needs the whole warp, and these lanes do not come", what, t.list(f.Missing))
	case absent:
		f.Missing = append(t.missing(Running), t.missing(NotStarted)...)
		if len(f.Missing) == 0 { // at the same barrier with another mask
			f.Missing = t.missing(Elsewhere)
			var parts []string
			for _, a := range n.Arrived {
				parts = append(parts, t.list([]rules.Lanes{a}))
			}
			f.Message = fmt.Sprintf("%s wait for each other at syncwarps with different masks", strings.Join(parts, " and "))
			break
		}
		f.Message = fmt.Sprintf("%s waits for %s, which %s not come", what, t.list(f.Missing), does(f.Missing))
		if m := n.Missing[0]; ruleOf(n, c) == rules.DeadlockMissingArrival && m.Location.Line > 0 {
			f.Hint = fmt.Sprintf("let %s come to it: see what holds %s after %s", t.list(f.Missing), it(f.Missing), t.at(m.Location))
		}
	case external:
		f.Missing = t.missing(Running)
		f.Message = fmt.Sprintf("%s lacks %d of %d arrivals, and %s still running: something else holds them", what, n.Pending, n.Expected, areList(t, f.Missing))
		f.Hint = "look at what the running lanes poll: a flag, a grid-wide barrier, another kernel"
	default:
		f.Message = fmt.Sprintf("%s lacks %d of %d arrivals, and the recording does not show why", what, n.Pending, n.Expected)
	}
	if c == bytesLeft {
		return // nobody is missing
	}
	for _, m := range n.Missing {
		if len(f.Story) > 12 {
			f.Story = append(f.Story, "…")
			break
		}
		f.Story = append(f.Story, t.whereabouts(m))
	}
}

// low writes about an mbarrier whose phases end too early.
func (t teller) low(f *rules.Finding) {
	l := t.n.Low
	if l.Misuse == nil {
		f.BarrierRef = l.BarrierRef
		f.Message = fmt.Sprintf("%s expects %d arrivals, but %d threads arrive on it: its phases end too early, and waits by parity fall out of step",
			t.barrier(l.BarrierRef), l.Expected, l.Takers)
		if l.Init.Line > 0 {
			f.Location = l.Init
		}
	}
	t.tooMany(f, l.Takers, l.Expected, l.Init)
}

// tooMany says what to change where more lanes arrive than are expected.
func (t teller) tooMany(f *rules.Finding, takers, expected uint64, init rules.Location) {
	f.Story = append(f.Story, fmt.Sprintf("%d threads arrive on %s, which expects %d.", takers, t.barrier(f.BarrierRef), expected))
	where, others := "", "the others"
	if takers == expected+1 {
		others = "one of them"
	}
	if init.Line > 0 {
		where = " at " + t.at(init)
	}
	f.Hint = fmt.Sprintf("initialise it with %d instead of %d%s, or keep %s from arriving", takers, expected, where, others)
}

// parity explains a wait for a phase that will not end.
func (t teller) parity(f *rules.Finding, what string) {
	n := t.n
	switch {
	case n.WrongParity && n.Waited >= 0:
		f.Message = fmt.Sprintf("the wait for parity %d means %s, but these lanes last waited for phase %d: they skip phase %d, which is complete", n.Parity, what, n.Waited, n.Waited+1)
		f.Hint = fmt.Sprintf("flip the parity after every phase: wait for parity %d here", 1-n.Parity)
	case n.WrongParity:
		f.Message = fmt.Sprintf("the wait for parity %d means %s, but phase 0 is complete and these lanes have not waited for it", n.Parity, what)
		f.Hint = "start with parity 0 for the first phase, and flip it after every phase"
	default:
		f.Message = fmt.Sprintf("the wait for parity %d on the fresh %s means phase 0, which nobody can begin: both sides wait for the other", n.Parity, t.name())
		f.Hint = fmt.Sprintf("let the side that goes first wait for parity %d: a fresh mbarrier passes it", 1-n.Parity)
	}
	f.Story = append(f.Story, fmt.Sprintf("a wait for parity p ends when the phase with that parity is complete; the barrier is in phase %d (parity %d).", n.Phase, n.Phase&1))
}

// cycle writes the sentence and story of a circle.
func (t teller) cycle(f *rules.Finding, cycle []*Stuck) {
	f.Rule = rules.DeadlockCycle
	var parts []string
	for i, n := range cycle {
		f.Cycle = append(f.Cycle, n.BarrierRef)
		next := cycle[(i+1)%len(cycle)]
		u := teller{t.l, n}
		f.Story = append(f.Story, u.waiters()+".")
		parts = append(parts, fmt.Sprintf("%s waits for lanes that wait at %s", u.name(), teller{t.l, next}.name()))
	}
	f.Missing = t.missing(Elsewhere)
	f.Message = strings.Join(parts, ", ")
	f.Hint = "make all of them pass these barriers in the same order, or arrive on one before waiting on the other"
	for _, n := range cycle {
		if n.Runner.Mask != 0 {
			u := teller{t.l, n}
			f.Story = append(f.Story, fmt.Sprintf("%s runs the completion function of %s, before whose end nobody is let go.", u.list([]rules.Lanes{n.Runner}), u.name()))
			f.Hint = "do not wait in a completion function for threads that its barrier holds"
		}
	}
}

// waiters says who waits and since where.
func (t teller) waiters() string {
	var parts []string
	for i, w := range t.n.Waits {
		if i == 4 {
			parts = append(parts, "and others")
			break
		}
		parts = append(parts, fmt.Sprintf("%s at %s", t.list(w.Threads), t.at(w.Location)))
	}
	return fmt.Sprintf("%s in phase %d is waited for by %s", t.name(), t.n.Phase, strings.Join(parts, ", "))
}

// count says who has arrived.
func (t teller) count() string {
	n := t.n
	if n.Barrier.Kind == trace.BarrierWarp {
		if len(n.Arrived) > 1 {
			return fmt.Sprintf("%s have come, with different masks.", t.list(n.Arrived))
		}
		return fmt.Sprintf("%d of %d lanes have come.", n.Expected-n.Pending, n.Expected)
	}
	s := fmt.Sprintf("%d of %d arrivals have come", n.Expected-n.Pending, n.Expected)
	if len(n.Arrived) > 0 {
		s += ": " + t.list(n.Arrived)
	}
	switch {
	case n.Tx > 0:
		s += fmt.Sprintf("; %d bytes are outstanding", n.Tx)
	case n.Tx < 0:
		s += fmt.Sprintf("; %d bytes too many have come", -n.Tx)
	}
	return s + "."
}

func (t teller) whereabouts(m Absent) string {
	who := t.list([]rules.Lanes{m.Lanes})
	where := ""
	if m.Location.Line > 0 {
		where = " at " + t.at(m.Location)
	}
	switch m.Why {
	case Exited:
		switch {
		case where == "" || m.Op == "":
		case m.Op == trace.KindEnter.String():
			where = " straight after its start" + where
		default:
			where = fmt.Sprintf(" after its %s%s", m.Op, where)
		}
		if m.Times > 0 {
			where += fmt.Sprintf(", having arrived %s", times(m.Times))
		}
		return fmt.Sprintf("%s exited%s.", who, where)
	case Elsewhere:
		return fmt.Sprintf("%s waits on %s, phase %d%s.", who, m.At.Barrier, m.At.Phase, where)
	case Skipped:
		if m.At.Barrier.Kind != trace.BarrierNone {
			return fmt.Sprintf("%s did not arrive, and waits on %s, phase %d%s.", who, m.At.Barrier, m.At.Phase, where)
		}
		return fmt.Sprintf("%s did not arrive; it was last seen%s.", who, where)
	case NotStarted:
		return fmt.Sprintf("%s was never seen.", who)
	}
	if m.Op != "" {
		return fmt.Sprintf("%s is running: its last event is %s%s.", who, m.Op, where)
	}
	return fmt.Sprintf("%s is running.", who)
}

func (t teller) missing(why Whereabouts) []rules.Lanes {
	var out []rules.Lanes
	for _, m := range t.n.Missing {
		if m.Why == why {
			out = append(out, m.Lanes)
		}
	}
	return out
}

func (t teller) list(ls []rules.Lanes) string {
	names := rules.Threads(ls, t.n.CTA, t.l)
	switch {
	case len(names) == 0:
		return "nobody"
	case len(names) > 8:
		return strings.Join(names[:8], ", ") + fmt.Sprintf(" and %d more", len(names)-8)
	}
	return strings.Join(names, ", ")
}

func (t teller) at(l rules.Location) string {
	file := l.File
	if file == "" {
		file = t.l.Program
	}
	switch {
	case l.Line > 0 && file != "":
		return fmt.Sprintf("%s:%d", file, l.Line)
	case l.Line > 0:
		return fmt.Sprintf("line %d", l.Line)
	case l.PC > 0:
		return fmt.Sprintf("pc 0x%x", l.PC)
	}
	return "an unknown place"
}

func plural(n uint64, what string) string {
	if n == 1 {
		return what
	}
	return what + "s"
}

func it(ls []rules.Lanes) string {
	if one(ls) {
		return "it"
	}
	return "them"
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// one reports whether a list names a single group.
func one(ls []rules.Lanes) bool { return len(ls) == 1 }

func have(ls []rules.Lanes) string {
	if one(ls) {
		return "has"
	}
	return "have"
}

func does(ls []rules.Lanes) string {
	if one(ls) {
		return "does"
	}
	return "do"
}

func areList(t teller, ls []rules.Lanes) string {
	if one(ls) {
		return t.list(ls) + " is"
	}
	return t.list(ls) + " are"
}

// ExitWithoutArrive is the companion of a starving wait on an mbarrier: the
// lanes that left without their arrival broke its protocol.
func ExitWithoutArrive(root *rules.Finding) (rules.Finding, bool) {
	if root.Rule != rules.DeadlockExited || root.Barrier.Kind != trace.BarrierMbar || len(root.Missing) == 0 {
		return rules.Finding{}, false
	}
	f := rules.Finding{
		Rule: rules.MbarExitWithoutArrive, Launch: root.Launch, BarrierRef: root.BarrierRef, Threads: root.Missing, Time: root.Time,
		Location: root.Location, Message: "lanes that take part in " + root.Barrier.String() + " exited without arriving or dropping",
	}
	return f, true
}

// Unexplained is the finding of a launch that was recorded as hung although
// nothing in it is stuck.
func Unexplained(l *trace.Launch, running []rules.Lanes, time int64) rules.Finding {
	t := teller{l, &Stuck{}}
	left := "every recorded lane has exited"
	if len(running) > 0 {
		left = areList(t, running) + " still running"
	}
	return rules.Finding{
		Rule: rules.HangUnexplained, Severity: rules.Error, Root: true, Launch: l.ID, Threads: running, Time: time,
		Message: fmt.Sprintf("the launch hung, but no recorded barrier is stuck: %s", left),
		Hint:    "look at what the running lanes poll: a flag, an atomic, another kernel",
	}
}
