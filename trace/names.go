package trace

import "strconv"

// The tables of spec.go, looked up by number and by name. They are never
// changed.
var (
	kinds      = Kinds()
	operands   = Operands()
	kindByName = indexKinds()
	fieldByKey = indexFields()
	specOf     = specsByField()
)

func indexKinds() map[string]Kind {
	m := make(map[string]Kind, len(kinds))
	for _, s := range kinds {
		if s.Kind != KindUnknown {
			m[s.Name] = s.Kind
		}
	}
	return m
}

func indexFields() map[string]Field {
	m := make(map[string]Field, len(operands))
	for _, s := range operands {
		if s.Key != "" {
			m[s.Key] = s.Field
		}
	}
	return m
}

func specsByField() (m [NumFields]FieldSpec) {
	for _, s := range operands {
		m[s.Field] = s
	}
	return m
}

// String is the kind's name in the interchange form.
func (k Kind) String() string {
	switch {
	case k == KindUnknown:
		return "unknown"
	case int(k) < NumKinds:
		return kinds[k].Name
	}
	return "kind(" + strconv.Itoa(int(k)) + ")"
}

// ParseKind finds a kind by its name in the interchange form.
func ParseKind(s string) (Kind, bool) {
	k, ok := kindByName[s]
	return k, ok
}

// Spec returns the kind's row of the event table.
func (k Kind) Spec() KindSpec {
	if int(k) < NumKinds {
		return kinds[k]
	}
	return kinds[KindUnknown]
}

// String is the operand's key in the interchange form.
func (f Field) String() string {
	switch {
	case f == FieldExtra:
		return "extra"
	case int(f) < NumFields:
		return specOf[f].Key
	}
	return "field(" + strconv.Itoa(int(f)) + ")"
}

// Spec returns the operand's row of the operand table.
func (f Field) Spec() FieldSpec {
	if int(f) < NumFields {
		return specOf[f]
	}
	return FieldSpec{}
}

// ParseField finds an operand by its key in the interchange form.
func ParseField(key string) (Field, bool) {
	f, ok := fieldByKey[key]
	return f, ok
}

var (
	redNames = [...]string{"", "popc", "and", "or"}
	semNames = [...]string{"", "relaxed", "acquire", "release", "acq_rel"}
)

// String is the reduction's name: popc, and, or; empty for RedNone.
func (r Red) String() string { return word(redNames[:], int(r)) }

// ParseRed reads the form that String writes.
func ParseRed(s string) (Red, bool) {
	i := wordIndex(redNames[:], s)
	return Red(max(i, 0)), i > 0
}

// String is the ordering's name: relaxed, acquire, release, acq_rel; empty
// for SemNone.
func (s Sem) String() string { return word(semNames[:], int(s)) }

// ParseSem reads the form that String writes.
func ParseSem(s string) (Sem, bool) {
	i := wordIndex(semNames[:], s)
	return Sem(max(i, 0)), i > 0
}

func word(words []string, i int) string {
	if i < len(words) {
		return words[i]
	}
	return strconv.Itoa(i)
}

func wordIndex(words []string, s string) int {
	for i, w := range words {
		if w == s {
			return i
		}
	}
	return -1
}
