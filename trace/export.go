package trace

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
)

// AppendNDJSON appends the line of an event in the interchange form, without
// a newline. A mark or a gap has a line type of its own.
func AppendNDJSON(b []byte, e *Event) []byte {
	switch e.Kind {
	case KindMark:
		b = append(b, `{"type":"mark"`...)
	case KindGap:
		b = append(b, `{"type":"gap"`...)
	default:
		b = append(b, `{"type":"event"`...)
	}
	if e.Implied&ImpliedLaunch == 0 {
		b = append(b, `,"launch":`...)
		b = appendUint(b, uint64(e.Launch))
	}
	if e.Implied&ImpliedTime == 0 {
		b = append(b, `,"ns":`...)
		b = strconv.AppendInt(b, e.Time, 10)
	}
	if e.Has.Has(FieldClk) {
		b = append(b, `,"clk":`...)
		b = strconv.AppendInt(b, e.Clk, 10)
	}
	b = append(b, `,"cta":`...)
	b = appendUint(b, uint64(e.CTA))
	b = append(b, `,"warp":`...)
	b = appendUint(b, uint64(e.Warp))
	if e.Implied&ImpliedSeq == 0 {
		b = append(b, `,"seq":`...)
		b = appendUint(b, uint64(e.Seq))
	}
	if e.Implied&ImpliedLanes == 0 {
		b = append(b, `,"lanes":`...)
		b = appendHex(b, uint64(e.Lanes), 8)
	}
	if e.Kind != KindMark && e.Kind != KindGap {
		b = append(b, `,"op":`...)
		b = appendString(b, e.storedName())
	}
	site := Fields(0).With(FieldFile, FieldLine, FieldPC)
	b = e.appendOperands(b, e.Has&^site)
	if e.Kind == KindUnknown {
		// What an unknown operation has comes before the site, as it does in
		// the operations that are known.
		b = e.appendExtraKeys(b)
		return append(e.appendOperands(b, e.Has&site), '}')
	}
	b = e.appendOperands(b, e.Has&site)
	return append(e.appendExtraKeys(b), '}')
}

func (e *Event) appendExtraKeys(b []byte) []byte {
	if e.Has.Has(FieldExtra) && e.Extra != "" {
		b = append(b, ',')
		b = append(b, e.Extra...)
	}
	return b
}

// appendOperands appends the operands in has, in the order of the table.
func (e *Event) appendOperands(b []byte, has Fields) []byte {
	for i := range operands {
		s := &operands[i]
		if !has.Has(s.Field) || s.Field == FieldClk || s.Field == FieldExtra {
			continue
		}
		b = append(b, ',', '"')
		b = append(b, s.Key...)
		b = append(b, '"', ':')
		b = e.appendValue(b, s)
	}
	return b
}

func (e *Event) appendValue(b []byte, s *FieldSpec) []byte {
	switch s.Type {
	case TypeBool:
		return appendBool(b, e.number(s.Field) != 0)
	case TypeHex32:
		return appendHex(b, e.number(s.Field), 8)
	case TypeHex64:
		return appendHex(b, e.number(s.Field), 16)
	case TypeString:
		return appendString(b, e.text(s.Field))
	case TypeEnum:
		if s.Field == FieldRed {
			return appendString(b, e.Red.String())
		}
		return appendString(b, e.Sem.String())
	}
	switch {
	case s.Field == FieldBytes:
		return strconv.AppendInt(b, e.Bytes, 10)
	case s.Field == FieldResult && e.Kind == KindMbarTest && e.Result <= 1:
		return appendBool(b, e.Result != 0)
	}
	return appendUint(b, e.number(s.Field))
}

// ExportNDJSON writes the rows that q selects in the interchange form:
// launch after launch, each with its launch line, its rows in stored order,
// and its launch_end line if it ended. Lines of unknown types are written at
// their places, unless q selects rows. When ctx is done it stops, with its
// error; what was written until then is a part.
func ExportNDJSON(ctx context.Context, w io.Writer, r *Reader, q Query) error {
	x := &exporter{ctx: ctx, r: r, out: bufio.NewWriterSize(w, 64<<10), q: q, whole: newFilter(q).all}
	if err := x.export(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

type exporter struct {
	ctx   context.Context
	r     *Reader
	out   *bufio.Writer
	q     Query
	whole bool
	line  []byte
	kept  keptLines
}

func (x *exporter) export() error {
	x.kept = keptLines{r: x.r, f: x.r.frameReader()}
	defer x.r.release(x.kept.f)
	if err := x.keep(0, noLaunch, ^uint64(0)); err != nil {
		return err
	}
	for i := range x.r.launches {
		l := &x.r.launches[i]
		if x.q.Launch != nil && *x.q.Launch != l.ID {
			continue
		}
		if err := x.ctx.Err(); err != nil {
			return err
		}
		if err := x.launch(l); err != nil {
			return err
		}
	}
	return x.out.Flush()
}

func (x *exporter) launch(l *Launch) error {
	x.line = append(appendLaunch(x.line[:0], l), '\n')
	if _, err := x.out.Write(x.line); err != nil {
		return err
	}
	q := x.q
	q.Launch = &l.ID
	var e Event
	for b, err := range x.r.Blocks(x.ctx, q) {
		if err != nil {
			return err
		}
		for i := range b.Len() {
			if err := x.keep(l.ID, 0, b.First+uint64(i)); err != nil {
				return err
			}
			b.Event(i, &e)
			x.line = append(AppendNDJSON(x.line[:0], &e), '\n')
			if _, err := x.out.Write(x.line); err != nil {
				return err
			}
		}
	}
	if err := x.keep(l.ID, 0, ^uint64(0)); err != nil {
		return err
	}
	if l.Ended {
		x.line = append(appendLaunchEnd(x.line[:0], l), '\n')
		if _, err := x.out.Write(x.line); err != nil {
			return err
		}
	}
	return x.keep(l.ID, afterEnd, ^uint64(0))
}

// keep writes the kept lines of a launch that stand before its row of that
// number.
func (x *exporter) keep(launch uint32, flags uint8, row uint64) error {
	if !x.whole || len(x.r.lines) == 0 {
		return nil
	}
	for {
		if err := x.ctx.Err(); err != nil {
			return err
		}
		line, ok, err := x.kept.next(launch, flags, row)
		if !ok || err != nil {
			return err
		}
		x.line = append(append(x.line[:0], line...), '\n')
		if _, err := x.out.Write(x.line); err != nil {
			return err
		}
	}
}
