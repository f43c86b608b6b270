package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"btrace/capture"
	"btrace/capture/emu"
	"btrace/capture/ptx/interp"
	"btrace/trace"
	"btrace/trace/plain"
)

// toldLines is how many lines the notes on instructions may take, and the
// places where warps are.
const toldLines = 12

// tell says which instructions do nothing to data, which one trapped, and
// where the warps of a hang are.
func (p *ptxKernel) tell(out *plain.Printer, opt capture.Options, r interp.Result) {
	cfg, err := p.kernel.Prepare(p.config(opt))
	if err != nil {
		return // then there was no launch
	}
	if opt.Block == (trace.Dim{}) && cfg.Block.Size() == 1 {
		out.Printf("note: a block of 1 thread, as there is no --block\n")
	}
	tellOpaque(out, "note: ", p.kernel.Opaque)
	if r.Fault != "" {
		out.Printf("trap at %s\n", r.Fault)
	}
	if r.GivenUp {
		out.Printf("it has not ended after %d instructions: if it is no endless loop, allow more with --steps\n", cfg.StepBudget)
	}
	if r.Outcome != trace.OutcomeHung {
		return
	}
	lines := stuckAt(r.Stuck, uint32(cfg.Block.Size()))
	for _, l := range lines[:min(len(lines), toldLines)] {
		out.Printf("%s\n", l)
	}
	if n := len(lines) - toldLines; n > 0 {
		out.Printf("and %d more places\n", n)
	}
}

// tellOpaque lists instructions that do to barriers what they should, and
// nothing to data.
func tellOpaque(out *plain.Printer, lead string, notes []interp.Note) {
	for _, n := range notes[:min(len(notes), toldLines)] {
		out.Printf("%s%s\n", lead, n)
	}
	if n := len(notes) - toldLines; n > 0 {
		out.Printf("%sand %d more\n", lead, n)
	}
}

// place is what lanes of a warp are at.
type place struct {
	lanes   uint32 // all ones if it is the whole warp
	op      string
	barrier trace.Barrier
	file    string
	line    uint32
}

// String is the place without its lanes.
func (p place) String() string {
	s := "at " + p.op
	switch {
	case p.op == trace.KindEnter.String():
		return "not begun"
	case p.op == "work":
		s = "running"
	case p.op == "atomic":
		s = "at a memory access"
	case p.barrier.Kind != trace.BarrierNone && p.barrier.Kind != trace.BarrierWarp:
		s += " " + p.barrier.String()
	}
	return fmt.Sprintf("%s, %s:%d", s, p.file, p.line)
}

// group is the warps of a CTA that are at the same.
type group struct {
	place
	warps string // w0-w3 w5
}

// stuckAt says where lanes are, a line for each place: the warps of a CTA
// that are at the same are told together, and so are CTAs whose warps are.
func stuckAt(stuck []emu.Stuck, threads uint32) []string {
	var groups []group
	ctas := make(map[group][]uint32)
	for len(stuck) > 0 {
		n := 1
		for n < len(stuck) && stuck[n].CTA == stuck[0].CTA {
			n++
		}
		for _, g := range groupsOf(stuck[:n], threads) {
			if ctas[g] == nil {
				groups = append(groups, g)
			}
			ctas[g] = append(ctas[g], stuck[0].CTA)
		}
		stuck = stuck[n:]
	}
	var lines []string
	for _, g := range groups {
		who := fmt.Sprintf("cta %s %s", ranges("", ctas[g]), g.warps)
		if g.lanes != math.MaxUint32 {
			who += fmt.Sprintf(" lanes %08x", g.lanes)
		}
		lines = append(lines, fmt.Sprintf("%s %s", who, g.place))
	}
	return lines
}

// groupsOf gathers the warps of one CTA.
func groupsOf(stuck []emu.Stuck, threads uint32) []group {
	var places []place
	warps := make(map[place][]uint32)
	for _, s := range stuck {
		p := place{s.Lanes, s.Op, s.Barrier, s.File, s.Line}
		if s.Lanes == lanesOf(s.Warp, threads) {
			p.lanes = math.MaxUint32
		}
		if p.barrier.Kind == trace.BarrierWarp {
			p.barrier.ID = 0 // every warp has its own
		}
		if !slices.Contains(places, p) {
			places = append(places, p)
		}
		warps[p] = append(warps[p], s.Warp)
	}
	var groups []group
	for _, p := range places {
		groups = append(groups, group{p, ranges("w", warps[p])})
	}
	return groups
}

// lanesOf is the lanes that a warp of a block has.
func lanesOf(warp, threads uint32) uint32 {
	if left := threads - 32*warp; left < 32 {
		return 1<<left - 1
	}
	return math.MaxUint32
}

// ranges writes ascending numbers: w0-w3 w7.
func ranges(unit string, numbers []uint32) string {
	var parts []string
	for len(numbers) > 0 {
		n := 1
		for n < len(numbers) && numbers[n] == numbers[n-1]+1 {
			n++
		}
		part := fmt.Sprintf("%s%d", unit, numbers[0])
		if n > 1 {
			part += fmt.Sprintf("-%s%d", unit, numbers[n-1])
		}
		parts = append(parts, part)
		numbers = numbers[n:]
	}
	return strings.Join(parts, " ")
}
