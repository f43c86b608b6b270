package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"btrace/capture/emu"
	"btrace/capture/ptx"
	"btrace/trace"
)

const ptxHead = ".version 8.0\n.target sm_90\n.address_size 64\n"

// btraceIn runs a command in a folder of its own that has the file k.ptx.
func btraceIn(t *testing.T, ctx context.Context, src string, args ...string) (code int, stderr string) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("k.ptx", []byte(src), 0o666); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code = run(ctx, args, strings.NewReader(""), &out, &errs)
	return code, errs.String()
}

func TestNotPTX(t *testing.T) {
	for _, c := range []struct{ file, src, want string }{
		{"k.ptx", ".version 8.0\n", ""},
		{"k", "// a comment\n", ""},
		{"k.ptx", "", "is empty"},
		{"k.ptx", " \n\t\n", "is empty"},
		{"k.cubin", "\x7fELF\x02\x01\x01", "is machine code"},
		{"k.fatbin", "\x50\xed\x55\xba\x01\x00", "is machine code"},
		{"k.bin", ".version\x00 8.0", "is a binary file"},
		{"k.cu", "__global__ void k() {}", "is a source file"},
	} {
		err := notPTX(c.file, []byte(c.src))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.file+": "+c.want)) {
			t.Errorf("%s %q: %v, want %q", c.file, c.src, err, c.want)
		}
	}
}

// A file that would take all of the memory is not read to its end.
func TestLongPTX(t *testing.T) {
	t.Chdir(t.TempDir())
	f, err := os.Create("k.ptx")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(1 << 40); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code := run(context.Background(), []string{"record", "k.ptx"}, strings.NewReader(""), &out, &errs)
	if want := "btrace: k.ptx: is longer than the 64 MiB that a PTX file may have\n"; code != exitFailed || errs.String() != want {
		t.Errorf("exit code %d, said %q, want %q", code, errs.String(), want)
	}
}

// The error for an unknown entry lists only so many.
func TestManyEntries(t *testing.T) {
	var src strings.Builder
	src.WriteString(ptxHead)
	for i := range 1000 {
		fmt.Fprintf(&src, ".entry kernel%03d() { ret; }\n", i)
	}
	m, err := ptx.Parse("k.ptx", []byte(src.String()))
	if err != nil {
		t.Fatal(err)
	}
	_, err = findEntry(m, "")
	if err == nil || !strings.HasSuffix(err.Error(), ", kernel039 and 960 more") {
		t.Errorf("%v", err)
	}
}

// What a file says reaches the terminal as printable text.
func TestPTXCannotDrawOnTheTerminal(t *testing.T) {
	const evil = "\x1b]0;evil\a\x1b[31m"
	for _, src := range []string{
		ptxHead + ".file 1 \"" + evil + "\"\n.entry k()\n{\n.loc 1 7 3\nbar.sync 1, 64;\nret;\n}\n",
		ptxHead + ".entry k() { " + evil + " }\n",
		evil,
	} {
		_, stderr := btraceIn(t, context.Background(), src, "record", "k.ptx", "--block", "32")
		if stderr == "" || strings.ContainsAny(stderr, "\x1b\a") {
			t.Errorf("said %q", stderr)
		}
	}
}

// interruptAt is a context that is cancelled when it has been asked so often
// whether it is.
type interruptAt struct {
	context.Context
	left   *atomic.Int64
	cancel context.CancelFunc
}

func (c interruptAt) Err() error {
	if c.left.Add(-1) == 0 {
		c.cancel()
	}
	return c.Context.Err()
}

// An interrupt ends a kernel of PTX; what it did until then is a trace, and
// what its buffers hold is dumped.
func TestRecordPTXInterrupted(t *testing.T) {
	const src = ptxHead + `
.entry k(.param .u64 out)
{
	.reg .b32 %r;
	.reg .b64 %d;
	ld.param.u64 %d, [out];
	st.global.u8 [%d], 120;
	bar.sync 0;
$loop:
	add.u32 %r, %r, 1;
	bra $loop;
}
`
	parent, cancel := context.WithCancel(context.Background())
	defer cancel()
	left := new(atomic.Int64)
	left.Store(20)
	code, stderr := btraceIn(t, interruptAt{parent, left, cancel}, src,
		"record", "k.ptx", "--block", "64", "--arg", "buf:1", "--dump", "0=out.txt", "--steps", "1000000000000")
	if want := "btrace: interrupted: what kernel k did until then is in k.zst\n"; code != exitFailed || stderr != want {
		t.Errorf("exit code %d, said %q, want %q", code, stderr, want)
	}
	if b, err := os.ReadFile("out.txt"); err != nil || string(b) != "x" {
		t.Errorf("dumped %q, %v", b, err)
	}
	if _, ends := marks(t); len(ends) != 1 || ends[0] != trace.OutcomeUnknown {
		t.Errorf("ended as %q", ends)
	}
}

func TestStuckAt(t *testing.T) {
	at := func(cta, warp, lanes uint32, op string, b trace.Barrier, line uint32) emu.Stuck {
		return emu.Stuck{CTA: cta, Warp: warp, Lanes: lanes, Op: op, Barrier: b, Line: line, File: "k.ptx"}
	}
	named := func(id uint64) trace.Barrier { return trace.Barrier{Kind: trace.BarrierNamed, ID: id} }
	none := trace.Barrier{}
	for _, c := range []struct {
		threads uint32
		stuck   []emu.Stuck
		want    []string
	}{
		{32, nil, nil},
		{128, []emu.Stuck{
			at(0, 0, math.MaxUint32, "bar.sync", named(1), 41), at(0, 1, math.MaxUint32, "bar.sync", named(1), 41),
			at(0, 2, math.MaxUint32, "bar.sync", named(2), 44), at(0, 3, math.MaxUint32, "bar.sync", named(1), 41),
		}, []string{"cta 0 w0-w1 w3 at bar.sync bar:1, k.ptx:41", "cta 0 w2 at bar.sync bar:2, k.ptx:44"}},
		// The last warp has eight lanes.
		{40, []emu.Stuck{
			at(3, 0, math.MaxUint32, "work", none, 7), at(3, 1, 0xff, "work", none, 7),
		}, []string{"cta 3 w0-w1 running, k.ptx:7"}},
		// A part of a warp; every warp has a syncwarp of its own.
		{64, []emu.Stuck{
			at(0, 0, 1, "syncwarp", trace.Barrier{Kind: trace.BarrierWarp}, 7), at(0, 0, 6, "atomic", none, 8),
			at(0, 1, 1, "syncwarp", trace.Barrier{Kind: trace.BarrierWarp, ID: 1}, 7),
		}, []string{"cta 0 w0-w1 lanes 00000001 at syncwarp, k.ptx:7", "cta 0 w0 lanes 00000006 at a memory access, k.ptx:8"}},
		// CTAs that are at the same, and one that is not.
		{32, []emu.Stuck{
			at(0, 0, math.MaxUint32, "cluster.wait", trace.Barrier{Kind: trace.BarrierCluster}, 7),
			at(1, 0, math.MaxUint32, "cluster.wait", trace.Barrier{Kind: trace.BarrierCluster}, 7),
			at(2, 0, math.MaxUint32, "enter", none, 0),
			at(5, 0, math.MaxUint32, "cluster.wait", trace.Barrier{Kind: trace.BarrierCluster}, 7),
		}, []string{"cta 0-1 5 w0 at cluster.wait cluster, k.ptx:7", "cta 2 w0 not begun"}},
	} {
		if got := stuckAt(c.stuck, c.threads); !slices.Equal(got, c.want) {
			t.Errorf("%v:\n%q, want\n%q", c.stuck, got, c.want)
		}
	}
}

func TestQuoted(t *testing.T) {
	for in, want := range map[string]string{
		"kernel.ptx": "kernel.ptx", "--arg": "--arg", "buf:@in/x.bin": "buf:@in/x.bin", "_Z1kPi": "_Z1kPi",
		"": "''", "my kernel.ptx": "'my kernel.ptx'", "it's": `'it'\''s'`, "$x": "'$x'", "a;b": "'a;b'", "größe": "größe",
	} {
		if got := quoted(in); got != want {
			t.Errorf("quoted(%q) = %s, want %s", in, got, want)
		}
	}
}
