package cupti

import (
	"fmt"
	"maps"
	"slices"

	"btrace/capture/ptx/probe"
)

// residentWarps is how many warps of a kernel with that many registers a
// thread an SM has registers for: they are handed out to warps in units of
// 256, in four equal parts of the SM.
func residentWarps(registers, ofSM int) int {
	if registers < 1 {
		registers = 1
	}
	unit := (registers + 7) &^ 7 * 32
	return 4 * (ofSM / 4 / unit)
}

// mostRegisters is the most registers a thread with which an SM has at least
// that many warps.
func mostRegisters(warps, ofSM int) int {
	n := 255
	for n > 16 && residentWarps(n, ofSM) < warps {
		n--
	}
	return n
}

// maxResidentWarps is the most warps that an SM runs at once.
const maxResidentWarps = 64

// maxCTAWarps is the warps of the largest CTA there can be.
const maxCTAWarps = 32

// warpsNeeded is how many warps an SM has to have registers for, so that every
// launch of an entry which was possible with so many registers still is: for
// CTAs of the size that the entry asks for, or else for the largest that the
// original could have. Where CTAs may wait for all others of the grid, as many
// have to be resident as before.
func warpsNeeded(e *probe.Entry, registers, ofSM int) int {
	had := residentWarps(registers, ofSM)
	if e.Grid {
		return min(had, maxResidentWarps)
	}
	n := min(had, maxCTAWarps)
	if t := max(e.ReqNTID.Size(), e.MaxNTID.Size()); t > 1 {
		n = min(n, int(t+31)/32)
	}
	return n
}

// Why instrumented code is not used.
const lostSetMaxText = "its instrumented code loses setmaxnreg"

func spillText(u Use) string {
	return fmt.Sprintf("its instrumented code spills registers (%d bytes stored, %d loaded)", u.SpillStores, u.SpillLoads)
}

// unfit says why instrumented code of an entry cannot be used; it is empty if
// it can. Before is nil where the original's figures are not known.
func unfit(e *probe.Entry, before *Use, now Use, ofSM int) string {
	var was Use
	if before != nil {
		was = *before
	}
	if now.spilled() > was.spilled() {
		return spillText(now)
	}
	if before == nil || before.Registers == 0 {
		return ""
	}
	if need := warpsNeeded(e, before.Registers, ofSM); residentWarps(now.Registers, ofSM) < need {
		what := "a CTA of the size that it can be launched with"
		if e.Grid {
			what = "as many CTAs at once as its grid-wide barrier may need"
		}
		return fmt.Sprintf("its instrumented code takes %d registers a thread, the original %d: too many for %s", now.Registers, before.Registers, what)
	}
	return ""
}

// sortedNames are the keys in order, so that what is told of them is the same
// each time.
func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
