package fatbin

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func load(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func read(t testing.TB, image []byte) []Entry {
	t.Helper()
	es, err := Read(image)
	if err != nil {
		t.Fatal(err)
	}
	return es
}

func payload(t testing.TB, e *Entry) []byte {
	t.Helper()
	b, err := e.Payload()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What nvcc was asked for is what is found.
func TestEntries(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"none", `
			0 cubin sm_90 v1.8 none "" ""
			0 PTX sm_90 v9.0 none "" ""`},
		{"default", `
			0 cubin sm_90 v1.8 none "" ""
			0 PTX sm_90 v9.0 zstd "" ""`},
		{"size", `
			0 cubin sm_90 v1.8 zstd "" ""
			0 PTX sm_90 v9.0 zstd "" ""`},
		{"speed", `
			0 cubin sm_90 v1.8 none "" ""
			0 PTX sm_90 v9.0 LZ4 "" ""`},
		{"ptx", `
			0 PTX sm_90 v9.0 zstd "" ""`},
		{"several", `
			0 cubin sm_80 v1.8 zstd "" ""
			0 PTX sm_90 v9.0 zstd "" ""
			0 cubin sm_90 v1.8 zstd "" ""
			0 cubin sm_90a v1.8 zstd "" ""`},
		{"options", `
			0 cubin sm_90 v1.8 zstd "handoff.cu" ""
			0 PTX sm_90 v9.0 zstd "handoff.cu" "-O1  -maxrregcount=40 --generate-line-info "`},
		{"debug", `
			0 cubin sm_90 v1.8 zstd "handoff.cu" "" debug
			0 PTX sm_90 v9.0 zstd "handoff.cu" " -g --dont-merge-basicblocks --return-at-end " debug`},
		{"relocatable", `
			0 cubin sm_90 v1.8 zstd "" ""
			0 PTX sm_90 v9.0 zstd "" "--compile-only  "`},
		{"lto", `
			0 PTX sm_90 v9.0 zstd "" "--compile-only  "
			0 NVVM sm_90 v1.65 zstd "" "-ftz=0 -prec_div=1 -prec_sqrt=1 -fmad=1 " obfuscated`},
		{"family", `
			0 cubin sm_100f v1.8 zstd "" ""
			0 PTX sm_100f v9.0 zstd "" ""
			0 cubin sm_120 v1.8 zstd "" ""
			0 PTX sm_120 v9.0 zstd "" ""
			0 cubin sm_100a v1.8 zstd "" ""
			0 PTX sm_100a v9.0 zstd "" ""`},
	} {
		t.Run(c.file, func(t *testing.T) {
			var got []string
			for _, e := range read(t, load(t, c.file+".fatbin")) {
				if !e.Bits64 {
					t.Errorf("%v for %v has not 64 bits", e.Kind, e.Arch)
				}
				line := fmt.Sprintf("%d %v %v v%d.%d %v %q %q", e.Container, e.Kind, e.Arch, e.Version[0], e.Version[1], e.Compression, e.Identifier, e.Options)
				if e.Debug {
					line += " debug"
				}
				if e.Obfuscated {
					line += " obfuscated"
				}
				got = append(got, line)
			}
			var want []string
			for line := range strings.Lines(strings.TrimSpace(c.want)) {
				want = append(want, strings.TrimSpace(line))
			}
			if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
				t.Errorf("entries:\n%s\nwant:\n%s", g, w)
			}
		})
	}
}

// One kernel, compressed in every way, is the same kernel.
func TestPayload(t *testing.T) {
	want := read(t, load(t, "none.fatbin"))
	cubin, ptx := payload(t, &want[0]), payload(t, &want[1])
	if !bytes.HasPrefix(cubin, []byte("\x7fELF")) || !bytes.Contains(ptx, []byte(".visible .entry handoff(")) || !bytes.HasSuffix(ptx, []byte("}\n\n")) {
		t.Fatalf("the cubin begins with %q, the PTX ends with %q", cubin[:8], ptx[len(ptx)-8:])
	}
	for _, file := range []string{"default", "size", "speed"} {
		es := read(t, load(t, file+".fatbin"))
		if !bytes.Equal(payload(t, &es[1]), ptx) {
			t.Errorf("%s: the PTX is another", file)
		}
		// The note in the cubin has no options in it that differ, so the
		// files are the same to the byte.
		if !bytes.Equal(payload(t, &es[0]), cubin) {
			t.Errorf("%s: the cubin is another", file)
		}
	}
}

func TestChoose(t *testing.T) {
	none := load(t, "none.fatbin")
	es := read(t, none)
	cubin, ptx := payload(t, &es[0]), payload(t, &es[1])
	for _, c := range []struct {
		name         string
		image        []byte
		major, minor int
		want, reason string
	}{
		{"machine code and PTX for the device", none, 9, 0, "sm_90", ""},
		{"PTX only", load(t, "ptx.fatbin"), 9, 0, "sm_90", ""},
		{"PTX only, later device", load(t, "ptx.fatbin"), 12, 0, "sm_90", ""},
		{"PTX only, earlier device", load(t, "ptx.fatbin"), 8, 9, "", "nothing in the image runs on sm_89: it holds PTX for sm_90"},
		{"machine code of another major version", none, 10, 0, "sm_90", ""},
		{"suffix a", load(t, "specific.fatbin"), 9, 0, "sm_90a", ""},
		{"suffix a without its PTX", load(t, "several.fatbin"), 9, 0, "",
			"the driver would run its machine code for sm_90a, for which it holds no PTX: it holds cubin for sm_80, PTX for sm_90, cubin for sm_90, cubin for sm_90a"},
		{"machine code for an older device of the family", load(t, "several.fatbin"), 8, 6, "",
			"the driver would run its machine code for sm_80, for which it holds no PTX: it holds cubin for sm_80, PTX for sm_90, cubin for sm_90, cubin for sm_90a"},
		{"the suffix a goes before f", load(t, "family.fatbin"), 10, 0, "sm_100a", ""},
		{"suffix f on a later device", load(t, "family.fatbin"), 10, 3, "sm_100f", ""},
		{"no suffix beside others", load(t, "family.fatbin"), 12, 1, "sm_120", ""},
		{"suffixes on another device", load(t, "family.fatbin"), 9, 0, "",
			"nothing in the image runs on sm_90: it holds cubin for sm_100f, PTX for sm_100f, cubin for sm_120, PTX for sm_120, cubin for sm_100a, PTX for sm_100a"},
		{"relocatable", load(t, "relocatable.fatbin"), 9, 0, "", "the image is relocatable code (-rdc=true), which is linked before it runs"},
		{"LTO", load(t, "lto.fatbin"), 9, 0, "", "the image is for optimisation at link time (-dlto)"},
		{"device-linked", load(t, "linked.fatbin"), 9, 0, "", "the image is device-linked code (-rdc=true or -dlto), whose PTX is not in it"},
		{"linked by LTO", load(t, "ltolinked.fatbin"), 9, 0, "", "the image is device-linked code (-rdc=true or -dlto), whose PTX is not in it"},
		{"several containers", load(t, "whole.fatbin"), 9, 0, "", "the image is several fat binaries, which the driver links"},
		{"a bare cubin", cubin, 9, 0, "", "the driver would run its machine code for sm_90, for which it holds no PTX: it holds cubin for sm_90"},
		{"PTX text", ptx, 9, 0, "sm_90", ""},
		{"PTX text with a NUL", append(bytes.Clone(ptx), 0, 'x'), 9, 0, "sm_90", ""},
		{"PTX text of another device", bytes.Replace(ptx, []byte("sm_90"), []byte("sm_90a"), 1), 10, 0, "", "nothing in the image runs on sm_100: it holds PTX for sm_90a"},
		{"PTX text for 32 bits", []byte(".version 6.0\n.target sm_60\n.address_size 32\n"), 9, 0, "", "the PTX is for 32-bit addresses"},
		{"PTX twice", append(bytes.Clone(none[:8]), twice(none)...), 9, 0, "", "the image holds PTX for sm_90 more than once"},
		{"nothing", none[:16:16], 9, 0, "", "the image holds no code"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "nothing" {
				c.image = append(bytes.Clone(c.image[:8]), make([]byte, 8)...)
			}
			e, reason := Choose(read(t, c.image), c.major, c.minor)
			if (e != nil) != (reason == "") || reason != c.reason {
				t.Fatalf("entry %v, reason %q, want %q", e, reason, c.reason)
			}
			if e != nil && (e.Kind != PTX || e.Arch.String() != c.want) {
				t.Errorf("chose the %v for %v, want PTX for %s", e.Kind, e.Arch, c.want)
			}
		})
	}
}

// twice is a container, from its size on, whose entries are there two times.
func twice(container []byte) []byte {
	body := container[containerHeader:]
	b := le.AppendUint64(nil, uint64(2*len(body)))
	return append(append(b, body...), body...)
}

func TestText(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{".version 8.0\n.target sm_90a\n.address_size 64\n", "sm_90a v8.0 debug=false 64=true"},
		{"//\n// a comment\n/* .version 1.0 */ .version 8.7 // 9\n.target sm_100f, debug\n.address_size 64", "sm_100f v8.7 debug=true 64=true"},
		{"\n\n.version 7.1\n.target sm_80,texmode_unified,debug\n.address_size 32\n", "sm_80 v7.1 debug=true 64=false"},
		{".version 7.1\n.target sm_80, texmode_independent\n.entry k() {}", "sm_80 v7.1 debug=false 64=true"},
		{"", "the image is no fat binary, no cubin, and no PTX: it does not begin with .version"},
		{"PK\x03\x04", "the image is no fat binary, no cubin, and no PTX: it does not begin with .version"},
		{".version x\n.target sm_80", `PTX of the version "x"`},
		{".version 8.0\n.entry k", "PTX without a .target after its .version"},
		{".version 8.0\n.target gfx90", `PTX: the target "gfx90": want one like sm_90 or sm_90a`},
		{".version 8.0\n.target sm_+90", `PTX: the target "sm_+90": want one like sm_90 or sm_90a`},
		{".version 8.0\n.target ", `PTX: the target "": want one like sm_90 or sm_90a`},
	} {
		es, err := Read([]byte(c.text))
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			e := es[0]
			got = fmt.Sprintf("%v v%d.%d debug=%t 64=%t", e.Arch, e.Version[0], e.Version[1], e.Debug, e.Bits64)
		}
		if got != c.want {
			t.Errorf("%q:\n%s\nwant\n%s", c.text, got, c.want)
		}
	}
}
