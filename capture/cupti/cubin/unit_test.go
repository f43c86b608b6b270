package cubin

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// program sets an address, then gives rows at 0 (line 7), 0x20 (line 9, of
// file 2 in version 2 and file 1 in version 5, inlined at the first), and ends
// at 0x40.
var program = []byte{
	0, 9, opSetAddress, 0, 0, 0, 0, 0, 0, 0, 0,
	opAdvanceLine, 6, opCopy,
	opSetFile, 2,
	0, 3, opInlinedCall, 1, 0,
	opAdvancePC, 0x20, opAdvanceLine, 2, opCopy,
	opAdvancePC, 0x20,
	0, 1, opEndSequence,
}

// makeUnit is a unit of a DWARF version around the program.
func makeUnit(version int) []byte {
	var h []byte // after header_length
	h = append(h, 1)
	if version >= 4 {
		h = append(h, 1)
	}
	h = append(h, 1, 0xfb, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1)
	if version < 5 {
		h = append(h, "/src\x00\x00k.cu\x00\x01\x00\x00in.h\x00\x00\x00\x00\x00"...)
	} else {
		h = append(h, 1, contentPath, formLineStrp, 2, 1, 0, 0, 0, 6, 0, 0, 0)
		h = append(h, 2, contentPath, formString, contentDir, formUdata, 3)
		h = append(h, "k.cu\x00\x00k.cu\x00\x00in.h\x00\x01"...)
	}
	b := le.AppendUint16(nil, uint16(version))
	if version == 5 {
		b = append(b, 8, 0)
	}
	b = le.AppendUint32(b, uint32(len(h)))
	b = append(append(b, h...), program...)
	return append(le.AppendUint32(nil, uint32(len(b))), b...)
}

func lines(b []byte) (string, error) {
	f := &File{Functions: []Function{{Name: "k", Size: 0x100, section: 3}}}
	u, next, err := readUnit(b, 0, names{line: []byte("\x00/src\x00/include\x00")})
	if err != nil {
		return "", err
	}
	at := uint64(next) - uint64(len(program)) + 3
	if err := u.run(newTable(f), map[uint64]place{at: {section: 3, offset: 0x10}}); err != nil {
		return "", err
	}
	var s []string
	for _, r := range f.Functions[0].Lines {
		s = append(s, fmt.Sprintf("%#x %s:%d %s:%d", r.PC, r.At.File, r.At.Line, r.In.File, r.In.Line))
	}
	return strings.Join(s, "\n"), nil
}

func TestVersions(t *testing.T) {
	for v, header := range map[int]string{2: "in.h", 3: "in.h", 4: "in.h", 5: "/include/in.h"} {
		want := "0x10 /src/k.cu:7 /src/k.cu:7\n0x30 /src/k.cu:7 " + header + ":9\n0x50 :0 :0"
		got, err := lines(makeUnit(v))
		if err != nil || got != want {
			t.Errorf("version %d: error %v, rows\n%s\nwant\n%s", v, err, got, want)
		}
	}
}

func TestDamagedUnits(t *testing.T) {
	whole := makeUnit(5)
	for n := range whole {
		if _, err := lines(whole[:n]); err == nil {
			t.Errorf("cut after %d of %d bytes: no error", n, len(whole))
		}
	}
	inlined := makeUnit(2)
	inlined[len(inlined)-len(program)+19] = 2 // its row is the next one
	for _, c := range []struct {
		b    []byte
		want string
	}{
		{makeUnit(6), "a line table of DWARF version 6: 2 to 5 are known"},
		{inlined, "an inlined call at row 2 of 1"},
		{binary.LittleEndian.AppendUint32(nil, 1<<31), "2147483648 bytes, but only 0 are left"},
	} {
		if _, err := lines(c.b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

func TestNoCubin(t *testing.T) {
	for _, c := range []struct {
		image []byte
		want  string
	}{
		{nil, "reading a cubin of 0 bytes"},
		{[]byte("\x7fELF"), "reading a cubin of 4 bytes"},
		{host(t), "an ELF file for machine 62"},
	} {
		if f, err := Read(c.image); err == nil || f != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// host is the header of an x86-64 program.
func host(t *testing.T) []byte {
	b := append([]byte(nil), load(t, "plain.cubin")...)
	le.PutUint16(b[18:], uint16(elf.EM_X86_64))
	return b
}

func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.cubin")
	if err != nil || len(files) == 0 {
		f.Fatal("no test data")
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, image []byte) {
		c, err := Read(image)
		if c == nil {
			if err == nil {
				t.Fatal("neither a file nor an error")
			}
			return
		}
		for i := range c.Functions {
			fn := &c.Functions[i]
			for _, r := range fn.Lines {
				if r.PC >= fn.Size {
					t.Errorf("%s: a row at %#x of %#x bytes", fn.Name, r.PC, fn.Size)
				}
			}
		}
	})
}

func FuzzUnit(f *testing.F) {
	for v := 2; v <= 5; v++ {
		f.Add(makeUnit(v))
	}
	f.Fuzz(func(_ *testing.T, b []byte) { lines(b) })
}

func FuzzListing(f *testing.F) {
	for _, name := range []string{"lineinfo.sass", "debug.sass"} {
		f.Add(load(f, name))
	}
	f.Fuzz(func(_ *testing.T, b []byte) { ParseListing(b) })
}
