package tui

import (
	"fmt"
	"math/big"
	"strings"

	"btrace/replay/report"
)

// deltaText is a duration with its sign.
func deltaText(ns int64) string {
	if ns >= 0 {
		return "+" + report.Time(ns)
	}
	return report.Time(ns)
}

// parseTime reads what a user types for a time: 12us, 3ms, 1.5 s, 107552 (ns).
// With a sign it is a distance from at.
func parseTime(s string, at int64) (int64, error) {
	bad := fmt.Errorf("%q is no time: type 12us, 3ms, 107552 (ns) or +2us from here", s)
	t := strings.ToLower(strings.ReplaceAll(s, " ", ""))
	relative := strings.HasPrefix(t, "+") || strings.HasPrefix(t, "-")
	per := int64(1)
	for _, u := range []struct {
		name string
		ns   int64
	}{{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"μs", 1e3}, {"ms", 1e6}, {"s", 1e9}} {
		if rest, ok := strings.CutSuffix(t, u.name); ok {
			t, per = rest, u.ns
			break
		}
	}
	if t == "" || len(t) > 40 || strings.Trim(t, "+-.0123456789") != "" {
		return 0, bad
	}
	x, ok := new(big.Rat).SetString(t)
	if !ok {
		return 0, bad
	}
	x.Mul(x, big.NewRat(per, 1))
	if relative {
		x.Add(x, new(big.Rat).SetInt64(at))
	}
	n := new(big.Int).Quo(x.Num(), x.Denom())
	if !n.IsInt64() {
		return 0, fmt.Errorf("%q lies beyond what a trace can hold", s)
	}
	return n.Int64(), nil
}

// tick is the distance between the marks of a time axis on which a label
// needs gap nanoseconds: the next of 1, 2, 5 times a power of ten.
func tick(gap uint64) uint64 {
	step := uint64(1)
	for {
		for _, m := range []uint64{1, 2, 5} {
			if step*m >= gap {
				return step * m
			}
		}
		if step > 1<<59 {
			return step
		}
		step *= 10
	}
}
