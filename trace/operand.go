package trace

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// number returns an integer operand. A signed one is in two's complement.
func (e *Event) number(f Field) uint64 {
	switch f {
	case FieldBar:
		return uint64(e.Bar)
	case FieldAddr:
		return e.Addr
	case FieldCount:
		return uint64(e.Count)
	case FieldAligned:
		return bit(e.Aligned)
	case FieldRed:
		return uint64(e.Red)
	case FieldPred:
		return uint64(e.Pred)
	case FieldResult:
		return uint64(e.Result)
	case FieldBytes:
		return uint64(e.Bytes)
	case FieldToken:
		return e.Token
	case FieldPhase:
		return e.Phase
	case FieldParity:
		return uint64(e.Parity)
	case FieldOwnerCTA:
		return uint64(e.Owner)
	case FieldCTAMask:
		return uint64(e.CTAMask)
	case FieldMask:
		return uint64(e.Mask)
	case FieldNoInc:
		return bit(e.NoInc)
	case FieldSem:
		return uint64(e.Sem)
	case FieldLost:
		return e.Lost
	case FieldLine:
		return uint64(e.Line)
	case FieldPC:
		return e.PC
	case FieldClk:
		return uint64(e.Clk)
	}
	return 0
}

// setNumber sets an integer operand; the value is in the operand's range.
func (e *Event) setNumber(f Field, n uint64) {
	switch f {
	case FieldBar:
		e.Bar = uint32(n)
	case FieldAddr:
		e.Addr = n
	case FieldCount:
		e.Count = uint32(n)
	case FieldAligned:
		e.Aligned = n != 0
	case FieldRed:
		e.Red = Red(n)
	case FieldPred:
		e.Pred = uint32(n)
	case FieldResult:
		e.Result = uint32(n)
	case FieldBytes:
		e.Bytes = int64(n)
	case FieldToken:
		e.Token = n
	case FieldPhase:
		e.Phase = n
	case FieldParity:
		e.Parity = uint8(n)
	case FieldOwnerCTA:
		e.Owner = uint32(n)
	case FieldCTAMask:
		e.CTAMask = uint32(n)
	case FieldMask:
		e.Mask = uint32(n)
	case FieldNoInc:
		e.NoInc = n != 0
	case FieldSem:
		e.Sem = Sem(n)
	case FieldLost:
		e.Lost = n
	case FieldLine:
		e.Line = uint32(n)
	case FieldPC:
		e.PC = n
	case FieldClk:
		e.Clk = int64(n)
	}
	e.Has |= 1 << f
}

// text returns a text operand of the template. FieldReason shares its place
// with FieldText: no kind has both.
func (o *Op) text(f Field) string {
	switch f {
	case FieldGroup:
		return o.Group
	case FieldFile:
		return o.File
	case FieldText, FieldReason:
		return o.Text
	}
	return ""
}

func (o *Op) setText(f Field, s string) {
	switch f {
	case FieldGroup:
		o.Group = s
	case FieldFile:
		o.File = s
	case FieldText, FieldReason:
		o.Text = s
	}
	o.Has |= 1 << f
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// bounds is the range of an integer operand. Only signed ones go below 0.
func bounds(f Field) (lo int64, hi uint64) {
	switch f {
	case FieldBytes, FieldClk:
		return math.MinInt64, math.MaxInt64
	case FieldAddr, FieldPhase, FieldToken, FieldLost, FieldPC:
		return 0, math.MaxUint64
	case FieldParity:
		return 0, 1
	}
	return 0, math.MaxUint32
}

// check reports what is wrong with an operation by the event table, so that
// what a writer takes is what a reader and an importer accept.
func (o *Op) check() error {
	if int(o.Kind) >= NumKinds {
		return fmt.Errorf("%v is no kind of event", o.Kind)
	}
	spec := &kinds[o.Kind]
	if o.Kind == KindUnknown {
		if k, known := ParseKind(o.Name); known {
			return fmt.Errorf("an unknown operation is called %v, which is known", k)
		}
	}
	for _, f := range spec.Required {
		if !o.Has.Has(f) {
			return fmt.Errorf("%s has no %q", spec.Name, f)
		}
	}
	switch {
	case o.Has>>NumFields != 0:
		return fmt.Errorf("%v has operands that are none", o.Kind)
	case o.Has.Has(FieldText) && o.Has.Has(FieldReason):
		return fmt.Errorf("%v has both a text and a reason", o.Kind)
	case o.Has.Has(FieldParity) && o.Parity > 1:
		return fmt.Errorf("parity: want 0 or 1, got %d", o.Parity)
	case o.Has.Has(FieldRed) && (o.Red == RedNone || int(o.Red) >= len(redNames)):
		return fmt.Errorf("red: want popc, and or or, got %d", o.Red)
	case o.Has.Has(FieldSem) && (o.Sem == SemNone || int(o.Sem) >= len(semNames)):
		return fmt.Errorf("sem: want relaxed, acquire, release or acq_rel, got %d", o.Sem)
	case o.Implied != 0 && o.Kind != KindMark && o.Kind != KindGap:
		return fmt.Errorf("%v: only marks and gaps may imply keys", o.Kind)
	case len(o.Group)+len(o.File)+len(o.Text)+len(o.Name) > MaxLine:
		return fmt.Errorf("%v: its texts are longer than %d bytes", o.Kind, MaxLine)
	}
	for _, s := range [...]string{o.Group, o.File, o.Text, o.Name} {
		if !utf8.ValidString(s) {
			return fmt.Errorf("%v: the text %q is not UTF-8", o.Kind, s)
		}
	}
	return nil
}
