package rules

import (
	"fmt"
	"math/bits"
	"strconv"

	"btrace/trace"
)

// Threads names sets of lanes the way that users see them: "w3" for the whole
// warp (as many lanes as the launch's block gives it), "w3:l0-7" or "w3:l5"
// for a part of it, and a prefix "cta2/" where they are not of the given CTA.
// A mask with holes gives several names. The result is never nil.
func Threads(lanes []Lanes, cta uint32, l *trace.Launch) []string {
	out := []string{}
	for _, s := range lanes {
		warp := InCTA(s.CTA, cta) + "w" + strconv.FormatUint(uint64(s.Warp), 10)
		if s.Mask == wholeWarp(s.Warp, l) {
			out = append(out, warp)
			continue
		}
		for m := s.Mask; m != 0; {
			first := bits.TrailingZeros32(m)
			n := bits.TrailingZeros32(^(m >> first))
			last := first + n - 1
			if n == 1 {
				out = append(out, fmt.Sprintf("%s:l%d", warp, first))
			} else {
				out = append(out, fmt.Sprintf("%s:l%d-%d", warp, first, last))
			}
			m &^= uint32((uint64(1)<<n - 1) << first)
		}
	}
	return out
}

// InCTA is the prefix of a name in one CTA as seen from another: "cta2/", or
// nothing where they are the same.
func InCTA(cta, of uint32) string {
	if cta == of {
		return ""
	}
	return fmt.Sprintf("cta%d/", cta)
}

// wholeWarp is the mask of the lanes that the warp has; the last warp of a
// CTA may have fewer than 32.
func wholeWarp(warp uint32, l *trace.Launch) uint32 {
	first := uint64(warp) * 32
	if n := l.Threads(); first < n && n-first < 32 {
		return uint32(1)<<(n-first) - 1
	}
	return ^uint32(0)
}
