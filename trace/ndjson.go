package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The types of lines.
const (
	lineLaunch    = "launch"
	lineLaunchEnd = "launch_end"
	lineEvent     = "event"
	lineMark      = "mark"
	lineGap       = "gap"
)

// LineError is a line of the interchange form that cannot be taken.
type LineError struct {
	Line int // from 1
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns what is wrong with the line.
func (e *LineError) Unwrap() error { return e.Err }

// ValueError is a key whose value is not what it has to be.
type ValueError struct {
	Key  string
	Want string // what was expected
	Got  string // the value as it stands in the line, shortened
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("%q: want %s, got %s", e.Key, e.Want, e.Got)
}

func valueError(key, want string, value []byte) error {
	got := string(value[:min(len(value), 40)])
	if len(got) < len(value) {
		got += "..."
	}
	return &ValueError{key, want, strings.Map(graphic, got)}
}

// graphic leaves nothing of a line in an error that could drive a terminal.
func graphic(r rune) rune {
	if r == utf8.RuneError || !unicode.IsGraphic(r) {
		return '?'
	}
	return r
}

var errNotObject = errors.New("want a JSON object")

// member is a key of a line, as it stands between its quotes, and its value.
type member struct{ key, value []byte }

// parseLine checks that a line is a JSON object, and returns its type and
// its other members.
func parseLine(line []byte, to []member) (typ string, members []member, err error) {
	if !utf8.Valid(line) {
		return "", nil, errors.New("want UTF-8")
	}
	if !json.Valid(line) {
		return "", nil, fmt.Errorf("want a JSON object: %w", syntaxError(line))
	}
	object, ok := jsonMembers(line)
	if !ok {
		return "", nil, errNotObject
	}
	found := false
	for {
		key, value, ok := object.next()
		switch {
		case !ok && !found:
			return "", nil, errMissing("type")
		case !ok:
			return typ, to, nil
		case string(key) != "type":
			to = append(to, member{key, value})
		case found:
			return "", nil, errTwice("type")
		default:
			found = true
			if typ, err = parseType(value); err != nil {
				return "", nil, err
			}
		}
	}
}

// parseType reads a line's type; the usual one costs no memory.
func parseType(value []byte) (string, error) {
	if string(value) == `"event"` {
		return lineEvent, nil
	}
	return parseText("type", value)
}

// syntaxError says what is wrong with a line that is no JSON.
func syntaxError(line []byte) error {
	var v json.RawMessage
	if err := json.Unmarshal(line, &v); err != nil {
		return err
	}
	return errNotObject
}

func errTwice(key string) error   { return fmt.Errorf("%q: want it once", key) }
func errMissing(key string) error { return fmt.Errorf("%q: want it, and it is missing", key) }

// parseUint reads an integer from 0 to limit.
func parseUint(key string, value []byte, limit uint64) (uint64, error) {
	n, ok := uint64(0), len(value) > 0
	for _, c := range value {
		d := uint64(c - '0')
		if d > 9 || n > (math.MaxUint64-d)/10 {
			ok = false
			break
		}
		n = n*10 + d
	}
	if !ok || n > limit {
		return 0, valueError(key, "an integer from 0 to "+strconv.FormatUint(limit, 10), value)
	}
	return n, nil
}

// parseInt reads a signed integer. What is not written as one, such as 1e3
// or -0, would not come out again as it went in.
func parseInt(key string, value []byte) (int64, error) {
	want := "an integer from -2^63 to 2^63-1"
	if len(value) == 0 || value[0] != '-' {
		n, err := parseUint(key, value, math.MaxInt64)
		if err != nil {
			return 0, valueError(key, want, value)
		}
		return int64(n), nil
	}
	n, err := parseUint(key, value[1:], 1<<63)
	if err != nil || n == 0 {
		return 0, valueError(key, want, value)
	}
	return int64(-n), nil
}

// parseHex reads a string of hex digits.
func parseHex(key string, value []byte, digits int) (uint64, error) {
	n, ok := uint64(0), len(value) > 2 && len(value) <= digits+2 && value[0] == '"'
	if ok {
		for _, c := range value[1 : len(value)-1] {
			d := bytes.IndexByte([]byte(hexDigits), c|0x20)
			if d < 0 || c < '0' {
				ok = false
				break
			}
			n = n<<4 | uint64(d)
		}
	}
	if !ok {
		return 0, valueError(key, fmt.Sprintf("a string of %d hex digits", digits), value)
	}
	return n, nil
}

func parseBool(key string, value []byte) (bool, error) {
	switch string(value) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, valueError(key, "true or false", value)
}

// parseText reads a string.
func parseText(key string, value []byte) (string, error) {
	if len(value) < 2 || value[0] != '"' {
		return "", valueError(key, "a string", value)
	}
	inside := value[1 : len(value)-1]
	if bytes.IndexByte(inside, '\\') < 0 {
		return string(inside), nil
	}
	var s string
	if err := json.Unmarshal(value, &s); err != nil || loneSurrogate(inside) {
		return "", valueError(key, "a string of Unicode characters", value)
	}
	return s, nil
}

// loneSurrogate finds half of a character, which no text can hold.
func loneSurrogate(s []byte) bool {
	for i := 0; i+1 < len(s); i++ {
		if s[i] != '\\' {
			continue
		}
		i++
		if s[i] != 'u' {
			continue
		}
		u := escaped(s[i+1:])
		switch {
		case u >= 0xDC00 && u < 0xE000:
			return true
		case u >= 0xD800 && u < 0xDC00:
			if len(s) < i+11 || s[i+5] != '\\' || s[i+6] != 'u' {
				return true
			}
			if low := escaped(s[i+7:]); low < 0xDC00 || low >= 0xE000 {
				return true
			}
			i += 10
		}
	}
	return false
}

// escaped is the number of a \u escape.
func escaped(s []byte) uint64 {
	n, _ := strconv.ParseUint(string(s[:min(4, len(s))]), 16, 32)
	return n
}

// isZero tells values that an absent key has too. They are kept among the
// unknown keys, so that a line comes out as it went in.
func isZero(value []byte) bool {
	switch string(value) {
	case `""`, "0", "[0,0,0]":
		return true
	}
	return false
}

// extraBuilder collects unknown keys.
type extraBuilder struct{ b []byte }

func (x *extraBuilder) reset() { x.b = x.b[:0] }

func (x *extraBuilder) add(m member) {
	if len(x.b) > 0 {
		x.b = append(x.b, ',')
	}
	x.b = append(x.b, '"')
	x.b = append(x.b, m.key...)
	x.b = append(x.b, '"', ':')
	x.b = append(x.b, m.value...)
}
