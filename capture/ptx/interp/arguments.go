package interp

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// maxBuffer bounds the buffer of an argument.
const maxBuffer = 4 << 30

// Arg is an argument of a kernel.
type Arg struct {
	text   string
	kind   byte // i, u, f: a scalar; b: a buffer; s: bytes passed by value
	size   int  // of a scalar, bytes
	bits   uint64
	buffer []byte
}

// ParseArg reads an argument: TYPE:VALUE. A scalar is i8 to i64, u8 to u64,
// f32 or f64; buf:N is a buffer of N zero bytes in global memory and
// buf:@FILE one that holds what the file does; bytes:HEX and bytes:@FILE is a
// struct that is passed by value.
func ParseArg(text string) (Arg, error) {
	a := Arg{text: text}
	kind, value, ok := strings.Cut(text, ":")
	if !ok {
		return a, fmt.Errorf("argument %q: want TYPE:VALUE, as i32:5, f32:1.5, buf:4096 or buf:@FILE", text)
	}
	var err error
	switch kind {
	case "i8", "i16", "i32", "i64":
		var v int64
		a.kind, a.size = 'i', sizeOf(kind)
		v, err = strconv.ParseInt(value, 0, 8*a.size)
		a.bits = uint64(v)
	case "u8", "u16", "u32", "u64":
		a.kind, a.size = 'u', sizeOf(kind)
		a.bits, err = strconv.ParseUint(value, 0, 8*a.size)
	case "f32":
		var v float64
		a.kind, a.size = 'f', 4
		v, err = strconv.ParseFloat(value, 32)
		a.bits = uint64(math.Float32bits(float32(v)))
	case "f64":
		var v float64
		a.kind, a.size = 'f', 8
		v, err = strconv.ParseFloat(value, 64)
		a.bits = math.Float64bits(v)
	case "buf", "bytes":
		return parseBytes(a, kind, value)
	default:
		return a, fmt.Errorf("argument %q: unknown type %s: want i8 to i64, u8 to u64, f32, f64, buf or bytes", text, kind)
	}
	if err != nil {
		return a, fmt.Errorf("argument %q: %s is not the value of an %s", text, value, kind)
	}
	return a, nil
}

func sizeOf(kind string) int {
	n, err := strconv.Atoi(kind[1:])
	if err != nil {
		return 0
	}
	return n / 8
}

func parseBytes(a Arg, kind, value string) (Arg, error) {
	a.kind = kind[0]
	if kind == "bytes" {
		a.kind = 's'
	}
	if name, ok := strings.CutPrefix(value, "@"); ok {
		b, err := os.ReadFile(name)
		if err != nil {
			var path *os.PathError
			if errors.As(err, &path) {
				err = path.Err
			}
			return a, fmt.Errorf("argument %q: %s: %w", a.text, name, err)
		}
		a.buffer = b
		return a, nil
	}
	if kind == "bytes" {
		b, err := hex.DecodeString(value)
		if err != nil {
			return a, fmt.Errorf("argument %q: want hex digits, two a byte, or @FILE", a.text)
		}
		a.buffer = b
		return a, nil
	}
	n, err := strconv.ParseUint(value, 0, 63)
	switch {
	case err != nil:
		return a, fmt.Errorf("argument %q: want a number of bytes, or @FILE", a.text)
	case n > maxBuffer:
		return a, fmt.Errorf("argument %q: a buffer has at most %d bytes", a.text, uint64(maxBuffer))
	}
	a.buffer = make([]byte, n)
	return a, nil
}

// IsBuffer reports whether the argument is a buffer, which can be looked at
// afterwards.
func (a Arg) IsBuffer() bool { return a.kind == 'b' }

// pass lays the arguments out as the kernel's parameters.
func (k *Kernel) pass(r *run, args []Arg, buffers [][]byte) error {
	if len(args) != len(k.params) {
		var types []string
		for _, p := range k.params {
			types = append(types, describeParam(p))
		}
		return fmt.Errorf("%s takes %d arguments (%s), and got %d", k.Entry.Name, len(k.params), strings.Join(types, ", "), len(args))
	}
	r.param = make([]byte, k.paramLen)
	for i, a := range args {
		p := k.params[i]
		at, size := r.param[p.offset:], int(p.v.Size())
		isArray := len(p.v.Dims) > 0
		floats := p.v.Type[0] == 'f'
		var ok bool
		switch a.kind {
		case 'b':
			if ok = !isArray && size == 8 && !floats; ok {
				buffers[i] = append([]byte(nil), a.buffer...)
				store(at, 8, r.mem.add(fmt.Sprintf("argument %d", i), buffers[i], false))
			}
		case 's':
			if ok = len(a.buffer) == size; ok {
				copy(at, a.buffer)
			}
		case 'f':
			if ok = !isArray && size == a.size && (floats || p.v.Type[0] == 'b'); ok {
				store(at, size, a.bits)
			}
		default:
			if ok = size == a.size && !floats; ok { // a struct of that size, too
				store(at, size, a.bits)
			}
		}
		if !ok {
			return fmt.Errorf("argument %d of %s is %s: %s does not fit", i, k.Entry.Name, describeParam(p), a.text)
		}
	}
	return nil
}

// describeParam is a parameter's type, and what is passed for it.
func describeParam(p slotOfParam) string {
	if len(p.v.Dims) > 0 {
		return fmt.Sprintf(".%s[%d] (bytes:…)", p.v.Type, p.v.Size())
	}
	size := 8 * p.v.Size()
	switch p.v.Type[0] {
	case 'f':
		return fmt.Sprintf(".%s (f%d:…)", p.v.Type, size)
	case 's':
		return fmt.Sprintf(".%s (i%d:…)", p.v.Type, size)
	}
	if size == 64 {
		return fmt.Sprintf(".%s (u64:… or buf:…)", p.v.Type)
	}
	return fmt.Sprintf(".%s (i%d:… or u%d:…)", p.v.Type, size, size)
}
