package report

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"btrace/replay"
	"btrace/replay/rules"
	"btrace/trace"
)

// sarifSchemaOf compiles the official schema.
func sarifSchemaOf(t *testing.T) *jsonschema.Schema {
	t.Helper()
	f, err := os.Open("testdata/sarif/sarif-schema-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(sarifSchema, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(sarifSchema)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// checkSARIF says what is wrong with a log.
func checkSARIF(s *jsonschema.Schema, text string) error {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	return s.Validate(doc)
}

func TestSARIFSchema(t *testing.T) {
	schema := sarifSchemaOf(t)
	opt := Options{Version: "v1.2.3"}
	known, end := accepted(t)
	everything := []File{hang()}
	traces, err := filepath.Glob("../../sample-traces/*.zst")
	if err != nil || len(traces) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	for _, name := range traces {
		everything = append(everything, sample(t, filepath.Base(name)))
	}
	for name, text := range map[string]string{
		"nothing":    written(t, SARIF, Options{}, nil, End{}),
		"clean":      written(t, SARIF, opt, job(t)[:1], End{}),
		"job":        written(t, SARIF, opt, job(t), End{}),
		"unreadable": written(t, SARIF, opt, job(t)[5:], End{}),
		"baseline":   written(t, SARIF, opt, known, end),
		"samples":    written(t, SARIF, opt, everything, End{}),
	} {
		if err := checkSARIF(schema, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The check itself notices what is wrong.
	for _, bad := range []string{
		strings.Replace(written(t, SARIF, opt, job(t), End{}), `"level":"error"`, `"level":"bad"`, 1),
		strings.Replace(written(t, SARIF, opt, job(t), End{}), `"uri":"corpus.cu"`, `"uri":"%zz"`, 1),
		strings.Replace(written(t, SARIF, opt, job(t), End{}), `"ruleIndex"`, `"index"`, 1),
	} {
		if checkSARIF(schema, bad) == nil {
			t.Error("the schema takes a log that was spoilt")
		}
	}
}

// sarifLog is what the tests read of a SARIF log.
type sarifLog struct {
	Runs []struct {
		Tool        sarifTool
		Invocations []sarifInvocation
		Results     []sarifResult
	}
}

func readSARIF(t fataler, text string) sarifLog {
	t.Helper()
	var log sarifLog
	if err := json.Unmarshal([]byte(text), &log); err != nil {
		t.Fatal(err)
	}
	if len(log.Runs) != 1 {
		t.Fatal("not one run: ", len(log.Runs))
	}
	return log
}

func TestSARIFHasTheRulesThatWereMet(t *testing.T) {
	files := append(job(t), hang())
	run := readSARIF(t, written(t, SARIF, Options{}, files, End{})).Runs[0]
	met := map[string]bool{}
	for _, r := range run.Results {
		met[r.RuleID] = true
		if got := run.Tool.Driver.Rules[r.RuleIndex].ID; got != r.RuleID {
			t.Errorf("ruleIndex %d is %s, the rule is %s", r.RuleIndex, got, r.RuleID)
		}
	}
	if len(met) != len(run.Tool.Driver.Rules) {
		t.Errorf("%d rules were met, the driver has %d", len(met), len(run.Tool.Driver.Rules))
	}
	for _, r := range run.Tool.Driver.Rules {
		if r.Short == nil || r.Full == nil || r.Help == nil || r.Default == nil || r.Help.Markdown == "" {
			t.Errorf("%s lacks a part: %+v", r.ID, r)
		}
	}
	if run.Invocations[0].ExecutionSuccessful {
		t.Error("a file could not be read, and the run is a success")
	}
}

// A kernel with a bug has it in every CTA; it is one result.
func TestSARIFCountsOccurrences(t *testing.T) {
	f := hang()
	root := f.Report.Findings[0]
	root.More = 2
	f.Report.Findings = nil
	for cta := range uint32(132) {
		root.CTA = cta
		f.Report.Findings = append(f.Report.Findings, root)
	}
	results := readSARIF(t, written(t, SARIF, Options{}, []File{f}, End{})).Runs[0].Results
	if len(results) != 1 || results[0].Times != 3*132 {
		t.Errorf("%d results, the first of them %d times", len(results), results[0].Times)
	}
	if !strings.Contains(results[0].Message.Text, "Also in CTA 1 2 3") {
		t.Errorf("message %q", results[0].Message.Text)
	}
}

func TestSARIFLocations(t *testing.T) {
	for _, tt := range []struct{ path, uri, base string }{
		{"corpus.cu", "corpus.cu", sourceRoot},
		{"./src/../src/a b.cu", "src/a%20b.cu", sourceRoot},
		{"../other/a.cu", "../other/a.cu", ""},
		{"/home/me/a.cu", "file:///home/me/a.cu", ""},
		{"//server/a.cu", "file:///server/a.cu", ""},
		{`C:\src\a.cu`, "file:///C:/src/a.cu", ""},
		{`src\a.cu`, "src/a.cu", sourceRoot},
		{"a:b.cu", "./a:b.cu", sourceRoot},
		{"50%#?.cu", "50%25%23%3F.cu", sourceRoot},
		{"é\xff.cu", "%C3%A9%FF.cu", sourceRoot},
		{"-", "-", sourceRoot},
	} {
		if got := artifact(tt.path); got.URI != tt.uri || got.Base != tt.base {
			t.Errorf("%s: %+v, want %s %s", tt.path, got, tt.uri, tt.base)
		}
	}
	// Without a line the location is the trace.
	f := hang()
	f.Report.Findings = f.Report.Findings[:1]
	f.Report.Findings[0].Location = replay.Location{PC: 0x1f0}
	r := readSARIF(t, written(t, SARIF, Options{}, []File{f}, End{})).Runs[0].Results[0]
	if p := r.Locations[0].Physical; p.Artifact.URI != "x.zst" || p.Region != nil || r.Target != nil || r.Properties.PC != 0x1f0 {
		t.Errorf("got %+v", r)
	}
}

// Whatever a recording calls its kernels and files, and whatever a finding
// says, the log is valid.
func TestSARIFOfAnyStrings(t *testing.T) {
	schema := sarifSchemaOf(t)
	rapid.Check(t, func(t *rapid.T) {
		word := func(name string) string {
			return rapid.OneOf(rapid.String(), rapid.Just("{0} [x](1) <b>"), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, name)
		}
		f := hang()
		f.Name = word("trace")
		f.Report.Launches[1].Launch.Kernel = word("kernel")
		x := &f.Report.Findings[0]
		x.Message, x.Hint, x.Story, x.Location.File = word("message"), word("hint"), []string{word("story")}, word("file")
		x.Barrier = trace.Barrier{Kind: trace.BarrierGroup, Name: word("group")}
		x.Behind[0].Location = replay.Location{File: word("behind"), Line: 1}
		x.Time = rapid.Int64().Draw(t, "time")
		x.Severity = rapid.SampledFrom([]rules.Severity{rules.Error, rules.Warning, rules.Note}).Draw(t, "severity")
		files := []File{f, {Name: word("bad"), Err: errors.New(word("error"))}}
		log := written(t, SARIF, Options{Version: word("version")}, files, End{})
		if err := checkSARIF(schema, log); err != nil {
			t.Fatalf("%v\n%s", err, log)
		}
		braces := strings.NewReplacer("{{", "", "}}", "")
		for _, r := range readSARIF(t, log).Runs[0].Results {
			if text := braces.Replace(r.Message.Text); strings.ContainsAny(text, "{}") {
				t.Fatalf("a placeholder got through: %s", text)
			}
		}
	})
}

func TestSARIFMarkdownIsNotRead(t *testing.T) {
	r, ok := rules.Lookup("bar-divergent")
	if !ok {
		t.Fatal("no such rule")
	}
	r.Meaning = "__syncthreads() <b> `x` *y* [z](w)."
	if got := helpMarkdown(r); !strings.HasPrefix(got, "\\_\\_syncthreads() \\<b> \\`x\\` \\*y\\* \\[z\\](w).") {
		t.Errorf("got %q", got)
	}
}
