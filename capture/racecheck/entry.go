package racecheck

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const (
	calledBy = " called by threads starting at "
	syncMask = "Sync mask of thread "
	deadlock = "Deadlock detected in "
)

// entry is one operation of the log:
//
//	Barrier called by threads starting at (32,0,0) in block (1,0,0), (active mask: 0xffffffff) at kernel()+0x2b0 in app.cu:36
//
// An mbarrier's address and the like stand between the mask and the place,
// each as ", name: value". The line is there with line tables only.
type entry struct {
	deadlock bool   // the tool found that it never ends
	name     string // "Cuda::barrier arrive"
	thread   coordinates
	block    coordinates
	lanes    uint32
	barrier  string // address of an mbarrier, with 0x
	more     string // the other ", name: value"
	function string // may be one that was inlined
	pc       uint64 // in the kernel
	hasPC    bool
	file     string
	line     uint32
}

// coordinates are those of a thread in its block, or of a block in the grid.
type coordinates [3]uint32

func (c coordinates) String() string { return fmt.Sprintf("(%d,%d,%d)", c[0], c[1], c[2]) }

var errEntry = errors.New("cannot read the entry")

// parseEntry reads the first line of an operation, without the prefix.
func parseEntry(s string) (e entry, err error) {
	s, e.deadlock = strings.CutPrefix(s, deadlock)
	name, s, _ := strings.Cut(s, calledBy)
	e.name = name
	var ok [4]bool
	e.thread, s, ok[0] = parseCoordinates(s)
	s, ok[1] = strings.CutPrefix(s, " in block ")
	e.block, s, ok[2] = parseCoordinates(s)
	s, ok[3] = strings.CutPrefix(s, ", (active mask: 0x")
	mask, s, closed := strings.Cut(s, ")")
	lanes, err := strconv.ParseUint(mask, 16, 32)
	if name == "" || ok != [4]bool{true, true, true, true} || !closed || err != nil || lanes == 0 {
		return e, errEntry
	}
	e.lanes = uint32(lanes)
	operands, place, _ := strings.Cut(s, " at ")
	if !e.operands(operands) {
		return e, errEntry
	}
	e.place(place)
	return e, nil
}

// parseCoordinates reads (x,y,z) at the beginning of a text, and returns the
// rest.
func parseCoordinates(s string) (c coordinates, rest string, ok bool) {
	in, rest, closed := strings.Cut(s, ")")
	in, opened := strings.CutPrefix(in, "(")
	parts := strings.Split(in, ",")
	if !opened || !closed || len(parts) != len(c) {
		return c, s, false
	}
	for i, p := range parts {
		n, err := strconv.ParseUint(strings.TrimSpace(p), 10, 32)
		if err != nil {
			return c, s, false
		}
		c[i] = uint32(n)
	}
	return c, rest, true
}

// operands takes what stands between the mask and the place.
func (e *entry) operands(s string) bool {
	if s == "" {
		return true
	}
	s, ok := strings.CutPrefix(s, ", ")
	if !ok {
		return false
	}
	var more strings.Builder
	for part := range strings.SplitSeq(s, ", ") {
		key, value, ok := strings.Cut(part, ": ")
		switch {
		case !ok || key == "" || value == "":
			return false
		case key == "barrier address":
			digits, ok := strings.CutPrefix(value, "0x")
			if _, err := strconv.ParseUint(digits, 16, 64); !ok || err != nil {
				return false
			}
			e.barrier = value
		default:
			more.WriteString(", " + part)
		}
	}
	e.more = more.String()
	return true
}

// place takes FUNCTION+0xPC in FILE:LINE, of which the log may have less.
func (e *entry) place(s string) {
	e.function = s
	for at := strings.LastIndex(s, "+0x"); at >= 0; at = strings.LastIndex(s[:at], "+0x") {
		digits := s[at+len("+0x"):]
		rest := strings.TrimLeft(digits, "0123456789abcdefABCDEF")
		file, in := strings.CutPrefix(rest, " in ")
		pc, err := strconv.ParseUint(digits[:len(digits)-len(rest)], 16, 64)
		if err != nil || rest != "" && !in {
			continue // of a file's name
		}
		e.function, e.pc, e.hasPC = s[:at], pc, true
		if colon := strings.LastIndex(file, ":"); colon > 0 {
			if line, err := strconv.ParseUint(file[colon+1:], 10, 32); err == nil {
				e.file, e.line = file[:colon], uint32(line)
			}
		}
		return
	}
}

// text is the operation as a mark has it: in btrace's words where it has some
// for it, then what else the log says.
func (e *entry) text() string {
	text := op(e.name)
	if e.deadlock {
		text = "deadlock detected: " + text
	}
	if e.barrier != "" {
		text += " mbar:" + e.barrier
	}
	return text + e.more + e.where()
}

// op is what btrace calls an operation; one that is not known keeps its name.
func op(name string) string {
	switch name {
	case "Barrier":
		return "barrier"
	case "Syncwarp":
		return "syncwarp"
	case "Cuda::barrier initialize":
		return "mbar.init"
	case "Cuda::barrier invalidate":
		return "mbar.inval"
	case "Cuda::barrier arrive":
		return "mbar.arrive"
	case "Cuda::barrier arrive and drop":
		return "mbar.arrive_drop"
	case "Cuda::barrier wait":
		return "mbar.wait"
	case "Bulk copy global to shared":
		return "mbar.copy"
	case "Cluster barrier arrive":
		return "cluster.arrive"
	case "Cluster barrier wait":
		return "cluster.wait"
	}
	return name
}

// where names the function, where there is no line to find the place by.
func (e *entry) where() string {
	if e.line > 0 || e.function == "" {
		return ""
	}
	return " in " + e.function
}

// parseMask reads "16: 0xffff0000", the mask that a lane gave.
func parseMask(s string) (lane uint, mask uint32, err error) {
	l, m, ok := strings.Cut(s, ": 0x")
	n, err1 := strconv.ParseUint(l, 10, 5)
	b, err2 := strconv.ParseUint(m, 16, 32)
	if !ok || err1 != nil || err2 != nil {
		return 0, 0, errEntry
	}
	return uint(n), uint32(b), nil
}
