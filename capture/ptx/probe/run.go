package probe

import (
	"btrace/capture/ptx"
)

// A run is barriers of the CTA, one behind the other without a branch or label
// in between, that keep the lanes of a warp together: aligned ones, and
// arrivals. The lanes that come to the first one come to all of them. So it is
// asked once who they are and who writes for them, and seen to it that there is
// room for all of their records.

// runPart is a barrier's part in a run.
type runPart struct {
	// Of the run, for its first barrier; 0 for the others.
	slots, records int
	// Its records may be short, as those of all of the run: their operands are
	// known, and no lane is left out.
	short bool
}

// maxRun bounds the slots of a run: as many may be left unused in a chunk.
// maxApart bounds the instructions from one of its barriers to the next: two
// registers are kept meanwhile.
const (
	maxRun   = 32
	maxApart = 16
)

// findRuns finds the runs of a block and of those in it.
func (fn *function) findRuns(b *ptx.Block) {
	var head *ptx.Instruction
	apart := 0
	for _, s := range b.Statements {
		switch s := s.(type) {
		case *ptx.Label:
			head = nil
		case *ptx.Block:
			head = nil
			fn.findRuns(s)
		case *ptx.Instruction:
			slots := fn.runSlots(s)
			records := min(slots, 2) // of red one has two slots
			short := slots > 0 && fn.isShort(s)
			switch {
			case slots == 0:
				if apart++; apart > maxApart || !passes(s) {
					head = nil
				}
				continue
			case head != nil && s.Guard == nil && fn.runs[head].short == short && fn.runs[head].slots+slots <= maxRun:
				fn.runs[head] = runPart{fn.runs[head].slots + slots, fn.runs[head].records + records, short}
				fn.runs[s] = runPart{short: short}
			default:
				fn.runs[s] = runPart{slots, records, short}
				head = s
				if s.Guard != nil {
					head = nil // the lanes behind it are others
				}
			}
			apart = 0
		}
	}
}

// runSlots is how many slots the records of a barrier take that may be part of
// a run; 0 of another instruction.
func (fn *function) runSlots(i *ptx.Instruction) int {
	if classify(i) != opBar {
		return 0
	}
	ops := i.Operands
	slots := 2
	switch {
	case has(i, "arrive"):
		slots = 1
	case has(i, "red"):
		slots, ops = 3, ops[1:len(ops)-1]
	}
	for _, o := range ops {
		if !fn.uniform(o) {
			return 0
		}
	}
	if slots > 1 && i.Op != "bar" && !has(i, "aligned") {
		return 0
	}
	return slots
}

// isShort reports whether the records of a barrier may be short.
func (fn *function) isShort(i *ptx.Instruction) bool {
	if i.Guard != nil || has(i, "red") {
		return false
	}
	for _, o := range i.Operands {
		if _, known := fn.constant(o); !known {
			return false
		}
	}
	return true
}

// passes reports whether all lanes that come to an instruction go on to the
// next one, and nothing is recorded of it.
func passes(i *ptx.Instruction) bool {
	switch i.Op {
	case "bra", "brx", "call", "ret", "exit":
		return false
	}
	return classify(i) == opNone
}
