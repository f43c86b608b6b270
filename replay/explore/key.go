package explore

import (
	"encoding/binary"
	"maps"
	"slices"

	"btrace/replay/barrier"
)

// Key is the state as a string: two machines of a program with equal keys go
// on in the same ways.
func (m *Machine) Key() string {
	k := make(key, 0, 512)
	for i := range m.strands {
		s := &m.strands[i]
		k.number(uint64(s.pc), s.phase, uint64(bit(s.blocked)|bit(s.free)<<1|bit(s.exited)<<2))
		for _, b := range sortedKeys(s.tokens) {
			k.number(uint64(b.cta), b.addr, s.tokens[b])
		}
	}
	for i := range m.ctas {
		k.cta(&m.ctas[i])
	}
	for _, g := range m.colls {
		k.number(uint64(g.cta), uint64(len(g.name)), g.Phase, g.Count, g.Need)
		k = append(k, g.name...)
		for _, w := range g.Warps {
			k.number(uint64(w.Live)<<32|uint64(w.Arrived), uint64(w.Owed)<<32|uint64(w.Waiting))
		}
	}
	rest := slices.Clone(m.async)
	slices.SortFunc(rest, func(x, y async) int { return slices.Compare(x.order(), y.order()) })
	for _, a := range rest {
		for _, v := range a.order() {
			k.number(uint64(v))
		}
	}
	return string(k)
}

// key is a state that grows.
type key []byte

func (k *key) number(vs ...uint64) {
	for _, v := range vs {
		*k = binary.AppendUvarint(*k, v)
	}
}

func (k *key) cta(c *ctaState) {
	for i := range c.named.Bars {
		b := &c.named.Bars[i]
		if !b.Active && b.Phase == 0 {
			continue
		}
		k.number(uint64(i), b.Phase, uint64(bit(b.Active)), uint64(b.Count), uint64(b.Kind), uint64(b.Arrived), uint64(len(b.Parts)))
		for _, p := range b.Parts {
			k.number(uint64(p.Warp), uint64(p.Lanes), uint64(p.Waits), uint64(bit(p.Counted)), p.Site)
		}
	}
	for _, live := range c.named.Live {
		k.number(uint64(live))
	}
	for _, a := range slices.Sorted(maps.Keys(c.mbars)) {
		b := c.mbars[a]
		k.number(a, uint64(b.Life), b.Phase, uint64(b.Expected), uint64(b.Pending), uint64(b.Tx), uint64(bit(b.Completing)))
	}
	for i := range c.warps {
		k.warp(&c.warps[i])
	}
}

func (k *key) warp(w *barrier.Warp) {
	k.number(w.Phase, uint64(len(w.Meetings)))
	for _, m := range w.Meetings {
		k.number(uint64(m.Mask), uint64(m.Lanes))
	}
}

// order is what asynchronous work is sorted by.
func (a async) order() []int64 {
	return []int64{int64(a.cta), int64(a.addr), a.bytes, int64(bit(a.arrival))}
}

func bit(v bool) uint8 {
	if v {
		return 1
	}
	return 0
}

func sortedKeys(m map[mbarKey]uint64) []mbarKey {
	return slices.SortedFunc(maps.Keys(m), func(a, b mbarKey) int {
		return slices.Compare([]uint64{uint64(a.cta), a.addr}, []uint64{uint64(b.cta), b.addr})
	})
}
