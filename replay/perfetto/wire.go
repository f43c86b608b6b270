package perfetto

import "google.golang.org/protobuf/encoding/protowire"

// Fields of perfetto.protos, by message.
const (
	tracePacket = 1 // Trace.packet

	packetTimestamp       = 8
	packetSequence        = 10 // trusted_packet_sequence_id
	packetTrackEvent      = 11
	packetSequenceFlags   = 13
	packetTrackDescriptor = 60

	trackUUID    = 1
	trackName    = 2
	trackProcess = 3
	trackThread  = 4
	trackParent  = 5
	trackCounter = 8

	processPID  = 1
	processName = 6

	threadPID  = 1
	threadTID  = 2
	threadName = 5

	counterUnit = 3 // UNIT_COUNT of CounterDescriptor.Unit is 2

	eventAnnotation       = 4 // debug_annotations
	eventType             = 9
	eventTrack            = 11 // track_uuid
	eventCategory         = 22
	eventName             = 23
	eventCounter          = 30 // counter_value
	eventSource           = 33 // source_location
	eventFlows            = 47 // flow_ids
	eventTerminatingFlows = 48 // terminating_flow_ids

	annotationUint   = 3
	annotationString = 6
	annotationName   = 10

	sourceFile = 2
	sourceLine = 4
)

// The values of TrackEvent.Type.
const (
	sliceBegin = 1
	sliceEnd   = 2
	instant    = 3
	counterSet = 4
)

// stateCleared is SEQ_INCREMENTAL_STATE_CLEARED: nothing before this packet
// is needed to understand what follows.
const stateCleared = 1

// message is a protobuf message being made.
type message []byte

func (m *message) uint(field protowire.Number, v uint64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), v)
}

func (m *message) fixed(field protowire.Number, v uint64) {
	*m = protowire.AppendFixed64(protowire.AppendTag(*m, field, protowire.Fixed64Type), v)
}

func (m *message) text(field protowire.Number, s string) {
	*m = protowire.AppendString(protowire.AppendTag(*m, field, protowire.BytesType), s)
}

func (m *message) sub(field protowire.Number, s message) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), s)
}
