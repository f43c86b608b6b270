package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"btrace/replay/rules"
)

// TestExplainShowsBothKernels: every rule is explained with where it stands,
// and with a kernel for each side of it, in lines that a terminal takes.
func TestExplainShowsBothKernels(t *testing.T) {
	for _, r := range rules.All() {
		var out, said bytes.Buffer
		if code := run(context.Background(), []string{"explain", string(r.ID)}, strings.NewReader(""), &out, &said); code != exitClean || said.Len() > 0 {
			t.Errorf("explain %s exits %d: %s", r.ID, code, said.String())
		}
		text := out.String()
		bad, good := strings.Index(text, "\nBreaks it ("), strings.Index(text, "\nDoes not (")
		if bad < 0 || good < bad || strings.Count(text, "func ") == 0 {
			t.Errorf("explain %s does not show both kernels:\n%s", r.ID, text)
			continue
		}
		if !strings.Contains(text, r.Source[0].Document) {
			t.Errorf("explain %s does not name %s", r.ID, r.Source[0].Document)
		}
		for line := range strings.Lines(text[bad:]) {
			if n := len([]rune(line)); n > 100 || strings.Contains(line, "\t") {
				t.Errorf("explain %s: a line of %d columns: %s", r.ID, n, line)
			}
		}
	}
}
