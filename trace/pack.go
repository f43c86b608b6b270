package trace

import (
	"errors"
	"math/bits"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/huff0"
	"github.com/klauspost/compress/zstd"
)

// packer makes the Zstandard frames of blocks of events.
//
// Some columns of a block are noise: times, clocks and tokens mostly are. An
// encoder that looks for repetitions in noise takes long, finds few and by
// chance, and what it makes of those is larger and slower to read than if it
// had looked for none. So of columns that turn out to be noise only the bytes'
// frequencies are used: they become blocks of Huffman codes (RFC 8878,
// 3.1.1.3.1) behind the blocks that the encoder makes of all before them. Its
// blocks cannot follow, as they would refer to distances within its own data.
type packer struct {
	zenc  *zstd.Encoder // whose frames have a checksum
	huff  huff0.Scratch
	frame []byte
	cuts  []int
}

const (
	noiseSample = 4 << 10  // bytes of a column that are tried
	noiseBlock  = 64 << 10 // bytes that share a code: about a plane of a full block

	zstdMagic  = 0xFD2FB528
	zstdHead   = 2<<6 | 1<<5 | 1<<2 // its size in four bytes, one segment, a checksum
	zstdRaw    = 0                  // types of blocks
	zstdRLE    = 1
	zstdCoded  = 2
	zstdHuffed = 2 | 3<<2 // literals with a code of their own, in four streams; sizes of 18 bits
	zstdSum    = 4        // bytes of a frame's checksum
)

// packBlock appends the frame of a block's payload.
func (p *packer) packBlock(b, payload []byte) ([]byte, error) {
	cols, err := splitColumns(payload)
	if err != nil {
		return b, err
	}
	p.huff.Reuse = huff0.ReusePolicyNone
	p.cuts = append(p.cuts[:0], len(payload))
	at := len(payload)
	for id := numColumns - 1; id > 0; id-- {
		n := len(cols[id])
		if n == 0 {
			continue
		}
		if !p.noise(cols[id]) {
			break
		}
		at -= n
		p.cuts = append(p.cuts, at)
		at -= 1 + (bits.Len(uint(n))+6)/7 // its number and length
	}
	if len(p.cuts) == 1 {
		return p.zenc.EncodeAll(payload, b), nil
	}
	return p.join(b, payload, p.cuts)
}

// noise reports whether a column is as well off, but for a sixteenth, without
// a search for repetitions: for one that it makes a little larger the columns
// before can go without.
func (p *packer) noise(col []byte) bool {
	if len(col) < 2*noiseSample {
		return false
	}
	sample := col[:noiseSample]
	size := len(sample)
	switch out, _, err := huff0.Compress4X(sample, &p.huff); {
	case err == nil:
		size = len(out)
	case errors.Is(err, huff0.ErrUseRLE):
		return false
	}
	p.frame = p.zenc.EncodeAll(sample, p.frame[:0])
	return size <= len(p.frame)+len(p.frame)/16
}

// join appends the frame of a payload that is noise from the last of the cuts
// on, and between any two of them. They are in falling order.
func (p *packer) join(b, payload []byte, cuts []int) ([]byte, error) {
	from := cuts[len(cuts)-1]
	p.frame = p.zenc.EncodeAll(payload[:from], p.frame[:0])
	var h zstd.Header
	if err := h.Decode(p.frame); err != nil {
		return b, err
	}
	blocks := p.frame[h.HeaderSize : len(p.frame)-zstdSum]
	notLast(blocks)
	b = le.AppendUint32(b, zstdMagic)
	b = append(b, zstdHead)
	b = le.AppendUint32(b, uint32(len(payload)))
	b = append(b, blocks...)
	for i := len(cuts) - 1; i > 0; i-- {
		b = p.huffman(b, payload[cuts[i]:cuts[i-1]], i == 1)
	}
	return le.AppendUint32(b, uint32(xxhash.Sum64(payload))), nil
}

// notLast makes of the last of the blocks one that others follow.
func notLast(blocks []byte) {
	for len(blocks) >= 3 {
		h := uint32(blocks[0]) | uint32(blocks[1])<<8 | uint32(blocks[2])<<16
		blocks[0] &^= 1
		n := int(h >> 3)
		if h>>1&3 == zstdRLE {
			n = 1
		}
		blocks = blocks[3+n:]
	}
}

// huffman appends data as blocks without repetitions.
func (p *packer) huffman(b, data []byte, last bool) []byte {
	for len(data) > 0 {
		part := data[:min(len(data), noiseBlock)]
		data = data[len(part):]
		end := last && len(data) == 0
		out, _, err := huff0.Compress4X(part, &p.huff)
		switch {
		case err == nil && len(out)+6 < len(part):
			b = appendBlockHead(b, zstdCoded, len(out)+6, end)
			sizes := zstdHuffed | uint64(len(part))<<4 | uint64(len(out))<<22
			b = append(b, byte(sizes), byte(sizes>>8), byte(sizes>>16), byte(sizes>>24), byte(sizes>>32))
			b = append(b, out...)
			b = append(b, 0) // no sequences
		case errors.Is(err, huff0.ErrUseRLE):
			b = appendBlockHead(b, zstdRLE, len(part), end)
			b = append(b, part[0])
		default:
			b = appendBlockHead(b, zstdRaw, len(part), end)
			b = append(b, part...)
		}
	}
	return b
}

func appendBlockHead(b []byte, typ, size int, last bool) []byte {
	h := uint64(typ)<<1 | uint64(size)<<3 | bit(last)
	return append(b, byte(h), byte(h>>8), byte(h>>16))
}
