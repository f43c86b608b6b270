package cupti

import (
	"io"
	"math"
	"time"

	"btrace/trace"
)

// Options says what to record, and how.
type Options struct {
	// Args is the command to run: a program and its arguments.
	Args           []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Library is the injection library, by an absolute path.
	Library string
	// Shim is a program that acts as ptxas when it is called by that name
	// (see Assemble); "" for none. Programs that assemble PTX themselves are
	// pointed to it.
	Shim string
	// Assembler is nil if there is none: then the driver assembles.
	Assembler *Assembler
	// Disassembler is the toolkit's nvdisasm, by which the Sanitizer's way
	// tells barriers apart; "" if there is none.
	Disassembler string
	// Kernels chooses kernels by their names in the binary; nil means all.
	Kernels func(name string) bool
	// Launches are the numbers of the launches to record, of those of the
	// kernels chosen, from 0; CTAs and Warps those of each launch.
	Launches, CTAs, Warps Range
	// HangTimeout is how long a launch may do nothing that is recorded until
	// it is taken to hang. 0 means forever.
	HangTimeout time.Duration
	// Keep leaves an application that hangs as it is.
	Keep bool
	// Drop has kernels lose records when the recorder does not keep up, rather
	// than wait for it.
	Drop bool
	// Buffer is the bytes for records of each context: a power of two, or a
	// little less is taken. 0 means 512 MiB.
	Buffer int64
	// Note is called with lines for the user, from several goroutines. It
	// may be nil.
	Note func(line string)
}

// Range is numbers from First to Last. The zero Range is all numbers.
type Range struct {
	First, Last uint64
	Set         bool
}

func (r Range) has(n uint64) bool { return !r.Set || r.First <= n && n <= r.Last }

// bounds are the first and the last of the numbers that have 32 bits.
func (r Range) bounds() [2]uint32 {
	if !r.Set {
		return [2]uint32{0, math.MaxUint32}
	}
	return [2]uint32{uint32(min(r.First, math.MaxUint32)), uint32(min(r.Last, math.MaxUint32))}
}

// Result is what a recording came to.
type Result struct {
	Launches int // in the trace
	Left     int // launches that are not: not chosen, or without any barrier
	Beyond   int // launches for which the trace had no room
	Rows     uint64
	Lost     uint64 // records that are gaps in the trace
	Late     uint64 // of them, those that came too late to be put in order
	Broken   int    // chunks of the buffer that held what no kernel writes
	Ends     map[trace.Outcome]int
	// Uninstrumented counts launches in the trace of which nothing is
	// recorded, by the reason.
	Uninstrumented map[string]int
	Processes      int // that used CUDA
	// Hung are the numbers of the launches that hang, and After how long
	// nothing had happened.
	Hung  []uint32
	After time.Duration
	// Exit is how the application ended: "", "exit status 3", "signal: killed".
	Exit string
	// Stays is true if the application, or a child of it, was to be ended and
	// did not end, not even by SIGKILL.
	Stays bool
	// Interrupted is true if the context ended the recording.
	Interrupted bool
	// Full is true if the lanes that run took all of the buffer, so that none
	// could go on.
	Full bool
}
