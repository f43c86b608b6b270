package emu

import (
	"btrace/replay/barrier"
	"btrace/trace"
)

// The operations that are not events: they only take time.
const (
	kindResume trace.Kind = trace.Kind(trace.NumKinds) + iota // nothing: the lane goes on
	kindWork
	kindSpin
	kindAtomic
)

// by says how a test or wait names its phase.
type by uint8

const (
	byParity by = iota
	byToken
	byWord // a token that no arrive gave; phase is its word
)

// op is an operation that a lane is at, with its operands. Lanes whose ops are
// equal do them together; what may differ between them is kept in Thread.
type op struct {
	kind     trace.Kind
	named    barrier.NamedKind
	by       by
	parity   uint8
	aligned  bool
	noInc    bool
	function bool // mbar.init of a barrier with a completion function
	try      bool // mbar.test: try_wait
	global   bool // an Atomic that other machines use
	bar      uint32
	count    uint32
	owner    uint32 // CTA that owns the mbarrier
	mask     uint32 // of a syncwarp, or the CTA ranks of a multicast
	addr     uint64
	phase    uint64 // of a token
	bytes    int64
	ns       int64
	site     *site // where in the kernel it stands; nil for enter and exit
	group    *group
	text     string
	sem      trace.Sem
}

// silent reports whether it is nothing that others could wait for, nor a
// poll; of an Atomic that depends on what it does.
func (o *op) silent() bool {
	return o.kind == kindResume || o.kind == kindWork || o.kind == kindAtomic
}

// polls reports whether the operation only asks.
func (o *op) polls() bool { return o.kind == kindSpin || o.kind == trace.KindMbarTest }

// name is the operation's name in a trace. A lane that is to come out of a
// wait is still in it.
func (o *op) name() string {
	k := o.kind
	switch k {
	case kindResume, kindWork:
		return "work"
	case kindSpin:
		return "spin"
	case kindAtomic:
		return "atomic"
	case trace.KindBarDone:
		k = trace.KindBarSync
		if redOf(o.named) != trace.RedNone {
			k = trace.KindBarRed
		}
	case trace.KindMbarDone:
		k = trace.KindMbarWait
	case trace.KindClusterDone:
		k = trace.KindClusterWait
	case trace.KindGroupDone:
		k = trace.KindGroupWait
	case trace.KindSyncwarpDone:
		k = trace.KindSyncwarp
	}
	return k.String()
}

// barrier is what the operation is on.
func (o *op) barrier(warp uint32) trace.Barrier {
	e := trace.Op{Kind: o.kind, Bar: o.bar, Addr: o.addr}
	if o.group != nil {
		e.Group = o.group.name
	}
	return e.Barrier(warp)
}
