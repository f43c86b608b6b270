package replay

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"btrace/replay/barrier"
	"btrace/replay/rules"
	"btrace/trace"
)

// The ways in which a CTA of 96 threads can go, as steps of its warps.
var ways = []struct{ name, steps string }{
	{"clean", `
w0 bar.sync bar=0 count=0
w1 bar.sync bar=0 count=0
w2 bar.sync bar=0 count=0
w0 bar.done bar=0
w1 bar.done bar=0
w2 bar.done bar=0
w0 exit
w1 exit
w2 exit`},
	{"breaks rules and ends", `
w0 bar.arrive bar=3 count=96
w0 bar.arrive bar=3 count=96
w0 bar.arrive bar=3 count=96
w1:00000003 mbar.arrive addr=64 count=1
w0 exit
w1 exit
w2 exit`},
	{"drops to zero", `
w0:00000001 mbar.init addr=64 count=1
w0:00000001 mbar.arrive_drop addr=64 count=1
w0 exit
w1 exit
w2 exit`},
	{"a circle", `
w0:00000001 mbar.init addr=1024 count=1
w0 bar.sync bar=1 count=64
w1 bar.sync bar=2 count=64
w2 bar.sync bar=3 count=64`},
	{"a misuse is the root", `
w0:00000001 mbar.init addr=1024 count=2
w0:00000001 mbar.arrive addr=1024 count=1
w1:00000001 mbar.init addr=1024 count=2
w1:00000001 mbar.arrive addr=1024 count=1
w0 mbar.wait addr=1024 parity=0
w1 mbar.wait addr=1024 parity=0
w2 exit`},
	{"the misuse of the same place is no root", `
w0:00000001 mbar.init addr=1024 count=2
w0:00000001 mbar.arrive addr=1024 count=1
w1:00000001 mbar.init addr=1024 count=2
w0 exit
w1 exit
w2 exit`},
	{"who is missing has exited", `
w0:00000001 mbar.init addr=1024 count=1
w0:00000001 mbar.arrive addr=1024 count=1
w1:00000001 mbar.wait addr=1024 parity=0
w1:00000001 mbar.done addr=1024 parity=0
w1:00000001 mbar.wait addr=1024 parity=1
w0 exit
w2 exit`},
}

// wayOf is the way with that name.
func wayOf(t testing.TB, name string) int {
	for i, w := range ways {
		if w.name == name {
			return i
		}
	}
	t.Fatalf("there is no way %q", name)
	return 0
}

// manyCTAs is a launch whose CTAs go one of the ways each, from a time on.
// Where joined, a barrier of the grid is in the trace, so that they are all
// replayed together.
func manyCTAs(t testing.TB, cluster int, outcome string, joined bool, way func(cta int) (way int, begin int64), ctas int) *trace.Reader {
	type line struct {
		time int64
		text string
	}
	var all []line
	for cta := range ctas {
		n, begin := way(cta)
		seq := map[string]int{}
		if joined && cta == 0 {
			seq["w0"] = 1
			all = append(all, line{0, `{"type":"event","launch":0,"ns":0,"cta":0,"warp":0,"seq":0,"lanes":"ffffffff","op":"group.arrive","group":"grid","phase":0}`})
		}
		for i, step := range strings.Split(strings.TrimSpace(ways[n].steps), "\n") {
			who, op := eventText(strings.Fields(step))
			at := begin + int64(i)
			all = append(all, line{at, fmt.Sprintf(`{"type":"event","launch":0,"ns":%d,"cta":%d,"warp":%s,"seq":%d,%s,"line":%d}`,
				at, cta, strings.TrimPrefix(who, "w"), seq[who], op, 100*n+i)})
			seq[who]++
		}
	}
	slices.SortStableFunc(all, func(a, b line) int { return cmp.Compare(a.time, b.time) })
	var text strings.Builder
	fmt.Fprintf(&text, `{"type":"launch","id":0,"kernel":"k","program":"k.cu","arch":"sm_90","grid":[%d,1,1],"block":[96,1,1],"cluster":[%d,1,1]}`+"\n", ctas, cluster)
	for _, l := range all {
		text.WriteString(l.text + "\n")
	}
	fmt.Fprintf(&text, `{"type":"launch_end","launch":0,"outcome":"%s"}`+"\n", outcome)
	return ndjson(t, text.String())
}

func checked(t testing.TB, src Source, opt Options) *Report {
	rep, err := Check(context.Background(), src, opt)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// listedOf is the report that is to be made of one that lists every CTA.
func listedOf(all *Report) *Report {
	type place struct {
		rule     barrier.Rule
		severity rules.Severity
		root     bool
		barrier  trace.Barrier
		line     uint32
	}
	bounded := *all
	bounded.Findings = nil
	first, n := map[place]int{}, map[place]int{}
	for _, f := range all.Findings {
		k := place{f.Rule, f.Severity, f.Root, f.Barrier, f.Location.Line}
		switch n[k]++; {
		case n[k] == 1:
			first[k] = len(bounded.Findings)
			fallthrough
		case n[k] <= 16:
			bounded.Findings = append(bounded.Findings, f)
		default:
			e := &bounded.Findings[first[k]].Elsewhere
			e.CTAs++
			e.Times += 1 + f.More
			e.Last = f.Time // they are in the order of time
		}
	}
	return &bounded
}

// A report lists the earliest CTAs of every fault, counts the others, and is
// the same for any number of workers; nothing else of it changes.
func TestReportIsBounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cluster := rapid.SampledFrom([]int{1, 1, 2, 4}).Draw(rt, "cluster")
		ctas := cluster * rapid.IntRange(1, 80/cluster).Draw(rt, "clusters")
		outcome := rapid.SampledFrom([]string{"hung", "completed", "trap: unspecified"}).Draw(rt, "outcome")
		joined := rapid.IntRange(0, 3).Draw(rt, "joined") == 0
		some := rapid.SliceOfNDistinct(rapid.IntRange(0, len(ways)-1), 1, 3, rapid.ID).Draw(rt, "ways")
		way := rapid.SampledFrom(some)
		begin := rapid.Int64Range(1, 40)
		src := manyCTAs(t, cluster, outcome, joined, func(int) (int, int64) { return way.Draw(rt, "way"), begin.Draw(rt, "begin") }, ctas)
		want := listedOf(checked(t, src, Options{Workers: 3, listed: ctas + 1}))
		for _, workers := range []int{1, 2, 7} {
			if got := checked(t, src, Options{Workers: workers}); !reflect.DeepEqual(got, want) {
				rt.Fatalf("%d workers:\n%s\nwant:\n%s", workers, counted(got), counted(want))
			}
		}
	})
}

// counted is the summary of a report with what is not listed.
func counted(rep *Report) string {
	var b strings.Builder
	b.WriteString(summary(rep))
	for _, f := range rep.Findings {
		fmt.Fprintf(&b, "%s cta%d at %d: more %d, %+v, %d\n", f.Rule, f.CTA, f.Time, f.More, f.Elsewhere, f.Unlisted)
	}
	return b.String()
}

// Of thousands of CTAs, some of which break rules and end, and some of which
// are alive and hang at the end, the report has a few, and the number of all.
func TestFaultsOfThousandsOfCTAs(t *testing.T) {
	const ctas = 3000
	breaks, circle, misuse := wayOf(t, "breaks rules and ends"), wayOf(t, "a circle"), wayOf(t, "a misuse is the root")
	of := []int{breaks, circle, misuse}
	src := manyCTAs(t, 1, "hung", false, func(cta int) (int, int64) { return of[cta%3], int64(10 * (ctas - cta)) }, ctas)
	want := checked(t, src, Options{Workers: 1})
	if want.Verdict != Deadlock || want.Launches[0].Verdict != Deadlock || want.Counts.WarpEvents != ctas/3*(7+4+7) {
		t.Errorf("verdict %s, %+v", want.Verdict, want.Counts)
	}
	listed, counts := map[barrier.Rule]int{}, map[barrier.Rule]int{}
	for i, f := range want.Findings {
		if f.Root != (i < 32) {
			t.Errorf("finding %d: root %t", i, f.Root)
		}
		if f.Root && f.CTA < ctas-3*16 { // the last CTAs begin first
			t.Errorf("%s of CTA %d is listed, which is none of the first to hang", f.Rule, f.CTA)
		}
		listed[f.Rule]++
		counts[f.Rule] += 1 + f.Elsewhere.CTAs
	}
	for _, r := range []barrier.Rule{barrier.BarOverrun, rules.DeadlockCycle, barrier.MbarReinit} {
		if counts[r] < ctas/3 || counts[r]%(ctas/3) != 0 || listed[r] != 16*counts[r]/(ctas/3) {
			t.Errorf("%s: %d CTAs listed, %d counted", r, listed[r], counts[r])
		}
	}
	for _, workers := range []int{2, 7} {
		if got := checked(t, src, Options{Workers: workers}); !reflect.DeepEqual(got, want) {
			t.Errorf("%d workers:\n%s\nwant:\n%s", workers, counted(got), counted(want))
		}
	}
}

// A CTA that breaks a rule at more places than anybody reads has no report
// without end, and no kind of finding is lost in it.
func TestFaultsAtThousandsOfPlaces(t *testing.T) {
	launch := trace.Launch{Grid: trace.Dim{64, 1, 1}}
	find := func(cta, line uint32, rule barrier.Rule) Finding {
		return Finding{Rule: rule, BarrierRef: BarrierRef{CTA: cta}, Time: int64(line), Location: Location{Line: line}, Severity: rules.Error}
	}
	t.Run("of a CTA", func(t *testing.T) {
		f := findings{launch: &launch}
		for line := range uint32(maxFindings + 500) {
			f.add(find(0, line, barrier.BarOverrun))
		}
		last := f.add(find(0, 9999, barrier.BarDivergent))
		if n := len(f.list); n != maxFindings+1 || f.list[0].Unlisted != 500 || f.list[n-1] != last || last.Unlisted != 0 {
			t.Errorf("%d findings, the first has %d that are not listed, the last is %v", n, f.list[0].Unlisted, f.list[n-1])
		}
	})
	t.Run("of a launch", func(t *testing.T) {
		// Each CTA has a few places of its own, and one that all share.
		const ctas, places = 64, maxPlaces / 32
		scopes := make([]findings, ctas)
		for cta := range scopes {
			f := &scopes[cta]
			f.launch = &launch
			f.add(find(uint32(cta), 1, barrier.BarDivergent))
			for i := range uint32(places) {
				f.add(find(uint32(cta), 2+uint32(cta)*1000+i, barrier.BarOverrun))
			}
		}
		collect := func(order []int, workers int) []Finding {
			of := make([]digest, workers)
			for _, i := range order {
				of[i%workers].take(uint32(i), scopes[i].list)
			}
			var all digest
			for i := range of {
				all.merge(&of[i])
			}
			return sorted(all.values())
		}
		order := make([]int, len(scopes))
		for i := range order {
			order[i] = i
		}
		want := collect(order, 1)
		if len(want) != 2*maxListed {
			t.Errorf("%d findings", len(want))
		}
		unlisted := map[barrier.Rule]int{}
		for _, f := range want {
			unlisted[f.Rule] += f.Unlisted
			if f.Elsewhere != (Elsewhere{}) {
				t.Errorf("%+v of a place that is not told apart", f.Elsewhere)
			}
		}
		if unlisted[barrier.BarOverrun] != ctas*places-maxListed || unlisted[barrier.BarDivergent] != ctas-maxListed {
			t.Errorf("not listed: %v", unlisted)
		}
		for _, workers := range []int{2, 3, ctas} {
			slices.Reverse(order)
			if got := collect(order, workers); !reflect.DeepEqual(got, want) {
				t.Errorf("%d workers: another report", workers)
			}
		}
	})
}

// A viewer shows a fault in every CTA that has it, listed or not.
func TestEveryFaultIsDrawn(t *testing.T) {
	const ctas = 100
	breaks := wayOf(t, "breaks rules and ends")
	src := manyCTAs(t, 1, "completed", false, func(cta int) (int, int64) { return breaks, int64(20 * cta) }, ctas)
	tl, err := Open(context.Background(), src, 0)
	if err != nil {
		t.Fatal(err)
	}
	for cta := range uint32(ctas) {
		from, cells := int64(20*cta), make([]Cell, 1)
		if err := tl.Cells(context.Background(), Row{CTA: cta}, from, from+20, cells); err != nil {
			t.Fatal(err)
		}
		if cells[0].Severity != 3 {
			t.Errorf("CTA %d shows severity %d", cta, cells[0].Severity)
		}
	}
	if n := len(tl.Findings()); n >= ctas {
		t.Errorf("%d findings", n)
	}
}
