package cupti

import (
	"fmt"
	"sync"
	"sync/atomic"

	"btrace/capture/cupti/ring"
	"btrace/capture/ptx/probe"
	"btrace/trace"
)

// module is one that was instrumented.
type module struct {
	id      uint64
	entries map[string]*probe.Entry // by mangled name
	sites   []probe.Site
	arch    string
	gone    bool // it could not be loaded
	// observes lists the families of which all is recorded in a kernel.
	observes func(kernel string) []string
}

// siteTable numbers the sites of all modules of a run. Modules are added while
// a snapshot of it is read.
type siteTable struct {
	run uint64 // high half of the modules' numbers: another run's are not taken for ours

	mu      sync.Mutex
	modules []*module
	now     atomic.Pointer[siteSnapshot]
}

// siteSnapshot is the sites by number.
type siteSnapshot struct {
	sizes   []ring.RecordSize
	sites   []*probe.Site
	modules []*module // by site
	moves   []move    // by site
}

// move is what a site says of lanes' being in the kernel.
type move uint8

const (
	moveNone move = iota
	moveEnter
	moveExit
)

func moveOf(k trace.Kind) move {
	switch k {
	case trace.KindEnter:
		return moveEnter
	case trace.KindExit:
		return moveExit
	}
	return moveNone
}

// sizeOf is what a ring's reader needs to know of a site.
func sizeOf(s *probe.Site) ring.RecordSize {
	size := ring.RecordSize{Slots: uint8(s.Slots), Short: s.Short}
	if tail := s.Tail(); tail > 0 {
		size.Head = uint8(s.Slots - tail)
	}
	return size
}

func newSiteTable(run uint32) *siteTable {
	t := &siteTable{run: uint64(run) << 32}
	t.now.Store(&siteSnapshot{
		sizes:   make([]ring.RecordSize, ring.FirstSite),
		sites:   make([]*probe.Site, ring.FirstSite),
		modules: make([]*module, ring.FirstSite),
		moves:   make([]move, ring.FirstSite),
	})
	return t
}

// add rewrites a module with the next free numbers and keeps its sites.
func (t *siteTable) add(rewrite func(base uint32, id uint64) (*probe.Module, error)) (*module, *probe.Module, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.now.Load()
	base := uint32(len(old.sites))
	id := t.run | uint64(len(t.modules)+1)
	p, err := rewrite(base, id)
	if err != nil {
		return nil, nil, err
	}
	m := &module{id: id, entries: make(map[string]*probe.Entry), sites: p.Sites, arch: p.Arch}
	m.observes = m.observed
	for i := range p.Entries {
		m.entries[p.Entries[i].Name] = &p.Entries[i]
	}
	// The columns grow behind what a reader of the old snapshot sees.
	next := &siteSnapshot{old.sizes, old.sites, old.modules, old.moves}
	for i := range p.Sites {
		s := &p.Sites[i]
		if s.Number != uint32(len(next.sites)) || s.Slots < 1 || s.Slots > ring.MaxRecordSlots {
			return nil, nil, fmt.Errorf("site %d of %d slots where %d is next", s.Number, s.Slots, len(next.sites))
		}
		next.sizes = append(next.sizes, sizeOf(s))
		next.sites = append(next.sites, s)
		next.modules = append(next.modules, m)
		next.moves = append(next.moves, moveOf(s.Op.Kind))
	}
	if len(next.sites) > ring.MaxSites {
		return nil, nil, fmt.Errorf("more than %d instrumented places in one run: use --kernel to choose fewer", ring.MaxSites)
	}
	t.modules = append(t.modules, m)
	t.now.Store(next)
	return m, p, nil
}

// module is the one of a number; nil if there is none, or it is of another
// run.
func (t *siteTable) module(id uint64) *module {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := id - t.run
	if n < 1 || n > uint64(len(t.modules)) || t.modules[n-1].gone {
		return nil
	}
	return t.modules[n-1]
}

// forget has a module's kernels not found any more: it is not in use.
func (t *siteTable) forget(m *module) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m.gone = true
}

// find is the latest module with a kernel of that name.
func (t *siteTable) find(kernel string) *module {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := len(t.modules) - 1; i >= 0; i-- {
		if m := t.modules[i]; !m.gone && m.entries[kernel] != nil {
			return m
		}
	}
	return nil
}

// observed lists the families that probes record. Of groups and completion
// functions that is only what the kernel says itself.
func (m *module) observed(string) []string {
	families := []trace.Family{trace.FamilyEnter, trace.FamilyExit, trace.FamilyBar, trace.FamilyMbar, trace.FamilyCluster, trace.FamilySyncwarp}
	said := make(map[trace.Family]bool)
	for i := range m.sites {
		said[m.sites[i].Op.Kind.Spec().Family] = true
	}
	for _, f := range []trace.Family{trace.FamilyGroup, trace.FamilyCompletion} {
		if said[f] {
			families = append(families, f)
		}
	}
	words := make([]string, len(families))
	for i, f := range families {
		words[i] = string(f)
	}
	return words
}

// program is the source file of an entry, where the PTX says so.
func (m *module) program(entry string) string {
	for i := range m.sites {
		if s := &m.sites[i]; s.Function == entry && s.Op.File != "" {
			return s.Op.File
		}
	}
	return ""
}
