package trace

import (
	"bytes"
	"io"
	"os/exec"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// contents is what a zstd tool makes of a file: the data of all frames.
func contents(t *testing.T, file []byte) []byte {
	t.Helper()
	var all []byte
	raw, err := NewRawReader(bytes.NewReader(file), int64(len(file)))
	must(t, err)
	r := open(t, file)
	f := r.frameReader()
	for {
		frame, err := raw.Next()
		if err == io.EOF {
			return all
		}
		must(t, err)
		data, err := f.read(r, &frame.head, nil)
		must(t, err)
		all = append(all, data...)
	}
}

// A trace is a zstd file: every decoder of the format tests it and reads it.
func TestIsZstd(t *testing.T) {
	file := small(t)
	want := contents(t, file)
	z, err := zstd.NewReader(bytes.NewReader(file))
	must(t, err)
	defer z.Close()
	got, err := io.ReadAll(z)
	must(t, err)
	if !bytes.Equal(got, want) {
		t.Errorf("a stream decoder reads %d bytes, want %d", len(got), len(want))
	}
	tool, err := exec.LookPath("zstd")
	if err != nil {
		return // what the tool would say, the decoder above has said
	}
	path := writeFile(t, file)
	if out, err := exec.Command(tool, "-t", path).CombinedOutput(); err != nil {
		t.Errorf("zstd -t: %v: %s", err, out)
	}
	out, err := exec.Command(tool, "-dc", path).Output()
	if err != nil || !bytes.Equal(out, want) {
		t.Errorf("zstd -dc: %v, %d bytes, want %d", err, len(out), len(want))
	}
}

// The seek table is that of zstd's seekable format: its entries are the
// file's frames, and tell where each lies and how long its content is.
func TestSeekTable(t *testing.T) {
	file := small(t)
	foot := file[len(file)-9:]
	if le.Uint32(foot[5:]) != 0x8F92EAB1 || foot[4] != 0 {
		t.Fatalf("footer %x", foot)
	}
	n := int(le.Uint32(foot))
	start := len(file) - 9 - 8*n - 8
	if le.Uint32(file[start:]) != 0x184D2A5E || int(le.Uint32(file[start+4:])) != 8*n+9 {
		t.Fatalf("the table's frame %x", file[start:start+8])
	}
	z, err := zstd.NewReader(nil)
	must(t, err)
	defer z.Close()
	at := 0
	for i := range n {
		entry := file[start+8+8*i:]
		packed, raw := int(le.Uint32(entry)), int(le.Uint32(entry[4:]))
		got, err := z.DecodeAll(file[at:at+packed], nil)
		if err != nil || len(got) != raw {
			t.Fatalf("frame %d: %v, %d bytes, want %d", i, err, len(got), raw)
		}
		at += packed
	}
	if at != start {
		t.Errorf("the frames end at %d, the table begins at %d", at, start)
	}
}
