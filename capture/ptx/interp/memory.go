package interp

import (
	"encoding/binary"
	"fmt"
	"math"
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
	codeStep     = 16 // between two functions
	paramWindow  = 0x7c00_0000_0000
	localWindow  = 0x7d00_0000_0000
	sharedWindow = 0x7f00_0000_0000
	windowSize   = 1 << 32

	// In a window, and as an address of the space itself.
	sharedBase = 0x400     // the first KiB belongs to the system, as on sm_90
	localBase  = 0x100     // so that no variable is at 0; a multiple of what frames are aligned to
	leastAlign = 16        // of a frame
	rankShift  = 24        // the rank of the CTA in its cluster is above this bit, as on sm_90
	maxLocal   = 512 << 10 // bytes of local memory of a thread (CUDA C++ Programming Guide, "Technical Specifications")
)

// space is a state space of PTX.
type space uint8

const (
	generic space = iota
	global
	shared  // of the own CTA
	cluster // shared memory of the CTAs of the cluster
	local
	param // of the kernel
	constant
)

func (s space) String() string {
	return [...]string{"generic", "global", "shared", "shared::cluster", "local", "param", "const"}[s]
}

// window is the space that a generic address is in, and where in it.
func window(addr uint64) (space, uint64) {
	switch addr &^ (windowSize - 1) {
	case sharedWindow:
		return cluster, addr & (windowSize - 1)
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
	case shared, cluster:
		return sharedWindow
	case local:
		return localWindow
	case param:
		return paramWindow
	}
	return 0
}

// width is the mask of the address bits that count: an address in a register
// that is wider than the space needs is truncated (PTX ISA, "Addresses as
// Operands").
func (s space) width() uint64 {
	switch s {
	case shared, cluster, local, param:
		return windowSize - 1
	}
	return 1<<64 - 1
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

// reserve takes the addresses of a segment of that size, and returns the
// first.
func (m *memory) reserve(size uint64) uint64 {
	base := m.next
	m.next += (size+globalGap-1)&^(globalGap-1) + globalGap
	return base
}

// add allocates a segment and returns its address.
func (m *memory) add(name string, data []byte, readOnly bool) uint64 {
	base := m.reserve(uint64(len(data)))
	m.segments = append(m.segments, segment{base, data, name, readOnly})
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
	if addr < 4096 {
		return "a null pointer"
	}
	i := m.below(addr)
	past, before := uint64(math.MaxUint64), uint64(math.MaxUint64)
	if i >= 0 {
		s := &m.segments[i]
		at, size := addr-s.base, uint64(len(s.data))
		if at < size {
			return fmt.Sprintf("across the end of %s (%d bytes)", s.name, size)
		}
		past = at - size
	}
	if i+1 < len(m.segments) {
		before = m.segments[i+1].base - addr
	}
	switch {
	case past < globalGap && past <= before:
		return fmt.Sprintf("%d bytes past the end of %s (%d bytes)", past, m.segments[i].name, len(m.segments[i].data))
	case before < globalGap:
		return fmt.Sprintf("%d bytes before %s", before, m.segments[i+1].name)
	}
	return "in no buffer"
}

// isShared reports whether it is shared memory, whosever it is.
func (s space) isShared() bool { return s == shared || s == cluster }

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
