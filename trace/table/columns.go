// Package table writes the events of a trace as a table, for tools that know
// tables and nothing of barriers: as CSV and as Parquet. A row is a warp event.
//
// It is a way out, not a form to keep traces in: what a launch is beyond its
// name is not in it, and nothing reads it back.
package table

import (
	"btrace/trace"
)

// Type is the type of a column's values.
type Type uint8

// The types.
const (
	Int64 Type = iota
	Uint32
	Uint64
	Bool
	Text
)

func (t Type) String() string {
	return [...]string{"int64", "uint32", "uint64", "bool", "text"}[t]
}

// Column is a column of the table.
type Column struct {
	Name string
	Type Type
	// Null is true for a column that not every row has a value in.
	Null bool
	Doc  string
	// of is the value of a row; ok is false where it has none. A number is its
	// two's complement.
	of func(e *trace.Event, l *trace.Launch) (n uint64, s string, ok bool)
}

// always is a number that every row has.
func always(f func(e *trace.Event) uint64) func(*trace.Event, *trace.Launch) (uint64, string, bool) {
	return func(e *trace.Event, _ *trace.Launch) (uint64, string, bool) { return f(e), "", true }
}

// number is an operand that is a number.
func number(field trace.Field, f func(e *trace.Event) uint64) func(*trace.Event, *trace.Launch) (uint64, string, bool) {
	return func(e *trace.Event, _ *trace.Launch) (uint64, string, bool) {
		if !e.Has.Has(field) {
			return 0, "", false
		}
		return f(e), "", true
	}
}

// text is an operand that is a text.
func text(field trace.Field, f func(e *trace.Event) string) func(*trace.Event, *trace.Launch) (uint64, string, bool) {
	return func(e *trace.Event, _ *trace.Launch) (uint64, string, bool) {
		if !e.Has.Has(field) {
			return 0, "", false
		}
		return 0, f(e), true
	}
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// Columns returns the columns, in order. Those of the operands have the names
// and the meaning of the operand table (trace.Operands).
func Columns() []Column {
	cols := []Column{
		{"launch", Uint32, false, "id of the launch", always(func(e *trace.Event) uint64 { return uint64(e.Launch) })},
		{"kernel", Text, false, "readable name of the kernel", func(_ *trace.Event, l *trace.Launch) (uint64, string, bool) { return 0, l.Kernel, true }},
		{"ns", Int64, false, "time, ns from the launch's anchor", always(func(e *trace.Event) uint64 { return uint64(e.Time) })},
		{"cta", Uint32, false, "linear index of the CTA in the grid", always(func(e *trace.Event) uint64 { return uint64(e.CTA) })},
		{"warp", Uint32, false, "index of the warp in the CTA", always(func(e *trace.Event) uint64 { return uint64(e.Warp) })},
		{"seq", Uint32, false, "the warp's own event number", always(func(e *trace.Event) uint64 { return uint64(e.Seq) })},
		{"lanes", Uint32, false, "the lanes that did it, one bit each", always(func(e *trace.Event) uint64 { return uint64(e.Lanes) })},
		{"op", Text, false, "the operation, as in `btrace events`", func(e *trace.Event, _ *trace.Launch) (uint64, string, bool) { return 0, opName(e), true }},
		{"barrier", Text, true, "the barrier: bar:N, mbar:0xADDR, cluster, group:NAME, warp:N", barrier},
		{"barrier_cta", Uint32, true, "the CTA that owns it, for bar and mbar: with launch and barrier its identity", owner},
	}
	values := map[trace.Field]Column{
		trace.FieldBar:      {Type: Uint32, of: number(trace.FieldBar, func(e *trace.Event) uint64 { return uint64(e.Bar) })},
		trace.FieldAddr:     {Type: Uint64, of: number(trace.FieldAddr, func(e *trace.Event) uint64 { return e.Addr })},
		trace.FieldGroup:    {Type: Text, of: text(trace.FieldGroup, func(e *trace.Event) string { return e.Group })},
		trace.FieldCount:    {Type: Uint32, of: number(trace.FieldCount, func(e *trace.Event) uint64 { return uint64(e.Count) })},
		trace.FieldAligned:  {Type: Bool, of: number(trace.FieldAligned, func(e *trace.Event) uint64 { return bit(e.Aligned) })},
		trace.FieldRed:      {Type: Text, of: text(trace.FieldRed, func(e *trace.Event) string { return e.Red.String() })},
		trace.FieldPred:     {Type: Uint32, of: number(trace.FieldPred, func(e *trace.Event) uint64 { return uint64(e.Pred) })},
		trace.FieldResult:   {Type: Uint32, of: number(trace.FieldResult, func(e *trace.Event) uint64 { return uint64(e.Result) })},
		trace.FieldBytes:    {Type: Int64, of: number(trace.FieldBytes, func(e *trace.Event) uint64 { return uint64(e.Bytes) })},
		trace.FieldToken:    {Type: Uint64, of: number(trace.FieldToken, func(e *trace.Event) uint64 { return e.Token })},
		trace.FieldPhase:    {Type: Uint64, of: number(trace.FieldPhase, func(e *trace.Event) uint64 { return e.Phase })},
		trace.FieldParity:   {Type: Uint32, of: number(trace.FieldParity, func(e *trace.Event) uint64 { return uint64(e.Parity) })},
		trace.FieldOwnerCTA: {Type: Uint32, of: number(trace.FieldOwnerCTA, func(e *trace.Event) uint64 { return uint64(e.Owner) })},
		trace.FieldCTAMask:  {Type: Uint32, of: number(trace.FieldCTAMask, func(e *trace.Event) uint64 { return uint64(e.CTAMask) })},
		trace.FieldMask:     {Type: Uint32, of: number(trace.FieldMask, func(e *trace.Event) uint64 { return uint64(e.Mask) })},
		trace.FieldNoInc:    {Type: Bool, of: number(trace.FieldNoInc, func(e *trace.Event) uint64 { return bit(e.NoInc) })},
		trace.FieldSem:      {Type: Text, of: text(trace.FieldSem, func(e *trace.Event) string { return e.Sem.String() })},
		trace.FieldText:     {Type: Text, of: text(trace.FieldText, func(e *trace.Event) string { return e.Text })},
		trace.FieldReason:   {Type: Text, of: text(trace.FieldReason, func(e *trace.Event) string { return e.Text })},
		trace.FieldLost:     {Type: Uint64, of: number(trace.FieldLost, func(e *trace.Event) uint64 { return e.Lost })},
		trace.FieldFile:     {Type: Text, of: file},
		trace.FieldLine:     {Type: Uint32, of: number(trace.FieldLine, func(e *trace.Event) uint64 { return uint64(e.Line) })},
		trace.FieldPC:       {Type: Uint64, of: number(trace.FieldPC, func(e *trace.Event) uint64 { return e.PC })},
		trace.FieldClk:      {Type: Int64, of: number(trace.FieldClk, func(e *trace.Event) uint64 { return uint64(e.Clk) })},
		trace.FieldExtra:    {Type: Text, of: text(trace.FieldExtra, func(e *trace.Event) string { return "{" + e.Extra + "}" })},
	}
	for _, o := range trace.Operands() {
		c := values[o.Field]
		c.Name, c.Null, c.Doc = o.Key, true, o.Doc
		switch o.Field {
		case trace.FieldFile:
			c.Doc = "source file, where a line is known"
		case trace.FieldExtra:
			c.Name, c.Doc = "extra", "what this version does not know, as a JSON object"
		}
		cols = append(cols, c)
	}
	return cols
}

func opName(e *trace.Event) string {
	if e.Kind == trace.KindUnknown {
		return e.Name
	}
	return e.Kind.String()
}

func barrier(e *trace.Event, _ *trace.Launch) (uint64, string, bool) {
	b := e.Barrier(e.Warp)
	if b.Kind == trace.BarrierNone {
		return 0, "", false
	}
	return 0, b.String(), true
}

func owner(e *trace.Event, _ *trace.Launch) (uint64, string, bool) {
	switch e.Barrier(e.Warp).Kind {
	case trace.BarrierNamed, trace.BarrierMbar:
		return uint64(e.OwnerCTA(e.CTA)), "", true
	}
	return 0, "", false
}

// file is the source file of an event: the launch's program where it has none
// of its own.
func file(e *trace.Event, l *trace.Launch) (uint64, string, bool) {
	switch {
	case e.Has.Has(trace.FieldFile):
		return 0, e.File, true
	case e.Has.Has(trace.FieldLine) && l.Program != "":
		return 0, l.Program, true
	}
	return 0, "", false
}
