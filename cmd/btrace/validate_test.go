package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
)

// The workflow is an example that people copy: what its job does to
// sample-traces has to go through.
func TestWorkflow(t *testing.T) {
	t.Chdir("../..")
	text, err := os.ReadFile(".github/workflows/ci.yml")
	if err != nil {
		t.Fatal(err)
	}
	var flags []string
	commands := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if v, ok := strings.CutPrefix(line, "BTRACE: "); ok {
			flags = strings.Fields(v)
		}
		_, command, ok := strings.Cut(line, "btrace validate --format ")
		if !ok || !strings.Contains(line, "$BTRACE") {
			continue
		}
		commands++
		format, _, _ := strings.Cut(command, " ")
		var stdout, stderr bytes.Buffer
		code := run(context.Background(), append([]string{"validate", "--format", format}, flags...), strings.NewReader(""), &stdout, &stderr)
		if code != exitClean || stderr.Len() > 0 || strings.Contains(stdout.String(), "::error") {
			t.Errorf("%s: exit code %d, %s%s", format, code, stdout.String(), stderr.String())
		}
	}
	if commands != 3 || len(flags) == 0 {
		t.Errorf("found %d commands with the flags %q", commands, flags)
	}
}
