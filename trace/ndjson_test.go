package trace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

const launch0 = `{"type":"launch","id":0,"kernel":"k"}` + "\n"

// event is an event line of an operation, with further keys.
func event(op, more string) string {
	return `{"type":"event","launch":0,"ns":5,"cta":0,"warp":0,"seq":0,"lanes":"00000001","op":"` + op + `"` + more + "}\n"
}

// Everything that this version does not know comes out as it went in.
func TestUnknownThingsSurvive(t *testing.T) {
	in := readTestdata(t, "survivors.ndjson")
	r := open(t, imported(t, in, Options{}))
	if out := exported(t, r, Query{}); out != in {
		t.Errorf("got\n%s\nwant\n%s", out, in)
	}
	again := open(t, imported(t, exported(t, r, Query{}), Options{BlockRows: 1}))
	if out := exported(t, again, Query{}); out != in {
		t.Errorf("a second time: got\n%s", out)
	}
}

func readTestdata(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	must(t, err)
	return string(b)
}

func TestImportedLaunch(t *testing.T) {
	in := `{"type":"launch","id":4,"kernel":"k","mangled":"_Z1kv","program":"k.cu","recorder":"r","device":"d","arch":"sm_90","grid":[3,2,1],"block":[64,1,1],"cluster":[1,1,1],"shared":1024,"observes":["bar"],"sms":132}` + "\n" +
		`{"type":"launch_end","launch":4,"outcome":"trap:assert","code":710}` + "\n"
	l := open(t, imported(t, in, Options{})).Launches()[0]
	want := Launch{ID: 4, Kernel: "k", Mangled: "_Z1kv", Program: "k.cu", Recorder: "r", Device: "d", Arch: "sm_90",
		Grid: Dim{3, 2, 1}, Block: Dim{64, 1, 1}, Cluster: Dim{1, 1, 1}, Shared: 1024, Observes: []string{"bar"},
		Outcome: "trap:assert", Extra: `"sms":132`, EndExtra: `"code":710`, Ended: true}
	if got, want := fmt.Sprintf("%+v", l), fmt.Sprintf("%+v", want); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if l.Sees(FamilyMbar) || !l.Sees(FamilyBar) {
		t.Error("observes")
	}
	open(t, imported(t, strings.ReplaceAll(in, "\n", "\r\n"), Options{}))
	open(t, imported(t, "\ufeff"+strings.TrimSuffix(in, "\n"), Options{}))
}

func TestImportedEvent(t *testing.T) {
	in := launch0 +
		`{"op":"mbar.test","seq":9,"lanes":"F0","addr":18446744073709551615,"parity":1,"result":1,"clk":-7,"ns":-40,"warp":2,"cta":3,"launch":0,"type":"event","sem":"acquire","line":8,"file":"a\u0022b.h","pc":4096}` + "\n"
	rows := rowsOf(t, open(t, imported(t, in, Options{})), Query{})
	e := Event{Time: -40, CTA: 3, Warp: 2, Seq: 9, Result: 1, Clk: -7}
	e.Kind, e.Lanes, e.Addr, e.Parity, e.Sem, e.Line, e.File, e.PC = KindMbarTest, 0xf0, 1<<64-1, 1, SemAcquire, 8, `a"b.h`, 4096
	e.Has = e.Has.With(FieldAddr, FieldParity, FieldResult, FieldClk, FieldSem, FieldLine, FieldFile, FieldPC)
	sameEvents(t, rows, []Event{e})
	want := `{"type":"event","launch":0,"ns":-40,"clk":-7,"cta":3,"warp":2,"seq":9,"lanes":"000000f0","op":"mbar.test","addr":18446744073709551615,"parity":1,"sem":"acquire","result":true,"file":"a\"b.h","line":8,"pc":4096}`
	if got := string(AppendNDJSON(nil, &e)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A mark that says no launch is of the latest one; a gap that says no time
// stands where its launch's lines have come to.
func TestMarksAndGaps(t *testing.T) {
	in := launch0 +
		event("enter", "") +
		`{"type":"event","launch":0,"ns":90,"cta":0,"warp":1,"seq":3,"lanes":"00000001","op":"enter"}` + "\n" +
		`{"type":"gap","launch":0,"cta":0,"warp":1,"lost":12}` + "\n" +
		`{"type":"event","launch":0,"ns":90,"cta":0,"warp":1,"seq":16,"lanes":"00000001","op":"exit"}` + "\n" +
		`{"type":"mark","ns":95,"cta":0,"warp":0,"lanes":"0000000f","text":"half way"}` + "\n"
	r := open(t, imported(t, in, Options{}))
	if out := exported(t, r, Query{}); out != in {
		t.Errorf("got\n%s\nwant\n%s", out, in)
	}
	rows := rowsOf(t, r, Query{})
	if g := rows[2]; g.Kind != KindGap || g.Time != 90 || g.Seq != 3 || g.Lost != 12 {
		t.Errorf("gap %+v", g)
	}
	if m := rows[4]; m.Kind != KindMark || m.Text != "half way" || m.Lanes != 15 {
		t.Errorf("mark %+v", m)
	}
	for p := range r.Check(t.Context()) {
		t.Errorf("%v", p)
	}
}

// Every wrong line is refused with its number and what was expected.
func TestWrongLines(t *testing.T) {
	head := `{"type":"event","launch":0,"ns":0,"cta":0,"warp":0,"seq":0,"lanes":"00000001","op":"exit"`
	for _, c := range []struct{ in, want string }{
		{"{", `line 1: want a JSON object: unexpected end of JSON input`},
		{"hello", `line 1: want a JSON object: invalid character 'h' looking for beginning of value`},
		{"[1]", `line 1: want a JSON object`},
		{"\xff", `line 1: want UTF-8`},
		{`{"kind":"x"}`, `line 1: "type": want it, and it is missing`},
		{`{"type":5}`, `line 1: "type": want a string, got 5`},
		{`{"type":"event","type":"event"}`, `line 1: "type": want it once`},
		{event("exit", ""), `line 1: launch 0, CTA 0, warp 0, seq 0 at 5 ns: its launch has not begun`},
		{launch0 + "\n" + launch0, `line 3: begin launch 0: there is one already`},
		{`{"type":"launch","kernel":"k"}`, `line 1: "id": want it, and it is missing`},
		{`{"type":"launch","id":-1}`, `line 1: "id": want an integer from 0 to 4294967295, got -1`},
		{`{"type":"launch","id":0,"kernel":7}`, `line 1: "kernel": want a string, got 7`},
		{`{"type":"launch","id":0,"kernel":0}`, `line 1: "kernel": want a string, got 0`},
		{`{"type":"launch","id":0,"grid":[1,2]}`, `line 1: "grid": want [x,y,z], got [1,2]`},
		{`{"type":"launch","id":0,"grid":[1,2,-3]}`, `line 1: "grid": want an integer from 0 to 4294967295, got -3`},
		{`{"type":"launch","id":0,"observes":"bar"}`, `line 1: "observes": want a list of strings, got "bar"`},
		{`{"type":"launch","id":0,"id":0}`, `line 1: "id": want it once`},
		{launch0 + `{"type":"launch_end","launch":0}`, `line 2: "outcome": want it, and it is missing`},
		{launch0 + `{"type":"launch_end","launch":3,"outcome":"hung"}`, `line 2: end launch 3: it has not begun`},
		{launch0 + `{"type":"event","launch":0,"ns":0,"cta":0,"warp":0,"seq":0,"op":"exit"}`, `line 2: "lanes": want it, and it is missing`},
		{launch0 + `{"type":"event","launch":0,"ns":1.5,"cta":0,"warp":0,"seq":0,"lanes":"1","op":"exit"}`, `line 2: "ns": want an integer from -2^63 to 2^63-1, got 1.5`},
		{launch0 + strings.Replace(head, `"00000001"`, "5", 1) + "}", `line 2: "lanes": want a string of 8 hex digits, got 5`},
		{launch0 + strings.Replace(head, `"00000001"`, `"xyz"`, 1) + "}", `line 2: "lanes": want a string of 8 hex digits, got "xyz"`},
		{launch0 + strings.Replace(head, `"00000001"`, `"123456789"`, 1) + "}", `line 2: "lanes": want a string of 8 hex digits, got "123456789"`},
		{launch0 + strings.Replace(head, `"cta":0`, `"cta":"0"`, 1) + "}", `line 2: "cta": want an integer from 0 to 4294967295, got "0"`},
		{launch0 + head + `,"seq":1}`, `line 2: "seq": want it once`},
		{launch0 + head + `,"line":null}`, `line 2: "line": want an integer from 0 to 4294967295, got null`},
		{launch0 + head + `,"line":1,"line":2}`, `line 2: "line": want it once`},
		{launch0 + event("bar.sync", `,"bar":0`), `line 2: launch 0, CTA 0, warp 0, seq 0 at 5 ns: bar.sync has no "count"`},
		{launch0 + event("bar.sync", `,"bar":0,"count":0,"aligned":1`), `line 2: "aligned": want true or false, got 1`},
		{launch0 + event("bar.red", `,"bar":0,"count":0,"red":"xor","pred":"1"`), `line 2: "red": want one of popc, and, or, got "xor"`},
		{launch0 + event("mbar.arrive", `,"addr":"0x400"`), `line 2: "addr": want an integer from 0 to 18446744073709551615, got "0x400"`},
		{launch0 + event("mbar.arrive", `,"addr":18446744073709551616`), `line 2: "addr": want an integer from 0 to 18446744073709551615, got 18446744073709551616`},
		{launch0 + event("mbar.arrive", `,"addr":1,"token":12`), `line 2: "token": want a string of 16 hex digits, got 12`},
		{launch0 + event("mbar.copy", `,"addr":1,"bytes":1e3`), `line 2: "bytes": want an integer from -2^63 to 2^63-1, got 1e3`},
		{launch0 + event("mbar.wait", `,"addr":1,"parity":2`), `line 2: "parity": want an integer from 0 to 1, got 2`},
		{launch0 + event("mbar.wait", `,"addr":1,"sem":"seq_cst"`), `line 2: "sem": want one of relaxed, acquire, release, acq_rel, got "seq_cst"`},
		{launch0 + event("mbar.test", `,"addr":1,"result":"yes"`), `line 2: "result": want true or false, got "yes"`},
		{launch0 + event("bar.done", `,"bar":1,"result":true`), `line 2: "result": want an integer from 0 to 4294967295, got true`},
		{launch0 + event("trap", `,"reason":"\ud800"`), `line 2: "reason": want a string of Unicode characters, got "\ud800"`},
		{launch0 + `{"type":"gap","launch":0,"cta":0,"lost":1}`, `line 2: "warp": want it, and it is missing`},
		{launch0 + `{"type":"mark","launch":0,"cta":0,"warp":0,"text":"x"}`, `line 2: "ns": want it, and it is missing`},
		{`{"type":"mark","ns":0,"cta":0,"warp":0,"text":"x"}`, `line 1: "launch": want it, and it is missing`},
		{launch0 + event("group.wait", `,"group":["`+strings.Repeat("g", 60)+`"]`), `line 2: "group": want a string, got ["gggggggggggggggggggggggggggggggggggggg...`},
		{launch0 + event("group.wait", `,"group":"\u009b",`+"\"line\":\"\u009b31m\""), `line 2: "line": want an integer from 0 to 4294967295, got "?31m"`},
	} {
		err := importInto(t, c.in)
		var le *LineError
		if err == nil || err.Error() != c.want || !errors.As(err, &le) {
			t.Errorf("%s\n got %v\nwant %s", c.in, err, c.want)
		}
	}
}

func importInto(t *testing.T, in string) error {
	t.Helper()
	w, err := NewWriter(&limitedBuffer{limit: 1 << 24}, Options{MaxAge: -1})
	must(t, err)
	return ImportNDJSON(strings.NewReader(in), w)
}

// A caller learns of a wrong value by its type.
func TestWrongValueIsTyped(t *testing.T) {
	err := importInto(t, launch0+event("bar.sync", `,"bar":"x"`))
	var le *LineError
	var ve *ValueError
	if !errors.As(err, &le) || le.Line != 2 || !errors.As(err, &ve) || ve.Key != "bar" || ve.Got != `"x"` {
		t.Errorf("%#v", err)
	}
}

// A line is bounded, whatever is in it.
func TestLongLine(t *testing.T) {
	long := func(n int) string {
		return launch0 + event("exit", `,"x":"`+strings.Repeat("x", n)+`"`)
	}
	must(t, importInto(t, long(MaxLine-200)))
	if err := importInto(t, long(MaxLine)); err == nil || !strings.Contains(err.Error(), "line 2: want a line of at most 1048576 bytes") {
		t.Errorf("%v", err)
	}
	if err := importInto(t, launch0+`{"type":"event","x":`+strings.Repeat("[", 100_000)); err == nil {
		t.Error("deep nesting")
	}
}

func TestExportOfAQuery(t *testing.T) {
	in := readTestdata(t, "h100/hang_run_ahead.ndjson")
	r := open(t, imported(t, in, Options{}))
	got := exported(t, r, Query{Kinds: []Kind{KindBarArrive}})
	var want []string
	for _, line := range strings.SplitAfter(in, "\n") {
		if !strings.Contains(line, `"type":"event"`) || strings.Contains(line, `"op":"bar.arrive"`) {
			want = append(want, line)
		}
	}
	if got != strings.Join(want, "") {
		t.Errorf("got\n%s", got)
	}
	other := uint32(5)
	if got := exported(t, r, Query{Launch: &other}); got != "" {
		t.Errorf("another launch: %s", got)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errDisk }

func TestExportThatCannotWrite(t *testing.T) {
	r := open(t, small(t))
	if err := ExportNDJSON(t.Context(), failingWriter{}, r, Query{}); !errors.Is(err, errDisk) {
		t.Errorf("%v", err)
	}
}

// Lines may be written with blanks and escapes, and their keys in any order.
func TestLooseLines(t *testing.T) {
	in := " { \"kernel\" : \"a\\tb\" , \"id\" : 0 , \"type\" : \"launch\" , \"grid\" : [ 1 , 2 , 3 ] , \"x\" : [ 1 , { \"y\" : \"}\\\"\" } ] } \n\n" +
		"\t{ \"type\" : \"event\" , \"launch\" : 0 , \"ns\" : 1 , \"cta\" : 0 , \"warp\" : 0 , \"seq\" : 0 , \"lanes\" : \"1\" , \"op\" : \"tr\\u0061p\" , \"reason\" : \"\\u00e9\" }\n"
	r := open(t, imported(t, in, Options{}))
	want := `{"type":"launch","id":0,"kernel":"a\tb","grid":[1,2,3],"x":[ 1 , { "y" : "}\"" } ]}` + "\n" +
		`{"type":"event","launch":0,"ns":1,"cta":0,"warp":0,"seq":0,"lanes":"00000001","op":"trap","reason":"é"}` + "\n"
	if got := exported(t, r, Query{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A damaged block leaves a gap in an export, and the kept lines stay.
func TestExportOfADamagedFile(t *testing.T) {
	file := small(t)
	whole := open(t, file)
	all := exported(t, whole, Query{})
	h := whole.blocks[1]
	file[h.data()+2] ^= 1
	k := whole.lines[1]
	file[k.data()+2] ^= 1
	r := open(t, file)
	got := exported(t, r, Query{})
	if n := strings.Count(all, "\n") - strings.Count(got, "\n"); n != int(h.Rows)+1 {
		t.Errorf("%d lines are missing, want %d", n, h.Rows+1)
	}
	if d := r.Damage(); len(d) != 2 || !errors.Is(d[1].Err, ErrCorrupt) {
		t.Errorf("%v", d)
	}
}

// An export that is stopped says so, at whatever place it is.
func TestExportStops(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file, Options{BlockRows: 64, MaxAge: -1})
	must(t, err)
	s := synthetic{CTAs: 2, Stages: 2, Rounds: 3}
	must(t, w.Begin(s.launch()))
	must(t, w.Write(s.events()))
	must(t, w.AddLine(`{"type":"note"}`))
	must(t, w.Close())
	r := open(t, file.Bytes())
	whole := exported(t, r, Query{})
	stopped := 0
	for looks := 0; ; looks++ {
		var b strings.Builder
		ctx := &impatient{Context: context.Background(), looks: looks}
		err := ExportNDJSON(ctx, &b, r, Query{})
		if err == nil {
			if b.String() != whole {
				t.Error("what was written is not the whole")
			}
			break
		}
		stopped++
		if !errors.Is(err, context.Canceled) || len(b.String()) >= len(whole) {
			t.Fatalf("after %d looks: %v, and %d bytes of %d", looks, err, b.Len(), len(whole))
		}
	}
	if blocks := r.NumBlocks(); stopped < blocks {
		t.Errorf("an export of %d blocks can be stopped at %d places", blocks, stopped)
	}
}

// impatient is done after it has been looked at so often.
type impatient struct {
	context.Context
	looks int
}

func (c *impatient) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}
