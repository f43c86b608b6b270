package kernels

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"btrace/capture/emu"
	"btrace/replay"
	"btrace/replay/rules"
	"btrace/trace"
)

// polls is the clean kernels that poll, of which nothing is proved once a poll
// has failed: what they do then is for them to say. Those that are true poll
// in vain under emu.RoundRobin as well.
var polls = map[string]bool{"try-wait-stream": true, "phase-countdown": false}

// TestCleanIsProved: one run of a clean kernel, any run, is enough to say that
// all go as well.
func TestCleanIsProved(t *testing.T) {
	for _, k := range All() {
		if k.Expect.Verdict != clean {
			continue
		}
		for seed := range uint64(11) {
			schedule := emu.Random
			if seed == 0 {
				schedule = emu.RoundRobin
			}
			rec, _ := record(t, &k, schedule, seed)
			rep := check(t, rec)
			s := rep.Launches[0].Schedules
			always, may := polls[k.Name]
			switch {
			case len(rep.Findings) > 0:
				t.Errorf("%s, %s %d:\n%s", k.Name, schedule, seed, listed(rep))
			case s.Proved && !(always && seed == 0):
			case !may || !always && seed == 0 || len(s.Why) != 1 || !strings.Contains(s.Why[0], "a test of an mbarrier failed"):
				t.Errorf("%s, %s %d: proved: %t, why: %q", k.Name, schedule, seed, s.Proved, s.Why)
			}
		}
	}
}

func listed(rep *replay.Report) string {
	var b strings.Builder
	for _, f := range rep.Findings {
		fmt.Fprintf(&b, "  %s %s on %s line %d: %s\n", f.Severity, f.Rule, f.Barrier, f.Location.Line, f.Message)
	}
	return b.String()
}

// launched is the twin in the place of its original.
func (tw *Twin) launched(t *testing.T) Kernel {
	t.Helper()
	k, ok := Lookup(tw.Of)
	if !ok || k.Expect.Verdict != clean {
		t.Fatalf("%s is no clean kernel", tw.Of)
	}
	k.Run = tw.Run
	return k
}

// TestTwinsAreLucky: a twin runs as well as its original, and the replay says
// that this is luck, and where.
func TestTwinsAreLucky(t *testing.T) {
	twins := make(map[string]int)
	for _, tw := range Twins() {
		twins[tw.Of]++
		k := tw.launched(t)
		rec, r := record(t, &k, emu.RoundRobin, 0)
		if err := end(&k, r); err != nil {
			t.Errorf("%s: %v", tw.Of, err)
		}
		rep := check(t, rec)
		found := false
		for _, f := range rep.Findings {
			found = found || f.Rule == tw.Rule && f.Barrier.String() == tw.Barrier
			if f.Severity != rules.Warning || !strings.HasPrefix(string(f.Rule), "hazard-") {
				t.Errorf("%s: %s %s: %s", tw.Of, f.Severity, f.Rule, f.Message)
			}
		}
		if rep.Verdict != replay.Clean || rep.Launches[0].Schedules.Proved || !found {
			t.Errorf("%s: verdict %s, proved: %t, want clean, not proved, with %s on %s\n%s",
				tw.Of, rep.Verdict, rep.Launches[0].Schedules.Proved, tw.Rule, tw.Barrier, listed(rep))
		}
	}
	for _, k := range All() {
		if k.Expect.Verdict == clean && twins[k.Name] == 0 {
			t.Errorf("%s has no twin", k.Name)
		}
	}
}

// TestTwinsGoWrong: another schedule does to a twin what it says.
func TestTwinsGoWrong(t *testing.T) {
	for _, tw := range Twins() {
		if tw.Wrong == Nothing {
			continue
		}
		k := tw.launched(t)
		if !slices.ContainsFunc([]string{emu.Random, emu.PCT}, func(schedule string) bool { return goesWrong(t, &k, schedule, tw.Wrong) }) {
			t.Errorf("%s: no schedule of 600 in which it %s", tw.Of, tw.Wrong)
		}
	}
}

// goesWrong looks for a schedule in which a kernel goes wrong in that way.
func goesWrong(t *testing.T, k *Kernel, schedule string, how Wrong) bool {
	for seed := range uint64(300) {
		rec, r := record(t, k, schedule, seed)
		switch hung := r.Outcome == trace.OutcomeHung; {
		case how == Hangs && hung:
			return true
		case how == Results && r.Outcome == trace.OutcomeCompleted && k.Check(r) != nil:
			return true
		case how == Errs && !hung && slices.ContainsFunc(check(t, rec).Findings, func(f replay.Finding) bool { return f.Severity == rules.Error }):
			return true
		}
	}
	return false
}

// TestTwinsDifferInOneLine: of all that a twin and the functions which it does
// not share with its original say, one line is changed, added, left out or
// moved.
func TestTwinsDifferInOneLine(t *testing.T) {
	bodies := functions(t)
	for _, tw := range Twins() {
		original, _ := Lookup(tw.Of)
		if n := differences(t, bodies, nameOf(tw.Run), nameOf(original.Run)); n != 1 {
			t.Errorf("%s: %d differences", tw.Of, n)
		}
	}
}

// nameOf is the name of a kernel's function.
func nameOf(run func(*emu.Thread)) string {
	name := runtime.FuncForPC(reflect.ValueOf(run).Pointer()).Name()
	return name[strings.LastIndexByte(name, '.')+1:]
}

// functions is the lines of the functions of the gallery, without what is
// said of twins in them.
func functions(t *testing.T) map[string][]string {
	t.Helper()
	files, err := sources.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	about := regexp.MustCompile(`[ \t]*// twin: .*`)
	bodies := make(map[string][]string)
	for _, file := range files {
		text, _ := Source(file.Name())
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file.Name(), text, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				body := text[fset.Position(fn.Body.Lbrace).Offset:fset.Position(fn.Body.Rbrace).Offset]
				for line := range strings.Lines(body) {
					if rest := strings.TrimSpace(about.ReplaceAllString(line, "")); rest != "" {
						bodies[fn.Name.Name] = append(bodies[fn.Name.Name], rest)
					}
				}
			}
		}
	}
	return bodies
}

// differences is in how many lines a function and the twins that it calls
// differ from their originals.
func differences(t *testing.T, bodies map[string][]string, twin, original string) (n int) {
	t.Helper()
	a, b := bodies[original], slices.Clone(bodies[twin])
	if len(a) == 0 || len(b) == 0 {
		t.Fatalf("there is no %s, or no %s", original, twin)
	}
	call := regexp.MustCompile(`(\w+)Twin\(`)
	for i, line := range b {
		for _, m := range call.FindAllStringSubmatch(line, -1) {
			n += differences(t, bodies, m[1]+"Twin", m[1])
		}
		b[i] = call.ReplaceAllString(line, "$1(")
	}
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	moved := len(a) == len(b) && len(a) > 1 &&
		(slices.Equal(a[1:], b[:len(b)-1]) && a[0] == b[len(b)-1] || slices.Equal(b[1:], a[:len(a)-1]) && b[0] == a[len(a)-1])
	if moved {
		return n + 1
	}
	return n + max(len(a), len(b))
}
