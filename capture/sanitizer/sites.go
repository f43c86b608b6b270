package sanitizer

import (
	"strings"

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
	{kind: trace.KindMbarInit, takes: mbarrier | probe.TakesCount, has: fields(trace.FieldAddr, trace.FieldCount)},
	{kind: trace.KindMbarArrive, takes: mbarrier | probe.TakesCount, has: fields(trace.FieldAddr, trace.FieldCount)},
	{kind: trace.KindMbarArriveDrop, takes: mbarrier | probe.TakesCount, has: fields(trace.FieldAddr, trace.FieldCount)},
	{kind: trace.KindMbarArriveNoComplete, takes: mbarrier | probe.TakesCount, has: fields(trace.FieldAddr, trace.FieldCount)},
	{kind: trace.KindMbarArriveDrop, takes: mbarrier | probe.TakesCount, has: fields(trace.FieldAddr, trace.FieldCount)},
	{kind: trace.KindMbarInval, takes: mbarrier, has: fields(trace.FieldAddr)},
	{kind: trace.KindMbarWait, takes: mbarrier | probe.TakesParity, has: fields(trace.FieldAddr, trace.FieldParity)},
	{kind: trace.KindMbarDone, takes: mbarrier | probe.TakesParity, has: fields(trace.FieldAddr, trace.FieldParity)},
	{kind: trace.KindMbarDone, takes: mbarrier | probe.TakesParity | probe.TakesBegan, has: fields(trace.FieldAddr, trace.FieldParity)},
	{kind: trace.KindMbarTest, takes: mbarrier | probe.TakesParity, has: fields(trace.FieldAddr, trace.FieldParity, trace.FieldResult)},
	{kind: trace.KindSyncwarp, takes: probe.TakesMask, has: fields(trace.FieldMask)},
	{kind: trace.KindSyncwarpDone, takes: probe.TakesMask, has: fields(trace.FieldMask)},
	{kind: trace.KindClusterArrive},
	{kind: trace.KindClusterWait},
	{kind: trace.KindClusterDone},
	{kind: trace.KindMbarCopy, takes: mbarrier | probe.TakesBytes, has: fields(trace.FieldAddr, trace.FieldBytes)},
	{kind: trace.KindMbarCopy, takes: mbarrier | probe.TakesBytes | probe.TakesCTAMask, has: fields(trace.FieldAddr, trace.FieldBytes, trace.FieldCTAMask)},
	{kind: trace.KindMbarCpAsyncArrive, takes: mbarrier, has: fields(trace.FieldAddr)},
	{kind: trace.KindMark, takes: probe.TakesCount, text: "mbar.init, of a count that could not be read"},
}

// variantArrive is the variant that depends on the instruction.
const variantArrive = 5

// sitesOfPlace is how far the numbers of two places are apart.
const sitesOfPlace = 32

// mbarrier is what every record of one takes. An address without a rank is one
// of the own CTA.
const mbarrier = probe.TakesAddr | probe.TakesLocal

type variant struct {
	kind  trace.Kind
	takes probe.Takes
	has   trace.Fields
	text  string // of a mark
}

func fields(fs ...trace.Field) trace.Fields { return trace.Fields(0).With(fs...) }

// slots of a record: one more where values come with it.
func (v variant) slots() int {
	if v.takes&(probe.TakesCount|probe.TakesBytes|probe.TakesMask|probe.TakesCTAMask|probe.TakesBegan) != 0 {
		return 2
	}
	return 1
}

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

// sites are those of a place.
func (m *Module) sites(p place) {
	for i := range sitesOfPlace {
		s := probe.Site{Number: m.Next, Slots: 1, Function: p.function, Op: trace.Op{Kind: trace.KindMark, Text: "unknown", Has: fields(trace.FieldText)}}
		if i < len(variants) {
			m.site(&s, i, p)
		}
		m.Sites = append(m.Sites, s)
		m.Next++
	}
}

func (m *Module) site(s *probe.Site, i int, p place) {
	v := variants[i]
	s.Slots = v.slots()
	s.Takes = v.takes
	s.Op = trace.Op{Kind: v.kind, Has: v.has}
	if i == variantArrive {
		s.Op.Kind, s.Op.Has, s.Takes = arrival(p.text, v)
	}
	if v.kind == trace.KindMark || !p.sees[v.kind.Spec().Family] && v.kind.Spec().Family != trace.FamilyOther {
		text := v.text
		if text == "" {
			text = v.kind.Spec().Name
			if p.text != "" {
				text += ": " + p.text
			}
		}
		s.Op, s.Takes = trace.Op{Kind: trace.KindMark, Text: text, Has: fields(trace.FieldText)}, 0
	}
	if !p.known {
		return
	}
	s.Op.PC = p.pc
	s.Op.Has = s.Op.Has.With(trace.FieldPC)
	if p.row.At.Line > 0 {
		s.Op.File, s.Op.Line = p.row.At.File, uint32(p.row.At.Line)
		s.Op.Has = s.Op.Has.With(trace.FieldFile, trace.FieldLine)
	}
}

// arrival tells by the instruction whether bytes are announced: SYNCS.ARRIVE
// ends in A and the arrivals (0, 1, R for a register), then T and the bytes (0
// or R). How many bytes stands in a register.
func arrival(text string, v variant) (trace.Kind, trace.Fields, probe.Takes) {
	for word := range strings.FieldsSeq(text) {
		for part := range strings.SplitSeq(word, ".") {
			if len(part) != 4 || part[0] != 'A' || part[2] != 'T' || part[3] == '0' {
				continue
			}
			if part[1] == '0' {
				return trace.KindMbarExpectTx, fields(trace.FieldAddr), mbarrier
			}
			return trace.KindMbarArriveExpectTx, v.has, v.takes
		}
	}
	return v.kind, v.has, v.takes
}
