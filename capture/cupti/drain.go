//go:build linux

package cupti

import (
	"slices"
	"sync"
	"time"

	"btrace/capture/cupti/ring"
)

// drain reads rings as long as it runs and hands on what it finds, in order.
// It does nothing else, so that lanes wait for chunks as little as can be.
type drain struct {
	sites *siteTable
	out   chan drained
	free  chan *ring.Batch

	mu    sync.Mutex
	rings []*source // to be read from now on
	over  []*source // to be read to their ends, once: nobody writes to them
	ends  []ringGrid
	stop  chan struct{}
}

// source is a ring of a context.
type source struct {
	*ring.Reader
	mem     *memory
	process *process
	context Context
	state   *merger // of the recorder's loop
	full    bool    // lanes waited for chunks when it was closed
	dropped bool    // lanes may have dropped records; of the recorder's loop
	chosen  bool    // only CTAs and warps that are to be recorded write to it
}

type ringGrid struct {
	s     *source
	grid  uint64
	again bool
}

// drained is what one look at a ring brought.
type drained struct {
	s          *source
	b          *ring.Batch
	begin, end time.Time // of the look
	taken      int       // chunks that lanes have
	closed     bool      // this was the last of the ring
}

// drainLimit is about how many records are handed on at once.
const drainLimit = 32 << 10

// idleReport is how often a ring is told of in which nothing happens.
const idleReport = 5 * time.Millisecond

func newDrain(sites *siteTable) *drain {
	d := &drain{sites: sites, out: make(chan drained, 4), free: make(chan *ring.Batch, 8), stop: make(chan struct{})}
	for range cap(d.free) {
		d.free <- new(ring.Batch)
	}
	return d
}

// add has a ring read from now on.
func (d *drain) add(s *source) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rings = append(d.rings, s)
}

// endGrid tells that a grid has ended. It may run again under its number.
func (d *drain) endGrid(s *source, grid uint64, again bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ends = append(d.ends, ringGrid{s, grid, again})
}

// closeAll has the rings of a process read to their ends: nobody writes to
// them any more, or what is written is not wanted.
func (d *drain) closeAll(p *process) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range p.rings {
		d.over = append(d.over, s)
	}
}

// news are the rings to read, and those to read to their ends.
func (d *drain) news(have []*source) (open, over []*source) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.ends {
		e.s.EndGrid(e.grid, e.again)
	}
	have = append(have, d.rings...)
	over = d.over
	d.ends, d.rings, d.over = d.ends[:0], nil, nil
	return slices.DeleteFunc(have, func(s *source) bool { return slices.Contains(over, s) }), over
}

// run reads until it is stopped, and closes out.
func (d *drain) run() {
	defer close(d.out)
	var rings, over []*source
	reported := make(map[*source]time.Time)
	for idle := 0; ; idle++ {
		stopping := false
		select {
		case <-d.stop:
			stopping = true
		default:
		}
		rings, over = d.news(rings)
		for _, s := range over {
			s.full = s.Full()
			s.Last()
			for d.look(s, true, reported) {
			}
			delete(reported, s)
		}
		if stopping {
			return
		}
		for _, s := range rings {
			if d.look(s, false, reported) {
				idle = 0
			}
		}
		// Look again at once while there is something, then less and less
		// often.
		if idle > 20 {
			time.Sleep(min(time.Duration(idle)*5*time.Microsecond, time.Millisecond))
		}
	}
}

// look hands on what is new in a ring, if there is anything, or nothing was
// told of it for a while. It reports whether there may be more.
func (d *drain) look(s *source, last bool, reported map[*source]time.Time) bool {
	b := <-d.free
	b.Reset()
	begin := time.Now()
	more := s.Poll(d.sites.now.Load().sizes, b, drainLimit)
	if last && !more {
		s.Finish(b)
	}
	found := b.Len() > 0 || len(b.Ended) > 0
	if !found && !last && begin.Sub(reported[s]) < idleReport {
		d.free <- b
		return more
	}
	end := time.Now()
	reported[s] = end
	d.out <- drained{s: s, b: b, begin: begin, end: end, taken: s.Taken(), closed: last && !more}
	return more || found && !last
}
