package capture_test

import (
	"bytes"
	"context"
	"fmt"

	"btrace/capture"
	"btrace/capture/emu"
	"btrace/replay"
	"btrace/trace"
)

// A kernel that comes to its end may be wrong all the same: a replay of its
// recording says so.
func ExampleRecordFunc() {
	kernel := func(t *emu.Thread) {
		if t.Warp() == 0 {
			t.BarArrive(1, 64)
		} else {
			t.BarSync(17, 64) // hardware takes the number modulo 16
		}
	}
	var file bytes.Buffer
	w, err := trace.NewWriter(&file, trace.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	outcome, err := capture.RecordFunc(context.Background(), "handover", emu.Config{Block: trace.Dim{64}}, kernel, w)
	fmt.Println(outcome, err)
	if err := w.Close(); err != nil {
		fmt.Println(err)
		return
	}
	r, err := trace.NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := replay.Check(context.Background(), r, replay.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Verdict)
	for _, f := range report.Findings {
		fmt.Println(f.Rule)
	}
	// Output:
	// completed <nil>
	// violation
	// bar-id-range
}
