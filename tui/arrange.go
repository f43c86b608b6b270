package tui

import (
	"fmt"
	"slices"

	"btrace/replay"
)

// rowOrder is an order of rows.
type rowOrder uint8

const (
	orderIndex rowOrder = iota
	orderWaiting
	orderHang
	numOrders
)

func (o rowOrder) String() string {
	return [numOrders]string{"by number", "most waiting first", "first to hang first"}[o]
}

// nextOrder orders the rows in the next way.
func (m *model) nextOrder() { m.orderRows((m.orderedBy + 1) % numOrders) }

// orderBy orders the rows as a user has typed.
func (m *model) orderBy(s string) error {
	for i, name := range []string{"index", "waiting", "hang"} {
		if s == name {
			if m.ready() {
				m.orderRows(rowOrder(i))
			}
			return nil
		}
	}
	return fmt.Errorf("no order %q: index, waiting or hang", clean(s, 40))
}

func (m *model) orderRows(o rowOrder) {
	if o == orderIndex {
		m.orderedBy = o
		m.tree.order(nil)
		m.say("warps by number")
		return
	}
	m.withFacts(func(m *model) {
		m.orderedBy = o
		known := m.facts
		m.tree.order(func(r replay.Row) (int64, bool) {
			x := known.of[r]
			switch {
			case x == nil:
				return 0, false
			case o == orderWaiting:
				return x.waited, true
			}
			return known.last - x.hung, x.stuck
		})
		m.top = 0
		m.say("warps: " + o.String())
	})
}

// togglePin keeps the focused row above the others, or lets go of it.
func (m *model) togglePin() {
	r := m.focus.row
	if !m.tree.visible(r) {
		r = rowID{cta: r.cta, whole: true}
	}
	if m.tree.pin(r) {
		m.say(r.String() + " is pinned")
	} else {
		m.say(r.String() + " is no longer pinned")
		m.keepFocus()
	}
}

// hideRow takes the focused row out of the list.
func (m *model) hideRow() {
	r := m.focus.row
	at := m.tree.index(r)
	m.tree.hide(r)
	if len(m.tree.flat) == 0 {
		delete(m.tree.hidden, r)
		m.tree.flatten()
		m.say("nothing else is shown: this row stays")
		return
	}
	m.setRow(m.tree.flat[min(at, len(m.tree.flat)-1)])
	m.say(r.String() + " is hidden")
}

// showAllRows brings back all rows, in their order.
func (m *model) showAllRows() {
	m.filter, m.orderedBy = nil, orderIndex
	m.tree.weight = nil
	m.tree.showAll()
	m.say("all warps")
}

// togglePane shows or hides a pane.
func (m *model) togglePane(p pane) {
	if !m.offered(p) {
		m.say("nothing to show in " + p.String())
		return
	}
	if !m.shown(p) {
		m.wanted[p] = 1
		m.activate(p)
		m.say(p.String() + " is shown")
		return
	}
	m.wanted[p], m.maximal = -1, false
	if m.active == p {
		m.active = paneRows
	}
	for i := range m.slots {
		if m.slots[i] == p {
			m.slots[i] = m.otherPane()
		}
	}
	m.say(p.String() + " is hidden")
}

// otherPane is a details pane that no slot has.
func (m *model) otherPane() pane {
	for _, p := range []pane{paneState, paneEvent, paneFindings, paneStory} {
		if p != m.slots[0] && p != m.slots[1] && m.wanted[p] >= 0 && m.offered(p) {
			return p
		}
	}
	return paneState
}

// paneByName shows or hides the pane that a user has typed.
func (m *model) paneByName(s string) error {
	for p := paneState; p < numPanes; p++ {
		if p.String() == s {
			m.togglePane(p)
			return nil
		}
	}
	return fmt.Errorf("no pane %q: state, event, source, findings, story, graph, waits or diff", clean(s, 40))
}

// resizePane makes the active pane taller, or all of them wider.
func (m *model) resizePane(wider, taller int) {
	switch {
	case !m.layout.side && wider != 0:
		m.say("the panes are below the timeline: they can be taller or shorter")
	case !m.layout.side:
		m.taller = min(max(m.taller+taller, -m.rows), m.rows)
	case wider != 0:
		m.wider = min(max(m.wider+wider, -m.cols), m.cols)
		if w := sideWidth(m.cols, m.wider); w == sideWidth(m.cols, m.wider-wider) {
			m.wider -= wider // at its limit
		}
	case !m.active.details():
		m.say("choose a pane with tab: it is the active one that becomes taller")
	default:
		m.extra[m.active] = min(max(m.extra[m.active]+taller, -m.rows), m.rows)
	}
	m.arrange()
	m.setWindow(m.win)
}

// maximise gives the active pane all the room, or takes it back.
func (m *model) maximise() {
	m.maximal = !m.maximal
	m.arrange()
	m.setWindow(m.win)
	if m.maximal {
		m.say(m.active.String() + " alone; again brings the others back")
	}
}

// nextTheme uses the next theme.
func (m *model) nextTheme() {
	all := Themes()
	m.useTheme(all[(slices.Index(all, m.colours.name)+1)%len(all)])
	m.say("theme " + m.colours.name + ": " + m.colours.about)
}

// themeByName uses the theme that a user has typed.
func (m *model) themeByName(s string) error {
	if _, err := paletteOf(s); err != nil {
		return err
	}
	m.useTheme(s)
	m.say("theme " + m.colours.name)
	return nil
}

// toggleASCII draws with ASCII characters only, or no longer.
func (m *model) toggleASCII() {
	m.grid.ascii = !m.grid.ascii
	if m.grid.ascii {
		m.say("ASCII only")
	} else {
		m.say("line drawing characters")
	}
}
