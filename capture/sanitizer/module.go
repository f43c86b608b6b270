package sanitizer

import (
	"context"
	"fmt"

	"btrace/capture/cupti/cubin"
	"btrace/capture/ptx/probe"
	"btrace/trace"
)

// Options says how a module's sites are made.
type Options struct {
	Base uint32 // number of the first site
	// Nvdisasm is the toolkit's disassembler: a path, or a name for PATH. With
	// none there are no lines, and named barriers are not observed.
	Nvdisasm string
	TempDir  string // for the file that it reads
}

// Module is what a recorder has to know of a module that is patched.
type Module struct {
	// Sites are by number, from Options.Base on without gaps; Entries are the
	// kernels.
	probe.Module
	// Table is what the library needs to find them; see table.go.
	Table []byte
	// Note is why less is seen than could be; one line, or empty.
	Note string

	views map[string]view
	rest  view // of functions that are not in views
}

// view is the families of which all is seen in a function, and in what it calls.
type view map[trace.Family]bool

func (m *Module) view(function string) view {
	if v, ok := m.views[function]; ok {
		return v
	}
	return m.rest
}

// Observes lists the families of which all is seen in a kernel: the Observes
// of its launches.
func (m *Module) Observes(kernel string) []string {
	var words []string
	for _, f := range families {
		if m.view(kernel)[f] {
			words = append(words, string(f))
		}
	}
	return words
}

var families = [...]trace.Family{trace.FamilyEnter, trace.FamilyExit, trace.FamilyBar, trace.FamilyMbar, trace.FamilyCluster, trace.FamilySyncwarp}

// does is what code has that is not seen whole, or at all.
type does struct{ arrive, mbarrier, call bool }

func (d does) or(e does) does {
	return does{d.arrive || e.arrive, d.mbarrier || e.mbarrier, d.call || e.call}
}

func (d does) view() view {
	v := make(view)
	for _, f := range families {
		v[f] = !(f == trace.FamilyBar && d.arrive) && !(f == trace.FamilyMbar && d.mbarrier)
	}
	return v
}

// look finds what is seen of the module's functions. A function that calls
// others may do whatever is anywhere in the module.
func (m *Module) look(listing map[string][]cubin.Instruction) {
	all := does{arrive: listing == nil, mbarrier: listing == nil}
	own := make(map[string]does)
	for name, is := range listing {
		var d does
		for _, i := range is {
			switch i.Op {
			case cubin.OpBarArrive:
				d.arrive = true
			case cubin.OpMbarrier, cubin.OpMbarrierWait, cubin.OpBulkCopy:
				d.mbarrier = true
			case cubin.OpCall:
				d.call = true
			}
		}
		own[name], all = d, all.or(d)
	}
	m.rest = all.view()
	m.views = make(map[string]view)
	for name, d := range own {
		if d.call {
			d = all
		}
		m.views[name] = d.view()
	}
}

// maxPlaces bounds the instructions of a module that have sites.
const maxPlaces = 1 << 17

// Read makes the sites of a module from its cubin. An error means that the
// module cannot be recorded.
func Read(ctx context.Context, image []byte, o Options) (*Module, error) {
	f, err := cubin.Read(image)
	if f == nil {
		return nil, err
	}
	out := new(Module)
	if err != nil {
		out.Note = "events have no lines: " + err.Error()
	}
	var listing map[string][]cubin.Instruction
	if o.Nvdisasm == "" {
		out.Note = "there is no nvdisasm: events have no lines, and named barriers are not observed"
	} else if listing, err = cubin.Disassemble(ctx, o.Nvdisasm, o.TempDir, image); err != nil {
		out.Note = fmt.Sprintf("events have no lines, and named barriers are not observed: %v", err)
	}
	return out, out.make(f, listing, o)
}

// make fills the module in.
func (m *Module) make(f *cubin.File, listing map[string][]cubin.Instruction, o Options) error {
	m.look(listing)
	m.Next = max(o.Base, probe.FirstSite)
	generic := m.Next
	m.addSites(place{sees: m.rest})
	var t []tableFunction
	total := 0
	for i := range f.Functions {
		fn := &f.Functions[i]
		if fn.Kernel {
			m.Entries = append(m.Entries, probe.Entry{Name: fn.Name, Probed: true})
		}
		is := listing[fn.Name]
		if len(is) == 0 && !fn.Kernel {
			continue
		}
		at := tableFunction{name: fn.Name, kernel: fn.Kernel}
		add := func(pc uint64, text string) {
			row, _ := fn.Position(pc)
			at.places = append(at.places, tablePlace{pc, m.Next})
			m.addSites(place{function: fn.Name, text: text, row: row, known: true, pc: pc, sees: m.view(fn.Name)})
		}
		if fn.Kernel && (len(is) == 0 || is[0].PC != 0) {
			add(0, "") // the begin
		}
		for _, i := range is {
			if i.Op != cubin.OpCall {
				add(i.PC, i.Text)
			}
		}
		if total += len(at.places); total > maxPlaces {
			return fmt.Errorf("the module has more than %d barrier instructions", maxPlaces)
		}
		t = append(t, at)
	}
	m.Table = appendTable(nil, generic, t)
	return nil
}
