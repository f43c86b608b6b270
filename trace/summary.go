package trace

import "github.com/cespare/xxhash/v2"

// key is the place of a row in the stored order of its launch.
type key struct {
	Time           int64
	CTA, Warp, Seq uint32
}

func (a key) less(b key) bool {
	switch {
	case a.Time != b.Time:
		return a.Time < b.Time
	case a.CTA != b.CTA:
		return a.CTA < b.CTA
	case a.Warp != b.Warp:
		return a.Warp < b.Warp
	}
	return a.Seq < b.Seq
}

func (a key) compare(b key) int {
	switch {
	case a.less(b):
		return -1
	case b.less(a):
		return 1
	}
	return 0
}

// summary is what the head of a block of events says about it, so that a
// query can tell that nothing in the block matches.
type summary struct {
	First, Last  key
	CTALo, CTAHi uint32
	Threads      uint64 // thread events
	Warps        uint64 // bit w: warp w has rows; bit 63: some warp from 63
	CTAs         [32]byte
	Names        [64]byte // Bloom filter of the kinds and barriers
}

func (s *summary) append(b []byte) []byte {
	b = appendKey(b, s.First)
	b = le.AppendUint32(b, s.CTALo)
	b = appendKey(b, s.Last)
	b = le.AppendUint32(b, s.CTAHi)
	b = le.AppendUint64(b, s.Threads)
	b = le.AppendUint64(b, s.Warps)
	b = append(b, s.CTAs[:]...)
	return append(b, s.Names[:]...)
}

func appendKey(b []byte, k key) []byte {
	b = le.AppendUint64(b, uint64(k.Time))
	b = le.AppendUint32(b, k.CTA)
	b = le.AppendUint32(b, k.Warp)
	return le.AppendUint32(b, k.Seq)
}

func (s *summary) parse(b []byte) {
	s.First, s.CTALo = parseKey(b), le.Uint32(b[20:])
	s.Last, s.CTAHi = parseKey(b[24:]), le.Uint32(b[44:])
	s.Threads, s.Warps = le.Uint64(b[48:]), le.Uint64(b[56:])
	copy(s.CTAs[:], b[64:])
	copy(s.Names[:], b[96:])
}

func parseKey(b []byte) key {
	return key{int64(le.Uint64(b)), le.Uint32(b[8:]), le.Uint32(b[12:]), le.Uint32(b[16:])}
}

// ctaBucket is the bit that stands for a CTA between CTALo and CTAHi: one
// bit a CTA if there are no more than 256, else one for several.
func (s *summary) ctaBucket(cta uint32) uint32 {
	width := (uint64(s.CTAHi)-uint64(s.CTALo))/256 + 1
	return uint32(uint64(cta-s.CTALo) / width)
}

func (s *summary) setCTA(cta uint32) {
	i := s.ctaBucket(cta)
	s.CTAs[i/8] |= 1 << (i % 8)
}

func (s *summary) mayHaveCTA(cta uint32) bool {
	if cta < s.CTALo || cta > s.CTAHi {
		return false
	}
	i := s.ctaBucket(cta)
	return s.CTAs[i/8]&(1<<(i%8)) != 0
}

func warpBit(w uint32) uint64 { return 1 << min(w, 63) }

// nameHash is what the filter keeps of a kind's name; hash, of a barrier's.
func nameHash(name string) uint64 { return xxhash.Sum64String(name) }

func (b Barrier) hash() uint64 {
	var room [64]byte
	return xxhash.Sum64(b.append(room[:0]))
}

func (s *summary) setName(h uint64) {
	for i := range uint64(3) {
		p := bloomBit(h, i)
		s.Names[p/8] |= 1 << (p % 8)
	}
}

func (s *summary) mayHaveName(h uint64) bool {
	for i := range uint64(3) {
		p := bloomBit(h, i)
		if s.Names[p/8]&(1<<(p%8)) == 0 {
			return false
		}
	}
	return true
}

// bloomBit is the i-th of the three bits of a hash.
func bloomBit(h, i uint64) uint64 { return (h&0xffffffff + i*(h>>32)) % 512 }

func newSummary(first, last key, ctaLo, ctaHi uint32) summary {
	return summary{First: first, Last: last, CTALo: ctaLo, CTAHi: ctaHi}
}

func (s *summary) addWarp(cta, warp uint32) {
	s.setCTA(cta)
	s.Warps |= warpBit(warp)
}

// addOp adds the names of an operation's kind and barrier. The barrier of a
// syncwarp, which is the warp, is left to addWarpBarrier.
func (s *summary) addOp(o *Op) {
	s.setName(nameHash(o.storedName()))
	if b := o.Barrier(0); b.Kind != BarrierNone && b.Kind != BarrierWarp {
		s.setName(b.hash())
	}
}

func (s *summary) addWarpBarrier(warp uint32) {
	s.setName(Barrier{Kind: BarrierWarp, ID: uint64(warp)}.hash())
}

// storedName is the kind's name in a file.
func (o *Op) storedName() string {
	if o.Kind == KindUnknown {
		return o.Name
	}
	return kinds[o.Kind].Name
}

// covers reports whether a head's summary says all that one made from the
// block's rows does. The head may name more: its writer may know kinds of
// operations, and so barriers, that this version does not.
func (s *summary) covers(o *summary) bool {
	for i, names := range o.Names {
		if names&^s.Names[i] != 0 {
			return false
		}
	}
	same := *o
	same.Names = s.Names
	return same == *s
}
