package probe_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"btrace/capture/emu"
	"btrace/trace"
)

const data = "../interp/testdata"

// rowsOf reads a table of white-space-separated fields, without its comments.
func rowsOf(t testing.TB, file string) (rows [][]string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 0 && !strings.HasPrefix(f[0], "#") {
			rows = append(rows, f)
		}
	}
	return rows
}

func number(t testing.TB, s string) uint32 {
	t.Helper()
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}

func dim(t testing.TB, s string) (d trace.Dim) {
	t.Helper()
	for i, p := range strings.Split(s, ",") {
		d[i] = number(t, p)
	}
	return d
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestLitmus: the litmus programs.
func TestLitmus(t *testing.T) {
	for _, row := range rowsOf(t, filepath.Join(data, "litmus/table.txt")) {
		threads, ctas := number(t, row[2]), number(t, row[3])
		p := program{
			name: row[1], file: row[1], entry: "row", src: read(t, filepath.Join(data, "litmus", row[1])),
			cfg:  emu.Config{Grid: trace.Dim{ctas, 1, 1}, Cluster: trace.Dim{ctas, 1, 1}, Block: trace.Dim{threads, 1, 1}},
			args: []string{fmt.Sprintf("buf:%d", 4*max(8, threads*ctas))}, seeds: 3,
			lockstep: row[0] == "73", // if it waits for a token that is two phases old
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.check(t)
		})
	}
}

// TestCorpus: kernels that compilers wrote, those of a file one after the
// other. The short form takes those of one compiler, with its usual options.
func TestCorpus(t *testing.T) {
	files := make(map[string][][]string)
	for _, row := range rowsOf(t, filepath.Join(data, "corpus/table.txt")) {
		if testing.Short() && !strings.HasPrefix(row[1], "nvcc/") {
			continue
		}
		files[row[1]] = append(files[row[1]], row)
	}
	for file, rows := range files {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			m := rewritten(t, filepath.Base(file), read(t, filepath.Join(data, "corpus", file)))
			for _, row := range rows {
				p := corpusProgram(t, row)
				t.Run(row[0], func(t *testing.T) { p.checkIn(t, m) })
			}
		})
	}
}

// corpusProgram is a row of the corpus's table.
func corpusProgram(t *testing.T, row []string) program {
	p := program{
		file: filepath.Base(row[1]), entry: row[2],
		cfg: emu.Config{
			Grid: dim(t, row[3]), Block: dim(t, row[4]), Cluster: dim(t, row[5]), Shared: int(number(t, row[6])), Cooperative: row[7] == "1",
		},
	}
	for _, a := range row[11:] {
		if a == "=>" {
			break
		}
		p.args = append(p.args, strings.Replace(a, "@", "@"+filepath.Join(data, "corpus")+"/", 1))
	}
	return p
}

// TestHardware: programs of pseudo-random instructions.
func TestHardware(t *testing.T) {
	for _, row := range rowsOf(t, filepath.Join(data, "hardware/table.txt")) {
		p := program{
			name: row[0], file: row[0] + ".ptx", entry: "k", src: read(t, filepath.Join(data, "hardware", row[0]+".ptx")),
			cfg: emu.Config{
				Grid: trace.Dim{number(t, row[1]), 1, 1}, Block: trace.Dim{number(t, row[2]), 1, 1}, Cluster: trace.Dim{number(t, row[3]), 1, 1},
			},
			args: []string{"buf:" + row[4]}, seeds: 2,
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.check(t)
		})
	}
}
