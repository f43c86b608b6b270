package interp

import (
	"fmt"
	"sync"

	"btrace/capture/emu"
	"btrace/trace"
)

// The traps that the interpreter itself finds, named as on silicon.
const (
	trapMisaligned  = "misaligned address"
	trapIllegal     = "illegal memory access"
	trapInstruction = "illegal instruction"
	trapStack       = "stack overflow"
	trapAssert      = "device-side assert triggered"
)

// trap ends the launch at an instruction of lane. The reason becomes the
// launch's outcome, detail is for people.
func (x *warp) trap(in *inst, lane int, reason, detail string) {
	if x.faulted {
		return
	}
	x.faulted = true
	x.pc[lane] = in.index
	who := thread{x.block.at.CTA, uint32(x.index), lane}
	x.faults.add(who, fmt.Sprintf("%s: %s, by cta %d warp %d lane %d", in.place(x.k), detail, who.cta, who.warp, lane))
	x.stopAt(1<<lane, &emu.Op{Kind: trace.KindTrap, Text: reason}, 0)
}

// thread is one of the launch.
type thread struct {
	cta, warp uint32
	lane      int
}

// faults is why threads stopped at a trap. Only one of them ends the launch,
// and that need not be the first that came to one: which it was the trace
// says.
type faults struct {
	mu    sync.Mutex
	texts map[thread]string
}

func (f *faults) add(who thread, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.texts == nil {
		f.texts = make(map[thread]string)
	}
	f.texts[who] = text
}

// witness hands events on, and remembers who trapped: that is the last event
// of a launch.
type witness struct {
	sink emu.Sink // may be nil
	last trace.Event
}

func (w *witness) Write(events []trace.Event) error {
	if n := len(events); n > 0 {
		w.last = events[n-1]
	}
	if w.sink == nil {
		return nil
	}
	return w.sink.Write(events)
}

// fault is the text for the trap that ended the launch; "" if the launch did
// not end with one that the interpreter found.
func (f *faults) fault(w *witness) string {
	if w.last.Kind != trace.KindTrap {
		return ""
	}
	return f.texts[thread{w.last.CTA, w.last.Warp, first(w.last.Lanes)}]
}
