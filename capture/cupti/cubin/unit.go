package cubin

import (
	"bytes"
	"fmt"
	"path"
)

// names is the two sections that names can be in.
type names struct{ line, str []byte }

// unit is a line number program with its header.
type unit struct {
	program        reader
	minInstruction uint64
	lineBase       int8
	lineRange      uint8
	firstSpecial   uint8
	lengths        [256]uint8 // operands of the standard operations
	dirs           []string
	files          []string
	firstFile      int // number of the first file
}

func (u *unit) file(n uint64) string {
	if n -= uint64(u.firstFile); n < uint64(len(u.files)) {
		return u.files[n]
	}
	return ""
}

// maxNames bounds the directories and the files of a unit, maxPath the bytes
// of a name.
const (
	maxNames = 1 << 14
	maxPath  = 4096
)

// readUnit reads the header of the unit at offset at, and says where the next
// one begins.
func readUnit(b []byte, at int, texts names) (*unit, int, error) {
	r := reader{b: b[at:], at: at}
	wide := false
	length := uint64(r.u32())
	if length == 0xffffffff {
		wide, length = true, r.u64()
	}
	if r.err != nil || length > uint64(len(r.b)) {
		return nil, 0, fmt.Errorf("%d bytes, but only %d are left", length, len(r.b))
	}
	next := r.at + int(length)
	r.b = r.b[:length]
	version := r.u16()
	if version < 2 || version > 5 {
		return nil, 0, fmt.Errorf("a line table of DWARF version %d: 2 to 5 are known", version)
	}
	if version == 5 {
		r.skip(2) // sizes of an address and of a segment selector
	}
	header := r.offset(wide)
	if r.err != nil || header > uint64(len(r.b)) {
		return nil, 0, fmt.Errorf("a header of %d bytes, but only %d are left", header, len(r.b))
	}
	u := &unit{program: reader{b: r.b[header:], at: r.at + int(header)}}
	r.b = r.b[:header]
	u.minInstruction = uint64(r.u8())
	if version >= 4 {
		r.skip(1) // operations of an instruction
	}
	r.skip(1) // is_stmt
	u.lineBase, u.lineRange, u.firstSpecial = int8(r.u8()), r.u8(), r.u8()
	if r.err != nil || u.lineRange == 0 || u.firstSpecial == 0 {
		return nil, 0, fmt.Errorf("a line range of %d and operations from %d", u.lineRange, u.firstSpecial)
	}
	for i := 1; i < int(u.firstSpecial); i++ {
		u.lengths[i] = r.u8()
	}
	if version == 5 {
		u.names5(&r, wide, texts)
	} else {
		u.names2(&r)
	}
	if r.err != nil {
		return nil, 0, fmt.Errorf("the names of its files: %w", r.err)
	}
	return u, next, nil
}

// names2 reads the tables of versions 2 to 4. Directory 0 is not told.
func (u *unit) names2(r *reader) {
	u.firstFile = 1
	u.dirs = []string{""}
	for s := r.text(); s != "" && r.err == nil; s = r.text() {
		u.dirs = append(u.dirs, s)
	}
	for s := r.text(); s != "" && r.err == nil; s = r.text() {
		dir := r.uleb()
		r.uleb() // time
		r.uleb() // size
		u.addFile(r, s, dir)
	}
}

func (u *unit) addFile(r *reader, name string, dir uint64) {
	if len(u.files) >= maxNames || len(u.dirs) > maxNames {
		r.fail(fmt.Errorf("more than %d", maxNames))
		return
	}
	name = name[:min(len(name), maxPath)]
	if dir < uint64(len(u.dirs)) && u.dirs[dir] != "" && !path.IsAbs(name) {
		in := u.dirs[dir]
		name = in[:min(len(in), maxPath)] + "/" + name
	}
	u.files = append(u.files, name)
}

// What version 5 says of a name, and the forms in which it does.
const (
	contentPath = 1
	contentDir  = 2

	formData2    = 0x05
	formData4    = 0x06
	formData8    = 0x07
	formString   = 0x08
	formBlock    = 0x09
	formData1    = 0x0b
	formStrp     = 0x0e
	formUdata    = 0x0f
	formData16   = 0x1e
	formLineStrp = 0x1f
)

// names5 reads the tables of version 5.
func (u *unit) names5(r *reader, wide bool, texts names) {
	for _, dirs := range []bool{true, false} {
		type column struct{ content, form uint64 }
		var columns []column
		for range r.u8() {
			columns = append(columns, column{r.uleb(), r.uleb()})
		}
		n := r.uleb()
		if n > maxNames || n > 0 && len(columns) == 0 {
			r.fail(fmt.Errorf("%d of them", n))
		}
		for ; n > 0 && r.err == nil; n-- {
			var name string
			var dir uint64
			for _, c := range columns {
				s, x := r.form(c.form, wide, texts)
				switch c.content {
				case contentPath:
					name = s
				case contentDir:
					dir = x
				}
			}
			if dirs {
				u.dirs = append(u.dirs, name)
			} else {
				u.addFile(r, name, dir)
			}
		}
	}
}

// reader takes numbers from the beginning of b. After an error it gives zeros.
type reader struct {
	b   []byte
	at  int // offset of b in the section
	err error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = fmt.Errorf("%w, at offset %#x", err, r.at)
	}
	r.b = nil
}

func (r *reader) skip(n int) []byte {
	if n > len(r.b) {
		r.fail(errEnds)
		return nil
	}
	p := r.b[:n]
	r.b, r.at = r.b[n:], r.at+n
	return p
}

func (r *reader) u8() uint8 {
	if p := r.skip(1); p != nil {
		return p[0]
	}
	return 0
}

func (r *reader) u16() uint16 {
	if p := r.skip(2); p != nil {
		return le.Uint16(p)
	}
	return 0
}

func (r *reader) u32() uint32 {
	if p := r.skip(4); p != nil {
		return le.Uint32(p)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if p := r.skip(8); p != nil {
		return le.Uint64(p)
	}
	return 0
}

func (r *reader) offset(wide bool) uint64 {
	if wide {
		return r.u64()
	}
	return uint64(r.u32())
}

func (r *reader) uleb() uint64 {
	var x uint64
	for shift := 0; ; shift += 7 {
		b := r.u8()
		if shift < 64 {
			x |= uint64(b&0x7f) << shift
		}
		if b < 0x80 {
			return x
		}
	}
}

func (r *reader) sleb() int64 {
	var x int64
	for shift := 0; ; shift += 7 {
		b := r.u8()
		if shift < 64 {
			x |= int64(b&0x7f) << shift
		}
		if b < 0x80 {
			if b&0x40 != 0 && shift+7 < 64 {
				x |= -1 << (shift + 7)
			}
			return x
		}
	}
}

func (r *reader) text() string {
	n := bytes.IndexByte(r.b, 0)
	if n < 0 {
		r.fail(errEnds)
		return ""
	}
	return string(r.skip(n + 1)[:n])
}

// form reads a value of version 5: a text or a number.
func (r *reader) form(form uint64, wide bool, texts names) (string, uint64) {
	from := texts.line
	switch form {
	case formString:
		return r.text(), 0
	case formData1:
		return "", uint64(r.u8())
	case formData2:
		return "", uint64(r.u16())
	case formData4:
		return "", uint64(r.u32())
	case formData8:
		return "", r.u64()
	case formData16:
		r.skip(16)
		return "", 0
	case formUdata:
		return "", r.uleb()
	case formBlock:
		if n := r.uleb(); n > uint64(len(r.b)) {
			r.fail(errEnds)
		} else {
			r.skip(int(n))
		}
		return "", 0
	case formStrp:
		from = texts.str
	case formLineStrp:
	default:
		r.fail(fmt.Errorf("the form %#x", form))
		return "", 0
	}
	at := r.offset(wide)
	if at >= uint64(len(from)) {
		r.fail(fmt.Errorf("a name at %d of %d bytes", at, len(from)))
		return "", 0
	}
	s := reader{b: from[at:]}
	return s.text(), 0
}
