package cupti

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/cespare/xxhash/v2"

	"btrace/capture/cupti/cubin"
	"btrace/capture/cupti/fatbin"
	"btrace/capture/ptx/probe"
	"btrace/capture/sanitizer"
)

// device is what has to be known of a GPU to instrument code for it.
type device struct {
	major, minor int
	registers    int // of an SM
}

// instrumenter answers images. Its methods may be called from several
// goroutines.
type instrumenter struct {
	ctx       context.Context
	sites     *siteTable
	assembler *Assembler // nil if there is none
	// disassembler is nvdisasm; "" if there is none.
	disassembler string
	kernels      func(name string) bool // which are to be recorded; nil means all

	mu    sync.Mutex
	done  map[imageKey]*verdict
	whys  map[string]string // of kernels that are not instrumented
	notes map[string]bool
}

type imageKey struct {
	sum, size uint64
	dev       device
	role      Role
}

// verdict is what is done with an image.
type verdict struct {
	once   sync.Once
	answer Answer
	image  []byte // with ActionReplace
	// whys says of kernels why they are not instrumented, note what the user
	// should know.
	whys map[string]string
	note string
}

func newInstrumenter(ctx context.Context, sites *siteTable, o *Options) *instrumenter {
	return &instrumenter{ctx: ctx, sites: sites, assembler: o.Assembler, disassembler: o.Disassembler, kernels: o.Kernels,
		done: make(map[imageKey]*verdict), whys: make(map[string]string), notes: make(map[string]bool)}
}

// image answers an image. One that came before, in whatever process, gets the
// same answer. The note is empty, or a line for the user that was not given
// before.
func (in *instrumenter) image(image []byte, m *Image, role Role, dev device) (v *verdict, note string) {
	key := imageKey{xxhash.Sum64(image), uint64(len(image)), dev, role}
	in.mu.Lock()
	v = in.done[key]
	if v == nil {
		v = new(verdict)
		in.done[key] = v
	}
	in.mu.Unlock()
	v.once.Do(func() {
		v.whys = make(map[string]string)
		switch role {
		case RoleAssembler:
			v.assembled(in, image, m.Name)
		case RoleSanitizer:
			v.patched(in, image)
		default:
			v.loaded(in, image, m, dev)
		}
	})
	in.mu.Lock()
	defer in.mu.Unlock()
	for name, why := range v.whys {
		if in.whys[name] == "" { // the first is the nearest: an assembler's before a driver's
			in.whys[name] = why
		}
	}
	if v.note != "" && !in.notes[v.note] {
		in.notes[v.note] = true
		note = v.note
	}
	return v, note
}

// why says why a kernel is not instrumented.
func (in *instrumenter) why(kernel string) string {
	in.mu.Lock()
	defer in.mu.Unlock()
	if why := in.whys[kernel]; why != "" {
		return why
	}
	return "its code was loaded in a way that was not seen, or before the recording began"
}

// original leaves an image as it is.
func (v *verdict) original(reason string) {
	v.answer = Answer{Action: ActionOriginal, Reason: reason}
}

// maxNamed is the most bytes of an image that cannot be instrumented in which
// kernels' names are looked for.
const maxNamed = 256 << 20

// loaded answers an image that a driver is about to load.
func (v *verdict) loaded(in *instrumenter, image []byte, m *Image, dev device) {
	if m.Door == DoorLinkAddData || m.Door == DoorLinkAddFile {
		v.original("it is linked on the device: what is linked is left alone")
		v.name(image, v.answer.Reason)
		return
	}
	if id, ok := moduleNumber(image); ok {
		v.answer = Answer{Action: ActionInstrumented, Module: id}
		if in.sites.module(id) == nil {
			v.original("it was instrumented for another recording: assemble it again in this one")
			v.name(image, v.answer.Reason)
		}
		return
	}
	entries, err := fatbin.Read(image)
	if err != nil {
		v.original(err.Error())
		return
	}
	ptx, reason := fatbin.Choose(entries, dev.major, dev.minor)
	if ptx == nil {
		v.original(reason)
		v.name(image, reason)
		return
	}
	text, err := ptx.Payload()
	if err != nil {
		v.original(err.Error())
		v.name(image, err.Error())
		return
	}
	p := &program{in: in, dev: dev, name: m.Name, ptx: text, options: options(ptx.Options), target: target(ptx.Arch, dev), before: machineCode(entries, dev)}
	if p.name == "" {
		p.name = ptx.Identifier
	}
	p.instrument(v)
}

// assembled answers PTX that an assembler was given: it goes on with what it
// gets.
func (v *verdict) assembled(in *instrumenter, ptx []byte, name string) {
	m, p, err := in.sites.add(func(base uint32, id uint64) (*probe.Module, error) {
		return probe.Rewrite(ptx, probe.Options{File: name, Base: base, Module: id, Kernels: in.kernels})
	})
	if err != nil {
		v.original(err.Error())
		return
	}
	if !v.probed(m) {
		return
	}
	v.answer = Answer{Action: ActionReplace, Module: m.id}
	v.image = p.PTX
}

// patched answers machine code that the Sanitizer patches: with the table that
// its patches need, and not with other code.
func (v *verdict) patched(in *instrumenter, code []byte) {
	if kernels := registersOf(code); in.kernels != nil && len(kernels) > 0 && !slices.ContainsFunc(sortedNames(kernels), in.kernels) {
		v.original("none of its kernels is to be recorded") // to disassemble it takes long
		return
	}
	var p *sanitizer.Module
	m, _, err := in.sites.add(func(base uint32, _ uint64) (*probe.Module, error) {
		var err error
		p, err = sanitizer.Read(in.ctx, code, sanitizer.Options{Base: base, Nvdisasm: in.disassembler})
		if err != nil {
			return nil, err
		}
		return &p.Module, nil
	})
	if err != nil {
		v.original(err.Error())
		v.name(code, err.Error())
		return
	}
	m.observes = p.Observes
	if !v.probed(m) {
		return
	}
	v.note = p.Note
	v.answer = Answer{Action: ActionReplace, Module: m.id}
	v.image = p.Table
}

// probed keeps why entries have no probes, and reports whether any has.
func (v *verdict) probed(m *module) bool {
	any := false
	for _, name := range sortedNames(m.entries) {
		e := m.entries[name]
		if e.Probed {
			any = true
			continue
		}
		if v.whys[name] == "" {
			v.whys[name] = e.Why
		}
		v.original(v.whys[name])
	}
	if !any && v.answer.Reason == "" {
		v.original("it has no kernels")
	}
	return any
}

// name keeps a reason for all kernels in the machine code of an image.
func (v *verdict) name(image []byte, reason string) {
	if len(image) > maxNamed {
		return
	}
	entries, err := fatbin.Read(image)
	if err != nil {
		return
	}
	for i := range entries {
		if entries[i].Kind != fatbin.ELF {
			continue
		}
		code, err := entries[i].Payload()
		if err != nil {
			continue
		}
		for name := range registersOf(code) {
			v.whys[name] = reason
		}
	}
}

// registersOf is the registers a thread of the kernels of a cubin, as far as
// it says.
func registersOf(code []byte) map[string]Use {
	f, err := cubin.Read(code)
	if f == nil && err != nil {
		return nil
	}
	uses := make(map[string]Use)
	for _, fn := range f.Functions {
		if fn.Kernel {
			uses[fn.Name] = Use{Registers: fn.Registers}
		}
	}
	return uses
}

// machineCode is the machine code that the driver would run.
func machineCode(entries []fatbin.Entry, dev device) map[string]Use {
	best := -1
	for i, e := range entries {
		if e.Kind == fatbin.ELF && e.Arch.Major == dev.major && e.Arch.Minor <= dev.minor &&
			(best < 0 || e.Arch.Minor > entries[best].Arch.Minor || e.Arch.Suffix != 0) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	code, err := entries[best].Payload()
	if err != nil {
		return nil
	}
	return registersOf(code)
}

// target is what PTX is assembled for on a device: code of the device itself,
// or of the family or the exact device that it was written for.
func target(a fatbin.Arch, dev device) string {
	return fatbin.Arch{Major: dev.major, Minor: dev.minor, Suffix: a.Suffix}.String()
}

// program is PTX that is being instrumented.
type program struct {
	in      *instrumenter
	dev     device
	name    string
	ptx     []byte
	options []string
	target  string
	before  map[string]Use // of the original; Registers only, until original is called
	whole   bool           // original was called
	report  Report         // of the original
}

// attempts is how often a module is rewritten, each time without the kernels
// that turned out not to bear it.
const attempts = 5

// instrument rewrites the program, assembles it, and checks that what comes
// out can take the original's place.
func (p *program) instrument(v *verdict) {
	left := make(map[string]string) // kernels that are left alone, and why
	limit := p.limit
	if p.in.assembler == nil || len(p.before) == 0 && p.original() != nil {
		limit = nil
	}
	for range attempts {
		m, rewritten, err := p.in.sites.add(func(base uint32, id uint64) (*probe.Module, error) {
			return probe.Rewrite(p.ptx, probe.Options{File: p.name, Base: base, Module: id, Registers: limit, Kernels: func(name string) bool {
				return left[name] == "" && (p.in.kernels == nil || p.in.kernels(name))
			}})
		})
		if err != nil {
			v.original(err.Error())
			return
		}
		maps.Copy(v.whys, left)
		if !v.probed(m) {
			return
		}
		if p.in.assembler == nil {
			v.replace(m, append(rewritten.PTX, 0))
			v.note = "no ptxas found: the driver assembles instrumented kernels, and nobody checks their registers"
			return
		}
		code, bad, err := p.assemble(m, rewritten.PTX)
		var refused *AssemblyError
		switch {
		case errors.As(err, &refused) && refused.Version:
			v.replace(m, append(rewritten.PTX, 0))
			v.note = fmt.Sprintf("%s is older than the program's PTX: the driver assembles instrumented kernels, and nobody checks their registers", p.in.assembler.Path)
			return
		case err != nil:
			v.original("instrumented: " + err.Error())
			for name := range m.entries {
				v.whys[name] = v.answer.Reason
			}
			return
		case len(bad) == 0:
			v.replace(m, code)
			return
		case limit != nil:
			limit = nil // perhaps they can do without
			continue
		}
		maps.Copy(left, bad)
	}
	v.original("its instrumented code takes more than the original in every way that was tried")
	maps.Copy(v.whys, left)
}

// limit is the most registers with which a kernel has as many warps on an SM as
// the original has; 0 if that is not known.
func (p *program) limit(kernel string) int {
	was := p.before[kernel].Registers
	if was == 0 {
		return 0
	}
	return mostRegisters(min(residentWarps(was, p.dev.registers), maxResidentWarps), p.dev.registers)
}

func (v *verdict) replace(m *module, image []byte) {
	v.answer = Answer{Action: ActionReplace, Module: m.id, Size: uint64(len(image))}
	v.image = image
}

// assemble makes machine code of instrumented PTX, and says of which kernels
// it cannot be used.
func (p *program) assemble(m *module, ptx []byte) (code []byte, bad map[string]string, err error) {
	code, report, err := p.in.assembler.Assemble(p.in.ctx, ptx, p.target, p.options)
	if err != nil {
		return nil, nil, err
	}
	if bad, err = p.unfit(m, report); err != nil || len(bad) == 0 {
		return code, bad, err
	}
	// Perhaps it can do with as many registers as the original's launches
	// leave it.
	limit := 255
	for name, e := range m.entries {
		if was := p.before[name]; e.Probed && was.Registers > 0 {
			limit = min(limit, mostRegisters(warpsNeeded(e, was.Registers, p.dev.registers), p.dev.registers))
		}
	}
	if limit == 255 {
		return code, bad, nil
	}
	tight, report, err := p.in.assembler.Assemble(p.in.ctx, ptx, p.target, append(p.options[:len(p.options):len(p.options)], fmt.Sprintf("--maxrregcount=%d", limit)))
	if err != nil {
		return code, bad, nil
	}
	still, err := p.unfit(m, report)
	if err != nil || len(still) > 0 {
		return code, bad, err
	}
	return tight, nil, nil
}

// unfit says of which kernels the instrumented code cannot be used, and why.
func (p *program) unfit(m *module, now Report) (map[string]string, error) {
	bad := make(map[string]string)
	for _, name := range sortedNames(m.entries) {
		e, use := m.entries[name], now.Entries[name]
		if !e.Probed {
			continue
		}
		// The original's figures are needed only where there is a question.
		if p.before[name].Registers == 0 || use.spilled() > 0 || now.LostSetMax && e.SetMax {
			if err := p.original(); err != nil {
				return nil, err
			}
		}
		var before *Use
		if was, ok := p.before[name]; ok {
			before = &was
		}
		if why := unfit(e, before, use, p.dev.registers); why != "" {
			bad[name] = why
		} else if now.LostSetMax && e.SetMax && !p.report.LostSetMax {
			bad[name] = lostSetMaxText
		} else if now.Serialized && e.Wgmma && !p.serialized() {
			bad[name] = "its instrumented code serializes wgmma"
		}
	}
	return bad, nil
}

// serialized reports whether the original serializes wgmma, too.
func (p *program) serialized() bool { return p.original() == nil && p.report.Serialized }

// original assembles the original, for its figures.
func (p *program) original() error {
	if p.whole {
		return nil
	}
	_, report, err := p.in.assembler.Assemble(p.in.ctx, p.ptx, p.target, p.options)
	if err != nil {
		return err
	}
	p.whole, p.report, p.before = true, report, report.Entries
	return nil
}

// moduleNumber is what an image says that was instrumented when it was
// assembled.
func moduleNumber(image []byte) (uint64, bool) {
	if !bytes.HasPrefix(image, []byte(elf.ELFMAG)) {
		return 0, false
	}
	f, err := cubin.ELF(image)
	if err != nil {
		return 0, false
	}
	symbols, err := f.Symbols()
	if err != nil {
		return 0, false
	}
	for _, s := range symbols {
		if s.Name != probe.ModuleName || int(s.Section) >= len(f.Sections) {
			continue
		}
		section := f.Sections[s.Section]
		if section.Type == elf.SHT_NOBITS || section.Flags&elf.SHF_COMPRESSED != 0 {
			continue
		}
		var b [8]byte
		if _, err := section.ReadAt(b[:], int64(s.Value)); err == nil {
			return binary.LittleEndian.Uint64(b[:]), true
		}
	}
	return 0, false
}

// unload takes note that a module could not be loaded: its kernels run as they
// are.
func (in *instrumenter) unload(id uint64, why string) {
	m := in.sites.module(id)
	if m == nil {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	for name, e := range m.entries {
		if e.Probed {
			in.whys[name] = "its instrumented code is not used: " + why
		}
	}
	in.sites.forget(m)
}
