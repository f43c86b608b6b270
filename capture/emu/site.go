package emu

import (
	"math"
	"path"
	"runtime"

	"btrace/trace"
)

// site is where in a kernel's source an operation stands.
type site struct {
	file  string // base name
	line  uint32
	place uint64 // orders the sites of a file
}

// site finds the source of a return address.
func (l *launch) site(pc uintptr) *site {
	s := l.sites[pc]
	if s == nil {
		f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
		s = &site{file: baseName(f.File), line: uint32(f.Line)}
		s.place = uint64(s.line)<<32 | uint64(uint32(f.PC-f.Entry))
		l.sites[pc] = s
	}
	return s
}

// place orders operations by how far on in the source they are.
func (l *launch) place(o *op) uint64 {
	switch o.kind {
	case trace.KindEnter:
		return 0
	case trace.KindExit:
		return math.MaxUint64
	}
	return l.site(o.pc).place
}

func baseName(file string) string {
	if file == "" {
		return ""
	}
	return path.Base(file)
}
