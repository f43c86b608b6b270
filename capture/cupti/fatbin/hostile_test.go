package fatbin

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// put is the image with a number written over part of it.
func put(image []byte, at int, bytes int, x uint64) []byte {
	b := append([]byte(nil), image...)
	for i := range bytes {
		b[at+i] = byte(x >> (8 * i))
	}
	return b
}

func TestDamaged(t *testing.T) {
	size := load(t, "size.fatbin")
	second := read(t, size)[1].Offset - 80 // the entry of the PTX
	entry, left := fmt.Sprintf("the entry at offset %#x of the fat binary: ", second), fmt.Sprint(len(size)-second)
	options := load(t, "options.fatbin")
	last := read(t, options)[1].Offset - 136
	for _, c := range []struct {
		name  string
		image []byte
		want  string
	}{
		{"cut in the header", size[:10], "the fat binary at offset 0x0: 10 bytes are left, its header has 16"},
		{"cut", size[:len(size)-1], "the fat binary at offset 0x0: " + fmt.Sprint(len(size)-16) + " bytes of entries, but only " + fmt.Sprint(len(size)-17) + " are left"},
		{"garbage after it", append(bytes.Clone(size), "   garbage of 16b"...), fmt.Sprintf("the fat binary at offset %#x: ", len(size)) + "it begins with 0x67202020, want 0xba55ed50"},
		{"version", put(size, 4, 2, 2), "the fat binary at offset 0x0: version 2 with a header of 16 bytes: only version 1 with 16 is known"},
		{"a huge container", put(size, 8, 8, 1<<63), "the fat binary at offset 0x0: 9223372036854775808 bytes of entries, but only " + fmt.Sprint(len(size)-16) + " are left"},
		{"an entry that is cut", put(size, 8, 8, uint64(second)), entry + "16 bytes are left, its header has 64"},
		{"a small header", put(size, second+4, 4, 63), entry + "a header of 63 bytes: want 64 to the " + left + " that are left"},
		{"a large header", put(size, second+4, 4, 1<<31), entry + "a header of 2147483648 bytes: want 64 to the " + left + " that are left"},
		{"a large payload", put(size, second+8, 8, 1<<64-1), entry + "a payload of 18446744073709551615 bytes, but only " + fmt.Sprint(len(size)-second-80) + " are left"},
		{"more compressed than there is", put(size, second+16, 4, 1000), entry + "1000 compressed bytes in a payload of " + fmt.Sprint(len(size)-second-80)},
		{"both suffixes", put(size, second+40, 8, 0x308011), entry + "a target with both suffixes, a and f"},
		{"both compressions", put(size, second+40, 8, 0xa011), entry + "compressed by both LZ4 and zstd"},
		{"the arch", put(size, second+28, 4, 0), entry + "the arch 0"},
		{"the identifier", put(options, last+32, 4, 127), "its identifier: 10 bytes at 127 of a header of 136"},
		{"the options", put(options, last+20, 4, 130), "its options stand at 130 of a header of 136 bytes"},
		{"the text of the options", put(options, last+84, 4, 1<<32-1), "its options: 4294967295 bytes at 88 of a header of 136"},
		{"a cubin of another machine", append(append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 11)...), append([]byte{62, 0}, make([]byte, 60)...)...), "an ELF file for machine 62: want 190, CUDA"},
		{"a short cubin", []byte("\x7fELF\x02\x01\x01"), "an ELF file of 7 bytes that is not one of 64 bits, little endian"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(c.image)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// What an entry says of its size is not believed.
func TestBombs(t *testing.T) {
	for _, c := range []struct {
		file string
		size uint64
		want string
	}{
		{"size", MaxPayload + 1, "536870913 bytes when decompressed: at most 536870912 are read"},
		{"size", 1, "bytes of zstd: "},
		{"size", 3000, "bytes came out, want 3000"},
		{"speed", MaxPayload, "bytes cannot come of them"},
		{"speed", 1, "decompressing"},
		{"speed", 3000, "bytes came out, want 3000"},
	} {
		image := load(t, c.file+".fatbin")
		ptx := read(t, image)[1].Offset - 80
		e := read(t, put(image, ptx+56, 8, c.size))[1]
		if _, err := e.Payload(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with a size of %d: error %v, want %q", c.file, c.size, err, c.want)
		}
	}
	// Choose says so, too, where it needs the payload.
	size := load(t, "size.fatbin")
	es := read(t, put(size, containerHeader+entryHeader+20, 8, 0x1122334455667788))
	if e, reason := Choose(es, 9, 0); e != nil || !strings.Contains(reason, "the cubin for sm_90 at offset 0x50: decompressing") {
		t.Errorf("a damaged cubin: entry %v, reason %q", e, reason)
	}
}

func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.fatbin")
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
	f.Add([]byte(".version 8.0\n.target sm_90, debug\n.address_size 64\n"))
	f.Fuzz(func(t *testing.T, image []byte) {
		es, err := Read(image)
		if err != nil {
			return
		}
		for i := range es {
			e := &es[i]
			if e.size <= 1<<20 {
				if b, err := e.Payload(); err == nil && e.Compression != Uncompressed && uint64(len(b)) > e.size {
					t.Errorf("%d bytes of %d", len(b), e.size)
				}
			}
		}
		if e, reason := Choose(es, 9, 0); (e == nil) != (reason != "") {
			t.Errorf("entry %v with the reason %q", e, reason)
		}
	})
}
