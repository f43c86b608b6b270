package probe

import (
	"btrace/trace"
)

// Names of the variables that a rewritten module has.
const (
	ControlName = "__btrace_ctl"    // the control block
	ModuleName  = "__btrace_module" // a u64 with Options.Module
	ControlSize = 64                // bytes
)

// FirstSite is the least number that a site of a module may have.
const FirstSite = 2

// MaxSite is the greatest number that a site may have: it has 23 bits.
const MaxSite = 1<<23 - 1

// The sites that every module has.
const (
	SiteClose = 0 // the lane writes no more to this chunk
	SiteGap   = 1 // as many records were dropped here as the operand says
)

// Options says how to rewrite a module.
type Options struct {
	File   string // name of the PTX, for messages and for sites without .loc
	Base   uint32 // number of the first site; FirstSite if less
	Module uint64 // what the variable __btrace_module holds
	// Kernels says which entries get probes; nil means all.
	Kernels func(name string) bool
	// Registers is how many registers a thread of a kernel may have, or 0 if
	// that is not known; nil means that of none. A kernel of which it is known
	// gets .maxnreg, unless it has such a directive of its own, and the code
	// that probes hardly ever need is put out of the way of the other: the
	// assembler takes more registers where it is told about that.
	Registers func(name string) int
}

// Module is a module with probes.
type Module struct {
	PTX     []byte
	Sites   []Site // by number, from the first on, without gaps
	Entries []Entry
	Next    uint32 // the number behind the last site's
	Arch    string // of .target: sm_90a
	Version [2]int // of .version
}

// Site returns the site of a number; nil if the module has none.
func (m *Module) Site(number uint32) *Site {
	if len(m.Sites) == 0 || number < m.Sites[0].Number || number-m.Sites[0].Number >= uint32(len(m.Sites)) {
		return nil
	}
	return &m.Sites[number-m.Sites[0].Number]
}

// Entry is a kernel of the module.
type Entry struct {
	Name    string    // as in the PTX: mangled
	Probed  bool      // it has probes
	Why     string    // why not
	SetMax  bool      // it changes its number of registers (setmaxnreg), or calls what does
	Wgmma   bool      // it uses wgmma, or calls what does
	Cluster trace.Dim // of .reqnctapercluster; zero if it has none
	// Clustered says that it has anything to do with clusters: one of their
	// directives or instructions.
	Clustered bool
	Grid      bool      // it reads what the driver gives for a grid-wide barrier (%envreg1, %envreg2): it may be cooperative
	ReqNTID   trace.Dim // of .reqntid; zero if it has none
	MaxNTID   trace.Dim // of .maxntid; zero if it has none
}
