package diff

import (
	"encoding/binary"
	"math/bits"
	"path"
	"strings"

	"github.com/cespare/xxhash/v2"

	"btrace/trace"
)

// compared are the operands of a template in which operations may differ. The
// site is compared apart: a line where one is known, else the program counter.
var compared = [...]trace.Field{
	trace.FieldBar, trace.FieldAddr, trace.FieldGroup, trace.FieldCount, trace.FieldAligned, trace.FieldRed, trace.FieldBytes, trace.FieldParity,
	trace.FieldOwnerCTA, trace.FieldCTAMask, trace.FieldMask, trace.FieldNoInc, trace.FieldSem, trace.FieldReason,
}

// skipped reports whether an operation is none of the program's own: a mark,
// or one that depends on who came when.
func skipped(e *trace.Op) bool {
	switch e.Kind {
	case trace.KindMark, trace.KindGap, trace.KindCompletionBegin, trace.KindCompletionEnd:
		return true
	}
	return false
}

// failed reports whether a row is a test that did not succeed.
func failed(o *trace.Op, result uint32) bool {
	return o.Kind == trace.KindMbarTest && (!o.Has.Has(trace.FieldResult) || result == 0)
}

// value is an operand as a number or a text.
func value(o *trace.Op, f trace.Field) (uint64, string) {
	switch f {
	case trace.FieldBar:
		return uint64(o.Bar), ""
	case trace.FieldAddr:
		return o.Addr, ""
	case trace.FieldGroup:
		return 0, o.Group
	case trace.FieldCount:
		return uint64(o.Count), ""
	case trace.FieldAligned:
		return bit(o.Aligned), ""
	case trace.FieldRed:
		return uint64(o.Red), ""
	case trace.FieldBytes:
		return uint64(o.Bytes), ""
	case trace.FieldParity:
		return uint64(o.Parity), ""
	case trace.FieldOwnerCTA:
		return uint64(o.Owner), ""
	case trace.FieldCTAMask:
		return uint64(o.CTAMask), ""
	case trace.FieldMask:
		return uint64(o.Mask), ""
	case trace.FieldNoInc:
		return bit(o.NoInc), ""
	case trace.FieldSem:
		return uint64(o.Sem), ""
	case trace.FieldReason:
		return 0, o.Text
	}
	return 0, ""
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// file is a source file without its folder: the same kernel may lie in
// another checkout.
func file(name string) string { return path.Base(strings.ReplaceAll(name, `\`, "/")) }

// template is the hash of what a template says of an operation.
func template(buf []byte, o *trace.Op) (uint64, []byte) {
	buf = append(buf[:0], byte(o.Kind))
	text := func(s string) {
		buf = binary.AppendUvarint(buf, uint64(len(s)))
		buf = append(buf, s...)
	}
	text(o.Name)
	for _, f := range compared {
		if o.Has.Has(f) {
			n, s := value(o, f)
			buf = binary.AppendUvarint(append(buf, byte(f)), n)
			text(s)
		}
	}
	switch {
	case o.Has.Has(trace.FieldLine):
		buf = binary.AppendUvarint(append(buf, byte(trace.FieldLine)), uint64(o.Line))
		if o.Has.Has(trace.FieldFile) {
			text(file(o.File))
		}
	case o.Has.Has(trace.FieldPC):
		buf = binary.AppendUvarint(append(buf, byte(trace.FieldPC)), o.PC)
	}
	return xxhash.Sum64(buf), buf
}

// mix adds a number to a hash.
func mix(h, x uint64) uint64 {
	hi, lo := bits.Mul64(h^0x9e3779b97f4a7c15, x^0xd6e8feb86659fd93)
	return hi ^ lo ^ bits.RotateLeft64(h, 23)
}

// compareOps says in what two operations of a lane differ.
func compareOps(a, b *trace.Event) (Kind, []trace.Field) {
	if a.Kind != b.Kind || a.Name != b.Name {
		return Operation, nil
	}
	var fields, outcome []trace.Field
	for _, f := range compared {
		x, s := value(&a.Op, f)
		y, t := value(&b.Op, f)
		if a.Has.Has(f) != b.Has.Has(f) || a.Has.Has(f) && (x != y || s != t) {
			fields = append(fields, f)
		}
	}
	line := a.Has.Has(trace.FieldLine)
	switch {
	case line != b.Has.Has(trace.FieldLine):
		fields = append(fields, trace.FieldLine)
	case line:
		if file(a.File) != file(b.File) {
			fields = append(fields, trace.FieldFile)
		}
		if a.Line != b.Line {
			fields = append(fields, trace.FieldLine)
		}
	case a.Has.Has(trace.FieldPC) != b.Has.Has(trace.FieldPC) || a.PC != b.PC:
		fields = append(fields, trace.FieldPC)
	}
	// Which lanes' predicates are true shows in every lane by itself.
	if a.Has.Has(trace.FieldPred) != b.Has.Has(trace.FieldPred) || a.Pred != b.Pred {
		outcome = append(outcome, trace.FieldPred)
	}
	if a.Has.Has(trace.FieldPhase) != b.Has.Has(trace.FieldPhase) || a.Phase != b.Phase {
		outcome = append(outcome, trace.FieldPhase)
	}
	if a.Has.Has(trace.FieldResult) != b.Has.Has(trace.FieldResult) || a.Result != b.Result {
		outcome = append(outcome, trace.FieldResult)
	}
	if len(fields) > 0 {
		return Operation, append(fields, outcome...)
	}
	return Outcome, outcome
}
