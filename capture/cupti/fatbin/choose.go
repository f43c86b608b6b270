package fatbin

import (
	"bytes"
	"debug/elf"
	"fmt"
	"strings"

	"btrace/capture/cupti/cubin"
)

// Choose finds the PTX that may be instrumented and loaded in place of an
// image, on a device of a compute capability: the PTX whose target is that of
// the machine code which the driver would run, with the same suffix. PTX for
// another target can be other code (#if __CUDA_ARCH__), and is not taken.
// Without machine code that runs, the driver compiles PTX: then it is that.
//
// The entry is nil where there is none to take, and the reason says in words
// why; it is empty otherwise.
func Choose(entries []Entry, major, minor int) (ptx *Entry, reason string) {
	device := Arch{Major: major, Minor: minor}
	if len(entries) == 0 {
		return nil, "the image holds no code"
	}
	if entries[len(entries)-1].Container > 0 {
		return nil, "the image is several fat binaries, which the driver links"
	}
	runs := best(entries, ELF, device, Arch.runsOn)
	if reason := linked(entries, runs); reason != "" {
		return nil, reason
	}
	from := best(entries, PTX, device, Arch.compilesFor)
	if runs != nil {
		from = best(entries, PTX, runs.Arch, func(a, b Arch) bool { return a == b })
	}
	switch {
	case from == nil && runs == nil:
		return nil, fmt.Sprintf("nothing in the image runs on %v: it holds %s", device, list(entries))
	case from == nil:
		return nil, fmt.Sprintf("the driver would run its machine code for %v, for which it holds no PTX: it holds %s", runs.Arch, list(entries))
	case count(entries, from) > 1:
		return nil, fmt.Sprintf("the image holds PTX for %v more than once", from.Arch)
	case !from.Bits64:
		return nil, "the PTX is for 32-bit addresses"
	case from.Obfuscated:
		return nil, "the PTX is obfuscated"
	}
	return from, ""
}

// best is the entry of a kind that the driver takes for the device.
func best(entries []Entry, kind Kind, device Arch, fits func(Arch, Arch) bool) *Entry {
	var b *Entry
	for i := range entries {
		if e := &entries[i]; e.Kind == kind && fits(e.Arch, device) && (b == nil || b.Arch.before(e.Arch)) {
			b = e
		}
	}
	return b
}

func count(entries []Entry, like *Entry) int {
	n := 0
	for i := range entries {
		if entries[i].Kind == like.Kind && entries[i].Arch == like.Arch {
			n++
		}
	}
	return n
}

// linked says why code cannot be taken out of the image, or put back into it,
// alone: it is linked with other code before it runs, or came of that.
func linked(entries []Entry, runs *Entry) string {
	const relocatable = "the image is relocatable code (-rdc=true), which is linked before it runs"
	reason := ""
	for i := range entries {
		switch e := &entries[i]; e.Kind {
		case NVVM:
			return "the image is for optimisation at link time (-dlto)"
		case PTX:
			for _, o := range strings.Fields(e.Options) {
				if o == "--compile-only" || o == "-c" {
					reason = relocatable
				}
			}
		}
	}
	if runs == nil || reason != "" {
		return reason
	}
	b, err := runs.Payload()
	switch {
	case err != nil:
		return err.Error()
	case len(b) < 20 || !bytes.HasPrefix(b, []byte(elf.ELFMAG)):
		return fmt.Sprintf("the cubin for %v is no ELF file", runs.Arch)
	case elf.Type(le.Uint16(b[16:])) == elf.ET_REL:
		return relocatable
	case runs.Identifier == "lto" || madeByLinker(b):
		return "the image is device-linked code (-rdc=true or -dlto), whose PTX is not in it"
	}
	return ""
}

// madeByLinker reports whether the note about its tools names the linker.
func madeByLinker(image []byte) bool {
	f, err := cubin.ELF(image)
	if err != nil {
		return false
	}
	note := f.Section(".note.nv.tkinfo")
	if note == nil || note.Type == elf.SHT_NOBITS || note.Size > 1<<20 {
		return false
	}
	b, err := note.Data()
	return err == nil && bytes.Contains(b, []byte("\x00nvlink\x00"))
}

// list is the entries in words: "PTX for sm_90, cubin for sm_80".
func list(entries []Entry) string {
	var b strings.Builder
	for i := range entries {
		switch {
		case i == 8:
			return b.String() + ", and more"
		case i > 0:
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%v for %v", entries[i].Kind, entries[i].Arch)
	}
	return b.String()
}
