package trace

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
)

// columnID names a column in the payload of a block of events.
type columnID uint8

// The columns, in the order in which a payload has them. Columns without
// rows are left out.
const (
	colTemplates columnID = 1 + iota
	colWarps
	colOp
	colTime
	colSeq
	colPhase
	colClk
	colToken
	colPred
	colResult
	colExtra
	numColumns = iota + 1
)

var errShort = errors.New("a column ends too early")

// cursor reads a payload. After the first read beyond the end every read
// gives zero and bad is set, so that a caller checks once.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) fail() {
	c.b, c.bad = nil, true
}

func (c *cursor) uvarint() uint64 {
	if len(c.b) > 0 && c.b[0] < 0x80 {
		v := uint64(c.b[0])
		c.b = c.b[1:]
		return v
	}
	v, n := binary.Uvarint(c.b)
	if n <= 0 {
		c.fail()
		return 0
	}
	c.b = c.b[n:]
	return v
}

func (c *cursor) take(n uint64) []byte {
	if n > uint64(len(c.b)) {
		c.fail()
		return nil
	}
	p := c.b[:n]
	c.b = c.b[n:]
	return p
}

func (c *cursor) byte() byte {
	if p := c.take(1); p != nil {
		return p[0]
	}
	return 0
}

func (c *cursor) u32() uint32 {
	if p := c.take(4); p != nil {
		return le.Uint32(p)
	}
	return 0
}

// end reports what went wrong, or that bytes are left.
func (c *cursor) end() error {
	switch {
	case c.bad:
		return errShort
	case len(c.b) > 0:
		return errors.New("a column is longer than its rows")
	}
	return nil
}

// splitColumns finds the columns of a payload.
func splitColumns(payload []byte) (cols [numColumns][]byte, err error) {
	c := cursor{b: payload}
	last := columnID(0)
	for len(c.b) > 0 {
		id := columnID(c.byte())
		p := c.take(c.uvarint())
		if c.bad {
			return cols, errShort
		}
		if id <= last || id >= numColumns {
			return cols, errors.New("a column that is unknown or out of order")
		}
		cols[id], last = p, id
	}
	return cols, nil
}

func appendColumn(b []byte, id columnID, col []byte) []byte {
	if len(col) == 0 {
		return b
	}
	b = append(b, byte(id))
	b = binary.AppendUvarint(b, uint64(len(col)))
	return append(b, col...)
}

func zigzag(v uint64) uint64   { return v<<1 ^ uint64(int64(v)>>63) }
func unzigzag(v uint64) uint64 { return v>>1 ^ -(v & 1) }

// appendNarrow appends mostly small numbers: a byte that is 1 or 2, that
// many byte planes, least significant first, and a uvarint for each value
// that did not fit, less the value that stands for it, which is the largest
// of the width.
func appendNarrow(b []byte, vs []uint64) []byte {
	wide := 0
	for _, v := range vs {
		if v >= 0xff {
			wide++
		}
	}
	if wide <= len(vs)/32 { // one plane is the smaller form
		b = append(b, 1)
		b, planes := grow(b, len(vs))
		for i, v := range vs {
			planes[i] = byte(min(v, 0xff))
		}
		for _, v := range vs {
			if v >= 0xff {
				b = binary.AppendUvarint(b, v-0xff)
			}
		}
		return b
	}
	b = append(b, 2)
	b, planes := grow(b, 2*len(vs))
	lo, hi := planes[:len(vs)], planes[len(vs):]
	for i, v := range vs {
		n := min(v, 0xffff)
		lo[i], hi[i] = byte(n), byte(n>>8)
	}
	for _, v := range vs {
		if v >= 0xffff {
			b = binary.AppendUvarint(b, v-0xffff)
		}
	}
	return b
}

func grow(b []byte, n int) (whole, added []byte) {
	b = slices.Grow(b, n)
	b = b[:len(b)+n]
	return b, b[len(b)-n:]
}

// narrow is a column of mostly small numbers, in the form of appendNarrow,
// whose values are taken one after the other.
type narrow struct {
	lo, hi []byte // hi is nil if the numbers have one plane
	wide   uint64 // the value that stands for a larger one
	small  uint64 // what is less needs no further look; 0 with two planes
	c      cursor
}

// narrow begins to read n numbers, which are the rest of the column.
func (c *cursor) narrow(n int) narrow {
	planes := c.byte()
	v := narrow{lo: c.take(uint64(n)), wide: 0xff, small: 0xff}
	if planes == 2 {
		v.hi, v.wide, v.small = c.take(uint64(n)), 0xffff, 0
	}
	if planes != 1 && planes != 2 || c.bad {
		c.fail()
		v = narrow{lo: make([]byte, n)}
	}
	v.c = *c
	return v
}

// at returns value i. Values are asked for in order.
func (v *narrow) at(i int) uint64 {
	if n := uint64(v.lo[i]); n < v.small {
		return n
	}
	return v.larger(i)
}

func (v *narrow) larger(i int) uint64 {
	n := uint64(v.lo[i])
	if v.hi != nil {
		n |= uint64(v.hi[i]) << 8
	}
	if n == v.wide {
		n += v.c.uvarint()
	}
	return n
}

// appendIndices appends numbers below limit: one plane of bytes, and a
// second one if a byte does not hold them.
func appendIndices(b []byte, is []uint16, limit int) []byte {
	b, lo := grow(b, len(is))
	for i, v := range is {
		lo[i] = byte(v)
	}
	if limit > 256 {
		var hi []byte
		b, hi = grow(b, len(is))
		for i, v := range is {
			hi[i] = byte(v >> 8)
		}
	}
	return b
}

// indices reads n numbers below limit in the form of appendIndices.
func (c *cursor) indices(is []uint16, n, limit int) []uint16 {
	is = resize(is, n)
	lo := c.take(uint64(n))
	if c.bad {
		clear(is)
		return is
	}
	for i, v := range lo {
		is[i] = uint16(v)
	}
	if limit > 256 {
		for i, v := range c.take(uint64(n)) {
			is[i] |= uint16(v) << 8
		}
	}
	if n > 0 && int(slices.Max(is)) >= limit {
		c.fail()
		clear(is)
	}
	return is
}

func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, 1<<bits.Len(uint(n-1)))
	}
	return s[:n]
}

// valueSet numbers the distinct values of a column in the order in which
// they come. It is an open-addressing table that is reused.
type valueSet struct {
	slots  []uint32 // index into values, plus 1
	values []uint64
}

func (s *valueSet) reset(n int) {
	size := 1 << bits.Len(uint(2*n))
	s.slots = resize(s.slots, size)
	clear(s.slots)
	s.values = s.values[:0]
}

func (s *valueSet) add(v uint64) uint32 {
	mask := uint64(len(s.slots) - 1)
	i := mix(v) & mask
	for {
		at := s.slots[i]
		if at == 0 {
			s.values = append(s.values, v)
			s.slots[i] = uint32(len(s.values))
			return uint32(len(s.values)) - 1
		}
		if s.values[at-1] == v {
			return at - 1
		}
		i = (i + 1) & mask
	}
}

func mix(v uint64) uint64 {
	v ^= v >> 32
	v *= 0x9E3779B97F4A7C15
	return v ^ v>>29
}

// appendWords appends the number of values and their eight byte planes.
func appendWords(b []byte, vs []uint64) []byte {
	b = binary.AppendUvarint(b, uint64(len(vs)))
	b, planes := grow(b, 8*len(vs))
	for i, v := range vs {
		for p := range 8 {
			planes[p*len(vs)+i] = byte(v >> (8 * p))
		}
	}
	return b
}

// words reads what appendWords wrote, no more than limit values.
func (c *cursor) words(vs []uint64, limit int) []uint64 {
	n := c.uvarint()
	if n > uint64(limit) {
		c.fail()
		return vs[:0]
	}
	planes := c.take(8 * n)
	if c.bad {
		return vs[:0]
	}
	vs = resize(vs, int(n))
	for i := range vs {
		v := uint64(0)
		for p := range 8 {
			v |= uint64(planes[p*len(vs)+i]) << (8 * p)
		}
		vs[i] = v
	}
	return vs
}
