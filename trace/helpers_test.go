package trace

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
	"pgregory.net/rapid"
)

// tb is what a test and a property have in common.
type tb interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// recorded makes a file of what fill writes.
func recorded(t tb, o Options, fill func(w *Writer)) []byte {
	t.Helper()
	var b bytes.Buffer
	o.MaxAge = -1
	w, err := NewWriter(&b, o)
	if err != nil {
		t.Fatal(err)
	}
	fill(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func must(t tb, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open opens a file that must be one.
func open(t tb, file []byte) *Reader {
	t.Helper()
	r, err := NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// rowsOf returns the events that q selects.
func rowsOf(t tb, r *Reader, q Query) []Event {
	t.Helper()
	var all []Event
	for b, err := range r.Blocks(context.Background(), q) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Len() {
			var e Event
			b.Event(i, &e)
			all = append(all, e)
		}
	}
	return all
}

func exported(t tb, r *Reader, q Query) string {
	t.Helper()
	var b strings.Builder
	if err := ExportNDJSON(context.Background(), &b, r, q); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func imported(t tb, lines string, o Options) []byte {
	t.Helper()
	return recorded(t, o, func(w *Writer) {
		t.Helper()
		must(t, ImportNDJSON(strings.NewReader(lines), w))
	})
}

// inOrder returns events in stored order; equal ones stay as they are.
func inOrder(evs []Event) []Event {
	evs = slices.Clone(evs)
	slices.SortStableFunc(evs, func(a, b Event) int { return a.Compare(&b) })
	return evs
}

func lines(evs []Event) string {
	var b []byte
	for i := range evs {
		b = append(AppendNDJSON(b, &evs[i]), '\n')
	}
	return string(b)
}

// sameEvents compares events in full: absent operands too.
func sameEvents(t tb, got, want []Event) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("event %d:\n got %+v\nwant %+v", i, got[i], want[i])
		}
	}
}

// anyText makes texts that are hard on quoting.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", "g", "tile 4x4", "a\"b\\c\n\t\x00\x1b[2J", "é世界\u2028", "kernel.cu"}),
		rapid.StringN(0, 12, 40),
	)
}

// anyExtra makes unknown keys, as the inside of a JSON object.
func anyExtra() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{
		`"sm":3`, `"x":1.50e+3`, `"deep":{"a":[1,{"b":"}"}],"c":null}`, `"s":"a\"},{"`,
		`"big":123456789012345678901234567890`, `"k":true,"l":[]`, `"\u0061":"\ud83d\ude00"`,
	})
}

// anyOp makes an operation of any kind, with the operands that it must have
// and any others.
func anyOp() *rapid.Generator[Op] {
	return rapid.Custom(func(t *rapid.T) Op {
		var e Event
		e.Kind = Kind(rapid.IntRange(0, NumKinds-1).Draw(t, "kind"))
		e.Lanes = rapid.Uint32().Draw(t, "lanes")
		spec := e.Kind.Spec()
		want := Fields(0).With(spec.Required...)
		extra := Fields(rapid.Uint32Range(0, 1<<NumFields-1).Draw(t, "has"))
		if rapid.Bool().Draw(t, "likely") {
			extra &= Fields(0).With(spec.Optional...).With(FieldLine, FieldPC, FieldClk)
		}
		want |= extra
		if want.Has(FieldText) {
			want &^= 1 << FieldReason // they share a place
		}
		if e.Kind == KindUnknown {
			// What else it has is among its extra keys.
			want &= Fields(0).With(FieldFile, FieldLine, FieldPC, FieldClk, FieldExtra)
			e.Name = rapid.SampledFrom([]string{"", "mbar.peek", "tma.store", "odd \"name\""}).Draw(t, "name")
		}
		for _, s := range operands {
			if !want.Has(s.Field) {
				continue
			}
			switch {
			case s.Row:
				e.Has |= 1 << s.Field
			case s.Type == TypeString:
				e.setText(s.Field, anyText().Draw(t, s.Key))
			case s.Field == FieldRed:
				e.setNumber(s.Field, uint64(rapid.IntRange(1, 3).Draw(t, s.Key)))
			case s.Field == FieldSem:
				e.setNumber(s.Field, uint64(rapid.IntRange(1, 4).Draw(t, s.Key)))
			case s.Type == TypeBool:
				e.setNumber(s.Field, uint64(rapid.IntRange(0, 1).Draw(t, s.Key)))
			default:
				e.setNumber(s.Field, anyNumber(t, s.Field, s.Key))
			}
		}
		if e.Kind == KindMark || e.Kind == KindGap {
			e.Implied = Implied(rapid.Uint8Range(0, uint8(maxImplied)).Draw(t, "implied"))
		}
		return e.Op
	})
}

func anyNumber(t *rapid.T, f Field, label string) uint64 {
	lo, hi := bounds(f)
	if lo < 0 {
		return uint64(rapid.Int64().Draw(t, label))
	}
	return rapid.Uint64Range(0, hi).Draw(t, label)
}

// anyEvents makes events of the launches, out of few operations, so that
// templates repeat.
func anyEvents(launches int) *rapid.Generator[[]Event] {
	return rapid.Custom(func(t *rapid.T) []Event {
		ops := rapid.SliceOfN(anyOp(), 1, 6).Draw(t, "ops")
		times := rapid.SampledFrom([]*rapid.Generator[int64]{
			rapid.Int64Range(0, 5), rapid.Int64Range(-1000, 100000), rapid.Int64(),
			rapid.Map(rapid.Int64Range(0, 1000), func(n int64) int64 { return 32 * n }),
		}).Draw(t, "times")
		seqs := map[[3]uint32]uint32{}
		one := rapid.Custom(func(t *rapid.T) Event {
			e := Event{Op: rapid.SampledFrom(ops).Draw(t, "op"), Time: times.Draw(t, "time")}
			e.Launch = uint32(rapid.IntRange(0, launches-1).Draw(t, "launch"))
			e.CTA = rapid.SampledFrom([]uint32{0, 1, 2, 300, 1<<32 - 1}).Draw(t, "cta")
			e.Warp = rapid.SampledFrom([]uint32{0, 1, 63, 64, 1<<32 - 1}).Draw(t, "warp")
			k := [3]uint32{e.Launch, e.CTA, e.Warp}
			e.Seq = seqs[k]
			seqs[k]++
			if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
				e.Seq = rapid.Uint32().Draw(t, "seq")
			}
			for _, s := range operands {
				switch {
				case !s.Row || !e.Has.Has(s.Field):
				case s.Field == FieldExtra:
					e.Extra = anyExtra().Draw(t, "extra")
				case s.Field == FieldResult && e.Kind == KindMbarTest:
					e.Result = rapid.Uint32Range(0, 1).Draw(t, s.Key)
				default:
					e.setNumber(s.Field, anyNumber(t, s.Field, s.Key))
				}
			}
			return e
		})
		return rapid.SliceOfN(one, 0, 80).Draw(t, "events")
	})
}

func sum64(b []byte) uint64 { return xxhash.Sum64(b) }
