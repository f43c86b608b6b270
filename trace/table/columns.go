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
	// of is what all rows of an operation have in this column. Operations are
	// few and rows are many, so as little as can be is asked for by row.
	of func(o *trace.Op, l *trace.Launch) cell
	// numbers and text are the values of the rows, for the operations whose
	// cell varies.
	numbers func(b *trace.Block) numbers
	text    func(b *trace.Block, i int) string
}

// numbers is a column of a block: one of the slices.
type numbers struct {
	u32 []uint32
	u64 []uint64
	i64 []int64
}

// at is the number of row i, as its two's complement.
func (n *numbers) at(i int) uint64 {
	switch {
	case n.u32 != nil:
		return uint64(n.u32[i])
	case n.u64 != nil:
		return n.u64[i]
	}
	return uint64(n.i64[i])
}

// cell is what the rows of an operation have in a column.
type cell struct {
	has    bool // there is a value
	varies bool // it changes from row to row, and is not here
	n      uint64
	s      string
}

// everyRow is a number that every row has, and that belongs to the row.
func everyRow(f func(b *trace.Block) numbers) Column {
	return Column{numbers: f, of: func(*trace.Op, *trace.Launch) cell { return cell{has: true, varies: true} }}
}

// rowNumber is an operand that belongs to the row.
func rowNumber(t Type, field trace.Field, f func(b *trace.Block) numbers) Column {
	return Column{Type: t, numbers: f, of: func(o *trace.Op, _ *trace.Launch) cell {
		has := o.Has.Has(field)
		return cell{has: has, varies: has}
	}}
}

// opNumber is an operand that belongs to the operation, and is a number.
func opNumber(t Type, field trace.Field, f func(o *trace.Op) uint64) Column {
	return Column{Type: t, of: func(o *trace.Op, _ *trace.Launch) cell {
		if !o.Has.Has(field) {
			return cell{}
		}
		return cell{has: true, n: f(o)}
	}}
}

// opText is an operand that belongs to the operation, and is a text.
func opText(field trace.Field, f func(o *trace.Op) string) Column {
	return Column{Type: Text, of: func(o *trace.Op, _ *trace.Launch) cell {
		if !o.Has.Has(field) {
			return cell{}
		}
		return cell{has: true, s: f(o)}
	}}
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
	var cols []Column
	add := func(name string, t Type, doc string, c Column) {
		c.Name, c.Type, c.Doc = name, t, doc
		cols = append(cols, c)
	}
	add("launch", Uint32, "id of the launch",
		Column{of: func(_ *trace.Op, l *trace.Launch) cell { return cell{has: true, n: uint64(l.ID)} }})
	add("kernel", Text, "readable name of the kernel", Column{of: func(_ *trace.Op, l *trace.Launch) cell { return cell{has: true, s: l.Kernel} }})
	add("ns", Int64, "time, ns from the launch's anchor", everyRow(func(b *trace.Block) numbers { return numbers{i64: b.Time} }))
	add("cta", Uint32, "linear index of the CTA in the grid", everyRow(func(b *trace.Block) numbers { return numbers{u32: b.CTA} }))
	add("warp", Uint32, "index of the warp in the CTA", everyRow(func(b *trace.Block) numbers { return numbers{u32: b.Warp} }))
	add("seq", Uint32, "the warp's own event number", everyRow(func(b *trace.Block) numbers { return numbers{u32: b.Seq} }))
	add("lanes", Uint32, "the lanes that did it, one bit each",
		Column{of: func(o *trace.Op, _ *trace.Launch) cell { return cell{has: true, n: uint64(o.Lanes)} }})
	add("op", Text, "the operation, as in `btrace events`", Column{of: func(o *trace.Op, _ *trace.Launch) cell { return cell{has: true, s: opName(o)} }})
	add("barrier", Text, "the barrier: bar:N, mbar:0xADDR, cluster, group:NAME, warp:N", Column{Null: true, of: barrier, text: warpBarriers()})
	add("barrier_cta", Uint32, "the CTA that owns it, for bar and mbar: with launch and barrier its identity",
		Column{Null: true, of: owner, numbers: func(b *trace.Block) numbers { return numbers{u32: b.CTA} }})
	values := operandColumns()
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

// operandColumns are the values of the operands.
func operandColumns() map[trace.Field]Column {
	return map[trace.Field]Column{
		trace.FieldBar:      opNumber(Uint32, trace.FieldBar, func(o *trace.Op) uint64 { return uint64(o.Bar) }),
		trace.FieldAddr:     opNumber(Uint64, trace.FieldAddr, func(o *trace.Op) uint64 { return o.Addr }),
		trace.FieldGroup:    opText(trace.FieldGroup, func(o *trace.Op) string { return o.Group }),
		trace.FieldCount:    opNumber(Uint32, trace.FieldCount, func(o *trace.Op) uint64 { return uint64(o.Count) }),
		trace.FieldAligned:  opNumber(Bool, trace.FieldAligned, func(o *trace.Op) uint64 { return bit(o.Aligned) }),
		trace.FieldRed:      opText(trace.FieldRed, func(o *trace.Op) string { return o.Red.String() }),
		trace.FieldPred:     rowNumber(Uint32, trace.FieldPred, func(b *trace.Block) numbers { return numbers{u32: b.Pred} }),
		trace.FieldResult:   rowNumber(Uint32, trace.FieldResult, func(b *trace.Block) numbers { return numbers{u32: b.Result} }),
		trace.FieldBytes:    opNumber(Int64, trace.FieldBytes, func(o *trace.Op) uint64 { return uint64(o.Bytes) }),
		trace.FieldToken:    rowNumber(Uint64, trace.FieldToken, func(b *trace.Block) numbers { return numbers{u64: b.Token} }),
		trace.FieldPhase:    rowNumber(Uint64, trace.FieldPhase, func(b *trace.Block) numbers { return numbers{u64: b.Phase} }),
		trace.FieldParity:   opNumber(Uint32, trace.FieldParity, func(o *trace.Op) uint64 { return uint64(o.Parity) }),
		trace.FieldOwnerCTA: opNumber(Uint32, trace.FieldOwnerCTA, func(o *trace.Op) uint64 { return uint64(o.Owner) }),
		trace.FieldCTAMask:  opNumber(Uint32, trace.FieldCTAMask, func(o *trace.Op) uint64 { return uint64(o.CTAMask) }),
		trace.FieldMask:     opNumber(Uint32, trace.FieldMask, func(o *trace.Op) uint64 { return uint64(o.Mask) }),
		trace.FieldNoInc:    opNumber(Bool, trace.FieldNoInc, func(o *trace.Op) uint64 { return bit(o.NoInc) }),
		trace.FieldSem:      opText(trace.FieldSem, func(o *trace.Op) string { return o.Sem.String() }),
		trace.FieldText:     opText(trace.FieldText, func(o *trace.Op) string { return o.Text }),
		trace.FieldReason:   opText(trace.FieldReason, func(o *trace.Op) string { return o.Text }),
		trace.FieldLost:     opNumber(Uint64, trace.FieldLost, func(o *trace.Op) uint64 { return o.Lost }),
		trace.FieldFile:     {Type: Text, of: file},
		trace.FieldLine:     opNumber(Uint32, trace.FieldLine, func(o *trace.Op) uint64 { return uint64(o.Line) }),
		trace.FieldPC:       opNumber(Uint64, trace.FieldPC, func(o *trace.Op) uint64 { return o.PC }),
		trace.FieldClk:      rowNumber(Int64, trace.FieldClk, func(b *trace.Block) numbers { return numbers{i64: b.Clk} }),
		trace.FieldExtra: {Type: Text, text: func(b *trace.Block, i int) string { return "{" + b.Extra[i] + "}" },
			of: func(o *trace.Op, _ *trace.Launch) cell {
				has := o.Has.Has(trace.FieldExtra)
				return cell{has: has, varies: has}
			}},
	}
}

func opName(o *trace.Op) string {
	if o.Kind == trace.KindUnknown {
		return o.Name
	}
	return o.Kind.String()
}

// barrier is the barrier of an operation; that of a syncwarp has the name of
// the row's warp.
func barrier(o *trace.Op, _ *trace.Launch) cell {
	switch b := o.Barrier(0); b.Kind {
	case trace.BarrierNone:
		return cell{}
	case trace.BarrierWarp:
		return cell{has: true, varies: true}
	default:
		return cell{has: true, s: b.String()}
	}
}

// warpBarriers names the barriers of syncwarps: each once, as they are as many
// as warps and come back all the time.
func warpBarriers() func(b *trace.Block, i int) string {
	names := map[uint32]string{}
	return func(b *trace.Block, i int) string {
		w := b.Warp[i]
		if s, ok := names[w]; ok {
			return s
		}
		if len(names) == 1<<12 { // more than a CTA has
			clear(names)
		}
		s := b.Ops[b.Op[i]].Barrier(w).String()
		names[w] = s
		return s
	}
}

// owner is the CTA that owns an operation's barrier, if it is one of a CTA:
// that of the row, unless the operation is a remote one.
func owner(o *trace.Op, _ *trace.Launch) cell {
	switch k := o.Barrier(0).Kind; {
	case k != trace.BarrierNamed && k != trace.BarrierMbar:
		return cell{}
	case o.Has.Has(trace.FieldOwnerCTA):
		return cell{has: true, n: uint64(o.Owner)}
	}
	return cell{has: true, varies: true}
}

// file is the source file of an operation: the launch's program where it has
// none of its own.
func file(o *trace.Op, l *trace.Launch) cell {
	switch {
	case o.Has.Has(trace.FieldFile):
		return cell{has: true, s: o.File}
	case o.Has.Has(trace.FieldLine) && l.Program != "":
		return cell{has: true, s: l.Program}
	}
	return cell{}
}
