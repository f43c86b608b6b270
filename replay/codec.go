package replay

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// errSection is what a section says that does not hold what it should. A
// section can always be computed again, so the caller does that.
var errSection = errors.New("damaged section")

// codec reads or writes a value: the same code goes through the fields in
// both directions, so that the two cannot disagree. Writing only reads them:
// workers share operations. Numbers are varints.
type codec struct {
	buf     []byte
	reading bool
	err     error
}

func (c *codec) fail(what string) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: %s", errSection, what)
	}
	c.buf = nil
}

func (c *codec) u64(x *uint64) {
	if !c.reading {
		c.buf = binary.AppendUvarint(c.buf, *x)
		return
	}
	v, n := binary.Uvarint(c.buf)
	if n <= 0 {
		c.fail("number cut")
		*x = 0
		return
	}
	*x, c.buf = v, c.buf[n:]
}

func (c *codec) i64(x *int64) {
	u := uint64(*x)<<1 ^ uint64(*x>>63)
	if c.u64(&u); c.reading {
		*x = int64(u>>1) ^ -int64(u&1)
	}
}

// small is a number of few bits.
func (c *codec) small(u, most uint64) uint64 {
	if c.u64(&u); u > most {
		c.fail("number too large")
		return 0
	}
	return u
}

func (c *codec) u32(x *uint32) {
	if u := c.small(uint64(*x), 1<<32-1); c.reading {
		*x = uint32(u)
	}
}

func (c *codec) u8(x *uint8) {
	if u := c.small(uint64(*x), 255); c.reading {
		*x = uint8(u)
	}
}

func (c *codec) bools(xs ...*bool) {
	var u uint64
	for i, x := range xs {
		if *x {
			u |= 1 << i
		}
	}
	c.u64(&u)
	for i, x := range xs {
		if c.reading {
			*x = u>>i&1 != 0
		}
	}
}

func (c *codec) str(x *string) {
	b := []byte(*x)
	if c.bytes(&b); c.reading {
		*x = string(b)
	}
}

// bytes reads without copying.
func (c *codec) bytes(x *[]byte) {
	n := len(*x)
	c.length(&n)
	if !c.reading {
		c.buf = append(c.buf, *x...)
		return
	}
	*x, c.buf = c.buf[:n], c.buf[n:]
}

// length is the number of elements that follow; each takes at least a byte,
// so that no length can ask for more memory than the input has.
func (c *codec) length(n *int) {
	u := uint64(*n)
	c.u64(&u)
	if c.reading && u > uint64(len(c.buf)) {
		c.fail("length beyond the end")
		u = 0
	}
	*n = int(u)
}

// list goes through a slice.
func list[T any](c *codec, xs *[]T, each func(*T)) {
	n := len(*xs)
	c.length(&n)
	if c.reading {
		const most = 4096 // elements that room is made for on the word of the input
		*xs = make([]T, 0, min(n, most))
		for i := 0; i < n && c.err == nil; i++ {
			var none T
			*xs = append(*xs, none)
			each(&(*xs)[i])
		}
		if n == 0 {
			*xs = nil
		}
		return
	}
	for i := range *xs {
		each(&(*xs)[i])
	}
}

// as goes through a number of another type.
func as[T ~uint8](c *codec, x *T) {
	if u := c.small(uint64(*x), 255); c.reading {
		*x = T(u)
	}
}
