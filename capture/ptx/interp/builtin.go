package interp

import (
	"bytes"
	"fmt"
	"math/bits"
)

// The functions that the CUDA runtime brings along, which compilers declare
// and call.

func (l *lowering) builtin(name string) error {
	switch name {
	case "vprintf":
		l.note("printf prints nothing")
		l.in.do = func(x *warp, in *inst, m uint32) {
			for k := m; k != 0; k &= k - 1 {
				for _, a := range in.call.rets {
					x.give(bits.TrailingZeros32(k)&31, a, make([]byte, a.size))
				}
			}
		}
	case "__assertfail":
		l.in.do = func(x *warp, in *inst, m uint32) {
			i := first(m)
			x.trap(in, i, trapAssert, x.assertion(i, in.call.args))
		}
	default:
		return fmt.Errorf("%s is declared here and defined nowhere: link its PTX into this file", name)
	}
	return nil
}

// assertion is what __assertfail(message, file, line, function, size of a
// character) says.
func (x *warp) assertion(lane int, args []argument) string {
	const failed = "an assertion failed"
	if len(args) != 5 {
		return failed
	}
	word := func(n int) uint64 { return load(x.fetch(nil, lane, args[n], 8), 8) }
	message, file := x.text(lane, word(0)), x.text(lane, word(1))
	if message == "" {
		return failed
	}
	return fmt.Sprintf("%s: %s, %s:%d", failed, message, baseName(file), uint32(word(2)))
}

// maxText bounds the texts that are read from memory.
const maxText = 200

// text is the string at a generic address, as far as it can be printed on one
// line.
func (x *warp) text(lane int, addr uint64) string {
	var text []byte
	for len(text) < maxText {
		b, _ := x.find(lane, generic, addr+uint64(len(text)), 1, false)
		if b == nil || b[0] == 0 {
			break
		}
		text = append(text, b[0])
	}
	return string(bytes.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text))
}
