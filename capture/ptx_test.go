package capture

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"btrace/capture/emu"
	"btrace/capture/ptx"
	"btrace/capture/ptx/interp"
	"btrace/replay"
	"btrace/replay/rules"
	"btrace/trace"
)

const litmusDir = "ptx/interp/testdata/litmus"

// rowsOf reads a table of white-space-separated fields, without its comments.
func rowsOf(t testing.TB, file string, fields int) [][]string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		if len(f) < fields {
			t.Fatalf("%s: %q has %d fields", file, line, len(f))
		}
		rows = append(rows, f)
	}
	return rows
}

// list splits a field; - is empty.
func list(field, by string) []string {
	if field == "-" {
		return nil
	}
	return strings.Split(field, by)
}

// compileFile reads and decodes a kernel.
func compileFile(t testing.TB, file, entry string) (*ptx.Module, *interp.Kernel) {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return compileSource(t, file, entry, src)
}

// compileSource decodes a kernel of a file whose text is given.
func compileSource(t testing.TB, file, entry string, src []byte) (*ptx.Module, *interp.Kernel) {
	t.Helper()
	m, err := ptx.Parse(filepath.Base(file), src)
	if err != nil {
		t.Fatal(err)
	}
	if err := ptx.Resolve(m); err != nil {
		t.Fatal(err)
	}
	f := m.Lookup(entry)
	if f == nil {
		t.Fatalf("%s has no entry %s", file, entry)
	}
	k, err := interp.Compile(m, f)
	if err != nil {
		t.Fatal(err)
	}
	return m, k
}

// recordPTX runs a kernel and replays its recording.
func recordPTX(t testing.TB, m *ptx.Module, k *interp.Kernel, cfg emu.Config, args []interp.Arg) (interp.Result, *replay.Report) {
	t.Helper()
	res, r := tracePTX(t, m, k, cfg, args)
	rep, err := replay.Check(context.Background(), r, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return res, rep
}

// tracePTX runs a kernel and opens its recording.
func tracePTX(t testing.TB, m *ptx.Module, k *interp.Kernel, cfg emu.Config, args []interp.Arg) (interp.Result, *trace.Reader) {
	t.Helper()
	var buf bytes.Buffer
	w, err := trace.NewWriter(&buf, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := RunPTX(context.Background(), m, k, cfg, args, w)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := trace.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return res, r
}

// number reads a field.
func number(t testing.TB, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// litmusWords is the values column of the litmus table.
func litmusWords(t *testing.T, field string, n int) []int32 {
	var words []int32
	for _, item := range list(field, ",") {
		vs, times, _ := strings.Cut(item, "*")
		k := 1
		if times != "" {
			k = number(t, times)
		}
		for range k {
			for _, v := range strings.Split(vs, "/") {
				words = append(words, int32(number(t, v)))
			}
		}
	}
	return append(words, make([]int32, max(n-len(words), 0))...)
}

// TestPTXLitmus: the litmus programs end as on the H100, with its values, and
// their recordings replay to the rules that the table demands; under other
// schedules too.
func TestPTXLitmus(t *testing.T) {
	for _, row := range rowsOf(t, filepath.Join(litmusDir, "table.txt"), 10) {
		t.Run(row[1], func(t *testing.T) {
			m, k := compileFile(t, filepath.Join(litmusDir, row[1]), "row")
			threads, ctas := number(t, row[2]), number(t, row[3])
			words := max(8, threads*ctas)
			args := func() []interp.Arg {
				a, err := interp.ParseArg(fmt.Sprintf("buf:%d", 4*words))
				if err != nil {
					t.Fatal(err)
				}
				return []interp.Arg{a}
			}
			for seed := range uint64(20) {
				cfg := emu.Config{Grid: trace.Dim{uint32(ctas)}, Cluster: trace.Dim{uint32(ctas)}, Block: trace.Dim{uint32(threads)}}
				ends := list(row[4], "|")
				if seed > 0 {
					cfg.Schedule, cfg.Seed = emu.Random, seed
					ends = append(ends, list(row[5], "|")...)
				}
				res, rep := recordPTX(t, m, k, cfg, args())
				end := strings.ReplaceAll(string(res.Outcome), " ", "-")
				if !slices.Contains(ends, end) {
					t.Fatalf("seed %d: %s, want %s: %s %v", seed, end, ends, res.Fault, res.Stuck)
				}
				if seed > 0 && strings.Contains(row[9], "paused") {
					continue
				}
				usual := slices.Contains(list(row[4], "|"), end)
				if row[6] != "-" && usual && end == "completed" {
					var got []int32
					for i := range words {
						got = append(got, int32(binary.LittleEndian.Uint32(res.Buffers[0][4*i:])))
					}
					if want := litmusWords(t, row[6], words); !slices.Equal(got, want) {
						t.Errorf("seed %d: %v, want %v", seed, got, want)
					}
				}
				if usual {
					checkRules(t, rep, list(row[7], ","), list(row[8], ","))
				}
			}
		})
	}
}

// checkRules demands findings.
func checkRules(t *testing.T, rep *replay.Report, want, also []string) {
	t.Helper()
	var found []string
	for _, f := range rep.Findings {
		found = append(found, string(f.Rule))
		if f.Severity == rules.Error && !slices.Contains(want, string(f.Rule)) && !slices.Contains(also, string(f.Rule)) {
			t.Errorf("unexpected %s: %s", f.Rule, f.Message)
		}
	}
	for _, r := range want {
		if !slices.Contains(found, r) {
			t.Errorf("no %s among %v", r, found)
		}
	}
}

const corpusDir = "ptx/interp/testdata/corpus"

// TestPTXCorpus: kernels that compilers wrote end as they did on an H100,
// leave what it left in memory, and replay to the verdict that the table
// says.
func TestPTXCorpus(t *testing.T) {
	for _, row := range rowsOf(t, filepath.Join(corpusDir, "table.txt"), 10) {
		t.Run(row[0], func(t *testing.T) {
			m, k := compileFile(t, filepath.Join(corpusDir, row[1]), row[2])
			cfg := emu.Config{
				Grid: dimOf(t, row[3]), Block: dimOf(t, row[4]), Cluster: dimOf(t, row[5]), Shared: number(t, row[6]), Cooperative: row[7] == "1",
			}
			var args []interp.Arg
			rest := row[11:]
			for len(rest) > 0 && rest[0] != "=>" {
				text := strings.Replace(rest[0], "@", "@"+corpusDir+"/", 1)
				a, err := interp.ParseArg(text)
				if err != nil {
					t.Fatal(err)
				}
				args, rest = append(args, a), rest[1:]
			}
			res, rep := recordPTX(t, m, k, cfg, args)
			end, _, _ := strings.Cut(string(res.Outcome), ":")
			want, _, _ := strings.Cut(row[8], ":")
			if end != want {
				t.Fatalf("%s, want %s: %s %v", res.Outcome, row[8], res.Fault, res.Stuck)
			}
			if string(rep.Verdict) != row[9] {
				t.Errorf("verdict %s, want %s: %+v", rep.Verdict, row[9], rep.Findings)
			}
			if root := slices.IndexFunc(rep.Findings, func(f replay.Finding) bool { return f.Root || f.Severity == rules.Error }); row[10] != "-" && (root < 0 || string(rep.Findings[root].Rule) != row[10]) {
				t.Errorf("want %s as the root of %+v", row[10], rep.Findings)
			}
			for len(rest) > 1 {
				rest = rest[1:]
				compareOutput(t, res.Buffers, rest[0])
			}
		})
	}
}

func dimOf(t *testing.T, s string) (d trace.Dim) {
	t.Helper()
	for i, p := range strings.Split(s, ",") {
		d[i] = uint32(number(t, p))
	}
	return d
}

// compareOutput compares a buffer with what the H100 left in it:
// N=FILE,exact or N=FILE,f32~E.
func compareOutput(t *testing.T, buffers [][]byte, spec string) {
	t.Helper()
	arg, how, _ := strings.Cut(spec, "=")
	file, compare, _ := strings.Cut(how, ",")
	want, err := os.ReadFile(filepath.Join(corpusDir, file))
	if err != nil {
		t.Fatal(err)
	}
	got := buffers[number(t, arg)]
	if len(got) != len(want) {
		t.Fatalf("%s: %d bytes, want %d", spec, len(got), len(want))
	}
	typ, tolerance, _ := strings.Cut(compare, "~")
	if typ == "exact" {
		for i := range want {
			if got[i] != want[i] {
				i &^= 3
				t.Errorf("%s: from byte %d on % x, want % x", spec, i, got[i:min(i+16, len(got))], want[i:min(i+16, len(want))])
				return
			}
		}
		return
	}
	e, err := strconv.ParseFloat(tolerance, 64)
	if err != nil {
		t.Fatal(err)
	}
	size := map[string]int{"f16": 2, "f32": 4, "f64": 8}[typ]
	for i := 0; i+size <= len(want); i += size {
		g, w := floatOf(got[i:], size), floatOf(want[i:], size)
		if math.Abs(g-w) > e*max(1, math.Abs(w)) || math.IsNaN(g) != math.IsNaN(w) {
			t.Errorf("%s: element %d is %v, want %v", spec, i/size, g, w)
			return
		}
	}
}

func floatOf(b []byte, size int) float64 {
	switch size {
	case 4:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case 8:
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	h := binary.LittleEndian.Uint16(b)
	sign, exp, frac := 1-2*float64(h>>15), int(h>>10&31), float64(h&1023)
	switch exp {
	case 0:
		return sign * math.Ldexp(frac, -24)
	case 31:
		if frac != 0 {
			return math.NaN()
		}
		return sign * math.Inf(1)
	}
	return sign * math.Ldexp(1024+frac, exp-25)
}
