package tui

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"btrace/replay"
)

// visibleLanes are the barriers on the screen.
func (m *model) visibleLanes() []replay.Lane {
	all := m.lanes.of(m.focus.row.cta)
	from := min(m.laneTop, len(all))
	return all[from:min(from+max(m.layout.lanes.h, 0), len(all))]
}

// drawLane draws a barrier: a segment for each of its phases, with its number
// and arrivals where there is room. Even and odd phases are drawn differently,
// as parity tells them apart.
func (m *model) drawLane(c canvas, y int, lane replay.Lane) {
	id := laneID{lane.CTA, lane.Barrier}
	m.laneLabel(c, y, lane)
	n := m.track()
	track := c.sub(rect{m.layout.gutter, y, n, 1})
	p, _ := m.phases.get(id, m.win, n)
	look := phaseLook{win: m.win, marks: m.marked().of[id]}
	if x, fresh := m.moments.get(m.momentKey()); fresh && x.state != nil {
		look.now, look.time = findBarrier(x.state, id), m.focus.time
	}
	if open := drawPhases(track, p, look); p == nil || p.err != nil || open {
		return
	}
	if held, ok := m.heldPhase(id); ok {
		drawPhase(track, &held, 0, look)
	}
}

// phaseLook is what phases are drawn with.
type phaseLook struct {
	win   window
	marks []findingMark        // the findings of the barrier, by phase
	now   *replay.BarrierState // at a time, if it is known
	time  int64
}

// at reports whether the state that is known is that of a phase.
func (k *phaseLook) at(p *replay.Phase) bool {
	return k.now != nil && k.now.Live && k.now.Phase == p.Phase && k.now.Expected > 0 && k.time >= p.From && (p.To < 0 || k.time <= p.To)
}

// worst is the severity of the findings in a phase, and in those after it up to
// another: where there is no room for all, one stands for several.
func (k *phaseLook) worst(p *replay.Phase, until uint64) uint8 {
	worst := p.Violations
	i, _ := slices.BinarySearchFunc(k.marks, p.Phase, func(f findingMark, n uint64) int { return cmp.Compare(f.phase, n) })
	for ; i < len(k.marks) && k.marks[i].phase < max(until, p.Phase+1); i++ {
		worst = max(worst, k.marks[i].severity)
	}
	return worst
}

// laneLabel names a barrier.
func (m *model) laneLabel(c canvas, y int, lane replay.Lane) {
	id := laneID{lane.CTA, lane.Barrier}
	s := styleText
	if id == m.focus.lane {
		c.set(0, y, styleKey, glyphPointer)
		s = styleBold
	}
	label := lane.Barrier.String()
	if m.clusters.several() {
		label = strconv.FormatUint(uint64(lane.CTA), 10) + " " + label
	}
	c.sub(rect{1, y, m.layout.gutter - 2, 1}).text(0, 0, s, label)
}

// drawPhases draws the phases of a barrier; open says that one of them is not
// complete.
func drawPhases(track canvas, p *picture[replay.Phase], look phaseLook) (open bool) {
	if p == nil {
		track.fill(0, 0, track.w, styleDim, glyphLoading)
		return false
	}
	if p.err != nil {
		track.text(0, 0, styleError, "cannot be shown: "+p.err.Error())
		return false
	}
	for i := range p.data {
		until := uint64(0)
		if i+1 < len(p.data) {
			until = p.data[i+1].Phase
		}
		drawPhase(track, &p.data[i], until, look)
		open = open || p.data[i].To < 0
	}
	return open
}

// heldPhase is the phase that the selected finding says lanes wait for, of a
// barrier that nobody has arrived on in it: a timeline's phases begin with
// arrivals.
func (m *model) heldPhase(id laneID) (replay.Phase, bool) {
	f := m.selected()
	if f == nil || !f.Root || f.Launch != m.current().ID {
		return replay.Phase{}, false
	}
	if f.Barrier == id.barrier && f.BarrierRef.CTA == id.cta {
		return replay.Phase{Phase: f.Phase, From: f.Time, To: -1}, true
	}
	for _, w := range f.Behind {
		if w.Barrier == id.barrier && w.CTA == id.cta {
			return replay.Phase{Phase: w.Phase, From: w.Since, To: -1}, true
		}
	}
	return replay.Phase{}, false
}

// drawPhase draws a phase of a barrier. The one at the playhead says how far it
// has got there; the others how they end.
func drawPhase(c canvas, p *replay.Phase, until uint64, look phaseLook) {
	row, win := c.row(0), look.win
	n := len(row)
	x0, x1 := win.cell(p.From, n), n
	fill, s := glyphPhaseEven, stylePhaseEven
	if p.Phase%2 == 1 {
		fill, s = glyphPhaseOdd, stylePhaseOdd
	}
	if p.To < 0 {
		fill, s = glyphWaiting, styleWaiting
	} else {
		x1 = win.cell(p.To, n)
	}
	if x0 >= n || x1 < 0 {
		return
	}
	begins := x0 >= 0
	x0, x1 = max(x0, 0), min(x1, n-1)
	taken := row[x0].r != ' '
	for x := x0; x <= x1; x++ {
		row[x] = cell{c.g.glyph(fill), s}
	}
	switch worst := look.worst(p, until); {
	case worst > 0:
		c.set(x0, 0, severityStyle(worst), severityGlyph(worst))
	case begins && taken && x0 == x1:
		c.set(x0, 0, s, glyphPhaseDense)
	case begins:
		c.set(x0, 0, s, glyphPhaseStart)
	}
	if x0 > 0 || begins {
		x0++
	}
	if x1-x0 < 2 {
		return
	}
	short := strconv.FormatUint(p.Phase, 10)
	long := "#" + short
	labels := []string{long, short}
	switch {
	case look.at(p):
		labels = append(progressOf(look.now), short)
	case p.Expected > 0:
		labels[0] += " " + strconv.FormatUint(p.Arrivals, 10) + "/" + strconv.FormatUint(p.Expected, 10)
	}
	for _, label := range labels {
		if x1-x0 > utf8.RuneCountInString(label) {
			c.text(x0, 0, s|modFocus, label)
			return
		}
	}
}

// progressOf says how far the phase of a barrier has got: its arrivals as they
// fill it up, and bytes that are to come. The longest form comes first.
func progressOf(b *replay.BarrierState) []string {
	const cells = 4
	here := b.Expected - min(b.Pending, b.Expected)
	full := int(float64(here) / float64(b.Expected) * cells)
	number := "#" + strconv.FormatUint(b.Phase, 10) + " "
	count := strconv.FormatUint(here, 10) + "/" + strconv.FormatUint(b.Expected, 10)
	gauge := strings.Repeat(string(glyphGaugeFull), full) + strings.Repeat(string(glyphGaugeEmpty), cells-full) + " "
	out := []string{number + gauge + count, number + count}
	if b.Tx != 0 {
		bytes := " " + strconv.FormatInt(b.Tx, 10) + " B"
		out = append([]string{out[0] + bytes, out[1] + bytes}, out...)
	}
	return out
}

// findingMark is the phase in which something was found, and how bad it is.
type findingMark struct {
	phase    uint64
	severity uint8
}

// markedBarriers are the findings of a launch by barrier.
type markedBarriers struct {
	epoch, findings int
	of              map[laneID][]findingMark // by phase
}

// marked are the findings of this launch by barrier, sorted once.
func (m *model) marked() *markedBarriers {
	all := m.findings()
	x := &m.barrierMarks
	if x.of != nil && x.epoch == m.epoch && x.findings == len(all) {
		return x
	}
	*x = markedBarriers{m.epoch, len(all), map[laneID][]findingMark{}}
	id := m.current().ID
	for i := range all {
		f := &all[i]
		if lane := (laneID{f.BarrierRef.CTA, f.Barrier}); f.Launch == id && !lane.none() {
			x.of[lane] = append(x.of[lane], findingMark{f.Phase, severity(f.Severity)})
		}
	}
	for _, marks := range x.of {
		slices.SortFunc(marks, func(a, b findingMark) int { return cmp.Compare(a.phase, b.phase) })
	}
	return x
}
