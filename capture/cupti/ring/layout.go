package ring

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"unsafe"
)

// The layout's numbers.
const (
	Magic      = 0x3152454341525442 // "BTRACER1"
	Version    = 1
	ChunkBytes = 16 << 10
	ChunkSlots = ChunkBytes / slotBytes
	// MaxRecordSlots is the most slots of a record.
	MaxRecordSlots = 4
	// MinChunks and MaxChunks bound a ring: 256 KiB to 8 GiB.
	MinChunks = 16
	MaxChunks = 1 << 19
	// MaxSites is how many sites the modules of a run can have together.
	MaxSites = 1 << siteBits

	slotBytes   = 16
	headerBytes = 4096
	chunkWords  = 2 * ChunkSlots
	headWords   = 4 // of a chunk
	fifoOffset  = headerBytes

	entryBits = 20 // of a fifo's entry that are the chunk plus 1
	lapMask   = 1<<(32-entryBits) - 1
	siteBits  = 23
	clockBits = 40
	valid     = 1 << 63
)

// The sites that every module has.
const (
	SiteClose = 0
	SiteGap   = 1
	// FirstSite is the first that belongs to a module.
	FirstSite = 2
)

// RecordSize is how large the records of a site are.
type RecordSize struct {
	Slots uint8 // 1 to MaxRecordSlots; 0: there is no such site
	// Head is how many of them are written before the operation that the
	// record is of: the others may never be, if that traps. 0 means all.
	Head uint8
	// Short is true of a record that is one word. Slots is 1 then.
	Short bool
}

// Missing is in a batch what a slot holds that was not written: its bit 63 is
// one that no word has there.
const Missing = valid

// The flags of a ring.
const (
	FlagDrop   = 1 // lanes drop records when there is no free chunk
	FlagChosen = 2 // only some lanes write: see Choose
)

// Size is the bytes that a ring of so many chunks takes.
func Size(chunks int) int { return chunksOffset(chunks) + chunks*ChunkBytes }

func chunksOffset(chunks int) int {
	return (fifoOffset + 4*chunks + ChunkBytes - 1) &^ (ChunkBytes - 1)
}

// Format makes an empty ring of that many chunks in mem, which is all zero and
// has Size(chunks) bytes.
func Format(mem []byte, chunks int, flags uint32) error {
	if chunks < MinChunks || chunks > MaxChunks || chunks&(chunks-1) != 0 {
		return fmt.Errorf("a ring of %d chunks: want a power of two from %d to %d", chunks, MinChunks, MaxChunks)
	}
	if len(mem) < Size(chunks) {
		return fmt.Errorf("a ring of %d chunks takes %d bytes: there are %d", chunks, Size(chunks), len(mem))
	}
	le := binary.LittleEndian
	le.PutUint64(mem, Magic)
	le.PutUint32(mem[0x08:], Version)
	le.PutUint32(mem[0x0c:], ChunkBytes)
	le.PutUint32(mem[0x10:], uint32(chunks))
	le.PutUint32(mem[0x14:], flags)
	le.PutUint64(mem[0x18:], fifoOffset)
	le.PutUint64(mem[0x20:], uint64(chunksOffset(chunks)))
	return nil
}

// Choose has only warps from first to last write, of CTAs from first to last:
// of a cluster in which there is one of those, all may. That is for a ring that
// no context has yet.
func Choose(mem []byte, firstCTA, lastCTA, firstWarp, lastWarp uint32) {
	le := binary.LittleEndian
	le.PutUint32(mem[0x14:], le.Uint32(mem[0x14:])|FlagChosen)
	for i, n := range []uint32{firstCTA, lastCTA, firstWarp, lastWarp} {
		le.PutUint32(mem[0x28+4*i:], n)
	}
}

// view is a ring's memory in words.
type view struct {
	fifo  []uint32
	words []uint64 // of the chunks
	mask  uint64   // chunks-1
	shift int      // log2(chunks)
	flags uint32
}

// open finds a ring in memory that somebody else may have written.
func open(mem []byte) (view, error) {
	if len(mem) < headerBytes {
		return view{}, fmt.Errorf("a ring in %d bytes: its header alone takes %d", len(mem), headerBytes)
	}
	if uintptr(unsafe.Pointer(&mem[0]))%slotBytes != 0 {
		return view{}, errors.New("a ring that does not begin at a multiple of 16")
	}
	le := binary.LittleEndian
	if got := le.Uint64(mem); got != Magic {
		return view{}, fmt.Errorf("no ring: it begins with %#x, want %#x", got, uint64(Magic))
	}
	if got := le.Uint32(mem[0x08:]); got != Version {
		return view{}, fmt.Errorf("a ring of version %d: want %d", got, Version)
	}
	chunks := int(le.Uint32(mem[0x10:]))
	if le.Uint32(mem[0x0c:]) != ChunkBytes || chunks < MinChunks || chunks > MaxChunks || bits.OnesCount(uint(chunks)) != 1 {
		return view{}, fmt.Errorf("a ring of %d chunks of %d bytes", chunks, le.Uint32(mem[0x0c:]))
	}
	if le.Uint64(mem[0x18:]) != fifoOffset || le.Uint64(mem[0x20:]) != uint64(chunksOffset(chunks)) || len(mem) < Size(chunks) {
		return view{}, fmt.Errorf("a ring of %d chunks whose parts are not where they belong, in %d bytes", chunks, len(mem))
	}
	return view{
		fifo:  unsafe.Slice((*uint32)(unsafe.Pointer(&mem[fifoOffset])), chunks),
		words: unsafe.Slice((*uint64)(unsafe.Pointer(&mem[chunksOffset(chunks)])), chunks*ChunkBytes/8),
		mask:  uint64(chunks - 1),
		shift: bits.TrailingZeros(uint(chunks)),
		flags: le.Uint32(mem[0x14:]),
	}, nil
}
