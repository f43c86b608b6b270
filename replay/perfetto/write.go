package perfetto

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"btrace/replay"
	"btrace/trace"
)

// Write replays a trace and writes it for Perfetto.
func Write(ctx context.Context, w io.Writer, r *trace.Reader) error {
	out := &writer{w: bufio.NewWriterSize(w, 64<<10)}
	spans := map[uint32]trace.LaunchInfo{}
	for _, l := range r.Info().Launches {
		spans[l.ID] = l
	}
	base := uint64(0)
	for _, l := range r.Launches() {
		x := newExporter(out, &l, base, spans[l.ID].First)
		// One worker: the packets come out in the same order every time.
		err := replay.Observe(ctx, r, l.ID, replay.Options{Workers: 1}, func() replay.Observer { return x })
		if err == nil {
			err = out.err
		}
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		base = x.at(spans[l.ID].Last) + gap
	}
	if err := out.w.Flush(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// gap is what lies between two launches, in ns.
const gap = 1000

// writer writes packets.
type writer struct {
	w     *bufio.Writer
	uuids uint64 // the next track's
	flows uint64 // arrows so far
	pids  int32  // processes so far
	tids  int32  // threads so far
	begun bool
	body  message
	head  []byte
	err   error
}

// packet writes a packet that has one message.
func (o *writer) packet(time uint64, field protowire.Number, m message) {
	o.body = o.body[:0]
	if field == packetTrackEvent {
		o.body.uint(packetTimestamp, time)
	}
	o.body.uint(packetSequence, 1)
	if !o.begun {
		o.begun = true
		o.body.uint(packetSequenceFlags, stateCleared)
	}
	o.body.sub(field, m)
	o.head = protowire.AppendTag(o.head[:0], tracePacket, protowire.BytesType)
	o.head = protowire.AppendVarint(o.head, uint64(len(o.body)))
	for _, b := range [...][]byte{o.head, o.body} {
		if _, err := o.w.Write(b); o.err == nil {
			o.err = err
		}
	}
}

// uuid is a new track's.
func (o *writer) uuid() uint64 {
	o.uuids++
	return o.uuids
}

// process makes the track of a CTA.
func (o *writer) process(pid int32, name string) (uuid uint64) {
	uuid = o.uuid()
	var p, t message
	p.uint(processPID, uint64(pid))
	p.text(processName, name)
	t.uint(trackUUID, uuid)
	t.sub(trackProcess, p)
	o.packet(0, packetTrackDescriptor, t)
	return uuid
}

// thread makes the track of a warp.
func (o *writer) thread(pid int32, name string) (uuid uint64) {
	uuid = o.uuid()
	o.tids++
	var th, t message
	th.uint(threadPID, uint64(pid))
	th.uint(threadTID, uint64(o.tids))
	th.text(threadName, name)
	t.uint(trackUUID, uuid)
	t.sub(trackThread, th)
	o.packet(0, packetTrackDescriptor, t)
	return uuid
}

// track makes a track under another.
func (o *writer) track(parent uint64, name string) (uuid uint64) {
	uuid = o.uuid()
	var t message
	t.uint(trackUUID, uuid)
	t.text(trackName, name)
	t.uint(trackParent, parent)
	o.packet(0, packetTrackDescriptor, t)
	return uuid
}

// counter makes the track of a number under another track.
func (o *writer) counter(parent uint64, name string) (uuid uint64) {
	uuid = o.uuid()
	var c, t message
	c.uint(counterUnit, 2)
	t.uint(trackUUID, uuid)
	t.text(trackName, name)
	t.uint(trackParent, parent)
	t.sub(trackCounter, c)
	o.packet(0, packetTrackDescriptor, t)
	return uuid
}

// event is a TrackEvent being made.
func event(kind, track uint64) message {
	m := make(message, 0, 192) // most are shorter
	m.uint(eventType, kind)
	m.uint(eventTrack, track)
	return m
}

// named gives an event a name and a category.
func (m *message) named(category, name string) {
	m.text(eventCategory, category)
	m.text(eventName, name)
}

func (m *message) note(name string, v any) {
	a := make(message, 0, 64)
	a.text(annotationName, name)
	switch v := v.(type) {
	case uint64:
		a.uint(annotationUint, v)
	case string:
		a.text(annotationString, v)
	}
	m.sub(eventAnnotation, a)
}

// source says where in the source an event was made.
func (m *message) source(l *trace.Launch, at replay.Location) {
	if at.Line == 0 {
		return
	}
	file := at.File
	if file == "" {
		file = l.Program
	}
	s := make(message, 0, 64)
	s.text(sourceFile, file)
	s.uint(sourceLine, uint64(at.Line))
	m.sub(eventSource, s)
}

// at is the time of an event in the export: from its launch's first on.
func (x *exporter) at(ns int64) uint64 {
	if ns < x.first {
		return x.base
	}
	d := uint64(ns) - uint64(x.first)
	return x.base + min(d, math.MaxInt64-min(x.base, math.MaxInt64))
}
