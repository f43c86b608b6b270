package trace

import "errors"

// The limits of a file. They bound what a reader must hold in memory
// whatever the file says, so a writer refuses to go beyond them.
const (
	// MaxBlockRows is the most warp events that a block holds.
	MaxBlockRows = 1 << 16
	// MaxBlocks is the most event blocks that a file holds.
	MaxBlocks = 1 << 15
	// MaxLaunches is the most launches that a file holds.
	MaxLaunches = 1 << 14
	// MaxLine is the most bytes of one line of the interchange form, and of
	// the texts of one event.
	MaxLine = 1 << 20
	// MaxSections is the most sections that a file holds.
	MaxSections = 1 << 12
	// MaxSection is the most bytes that a section holds.
	MaxSection = 16 << 20
	// MaxSectionName is the most bytes of a section's name.
	MaxSectionName = 128
	// MaxOverlap is how many blocks of a launch may overlap in time. Events
	// handed to a Writer further out of order than that are refused.
	MaxOverlap = 256

	maxTemplates  = 1 << 13   // distinct operations in a block
	maxBlockRaw   = 8 << 20   // decompressed bytes of any frame but a section
	maxHead       = 512       // bytes of a frame's head
	maxFrames     = 1 << 18   // frames of a file
	maxLaunchText = 4 << 20   // bytes of all launch lines
	maxWindowText = 1 << 20   // bytes of texts that a writer buffers
	maxLinesText  = 256 << 10 // bytes of kept lines that a writer buffers
	maxDamage     = 1 << 12   // stretches that a reader tells apart
	indexEvery    = 128       // frames that an index covers
)

// ErrFull: the trace has as many blocks, launches or sections as a file may
// have. What was written before stands.
var ErrFull = errors.New("the trace is full")
