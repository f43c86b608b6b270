package trace

import (
	"bytes"
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

var (
	errShort = errors.New("a column ends too early")
	errLong  = errors.New("a column is longer than its rows")
)

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
		return errLong
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
	begin := len(b)
	b = append(b, 1)
	b, planes := grow(b, len(vs))
	wide := 0
	for i, v := range vs {
		if v >= 0xff {
			v = 0xff
			wide++
		}
		planes[i] = byte(v)
	}
	if wide <= len(vs)/32 { // one plane is the smaller form
		return appendWide(b, vs, planes, 0xff)
	}
	b = append(b[:begin], 2)
	b, planes = grow(b, 2*len(vs))
	lo, hi := planes[:len(vs)], planes[len(vs):]
	for i, v := range vs {
		n := min(v, 0xffff)
		lo[i], hi[i] = byte(n), byte(n>>8)
	}
	return appendWide(b, vs, hi, 0xffff)
}

// appendWide appends what is left of the values that reach limit, which have
// the byte 0xff in the last plane.
func appendWide(b []byte, vs []uint64, plane []byte, limit uint64) []byte {
	for at := 0; ; at++ {
		n := bytes.IndexByte(plane[at:], 0xff)
		if n < 0 {
			return b
		}
		if at += n; vs[at] >= limit {
			b = binary.AppendUvarint(b, vs[at]-limit)
		}
	}
}

func grow(b []byte, n int) (whole, added []byte) {
	b = slices.Grow(b, n)
	b = b[:len(b)+n]
	return b, b[len(b)-n:]
}

// narrow is mostly small numbers in the form of appendNarrow.
type narrow struct {
	lo, hi []byte   // hi is nil if the numbers have one plane
	wide   []uint64 // for each number that its planes do not hold, what is added
	next   int      // of wide
}

// narrow reads n numbers, which are the rest of the column. The memory that
// it is given is used for those that are wide.
func (c *cursor) narrow(n int, wide []uint64) (narrow, error) {
	planes := c.byte()
	v := narrow{lo: c.take(uint64(n)), wide: wide[:0]}
	if planes == 2 {
		v.hi = c.take(uint64(n))
	}
	if planes != 1 && planes != 2 || c.bad {
		return v, errShort
	}
	for len(c.b) > 0 && len(v.wide) < n {
		v.wide = append(v.wide, c.uvarint())
	}
	return v, c.end()
}

// at returns number i. They are asked for in order.
func (v *narrow) at(i int) uint64 {
	n := uint64(v.lo[i])
	if v.hi != nil {
		n |= uint64(v.hi[i]) << 8
	}
	if n == widest(v.hi) {
		if v.next < len(v.wide) {
			n += v.wide[v.next]
		}
		v.next++
	}
	return n
}

// widest is the number that stands for all that the planes do not hold.
func widest(hi []byte) uint64 {
	if hi == nil {
		return 0xff
	}
	return 0xffff
}

// rest is the wide numbers that were not asked for.
func (v *narrow) rest() []uint64 { return v.wide[min(v.next, len(v.wide)):] }

// end reports whether the wide numbers were as many as those that called for
// one.
func (v *narrow) end() error {
	switch {
	case v.next > len(v.wide):
		return errShort
	case v.next < len(v.wide):
		return errLong
	}
	return nil
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

// indices reads numbers below limit in the form of appendIndices.
func (c *cursor) indices(is []uint16, limit int) bool {
	lo := c.take(uint64(len(is)))
	if c.bad {
		return false
	}
	for i, v := range lo[:len(is)] {
		is[i] = uint16(v)
	}
	if limit > 256 {
		hi := c.take(uint64(len(is)))
		if c.bad {
			return false
		}
		for i, v := range hi[:len(is)] {
			is[i] |= uint16(v) << 8
		}
	}
	return len(is) == 0 || int(slices.Max(is)) < limit
}

// byteTally counts bytes. It has several counts of each, as adding to one
// of them must wait for what was added to it just before.
type byteTally [4][256]uint32

// count counts the bytes of b and makes words of them, and reports whether
// all are below limit.
func (t *byteTally) count(words []uint16, b []byte, limit int) bool {
	*t = byteTally{}
	words = words[:len(b)]
	for ; len(b) >= 4 && len(words) >= 4; b, words = b[4:], words[4:] {
		v0, v1, v2, v3 := b[0], b[1], b[2], b[3]
		words[0], words[1], words[2], words[3] = uint16(v0), uint16(v1), uint16(v2), uint16(v3)
		t[0][v0]++
		t[1][v1]++
		t[2][v2]++
		t[3][v3]++
	}
	for i, v := range b {
		words[i] = uint16(v)
		t[0][v]++
	}
	for v := limit; v < 256; v++ {
		if t.of(v) > 0 {
			return false
		}
	}
	return true
}

// of is how many bytes were v.
func (t *byteTally) of(v int) int { return int(t[0][v] + t[1][v] + t[2][v] + t[3][v]) }

func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, 1<<bits.Len(uint(n-1)))
	}
	return s[:n]
}

// valueSet numbers the distinct values of a column in the order in which
// they come. It is an open-addressing table that is reused, and grows with
// what is in it: few values are found in a table that the cache holds.
type valueSet struct {
	slots  []uint32 // index into values, plus 1
	shift  int      // of a hash to that of a slot
	values []uint64
}

const fewValues = 9 // bits of the number of slots to begin with

func (s *valueSet) reset() {
	s.resize(fewValues)
	s.values = s.values[:0]
}

func (s *valueSet) resize(bits int) {
	s.slots, s.shift = resize(s.slots, 1<<bits), 64-bits
	clear(s.slots)
}

func (s *valueSet) add(v uint64) uint32 {
	if at := s.slots[mix(v)>>(s.shift&63)]; at != 0 && s.values[at-1] == v {
		return at - 1
	}
	return s.find(v)
}

// find is add for values that are not the first at their slot.
func (s *valueSet) find(v uint64) uint32 {
	i := s.slot(v)
	if at := s.slots[i]; at != 0 {
		return at - 1
	}
	s.values = append(s.values, v)
	s.slots[i] = uint32(len(s.values))
	if 2*len(s.values) > len(s.slots) {
		s.resize(64 - s.shift + 2)
		for n, v := range s.values {
			s.slots[s.slot(v)] = uint32(n) + 1
		}
	}
	return uint32(len(s.values)) - 1
}

// slot is where v is, or where it belongs.
func (s *valueSet) slot(v uint64) uint64 {
	i := mix(v) >> (s.shift & 63)
	for {
		if at := s.slots[i]; at == 0 || s.values[at-1] == v {
			return i
		}
		i = (i + 1) & uint64(len(s.slots)-1)
	}
}

// mix spreads values: the leading bits depend on all bits.
func mix(v uint64) uint64 { return v * 0x9E3779B97F4A7C15 }

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
