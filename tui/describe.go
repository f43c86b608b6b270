package tui

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"btrace/replay"
	"btrace/replay/report"
	"btrace/replay/rules"
	"btrace/trace"
)

// laneRanges writes a mask as 0-15,17.
func laneRanges(mask uint32) string {
	var b strings.Builder
	for mask != 0 {
		from := bits.TrailingZeros32(mask)
		n := bits.TrailingZeros32(^(mask >> from))
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(from))
		if n > 1 {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(from + n - 1))
		}
		if from+n >= 32 {
			break
		}
		mask &= ^uint32(0) << (from + n)
	}
	return b.String()
}

// mostLanes bounds how many warps a list of lanes names.
const mostLanes = 24

// lanesText names sets of lanes as findings do: w3, w4:l0-15, with ctaC/
// before those of another CTA than cta.
func (m *model) lanesText(all []replay.Lanes, cta uint32) string {
	more := ""
	if n := len(all) - mostLanes; n > 0 {
		all, more = all[:mostLanes], fmt.Sprintf(" and %d more warps", n)
	}
	launch := m.current()
	return strings.Join(rules.Threads(all, cta, &launch), " ") + more
}

// countLanes is how many lanes some sets hold.
func countLanes(all []replay.Lanes) int {
	n := 0
	for _, l := range all {
		n += bits.OnesCount32(l.Mask)
	}
	return n
}

func laneCount(all []replay.Lanes) string {
	if n := countLanes(all); n != 1 {
		return strconv.Itoa(n) + " lanes"
	}
	return "1 lane"
}

// barrierText names a barrier and its phase: bar:1 #3, with its CTA if that
// is not cta.
func barrierText(b replay.BarrierRef, cta uint32) string {
	s := b.Barrier.String() + " #" + strconv.FormatUint(b.Phase, 10)
	return rules.InCTA(b.CTA, cta) + s
}

// siteText names a place in the source, in the launch's program where no file
// is named; empty if it is not known.
func (m *model) siteText(l replay.Location) string {
	s := l.File
	if s == "" && l.Line > 0 {
		s = m.current().Program
	}
	if l.Line > 0 {
		if s == "" {
			s = "line "
		} else {
			s += ":"
		}
		s += strconv.FormatUint(uint64(l.Line), 10)
	}
	switch {
	case l.PC == 0:
	case m.current().Recorder != "ptx":
		s = strings.TrimSpace(fmt.Sprintf("%s pc 0x%x", s, l.PC))
	case l.File != "" && l.File != m.current().Program: // beside the line of the source that it was made of
		s = strings.TrimSpace(fmt.Sprintf("%s ptx:%d", s, l.PC))
	}
	return s
}

// strandText says what lanes are doing.
func (m *model) strandText(s replay.Strand) string {
	if s.Activity == replay.Absent {
		return "absent: not begun"
	}
	text := s.Activity.String()
	if s.On.Barrier.Kind != trace.BarrierNone {
		text += " " + s.On.Barrier.String() + " #" + strconv.FormatUint(s.On.Phase, 10)
	}
	text += " since " + report.Time(s.Since)
	if at := m.siteText(s.Location); at != "" {
		text += " at " + at
	}
	return text
}

// operandsText writes the operands of an event as key=value, in the order and
// with the keys of the interchange form.
func operandsText(ev *trace.Event) string {
	var parts []string
	for _, f := range trace.Operands() {
		if !ev.Has.Has(f.Field) || f.Key == "" {
			continue
		}
		if v := operand(ev, f.Field); v != "" {
			parts = append(parts, f.Key+"="+v)
		}
	}
	return strings.Join(parts, " ")
}

// operand is the value of an operand; empty for those that are shown
// elsewhere.
func operand(ev *trace.Event, f trace.Field) string {
	num := func(n uint64) string { return strconv.FormatUint(n, 10) }
	switch f {
	case trace.FieldBar:
		return num(uint64(ev.Bar))
	case trace.FieldAddr:
		return "0x" + strconv.FormatUint(ev.Addr, 16)
	case trace.FieldGroup:
		return ev.Group
	case trace.FieldCount:
		return num(uint64(ev.Count))
	case trace.FieldAligned:
		return strconv.FormatBool(ev.Aligned)
	case trace.FieldRed:
		return ev.Red.String()
	case trace.FieldPred:
		return fmt.Sprintf("%08x", ev.Pred)
	case trace.FieldBytes:
		return strconv.FormatInt(ev.Bytes, 10)
	case trace.FieldToken:
		return fmt.Sprintf("%016x", ev.Token)
	case trace.FieldPhase:
		return num(ev.Phase)
	case trace.FieldParity:
		return num(uint64(ev.Parity))
	case trace.FieldOwnerCTA:
		return num(uint64(ev.Owner))
	case trace.FieldCTAMask:
		return num(uint64(ev.CTAMask))
	case trace.FieldMask:
		return fmt.Sprintf("%08x", ev.Mask)
	case trace.FieldNoInc:
		return strconv.FormatBool(ev.NoInc)
	case trace.FieldSem:
		return ev.Sem.String()
	case trace.FieldResult:
		return num(uint64(ev.Result))
	case trace.FieldText, trace.FieldReason:
		return ev.Text
	case trace.FieldLost:
		return num(ev.Lost)
	case trace.FieldClk:
		return strconv.FormatInt(ev.Clk, 10)
	}
	return ""
}

// opName is the name of an event's operation.
func opName(ev *trace.Event) string {
	if ev.Kind == trace.KindUnknown {
		return ev.Name
	}
	return ev.Kind.String()
}

// eventSite is where in the source an event is: in its own file, else in the
// launch's program.
func (m *model) eventSite(ev *trace.Event) replay.Location {
	l := replay.Location{File: ev.File}
	if l.File == "" {
		l.File = m.current().Program
	}
	if ev.Has.Has(trace.FieldLine) {
		l.Line = ev.Line
	}
	if ev.Has.Has(trace.FieldPC) {
		l.PC = ev.PC
	}
	return l
}
