package capture

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"btrace/replay"
	"btrace/trace"
)

// recordedDir holds recordings of the litmus programs by the probes of
// capture/cupti, on an H100; its README says how they were made.
const recordedDir = "cupti/testdata/litmus"

// TestRecordedLitmus: what the recorder made of the litmus programs on a GPU
// ends as the table says that the silicon does, and replays to the rules that
// a recording by the emulator does.
func TestRecordedLitmus(t *testing.T) {
	for _, row := range rowsOf(t, filepath.Join(litmusDir, "table.txt"), 10) {
		t.Run(row[1], func(t *testing.T) {
			r, err := trace.Open(filepath.Join(recordedDir, row[0]+".zst"))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			launches := r.Launches()
			if len(launches) != 1 || launches[0].Recorder != "cupti" {
				t.Fatalf("launches %+v, want one by cupti", launches)
			}
			end := strings.ReplaceAll(string(launches[0].Outcome), " ", "-")
			usual := slices.Contains(list(row[4], "|"), end)
			if !usual && !slices.Contains(list(row[5], "|"), end) {
				t.Fatalf("%s, want %s", end, row[4])
			}
			rep, err := replay.Check(t.Context(), r, replay.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if usual {
				checkRules(t, rep, list(row[7], ","), list(row[8], ","))
			}
		})
	}
}
