package trace

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
)

// Reader reads a trace. Its methods may be called from several goroutines,
// and several iterators may run at once; each costs some 10 MB.
type Reader struct {
	r     io.ReaderAt
	size  int64
	file  *os.File
	minor int

	launches []Launch
	byID     map[uint32]int
	blocks   []head   // of events, as the file has them
	order    []int32  // blocks by launch and first row
	firsts   []uint64 // rows of its launch before a block, in that order
	lines    []head
	sections []head
	starts   []head // of launches
	ends     []head // of their ends
	closed   int64  // where the tail begins: after the close frame; 0 = none
	totals   totals

	mu     sync.Mutex
	damage []Damage
	held   []held // by block
	idle   []*frameReader
}

// NewReader opens the trace in r, of size bytes. It fails only if what is
// there is no trace of a version that it reads: of a damaged one it gives
// back what is whole, and Damage says what is not.
func NewReader(r io.ReaderAt, size int64) (*Reader, error) {
	minor, err := checkFileHead(r, size)
	if err != nil {
		return nil, err
	}
	t := &Reader{r: r, size: size, minor: minor, byID: map[uint32]int{}}
	if why := t.loadIndexed(); why != nil {
		if errors.Is(why, errRead) {
			return nil, why
		}
		if err := t.recover(why); err != nil {
			return nil, err
		}
	}
	if err := t.loadLaunches(); err != nil {
		return nil, err
	}
	t.sortBlocks()
	t.held = make([]held, len(t.blocks))
	return t, nil
}

// Launches returns the launches, in the order in which they began. One whose
// launch line is lost has an ID only.
func (r *Reader) Launches() []Launch { return slices.Clone(r.launches) }

// NumBlocks is the number of blocks of events that the file has.
func (r *Reader) NumBlocks() int { return len(r.blocks) }

// SectionNames lists the sections, in the order of the file.
func (r *Reader) SectionNames() []string {
	names := make([]string, len(r.sections))
	for i := range r.sections {
		names[i] = r.sections[i].sectionName()
	}
	return names
}

// Section reads a section; ok tells whether the file has it. One that is
// damaged is an error, and can be computed again.
func (r *Reader) Section(name string) (s Section, ok bool, err error) {
	for i := len(r.sections) - 1; i >= 0; i-- {
		h := &r.sections[i]
		if h.sectionName() != name {
			continue
		}
		f := r.frameReader()
		defer r.release(f)
		raw, err := f.read(r, h, nil)
		if err != nil {
			r.note(h, err)
			return Section{}, true, fmt.Errorf("section %q at offset %d: %w", name, h.Offset, err)
		}
		return Section{Name: name, Version: h.sectionVersion(), Data: raw}, true, nil
	}
	return Section{}, false, nil
}

// Damage lists the stretches of the file that could not be read, as far as
// is known: opening a file finds what is wrong with its structure, reading a
// block or Verify what is wrong with the data.
func (r *Reader) Damage() []Damage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.damage)
}

// Whole reports that the file was closed cleanly and that no damage is known.
func (r *Reader) Whole() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed > 0 && len(r.damage) == 0
}

// note adds damage, once for each place.
func (r *Reader) note(h *head, err error) {
	r.addDamage(Damage{Offset: h.Offset, Bytes: h.hop(), Err: err, Rows: h.rows()})
}

func (r *Reader) addDamage(d Damage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, found := slices.BinarySearchFunc(r.damage, d, func(a, b Damage) int { return cmp.Compare(a.Offset, b.Offset) })
	if !found && len(r.damage) < maxDamage {
		r.damage = slices.Insert(r.damage, i, d)
	}
}

// Info describes a file as a whole.
type Info struct {
	Major, Minor int // of the format
	Size         int64
	Blocks       int    // of events
	Rows         uint64 // warp events
	ThreadEvents uint64
	Launches     []LaunchInfo // as Launches
	Whole        bool
}

// LaunchInfo counts what a file has of a launch.
type LaunchInfo struct {
	ID           uint32
	Blocks       int
	Rows         uint64 // warp events
	ThreadEvents uint64
	First, Last  int64 // times of the first and last row, ns; 0 without rows
}

// Info describes the file, by its heads: it reads nothing.
func (r *Reader) Info() Info {
	in := Info{Major: Major, Minor: r.minor, Size: r.size, Blocks: len(r.blocks), Whole: r.Whole()}
	in.Launches = make([]LaunchInfo, len(r.launches))
	for i := range r.launches {
		in.Launches[i].ID = r.launches[i].ID
	}
	for i := range r.blocks {
		h := &r.blocks[i]
		l := &in.Launches[r.byID[h.Launch]]
		if l.Blocks == 0 {
			l.First, l.Last = h.Events.First.Time, h.Events.Last.Time
		}
		l.First, l.Last = min(l.First, h.Events.First.Time), max(l.Last, h.Events.Last.Time)
		l.Blocks++
		l.Rows += uint64(h.Rows)
		l.ThreadEvents += h.Events.Threads
		in.Rows += uint64(h.Rows)
		in.ThreadEvents += h.Events.Threads
	}
	return in
}

// loadLaunches reads the lines of launches and of their ends.
func (r *Reader) loadLaunches() error {
	f := r.frameReader()
	defer r.release(f)
	text := 0
	for i := range r.starts {
		h := &r.starts[i]
		var l Launch
		err := f.launchLine(r, h, &text, func(line []byte) error { return parseLaunch(line, &l) })
		if errors.Is(err, errRead) {
			return err
		}
		if _, twice := r.byID[h.Launch]; err == nil && (l.ID != h.Launch || twice) {
			err = fmt.Errorf("%w: a launch of another number or a second one", ErrCorrupt)
		}
		if err != nil {
			r.note(h, err)
			continue
		}
		l.Outcome = OutcomeUnknown
		r.addLaunch(l)
	}
	r.blocks = slices.DeleteFunc(r.blocks, func(h head) bool {
		_, ok := r.unnamed(h.Launch)
		if !ok {
			r.note(&h, errLaunches)
		}
		return !ok
	})
	for i := range r.ends {
		h := &r.ends[i]
		var end Launch
		err := f.launchLine(r, h, &text, func(line []byte) error { return parseLaunchEnd(line, &end) })
		if errors.Is(err, errRead) {
			return err
		}
		if err == nil && end.ID != h.Launch {
			err = fmt.Errorf("%w: the end of a launch of another number", ErrCorrupt)
		}
		at, ok := r.unnamed(h.Launch)
		if err == nil && !ok {
			err = errLaunches
		}
		if err != nil {
			r.note(h, err)
			continue
		}
		l := &r.launches[at]
		l.Outcome, l.EndExtra, l.Ended = end.Outcome, end.EndExtra, true
	}
	r.starts, r.ends = nil, nil
	return nil
}

func (r *Reader) addLaunch(l Launch) int {
	r.byID[l.ID] = len(r.launches)
	r.launches = append(r.launches, l)
	return len(r.launches) - 1
}

var errLaunches = fmt.Errorf("%w: more launches than a trace may have", ErrCorrupt)

// unnamed returns the index of a launch, which is added if its line is lost;
// ok is false if there are too many.
func (r *Reader) unnamed(id uint32) (at int, ok bool) {
	if i, ok := r.byID[id]; ok {
		return i, true
	}
	if len(r.launches) == MaxLaunches {
		return 0, false
	}
	return r.addLaunch(Launch{ID: id, Outcome: OutcomeUnknown}), true
}

// launchLine reads the line of a launch frame.
func (f *frameReader) launchLine(r *Reader, h *head, text *int, parse func([]byte) error) error {
	if *text += int(h.Raw); h.Raw > MaxLine || *text > 2*maxLaunchText {
		return fmt.Errorf("%w: more launch lines than a trace may have", ErrCorrupt)
	}
	raw, err := f.read(r, h, f.raw)
	if err != nil {
		return err
	}
	f.raw = raw
	if err := parse(raw); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return nil
}
