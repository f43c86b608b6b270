package cupti

// clockMap turns the clock of one SM into nanoseconds of %globaltimer: by
// straight lines between moments of which both are known.
type clockMap struct {
	nodes []clockNode // ascending in both
	// perCycle is the nanoseconds of a cycle that the device promises, for
	// as long as there is one node only.
	perCycle float64
}

type clockNode struct{ clock, time uint64 }

// %globaltimer moves in steps, of 32 ns and more, so nodes that are close tell
// little about the rate.
const (
	nodeDistance = 20_000 // ns
	maxNodes     = 4096
)

// add learns what the time was at a clock.
func (m *clockMap) add(clock, time uint64) {
	n := len(m.nodes)
	if n > 0 {
		last := m.nodes[n-1]
		if clock <= last.clock || time < last.time+nodeDistance {
			return
		}
	}
	if n == maxNodes {
		m.nodes = append(m.nodes[:0], m.nodes[n/2:]...)
	}
	m.nodes = append(m.nodes, clockNode{clock, time})
}

// rate is nanoseconds a cycle behind node i.
func (m *clockMap) rate(i int) float64 {
	i = min(i, len(m.nodes)-2)
	if i < 0 {
		return m.perCycle
	}
	a, b := m.nodes[i], m.nodes[i+1]
	return float64(b.time-a.time) / float64(b.clock-a.clock)
}

// time is the %globaltimer at a clock. There must be a node.
func (m *clockMap) time(clock uint64) uint64 {
	i := m.search(func(n clockNode) bool { return n.clock <= clock })
	n := m.nodes[i]
	return offset(n.time, float64(int64(clock-n.clock))*m.rate(i))
}

// clock is the clock at a %globaltimer. There must be a node.
func (m *clockMap) clock(time uint64) uint64 {
	i := m.search(func(n clockNode) bool { return n.time <= time })
	n := m.nodes[i]
	return offset(n.clock, float64(int64(time-n.time))/m.rate(i))
}

// search is the last node that is not behind what is looked for; the first if
// all are.
func (m *clockMap) search(before func(clockNode) bool) int {
	i := len(m.nodes) - 1
	for i > 0 && !before(m.nodes[i]) {
		i--
	}
	return i
}

// offset adds, and stays within what 63 bits hold.
func offset(x uint64, by float64) uint64 {
	const most = 1<<63 - 1
	switch {
	case by < 0 && -by >= float64(x):
		return 0
	case by > 0 && by >= float64(most-min(x, most)):
		return most
	}
	return x + uint64(int64(by))
}
