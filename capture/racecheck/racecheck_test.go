package racecheck_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"btrace/capture/racecheck"
	"btrace/replay"
	"btrace/trace"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// imported is the trace of a log, and the same in the interchange form.
func imported(t testing.TB, log io.Reader, o racecheck.Options) (*trace.Reader, string, racecheck.Contents, error) {
	t.Helper()
	var file bytes.Buffer
	w, err := trace.NewWriter(&file, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := racecheck.Import(log, w, o)
	if err != nil {
		return nil, "", found, err
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := trace.NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := trace.ExportNDJSON(context.Background(), &text, r, trace.Query{}); err != nil {
		t.Fatal(err)
	}
	return r, text.String(), found, nil
}

// The logs are parts of what compute-sanitizer 2025.3.1 printed of programs on
// an H100.
func TestRealLogs(t *testing.T) {
	flat := func(grid, block uint32) racecheck.Options {
		return racecheck.Options{Kernel: "k", Grid: trace.Dim{grid, 1, 1}, Block: trace.Dim{block, 1, 1}}
	}
	for _, tt := range []struct {
		name             string
		opt              racecheck.Options
		entries, reports uint64
	}{
		{"producer-consumer", racecheck.Options{}, 18, 5},
		{"mbarriers", flat(1, 64), 24, 2},
		{"divergent", racecheck.Options{Kernel: "shapes", Grid: trace.Dim{2, 2, 1}, Block: trace.Dim{8, 4, 3}}, 11, 1},
		{"copies", flat(1, 160), 25, 5},
		{"cluster", racecheck.Options{Grid: trace.Dim{8, 1, 1}, Block: trace.Dim{128, 1, 1}, Cluster: trace.Dim{4, 1, 1}}, 19, 1},
	} {
		log, err := os.ReadFile(filepath.Join("testdata", tt.name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		if !racecheck.Looks(log) {
			t.Errorf("%s: does not look like a log", tt.name)
		}
		r, text, found, err := imported(t, bytes.NewReader(log), tt.opt)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		golden := filepath.Join("testdata", tt.name+".ndjson")
		if *update {
			if err := os.WriteFile(golden, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if text != string(want) {
			t.Errorf("%s differs; got:\n%s", golden, text)
		}
		if found != (racecheck.Contents{Entries: tt.entries, Reports: tt.reports}) {
			t.Errorf("%s: %+v", tt.name, found)
		}
		// Nothing is claimed of a kernel by such a recording.
		rep, err := replay.Check(context.Background(), r, replay.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if rep.Verdict != replay.Incomplete {
			t.Errorf("%s: verdict %s", tt.name, rep.Verdict)
		}
		for _, f := range rep.Findings {
			if f.Rule != "trace-gap" {
				t.Errorf("%s: %s", tt.name, f.Message)
			}
		}
	}
}

const banner = "========= COMPUTE-SANITIZER\n"

// barrier is an entry of warp 1 of CTA 3.
const barrier = "========= Barrier called by threads starting at (32,0,0) in block (3,0,0), (active mask: 0xff) at k(int, char *)+0x2b0 in app.cu:36\n"

// marks are the lines of the events, less what all have.
func marks(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if _, rest, ok := strings.Cut(line, `"launch":0,`); ok {
			out.WriteString(rest)
		}
	}
	return out.String()
}

func TestForms(t *testing.T) {
	const where = `"cta":3,"warp":1,"seq":0,"lanes":"000000ff",`
	for _, tt := range []struct{ name, log, want string }{
		{"the manual's form", barrier, `"ns":0,` + where + `"text":"barrier","file":"app.cu","line":36,"pc":688}`},
		{"no line", strings.Replace(barrier, " in app.cu:36", "", 1), `"ns":0,` + where + `"text":"barrier in k(int, char *)","pc":688}`},
		{"no place", strings.Replace(barrier, " at k(int, char *)+0x2b0 in app.cu:36", "", 1), `"ns":0,` + where + `"text":"barrier"}`},
		{"a path with blanks", strings.Replace(barrier, "app.cu", "/my code in C++/a:b+0x1.cu", 1), `"ns":0,` + where + `"text":"barrier","file":"/my code in C++/a:b+0x1.cu","line":36,"pc":688}`},
		{"another prefix", "## COMPUTE-SANITIZER\n" + strings.Replace(barrier, "=========", "##", 1) + barrier, `"ns":0,` + where + `"text":"barrier","file":"app.cu","line":36,"pc":688}`},
		{"a line of the program before it", "50 % done" + barrier, `"ns":0,` + where + `"text":"barrier","file":"app.cu","line":36,"pc":688}`},
		{"Windows", strings.ReplaceAll(barrier, "\n", "\r\n"), `"ns":0,` + where + `"text":"barrier","file":"app.cu","line":36,"pc":688}`},
		{
			"a barrier that is not known yet", strings.Replace(strings.Replace(barrier, "Barrier", "Tensor\xff barrier try", 1), "0xff)", "0xff), barrier address: 0x400, slot: 7", 1),
			`"ns":0,` + where + "\"text\":\"Tensor\ufffd barrier try mbar:0x400, slot: 7\",\"file\":\"app.cu\",\"line\":36,\"pc\":688}",
		},
		{
			"a deadlock, as the manual has it", strings.Replace(strings.Replace(barrier, "Barrier", "Deadlock detected in Cuda::barrier wait", 1), "0xff)", "0xff), barrier address: 0x0", 1),
			`"ns":0,` + where + `"text":"deadlock detected: mbar.wait mbar:0x0","file":"app.cu","line":36,"pc":688}`,
		},
		{
			"masks", strings.Replace(barrier, "Barrier", "Syncwarp", 1) + "=========         Sync mask of thread 1: 0x3\n=========         Sync mask of thread 0: 0x3\nhello\n" +
				"========= Sync mask of thread 7: 0x80\n========= Sync mask of thread 7: 0xc0\n",
			`"ns":0,"cta":3,"warp":1,"seq":0,"lanes":"00000003","text":"syncwarp mask=00000003","file":"app.cu","line":36,"pc":688}` + "\n" +
				`"ns":1,"cta":3,"warp":1,"seq":1,"lanes":"00000080","text":"syncwarp mask=000000c0","file":"app.cu","line":36,"pc":688}` + "\n" +
				`"ns":2,"cta":3,"warp":1,"seq":2,"lanes":"0000007c","text":"syncwarp","file":"app.cu","line":36,"pc":688}`,
		},
		{"a line that is cut", barrier + barrier[:60], `"ns":0,` + where + `"text":"barrier","file":"app.cu","line":36,"pc":688}`},
		{"masks of nothing", "========= Sync mask of thread 1: 0x3\n" + barrier, `"ns":0,` + where + `"text":"barrier","file":"app.cu","line":36,"pc":688}`},
	} {
		_, text, _, err := imported(t, strings.NewReader(banner+tt.log), racecheck.Options{})
		if err != nil || marks(text) != tt.want+"\n" {
			t.Errorf("%s: %v\n%s\nwant\n%s", tt.name, err, marks(text), tt.want)
		}
	}
}

func TestRefuses(t *testing.T) {
	in := func(old, now string) string { return banner + strings.Replace(barrier, old, now, 1) }
	sized := racecheck.Options{Grid: trace.Dim{2, 4, 1}, Block: trace.Dim{48, 2, 1}}
	for _, tt := range []struct {
		log  string
		opt  racecheck.Options
		want string
	}{
		{"", racecheck.Options{}, "there is no entry of --racecheck-trace-sync in it"},
		{banner + "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n", racecheck.Options{}, "there is no entry of --racecheck-trace-sync in it"},
		{in("(32,0,0)", "(32,0)"), racecheck.Options{}, `line 2: cannot read the entry: "Barrier called by threads starting at (32,0) in block (3,0,0), (active mask: 0xff) at k(int, char *)+0x2b0 in app.cu:36"`},
		{in("(32,0,0)", "(32,0,4294967296)"), racecheck.Options{}, "line 2: cannot read the entry"},
		{in("(32,0,0)", "32,0,0"), racecheck.Options{}, "line 2: cannot read the entry"},
		{in("in block", "of block"), racecheck.Options{}, "line 2: cannot read the entry"},
		{in("(3,0,0)", "(3,0,-1)"), racecheck.Options{}, "line 2: cannot read the entry"},
		{in("0xff)", "0x1ffffffff)"), racecheck.Options{}, "line 2: cannot read the entry"},
		{in("0xff)", "0x0)"), racecheck.Options{}, "line 2: cannot read the entry"},
		{in("0xff)", "ff)"), racecheck.Options{}, "line 2: cannot read the entry"},
		{in("0xff)", "0xff), barrier address: 400"), racecheck.Options{}, "line 2: cannot read the entry"},
		{in("0xff)", "0xff), something"), racecheck.Options{}, "line 2: cannot read the entry"},
		{in("0xff)", "0xff); more"), racecheck.Options{}, "line 2: cannot read the entry"},
		{in("Barrier", ""), racecheck.Options{}, "line 2: cannot read the entry"},
		{in("(32,0,0)", "(8,0,0)"), racecheck.Options{}, "line 2: thread (8,0,0) is not the first of a warp"},
		{in("(32,0,0)", "(0,1,0)"), racecheck.Options{}, "line 2: thread (0,1,0): the log does not say how large the block is: give its size, such as --block 4x2x1"},
		{in("(3,0,0)", "(3,0,1)"), racecheck.Options{}, "line 2: block (3,0,1): the log does not say how large the grid is: give its size, such as --grid 4x2x1"},
		{in("(3,0,0)", "(1,4,0)"), sized, "line 2: block (1,4,0) is not in a grid of 2x4x1"},
		{in("(32,0,0) in block (3", "(16,1,0) in block (1"), racecheck.Options{Grid: trace.Dim{2, 1, 1}, Block: trace.Dim{40, 2, 1}}, "line 2: thread (16,1,0) is not the first of a warp in a block of 40x2x1"},
		{in("3,0,0", "0,0,0"), racecheck.Options{Grid: trace.Dim{1 << 16, 1 << 16, 2}, Block: trace.Dim{64, 1, 1}}, "line 2: a grid of 65536x65536x2 is larger than there can be"},
		{in("Barrier", "Syncwarp") + "========= Sync mask of thread 32: 0x1\n" + barrier, racecheck.Options{}, `line 3: cannot read the entry: "32: 0x1"`},
		{in("Barrier", "Syncwarp") + "========= Sync mask of thread 8: 0x1\n" + barrier, racecheck.Options{}, "line 3: lane 8 is not active in this syncwarp"},
		{banner + barrier[:70] + strings.Repeat("x", 2<<20) + "\n" + barrier, racecheck.Options{}, "line 2: an entry of more than 1048576 bytes"},
	} {
		_, _, _, err := imported(t, strings.NewReader(tt.log), tt.opt)
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) || len(err.Error()) > 500 {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}

// A warp of a block in three dimensions has the number that CUDA gives it.
func TestLinearNumbers(t *testing.T) {
	log := banner + strings.Replace(barrier, "(32,0,0) in block (3,0,0)", "(16,1,0) in block (1,2,0)", 1)
	_, text, _, err := imported(t, strings.NewReader(log), racecheck.Options{Grid: trace.Dim{2, 4, 1}, Block: trace.Dim{48, 2, 1}})
	if err != nil || !strings.Contains(text, `"cta":5,"warp":2,`) {
		t.Errorf("%v\n%s", err, text)
	}
}

// endless is a line that does not end.
type endless struct{ n int }

func (e *endless) Read(p []byte) (int, error) {
	if e.n <= 0 {
		return 0, io.EOF
	}
	e.n -= len(p)
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// What a program prints may have lines of any length.
func TestLongLinesOfTheProgram(t *testing.T) {
	log := io.MultiReader(strings.NewReader(banner+barrier), &endless{256 << 20}, strings.NewReader("\n"+barrier))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, text, found, err := imported(t, log, racecheck.Options{})
	if err != nil || found.Entries != 2 || strings.Count(text, `"text":"barrier"`) != 2 {
		t.Errorf("%v, %+v\n%.300s", err, found, text)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
		t.Errorf("it allocated %d MB", used>>20)
	}
}

// A line may be long, but not slow.
func TestHostileLines(t *testing.T) {
	entry, _, _ := strings.Cut(barrier, " at k(")
	for _, tail := range []string{
		" at " + strings.Repeat("+0x", 300_000), " at " + strings.Repeat("+0x1 ", 200_000), strings.Repeat(", a: b", 150_000) + " at k",
	} {
		if _, _, _, err := imported(t, strings.NewReader(banner+entry+tail+"\n"+barrier), racecheck.Options{}); err != nil {
			t.Error(err)
		}
	}
	var masks strings.Builder
	masks.WriteString(strings.Replace(barrier, "Barrier", "Syncwarp", 1))
	for i := range 100_000 {
		fmt.Fprintf(&masks, "========= Sync mask of thread 1: 0x%x\n", i)
	}
	if _, _, found, err := imported(t, strings.NewReader(banner+masks.String()), racecheck.Options{}); err != nil || found.Entries != 2 {
		t.Errorf("%v, %+v", err, found)
	}
}

// Whatever a log says, it is a trace, or an error of one line.
func FuzzImport(f *testing.F) {
	for _, name := range []string{"mbarriers", "copies", "cluster", "divergent"} {
		log, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(log[:min(len(log), 2000)]), uint32(0), uint32(0))
	}
	f.Add(banner+barrier+strings.Replace(barrier, "Barrier", "Syncwarp", 1)+"========= Sync mask of thread 1: 0x3\n", uint32(4), uint32(16))
	f.Fuzz(func(t *testing.T, log string, grid, block uint32) {
		o := racecheck.Options{Grid: trace.Dim{grid, 2, 3}, Block: trace.Dim{block, 4, 1}}
		if grid == 0 {
			o.Grid = trace.Dim{}
		}
		if block == 0 {
			o.Block = trace.Dim{}
		}
		racecheck.Looks([]byte(log))
		_, text, found, err := imported(t, strings.NewReader(log), o)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of several lines: %q", err)
			}
			return
		}
		if n := strings.Count(text, `"type":"mark"`); uint64(n) < found.Entries {
			t.Errorf("%d marks of %d entries", n, found.Entries)
		}
	})
}
