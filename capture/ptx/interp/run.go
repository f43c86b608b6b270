package interp

import (
	"sync/atomic"

	"btrace/capture/emu"
)

// run is a launch of a kernel under way: its memory, and what the CTAs share
// otherwise.
type run struct {
	k   *Kernel
	cfg emu.Config
	mem *memory
	// param is the kernel's parameters, as they lie in its .param space.
	param []byte
	// workspace is the address of what a cooperative launch gives its grid
	// barrier.
	workspace uint64
	consts    [][]column // by the rank of the CTA
	faults    faults
	threads   atomic.Uint64 // instructions of threads
}

// Source is the file and line of the kernel (emu.Program).
func (r *run) Source() (string, *emu.Site) { return r.k.file, r.k.begin }

// CTA makes the state of a CTA (emu.Program).
func (r *run) CTA(at emu.Place) emu.Block {
	n := int(r.cfg.Block.Size())
	b := &block{
		run: r, at: at, consts: r.consts[at.Rank], warps: make([]*warp, (n+31)/32),
		shared: make([]byte, r.k.sharedSize(r.cfg.Shared)), sharedAt: sharedBase | uint64(at.Rank)<<rankShift,
	}
	for i := range b.warps {
		b.warps[i] = newWarp(b, i)
	}
	return b
}

// block is one CTA.
type block struct {
	*run
	at       emu.Place
	consts   []column
	shared   []byte // from sharedBase on
	sharedAt uint64 // its address, with the CTA's rank
	warps    []*warp
}

// Warp is the runner of a warp (emu.Block).
func (b *block) Warp(i int) emu.Runner { return b.warps[i] }
