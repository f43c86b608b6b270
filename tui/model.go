package tui

import (
	"context"
	"math"
	"slices"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"btrace/replay"
	"btrace/replay/diff"
	"btrace/trace"
)

// mode is what the keyboard is about.
type mode uint8

const (
	modeNormal mode = iota
	modeHelp
	modePrompt
	modePalette
)

// model is the state of the viewer. Bubble Tea hands it one message at a time.
type model struct {
	ctx      context.Context
	cfg      Config
	commands []Command
	keys     map[binding]int // index into commands

	// What is drawn on.
	cols, rows int
	theme      *theme
	colours    palette
	profile    colorprofile.Profile
	grid       grid
	dirty      bool // the screen is to be drawn again
	repaint    bool // and all of it written: its colours have changed
	layout     layout

	// The launch.
	launch   int // index in cfg.Launches
	visit    int // counts the launches that were gone to
	epoch    int // counts timelines: answers of an earlier one are dropped
	tl       replay.Timeline
	tree     *rows
	lanes    *lanes
	clusters clusters
	bounds   bounds
	openErr  error
	// A launch is opened beside the worker; meanwhile a sketch is drawn.
	opening, settled bool
	giveUpOpening    context.CancelFunc
	drawn            int64  // the time up to which there is something to draw
	facts            *facts // nil until something asks for them
	filter           *filter
	orderedBy        rowOrder

	// Where the user is.
	focus   focus
	win     window
	finding int
	hist    history
	marks   marks
	moved   bool // the user has gone somewhere: open on nothing any more
	arrive  func(*model)
	playing bool
	speed   int // of playing: powers of two

	// Panes.
	active  pane
	slots   [2]pane
	slot    int // the slot that was activated last
	top     int // first visible row
	laneTop int
	scroll  [numPanes]int
	walked  [numPanes]int // the selected line among those that lead somewhere
	sizes
	mode    mode
	help    help
	prompt  prompt
	palette paletteList
	message string
	bad     bool // the message reports something that went wrong
	mouse   bool
	drag    *drag // while a range is being chosen

	// What has been loaded.
	report       *replay.Report
	own          []replay.Finding // of the launch, where there is no report
	ownKnown     bool
	reportErr    error
	reporting    bool
	cells        *store[rowID, replay.Cell]
	phases       *store[laneID, replay.Phase]
	moments      moments
	sources      sources
	overview     overview
	barrierMarks markedBarriers
	blocked      *blocked
	counted      counted
	compared     *compared
	otherSide    bool // the other of two recordings is on the screen
	beside       beside
	alone        bool             // the other recording is not to be seen
	parting      *diff.Divergence // that the two are laid over one another at; nil: the first
	tallest      int              // see stateLines
	story        story

	work  worker
	seeks []func(*model) job
	found string // what was looked for last
}

// cellLimit and phaseLimit bound the pictures that are kept: about 24 MB.
const (
	cellLimit  = 2 << 20
	phaseLimit = 256 << 10
)

func newModel(ctx context.Context, cfg Config) (*model, error) {
	commands, err := cfg.Keys.bind(Commands())
	if err != nil {
		return nil, err
	}
	m := &model{
		ctx: ctx, cfg: cfg, commands: commands, finding: -1, mouse: !cfg.NoMouse, dirty: true,
		report: cfg.Report, slots: [2]pane{paneState, paneEvent}, slot: 1, profile: colorprofile.TrueColor,
	}
	m.keys = bindings(m.commands)
	name := cfg.Theme
	if name == "" {
		name = themeDark
	}
	if m.colours, err = paletteOf(name); err != nil {
		return nil, err
	}
	m.makeTheme()
	m.grid.ascii = cfg.ASCII
	m.clearLaunch()
	m.launch = m.firstLaunch()
	if m.hasFindings() {
		m.slots = [2]pane{paneStory, paneState}
	}
	return m, nil
}

// makeTheme makes the theme anew: for other colours, or another terminal.
func (m *model) makeTheme() {
	p := m.profile
	if m.cfg.NoColor {
		p = min(p, colorprofile.ASCII)
	}
	m.theme = newTheme(m.colours, p)
	m.dirty, m.repaint = true, true
}

// title is what a terminal's window is called.
func (m *model) title() string { return "btrace " + clean(m.cfg.Title, 80) }

// clearLaunch forgets everything that was loaded of a launch.
func (m *model) clearLaunch() {
	m.visit++
	m.epoch++
	m.tl, m.openErr = nil, nil
	if m.giveUpOpening != nil {
		m.giveUpOpening()
	}
	m.opening, m.settled, m.drawn = false, false, math.MinInt64
	m.own, m.ownKnown = nil, false
	m.tree, m.lanes = newRows(nil), newLanes(trace.Launch{}, nil)
	m.cells = newStore[rowID, replay.Cell](cellLimit)
	m.phases = newStore[laneID, replay.Phase](phaseLimit)
	m.moments = newMoments()
	m.seeks, m.marks = nil, nil
	m.blocked, m.counted, m.tallest = nil, counted{}, 0
	m.facts, m.filter, m.orderedBy, m.playing = nil, nil, orderIndex, false
	m.top, m.laneTop = 0, 0
	m.beside, m.parting = beside{}, nil
}

// init asks for what the first frame does not wait for.
func (m *model) init() tea.Cmd { return tea.Batch(m.next(), m.loadDiff()) }

// update takes in one message.
func (m *model) update(msg tea.Msg) tea.Cmd {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.resize(msg.Width, msg.Height)
	case tea.ColorProfileMsg:
		m.profile = msg.Profile
		m.makeTheme()
	case tea.KeyPressMsg:
		cmd = m.key(msg)
	case tea.PasteMsg:
		switch m.mode {
		case modePrompt:
			m.prompt.insert(msg.Content)
		case modePalette:
			m.prompt.insert(msg.Content)
			m.searchPalette()
		}
	case tea.MouseMsg:
		m.mouseEvent(msg)
	case playStep:
		cmd = m.step(msg.elapsed)
	case workDone:
		current := m.work.job.epoch == m.epoch
		m.work.done()
		if current && msg.apply != nil {
			msg.apply(m)
		}
	case loaded:
		msg.apply(m)
		cmd = msg.then
	default:
		return nil
	}
	if m.settled || m.openErr != nil || len(m.cfg.Launches) == 0 {
		cmd = tea.Batch(cmd, m.loadReport()) // what is on the screen goes first
	}
	m.dirty = true
	m.arrange()
	return tea.Batch(cmd, m.next())
}

// resize takes in the size of the screen, and keeps the playhead where it is
// on it.
func (m *model) resize(cols, rows int) {
	const most = 1000 // no screen is larger; a terminal that says so is wrong
	m.cols, m.rows = min(max(cols, 0), most), min(max(rows, 0), most)
	if m.cols == 0 || m.rows == 0 { // it does not know: a serial line, say
		m.cols, m.rows = 80, 24
	}
	m.arrange()
	m.setWindow(m.win)
}

// arrange computes the layout and scrolls what must be visible into view.
func (m *model) arrange() {
	story := 0
	if m.cols >= wideCols && m.selected() != nil {
		story = len(m.storyPage(sideWidth(m.cols, m.wider) - 2).lines)
	}
	m.layout = newLayout(layoutInput{
		cols: m.cols, rows: m.rows, lanes: len(m.lanes.of(m.focus.row.cta)), lines: len(m.tree.flat),
		findings: len(m.findings()), story: story, state: m.stateLines(),
		source: m.sourceKnown(), graph: m.graphLines(), waits: m.linesOf(m.statsPage), diff: m.linesOf(m.diffPage), calm: m.cfg.LoadStats != nil && m.report != nil && len(m.report.Findings) == 0, hang: m.hangs(), sizes: m.sizes,
		active: m.active, slots: m.slots, clusters: m.clusters.several(), both: m.both(),
	})
	m.scrollRows()
	m.scrollLanes()
}

// shown reports whether a pane is on the screen.
func (m *model) shown(p pane) bool {
	return slices.ContainsFunc(m.layout.panes, func(x placed) bool { return x.pane == p })
}

// hangs reports whether the launch is known to hang.
func (m *model) hangs() bool {
	f := m.selected()
	return f != nil && f.Root
}

// stateLines is how many lines the state of a barrier has had at most: a pane
// that follows every move of the focus in its height would be restless.
func (m *model) stateLines() int {
	if x, ok := m.moments.get(m.momentKey()); ok && x.state != nil {
		p := page{width: sideWidth(m.cols, m.wider) - 2}
		m.statePage(&p)
		m.tallest = max(m.tallest, len(p.lines))
	}
	return m.tallest
}

// graphLines is how many lines the wait-for graph has.
func (m *model) graphLines() int {
	if m.blocked == nil || m.blocked.key != m.blockedKey() {
		return 0
	}
	p := page{width: sideWidth(m.cols, m.wider) - 2}
	m.graphPage(&p)
	return len(p.lines)
}

// linesOf is how many lines a pane beside the timeline has.
func (m *model) linesOf(make func(*page)) int {
	p := page{width: sideWidth(m.cols, m.wider) - 2}
	make(&p)
	return len(p.lines)
}

// current is the launch on the screen.
func (m *model) current() trace.Launch {
	if m.tl != nil {
		return m.tl.Launch()
	}
	if m.launch < len(m.cfg.Launches) {
		return m.cfg.Launches[m.launch]
	}
	return trace.Launch{}
}

// findings are those of the report, else those of the launch as far as they
// are known.
func (m *model) findings() []replay.Finding {
	if m.report != nil {
		return m.report.Findings
	}
	return m.own
}

func (m *model) hasFindings() bool { return len(m.findings()) > 0 }

// selected is the finding that the story is about.
func (m *model) selected() *replay.Finding {
	if f := m.findings(); m.finding >= 0 && m.finding < len(f) {
		return &f[m.finding]
	}
	return nil
}

// say shows a message on the status line until the next key.
func (m *model) say(s string) { m.message, m.bad = s, false }

// complain shows what went wrong.
func (m *model) complain(err error) { m.message, m.bad = err.Error(), true }

// place is where the user is.
func (m *model) place() place { return place{m.launch, m.focus, m.win, m.finding, m.otherSide} }

// leave remembers the place that a command goes away from.
func (m *model) leave(command string, step bool) {
	m.moved, m.playing = true, false
	m.hist.remember(m.place(), command, step)
}

// track is the number of cells that the window is drawn in.
func (m *model) track() int { return m.layout.track() }

// setWindow shows a window, as far as there is something to show.
func (m *model) setWindow(w window) { m.win = m.extent().clamp(w, m.track()) }

// fit shows the whole launch.
func (m *model) fit() { m.win = m.extent().fit(m.track()) }

// setTime moves the playhead, and the window with it if it leaves it.
func (m *model) setTime(t int64) {
	t = min(max(t, m.bounds.first), m.bounds.last)
	m.focus.time = t
	n := m.track()
	switch at := m.win.cell(t, n); {
	case at < 0 && t >= saturate(m.win.from, m.win.size(), true):
		m.setWindow(around(t, m.win.size(), 3, 4))
	case at >= n && t < saturate(m.win.to, m.win.size(), false):
		m.setWindow(around(t, m.win.size(), 1, 4))
	case at < 0 || at >= n:
		m.setWindow(around(t, m.win.size(), 1, 2))
	}
}

// setRow moves the focus to a row, and to the barrier there that stands for
// the focused one.
func (m *model) setRow(r rowID) {
	m.focus.row = r
	m.focus.lane = m.lanes.like(m.focus.lane, r.cta)
	if m.focus.lane.none() {
		if l := m.lanes.of(r.cta); len(l) > 0 {
			m.focus.lane = laneID{l[0].CTA, l[0].Barrier}
		}
	}
}

// activate makes a pane the one that up and down are about, and brings it onto
// a screen that does not show it.
func (m *model) activate(p pane) {
	m.active = p
	if !p.details() {
		return
	}
	n := slotCount(m.cols)
	for i := range n {
		if m.slots[i] == p {
			m.slot = i
			return
		}
	}
	m.slot = (m.slot + 1) % n
	for i := range m.slots { // never the same pane twice
		if m.slots[i] == p {
			m.slots[i] = m.slots[m.slot]
		}
	}
	m.slots[m.slot] = p
}

// scrollRows keeps the focused row in view. Pinned rows do not scroll.
func (m *model) scrollRows() {
	n, pins := len(m.tree.flat), len(m.tree.pinned)
	h := m.layout.rows.h - m.pinnedLines()
	if n == 0 || h <= 0 {
		m.top = 0
		return
	}
	m.top = max(min(m.top, n-1), min(pins, n-1))
	at := m.tree.index(m.focus.row)
	if at < pins {
		return
	}
	m.top = min(m.top, at)
	if at-m.top > h {
		m.top = at - h
	}
	for m.top < at && m.height(m.top, at) > h {
		m.top++
	}
	// No empty space below the last row while there are rows above.
	for m.top > pins && m.height(m.top-1, n-1) <= h {
		m.top--
	}
}

// pinnedLines is how many lines the pinned rows take: half of them at most.
func (m *model) pinnedLines() int {
	n := 0
	for _, id := range m.tree.pinned {
		n += 1 + len(m.strands(id))
	}
	return min(n, m.layout.rows.h/2)
}

// height is the number of screen lines of flat rows i to j, both included;
// counting stops beyond the screen.
func (m *model) height(i, j int) int {
	n := 0
	for ; i <= j && n <= m.layout.rows.h; i++ {
		n += 1 + len(m.strands(m.tree.flat[i]))
	}
	return n
}

func (m *model) scrollLanes() {
	h := m.layout.lanes.h
	n := len(m.lanes.of(m.focus.row.cta))
	at := max(m.lanes.find(m.focus.lane), 0)
	if m.focus.lane.none() || h <= 0 {
		at = 0
	}
	m.laneTop = max(min(m.laneTop, at, n-h), 0)
	if h > 0 && at >= m.laneTop+h {
		m.laneTop = at - h + 1
	}
}
