package interp

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"btrace/capture/ptx"
)

// maxBuffer bounds the buffer of an argument.
const maxBuffer = 4 << 30

// Arg is an argument of a kernel. Several launches may share it.
type Arg struct {
	text string
	kind byte   // i, u, f: a scalar; b: a buffer; s: bytes passed by value
	size int    // in bytes
	bits uint64 // of a scalar
	data []byte // what a buffer begins with, or a struct holds
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
		b, err := readFile(name)
		if err != nil {
			return a, fmt.Errorf("argument %q: %s: %w", a.text, name, err)
		}
		a.data, a.size = b, len(b)
		return a, nil
	}
	if kind == "bytes" {
		b, err := hex.DecodeString(value)
		if err != nil {
			return a, fmt.Errorf("argument %q: want hex digits, two a byte, or @FILE", a.text)
		}
		a.data, a.size = b, len(b)
		return a, nil
	}
	n, err := strconv.ParseUint(value, 0, 63)
	switch {
	case err != nil:
		return a, fmt.Errorf("argument %q: want a number of bytes, or @FILE", a.text)
	case n > maxBuffer:
		return a, fmt.Errorf("argument %q: a buffer has at most %d bytes", a.text, uint64(maxBuffer))
	}
	a.size = int(n)
	return a, nil
}

// readFile reads a file of at most maxBuffer bytes.
func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err == nil {
		defer f.Close()
		var b []byte
		if b, err = io.ReadAll(io.LimitReader(f, maxBuffer+1)); err == nil {
			if len(b) > maxBuffer {
				return nil, fmt.Errorf("has more than %d bytes", int64(maxBuffer))
			}
			return b, nil
		}
	}
	var path *os.PathError // names the file once more
	if errors.As(err, &path) {
		err = path.Err
	}
	return nil, err
}

// IsBuffer reports whether the argument is a buffer, which can be looked at
// afterwards.
func (a Arg) IsBuffer() bool { return a.kind == 'b' }

// Int is the value of an argument that is a whole number, and ok whether it is
// one that an int holds.
func (a Arg) Int() (v int, ok bool) {
	n := int64(a.bits)
	return int(n), (a.kind == 'i' || a.kind == 'u' && n >= 0) && int64(int(n)) == n
}

// pass lays the arguments out as the kernel's parameters, and makes its
// buffers.
func (k *Kernel) pass(mem *memory, args []Arg) (param []byte, buffers [][]byte, err error) {
	if len(args) != len(k.params) {
		var types []string
		for _, p := range k.params {
			types = append(types, describeParam(p))
		}
		return nil, nil, fmt.Errorf("%s takes %d arguments (%s), and got %d", k.Entry.Name, len(k.params), strings.Join(types, ", "), len(args))
	}
	param, buffers = make([]byte, k.paramLen), make([][]byte, len(args))
	for i, a := range args {
		p := k.params[i]
		if !a.fits(p.v) {
			return nil, nil, fmt.Errorf("argument %d of %s is %s: %s does not fit", i, k.Entry.Name, describeParam(p), a.text)
		}
		switch at := param[p.offset:]; a.kind {
		case 'b':
			buffers[i] = make([]byte, a.size)
			copy(buffers[i], a.data)
			store(at, 8, mem.add(fmt.Sprintf("argument %d", i), buffers[i], false))
		case 's':
			copy(at, a.data)
		default:
			store(at, a.size, a.bits)
		}
	}
	return param, buffers, nil
}

// fits reports whether an argument can be passed for a parameter. An integer
// can stand for a struct of its size.
func (a Arg) fits(p *ptx.Variable) bool {
	size, floats := int(p.Size()), p.Type[0] == 'f'
	switch a.kind {
	case 'b':
		return !isStruct(p) && size == 8 && !floats
	case 'f':
		return !isStruct(p) && size == a.size && (floats || p.Type[0] == 'b')
	case 's':
		return size == a.size
	}
	return size == a.size && !floats
}

func isStruct(p *ptx.Variable) bool { return len(p.Dims) > 0 || p.Vector > 0 }

// describeParam is a parameter's type, and what is passed for it.
func describeParam(p slotOfParam) string {
	if isStruct(p.v) {
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
