package cubin

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
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

func read(t testing.TB, name string) *File {
	t.Helper()
	f, err := Read(load(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The functions' needs are those that cuobjdump -res-usage prints.
func TestResources(t *testing.T) {
	f := read(t, "lineinfo.cubin")
	want := regexp.MustCompile(`Function (\w+):\s+REG:(\d+) STACK:(\d+) SHARED:(\d+)`).FindAllStringSubmatch(string(load(t, "lineinfo.resources")), -1)
	if len(want) != 2 || len(f.Functions) != 2 {
		t.Fatalf("%d functions, cuobjdump has %d, want 2", len(f.Functions), len(want))
	}
	for _, w := range want {
		fn := f.Function(w[1])
		if fn == nil || !fn.Kernel {
			t.Fatalf("%s: no such kernel", w[1])
		}
		if got := fmt.Sprint(fn.Registers, fn.Stack, fn.Shared); got != strings.Join(w[2:5], " ") {
			t.Errorf("%s: registers, stack, shared memory %s, want %s", w[1], got, w[2:5])
		}
	}
	if f.Relocatable || !read(t, "relocatable.cubin").Relocatable {
		t.Error("relocatable code is not told from other code")
	}
	// Without optimisation there are functions that kernels call.
	kernels := 0
	debug := read(t, "debug.cubin")
	for _, fn := range debug.Functions {
		if fn.Kernel {
			kernels++
		}
	}
	if kernels != 2 || len(debug.Functions) <= 2 {
		t.Errorf("%d kernels of %d functions, want 2 of more", kernels, len(debug.Functions))
	}
}

// The lines of all instructions are those that nvdisasm -g prints.
func TestLines(t *testing.T) {
	f := read(t, "lineinfo.cubin")
	var (
		fn   *Function
		want Position
		n    int
	)
	file := regexp.MustCompile(`^//## File "(.*)", line (\d+)`)
	code := regexp.MustCompile(`^/\*([0-9a-f]{4})\*/`)
	s := bufio.NewScanner(bytes.NewReader(load(t, "lineinfo.lines")))
	for s.Scan() {
		line := strings.TrimSpace(s.Text())
		if name, ok := strings.CutPrefix(line, ".text."); ok {
			fn, want = f.Function(strings.TrimSuffix(name, ":")), Position{}
		} else if m := file.FindStringSubmatch(line); m != nil {
			l, _ := strconv.Atoi(m[2])
			want = Position{File: m[1], Line: l}
		} else if m := code.FindStringSubmatch(line); m != nil {
			pc, _ := strconv.ParseUint(m[1], 16, 64)
			got, ok := fn.Position(pc)
			if !ok || got.In != want {
				t.Errorf("%s %#x: line %+v, want %+v", fn.Name, pc, got.In, want)
			}
			n++
		}
	}
	if n < 90 {
		t.Errorf("only %d instructions were compared", n)
	}
}

// Inlined code has the line of the call in the kernel.
func TestInlined(t *testing.T) {
	f := read(t, "lineinfo.cubin")
	listing, err := ParseListing(load(t, "lineinfo.sass"))
	if err != nil {
		t.Fatal(err)
	}
	source := string(load(t, "../../fatbin/testdata/handoff.cu"))
	lines := strings.Split(source, "\n")
	for _, c := range []struct {
		kernel   string
		op       Op
		nth      int
		at, in   string // what stands in the lines
		sameFile bool
	}{
		{"relay", OpBarSync, 0, "meetTwice();", "asm volatile(\"bar.sync %0, 64;\"", true},
		{"relay", OpBarSync, 1, "meetTwice();", "asm volatile(\"bar.sync %0, 64;\"", true},
		{"relay", OpBarSync, 2, "__syncthreads();", "__syncthreads();", true},
		{"handoff", OpBarArrive, 0, "bar.arrive 1, 64;", "bar.arrive 1, 64;", true},
		{"handoff", OpBarRed, 0, "__syncthreads_count", "__syncthreads_count", true},
		{"handoff", OpWarpSync, 2, "__syncwarp();", "", false},
		{"handoff", OpMbarrierWait, 0, ": \"=r\"(done)", ": \"=r\"(done)", true},
	} {
		var found []Instruction
		for _, i := range listing[c.kernel] {
			if i.Op == c.op {
				found = append(found, i)
			}
		}
		if len(found) <= c.nth {
			t.Errorf("%s: %d instructions %v, want more than %d", c.kernel, len(found), c.op, c.nth)
			continue
		}
		row, ok := f.Function(c.kernel).Position(found[c.nth].PC)
		if !ok || filepath.Base(row.At.File) != "handoff.cu" || !strings.Contains(lines[row.At.Line-1], c.at) {
			t.Errorf("%s, %s: at %+v, want the line with %s", c.kernel, found[c.nth].Text, row.At, c.at)
		}
		if same := row.In.File == row.At.File; same != c.sameFile || same && !strings.Contains(lines[row.In.Line-1], c.in) {
			t.Errorf("%s, %s: in %+v, want the line with %s", c.kernel, found[c.nth].Text, row.In, c.in)
		}
	}
}

func TestNoLines(t *testing.T) {
	fn := read(t, "plain.cubin").Function("handoff")
	if row, ok := fn.Position(0x140); ok {
		t.Errorf("a cubin without a line table has a line: %+v", row)
	}
	fn = read(t, "lineinfo.cubin").Function("handoff")
	if row, ok := fn.Position(fn.Size); ok {
		t.Errorf("after the function there is a line: %+v", row)
	}
}

func TestListing(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"lineinfo.sass", `
			handoff 0100 mbarrier: SYNCS.EXCH.64 URZ, [UR6], UR4
			handoff 0140 bar.sync 0 0: BAR.SYNC.DEFER_BLOCKING 0x0
			handoff 0170 bar.warp.sync: WARPSYNC.ALL
			handoff 0190 bar.sync 1 64: BAR.SYNC.DEFER_BLOCKING 0x1, 0x40
			handoff 01e0 mbarrier wait: SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R7+URZ], R0
			handoff 0210 bar.warp.sync: WARPSYNC.ALL
			handoff 0240 bar.arrive 1 64: BAR.ARV 0x1, 0x40
			handoff 0270 mbarrier: SYNCS.ARRIVE.TRANS64.A1T0 R2, [R7+URZ], RZ
			handoff 02e0 bar.warp.sync: WARPSYNC.ALL
			handoff 0310 bar.red 0 0 POPC: BAR.RED.POPC.DEFER_BLOCKING 0x0, P0
			relay 00d0 bar.sync 1 64: BAR.SYNC.DEFER_BLOCKING 0x1, 0x40
			relay 00e0 bar.sync 2 64: BAR.SYNC.DEFER_BLOCKING 0x2, 0x40
			relay 00f0 bar.sync 0 0: BAR.SYNC.DEFER_BLOCKING 0x0`},
		{"debug.sass", `
			relay 0260 bar.sync -1 64: BAR.SYNC.DEFER_BLOCKING R6, 0x40
			relay 02c0 bar.sync -1 64: BAR.SYNC.DEFER_BLOCKING R3, 0x40
			relay 02e0 bar.sync 0 0: BAR.SYNC.DEFER_BLOCKING 0x0
			handoff 05a0 bar.sync 0 0: BAR.SYNC.DEFER_BLOCKING 0x0
			handoff 0620 bar.arrive 1 64: BAR.ARV 0x1, 0x40
			handoff 0890 bar.sync 1 64: BAR.SYNC.DEFER_BLOCKING 0x1, 0x40
			__syncthreads_count 0030 bar.red 0 0 POPC: BAR.RED.POPC.DEFER_BLOCKING 0x0, P0`},
	} {
		listing, err := ParseListing(load(t, c.file))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, name := range []string{"relay", "handoff", "__syncthreads_count"} {
			for _, i := range listing[name] {
				line := fmt.Sprintf("%s %04x %v", name, i.PC, i.Op)
				switch i.Op {
				case OpBarSync, OpBarArrive, OpBarRed:
					line += fmt.Sprintf(" %d %d", i.Barrier, i.Threads)
					if i.Result != "" {
						line += " " + i.Result
					}
				default:
					if strings.HasPrefix(c.file, "debug") {
						continue
					}
				}
				got = append(got, line+": "+i.Text)
			}
		}
		if g := strings.Join(got, "\n"); !sameLines(g, c.want) {
			t.Errorf("%s:\n%s", c.file, g)
		}
	}
	for _, c := range []struct{ code, want string }{
		{"      @!P0 BAR.RED.AND.DEFER_BLOCKING 0x2, 0x80, P1 ;", "bar.red 2 128 AND"},
		{" BAR.SYNC.DEFER_BLOCKING R4, R5 ;", "bar.sync -1 -1 "},
		{" UCGABAR_ARV ;", "cluster arrive -1 -1 "},
		{" UTMALDG.2D [UR8], [UR4], desc[UR6] ;", "bulk copy -1 -1 "},
	} {
		i, ok := parseInstruction(c.code)
		if got := fmt.Sprint(i.Op, " ", i.Barrier, " ", i.Threads, " ", i.Result); !ok || got != c.want {
			t.Errorf("%q: %s, want %s", c.code, got, c.want)
		}
	}
	if _, err := ParseListing([]byte("        /*0000*/                   NOP ;\n")); err == nil {
		t.Error("an instruction outside a function is no error")
	}
}

// sameLines compares without the order of the functions and the indentation.
func sameLines(got, want string) bool {
	count := make(map[string]int)
	for line := range strings.Lines(got) {
		count[strings.TrimSpace(line)]++
	}
	for line := range strings.Lines(want) {
		if line = strings.TrimSpace(line); line != "" {
			count[line]--
		}
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}
