package sanitizer

import (
	"btrace/capture/cupti/cubin"
	"btrace/capture/ptx/probe"
	"btrace/trace"
)

// variants are what a patch can say of a place in the code. A place has as many
// sites as there are variants; native/shared.h has them in the same order.
var variants = [...]variant{
	{kind: trace.KindEnter},
	{kind: trace.KindExit},
	{kind: trace.KindBarSync, takes: probe.TakesBar, has: fields(trace.FieldBar, trace.FieldCount)},
	{kind: trace.KindBarDone, takes: probe.TakesBar, has: fields(trace.FieldBar)},
	{kind: trace.KindSyncwarp, takes: probe.TakesMask, has: fields(trace.FieldMask)},
	{kind: trace.KindSyncwarpDone, takes: probe.TakesMask, has: fields(trace.FieldMask)},
	{kind: trace.KindClusterArrive},
	{kind: trace.KindClusterWait},
	{kind: trace.KindClusterDone},
	{kind: trace.KindMbarInit},
	{kind: trace.KindMbarArrive},
	{kind: trace.KindMbarArriveDrop},
	{kind: trace.KindMbarArriveNoComplete},
	{kind: trace.KindMbarArriveDrop},
	{kind: trace.KindMbarInval},
	{kind: trace.KindMbarWait},
	{kind: trace.KindMbarDone},
	{kind: trace.KindMbarCopy},
	{kind: trace.KindMbarCpAsyncArrive},
}

// sitesOfPlace is how far the numbers of two places are apart.
const sitesOfPlace = 32

type variant struct {
	kind  trace.Kind
	takes probe.Takes
	has   trace.Fields
}

func fields(fs ...trace.Field) trace.Fields { return trace.Fields(0).With(fs...) }

// place is an instruction, or the whole module where the instruction is not
// known.
type place struct {
	function string
	text     string // the instruction, for marks
	row      cubin.Row
	known    bool // the function and the pc are
	pc       uint64
	sees     view
}

// addSites gives a place its sites.
func (m *Module) addSites(p place) {
	for i := range sitesOfPlace {
		s := probe.Site{Number: m.Next, Slots: 1, Function: p.function, Op: mark("unknown")}
		if i < len(variants) {
			v := variants[i]
			if v.takes&probe.TakesMask != 0 {
				s.Slots = 2
			}
			if p.sees[v.kind.Spec().Family] {
				s.Op, s.Takes = trace.Op{Kind: v.kind, Has: v.has}, v.takes
			} else {
				s.Op = mark(v.kind.Spec().Name, p.text)
			}
		}
		if p.known {
			s.Op.PC = p.pc
			s.Op.Has = s.Op.Has.With(trace.FieldPC)
		}
		if p.row.At.Line > 0 {
			s.Op.File, s.Op.Line = p.row.At.File, uint32(p.row.At.Line)
			s.Op.Has = s.Op.Has.With(trace.FieldFile, trace.FieldLine)
		}
		m.Sites = append(m.Sites, s)
		m.Next++
	}
}

// mark is what is recorded of a family that is not observed: what was done,
// and by which instruction.
func mark(name string, instruction ...string) trace.Op {
	for _, text := range instruction {
		if text != "" {
			name += ": " + text
		}
	}
	return trace.Op{Kind: trace.KindMark, Text: name, Has: fields(trace.FieldText)}
}
