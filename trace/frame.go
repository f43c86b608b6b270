package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/cespare/xxhash/v2"
)

// The format's version. A reader refuses another major version by name and
// reads every minor one.
//
//	1.0: the first.
const (
	Major = 1
	Minor = 0
)

// FrameType says what a frame of a trace file holds.
type FrameType uint8

// The types of frames. A reader skips those that it does not know.
const (
	FrameLaunch    FrameType = 1 + iota // the launch line
	FrameEvents                         // a block of events
	FrameLaunchEnd                      // the launch_end line
	FrameLines                          // lines of unknown type
	FrameIndex                          // the heads since the index before
	FrameClose                          // all data is written
	FrameSection                        // a section
	FrameEnd                            // the file is complete
)

func (t FrameType) String() string {
	names := [...]string{"launch", "events", "launch end", "lines", "index", "close", "section", "end"}
	if t == 0 || int(t) > len(names) {
		return fmt.Sprintf("type %d", uint8(t))
	}
	return names[t-1]
}

const (
	fileMagic = 0x184D2A56 // skippable frames of zstd: the file's head,
	headMagic = 0x184D2A57 // heads of frames,
	seekMagic = 0x184D2A5E // and the seek table
	seekFoot  = 0x8F92EAB1

	fileHeadLen = 32
	headLen     = 64 // of a head without its own part
	headFixed   = 56 // where a head's own part begins
	eventsLen   = headLen + 160
	closeLen    = headLen + 24
	endLen      = headLen + 24
	hashLen     = 8

	noLaunch = 1 // flag of a lines frame: it precedes every launch
	afterEnd = 2 // and: it follows the launch's end
)

var (
	le      = binary.LittleEndian
	headTag = []byte("BTRH")
	fileTag = []byte("BTRACE\r\n")
)

// appendFileHead appends the first frame of every file.
func appendFileHead(b []byte) []byte {
	at := len(b)
	b = le.AppendUint32(b, fileMagic)
	b = le.AppendUint32(b, fileHeadLen-8)
	b = append(b, fileTag...)
	b = le.AppendUint16(b, Major)
	b = le.AppendUint16(b, Minor)
	b = le.AppendUint32(b, 0)
	return le.AppendUint64(b, xxhash.Sum64(b[at:]))
}

// checkFileHead reads the first frame of a file of that size.
func checkFileHead(r io.ReaderAt, size int64) (minor int, err error) {
	if size == 0 {
		return 0, fmt.Errorf("%w: the file is empty", ErrNotTrace)
	}
	b := make([]byte, min(size, fileHeadLen))
	if n, err := r.ReadAt(b, 0); n < len(b) {
		return 0, fmt.Errorf("read the file's head: %w", noEOF(err))
	}
	want := appendFileHead(nil)
	if len(b) < fileHeadLen {
		if len(b) >= 4 && bytes.HasPrefix(want, b[:min(len(b), 16)]) {
			return 0, fmt.Errorf("%w: only %d bytes of a trace are left", ErrTorn, size)
		}
		return 0, fmt.Errorf("%w: %s", ErrNotTrace, looksLike(b))
	}
	if !bytes.Equal(b[:16], want[:16]) {
		return 0, fmt.Errorf("%w: %s", ErrNotTrace, looksLike(b))
	}
	if le.Uint64(b[fileHeadLen-hashLen:]) != xxhash.Sum64(b[:fileHeadLen-hashLen]) {
		return 0, fmt.Errorf("%w: the file's head does not match its checksum", ErrCorrupt)
	}
	if v := le.Uint16(b[16:]); v != Major {
		return 0, fmt.Errorf("%w: version %d.%d, and this reads version %d", ErrVersion, v, le.Uint16(b[18:]), Major)
	}
	return int(le.Uint16(b[18:])), nil
}

// looksLike guesses what a file is that is no trace, for the error's reader.
func looksLike(b []byte) string {
	switch t := bytes.TrimLeft(b, " \t\r\n\ufeff"); {
	case len(t) > 0 && t[0] == '{':
		return "it looks like JSON lines, which can be imported"
	case bytes.HasPrefix(b, []byte{0x28, 0xB5, 0x2F, 0xFD}):
		return "it is zstd-compressed data, but not a trace"
	}
	return "it does not begin like one"
}

// noEOF turns the end of a file in the middle of something into an error
// that nobody takes for the normal end.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) || err == nil {
		return io.ErrUnexpectedEOF
	}
	return err
}

// head is what precedes every zstd frame of a file.
type head struct {
	Type      FrameType
	Flags     uint8
	Offset    int64 // of the head itself in the file
	PrevIndex int64 // offset of the latest index's head before this; 0 = none
	Packed    uint32
	Raw       uint32
	Sum       uint64 // XXH64 of the packed bytes
	Launch    uint32
	Rows      uint32
	Size      uint32 // of the head, bytes

	Events summary // FrameEvents
	Own    []byte  // the type's own part, of the other types
}

// hop is the distance from this head to the next one.
func (h *head) hop() int64 { return int64(h.Size) + int64(h.Packed) }

// data is the offset of the zstd frame.
func (h *head) data() int64 { return h.Offset + int64(h.Size) }

// appendHead appends the head in the form of the file.
func appendHead(b []byte, h *head) []byte {
	at := len(b)
	b = le.AppendUint32(b, headMagic)
	b = le.AppendUint32(b, 0)
	b = append(b, headTag...)
	b = append(b, byte(h.Type), h.Flags, 0, 0)
	b = le.AppendUint64(b, uint64(h.Offset))
	b = le.AppendUint64(b, uint64(h.PrevIndex))
	b = le.AppendUint32(b, h.Packed)
	b = le.AppendUint32(b, h.Raw)
	b = le.AppendUint64(b, h.Sum)
	b = le.AppendUint32(b, h.Launch)
	b = le.AppendUint32(b, h.Rows)
	if h.Type == FrameEvents {
		b = h.Events.append(b)
	} else {
		b = append(b, h.Own...)
	}
	le.PutUint32(b[at+4:], uint32(len(b)+hashLen-at-8))
	return le.AppendUint64(b, xxhash.Sum64(b[at:]))
}

var errNoHead = errors.New("no head of a frame")

// headSize returns the length of the head that b, of at least 12 bytes,
// begins with.
func headSize(b []byte) (int, error) {
	if le.Uint32(b) != headMagic || !bytes.Equal(b[8:12], headTag) {
		return 0, errNoHead
	}
	n := int64(le.Uint32(b[4:])) + 8
	if n < headLen || n > maxHead {
		return 0, errNoHead
	}
	return int(n), nil
}

// parseHead reads the head that b is, which stands at that offset.
func parseHead(b []byte, offset int64) (head, error) {
	if len(b) < headLen {
		return head{}, errNoHead
	}
	n, err := headSize(b)
	if err != nil || n != len(b) {
		return head{}, errNoHead
	}
	h := head{
		Type:      FrameType(b[12]),
		Flags:     b[13],
		Offset:    int64(le.Uint64(b[16:])),
		PrevIndex: int64(le.Uint64(b[24:])),
		Packed:    le.Uint32(b[32:]),
		Raw:       le.Uint32(b[36:]),
		Sum:       le.Uint64(b[40:]),
		Launch:    le.Uint32(b[48:]),
		Rows:      le.Uint32(b[52:]),
		Size:      uint32(n),
	}
	// The offset is compared first: a head of another trace that lies inside
	// a frame of this one costs no checksum.
	if h.Offset != offset {
		return head{}, errNoHead
	}
	if le.Uint64(b[n-hashLen:]) != xxhash.Sum64(b[:n-hashLen]) {
		return head{}, fmt.Errorf("the head does not match its checksum")
	}
	own := b[headFixed : n-hashLen]
	if h.Type != FrameEvents {
		h.Own = bytes.Clone(own)
		return h, h.check()
	}
	if len(own) < eventsLen-headLen {
		return head{}, fmt.Errorf("the head of a block of events is %d bytes short", eventsLen-headLen-len(own))
	}
	h.Events.parse(own)
	return h, h.check()
}

// check holds what a head says against the limits.
func (h *head) check() error {
	limit := uint32(maxBlockRaw)
	if h.Type == FrameSection {
		limit = MaxSection
	}
	switch {
	case h.PrevIndex < 0 || h.PrevIndex >= h.Offset:
		return fmt.Errorf("the index before it is said to come after it")
	case h.Raw > limit || h.Packed > limit+limit/128:
		return fmt.Errorf("%v frame of %d bytes, decompressed %d: more than the format allows", h.Type, h.Packed, h.Raw)
	case (h.Packed == 0) != (h.Raw == 0):
		return fmt.Errorf("%v frame of %d bytes, decompressed %d", h.Type, h.Packed, h.Raw)
	case h.Type == FrameEvents && (h.Rows == 0 || h.Rows > MaxBlockRows):
		return fmt.Errorf("block of %d events: want 1 to %d", h.Rows, MaxBlockRows)
	case (h.Type == FrameClose || h.Type == FrameEnd) && (len(h.Own) < closeLen-headLen || h.Packed != 0):
		return fmt.Errorf("malformed %v frame", h.Type)
	case h.Type == FrameSection && (len(h.Own) < 4 || len(h.Own) > 4+MaxSectionName):
		return fmt.Errorf("malformed section head")
	}
	return nil
}
