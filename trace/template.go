package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// form is how the value of a template's operand is stored.
type form uint8

const (
	formUint   form = iota // a number
	formNeg                // a negative number, without its sign
	formText               // a number of a string
	formFalse              // no value follows
	formTrue               // no value follows
	formColumn             // the value changes from row to row: it has a column
)

const (
	impliedKey = "implied" // an operand's key for Op.Implied
	maxImplied = ImpliedLaunch | ImpliedTime | ImpliedSeq | ImpliedLanes
)

// templateEncoder writes the templates of a block: the strings that they
// use, then the operations. Kinds, operands and words are stored by name,
// because their numbers belong to one version of this library.
type templateEncoder struct {
	numbers map[string]uint64
	order   []string
	body    []byte
}

func (t *templateEncoder) text(s string) {
	n, ok := t.numbers[s]
	if !ok {
		n = uint64(len(t.order))
		t.numbers[s] = n
		t.order = append(t.order, s)
	}
	t.body = binary.AppendUvarint(t.body, n)
}

func (t *templateEncoder) operand(key string, f form) {
	t.text(key)
	t.body = append(t.body, byte(f))
}

func (t *templateEncoder) uint(key string, n uint64) {
	t.operand(key, formUint)
	t.body = binary.AppendUvarint(t.body, n)
}

// encode appends the templates ops[i] for i in which.
func (t *templateEncoder) encode(b []byte, ops []Op, which []uint32) []byte {
	if t.numbers == nil {
		t.numbers = map[string]uint64{}
	}
	clear(t.numbers)
	t.order, t.body = t.order[:0], t.body[:0]
	for _, i := range which {
		t.template(&ops[i])
	}
	b = binary.AppendUvarint(b, uint64(len(t.order)))
	for _, s := range t.order {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	b = binary.AppendUvarint(b, uint64(len(which)))
	return append(b, t.body...)
}

func (t *templateEncoder) template(o *Op) {
	if o.Kind == KindUnknown {
		t.text(o.Name)
	} else {
		t.text(kinds[o.Kind].Name)
	}
	t.body = le.AppendUint32(t.body, o.Lanes)
	n := bits.OnesCount32(uint32(o.Has))
	if o.Implied != 0 {
		n++
	}
	t.body = binary.AppendUvarint(t.body, uint64(n))
	e := Event{Op: *o}
	for i := range operands {
		s := &operands[i]
		if !o.Has.Has(s.Field) {
			continue
		}
		switch {
		case s.Row:
			t.operand(s.Field.String(), formColumn)
		case s.Type == TypeString:
			t.operand(s.Key, formText)
			t.text(o.text(s.Field))
		case s.Field == FieldRed:
			t.operand(s.Key, formText)
			t.text(o.Red.String())
		case s.Field == FieldSem:
			t.operand(s.Key, formText)
			t.text(o.Sem.String())
		case s.Type == TypeBool:
			t.operand(s.Key, formFalse+form(e.number(s.Field)))
		case s.Field == FieldBytes && o.Bytes < 0:
			t.operand(s.Key, formNeg)
			t.body = binary.AppendUvarint(t.body, -uint64(o.Bytes))
		default:
			t.uint(s.Key, e.number(s.Field))
		}
	}
	if o.Implied != 0 {
		t.uint(impliedKey, uint64(o.Implied))
	}
}

var errTemplate = errors.New("a malformed template")

// decodeTemplates reads templates into ops. The operands that this version
// does not know are returned for each template in the form of Event.Extra;
// the slice is nil if there are none.
func decodeTemplates(col []byte, ops []Op, limit int) ([]Op, []string, error) {
	ops = ops[:0]
	c := cursor{b: col}
	nstr := c.uvarint()
	if nstr > uint64(len(c.b)) {
		return ops, nil, errTemplate
	}
	table := make([]string, 0, min(nstr, 1024))
	all := string(col) // one allocation for all the strings
	for range nstr {
		n := c.uvarint()
		at := len(col) - len(c.b)
		if c.take(n); c.bad || !utf8.ValidString(all[at:at+int(n)]) {
			return ops, nil, errTemplate
		}
		table = append(table, all[at:at+int(n)])
	}
	text := func() string {
		if i := c.uvarint(); i < uint64(len(table)) {
			return table[i]
		}
		c.fail()
		return ""
	}
	n := c.uvarint()
	if n > uint64(min(limit, maxTemplates)) {
		return ops, nil, fmt.Errorf("%d templates for %d rows", n, limit)
	}
	ops = slices.Grow(ops, int(n))
	var extras []string
	budget := 2 * MaxLine // of the texts that are made here
	for i := range int(n) {
		var e Event
		name := text()
		if k, ok := kindByName[name]; ok {
			e.Kind = k
		} else {
			e.Name = name
		}
		e.Lanes = c.u32()
		extra := ""
		for range c.uvarint() {
			if c.bad {
				break
			}
			key := text()
			more, err := e.decodeOperand(&c, key, text)
			if err != nil {
				return ops, nil, err
			}
			extra = joinExtra(extra, more)
			if budget -= len(more); budget < 0 || len(extra) > 1<<12 {
				return ops, nil, errors.New("more unknown operands than a template may have")
			}
		}
		if c.bad {
			return ops, nil, errTemplate
		}
		if extra != "" {
			if extras == nil {
				extras = make([]string, n)
			}
			extras[i] = extra
		}
		ops = append(ops, e.Op)
	}
	return ops, extras, c.end()
}

// decodeOperand reads one operand's form and value. What this version does
// not know is returned as `"key":value`.
func (e *Event) decodeOperand(c *cursor, key string, text func() string) (extra string, err error) {
	var (
		n    uint64
		s    string
		form = form(c.byte())
	)
	switch form {
	case formUint, formNeg:
		n = c.uvarint()
	case formText:
		s = text()
	case formFalse, formColumn:
	case formTrue:
		n = 1
	default:
		return "", errTemplate
	}
	f, known := fieldByKey[key]
	switch {
	case key == impliedKey && form == formUint && n <= uint64(maxImplied):
		e.Implied = Implied(n)
		return "", nil
	case key == FieldExtra.String() && form == formColumn:
		f, known = FieldExtra, true
	}
	if known && e.Has.Has(f) {
		return "", errTemplate
	}
	if known && e.takeOperand(f, form, n, s) {
		return "", nil
	}
	if form == formColumn {
		return "", fmt.Errorf("the column %q is unknown", key)
	}
	b := appendString(nil, key)
	b = append(b, ':')
	switch form {
	case formUint:
		b = appendUint(b, n)
	case formNeg:
		b = appendUint(append(b, '-'), n)
	case formText:
		b = appendString(b, s)
	default:
		b = appendBool(b, n != 0)
	}
	return string(b), nil
}

// takeOperand sets a known operand and reports whether its value is one that
// the operand can have.
func (e *Event) takeOperand(f Field, form form, n uint64, s string) bool {
	spec := &specOf[f]
	if spec.Row != (form == formColumn) {
		return false
	}
	if spec.Row {
		e.Has |= 1 << f
		return true
	}
	switch spec.Type {
	case TypeString:
		shared := Fields(0).With(FieldText, FieldReason) // they share a place
		if form != formText || shared.Has(f) && e.Has&shared != 0 {
			return false
		}
		e.setText(f, s)
		return true
	case TypeEnum:
		if form != formText {
			return false
		}
		if f == FieldRed {
			r, ok := ParseRed(s)
			n = uint64(r)
			if !ok {
				return false
			}
		} else {
			m, ok := ParseSem(s)
			n = uint64(m)
			if !ok {
				return false
			}
		}
	case TypeBool:
		if form != formFalse && form != formTrue {
			return false
		}
	default:
		_, hi := bounds(f)
		switch {
		case form == formUint && n <= hi:
		case form == formNeg && f == FieldBytes && n <= 1<<63:
			n = -n
		default:
			return false
		}
	}
	e.setNumber(f, n)
	return true
}

// joinExtra joins two lists of keys and values.
func joinExtra(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	}
	return a + "," + b
}
