package stats

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"btrace/replay/rules"
	"btrace/trace"
	"btrace/trace/plain"
)

// WriteText prints the statistics of a file for people, on 80 columns: at most
// top barriers and places, and of the barrier that costs most who is late.
func WriteText(p *plain.Printer, file string, rep *Report, top int) {
	for i := range rep.Launches {
		if i > 0 {
			p.Printf("\n")
		}
		writeLaunch(p, file, &rep.Launches[i], top)
	}
}

func writeLaunch(p *plain.Printer, file string, l *Launch, top int) {
	p.Printf("%s\n", head(fmt.Sprintf("%s: launch %d %s: %s", file, l.ID, l.Kernel, l.Outcome)))
	if l.Waits.Count+l.Waits.Open == 0 {
		p.Printf("nobody waits\n")
		return
	}
	if n := l.Waits.Count; n > 0 {
		p.Printf("%s of %s in %s take %s, %s of the warps' time\n",
			count(n, "wait"), count(l.Warps, "warp"), count(l.CTAs, "CTA"), Duration(l.Waits.Total), percent(l.Waiting, l.Active))
	}
	if n := l.Waits.Open; n > 0 {
		p.Printf("%s without end: the first began at %s\n", count(n, "wait"), Duration(l.Waits.Since))
	}
	if l.Partial > 0 {
		p.Printf("the events of %s cannot be put in order: only a part is counted\n", count(l.Partial, "CTA"))
	}
	writeBarriers(p, l, top)
	for i := range l.Barriers {
		if b := &l.Barriers[i]; b.Kind != trace.BarrierWarp && b.Kind != trace.BarrierNone {
			writeLate(p, l, b)
			break
		}
	}
	writeSites(p, l, top)
	writeStages(p, l, top)
}

func writeBarriers(p *plain.Printer, l *Launch, top int) {
	p.Printf("\n%-14s %7s %7s %7s %7s %7s  %-11s %s\n", "barrier", "waits", "total", "p50", "p99", "max", "share", "late")
	for i := range l.Barriers[:min(len(l.Barriers), top)] {
		b := &l.Barriers[i]
		p.Printf("%s\n", strings.TrimRight(fmt.Sprintf("%-14s %s  %s %s", cut(name(b.Barrier), 14), waits(&b.Waits), share(b.Waits.Total, l.Waits.Total, 6), b.latest(l)), " "))
	}
	more(p, len(l.Barriers), top)
}

// waits is the columns of a row that tell of its waits.
func waits(w *Waits) string {
	if w.Open > 0 {
		return fmt.Sprintf("%-39s", fmt.Sprintf("%7d %7s and %d without end", w.Count, Duration(w.Total), w.Open))
	}
	return fmt.Sprintf("%7d %7s %7s %7s %7s", w.Count, Duration(w.Total), Duration(w.Quantile(.5)), Duration(w.Quantile(.99)), Duration(w.Max))
}

// latest is who costs the waiters of a barrier most, and the share of all that
// was lost to latecomers.
func (b *Barrier) latest(l *Launch) string {
	total := b.Others.Total
	for _, x := range b.Late {
		total = sum(total, x.Total)
	}
	if total == 0 {
		return ""
	}
	return fmt.Sprintf("%s %s", b.Late[0].who(l, b.Barrier), percent(b.Late[0].Total, total))
}

// who names a latecomer.
func (x *Latecomer) who(l *Launch, b trace.Barrier) string {
	switch {
	case x.Bytes:
		return "bytes"
	case b.Kind == trace.BarrierGroup && b.Name == "grid":
		return fmt.Sprintf("cta%d/w%d", x.Rank, x.Warp)
	case l.ClusterSize() > 1 && (b.Kind == trace.BarrierCluster || b.Kind == trace.BarrierMbar || b.Kind == trace.BarrierGroup):
		return fmt.Sprintf("rank%d/w%d", x.Rank, x.Warp)
	}
	return "w" + strconv.FormatUint(uint64(x.Warp), 10)
}

// writeLate tells of one barrier who is late, and in which phases.
func writeLate(p *plain.Printer, l *Launch, b *Barrier) {
	what := "costs most"
	if b.Waits.Open > 0 {
		what = "never lets go"
	}
	line := fmt.Sprintf("%s %s: %s", cut(name(b.Barrier), 20), what, count(b.Phases, "phase"))
	if b.Spread.Max > 0 {
		line += fmt.Sprintf(", arrivals %s apart (p99 %s)", Duration(b.Spread.Quantile(.5)), Duration(b.Spread.Quantile(.99)))
	}
	p.Printf("\n%s\n", line)
	total := b.Others.Total
	late := 0 // how many cost any time
	for _, x := range b.Late {
		total = sum(total, x.Total)
		if x.Total > 0 {
			late++
		}
	}
	if late > 0 {
		p.Printf("  %-13s %8s %8s %7s\n", "last to arrive", "phases", "late by", "max")
	}
	for _, x := range b.Late[:min(late, 4)] {
		p.Printf("  %-14s %8d %8s %7s  %s\n", x.who(l, b.Barrier), x.Times, Duration(x.Total), Duration(x.Max), share(x.Total, total, 10))
	}
	if late > 4 {
		p.Printf("  and %d more: --format json\n", late-4)
	}
	for _, x := range b.Costly[:min(len(b.Costly), 3)] {
		p.Printf("%s\n", head(fmt.Sprintf("  phase %d of CTA %d: %s", x.Phase, x.CTA, strings.Join(x.words(l), ", "))))
	}
}

// words tell of a phase.
func (x *Phase) words(l *Launch) []string {
	var out []string
	if x.Open > 0 {
		out = append(out, count(uint64(x.Open), "wait")+" without end")
		if !x.Completed && x.Expected > 0 {
			out = append(out, fmt.Sprintf("%d of %d arrivals", x.Arrivals, x.Expected))
		}
	}
	switch {
	case x.Waits == 1:
		out = append(out, "1 wait "+Duration(x.Total))
	case x.Waits > 1:
		out = append(out, fmt.Sprintf("%s %s (max %s)", count(x.Waits, "wait"), Duration(x.Total), Duration(x.Max)))
	}
	switch {
	case x.Bytes:
		out = append(out, fmt.Sprintf("bytes last, late by %s", Duration(x.Late)))
	case x.Arrivals > 0:
		who := strings.Join(rules.Threads([]rules.Lanes{x.Last}, x.CTA, &l.Launch), " ")
		out = append(out, fmt.Sprintf("last %s", who))
		if x.Completed {
			out = append(out, fmt.Sprintf("late by %s", Duration(x.Late)))
		}
	}
	return out
}

func writeSites(p *plain.Printer, l *Launch, top int) {
	p.Printf("\n%-23s %7s %7s %7s %7s %7s  %s\n", "where", "waits", "total", "p50", "p99", "max", "share")
	for i := range l.Sites[:min(len(l.Sites), top)] {
		s := &l.Sites[i]
		p.Printf("%-23s %s  %s\n", cut(place(s), 23), waits(&s.Waits), share(s.Waits.Total, l.Waits.Total, 6))
	}
	more(p, len(l.Sites), top)
}

func writeStages(p *plain.Printer, l *Launch, top int) {
	full, of := l.Mean()
	if of == 0 {
		return
	}
	p.Printf("\nstages: %.1f of %d are full on average\n", full, of)
	for _, s := range l.Stages[:min(len(l.Stages), max(top, 8))] {
		p.Printf("  from %-13s to %-13s %7d fills  %s full\n", name(s.Full), name(s.Empty), s.Fills, share(s.Busy, s.Span, 15))
	}
	more(p, len(l.Stages), max(top, 8))
}

// more says how many rows are left out.
func more(p *plain.Printer, n, shown int) {
	if n > shown {
		p.Printf("  and %d more: --top %d\n", n-shown, n)
	}
}

// name is a barrier's, or what stands for those that were too many to tell
// apart.
func name(b trace.Barrier) string {
	switch {
	case b.Kind == trace.BarrierNone:
		return "others"
	case b == syncwarps:
		return "syncwarp"
	}
	return b.String()
}

// head shortens a line to 80 columns, in the middle.
func head(s string) string {
	r := []rune(plain.Text(s))
	if len(r) <= 80 {
		return string(r)
	}
	return string(r[:56]) + "…" + string(r[len(r)-23:])
}

// count is a number with its noun: "1 wait", "2 waits".
func count(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// place is where a site is.
func place(s *Site) string {
	switch {
	case s.Line > 0 && s.File != "":
		return s.File + ":" + strconv.FormatUint(uint64(s.Line), 10)
	case s.Line > 0:
		return "line " + strconv.FormatUint(uint64(s.Line), 10)
	case s.PC > 0:
		return "pc 0x" + strconv.FormatUint(s.PC, 16)
	}
	return "not recorded"
}

// cut shortens a text to its end.
func cut(s string, width int) string {
	r := []rune(plain.Text(s))
	if len(r) <= width {
		return string(r)
	}
	return "…" + string(r[len(r)-width+1:])
}

// share draws a part of a whole as a bar, with its percentage.
func share(part, whole int64, width int) string {
	n := 0
	if whole > 0 {
		n = int(math.Round(float64(part) / float64(whole) * float64(width)))
	}
	n = min(max(n, 0), width)
	return strings.Repeat("█", n) + strings.Repeat("░", width-n) + fmt.Sprintf(" %4s", percent(part, whole))
}

// percent is a part of a whole: "38%".
func percent(part, whole int64) string {
	if whole <= 0 {
		return "0%"
	}
	return fmt.Sprintf("%.0f%%", 100*float64(part)/float64(whole))
}

// Duration writes nanoseconds in three digits or a little more, in the unit
// that suits their size.
func Duration(ns int64) string {
	x, unit := float64(ns), "ns"
	switch abs := math.Abs(x); {
	case abs >= 999.5e6:
		x, unit = x/1e9, "s"
	case abs >= 999.5e3:
		x, unit = x/1e6, "ms"
	case abs >= 1e3:
		x, unit = x/1e3, "µs"
	default:
		return fmt.Sprintf("%d ns", ns)
	}
	digits := 2
	switch abs := math.Abs(x); {
	case abs >= 99.95:
		digits = 0
	case abs >= 9.995:
		digits = 1
	}
	return fmt.Sprintf("%.*f %s", digits, x, unit)
}
