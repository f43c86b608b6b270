package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// ImportNDJSON adds the lines of r, in the interchange form, to w. Unknown
// operations, keys and types of lines are kept and come out of ExportNDJSON
// again. What cannot be taken is a *LineError, which names the line and what
// was expected.
func ImportNDJSON(r io.Reader, w *Writer) error {
	im := &importer{w: w, clocks: map[uint32]*launchClock{}, texts: map[string]string{}}
	in := bufio.NewReaderSize(r, MaxLine+2)
	for n := 1; ; n++ {
		line, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return &LineError{n, fmt.Errorf("want a line of at most %d bytes", MaxLine)}
		case err != nil && !errors.Is(err, io.EOF):
			return fmt.Errorf("import line %d: %w", n, err)
		}
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			if ierr := im.line(text); ierr != nil {
				return &LineError{n, ierr}
			}
		}
		if err != nil {
			return nil
		}
	}
}

type importer struct {
	w       *Writer
	members []member
	extra   extraBuilder
	event   [1]Event
	texts   map[string]string // texts of operands, once each
	latest  *launchClock      // launch that began last
	clocks  map[uint32]*launchClock
}

// launchClock is where a launch's lines have come to, for the lines that do
// not say it.
type launchClock struct {
	id   uint32
	time int64
	rows []warpSeq // of that time
}

type warpSeq struct{ cta, warp, seq uint32 }

// line takes a line.
func (im *importer) line(line []byte) error {
	typ, members, err := parseLine(line, im.members[:0])
	if err != nil {
		return err
	}
	im.members = members
	switch typ {
	case lineEvent, lineMark, lineGap:
		return im.eventLine(typ)
	case lineLaunch:
		var l Launch
		if err := l.parse(members); err != nil {
			return err
		}
		if err := im.w.Begin(l); err != nil {
			return err
		}
		im.latest = &launchClock{id: l.ID}
		im.clocks[l.ID] = im.latest
		return nil
	case lineLaunchEnd:
		var l Launch
		if err := l.parseEnd(members); err != nil {
			return err
		}
		return im.w.End(l.ID, l.Outcome, l.EndExtra)
	}
	return im.w.AddLine(string(line))
}

// The keys that every event has, as bits.
const (
	keyLaunch = 1 << iota
	keyTime
	keyCTA
	keyWarp
	keySeq
	keyLanes
	keyOp
)

var headKeys = [...]string{"launch", "ns", "cta", "warp", "seq", "lanes", "op"}

// eventLine takes an event, a mark or a gap.
func (im *importer) eventLine(typ string) error {
	seen, err := im.parse(typ)
	if err != nil {
		return err
	}
	e := &im.event[0]
	if err := im.implied(e, seen); err != nil {
		return err
	}
	if err := im.w.Write(im.event[:]); err != nil {
		return err
	}
	im.advance(e)
	return nil
}

// parse makes the members of a line an event, and says which of the keys
// that every event has they were.
func (im *importer) parse(typ string) (seen int, err error) {
	e := &im.event[0]
	*e = Event{}
	im.extra.reset()
	if seen, err = im.headOf(e, typ); err != nil {
		return 0, err
	}
	for _, m := range im.members {
		if m.key != nil {
			if err := im.operand(e, m); err != nil {
				return 0, err
			}
		}
	}
	if len(im.extra.b) > 0 {
		e.Extra = im.text(im.extra.b)
		e.Has |= 1 << FieldExtra
	}
	return seen, nil
}

// headOf takes the keys that every event has out of the members, and sets
// the kind.
func (im *importer) headOf(e *Event, typ string) (seen int, err error) {
	switch typ {
	case lineMark:
		e.Kind = KindMark
	case lineGap:
		e.Kind = KindGap
	}
	for i := range im.members {
		m := &im.members[i]
		var n uint64
		k := 0
		switch string(m.key) {
		case "launch":
			k = keyLaunch
			n, err = parseUint("launch", m.value, math.MaxUint32)
			e.Launch = uint32(n)
		case "ns":
			k = keyTime
			e.Time, err = parseInt("ns", m.value)
		case "cta":
			k = keyCTA
			n, err = parseUint("cta", m.value, math.MaxUint32)
			e.CTA = uint32(n)
		case "warp":
			k = keyWarp
			n, err = parseUint("warp", m.value, math.MaxUint32)
			e.Warp = uint32(n)
		case "seq":
			k = keySeq
			n, err = parseUint("seq", m.value, math.MaxUint32)
			e.Seq = uint32(n)
		case "lanes":
			k = keyLanes
			n, err = parseHex("lanes", m.value, 8)
			e.Lanes = uint32(n)
		case "op":
			if typ != lineEvent {
				continue
			}
			k = keyOp
			err = im.op(e, m.value)
		default:
			continue
		}
		if err != nil {
			return 0, err
		}
		if seen&k != 0 {
			return 0, errTwice(string(m.key))
		}
		seen |= k
		m.key = nil
	}
	need := keyLaunch | keyTime | keyCTA | keyWarp | keySeq | keyLanes | keyOp
	switch typ {
	case lineMark:
		need = keyTime | keyCTA | keyWarp
	case lineGap:
		need = keyCTA | keyWarp
	}
	for i, key := range headKeys {
		if need&^seen&(1<<i) != 0 {
			return 0, errMissing(key)
		}
	}
	return seen, nil
}

// op sets the kind of operation.
func (im *importer) op(e *Event, value []byte) error {
	if len(value) < 2 || value[0] != '"' {
		return valueError("op", "a string", value)
	}
	if k, ok := kindByName[string(value[1:len(value)-1])]; ok {
		e.Kind = k
		return nil
	}
	name, err := parseText("op", value)
	if err != nil {
		return err
	}
	if k, ok := ParseKind(name); ok {
		e.Kind = k
		return nil
	}
	e.Name = im.text([]byte(name))
	return nil
}

// operand takes an operand, or keeps it as it is if this version does not
// know it. Of an unknown operation only the site is known.
func (im *importer) operand(e *Event, m member) error {
	f, known := fieldByKey[string(m.key)]
	if known && e.Kind == KindUnknown {
		switch f {
		case FieldFile, FieldLine, FieldPC, FieldClk:
		default:
			known = false
		}
	}
	if !known {
		im.extra.add(m)
		return nil
	}
	if e.Has.Has(f) {
		return errTwice(string(m.key))
	}
	return im.value(e, &specOf[f], m.value)
}

func (im *importer) value(e *Event, s *FieldSpec, value []byte) (err error) {
	var n uint64
	switch s.Type {
	case TypeBool:
		var v bool
		v, err = parseBool(s.Key, value)
		n = bit(v)
	case TypeHex32:
		n, err = parseHex(s.Key, value, 8)
	case TypeHex64:
		n, err = parseHex(s.Key, value, 16)
	case TypeString:
		return im.textValue(e, s, value)
	case TypeEnum:
		n, err = parseWord(s, value)
	default:
		n, err = parseNumber(e.Kind, s, value)
	}
	if err == nil {
		e.setNumber(s.Field, n)
	}
	return err
}

func (im *importer) textValue(e *Event, s *FieldSpec, value []byte) error {
	both := Fields(0).With(FieldText, FieldReason)
	if both.Has(s.Field) && e.Has&both != 0 {
		return errors.New(`want "text" or "reason", and there are both`)
	}
	if len(value) >= 2 && value[0] == '"' && bytes.IndexByte(value, '\\') < 0 {
		e.setText(s.Field, im.text(value[1:len(value)-1]))
		return nil
	}
	text, err := parseText(s.Key, value)
	if err == nil {
		e.setText(s.Field, text)
	}
	return err
}

// text returns b as a string; the texts of events repeat.
func (im *importer) text(b []byte) string {
	if s, ok := im.texts[string(b)]; ok {
		return s
	}
	if len(im.texts) >= 1024 || len(b) > 1024 {
		clear(im.texts)
	}
	s := string(b)
	im.texts[s] = s
	return s
}

func parseWord(s *FieldSpec, value []byte) (uint64, error) {
	words := semNames[1:]
	if s.Field == FieldRed {
		words = redNames[1:]
	}
	for i, w := range words {
		if len(value) == len(w)+2 && string(value[1:len(value)-1]) == w {
			return uint64(i) + 1, nil
		}
	}
	return 0, valueError(s.Key, "one of "+strings.Join(words, ", "), value)
}

// parseNumber reads an integer operand. The answer of a test is true or
// false; recorders that write 1 or 0 are understood.
func parseNumber(k Kind, s *FieldSpec, value []byte) (uint64, error) {
	switch {
	case s.Field == FieldBytes, s.Field == FieldClk:
		n, err := parseInt(s.Key, value)
		return uint64(n), err
	case s.Field == FieldResult && k == KindMbarTest:
		switch string(value) {
		case "true", "1":
			return 1, nil
		case "false", "0":
			return 0, nil
		}
		return 0, valueError(s.Key, "true or false", value)
	}
	_, limit := bounds(s.Field)
	return parseUint(s.Key, value, limit)
}

// implied gives a mark or a gap what its line leaves out: it is of the
// launch that began last, and stands where the launch's lines have come to.
func (im *importer) implied(e *Event, seen int) error {
	if e.Kind != KindMark && e.Kind != KindGap {
		return nil
	}
	if seen&keyLaunch == 0 {
		if im.latest == nil {
			return errMissing("launch")
		}
		e.Launch = im.latest.id
		e.Implied |= ImpliedLaunch
	}
	c := im.clocks[e.Launch]
	if c == nil {
		return nil // the writer refuses it
	}
	if seen&keyTime == 0 {
		e.Time = c.time
		e.Implied |= ImpliedTime
	}
	if seen&keySeq == 0 {
		e.Implied |= ImpliedSeq
		for i := len(c.rows) - 1; i >= 0 && e.Time == c.time; i-- {
			if r := c.rows[i]; r.cta == e.CTA && r.warp == e.Warp {
				e.Seq = r.seq
				break
			}
		}
	}
	if seen&keyLanes == 0 {
		e.Implied |= ImpliedLanes
	}
	return nil
}

// advance notes where the launch's lines have come to.
func (im *importer) advance(e *Event) {
	c := im.clocks[e.Launch]
	if e.Time != c.time || len(c.rows) == 4096 {
		c.time, c.rows = e.Time, c.rows[:0]
	}
	c.rows = append(c.rows, warpSeq{e.CTA, e.Warp, e.Seq})
}
