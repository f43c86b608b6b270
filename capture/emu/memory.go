package emu

import (
	"fmt"
	"reflect"
	"sync"

	"btrace/trace"
)

// sharedBase is where the shared memory of a CTA begins: on sm_90 the first
// KiB belongs to the system. Dynamic shared memory comes first, then what the
// kernel declares, in the order in which it does.
const sharedBase = 0x400

// layout says where shared variables are: in every CTA of a machine at the
// same place.
type layout struct {
	vars map[string]variable
	next uint64
}

type variable struct {
	typ  string
	n    int
	addr uint64
}

func newLayout(dynamic int) layout {
	return layout{vars: make(map[string]variable), next: sharedBase + uint64(dynamic)}
}

// declare finds a shared variable of that many elements, or makes it, and
// returns its address.
func (t *Thread) declare(name, typ string, n int, size, align uint64) uint64 {
	l := &t.m.layout
	v, ok := l.vars[name]
	if !ok {
		if n < 0 || uint64(n) > MaxShared || size > MaxShared {
			panic(fmt.Errorf("shared variable %q of %d elements of %d bytes: a CTA has %d bytes", name, n, size, MaxShared))
		}
		v = variable{typ: typ, n: n, addr: (l.next + align - 1) / align * align}
		end := v.addr + uint64(n)*size
		if end > sharedBase+MaxShared {
			panic(fmt.Errorf("shared variable %q needs %d bytes: a CTA has %d, of which %d are left", name, uint64(n)*size, MaxShared, sharedBase+MaxShared-l.next))
		}
		l.next, l.vars[name] = end, v
	}
	if v.typ != typ || v.n != n {
		panic(fmt.Errorf("shared variable %q declared as [%d]%s and as [%d]%s", name, v.n, v.typ, n, typ))
	}
	return v.addr
}

// Shared declares an array of n elements in the shared memory of the CTA
// (__shared__). All threads of the CTA that declare the name share it.
func Shared[T any](t *Thread, name string, n int) []T {
	return shared[T](t, t.cta, name, n)
}

// SharedOf is the array of that name in the CTA of that rank in the cluster
// (map_shared_rank).
func SharedOf[T any](t *Thread, rank int, name string, n int) []T {
	return shared[T](t, t.peer(rank), name, n)
}

func shared[T any](t *Thread, c *cta, name string, n int) []T {
	t.own("a shared variable")
	typ := reflect.TypeFor[T]()
	t.declare(name, typ.String(), n, uint64(typ.Size()), max(uint64(typ.Align()), 1))
	if c.shared[name] == nil {
		c.shared[name] = make([]T, n)
	}
	return c.shared[name].([]T)
}

// DynamicShared is the CTA's dynamic shared memory, Config.Shared bytes, and
// the address at which it begins.
func (t *Thread) DynamicShared() (mem []byte, addr uint64) {
	t.own("dynamic shared memory")
	c := t.cta
	if c.dynamic == nil {
		c.dynamic = make([]byte, t.m.l.cfg.Shared)
	}
	return c.dynamic, sharedBase
}

// globals is the global memory that a launch declares.
type globals struct {
	mu   sync.Mutex
	vars map[string]any
}

// Global declares an array of n elements in global memory. All threads of the
// launch that declare the name share it; Output returns it afterwards. It is
// plain memory: see Config.Workers for what CTAs may share.
func Global[T any](t *Thread, name string, n int) []T {
	t.own("a global variable")
	g := &t.m.l.globals
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.vars[name] == nil {
		if g.vars == nil {
			g.vars = make(map[string]any)
		}
		g.vars[name] = make([]T, n)
	}
	mem, ok := g.vars[name].([]T)
	if !ok || len(mem) != n {
		panic(fmt.Errorf("global variable %q declared as %T and as [%d]%s", name, g.vars[name], n, reflect.TypeFor[T]()))
	}
	return mem
}

// peer is the CTA of that rank in the thread's cluster.
func (t *Thread) peer(rank int) *cta {
	cs := t.cta.cluster.ctas
	if rank < 0 || rank >= len(cs) {
		panic(fmt.Errorf("rank %d in a cluster of %d CTAs", rank, len(cs)))
	}
	return cs[rank]
}

var _ Sink = (*trace.Writer)(nil)
