package trace

import (
	"fmt"
	"strconv"
	"strings"
)

// BarrierKind is a kind of barrier.
type BarrierKind uint8

// The kinds of barriers.
const (
	BarrierNone BarrierKind = iota
	BarrierNamed
	BarrierMbar
	BarrierCluster
	BarrierGroup
	BarrierWarp
)

// Barrier names a barrier. Together with the CTA that owns it (for a cluster
// the first CTA of the cluster) it is the barrier's identity in a launch.
type Barrier struct {
	Kind BarrierKind
	ID   uint64 // number, shared address, or warp
	Name string // of a group
}

// String gives the form that users see: bar:N, mbar:0xADDR, cluster,
// group:NAME, warp:N.
func (b Barrier) String() string { return string(b.append(nil)) }

func (b Barrier) append(to []byte) []byte {
	switch b.Kind {
	case BarrierNamed:
		return strconv.AppendUint(append(to, "bar:"...), b.ID, 10)
	case BarrierMbar:
		return strconv.AppendUint(append(to, "mbar:0x"...), b.ID, 16)
	case BarrierCluster:
		return append(to, "cluster"...)
	case BarrierGroup:
		return append(append(to, "group:"...), b.Name...)
	case BarrierWarp:
		return strconv.AppendUint(append(to, "warp:"...), b.ID, 10)
	}
	return to
}

// ParseBarrier reads the form that String writes.
func ParseBarrier(s string) (Barrier, error) {
	kind, id, _ := strings.Cut(s, ":")
	var b Barrier
	var err error
	switch kind {
	case "bar":
		b.Kind = BarrierNamed
		b.ID, err = strconv.ParseUint(id, 10, 32)
	case "mbar":
		b.Kind = BarrierMbar
		b.ID, err = strconv.ParseUint(id, 0, 64)
	case "cluster":
		b.Kind = BarrierCluster
	case "group":
		b.Kind, b.Name = BarrierGroup, id
	case "warp":
		b.Kind = BarrierWarp
		b.ID, err = strconv.ParseUint(id, 10, 32)
	default:
		err = strconv.ErrSyntax
	}
	if err != nil {
		return Barrier{}, fmt.Errorf("barrier %q: want bar:N, mbar:0xADDR, cluster, group:NAME or warp:N", s)
	}
	return b, nil
}

// Barrier returns the barrier that the operation by that warp is on; its
// Kind is BarrierNone for the operations that are on none.
func (o *Op) Barrier(warp uint32) Barrier {
	switch k := o.Kind; {
	case k >= KindBarArrive && k <= KindBarDone:
		return Barrier{Kind: BarrierNamed, ID: uint64(o.Bar)}
	case k >= KindMbarInit && k <= KindMbarTest, k == KindCompletionBegin, k == KindCompletionEnd:
		return Barrier{Kind: BarrierMbar, ID: o.Addr}
	case k >= KindClusterArrive && k <= KindClusterDone:
		return Barrier{Kind: BarrierCluster}
	case k >= KindGroupArrive && k <= KindGroupDone:
		return Barrier{Kind: BarrierGroup, Name: o.Group}
	case k == KindSyncwarp, k == KindSyncwarpDone:
		return Barrier{Kind: BarrierWarp, ID: uint64(warp)}
	}
	return Barrier{}
}

// OwnerCTA returns the CTA that owns the barrier of an operation by that
// CTA: itself, or the target of a remote operation.
func (o *Op) OwnerCTA(cta uint32) uint32 {
	if o.Has.Has(FieldOwnerCTA) {
		return o.Owner
	}
	return cta
}
