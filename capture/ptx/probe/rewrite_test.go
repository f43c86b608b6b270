package probe_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"btrace/capture/ptx"
	"btrace/capture/ptx/probe"
	"btrace/trace"
)

var update = flag.Bool("update", false, "write testdata/golden")

// TestGolden: what probes look like. testdata/golden has kernels, and what
// becomes of them.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.ptx")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			m, err := probe.Rewrite(read(t, file), probe.Options{File: file, Base: 16, Module: 0xb7})
			if err != nil {
				t.Fatal(err)
			}
			got := string(m.PTX)
			for _, s := range m.Sites {
				got += fmt.Sprintf("// site %d: %s line %d of %s, %d slots, short: %v, takes %#x\n", s.Number, s.Op.Kind, s.Op.PC, s.Function, s.Slots, s.Short, s.Takes)
			}
			golden := strings.TrimSuffix(file, ".ptx") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := string(read(t, golden)); got != want {
				t.Errorf("%s differs: go test -run Golden -update, and look at the difference", golden)
			}
		})
	}
}

// TestRefused: what cannot be rewritten, and why.
func TestRefused(t *testing.T) {
	const body = ".entry k() { bar.sync 0; ret; }\n"
	twice, err := probe.Rewrite([]byte(head+body), probe.Options{File: "f.ptx"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, src, want string }{
		{"syntax", "bar.sync", `reading PTX: f.ptx:1:1: expected .version at the begin of the module, found "bar"`},
		{"names", head + ".entry k() { bar.sync %r1; }", "reading PTX: f.ptx:4:23: %r1 is not declared here"},
		{"version", ".version 6.1\n.target sm_70\n.address_size 64\n" + body, "putting probes into f.ptx: it is PTX 6.1: probes need 6.2"},
		{"target", ".version 7.0\n.target sm_61\n.address_size 64\n" + body, "putting probes into f.ptx: its target is sm_61: probes need sm_70"},
		{"no sm", ".version 7.0\n.target compute\n.address_size 64\n" + body, "putting probes into f.ptx: its target is compute: probes need sm_70"},
		{"32 bits", ".version 7.0\n.target sm_70\n.address_size 32\n" + body, "putting probes into f.ptx: it has 32-bit addresses"},
		{"twice", string(twice.PTX), "putting probes into f.ptx: it has probes already"},
		{"registers", head + ".entry k() { .reg .b32 %bt_m; bar.sync 0; }", "putting probes into f.ptx: it has names that begin with %bt_, as those of probes do"},
	} {
		_, err := probe.Rewrite([]byte(c.src), probe.Options{File: "f.ptx"})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	if _, err := probe.Rewrite([]byte(head+body), probe.Options{File: "f.ptx", Base: probe.MaxSite - 1}); err == nil || !strings.Contains(err.Error(), "sites") {
		t.Errorf("more sites than there are numbers: %v", err)
	}
}

// TestEntries: what is said of the kernels of a module.
func TestEntries(t *testing.T) {
	src := head + `
.func f() { barrier.cluster.arrive; ret; }
.entry plain() { ret; }
.entry sync() .maxntid 128 { bar.sync 0; ret; }
.entry calls() .reqntid 64, 2 .reqnctapercluster 2, 1, 1 { call f; ret; }
.entry other() { bar.sync 0; setmaxnreg.inc.sync.aligned.u32 240; wgmma.fence.sync.aligned; ret; }
.entry grid() { .reg .b32 %r; mov.u32 %r, %envreg1; bar.sync 0; ret; }
.entry pointer() { .reg .b64 %d; mov.u64 %d, f; P: .callprototype _(); call %d, P; ret; }
`
	m, err := probe.Rewrite([]byte(src), probe.Options{File: "f.ptx", Kernels: func(name string) bool { return name != "other" }})
	if err != nil {
		t.Fatal(err)
	}
	want := []probe.Entry{
		{Name: "plain", Why: "it has no barrier operations"},
		{Name: "sync", Probed: true, MaxNTID: trace.Dim{128, 1, 1}},
		{Name: "calls", Probed: true, ReqNTID: trace.Dim{64, 2, 1}, Cluster: trace.Dim{2, 1, 1}, Clustered: true},
		{Name: "other", Why: "it is not among the kernels to record", SetMax: true, Wgmma: true},
		{Name: "grid", Probed: true, Grid: true},
		{Name: "pointer", Probed: true, Clustered: true},
	}
	if !reflect.DeepEqual(m.Entries, want) {
		t.Errorf("got\n%+v, want\n%+v", m.Entries, want)
	}
	if m.Arch != "sm_100a" || m.Version != [2]int{8, 7} || m.Next != 2+uint32(len(m.Sites)) {
		t.Errorf("%s %v %d", m.Arch, m.Version, m.Next)
	}
	none, err := probe.Rewrite([]byte(src), probe.Options{File: "f.ptx", Kernels: func(string) bool { return false }})
	if err != nil || string(none.PTX) != src || len(none.Sites) > 0 || none.Next != probe.FirstSite {
		t.Errorf("a module without kernels to record is changed: %v\n%s", err, none.PTX)
	}
}

// TestSitesTravel: sites are the same in another process.
func TestSitesTravel(t *testing.T) {
	m, err := probe.Rewrite(read(t, filepath.Join(data, "corpus/nvcc/tma.ptx")), probe.Options{File: "tma.ptx"})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range m.Sites {
		if s.Number != probe.FirstSite+uint32(i) || m.Site(s.Number) != &m.Sites[i] {
			t.Fatalf("site %d has number %d", i, s.Number)
		}
	}
	if m.Site(m.Next) != nil || m.Site(0) != nil {
		t.Error("there are sites of other numbers")
	}
	var there []probe.Site
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(m.Sites); err != nil {
		t.Fatal(err)
	}
	if err := gob.NewDecoder(&b).Decode(&there); err != nil || !reflect.DeepEqual(there, m.Sites) {
		t.Errorf("by gob: %v", err)
	}
	text, err := json.Marshal(m.Sites)
	if err != nil {
		t.Fatal(err)
	}
	there = nil
	if err := json.Unmarshal(text, &there); err != nil || !reflect.DeepEqual(there, m.Sites) {
		t.Errorf("by JSON: %v", err)
	}
}

// TestSource: sites have the line of the source, and of the PTX.
func TestSource(t *testing.T) {
	src := head + `.file 1 "/home/x/k.cu"
.entry k() {
.loc 1 7 0
bar.sync 0;
ret;
}
`
	m, err := probe.Rewrite([]byte(src), probe.Options{File: "dir/f.ptx"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range m.Sites {
		got = append(got, fmt.Sprintf("%s %s:%d @%d", s.Op.Kind, s.Op.File, s.Op.Line, s.Op.PC))
	}
	const sync, done = "bar.sync k.cu:7 @7", "bar.done k.cu:7 @7" // each long and short
	want := "enter k.cu:7 @5, " + sync + ", " + sync + ", " + done + ", " + done + ", exit k.cu:7 @8"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("%s, want %s", s, want)
	}
	m, err = probe.Rewrite([]byte(strings.Replace(src, ".loc 1 7 0", "", 1)), probe.Options{File: "dir/f.ptx"})
	if err != nil {
		t.Fatal(err)
	}
	if o := m.Sites[1].Op; o.File != "f.ptx" || o.Line != 7 {
		t.Errorf("without .loc %s:%d", o.File, o.Line)
	}
}

// TestClockBehindWait: behind what waits clock64 is not read alone: it would
// be read too early.
func TestClockBehindWait(t *testing.T) {
	for _, wait := range []string{"bar.sync 0;", "barrier.sync 1;", "bar.red.popc.u32 %r1, 1, %p;", "barrier.cluster.wait;", "bar.warp.sync -1;"} {
		m, err := probe.Rewrite([]byte(head+".entry k() {\n.reg .b32 %r1; .reg .pred %p;\nbarrier.cluster.arrive;\n"+wait+"\nret;\n}\n"), probe.Options{File: "f.ptx"})
		if err != nil {
			t.Fatal(err)
		}
		_, behind, _ := strings.Cut(string(m.PTX), wait)
		early, _, _ := strings.Cut(behind, "%clock64")
		if strings.Count(early, "\n") > 3 || !strings.Contains(early, "mov.u32 %bt_t, %clock;") {
			t.Errorf("behind %s:\n%s", wait, behind[:min(len(behind), 300)])
		}
		if !strings.Contains(behind, "sub.u32 %bt_z, %bt_z, %bt_t;") {
			t.Errorf("behind %s nothing needs clock: ptxas leaves it out", wait)
		}
	}
}

// TestConstants: where the module has no constant memory left the control block
// is in global memory.
func TestConstants(t *testing.T) {
	for size, want := range map[int]string{1000: ".visible .const", 65500: ".visible .global"} {
		src := fmt.Sprintf("%s.const .b8 table[%d];\n.entry k() { bar.sync 0; ret; }\n", head, size)
		m, err := probe.Rewrite([]byte(src), probe.Options{File: "f.ptx"})
		if err != nil {
			t.Fatal(err)
		}
		space := strings.Fields(want)[1]
		if !strings.Contains(string(m.PTX), want+" .align 8 .b8 __btrace_ctl[64];") || !strings.Contains(string(m.PTX), "ld"+space+".u64 %bt_u, [__btrace_ctl];") {
			t.Errorf("with %d bytes of constants:\n%s", size, m.PTX)
		}
	}
}

// TestRegisters: a kernel whose registers are known is limited to them, if it
// has no limit of its own, and rare code is called that. Others stay as they
// are.
func TestRegisters(t *testing.T) {
	const pragma = ".pragma \"frequency 1\";"
	for _, c := range []struct{ name, version, directives, body, limit string }{
		{"k", "9.0", "", "", ".maxnreg 64"},
		{"k", "9.0", ".maxntid 128", "", ".maxntid 128\n.maxnreg 64"},
		{"k", "9.0", ".maxnreg 40", "", ".maxnreg 40"},
		{"k", "9.0", ".minnctapersm 2", "", ".minnctapersm 2"},
		{"unknown", "9.0", "", "", ""},
		{"k", "8.8", "", "", ""},
		{"k", "9.0", ".maxntid 128", "setmaxnreg.inc.sync.aligned.u32 240;", ""},
		{"k", "9.0", ".maxntid 128", "wgmma.fence.sync.aligned;", ""},
	} {
		src := fmt.Sprintf(".version %s\n.target sm_90a\n.address_size 64\n.entry %s()\n%s\n{ bar.sync 0; %s ret; }\n", c.version, c.name, c.directives, c.body)
		m, err := probe.Rewrite([]byte(src), probe.Options{File: "f.ptx", Registers: func(kernel string) int {
			if kernel == "k" {
				return 64
			}
			return 0
		}})
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(m.PTX), c.name+"()\n")
		got, _, _ := strings.Cut(after, "\n{")
		want := c.limit
		if want == "" {
			want = c.directives
		}
		if strings.TrimSpace(got) != want || strings.Contains(after, pragma) != (c.limit != "") {
			t.Errorf("%+v: %q, rare code is called so: %v", c, got, strings.Contains(after, pragma))
		}
		if parsed(t, "f.ptx", m.PTX); c.limit != "" && !strings.Contains(after, "$bt_R1:\n\t"+pragma) {
			t.Errorf("%+v:\n%s", c, after)
		}
	}
}

// FuzzRewrite: whatever the input, there is an error or PTX that can be read,
// and that has probes or is the input.
func FuzzRewrite(f *testing.F) {
	for _, pattern := range []string{"../testdata/syntax/*.ptx", data + "/litmus/0[0-4]*.ptx", data + "/corpus/clang/named.ptx", "testdata/*/*.ptx"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			f.Add(read(f, file))
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		m, err := probe.Rewrite(src, probe.Options{File: "f.ptx", Registers: func(string) int { return 64 }})
		if err != nil {
			return
		}
		again, err := ptx.Parse("f.ptx", m.PTX)
		if err == nil {
			err = ptx.Resolve(again)
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, m.PTX)
		}
		if len(m.Sites) == 0 {
			if !bytes.Equal(m.PTX, src) {
				t.Fatalf("changed without a site:\n%s", m.PTX)
			}
			return
		}
		if _, err := probe.Rewrite(m.PTX, probe.Options{File: "f.ptx"}); err == nil {
			t.Fatal("probes were put in twice")
		}
		place := probe.Place{CTA: 3, Grid: trace.Dim{4, 1, 1}, Cluster: trace.Dim{2, 1, 1}}
		var events []trace.Event
		for i := range m.Sites {
			r := probe.Record{Lanes: 0xffff, Operand: 0x7fffffff, Clock: 5}
			r.Values[0], r.Values[1] = 1<<63-1, 1<<63-1
			events = m.Sites[i].Append(events, &r, &place)
		}
		for _, e := range events {
			if spec := e.Kind.Spec(); e.Kind == trace.KindUnknown || spec.Name == "" {
				t.Fatalf("an event of kind %v", e.Kind)
			}
		}
	})
}
