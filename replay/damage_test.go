package replay

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"btrace/replay/rules"
	"btrace/trace"
)

// file is a recording as bytes, in blocks of few events.
func (r *recording) file(t testing.TB) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := trace.NewWriter(&buf, trace.Options{BlockRows: 64})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{w.Begin(r.launch), w.Write(r.events), w.End(r.launch.ID, r.launch.Outcome, ""), w.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return buf.Bytes()
}

// A cut or changed file is never clean, and never a hang that is not there:
// what is missing may explain everything.
func TestDamagedFileIsNeverClean(t *testing.T) {
	for _, name := range []string{"producer_consumer", "psum_completion"} {
		rec := sample(t, name)
		whole := rec.file(t)
		step := max(len(whole)/150, 1)
		for at := 0; at < len(whole); at += step {
			flipped := slices.Clone(whole)
			flipped[at] ^= 0x10
			for what, b := range map[string][]byte{"cut": whole[:at], "changed": flipped} {
				r, err := trace.NewReader(bytes.NewReader(b), int64(len(b)))
				if err != nil {
					continue // not readable at all: said by the reader
				}
				rep, err := Check(context.Background(), r, Options{})
				if err != nil {
					t.Fatal(err)
				}
				bad := slices.ContainsFunc(rep.Findings, func(f Finding) bool { return f.Severity == rules.Error })
				if rep.Verdict != Incomplete || bad {
					t.Errorf("%s %s at %d of %d: %s", name, what, at, len(whole), summary(rep))
				}
			}
		}
	}
}
