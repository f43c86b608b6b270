package interp_test

import (
	"fmt"
	"strings"

	"btrace/trace"
)

// String is a line for each event.
func (r recording) String() string {
	var lines []string
	for _, e := range r {
		lines = append(lines, describe(e))
	}
	return strings.Join(lines, "\n")
}

// of is the events of some operations.
func (r recording) of(kinds ...trace.Kind) (some recording) {
	for _, e := range r {
		for _, k := range kinds {
			if e.Kind == k {
				some = append(some, e)
			}
		}
	}
	return some
}

// all is the barrier operations: everything but the beginning and the end of
// warps.
func (r recording) all() (some recording) {
	for _, e := range r {
		if e.Kind != trace.KindEnter && e.Kind != trace.KindExit {
			some = append(some, e)
		}
	}
	return some
}

// describe is an event in words, with its line of PTX counted from the
// snippet's first.
func describe(e trace.Event) string {
	var b strings.Builder
	if e.CTA != 0 {
		fmt.Fprintf(&b, "c%d ", e.CTA)
	}
	fmt.Fprintf(&b, "w%d %x %s", e.Warp, e.Lanes, e.Kind)
	has := func(f trace.Field, format string, v any) {
		if e.Has.Has(f) {
			fmt.Fprintf(&b, " "+format, v)
		}
	}
	has(trace.FieldBar, "bar=%d", e.Bar)
	has(trace.FieldAddr, "addr=%#x", e.Addr)
	has(trace.FieldCount, "count=%d", e.Count)
	if e.Aligned {
		b.WriteString(" aligned")
	}
	has(trace.FieldRed, "%s", e.Red)
	has(trace.FieldPred, "pred=%x", e.Pred)
	has(trace.FieldResult, "result=%d", e.Result)
	has(trace.FieldBytes, "bytes=%d", e.Bytes)
	has(trace.FieldToken, "token=%x", e.Token)
	has(trace.FieldPhase, "phase=%d", e.Phase)
	has(trace.FieldParity, "parity=%d", e.Parity)
	has(trace.FieldOwnerCTA, "owner=%d", e.Owner)
	has(trace.FieldCTAMask, "ctas=%x", e.CTAMask)
	has(trace.FieldMask, "mask=%x", e.Mask)
	if e.NoInc {
		b.WriteString(" noinc")
	}
	has(trace.FieldSem, "%s", e.Sem)
	has(trace.FieldReason, "%s", e.Text)
	if e.Has.Has(trace.FieldFile) {
		fmt.Fprintf(&b, " %s:%d", e.File, e.Line)
	}
	if e.Has.Has(trace.FieldPC) && e.PC >= firstLine {
		fmt.Fprintf(&b, " @%d", e.PC-firstLine+1)
	}
	return b.String()
}
