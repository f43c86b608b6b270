// Package racecheck makes a trace of what NVIDIA's Compute Sanitizer prints with
//
//	compute-sanitizer --tool racecheck --racecheck-trace-sync yes
//
// It reads text, and starts nothing. The general form of an entry is in the
// user manual ("Racecheck synchronization tracing"); the names of operations
// and what stands beside them were read off real logs (version 2025.3.1).
//
// # What the log has
//
// Of every warp, in its order, the calls of __syncwarp with the mask of each
// lane, of bar.sync and bar.red, of mbarrier operations with the address, of
// the cluster's barrier, and of bulk copies with their bytes; the lanes, the
// line and the program counter.
//
// # What it does not have
//
//   - bar.arrive at all; the number, count and form of a bar.sync or bar.red
//   - the count that an mbarrier is initialised with or that arrives, the phase
//     or parity that is waited for, whether a try_wait succeeded, announced bytes
//   - when anything happened, and when a wait was over
//   - that threads began or exited, and how the launch ended
//   - the kernel, and the size of the grid and of the blocks
//
// So nothing can be checked by it, and everything is recorded as marks, which
// nothing is concluded from; the launch observes nothing. A replay finds it
// incomplete, whatever else. The time of an entry is its place in the log.
package racecheck

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strings"

	"btrace/trace"
)

// Options say what a log does not.
type Options struct {
	Kernel string // its name, for people
	// Grid, Block and Cluster are the launch's extents in CTAs and threads;
	// zero where they are not known. Without them only entries of flat blocks
	// in a flat grid can be told apart.
	Grid, Block, Cluster trace.Dim
}

// Contents is what was found in a log.
type Contents struct {
	Entries uint64 // operations
	Reports uint64 // lines of the tool that are no operations, such as its races
}

// Import adds the log to w as a launch. The log is read as a stream; the
// program's own output between the entries is skipped. An error names the
// line, and quotes what of it cannot be read.
func Import(r io.Reader, w *trace.Writer, o Options) (Contents, error) {
	im := &importer{w: w, opt: o, prefix: defaultPrefix, seqs: map[warp]uint32{}}
	err := w.Begin(trace.Launch{
		Kernel: o.Kernel, Recorder: "racecheck", Grid: o.Grid, Block: o.Block, Cluster: o.Cluster, Observes: []string{},
	})
	if err == nil {
		err = im.all(bufio.NewReaderSize(r, trace.MaxLine))
	}
	if err == nil && im.found.Entries == 0 {
		err = errors.New("there is no entry of --racecheck-trace-sync in it")
	}
	return im.found, err
}

// Looks reports whether the beginning of a file looks like a log.
func Looks(head []byte) bool {
	return bytes.Contains(head, []byte("= "+banner)) || bytes.Contains(head, []byte(calledBy))
}

const (
	// defaultPrefix precedes every line of the tool, unless --prefix says
	// otherwise.
	defaultPrefix = "========="
	// banner is the first line of the tool, after the prefix.
	banner = "COMPUTE-SANITIZER"
)

type importer struct {
	w      *trace.Writer
	opt    Options
	prefix string
	found  Contents
	seqs   map[warp]uint32 // next sequence number of each warp
	time   int64

	// sync is the syncwarp whose lines of masks are being read.
	sync struct {
		open  bool
		entry entry
		masks []laneMask // each mask once, in the order of the log
	}
	events []trace.Event
}

type warp struct{ cta, warp uint32 }

// laneMask is the lanes that gave a syncwarp the same mask.
type laneMask struct{ lanes, mask uint32 }

func (im *importer) all(in *bufio.Reader) error {
	for n := 1; ; n++ {
		line, whole, err := readLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("line %d: %w", n, err)
		}
		lerr := im.line(string(line), whole)
		if errors.Is(err, io.EOF) && errors.Is(lerr, errEntry) {
			lerr = nil // the tool was killed while it wrote this line
		}
		if lerr != nil {
			return fmt.Errorf("line %d: %w", n, lerr)
		}
		if err != nil {
			return im.endSync()
		}
	}
}

// readLine reads a line, without its end. Of one that is too long, which is
// then not whole, it returns the beginning.
func readLine(in *bufio.Reader) (line []byte, whole bool, err error) {
	line, err = in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line = bytes.Clone(line[:longQuote])
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n')
		}
		return line, false, err
	}
	return bytes.TrimRight(line, "\r\n"), true, err
}

// longQuote is how much of a line is kept to say what is wrong with it.
const longQuote = 200

// line takes a line of the log.
func (im *importer) line(line string, whole bool) error {
	if before, ok := strings.CutSuffix(line, " "+banner); ok && before != "" {
		im.prefix = before
	}
	// What a program prints without a newline stands before the tool's line.
	at := strings.Index(line, im.prefix+" ")
	if at < 0 {
		return nil
	}
	text := line[at+len(im.prefix)+1:]
	if m, ok := strings.CutPrefix(strings.TrimLeft(text, " "), syncMask); ok && im.sync.open && whole {
		return im.mask(m)
	}
	if err := im.endSync(); err != nil {
		return err
	}
	if !strings.Contains(text, calledBy) {
		im.found.Reports++
		return nil
	}
	if !whole {
		return fmt.Errorf("an entry of more than %d bytes: %q…", trace.MaxLine, text)
	}
	e, err := parseEntry(text)
	if err != nil {
		return fmt.Errorf("%w: %.*q", err, longQuote, text)
	}
	if _, err := im.place(&e); err != nil {
		return err
	}
	if e.name == "Syncwarp" {
		im.sync.open, im.sync.entry, im.sync.masks = true, e, im.sync.masks[:0]
		return nil
	}
	return im.add(&e, e.lanes, e.text())
}

// mask takes a lane's mask of the syncwarp before.
func (im *importer) mask(text string) error {
	lane, mask, err := parseMask(text)
	if err != nil {
		return fmt.Errorf("%w: %.*q", err, longQuote, text)
	}
	bit := uint32(1) << lane
	if im.sync.entry.lanes&bit == 0 {
		return fmt.Errorf("lane %d is not active in this syncwarp", lane)
	}
	for i := range im.sync.masks {
		im.sync.masks[i].lanes &^= bit // a lane has one mask: the last that is told
	}
	im.sync.masks = slices.DeleteFunc(im.sync.masks, func(m laneMask) bool { return m.lanes == 0 })
	for i := range im.sync.masks {
		if im.sync.masks[i].mask == mask {
			im.sync.masks[i].lanes |= bit
			return nil
		}
	}
	im.sync.masks = append(im.sync.masks, laneMask{bit, mask})
	return nil
}

// endSync adds the syncwarp whose masks have all come: an event for each mask,
// and one for the lanes whose masks are missing.
func (im *importer) endSync() error {
	if !im.sync.open {
		return nil
	}
	im.sync.open = false
	e := &im.sync.entry
	rest := e.lanes
	for _, m := range im.sync.masks {
		rest &^= m.lanes
		if err := im.add(e, m.lanes, fmt.Sprintf("%s mask=%08x%s", op(e.name), m.mask, e.where())); err != nil {
			return err
		}
	}
	if rest != 0 {
		return im.add(e, rest, e.text())
	}
	return nil
}

// add writes a mark.
func (im *importer) add(e *entry, lanes uint32, text string) error {
	at, err := im.place(e)
	if err != nil {
		return err
	}
	ev := trace.Event{
		Time: im.time, CTA: at.cta, Warp: at.warp, Seq: im.seqs[at],
		Op: trace.Op{Kind: trace.KindMark, Lanes: lanes, Text: strings.ToValidUTF8(text, "\ufffd"), Has: trace.Fields(0).With(trace.FieldText)},
	}
	if e.hasPC {
		ev.PC, ev.Has = e.pc, ev.Has.With(trace.FieldPC)
	}
	if e.line > 0 {
		ev.File, ev.Line, ev.Has = strings.ToValidUTF8(e.file, "\ufffd"), e.line, ev.Has.With(trace.FieldFile, trace.FieldLine)
	}
	im.seqs[at]++
	im.time++
	im.found.Entries++
	im.events = append(im.events[:0], ev)
	return im.w.Write(im.events)
}

// place is the warp of an entry, by linear numbers.
func (im *importer) place(e *entry) (warp, error) {
	cta, err := linear("block", e.block, im.opt.Grid, "grid")
	if err != nil {
		return warp{}, err
	}
	thread, err := linear("thread", e.thread, im.opt.Block, "block")
	if err != nil {
		return warp{}, err
	}
	if thread%32 != 0 {
		if im.opt.Block == (trace.Dim{}) {
			return warp{}, fmt.Errorf("thread %v is not the first of a warp", e.thread)
		}
		return warp{}, fmt.Errorf("thread %v is not the first of a warp in a block of %s", e.thread, dim(im.opt.Block))
	}
	return warp{cta, thread / 32}, nil
}

// linear numbers a place in an extent, x fastest.
func linear(what string, at coordinates, in trace.Dim, extent string) (uint32, error) {
	if in == (trace.Dim{}) {
		if at[1] != 0 || at[2] != 0 {
			return 0, fmt.Errorf("%s %v: the log does not say how large the %s is: give its size, such as --%s 4x2x1", what, at, extent, extent)
		}
		return at[0], nil
	}
	for i := range at {
		if at[i] >= max(1, in[i]) {
			return 0, fmt.Errorf("%s %v is not in a %s of %s", what, at, extent, dim(in))
		}
	}
	// Inside the extent, the number is below its size.
	if hi, lo := bits.Mul64(uint64(max(1, in[0]))*uint64(max(1, in[1])), uint64(max(1, in[2]))); hi != 0 || lo > math.MaxUint32 {
		return 0, fmt.Errorf("a %s of %s is larger than there can be", extent, dim(in))
	}
	return at[0] + max(1, in[0])*(at[1]+max(1, in[1])*at[2]), nil
}

func dim(d trace.Dim) string { return fmt.Sprintf("%dx%dx%d", d[0], d[1], d[2]) }
