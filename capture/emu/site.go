package emu

import (
	"math"
	"path"
	"runtime"

	"btrace/trace"
)

// site is where in a kernel's source an operation stands.
type site struct {
	pc    uintptr // return address
	file  string  // base name
	line  uint32
	place uint64 // orders the sites of a file
	// indirect: the caller is code that the compiler made, for a deferred
	// call or a method value; the kernel is further up.
	indirect bool
	counter  bool // pc is recorded
}

// here notes the line of the kernel that called an operation. It must be
// called by the exported function itself, which must not be inlined.
//
//go:noinline
func (t *Thread) here() {
	m := t.m
	if m.running != t {
		return // do says what is wrong
	}
	pc := callerPC()
	s := m.sites[pc]
	if s == nil || s.indirect {
		var pcs [1]uintptr
		runtime.Callers(3, pcs[:])
		if pcs[0] != pc {
			m.sites[pc] = &site{indirect: true}
		}
		if s = m.sites[pcs[0]]; s == nil {
			s = newSite(pcs[0])
			m.sites[pcs[0]] = s
		}
	}
	t.site = s
}

// newSite finds the source of a return address.
func newSite(pc uintptr) *site {
	f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	s := &site{pc: pc, file: baseName(f.File), line: uint32(f.Line)}
	s.place = uint64(s.line)<<32 | uint64(uint32(f.PC-f.Entry))
	return s
}

// place orders operations by how far on in the source they are.
func (o *op) place() uint64 {
	switch {
	case o.kind == trace.KindEnter:
		return 0
	case o.site == nil:
		return math.MaxUint64
	}
	return o.site.place
}

func baseName(file string) string {
	if file == "" {
		return ""
	}
	return path.Base(file)
}
