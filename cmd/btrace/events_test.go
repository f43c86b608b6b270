package main

import (
	"strings"
	"testing"

	"btrace/trace"
)

// Every operand that an event can have is listed, whatever is added to the
// table.
func TestEveryOperandIsListed(t *testing.T) {
	for _, spec := range trace.Operands() {
		e := trace.Event{Extra: `"extra":1`}
		e.Has = e.Has.With(spec.Field)
		want := spec.Key
		if want == "" {
			want = "extra"
		}
		for _, ptx := range []bool{false, true} {
			if got := string(appendOperands(nil, trace.Operands(), &e, ptx)); !strings.Contains(got, want) || strings.Contains(got, "?") {
				t.Errorf("an event with %v is listed as %q", spec.Field, got)
			}
		}
	}
}

func TestParseTime(t *testing.T) {
	for in, want := range map[string]int64{
		"": 0, "0": 0, "107552": 107552, "12us": 12000, "12µs": 12000, "3ms": 3_000_000, "1.5s": 1_500_000_000,
		"107.552us": 107552, "-5": -5, "64ns": 64, "9223372036854775807": 1<<63 - 1,
	} {
		if got, err := parseTime("--at", in); err != nil || got != want {
			t.Errorf("parseTime(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"soon", "12 parsecs", "1e9999s", "9223372036854775808", "0x10"} {
		if got, err := parseTime("--at", in); err == nil || !strings.Contains(err.Error(), "--at") {
			t.Errorf("parseTime(%q) = %d, %v; want an error that names the flag", in, got, err)
		}
	}
}

func TestParseDim(t *testing.T) {
	for in, want := range map[string]trace.Dim{"": {}, "4": {4, 1, 1}, "4x2": {4, 2, 1}, "4x2x8": {4, 2, 8}} {
		if got, err := parseDim("--grid", in); err != nil || got != want {
			t.Errorf("parseDim(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"0", "x", "4x", "4x0", "-1", "1x2x3x4", "4294967296", "4,2"} {
		if got, err := parseDim("--grid", in); err == nil {
			t.Errorf("parseDim(%q) = %v", in, got)
		}
	}
}
