package emu

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/bits"
	"slices"
	"strings"
)

// scriptPrefix begins the schedules that are the choices of a launch.
//
// Then comes, in base64 (RFC 4648, "Base 64 Encoding with URL and Filename
// Safe Alphabet", without padding), a DEFLATE stream, and in it for every
// cluster that had a choice its number, the length of what follows, and the
// choices. A choice is who goes on: a warp, counted through the cluster, or
// an agent, which have the numbers after the warps in the order in which they
// came to be. All numbers are unsigned varints:
//
//	0, n           the same choice again, n times
//	2+2a           a, with all lanes that can go on
//	3+2a, lane     a, with those lanes that are at the same as this one
const scriptPrefix = "replay:"

// maxScript bounds a script, before it is compressed.
const maxScript = 4 << 20

// script is the choices of a launch.
type script struct {
	units map[uint64][]byte // by machine
	size  int
	full  bool // there were more than it takes
}

func isScript(s string) bool { return strings.HasPrefix(s, scriptPrefix) }

// parseScript reads what text wrote. What choices there are is looked at only
// when they are made.
func parseScript(text string) (script, error) {
	s := script{units: make(map[uint64][]byte)}
	bad := func(what string) (script, error) {
		return script{}, fmt.Errorf("a schedule to replay that is %s: give what Result.Schedule gave", what)
	}
	packed, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(text, scriptPrefix))
	if err != nil {
		return bad("not base64")
	}
	b, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), maxScript+1))
	switch {
	case err != nil:
		return bad("cut short or damaged")
	case len(b) > maxScript:
		return bad("too long")
	}
	for len(b) > 0 {
		unit, n := binary.Uvarint(b)
		if n <= 0 {
			return bad("damaged")
		}
		size, k := binary.Uvarint(b[n:])
		if k <= 0 || size > uint64(len(b)-n-k) || s.units[unit] != nil {
			return bad("damaged")
		}
		b = b[n+k:]
		s.units[unit], b = b[:size:size], b[size:]
	}
	return s, nil
}

// add takes over the choices of a machine.
func (s *script) add(m *machine) {
	if m.log == nil {
		return
	}
	b := m.log.end()
	if s.size += len(b) + 2*binary.MaxVarintLen64; m.log.full || s.size > maxScript {
		s.full, s.units = true, nil
	}
	if s.full || len(b) == 0 {
		return
	}
	if s.units == nil {
		s.units = make(map[uint64][]byte)
	}
	s.units[m.unit] = b
}

// text is the script in printable form; nothing if it is full.
func (s *script) text(schedule string) string {
	switch {
	case schedule == RoundRobin:
		return RoundRobin
	case s.full:
		return ""
	}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.DefaultCompression)
	if err != nil {
		panic(err) // the level is a good one
	}
	for _, unit := range slices.Sorted(maps.Keys(s.units)) {
		b := binary.AppendUvarint(nil, unit)
		b = binary.AppendUvarint(b, uint64(len(s.units[unit])))
		_, err = w.Write(append(b, s.units[unit]...))
		if err != nil {
			break
		}
	}
	if err := errors.Join(err, w.Close()); err != nil {
		panic(err) // a buffer takes everything
	}
	return scriptPrefix + base64.RawURLEncoding.EncodeToString(packed.Bytes())
}

// choice is who goes on.
type choice struct {
	actor uint64
	lane  int // that the lanes go with; -1 for all
}

// choiceLog is the choices of a machine, as they are made.
type choiceLog struct {
	bytes []byte
	last  choice
	again uint64
	some  bool
	full  bool
}

func (l *choiceLog) add(a *actor) {
	c := choice{a.id, -1}
	if w := a.warp; w != nil && w.group != w.ready {
		c.lane = bits.TrailingZeros32(w.group)
	}
	if l.some && c == l.last {
		l.again++
		return
	}
	if l.full = l.full || len(l.bytes) > maxScript; l.full {
		return
	}
	l.end()
	l.last, l.some = c, true
	if c.lane < 0 {
		l.bytes = binary.AppendUvarint(l.bytes, 2+2*c.actor)
		return
	}
	l.bytes = binary.AppendUvarint(l.bytes, 3+2*c.actor)
	l.bytes = binary.AppendUvarint(l.bytes, uint64(c.lane))
}

// end writes what is still to be written, and returns the log.
func (l *choiceLog) end() []byte {
	if l.again > 0 {
		l.bytes = append(l.bytes, 0)
		l.bytes = binary.AppendUvarint(l.bytes, l.again)
		l.again = 0
	}
	return l.bytes
}

// loggedOrder is a schedule whose choices are logged.
type loggedOrder struct {
	schedule
	log *choiceLog
}

func (s *loggedOrder) take() *actor {
	a := s.schedule.take()
	if a != nil {
		s.log.add(a)
	}
	return a
}
