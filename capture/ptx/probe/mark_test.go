package probe_test

import (
	"slices"
	"strings"
	"testing"

	"btrace/capture/emu"
	"btrace/capture/ptx/probe"
	"btrace/trace"
)

// mark is a mark as btrace.cuh has it.
func mark(code, a, b, c string) string {
	return "{\n\t.reg .b32 __btrace_mark;\n\t.reg .b64 __btrace_a, __btrace_b, __btrace_c;\n\t" +
		"mov.b32 __btrace_mark, " + code + ";\n\tmov.b64 __btrace_a, " + a + ";\n\tmov.b64 __btrace_b, " + b + ";\n\tmov.b64 __btrace_c, " + c + ";\n\t}\n"
}

// TestMarks: what a kernel says of itself.
func TestMarks(t *testing.T) {
	p := kernel("", `
	.reg .b64 %s<6>;
	mov.u64 %s0, $text;
	cvta.global.u64 %s1, %s0;
	mov.u64 %s2, $grid;
	cvta.global.u64 %s3, %s2;
	mov.u32 %r2, mb;
	cvt.u64.u32 %d2, %r2;
	cvta.shared.u64 %d3, %d2;
	cvt.u64.u32 %d4, %r0;
	shr.u64 %d4, %d4, 4;
	mov.b64 %d5, 64;
`+mark("0x62740006", "%s1", "0", "0")+
		mark("0x62740001", "%d3", "0", "0")+mark("0x62740002", "%d3", "0", "0")+
		mark("0x62740003", "%s3", "%d4", "%d5")+mark("0x62740004", "%s3", "%d4", "0")+mark("0x62740005", "%s3", "%d4", "0")+
		mark("0x62740003", "%d4", "3", "0"), 32, 1, 1,
		".global .align 1 .b8 $text[6] = {104, 105, 10, 35, 0};", ".global .align 1 .b8 $grid[5] = {103, 114, 105, 100};")
	m, err := probe.Rewrite(p.src, probe.Options{File: p.file})
	if err != nil {
		t.Fatal(err)
	}
	src := withRing(t, m.PTX, 16)
	res, _ := p.run(t, src, p.cfg)
	if res.Outcome != trace.OutcomeCompleted {
		t.Fatalf("%s: %s %v", res.Outcome, res.Fault, res.Stuck)
	}
	var got []string
	var n normal
	events := lanesOf(eventsOf(m, readRing(t, m, res.Variables["ring_chunks"], p.cfg.Grid, p.cfg.Cluster, res.Outcome)), func(e *trace.Event, l lane) string {
		s, _, _ := strings.Cut(n.text(e, l, e.Kind.String(), ""), " |")
		return s + " " + e.Group + e.Text
	})
	got = events[lane{0, 0, 17}]
	want := []string{
		"enter ", "mark hi #", "completion.begin addr=0x400 ", "completion.end addr=0x400 ",
		"group.arrive count=64 phase=1 grid", "group.wait phase=1 grid", "group.done phase=1 grid", "group.arrive phase=1 group", "exit ",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestMarksOfCUDA: the marks of btrace.cuh are found in what nvcc makes of
// them, all of them, with their operands.
func TestMarksOfCUDA(t *testing.T) {
	p := program{
		file: "marks.ptx", entry: "k", src: read(t, "testdata/marks/marks.ptx"), args: []string{"buf:64"},
		cfg: emu.Config{Grid: trace.Dim{1, 1, 1}, Cluster: trace.Dim{1, 1, 1}, Block: trace.Dim{64, 1, 1}},
	}
	m, err := probe.Rewrite(p.src, probe.Options{File: p.file})
	if err != nil {
		t.Fatal(err)
	}
	res, _ := p.run(t, withRing(t, m.PTX, 16), p.cfg)
	if res.Outcome != trace.OutcomeCompleted {
		t.Fatalf("%s: %s %v", res.Outcome, res.Fault, res.Stuck)
	}
	var n normal
	events := lanesOf(eventsOf(m, readRing(t, m, res.Variables["ring_chunks"], p.cfg.Grid, p.cfg.Cluster, res.Outcome)), func(e *trace.Event, l lane) string {
		s, _, _ := strings.Cut(n.text(e, l, e.Kind.String(), ""), " |")
		return strings.TrimSpace(s + " " + e.Group + e.Text)
	})
	want := []string{
		"enter", "mbar.init addr=0x400 count=64", "bar.sync bar=0 count=0 aligned=true", "bar.done bar=0", "mark here",
		"mbar.arrive addr=0x400 count=1 phase=0", "completion.begin addr=0x400", "completion.end addr=0x400",
		"mbar.wait addr=0x400 phase=0", "mbar.done addr=0x400 phase=0",
		"group.arrive count=32 phase=1 tiles", "group.wait phase=1 tiles", "group.done phase=1 tiles", "group.arrive phase=0 grid", "exit",
	}
	if got := events[lane{0, 0, 0}]; !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got, want := events[lane{0, 1, 31}], slices.Delete(slices.Clone(want), 1, 2); !slices.Equal(got, want) {
		t.Errorf("the last thread: got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
