package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"btrace/replay/report"
)

// Every trace is in one part, the parts one after the other are the list, and
// none has more than its share and half a file at either end.
func TestShards(t *testing.T) {
	t.Chdir(t.TempDir())
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(0, 1<<20), rapid.Int64Range(0, 1<<40)), 0, 20).Draw(t, "sizes")
		of := rapid.Uint32Range(1, 30).Draw(t, "parts")
		var files []traceFile
		var total, largest uint64
		weight := map[string]uint64{}
		for i, size := range sizes {
			f := traceFile{name: fmt.Sprintf("%d.zst", i)}
			if rapid.IntRange(0, 5).Draw(t, "not there") == 0 {
				f.err, size = os.ErrNotExist, 0
			}
			if err := os.WriteFile(f.name, nil, 0o666); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(f.name, size); err != nil {
				t.Skip("this file system has no such large files")
			}
			files = append(files, f)
			weight[f.name] = uint64(size) + opening
			total += weight[f.name]
			largest = max(largest, weight[f.name])
		}
		var all []traceFile
		var lists []string
		for i := range of {
			part, list := shardOf(files, report.Shard{Index: i + 1, Of: of})
			all = append(all, part...)
			lists = append(lists, list)
			var sum uint64
			for _, f := range part {
				sum += weight[f.name]
			}
			if sum > total/uint64(of)+largest+1 {
				t.Errorf("part %d of %d has %d of %d, the largest file %d", i+1, of, sum, total, largest)
			}
		}
		if !slices.Equal(all, files) {
			t.Errorf("the parts are %v", all)
		}
		if len(slices.Compact(lists)) != 1 {
			t.Errorf("digests %v", lists)
		}
	})
	files := []traceFile{{name: "0.zst"}, {name: "1.zst"}}
	_, before := shardOf(files, report.Shard{Index: 1, Of: 1})
	if err := os.WriteFile("1.zst", []byte("longer than before"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, now := shardOf(files, report.Shard{Index: 1, Of: 1}); now == before {
		t.Error("another file, the same digest")
	}
}

// A trace in a folder that is listed from elsewhere is another name.
func TestShardsOfSameTracesFit(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.zst", "a.zst"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	_, a := shardOf(traceFiles([]string{dir}), report.Shard{Index: 1, Of: 2})
	_, b := shardOf(traceFiles([]string{dir + "/"}), report.Shard{Index: 2, Of: 2})
	if a != b {
		t.Errorf("%s, and with a slash %s", a, b)
	}
}

func TestSlowest(t *testing.T) {
	var s slowest
	for i, took := range []time.Duration{2, 9, 1, 4, 7} {
		s.add(fmt.Sprintf("%d.zst", i), took*time.Second)
	}
	if got, want := s.line(23*time.Second), "5 traces took 23.0 s; slowest: 1.zst 9.0 s, 4.zst 7.0 s, 3.zst 4.0 s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := s.line(time.Second); got != "" {
		t.Errorf("of a short run: %q", got)
	}
	var one slowest
	one.add("a.zst", time.Minute)
	if got := one.line(time.Minute); got != "" {
		t.Errorf("of one trace: %q", got)
	}
}
