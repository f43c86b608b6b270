package report

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"btrace/replay"
	"btrace/trace"
)

func pageOf(t *testing.T, r *trace.Reader, n int) string {
	t.Helper()
	rep, err := replay.Check(context.Background(), r, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	err = WriteHTML(context.Background(), &buf, File{Name: "x.zst", Report: rep}, n, func(ctx context.Context, id uint32) (replay.Timeline, error) {
		return replay.Open(ctx, r, id)
	})
	if err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

// elements reads a page as XML, which it is too, and
// counts its elements.
func elements(t *testing.T, page string) map[string]int {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	d.Entity = xml.HTMLEntity
	out := map[string]int{}
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := tok.(xml.StartElement); ok {
			out[e.Name.Local]++
			for _, a := range e.Attr {
				if a.Name.Local == "src" || a.Name.Local == "href" || strings.HasPrefix(a.Name.Local, "on") {
					t.Errorf("the page loads or runs something: %s=%q", a.Name.Local, a.Value)
				}
			}
		}
	}
}

// A page tells the story of a hang, with everything that diagnose says.
func TestPageOfAHang(t *testing.T) {
	r, err := trace.Open(filepath.Join("../../sample-traces/tma_pipeline_count.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	page := pageOf(t, r, 0)
	for _, want := range []string{
		"x.zst: <span class=\"verdict deadlock\">deadlock</span>",
		"phase 0 of mbar:0x1420 waits for 5 arrivals, but everyone who arrives on it has, and that makes 4",
		"at corpus.cu:330", "initialise it with 4 instead of 5", "4 of 5 arrivals have come: w1:l0, w3:l0, w2:l0, w4:l0.",
		"w1 w2 w3 w4 on mbar:0x1400 of CTA 0, phase 1 at corpus.cu:349, since 221.088 µs",
		"NVIDIA H100", "hung on mbar:0x1420 of CTA 0, phase 0 since 129.344 µs", "not complete: 4 of 5 arrivals",
		`class="hung"`, "PTX ISA",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	n := elements(t, page)
	if n["svg"] != 1 || n["script"] != 0 || n["link"] != 0 || n["img"] != 0 || n["rect"] < 50 {
		t.Errorf("elements %v", n)
	}
}

func TestPageOfACleanTrace(t *testing.T) {
	r, err := trace.Open(filepath.Join("../../sample-traces/cluster_exchange.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	page := pageOf(t, r, 0)
	elements(t, page)
	if !strings.Contains(page, "Nothing was found.") || !strings.Contains(page, "cta3 w1") || strings.Contains(page, "cta4 w0") {
		t.Error("it does not show the first cluster, and that nothing was found")
	}
}

// What a trace says cannot become part of the page's own text.
func TestPageOfAHostileTrace(t *testing.T) {
	in := `{"type":"launch","id":0,"kernel":"</td><script>alert(1)</script>\u001b[31m","program":"<img src=x onerror=1>.cu","recorder":"test","grid":[1,1,1],"block":[64,1,1],"cluster":[1,1,1]}
{"type":"event","launch":0,"ns":-9223372036854775808,"cta":0,"warp":0,"seq":0,"lanes":"ffffffff","op":"group.wait","group":"\"><script>","line":3}
{"type":"event","launch":0,"ns":9223372036854775807,"cta":0,"warp":1,"seq":0,"lanes":"ffffffff","op":"bar.sync","bar":1,"count":96,"line":3}
`
	var buf bytes.Buffer
	w, err := trace.NewWriter(&buf, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := trace.ImportNDJSON(strings.NewReader(in), w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := trace.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	page := pageOf(t, r, 0)
	if n := elements(t, page); n["script"]+n["img"] > 0 || strings.ContainsRune(page, '\x1b') {
		t.Errorf("elements %v", n)
	}
	if !strings.Contains(page, "&lt;script&gt;alert(1)&lt;/script&gt;") {
		t.Error("the kernel's name is not on the page")
	}
}

// Nothing recorded still makes a page, and a finding that is not there an error.
func TestPageOfNothing(t *testing.T) {
	var buf bytes.Buffer
	f := File{Name: "x.zst", Report: &replay.Report{Verdict: replay.Clean}}
	if err := WriteHTML(context.Background(), &buf, f, 0, nil); err != nil || !strings.Contains(buf.String(), "Nothing was found.") {
		t.Errorf("%v: %s", err, buf.String())
	}
	elements(t, buf.String())
	for _, n := range []int{-1, 1} {
		if err := WriteHTML(context.Background(), &buf, f, n, nil); err == nil {
			t.Errorf("a page about finding %d of none", n)
		}
	}
}
