//go:build linux

package cupti

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"btrace/capture/cupti/fatbin"
	"btrace/capture/ptx/probe"
)

// fakeAssembler is a ptxas that copies its input to its output and says what
// it is told to: of PTX with probes, and of others.
func fakeAssembler(t *testing.T, probed, original string) *Assembler {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ptxas")
	script := `#!/bin/sh
for a in "$@"; do
	case $last in -o) out=$a;; esac
	case $a in *.ptx) in=$a;; --maxrregcount=*) limit=$a;; esac
	last=$a
done
cp "$in" "$out"
if grep -q __btrace_ctl "$in"; then
	cat <<'END'
` + probed + `
END
else
	cat <<'END'
` + original + `
END
fi
`
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return &Assembler{path}
}

// A ptxas that does not know how to use all cores is asked again without.
func TestAssembleOld(t *testing.T) {
	old := filepath.Join(t.TempDir(), "ptxas")
	script := `#!/bin/sh
for a in "$@"; do
	case $a in --split-compile*) echo "ptxas fatal   : Unknown option '-split-compile'"; exit 1;; esac
	case $last in -o) echo old > "$a";; esac
	last=$a
done
`
	if err := os.WriteFile(old, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	code, _, err := Assembler{old}.Assemble(t.Context(), handoffPTX, "sm_90", nil)
	if err != nil || string(code) != "old\n" {
		t.Errorf("%q, %v", code, err)
	}
}

func said(kernel, registers, spills string) string {
	return "ptxas info    : Compiling entry function '" + kernel + "' for 'sm_90'\n    0 bytes stack frame, " + spills + " bytes spill stores, 0 bytes spill loads\nptxas info    : Used " + registers + " registers"
}

// asked is the answer to an image.
func asked(t *testing.T, a *Assembler, image []byte) (*instrumenter, *verdict, string) {
	t.Helper()
	in := newInstrumenter(context.Background(), newSiteTable(7), &Options{Assembler: a})
	v, note := in.image(image, &Image{Door: DoorModuleLoadData, Name: "a.ptx"}, RoleCUPTI, device{9, 0, 64 << 10})
	return in, v, note
}

func TestImages(t *testing.T) {
	in, v, _ := asked(t, fakeAssembler(t, said("handoff", "40", "0"), said("handoff", "30", "0")), handoffPTX)
	if v.answer.Action != ActionReplace || !bytes.Contains(v.image, []byte(probe.ControlName)) {
		t.Errorf("answer %+v", v.answer)
	}
	if why := in.why("quiet"); why != noBarriers {
		t.Errorf("a kernel without barriers is left alone because %s", why)
	}
	again, _ := in.image(handoffPTX, &Image{}, RoleCUPTI, device{9, 0, 64 << 10})
	if again.answer != v.answer {
		t.Errorf("the same image is answered %+v, then %+v", v.answer, again.answer)
	}

	in, v, _ = asked(t, fakeAssembler(t, said("handoff", "255", "16"), said("handoff", "30", "0")), handoffPTX)
	if v.answer.Action != ActionOriginal || in.why("handoff") != "its instrumented code spills registers (16 bytes stored, 0 loaded)" {
		t.Errorf("answer %+v, because %s", v.answer, in.why("handoff"))
	}
	in, v, _ = asked(t, fakeAssembler(t, said("handoff", "72", "0"), said("handoff", "30", "0")), handoffPTX)
	if v.answer.Action != ActionOriginal || !strings.Contains(in.why("handoff"), "72 registers a thread, the original 30") {
		t.Errorf("answer %+v, because %s", v.answer, in.why("handoff"))
	}

	// Code that the shim had assembled is known by its number, whatever ptxas
	// wrote it.
	before13, err := os.ReadFile("testdata/handoff-12.8.cubin")
	if err != nil {
		t.Fatal(err)
	}
	if id, ok := moduleNumber(before13); !ok || id != 0x500000001 {
		t.Errorf("module number %#x, %v", id, ok)
	}

	// Without ptxas, or with one that is too old, the driver assembles.
	_, v, note := asked(t, nil, handoffPTX)
	if v.answer.Action != ActionReplace || v.image[len(v.image)-1] != 0 || !strings.Contains(note, "no ptxas") {
		t.Errorf("answer %+v, note %q", v.answer, note)
	}
	old := &Assembler{filepath.Join(t.TempDir(), "ptxas")}
	script := "#!/bin/sh\necho \"ptxas x.ptx, line 1; fatal   : Unsupported .version 8.0; current version is '7.0'\"\nexit 255\n"
	if err := os.WriteFile(old.Path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, v, note := asked(t, old, handoffPTX); v.answer.Action != ActionReplace || !strings.Contains(note, "is older than the program's PTX") {
		t.Errorf("answer %+v, note %q", v.answer, note)
	}
	if _, v, _ := asked(t, &Assembler{"/bin/false"}, handoffPTX); v.answer.Action != ActionOriginal || v.answer.Reason != "instrumented: ptxas: exit status 1" {
		t.Errorf("answer %+v", v.answer)
	}
}

// Instrumented code is limited to the original's registers where it can do with
// them, and not where it spills.
func TestImagesLimited(t *testing.T) {
	ptx := bytes.Replace(handoffPTX, []byte(".version 8.0"), []byte(".version 9.0"), 1)
	for spills, limited := range map[string]bool{"0": true, "8": false} {
		a := fakeAssembler(t, said("handoff", "40", "0"), said("handoff", "38", "0"))
		script, err := os.ReadFile(a.Path)
		if err != nil {
			t.Fatal(err)
		}
		tight := "if grep -q maxnreg \"$in\"; then cat <<'END'\n" + said("handoff", "40", spills) + "\nEND\nexit 0\nfi\nif grep -q __btrace_ctl"
		script = bytes.Replace(script, []byte("if grep -q __btrace_ctl"), []byte(tight), 1)
		if err := os.WriteFile(a.Path, script, 0o700); err != nil {
			t.Fatal(err)
		}
		in, v, _ := asked(t, a, ptx)
		if v.answer.Action != ActionReplace || bytes.Contains(v.image, []byte(".maxnreg 40")) != limited {
			t.Errorf("if it spills %s bytes: answer %+v, because %s\n%s", spills, v.answer, in.why("handoff"), v.image)
		}
	}
}

func TestImagesLeftAlone(t *testing.T) {
	for name, image := range map[string][]byte{
		"nothing":   {},
		"no code":   []byte("no code at all"),
		"an ELF":    []byte("\x7fELF and no more"),
		"other PTX": bytes.Replace(handoffPTX, []byte("sm_90"), []byte("sm_100"), 1),
		"bad PTX":   []byte(".version 8.0\n.target sm_90\n.address_size 64\n.entry k() { nonsense; }\n"),
	} {
		if _, v, _ := asked(t, nil, image); v.answer.Action != ActionOriginal || v.answer.Reason == "" || strings.Contains(v.answer.Reason, "\n") {
			t.Errorf("%s: answer %+v", name, v.answer)
		}
	}
	in := newInstrumenter(context.Background(), newSiteTable(7), &Options{})
	if v, _ := in.image(handoffPTX, &Image{Door: DoorLinkAddData}, RoleCUPTI, device{9, 0, 64 << 10}); v.answer.Action != ActionOriginal || !strings.Contains(v.answer.Reason, "linked") {
		t.Errorf("answer %+v", v.answer)
	}
}

// The Sanitizer's way gets a table for the cubin that it asks about, unless no
// kernel of it is to be recorded.
func TestPatched(t *testing.T) {
	entries, err := os.ReadFile("fatbin/testdata/default.fatbin")
	if err != nil {
		t.Fatal(err)
	}
	parts, err := fatbin.Read(entries)
	if err != nil {
		t.Fatal(err)
	}
	code, err := parts[0].Payload()
	if err != nil {
		t.Fatal(err)
	}
	for _, chosen := range []bool{true, false} {
		in := newInstrumenter(context.Background(), newSiteTable(7), &Options{Kernels: func(name string) bool { return chosen && name == "handoff" }})
		v, _ := in.image(code, &Image{Door: DoorModuleLoad}, RoleSanitizer, device{9, 0, 64 << 10})
		if (v.answer.Action == ActionReplace) != chosen || (len(v.image) > 0) != chosen {
			t.Errorf("answer %+v with a table of %d bytes, if its kernel is chosen: %v", v.answer, len(v.image), chosen)
		}
		if chosen && in.sites.module(v.answer.Module).entries["handoff"] == nil {
			t.Error("its kernel is not known")
		}
	}
}

// A module that cannot be loaded is not taken for one that is.
func TestUnload(t *testing.T) {
	in, v, _ := asked(t, nil, handoffPTX)
	in.unload(v.answer.Module, "CUDA_ERROR_INVALID_IMAGE")
	if in.sites.find("handoff") != nil || !strings.Contains(in.why("handoff"), "CUDA_ERROR_INVALID_IMAGE") {
		t.Errorf("its kernels are not recorded because %s", in.why("handoff"))
	}
}
