package interp

import (
	"fmt"
	"math/bits"

	"btrace/capture/ptx"
	"btrace/trace"
)

// sharedUnit is what shared memory is allocated in (PTX ISA,
// "%total_smem_size").
const sharedUnit = 128

// special is a register that holds the value of a special register from the
// beginning (PTX ISA, "Special Registers").
type special struct {
	slot  int32
	value func(x *warp, lane int) uint64
}

// specialSlot is the register that holds a special register.
func (l *lowering) specialSlot(n *ptx.Name) int32 {
	name := n.Name
	if r, _ := ptx.Special(n.Name); r.Vector && n.Component == "" {
		return l.bad("%s has components: %s.x", n.Name, n.Name)
	}
	if n.Component != "" {
		name += "." + n.Component
	}
	if slot, ok := l.special[name]; ok {
		return slot
	}
	if clock(n.Name) != nil {
		return l.bad("%s has to be moved to a register first", n.Name)
	}
	value := specialValue(n.Name, n.Component)
	if value == nil {
		return l.bad("the emulator does not know the special register %s", name)
	}
	slot := l.scratch()
	l.special[name] = slot
	l.k.specials = append(l.k.specials, special{slot, value})
	return slot
}

// clock is the move of a register that changes by itself: virtual time. A
// cycle is a nanosecond.
func clock(name string) func(x *warp, in *inst, m uint32) {
	shift, mask := 0, ^uint64(0)
	switch name {
	case "%clock64", "%globaltimer":
	case "%clock", "%globaltimer_lo":
		mask = 1<<32 - 1
	case "%clock_hi", "%globaltimer_hi":
		shift = 32
	default:
		return nil
	}
	return func(x *warp, in *inst, m uint32) {
		d, now := &x.regs[in.dst], (uint64(x.handle.Now())+x.count)>>shift&mask
		for ; m != 0; m &= m - 1 {
			d[bits.TrailingZeros32(m)&31] = now
		}
	}
}

// component is one of a vector, of which the fourth is 0.
func component(d trace.Dim, c string) uint64 {
	switch c {
	case "x", "r":
		return uint64(d[0])
	case "y", "g":
		return uint64(d[1])
	case "z", "b":
		return uint64(d[2])
	}
	return 0
}

// specialValue is how to know a special register; nil if there is none of
// that name.
func specialValue(name, c string) func(x *warp, lane int) uint64 {
	dim := func(f func(x *warp) trace.Dim) func(*warp, int) uint64 {
		return func(x *warp, _ int) uint64 { return component(f(x), c) }
	}
	one := func(f func(x *warp) uint64) func(*warp, int) uint64 {
		return func(x *warp, _ int) uint64 { return f(x) }
	}
	lane := func(f func(lane int) uint32) func(*warp, int) uint64 {
		return func(_ *warp, i int) uint64 { return uint64(f(i)) }
	}
	switch name {
	case "%tid":
		return func(x *warp, i int) uint64 {
			t, b := uint32(32*x.index+i), x.cfg.Block
			return component(trace.Dim{t % b[0], t / b[0] % b[1], t / b[0] / b[1]}, c)
		}
	case "%ntid":
		return dim(func(x *warp) trace.Dim { return x.cfg.Block })
	case "%ctaid":
		return dim(func(x *warp) trace.Dim { return x.block.at.Index })
	case "%nctaid":
		return dim(func(x *warp) trace.Dim { return x.cfg.Grid })
	case "%cluster_nctaid":
		return dim(func(x *warp) trace.Dim { return x.cfg.Cluster })
	case "%cluster_ctaid":
		return dim(func(x *warp) trace.Dim {
			return each(x.block.at.Index, x.cfg.Cluster, func(i, n uint32) uint32 { return i % n })
		})
	case "%clusterid":
		return dim(func(x *warp) trace.Dim {
			return each(x.block.at.Index, x.cfg.Cluster, func(i, n uint32) uint32 { return i / n })
		})
	case "%nclusterid":
		return dim(func(x *warp) trace.Dim {
			return each(x.cfg.Grid, x.cfg.Cluster, func(i, n uint32) uint32 { return i / n })
		})
	case "%cluster_ctarank":
		return one(func(x *warp) uint64 { return uint64(x.block.at.Rank) })
	case "%cluster_nctarank":
		return one(func(x *warp) uint64 { return x.cfg.Cluster.Size() })
	case "%laneid":
		return lane(func(i int) uint32 { return uint32(i) })
	case "%warpid":
		return one(func(x *warp) uint64 { return uint64(x.index) })
	case "%nwarpid":
		return one(func(x *warp) uint64 { return 64 })
	case "%smid":
		return one(func(x *warp) uint64 { return uint64(x.block.at.CTA) % 132 })
	case "%nsmid":
		return one(func(x *warp) uint64 { return 132 })
	case "%gridid":
		return one(func(x *warp) uint64 { return uint64(x.cfg.Launch) })
	case "%lanemask_eq":
		return lane(func(i int) uint32 { return 1 << i })
	case "%lanemask_lt":
		return lane(func(i int) uint32 { return 1<<i - 1 })
	case "%lanemask_le":
		return lane(func(i int) uint32 { return 1<<i | (1<<i - 1) })
	case "%lanemask_gt":
		return lane(func(i int) uint32 { return ^(1<<i | (1<<i - 1)) })
	case "%lanemask_ge":
		return lane(func(i int) uint32 { return ^(1<<i - 1) })
	case "%total_smem_size":
		return one(func(x *warp) uint64 { return uint64(alignUp(int64(len(x.shared)), sharedUnit)) })
	case "%aggr_smem_size":
		return one(func(x *warp) uint64 { return uint64(sharedBase + x.k.static + int64(x.cfg.Shared)) })
	case "%dynamic_smem_size":
		return one(func(x *warp) uint64 { return uint64(x.cfg.Shared) })
	case "%current_graph_exec", "%reserved_smem_offset_begin", "%reserved_smem_offset_cap":
		return one(func(*warp) uint64 { return 0 })
	case "%reserved_smem_offset_end": // an H100 has it so, and variables from sharedBase on
		return one(func(*warp) uint64 { return 0x120 })
	}
	return environment(name)
}

// environment is %envreg0 and so on. The driver passes the workspace of a
// cooperative launch in the second and third.
func environment(name string) func(x *warp, lane int) uint64 {
	var n int
	if k, err := fmt.Sscanf(name, "%%envreg%d", &n); k != 1 || err != nil || n > 31 {
		return nil
	}
	switch n {
	case 1:
		return func(x *warp, _ int) uint64 { return x.workspace >> 32 }
	case 2:
		return func(x *warp, _ int) uint64 { return x.workspace & (1<<32 - 1) }
	}
	return func(*warp, int) uint64 { return 0 }
}

func each(a, b trace.Dim, f func(x, y uint32) uint32) (d trace.Dim) {
	for i := range d {
		d[i] = f(a[i], b[i])
	}
	return d
}
