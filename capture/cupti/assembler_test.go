package cupti

import (
	"reflect"
	"slices"
	"testing"

	"btrace/capture/ptx/probe"
	"btrace/trace"
)

// What ptxas 13.0 prints.
const verbose = `ptxas info    : 0 bytes gmem, 72 bytes cmem[3]
ptxas info    : Compiling entry function '_Z6squarePf' for 'sm_90'
ptxas info    : Function properties for _Z6squarePf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 24 registers, used 1 barriers, 1040 bytes smem
ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored to maintain minimum register requirements in function 'gemm'
ptxas info    : Compiling entry function 'gemm' for 'sm_90'
ptxas info    : Function properties for gemm
    88 bytes stack frame, 84 bytes spill stores, 96 bytes spill loads
ptxas info    : Used 255 registers, used 2 barriers, 88 bytes cumulative stack size
`

func TestReport(t *testing.T) {
	got := ParseReport([]byte(verbose))
	want := Report{Entries: map[string]Use{"_Z6squarePf": {Registers: 24}, "gemm": {255, 84, 96}}, LostSetMax: true}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	got = ParseReport([]byte("ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient register resources\n"))
	if !got.Serialized {
		t.Error("wgmma is serialized, and nobody noticed")
	}
}

func FuzzParseReport(f *testing.F) {
	f.Add([]byte(verbose))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := ParseReport(b)
		if len(r.Entries) > len(b)/20 {
			t.Errorf("%d entries in %d bytes", len(r.Entries), len(b))
		}
	})
}

func TestRefusal(t *testing.T) {
	for said, want := range map[string]AssemblyError{
		"ptxas /tmp/x/in.ptx, line 12; error   : Unknown symbol 'x'\nptxas fatal   : Ptx assembly aborted due to errors\n": {Line: "error   : Unknown symbol 'x'"},
		"ptxas /tmp/x/in.ptx, line 1; fatal   : Unsupported .version 9.9; current version is '9.0'\nptxas fatal   : Ptx assembly aborted due to errors\n": {
			Line: "Ptx assembly aborted due to errors", Version: true},
		"": {Line: "exit status 255"},
	} {
		if got := *refusal([]byte(said), errExit{}).(*AssemblyError); got != want {
			t.Errorf("%q: %+v, want %+v", said, got, want)
		}
	}
}

type errExit struct{}

func (errExit) Error() string { return "exit status 255" }

func TestOptions(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil,
		" -lineinfo  -O3 --maxrregcount=64 -arch sm_80 -o /etc/passwd ": {"-lineinfo", "-O3", "--maxrregcount=64"},
		"-maxrregcount 32 -g --return-at-end":                           {"-maxrregcount", "32", "-g", "--return-at-end"},
		"-maxrregcount":                                                 nil,
	} {
		if got := options(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// The figures are those of NVIDIA's occupancy calculator for an SM with 65,536
// registers.
func TestResidentWarps(t *testing.T) {
	for registers, want := range map[int]int{32: 64, 33: 48, 40: 48, 41: 40, 64: 32, 65: 28, 96: 20, 128: 16, 168: 12, 255: 8} {
		if got := min(residentWarps(registers, 64<<10), 64); got != want {
			t.Errorf("%d registers: %d warps, want %d", registers, got, want)
		}
	}
	for warps, want := range map[int]int{32: 64, 16: 128, 8: 255, 48: 40} {
		if got := mostRegisters(warps, 64<<10); got != want {
			t.Errorf("%d warps: %d registers, want %d", warps, got, want)
		}
	}
}

// Instrumented code is used only where every launch of the original can still
// be made, and a grid that waits for all of its CTAs still is resident.
func TestUnfit(t *testing.T) {
	for _, c := range []struct {
		name string
		e    probe.Entry
		was  *Use
		now  Use
		fits bool
	}{
		{"as before", probe.Entry{}, &Use{Registers: 40}, Use{Registers: 40}, true},
		{"1,024 threads fit with 64", probe.Entry{}, &Use{Registers: 40}, Use{Registers: 64}, true},
		{"and not with more", probe.Entry{}, &Use{Registers: 40}, Use{Registers: 65}, false},
		{"its CTAs are small", probe.Entry{ReqNTID: trace.Dim{128, 1, 1}}, &Use{Registers: 40}, Use{Registers: 128}, true},
		{"the original had no more", probe.Entry{}, &Use{Registers: 120}, Use{Registers: 128}, true},
		{"nor less", probe.Entry{}, &Use{Registers: 120}, Use{Registers: 129}, false},
		{"a grid-wide barrier", probe.Entry{Grid: true}, &Use{Registers: 40}, Use{Registers: 48}, false},
		{"and a smaller step", probe.Entry{Grid: true}, &Use{Registers: 33}, Use{Registers: 40}, true},
		{"spills", probe.Entry{}, &Use{Registers: 255}, Use{255, 4, 4}, false},
		{"no more than before", probe.Entry{}, &Use{255, 8, 8}, Use{255, 8, 8}, true},
		{"nobody knows", probe.Entry{}, nil, Use{Registers: 200}, true},
	} {
		if why := unfit(&c.e, c.was, c.now, 64<<10); (why == "") != c.fits {
			t.Errorf("%s: %q", c.name, why)
		}
	}
}
