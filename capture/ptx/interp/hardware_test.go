package interp_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"btrace/capture/emu"
	"btrace/trace"
)

var update = flag.Bool("update", false, "write the programs of testdata/hardware")

const hardwareDir = "testdata/hardware"

// TestHardware: programs of pseudo-random instructions leave in memory what an
// H100 left, to the byte.
func TestHardware(t *testing.T) {
	all := programs()
	table := "# The programs of this folder: their names, CTAs, threads of each, CTAs of a cluster, and\n# the bytes of their buffer. generate_test.go writes them, measure.sh has them run on a GPU.\n"
	for _, name := range slices.Sorted(maps.Keys(all)) {
		h := all[name]
		text, each := h.source(name)
		size := each * h.ctas * h.threads
		table += fmt.Sprintf("%s %d %d %d %d\n", name, h.ctas, h.threads, h.cluster, size)
		committed(t, name+".ptx", text)
		t.Run(name, func(t *testing.T) {
			k := compile(t, filepath.Join("hardware", name+".ptx"), "k")
			want, err := os.ReadFile(filepath.Join(hardwareDir, name+".out"))
			if err != nil {
				t.Fatal(err)
			}
			for _, schedule := range []string{emu.RoundRobin, emu.Random, emu.PCT} {
				cfg := emu.Config{
					Grid: trace.Dim{uint32(h.ctas)}, Block: trace.Dim{uint32(h.threads)}, Cluster: trace.Dim{uint32(h.cluster)},
					Schedule: schedule, Workers: 2,
				}
				res, _ := start(t, k, cfg, fmt.Sprintf("buf:%d", size))
				if res.Outcome != trace.OutcomeCompleted {
					t.Fatalf("%s: %s: %s %v", schedule, res.Outcome, res.Fault, res.Stuck)
				}
				if got := res.Buffers[0]; !bytes.Equal(got, want) {
					t.Fatalf("%s: %s", schedule, difference(text, got, want, each))
				}
			}
		})
	}
	committed(t, "table.txt", table)
}

// committed demands that a file of testdata/hardware holds a text.
func committed(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(hardwareDir, name)
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != text {
		t.Fatalf("%s is not what is generated: go test -run Hardware -update, and measure again", file)
	}
}

// difference says which thread got something else, and from which instruction.
func difference(text string, got, want []byte, each int) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d bytes, want %d", len(got), len(want))
	}
	var lines []string
	for i := 0; i < len(got) && len(lines) < 20; i += 2 {
		if got[i] == want[i] && got[i+1] == want[i+1] {
			continue
		}
		thread, at := i/each, i%each/4*4
		from := "?"
		for line := range strings.Lines(text) {
			if strings.Contains(line, fmt.Sprintf("[%%out+%d]", at)) || strings.Contains(line, fmt.Sprintf("[%%out+%d]", at-4)) && strings.Contains(line, "b64") {
				from = strings.TrimSpace(line)
			}
		}
		word := i / 4 * 4
		lines = append(lines, fmt.Sprintf("thread %d, byte %d (%s): %x, want %x", thread, at, from, got[word:word+4], want[word:word+4]))
		i = word + 2
	}
	return strings.Join(lines, "\n")
}
