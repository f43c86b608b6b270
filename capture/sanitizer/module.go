package sanitizer

import (
	"cmp"
	"context"
	"fmt"
	"slices"

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
	// Major is the device's compute capability.
	Major int
}

// Module is what a recorder has to know of a module that is patched.
type Module struct {
	// Sites are by number, from Options.Base on without gaps; Entries are the
	// kernels.
	probe.Module
	// Table is what the library needs to find them; see AppendTable.
	Table []byte
	// Observes are the families of which all is seen.
	Observes []string
	// Note is why less is seen than could be; one line, or empty.
	Note string
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
	m := &maker{next: max(o.Base, probe.FirstSite), out: new(Module), sees: make(map[trace.Family]bool)}
	if err != nil {
		// Without lines, then.
		m.out.Note = err.Error()
	}
	var listing map[string][]cubin.Instruction
	if o.Nvdisasm == "" {
		m.out.Note = "there is no nvdisasm: events have no lines, and named barriers are not observed"
	} else if listing, err = cubin.Disassemble(ctx, o.Nvdisasm, o.TempDir, image); err != nil {
		m.out.Note = fmt.Sprintf("events have no lines, and named barriers are not observed: %v", err)
	}
	m.families(listing, o.Major)
	if err := m.places(f, listing); err != nil {
		return nil, err
	}
	m.out.Next = m.next
	return m.out, nil
}

// maker makes a Module.
type maker struct {
	out  *Module
	next uint32
	sees map[trace.Family]bool
}

// families says what is observed; see the package comment.
func (m *maker) families(listing map[string][]cubin.Instruction, major int) {
	arrives := listing == nil
	for _, is := range listing {
		for _, i := range is {
			arrives = arrives || i.Op == cubin.OpBarArrive
		}
	}
	for _, f := range []trace.Family{trace.FamilyEnter, trace.FamilyExit, trace.FamilyBar, trace.FamilyMbar, trace.FamilyCluster, trace.FamilySyncwarp} {
		switch {
		case f == trace.FamilyBar && arrives:
		case f == trace.FamilyMbar && major != 9:
		default:
			m.sees[f] = true
			m.out.Observes = append(m.out.Observes, string(f))
		}
	}
}

// places gives every barrier instruction its sites, and the begin and end of
// every kernel.
func (m *maker) places(f *cubin.File, listing map[string][]cubin.Instruction) error {
	generic := m.next
	m.sites(place{})
	var t []tableFunction
	total := 0
	for i := range f.Functions {
		fn := &f.Functions[i]
		if fn.Kernel {
			m.out.Entries = append(m.out.Entries, probe.Entry{Name: fn.Name, Probed: true})
		}
		is := listing[fn.Name]
		if len(is) == 0 && !fn.Kernel {
			continue
		}
		at := tableFunction{name: fn.Name}
		add := func(pc uint64, text string) {
			row, _ := fn.Position(pc)
			at.places = append(at.places, tablePlace{pc, m.next})
			m.sites(place{function: fn.Name, text: text, row: row, known: true, pc: pc})
		}
		if fn.Kernel && (len(is) == 0 || is[0].PC != 0) {
			add(0, "")
		}
		for _, i := range is {
			add(i.PC, i.Text)
		}
		if total += len(at.places); total > maxPlaces {
			return fmt.Errorf("the module has more than %d barrier instructions", maxPlaces)
		}
		slices.SortFunc(at.places, func(a, b tablePlace) int { return cmp.Compare(a.pc, b.pc) })
		t = append(t, at)
	}
	m.out.Table = appendTable(nil, generic, t)
	return nil
}
