package trace

import (
	"bytes"
	"errors"
	"math"
)

// parseLaunch reads a launch line. Its keys are those that appendLaunch
// writes; others are kept.
func parseLaunch(line []byte, l *Launch) error {
	typ, members, err := parseLine(line, nil)
	if err != nil {
		return err
	}
	if typ != lineLaunch {
		return errors.New("want a launch line")
	}
	return l.parse(members)
}

func (l *Launch) parse(members []member) error {
	var extra extraBuilder
	seen := map[string]bool{}
	for _, m := range members {
		key := string(m.key)
		known, err := l.launchKey(key, m.value)
		if err != nil {
			return err
		}
		if !known {
			extra.add(m)
			continue
		}
		if seen[key] {
			return errTwice(key)
		}
		seen[key] = true
	}
	if !seen["id"] {
		return errMissing("id")
	}
	l.Extra = string(extra.b)
	return nil
}

// launchKey takes a key that it knows.
func (l *Launch) launchKey(key string, value []byte) (known bool, err error) {
	switch key {
	case "id":
		n, err := parseUint(key, value, math.MaxUint32)
		l.ID = uint32(n)
		return true, err
	}
	if isZero(value) {
		if err := new(Launch).launchValue(key, value); err != nil && err != errUnknownKey {
			return false, err
		}
		return false, nil
	}
	err = l.launchValue(key, value)
	if err == errUnknownKey {
		return false, nil
	}
	return true, err
}

var errUnknownKey = errors.New("a key of another version")

func (l *Launch) launchValue(key string, value []byte) (err error) {
	for _, f := range l.texts() {
		if f.key == key {
			*f.to, err = parseText(key, value)
			return err
		}
	}
	for _, f := range l.dims() {
		if f.key == key {
			return parseDim(key, value, f.to)
		}
	}
	switch key {
	case "shared":
		n, err := parseUint(key, value, math.MaxUint32)
		l.Shared = uint32(n)
		return err
	case "observes":
		return parseTexts(key, value, &l.Observes)
	}
	return errUnknownKey
}

// parseDim reads [x,y,z].
func parseDim(key string, value []byte, d *Dim) error {
	list, ok := jsonList(value)
	if !ok || len(list) != len(d) {
		return valueError(key, "[x,y,z]", value)
	}
	for i, v := range list {
		n, err := parseUint(key, v, math.MaxUint32)
		if err != nil {
			return err
		}
		d[i] = uint32(n)
	}
	return nil
}

func parseTexts(key string, value []byte, to *[]string) error {
	list, ok := jsonList(value)
	if !ok {
		return valueError(key, "a list of strings", value)
	}
	*to = []string{}
	for _, v := range list {
		s, err := parseText(key, v)
		if err != nil {
			return valueError(key, "a list of strings", value)
		}
		*to = append(*to, s)
	}
	return nil
}

// jsonList returns the elements of a valid JSON array.
func jsonList(b []byte) (list [][]byte, ok bool) {
	if len(b) == 0 || b[0] != '[' {
		return nil, false
	}
	b = skipSpace(b[1:])
	for len(b) > 0 && b[0] != ']' {
		n := valueLen(b)
		list = append(list, b[:n])
		b = bytes.TrimPrefix(skipSpace(b[n:]), []byte{','})
		b = skipSpace(b)
	}
	return list, true
}

// parseLaunchEnd reads a launch_end line.
func parseLaunchEnd(line []byte, l *Launch) error {
	typ, members, err := parseLine(line, nil)
	if err != nil {
		return err
	}
	if typ != lineLaunchEnd {
		return errors.New("want a launch_end line")
	}
	return l.parseEnd(members)
}

func (l *Launch) parseEnd(members []member) error {
	var extra extraBuilder
	seen := map[string]bool{}
	for _, m := range members {
		key := string(m.key)
		switch key {
		case "launch":
			n, err := parseUint(key, m.value, math.MaxUint32)
			if err != nil {
				return err
			}
			l.ID = uint32(n)
		case "outcome":
			s, err := parseText(key, m.value)
			if err != nil {
				return err
			}
			l.Outcome = Outcome(s)
		default:
			extra.add(m)
			continue
		}
		if seen[key] {
			return errTwice(key)
		}
		seen[key] = true
	}
	for _, k := range []string{"launch", "outcome"} {
		if !seen[k] {
			return errMissing(k)
		}
	}
	l.EndExtra, l.Ended = string(extra.b), true
	return nil
}
