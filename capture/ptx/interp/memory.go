package interp

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// A generic address says by its range in which space it is (PTX ISA, "Generic
// Addressing"). The windows are ours: programs may not depend on where they
// are, and every space has unmapped addresses around it, so that an access
// that is off by much is found as well.
const (
	globalBase   = 0x10_0000_0000 // the first buffer
	globalGap    = 1 << 20        // between two
	codeBase     = 0x6000_0000_0000
	paramWindow  = 0x7c00_0000_0000
	localWindow  = 0x7d00_0000_0000
	sharedWindow = 0x7f00_0000_0000
	windowSize   = 1 << 32

	// In a window, and as an address of the space itself.
	sharedBase = 0x400     // the first KiB belongs to the system, as on sm_90
	localBase  = 0x100     // so that no variable is at 0
	rankShift  = 24        // a shared::cluster address: 1 + rank of the CTA above this bit
	maxLocal   = 512 << 10 // bytes of local memory of a thread (CUDA C++ Programming Guide, "Technical Specifications")
)

// space is a state space of PTX.
type space uint8

const (
	generic space = iota
	global
	shared
	local
	param // of the kernel
	constant
)

func (s space) String() string {
	return [...]string{"generic", "global", "shared", "local", "param", "const"}[s]
}

// window is the space that a generic address is in, and where in it.
func window(addr uint64) (space, uint64) {
	switch addr &^ (windowSize - 1) {
	case sharedWindow:
		return shared, addr & (windowSize - 1)
	case localWindow:
		return local, addr & (windowSize - 1)
	case paramWindow:
		return param, addr & (windowSize - 1)
	}
	return global, addr
}

// base is what turns an address of the space into a generic one.
func (s space) base() uint64 {
	switch s {
	case shared:
		return sharedWindow
	case local:
		return localWindow
	case param:
		return paramWindow
	}
	return 0
}

// segment is memory that was allocated in one piece.
type segment struct {
	base     uint64
	data     []byte
	name     string // for messages: argument 0, variable table
	readOnly bool
}

// memory is the global and constant memory of a launch.
type memory struct {
	segments []segment // by base
	next     uint64
}

func newMemory() *memory { return &memory{next: globalBase} }

// add allocates a segment and returns its address.
func (m *memory) add(name string, data []byte, readOnly bool) uint64 {
	base := m.next
	m.segments = append(m.segments, segment{base, data, name, readOnly})
	m.next += (uint64(len(data))+globalGap-1)&^(globalGap-1) + globalGap
	return base
}

// find is the number of the segment that holds n bytes at addr, -1 if none
// does. hint is tried first.
func (m *memory) find(addr, n uint64, hint int) int {
	if m.segments[hint].has(addr, n) {
		return hint
	}
	if i := m.below(addr); i >= 0 && m.segments[i].has(addr, n) {
		return i
	}
	return -1
}

// below is the number of the last segment that begins at addr or before.
func (m *memory) below(addr uint64) int {
	i, found := slices.BinarySearchFunc(m.segments, addr, func(s segment, a uint64) int {
		switch {
		case s.base < a:
			return -1
		case s.base > a:
			return 1
		}
		return 0
	})
	if found {
		return i
	}
	return i - 1
}

func (s *segment) has(addr, n uint64) bool {
	at := addr - s.base
	return at < uint64(len(s.data)) && n <= uint64(len(s.data))-at
}

// describe says where an address is that is in no segment.
func (m *memory) describe(addr uint64) string {
	switch i := m.below(addr); {
	case addr < 4096:
		return "a null pointer"
	case i < 0 || addr-m.segments[i].base > uint64(len(m.segments[i].data))+globalGap:
		return "in no buffer"
	default:
		s := &m.segments[i]
		if over := addr - s.base - uint64(len(s.data)); addr-s.base >= uint64(len(s.data)) {
			return fmt.Sprintf("%d bytes past the end of %s (%d bytes)", over, s.name, len(s.data))
		}
		return fmt.Sprintf("across the end of %s (%d bytes)", s.name, len(s.data))
	}
}

func load(b []byte, size int) uint64 {
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

func store(b []byte, size int, v uint64) {
	switch size {
	case 1:
		b[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	default:
		binary.LittleEndian.PutUint64(b, v)
	}
}
