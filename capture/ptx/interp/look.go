package interp

import (
	"slices"

	"btrace/capture/ptx"
)

// Instruction is an instruction of a function, with what a recording says of
// it.
type Instruction struct {
	*ptx.Instruction
	File   string        // base name of the source file that its .loc names; "" if it has none
	Line   uint32        // there
	Wait   bool          // it asks whether a phase of an mbarrier is complete, and can only ask again
	Writes []*ptx.Symbol // registers that it writes
}

// Look lists the instructions of a function of a resolved module in their
// order, those of inner blocks included. begin is where the function begins:
// its first .loc. What the emulator does not know is listed too.
func Look(m *ptx.Module, f *ptx.Function) (begin Instruction, list []Instruction) {
	var lines []line
	labels := make(map[*ptx.Label]int32)
	flatten(f.Body, nil, &lines, labels, func(*ptx.Variable) {})
	waits, sources := findWaits(lines, labels), sourcesOf(lines)
	begin.File, begin.Line = sourceLine(m, sources.first)
	list = make([]Instruction, len(lines))
	for n, l := range lines {
		i := Instruction{Instruction: l.i, Wait: waits[l.i], Writes: slices.Clip(written(l.i))}
		i.File, i.Line = sourceLine(m, sources.frame(l.loc))
		list[n] = i
	}
	return begin, list
}
