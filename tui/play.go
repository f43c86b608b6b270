package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"btrace/replay/report"
)

// playStart asks whoever has a clock to step the playhead on: the painter does
// it in time, a script by one second.
type playStart struct{}

// playStep moves a playhead that plays.
type playStep struct{ elapsed time.Duration }

// playEvery is how often a playhead that plays moves.
const playEvery = 40 * time.Millisecond

// mostSpeed bounds how much faster or slower than usual the playhead plays.
const mostSpeed = 12

// pace is how many nanoseconds of the trace a second of playing takes: a tenth
// of the window, times the speed.
func (m *model) pace() int64 {
	n := max(m.win.size()/10, 1)
	if m.speed >= 0 {
		n = min(n<<m.speed, 1<<62)
	} else {
		n = max(n>>-m.speed, 1)
	}
	return int64(min(n, 1<<62))
}

// play starts or stops the playhead.
func (m *model) play() tea.Cmd {
	if !m.ready() {
		return nil
	}
	if m.playing {
		m.playing = false
		m.say("stopped")
		return nil
	}
	if m.focus.time >= m.bounds.last {
		m.say("this is the end: home goes to the start")
		return nil
	}
	m.leave("play", false)
	m.playing = true
	m.sayPace()
	return func() tea.Msg { return playStart{} }
}

func (m *model) sayPace() { m.say("playing " + report.Time(m.pace()) + " a second") }

// step moves the playhead by what a stretch of real time is worth.
func (m *model) step(elapsed time.Duration) tea.Cmd {
	if !m.playing || m.tl == nil {
		return nil
	}
	d := uint64(float64(m.pace()) * min(elapsed.Seconds(), 10))
	m.setTime(saturate(m.focus.time, max(d, 1), false))
	if m.focus.time >= m.bounds.last {
		m.playing = false
		m.say("the end")
	}
	return nil
}

// changeSpeed doubles or halves the speed of playing.
func (m *model) changeSpeed(by int) {
	m.speed = min(max(m.speed+by, -mostSpeed), mostSpeed)
	m.sayPace()
	if !m.playing {
		m.say("plays " + report.Time(m.pace()) + " a second")
	}
}
