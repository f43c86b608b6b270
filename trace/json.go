package trace

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string, with no more escapes than JSON
// demands.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				b = append(b, s[start:i]...)
				b = append(b, `\ufffd`...)
				start = i + 1
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

func appendUint(b []byte, n uint64) []byte { return strconv.AppendUint(b, n, 10) }

func appendBool(b []byte, v bool) []byte { return strconv.AppendBool(b, v) }

// appendHex appends n as a JSON string of that many hex digits.
func appendHex(b []byte, n uint64, digits int) []byte {
	b = append(b, '"')
	for i := digits - 1; i >= 0; i-- {
		b = append(b, hexDigits[n>>(4*i)&15])
	}
	return append(b, '"')
}

// appendJSONKey appends `"key":` and the comma before it, if one is due.
func appendJSONKey(b []byte, key string) []byte {
	if n := len(b); n > 0 && b[n-1] != '{' {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, key...)
	return append(b, '"', ':')
}

// jsonObject walks the members of a JSON object that is known to be valid.
type jsonObject struct{ b []byte }

// jsonMembers returns the members of a valid JSON value, and false if it is
// no object.
func jsonMembers(b []byte) (jsonObject, bool) {
	b = skipSpace(b)
	if len(b) == 0 || b[0] != '{' {
		return jsonObject{}, false
	}
	return jsonObject{b[1:]}, true
}

// next returns the next member: its key, as it stands between the quotes,
// and its value.
func (o *jsonObject) next() (key, value []byte, ok bool) {
	b := skipSpace(o.b)
	if len(b) > 0 && b[0] == ',' {
		b = skipSpace(b[1:])
	}
	if len(b) == 0 || b[0] != '"' {
		return nil, nil, false
	}
	n := stringLen(b)
	key, b = b[1:n-1], skipSpace(b[n:])
	b = skipSpace(b[1:]) // the colon
	n = valueLen(b)
	o.b = b[n:]
	return key, b[:n], true
}

func skipSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] == '\r' || b[0] == '\n') {
		b = b[1:]
	}
	return b
}

// stringLen is the length of the string that b begins with, quotes included.
func stringLen(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// valueLen is the length of the value that b begins with.
func valueLen(b []byte) int {
	switch {
	case len(b) == 0:
		return 0
	case b[0] == '"':
		return stringLen(b)
	case b[0] != '{' && b[0] != '[':
		for i, c := range b {
			switch c {
			case ',', '}', ']', ' ', '\t', '\r', '\n':
				return i
			}
		}
		return len(b)
	}
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i += stringLen(b[i:]) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(b)
}

// validExtra reports whether b is the inside of a JSON object.
func validExtra(b []byte) bool {
	if !utf8.Valid(b) || bytes.IndexByte(b, '\n') >= 0 {
		return false
	}
	return json.Valid(slices.Concat([]byte{'{'}, b, []byte{'}'}))
}
