package similar

import (
	"slices"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	names := []string{"phase-countdown", "producer-consumer", "bar-overrun", "mbar-over-arrival", "deadlock-count", "deadlock-cycle"}
	for _, tt := range []struct {
		in   string
		want string
	}{
		{"deadlok-count", "deadlock-count"},
		{"deadlock", "deadlock-count deadlock-cycle"},
		{"Bar-Overrun", "bar-overrun"},
		{"consumer", "producer-consumer"},
		{"phase-cuontdown", "phase-countdown"},
		{"xyzzy", ""},
		{"", ""},
		{strings.Repeat("deadlock-count", 100), ""},
	} {
		if got := strings.Join(Names(tt.in, names), " "); got != tt.want {
			t.Errorf("Names(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestNamesOffersFew(t *testing.T) {
	names := []string{"k1", "k2", "k3", "k4", "k5"}
	if got := Names("k", names); !slices.Equal(got, names[:most]) {
		t.Errorf("Names = %v, want the first %d", got, most)
	}
}
