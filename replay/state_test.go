package replay

import (
	"context"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"btrace/trace"
)

// fromStart is a timeline without checkpoints: every state is a replay of all
// that came before it.
func fromStart(t testing.TB, src Source) Timeline {
	t.Helper()
	tl, err := Open(context.Background(), noSections{src}, 0)
	if err != nil {
		t.Fatal(err)
	}
	tl.(*view).points = nil
	return tl
}

// noSections hides the sections of a source.
type noSections struct{ Source }

// withSections is a source with the sections that Sections makes, encoded.
type withSections struct {
	Source
	list []trace.Section
}

func (w withSections) Section(name string) (trace.Section, bool, error) {
	for _, s := range w.list {
		if s.Name == name {
			return s, true, nil
		}
	}
	return trace.Section{}, false, nil
}

// densely makes sections with a checkpoint after every few events.
func densely(t testing.TB, src Source, every int) withSections {
	t.Helper()
	w := withSections{Source: src}
	for _, l := range src.Launches() {
		d, _, err := prepare(context.Background(), src, l, Options{checkpointEvery: every})
		if err != nil {
			t.Fatal(err)
		}
		w.list = append(w.list, d.sections(l.ID)...)
	}
	return w
}

// The state from a checkpoint is the state of the full replay, at any time
// and in any CTA.
func TestStateFromCheckpoint(t *testing.T) {
	for _, name := range append(clean(), "hang_cross", "hang_run_ahead", "tma_pipeline_count", "tma_pipeline_bytes") {
		t.Run(name, func(t *testing.T) {
			rec := sample(t, name)
			src := rec.reader(t)
			dense := densely(t, src, 16)
			tl, err := Open(context.Background(), dense, 0)
			if err != nil {
				t.Fatal(err)
			}
			v := tl.(*view)
			if len(rec.events) > 100 && len(v.index) == 0 {
				t.Fatal("no checkpoints were made")
			}
			_, last := tl.Span()
			full := fromStart(t, src)
			rapid.Check(t, func(rt *rapid.T) {
				at := rapid.Int64Range(-10, last+10).Draw(rt, "time")
				cta := rapid.Uint32Range(0, uint32(rec.launch.CTAs()-1)).Draw(rt, "cta")
				got, err := tl.State(context.Background(), cta, at)
				if err != nil {
					rt.Fatal(err)
				}
				want, err := full.State(context.Background(), cta, at)
				if err != nil {
					rt.Fatal(err)
				}
				if !reflect.DeepEqual(got, want) {
					rt.Fatalf("CTA %d at %d:\n%+v\nfull replay:\n%+v", cta, at, got, want)
				}
			})
		})
	}
}

// A checkpoint that was read back writes the same bytes.
func TestCheckpointRoundTrip(t *testing.T) {
	for _, name := range clean() {
		rec := sample(t, name)
		d, _, err := prepare(context.Background(), rec.reader(t), rec.launch, Options{checkpointEvery: 8})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range d.points {
			s, err := restore(&rec.launch, newLayout(&rec.launch), p.scope, p.data)
			if err != nil {
				t.Fatalf("%s at %d: %v", name, p.time, err)
			}
			if again := appendCheckpoint(nil, s); string(again) != string(p.data) {
				t.Errorf("%s at %d: the checkpoint changes when it is read and written again", name, p.time)
			}
		}
	}
}

func FuzzCheckpoint(f *testing.F) {
	rec := sample(f, "tma_pipeline_count")
	d, _, err := prepare(context.Background(), rec.reader(f), rec.launch, Options{checkpointEvery: 20})
	if err != nil {
		f.Fatal(err)
	}
	for _, p := range d.points {
		f.Add(p.data)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := restore(&rec.launch, newLayout(&rec.launch), 0, b)
		if err != nil {
			return
		}
		s.state(0)
		for _, e := range rec.events[:40] {
			op := e.Op
			s.feed(&row{time: e.Time, op: &op, cta: e.CTA, warp: e.Warp, seq: e.Seq, lanes: e.Lanes, operands: operands{token: e.Token}})
		}
		s.state(0)
	})
}

func FuzzPictureSection(f *testing.F) {
	rec := sample(f, "ok_early_exit")
	src := rec.reader(f)
	secs, err := Sections(context.Background(), src)
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range secs {
		f.Add(s.Data)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		w := withSections{src, []trace.Section{{Name: pictureName(0), Version: sectionVersion, Data: b}}}
		tl, err := Open(context.Background(), w, 0)
		if err != nil {
			t.Fatal(err) // a section that cannot be read is computed again
		}
		from, to := tl.Span()
		cells := make([]Cell, 50)
		for i, r := range tl.Rows() {
			if i == 10 {
				break
			}
			if err := tl.Cells(context.Background(), r, from, to, cells); err != nil {
				t.Fatal(err)
			}
		}
		for i, l := range tl.Lanes() {
			if i == 10 {
				break
			}
			if _, err := tl.Phases(context.Background(), l, from, to, 50); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := tl.State(context.Background(), 0, (from+to)/2); err != nil {
			t.Fatal(err)
		}
	})
}
