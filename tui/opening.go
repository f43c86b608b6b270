package tui

import (
	"context"
	"errors"
	"fmt"
	"math"

	tea "charm.land/bubbletea/v2"

	"btrace/replay"
)

// openLaunch opens the launch on the screen, beside the worker: that draws
// meanwhile what a sketch knows.
func (m *model) openLaunch() tea.Cmd {
	if m.opening || m.settled || m.openErr != nil || m.launch >= len(m.cfg.Launches) || m.cfg.Open == nil || m.ctx.Err() != nil {
		return nil
	}
	m.opening = true
	ctx, cancel := context.WithCancel(m.ctx)
	m.giveUpOpening = cancel
	id, open, visit := m.cfg.Launches[m.launch].ID, m.cfg.Open, m.visit
	opening := func() tea.Msg {
		defer cancel() // the sketch, too
		tl, err := open(ctx, id)
		if err == nil && tl == nil {
			err = errors.New("nothing to show")
		}
		var tree *rows
		var lanes *lanes
		if err == nil {
			tree, lanes = newRows(tl.Rows()), newLanes(tl.Launch(), tl.Lanes())
		}
		return loaded{apply: func(m *model) {
			switch {
			case m.visit != visit:
			case err != nil:
				m.openErr = fmt.Errorf("open launch %d: %w", id, err)
			default:
				m.settle(tl, tree, lanes)
			}
		}}
	}
	return tea.Batch(opening, m.sketch(ctx, id))
}

// settle takes in the timeline of the launch. Where a sketch stood in for it,
// the user stays where he is.
func (m *model) settle(tl replay.Timeline, tree *rows, lanes *lanes) {
	old := m.tree
	sketched := m.tl != nil
	m.epoch++ // what was asked of the sketch is of no use any more
	m.opening, m.settled, m.drawn = false, true, math.MaxInt64
	m.tl, m.tree, m.lanes, m.clusters = tl, tree, lanes, lanes.clusters
	first, last := tl.Span()
	m.bounds = bounds{first, max(first, last)}
	m.cells = newStore[rowID, replay.Cell](cellLimit)
	m.phases = newStore[laneID, replay.Phase](phaseLimit)
	m.moments, m.blocked, m.seeks = newMoments(), nil, nil
	if !sketched || !m.moved {
		m.opened()
		return
	}
	m.tree.inherit(old)
	m.lanes.add(m.findings(), m.current().ID)
	m.setRow(m.focus.row)
}

// sketched is what a sketch has drawn up to a time.
type sketched struct {
	tl   replay.Timeline
	tree *rows
	upTo int64
}

// sketch asks for what is known of the launch before it is open. It is drawn
// beside everything else, and what nobody has come to look at is overtaken by
// what comes after it.
func (m *model) sketch(ctx context.Context, launch uint32) tea.Cmd {
	if m.cfg.Sketch == nil {
		return nil
	}
	draw, visit := m.cfg.Sketch, m.visit
	latest := make(chan sketched, 1)
	drawing := func() tea.Msg {
		defer close(latest)
		// Open will say what is wrong with the launch.
		_ = draw(ctx, launch, func(tl replay.Timeline, upTo int64) {
			x := sketched{tl, newRows(tl.Rows()), upTo}
			select {
			case <-latest:
			default:
			}
			latest <- x
		})
		return nil
	}
	var look func() tea.Msg
	look = func() tea.Msg {
		x, ok := <-latest
		if !ok {
			return nil
		}
		return loaded{func(m *model) {
			if m.visit == visit && !m.settled {
				m.takeSketch(x)
			}
		}, look}
	}
	return tea.Batch(drawing, look)
}

// takeSketch shows a sketch: the whole of it, until the user goes somewhere.
func (m *model) takeSketch(x sketched) {
	old := m.tree
	begins := m.tl == nil
	m.tl, m.tree, m.drawn = x.tl, x.tree, x.upTo
	first, last := x.tl.Span()
	m.bounds = bounds{first, max(first, last)}
	m.cells.outdate()
	if begins {
		m.lanes = newLanes(x.tl.Launch(), nil)
		m.clusters = m.lanes.clusters
		m.focus = focus{time: m.bounds.first}
		if len(m.tree.flat) > 0 {
			m.setRow(m.tree.flat[0])
		}
	} else {
		m.tree.inherit(old)
	}
	if !m.moved {
		m.fit()
	}
}

// progress is how far a launch that opens, or a verdict that is to come, has
// got; false where that is not known.
func (m *model) progress() (part float64, ok bool) {
	if m.cfg.Progress == nil {
		return 0, false
	}
	opening, checking := m.cfg.Progress()
	if m.settled {
		return checking, true
	}
	return opening, true
}

// busy reports whether something is under way that makes progress.
func (m *model) busy() bool { return m.cfg.Progress != nil && (m.opening || m.reporting) }
