package rules

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"btrace/trace"
)

func TestThreads(t *testing.T) {
	l := &trace.Launch{Block: trace.Dim{72, 1, 1}}
	for _, tt := range []struct {
		lanes Lanes
		want  string
	}{
		{Lanes{Warp: 1, Mask: ^uint32(0)}, "w1"},
		{Lanes{Warp: 2, Mask: 0xff}, "w2"}, // the last warp has 8 lanes
		{Lanes{Warp: 2, Mask: 0x7f}, "w2:l0-6"},
		{Lanes{Warp: 0, Mask: 0xff}, "w0:l0-7"},
		{Lanes{Warp: 0, Mask: 1}, "w0:l0"},
		{Lanes{Warp: 0, Mask: 1 << 31}, "w0:l31"},
		{Lanes{Warp: 0, Mask: 0xf0000003}, "w0:l0-1 w0:l28-31"},
		{Lanes{CTA: 7, Warp: 0, Mask: 3}, "cta7/w0:l0-1"},
		{Lanes{Warp: 900, Mask: ^uint32(0)}, "w900"}, // beyond the block: a broken launch line
		{Lanes{Warp: 0, Mask: 0}, ""},
	} {
		if got := strings.Join(Threads([]Lanes{tt.lanes}, 0, l), " "); got != tt.want {
			t.Errorf("Threads(%+v) = %q, want %q", tt.lanes, got, tt.want)
		}
	}
}

// The names stand for exactly the lanes that were given.
func TestThreadsCoverTheMask(t *testing.T) {
	form := regexp.MustCompile(`^w5(?::l(\d+)(?:-(\d+))?)?$`)
	rapid.Check(t, func(t *rapid.T) {
		mask := rapid.Uint32().Draw(t, "mask")
		var got uint32
		for _, name := range Threads([]Lanes{{Warp: 5, Mask: mask}}, 0, &trace.Launch{Block: trace.Dim{1024}}) {
			m := form.FindStringSubmatch(name)
			if m == nil {
				t.Fatalf("%q is not of the form", name)
			}
			first, last := 0, 31
			if m[1] != "" {
				first, _ = strconv.Atoi(m[1])
				last = first
			}
			if m[2] != "" {
				last, _ = strconv.Atoi(m[2])
			}
			for lane := first; lane <= last; lane++ {
				got |= 1 << lane
			}
		}
		if got != mask {
			t.Fatalf("%08x came out as %08x", mask, got)
		}
	})
}

func ExampleThreads() {
	l := &trace.Launch{Block: trace.Dim{64}}
	lanes := []Lanes{{CTA: 0, Warp: 0, Mask: 0xffffffff}, {CTA: 1, Warp: 1, Mask: 0x11}}
	fmt.Println(Threads(lanes, 0, l))
	// Output: [w0 cta1/w1:l0 cta1/w1:l4]
}
