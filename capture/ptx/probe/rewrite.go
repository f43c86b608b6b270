package probe

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"btrace/capture/ptx"
	"btrace/capture/ptx/interp"
)

// Rewrite puts probes into the PTX of a module. The error says why it cannot
// be done: it is not PTX, or too old, or has 32-bit addresses, or has probes.
// A module in which no entry has anything to record comes back as it was.
func Rewrite(src []byte, opt Options) (*Module, error) {
	m, err := ptx.Parse(opt.File, src)
	if err != nil {
		return nil, fmt.Errorf("reading PTX: %w", err)
	}
	if err := ptx.Resolve(m); err != nil {
		return nil, fmt.Errorf("reading PTX: %w", err)
	}
	if err := suitable(m, src); err != nil {
		return nil, fmt.Errorf("putting probes into %s: %w", opt.File, err)
	}
	r := &rewriter{m: m, edits: ptx.NewEdits(m), functions: make(map[*ptx.Function]*function)}
	r.out.Arch, r.out.Version = m.Target[0], m.Version
	r.next = max(opt.Base, FirstSite)
	r.registers = opt.Registers
	r.look()
	if r.entries(opt.Kernels) {
		r.declare(opt.Module)
		for _, d := range m.Decls {
			if f, ok := d.(*ptx.Function); ok && r.functions[f] != nil && r.functions[f].probed {
				r.functions[f].rewrite()
			}
		}
	}
	if r.next > MaxSite+1 {
		return nil, fmt.Errorf("putting probes into %s: %d sites behind the %d of other modules: records can number %d", opt.File, len(r.out.Sites), max(opt.Base, FirstSite), MaxSite)
	}
	if r.out.PTX, err = r.edits.Source(); err != nil {
		return nil, fmt.Errorf("putting probes into %s: %w", opt.File, err)
	}
	r.out.Next = r.next
	return &r.out, nil
}

// The least that probes need: activemask is of PTX ISA 6.2, the others of 6.0
// and sm_70.
var leastVersion = [2]int{6, 2}

const leastArch = 70

// reserved is what the names of registers and labels of probes begin with.
var reserved = []string{"%bt_", "$bt_"}

// suitable reports why a module cannot be rewritten.
func suitable(m *ptx.Module, src []byte) error {
	v := m.Version
	switch {
	case v[0] < leastVersion[0] || v[0] == leastVersion[0] && v[1] < leastVersion[1]:
		return fmt.Errorf("it is PTX %d.%d: probes need 6.2", v[0], v[1])
	case m.AddressSize == 32:
		return errors.New("it has 32-bit addresses")
	case len(m.Target) == 0:
		return errors.New("it has no .target")
	}
	if n := archNumber(m.Target[0]); n < leastArch {
		return fmt.Errorf("its target is %s: probes need sm_70", m.Target[0])
	}
	if bytes.Contains(src, []byte(ControlName)) {
		return errors.New("it has probes already")
	}
	for _, name := range reserved {
		if bytes.Contains(src, []byte(name)) {
			return fmt.Errorf("it has names that begin with %s, as those of probes do", name)
		}
	}
	return nil
}

// archNumber is 90 for sm_90a; 0 for something else.
func archNumber(target string) int {
	digits := strings.TrimRight(strings.TrimPrefix(target, "sm_"), "abcdefghijklmnopqrstuvwxyz")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

// rewriter is a module under way.
type rewriter struct {
	m         *ptx.Module
	edits     *ptx.Edits
	out       Module
	next      uint32
	registers func(kernel string) int
	control   string // the space of the control block
	functions map[*ptx.Function]*function
}

// declare puts the variables of a rewritten module before its first function
// or variable. The control block is constant: reading it then takes no memory
// access that would queue behind the records.
func (r *rewriter) declare(module uint64) {
	r.control = "const"
	if r.constants() > maxConstants-ControlSize {
		r.control = "global"
	}
	for _, d := range r.m.Decls {
		if _, ok := d.(*ptx.Directive); ok {
			continue
		}
		first, _ := d.Span()
		r.edits.InsertBefore(first, fmt.Sprintf(".visible .%s .align 8 .b8 %s[%d];\n.visible .global .align 8 .u64 %s = %d;\n",
			r.control, ControlName, ControlSize, ModuleName, module))
		return
	}
}

// maxConstants is the bytes of constant variables that a module may have
// (CUDA C++ Programming Guide, "Technical Specifications").
const maxConstants = 64 << 10

// constants is the bytes of constant variables that the module has, with what
// their alignment may take.
func (r *rewriter) constants() (n int64) {
	for _, d := range r.m.Decls {
		if v, ok := d.(*ptx.Variable); ok && v.Space == "const" {
			n += v.Size() + int64(v.Alignment()) + 8
		}
	}
	return n
}

// function is a function of the module that has a body.
type function struct {
	*rewriter
	f         *ptx.Function
	begin     interp.Instruction
	code      []interp.Instruction
	calls     []*ptx.Function
	marks     map[*ptx.Block]mark
	records   bool // it has something to record of its own
	indirect  bool // it calls what a register says
	setMax    bool
	wgmma     bool
	rare      string // says, at the beginning of code, that it is rare; or nothing
	clustered bool
	grid      bool
	probed    bool

	waits, tests bool // it has such tests of mbarriers
	defs         map[*ptx.Symbol]definition
	same         map[*ptx.Symbol]bool
	runs         map[*ptx.Instruction]runPart
	cold         map[*ptx.Block]*strings.Builder // what is to stand at its end
	at           *ptx.Block                      // where a probe is put
	labels       int
}

// look finds out what the functions of the module do.
func (r *rewriter) look() {
	for _, d := range r.m.Decls {
		f, ok := d.(*ptx.Function)
		if !ok || f.Body == nil {
			continue
		}
		fn := &function{rewriter: r, f: f, cold: make(map[*ptx.Block]*strings.Builder), marks: make(map[*ptx.Block]mark)}
		fn.begin, fn.code = interp.Look(r.m, f)
		r.functions[f] = fn
		fn.define()
		for _, i := range fn.code {
			fn.note(i)
		}
		fn.findMarks(f.Body)
		fn.records = fn.records || len(fn.marks) > 0
	}
}

// note notes what an instruction means for its function.
func (fn *function) note(i interp.Instruction) {
	switch classify(i.Instruction) {
	case opNone, opRet:
	case opExit, opTrap:
	case opTest:
		fn.records = true
		if i.Wait {
			fn.waits = true
		} else {
			fn.tests = true
		}
	default:
		fn.records = true
	}
	switch i.Op {
	case "call":
		fn.noteCall(i.Instruction)
	case "setmaxnreg":
		fn.setMax = true
	case "wgmma":
		fn.wgmma = true
	case "mapa", "getctarank":
		fn.clustered = true
	}
	if has(i.Instruction, "cluster") || has(i.Instruction, "shared::cluster") && i.Op != "cp" {
		fn.clustered = true
	}
	for _, o := range i.Operands {
		if n, ok := o.(*ptx.Name); ok {
			fn.clustered = fn.clustered || strings.HasPrefix(n.Name, "%cluster")
			fn.grid = fn.grid || n.Name == "%envreg1" || n.Name == "%envreg2"
		}
	}
}

func (fn *function) noteCall(i *ptx.Instruction) {
	for n, o := range i.Operands {
		name, ok := o.(*ptx.Name)
		if !ok || n > 1 {
			continue
		}
		if name.Sym != nil && name.Sym.Kind == ptx.SymFunction {
			fn.calls = append(fn.calls, name.Sym.Function)
			return
		}
		if name.Sym != nil && name.Sym.Kind == ptx.SymRegister {
			fn.indirect = true
			return
		}
	}
}

// reach is the functions that one calls, itself included: all, if it calls
// what a register says.
func (r *rewriter) reach(fn *function) map[*function]bool {
	found := map[*function]bool{fn: true}
	for todo := []*function{fn}; len(todo) > 0; {
		next := todo[0]
		todo = todo[1:]
		add := func(f *function) {
			if f != nil && !found[f] {
				found[f] = true
				todo = append(todo, f)
			}
		}
		for _, f := range next.calls {
			if def := r.m.Lookup(f.Name); def != nil {
				f = def
			}
			add(r.functions[f])
		}
		if next.indirect {
			for _, f := range r.functions {
				if !f.f.Entry {
					add(f)
				}
			}
		}
	}
	return found
}

// entries decides which functions get probes, and reports whether any does.
func (r *rewriter) entries(wanted func(string) bool) (any bool) {
	for _, f := range r.m.Entries() {
		fn := r.functions[f]
		e := Entry{Name: f.Name}
		reached := r.reach(fn)
		records := false
		for g := range reached {
			records = records || g.records
			e.SetMax, e.Wgmma = e.SetMax || g.setMax, e.Wgmma || g.wgmma
			e.Clustered, e.Grid = e.Clustered || g.clustered, e.Grid || g.grid
		}
		e.directives(f)
		switch {
		case wanted != nil && !wanted(f.Name):
			e.Why = "it is not among the kernels to record"
		case !records:
			e.Why = "it has no barrier operations"
		default:
			e.Probed, any = true, true
			for g := range reached {
				g.probed = g.probed || g.f.Entry || g.stops()
			}
		}
		r.out.Entries = append(r.out.Entries, e)
	}
	return any
}

// stops reports whether a function does anything that is recorded.
func (fn *function) stops() bool {
	for _, i := range fn.code {
		switch classify(i.Instruction) {
		case opNone, opRet:
		default:
			return true
		}
	}
	return len(fn.marks) > 0
}

// directives notes what the directives of a kernel say of its launches.
func (e *Entry) directives(f *ptx.Function) {
	for _, d := range f.Directives {
		switch d.Name {
		case "reqntid":
			e.ReqNTID = extent(d.Args)
		case "maxntid":
			e.MaxNTID = extent(d.Args)
		case "reqnctapercluster":
			e.Cluster, e.Clustered = extent(d.Args), true
		case "explicitcluster", "maxclusterrank":
			e.Clustered = true
		}
	}
}

// extent reads the arguments of a directive: 1 where it gives none.
func extent(args []string) [3]uint32 {
	d := [3]uint32{1, 1, 1}
	for i, a := range args {
		if n, err := strconv.ParseUint(a, 0, 32); err == nil && i < len(d) {
			d[i] = uint32(n)
		}
	}
	return d
}
