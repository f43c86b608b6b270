package perfetto

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"btrace/replay"
	"btrace/trace"
)

// schema is the part of Perfetto's public schema (protos/perfetto/trace) that
// an export may use, written down apart from the encoder and held against the
// .proto files of Perfetto's repository, of track_event.proto commit
// 005055c991ae: message, then name, type and number of its fields.
const schema = `
Trace packet *TracePacket 1
TracePacket timestamp uint64 8
TracePacket trusted_packet_sequence_id uint32 10
TracePacket track_event TrackEvent 11
TracePacket sequence_flags uint32 13
TracePacket track_descriptor TrackDescriptor 60
TrackDescriptor uuid uint64 1
TrackDescriptor name string 2
TrackDescriptor process ProcessDescriptor 3
TrackDescriptor thread ThreadDescriptor 4
TrackDescriptor parent_uuid uint64 5
TrackDescriptor counter CounterDescriptor 8
ProcessDescriptor pid int32 1
ProcessDescriptor process_name string 6
ThreadDescriptor pid int32 1
ThreadDescriptor tid int32 2
ThreadDescriptor thread_name string 5
CounterDescriptor unit int32 3
TrackEvent debug_annotations *DebugAnnotation 4
TrackEvent type int32 9
TrackEvent track_uuid uint64 11
TrackEvent categories *string 22
TrackEvent name string 23
TrackEvent counter_value int64 30
TrackEvent source_location SourceLocation 33
TrackEvent flow_ids *fixed64 47
TrackEvent terminating_flow_ids *fixed64 48
DebugAnnotation uint_value uint64 3
DebugAnnotation string_value string 6
DebugAnnotation name string 10
SourceLocation file_name string 2
SourceLocation line_number uint32 4
`

func traceDescriptor(t testing.TB) protoreflect.MessageDescriptor {
	t.Helper()
	types := map[string]descriptorpb.FieldDescriptorProto_Type{
		"uint64": descriptorpb.FieldDescriptorProto_TYPE_UINT64, "uint32": descriptorpb.FieldDescriptorProto_TYPE_UINT32,
		"int32": descriptorpb.FieldDescriptorProto_TYPE_INT32, "int64": descriptorpb.FieldDescriptorProto_TYPE_INT64,
		"string": descriptorpb.FieldDescriptorProto_TYPE_STRING, "fixed64": descriptorpb.FieldDescriptorProto_TYPE_FIXED64,
	}
	file := &descriptorpb.FileDescriptorProto{Name: proto.String("trace.proto"), Syntax: proto.String("proto2")}
	messages := map[string]*descriptorpb.DescriptorProto{}
	for _, line := range strings.Split(strings.TrimSpace(schema), "\n") {
		w := strings.Fields(line)
		m := messages[w[0]]
		if m == nil {
			m = &descriptorpb.DescriptorProto{Name: proto.String(w[0])}
			messages[w[0]] = m
			file.MessageType = append(file.MessageType, m)
		}
		n, err := strconv.Atoi(w[3])
		if err != nil {
			t.Fatal(err)
		}
		label := descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL
		kind, repeated := strings.CutPrefix(w[2], "*")
		if repeated {
			label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED
		}
		f := &descriptorpb.FieldDescriptorProto{Name: proto.String(w[1]), Number: proto.Int32(int32(n)), Label: &label}
		if scalar, ok := types[kind]; ok {
			f.Type = &scalar
		} else {
			f.Type = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
			f.TypeName = proto.String("." + kind)
		}
		m.Field = append(m.Field, f)
	}
	fd, err := protodesc.NewFile(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return fd.Messages().ByName("Trace")
}

// get is a field of a message.
func get(m protoreflect.Message, name string) protoreflect.Value {
	return m.Get(m.Descriptor().Fields().ByName(protoreflect.Name(name)))
}

func has(m protoreflect.Message, name string) bool {
	return m.Has(m.Descriptor().Fields().ByName(protoreflect.Name(name)))
}

// fact is a track event as somebody sees it who opens the trace.
type fact struct {
	time       uint64
	track      string // "CTA 0/warp 1"
	kind       int64
	name       string
	value      int64
	flows, end []uint64
	at         string
	phase      uint64
}

// decoded reads an export and returns its events, in the order of their times
// as Perfetto sorts them.
func decoded(t *testing.T, data []byte) []fact {
	t.Helper()
	m := dynamicpb.NewMessage(traceDescriptor(t))
	if err := (proto.UnmarshalOptions{DiscardUnknown: false}).Unmarshal(data, m); err != nil {
		t.Fatal(err)
	}
	tracks := map[uint64]string{0: "?"}
	pids := map[int64]string{}
	var out []fact
	packets := get(m, "packet").List()
	for i := range packets.Len() {
		p := packets.Get(i).Message()
		if len(p.GetUnknown()) > 0 {
			t.Fatalf("packet %d has fields that are not in the schema", i)
		}
		if get(p, "trusted_packet_sequence_id").Uint() == 0 {
			t.Fatalf("packet %d is of no sequence", i)
		}
		if has(p, "track_descriptor") {
			d := get(p, "track_descriptor").Message()
			id := get(d, "uuid").Uint()
			if _, ok := tracks[id]; ok {
				t.Fatalf("two tracks have the id %d", id)
			}
			name := get(d, "name").String()
			switch {
			case has(d, "process"):
				pr := get(d, "process").Message()
				name = get(pr, "process_name").String()
				pids[get(pr, "pid").Int()] = name
			case has(d, "thread"):
				th := get(d, "thread").Message()
				name = pids[get(th, "pid").Int()] + "/" + get(th, "thread_name").String()
			default:
				parent, ok := tracks[get(d, "parent_uuid").Uint()]
				if !ok {
					t.Fatalf("the track %s has no parent", name)
				}
				name = parent + "/" + name
			}
			tracks[id] = name
			continue
		}
		e := get(p, "track_event").Message()
		f := fact{time: get(p, "timestamp").Uint(), track: tracks[get(e, "track_uuid").Uint()], kind: get(e, "type").Int(), name: get(e, "name").String(), value: get(e, "counter_value").Int()}
		if f.track == "" {
			t.Fatalf("packet %d is on a track that was not announced", i)
		}
		for _, x := range []struct {
			name string
			to   *[]uint64
		}{{"flow_ids", &f.flows}, {"terminating_flow_ids", &f.end}} {
			l := get(e, x.name).List()
			for k := range l.Len() {
				*x.to = append(*x.to, l.Get(k).Uint())
			}
		}
		if has(e, "source_location") {
			s := get(e, "source_location").Message()
			f.at = fmt.Sprintf("%s:%d", get(s, "file_name").String(), get(s, "line_number").Uint())
		}
		notes := get(e, "debug_annotations").List()
		for k := range notes.Len() {
			if n := notes.Get(k).Message(); get(n, "name").String() == "phase" {
				f.phase = get(n, "uint_value").Uint()
			}
		}
		out = append(out, f)
	}
	slices.SortStableFunc(out, func(a, b fact) int { return int(int64(a.time) - int64(b.time)) })
	return out
}

func sample(t testing.TB, name string) *trace.Reader {
	t.Helper()
	r, err := trace.Open(filepath.Join("../../sample-traces", name+".zst"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func export(t testing.TB, r *trace.Reader) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := Write(context.Background(), &buf, r); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// counts of what an observer hears of a launch.
type counts struct{ arrivals, waits, open int }

func (c *counts) Arrived(replay.Arrival)    { c.arrivals++ }
func (c *counts) Completed(replay.PhaseEnd) {}
func (c *counts) Waited(w replay.WaitSpan) {
	if w.Ended {
		c.waits++
	} else {
		c.open++
	}
}
func (c *counts) Over([]uint32, bool) {}

// In every sample every wait is a slice, every arrival an instant; slices nest,
// and an arrow leads from an arrival to a release that is not before it, on the
// same barrier, in the same phase.
func TestWhatIsWritten(t *testing.T) {
	files, err := filepath.Glob("../../sample-traces/*.zst")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d samples, %v", len(files), err)
	}
	arrows := 0
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".zst")
		r := sample(t, name)
		var want counts
		for _, l := range r.Launches() {
			if err := replay.Observe(context.Background(), r, l.ID, replay.Options{Workers: 1}, func() replay.Observer { return &want }); err != nil {
				t.Fatal(err)
			}
		}
		var got counts
		open := map[string]int{}
		from := map[uint64]fact{}
		for _, f := range decoded(t, export(t, r)) {
			switch f.kind {
			case sliceBegin:
				open[f.track]++
				if open[f.track] > 1 {
					t.Fatalf("%s: two waits at once on %s at %d", name, f.track, f.time)
				}
				if strings.HasSuffix(f.name, "(no end)") {
					got.open++
				} else {
					got.waits++
				}
			case sliceEnd:
				if open[f.track]--; open[f.track] < 0 {
					t.Fatalf("%s: %s ends a wait at %d that it did not begin", name, f.track, f.time)
				}
			case instant:
				if strings.HasPrefix(f.name, "arrive ") {
					got.arrivals++
				}
				for _, id := range f.flows {
					from[id] = f
				}
				for _, id := range f.end {
					arrows++
					a, ok := from[id]
					if !ok {
						t.Fatalf("%s: the arrow %d has no beginning before its end at %d", name, id, f.time)
					}
					if strings.TrimPrefix(a.name, "arrive ") != strings.TrimPrefix(f.name, "released from ") || a.phase != f.phase {
						t.Fatalf("%s: an arrow from %+v to %+v", name, a, f)
					}
				}
			case counterSet:
				if f.value < 0 || !strings.Contains(f.track, "/pending on ") {
					t.Fatalf("%s: %+v", name, f)
				}
			default:
				t.Fatalf("%s: an event of type %d", name, f.kind)
			}
		}
		if got != want {
			t.Errorf("%s: written %+v, observed %+v", name, got, want)
		}
	}
	if arrows < 1000 {
		t.Errorf("%d arrows in all samples", arrows)
	}
}

// A small launch, fact by fact.
func TestFacts(t *testing.T) {
	in := `{"type":"launch","id":0,"kernel":"pair","program":"pair.cu","recorder":"test","grid":[1,1,1],"block":[64,1,1],"cluster":[1,1,1]}
{"type":"event","launch":0,"ns":110,"cta":0,"warp":0,"seq":0,"lanes":"ffffffff","op":"bar.sync","bar":1,"count":64,"line":2}
{"type":"event","launch":0,"ns":120,"cta":0,"warp":1,"seq":0,"lanes":"ffffffff","op":"bar.arrive","bar":1,"count":64,"line":5}
{"type":"event","launch":0,"ns":131,"cta":0,"warp":0,"seq":1,"lanes":"ffffffff","op":"bar.done","bar":1,"line":2}
{"type":"event","launch":0,"ns":140,"cta":0,"warp":0,"seq":2,"lanes":"ffffffff","op":"bar.sync","bar":1,"count":64,"line":3}
{"type":"launch_end","launch":0,"outcome":"hung"}
{"type":"launch","id":1,"kernel":"again","program":"pair.cu","recorder":"test","grid":[1,1,1],"block":[32,1,1],"cluster":[1,1,1]}
{"type":"event","launch":1,"ns":-7,"cta":0,"warp":0,"seq":0,"lanes":"ffffffff","op":"bar.arrive","bar":0,"count":64}
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
	var got []string
	for _, f := range decoded(t, export(t, r)) {
		got = append(got, fmt.Sprintf("%d %s: %d %q %d %v %v %s", f.time, f.track, f.kind, f.name, f.value, f.flows, f.end, f.at))
	}
	want := []string{
		`0 pair, launch 0, CTA 0/pending on bar:1: 4 "" 32 [] [] `,
		`0 pair, launch 0, CTA 0/warp 0: 1 "wait bar:1" 0 [] [] pair.cu:2`,
		`0 pair, launch 0, CTA 0/warp 0: 3 "arrive bar:1" 0 [] [] pair.cu:2`,
		`10 pair, launch 0, CTA 0/pending on bar:1: 4 "" 0 [] [] `,
		`10 pair, launch 0, CTA 0/warp 1: 3 "arrive bar:1" 0 [1] [] pair.cu:5`,
		`21 pair, launch 0, CTA 0/warp 0: 2 "" 0 [] [] `,
		`21 pair, launch 0, CTA 0/warp 0: 3 "released from bar:1" 0 [] [1] `,
		`30 pair, launch 0, CTA 0/pending on bar:1: 4 "" 32 [] [] `,
		`30 pair, launch 0, CTA 0/warp 0: 1 "wait bar:1 (no end)" 0 [] [] pair.cu:3`,
		`30 pair, launch 0, CTA 0/warp 0: 3 "arrive bar:1" 0 [] [] pair.cu:3`,
		`1030 again, launch 1, CTA 0/pending on bar:0: 4 "" 32 [] [] `,
		`1030 again, launch 1, CTA 0/warp 0: 3 "arrive bar:0" 0 [] [] `,
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("written\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestSameEveryTime(t *testing.T) {
	r := sample(t, "cluster_exchange")
	if a, b := export(t, r), export(t, r); !bytes.Equal(a, b) {
		t.Error("two exports of a trace differ")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, os.ErrInvalid }

func TestNoRoom(t *testing.T) {
	if err := Write(context.Background(), full{}, sample(t, "hang_cross")); err == nil {
		t.Error("it was written to nowhere")
	}
}
