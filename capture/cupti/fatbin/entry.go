package fatbin

import (
	"bytes"
	"fmt"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Kind is what an entry holds. Others than the constants exist and are kept.
type Kind uint16

// The kinds.
const (
	PTX  Kind = 1
	ELF  Kind = 2 // a cubin
	NVVM Kind = 8 // for optimisation at link time
)

func (k Kind) String() string {
	switch k {
	case PTX:
		return "PTX"
	case ELF:
		return "cubin"
	case NVVM:
		return "NVVM"
	}
	return fmt.Sprintf("kind %d", uint16(k))
}

// Compression is how an entry's payload is stored.
type Compression uint8

// The compressions.
const (
	Uncompressed Compression = iota
	LZ4                      // one block, without a frame
	Zstd
)

func (c Compression) String() string {
	return [...]string{"none", "LZ4", "zstd"}[c]
}

// MaxPayload is the most bytes that an entry may have, decompressed. The
// largest that were seen in libraries are a tenth of it.
const MaxPayload = 512 << 20

// Entry is one part of an image.
type Entry struct {
	Kind        Kind
	Arch        Arch
	Bits64      bool
	Debug       bool
	Obfuscated  bool // as cuobjdump has it: nobody but the toolkit can read it
	Version     [2]int
	Identifier  string // the source file's name, if it was compiled with lines
	Options     string // of the assembler (PTX) or compiler (NVVM), as it stands
	Compression Compression
	// Container counts the containers of the image, from 0.
	Container int
	// Offset is where the payload begins in the image.
	Offset int

	stored []byte // the payload as it is stored
	size   uint64 // its bytes when it is decompressed; of others len(stored)
}

// Payload is the entry's content: PTX text without a NUL at its end, or a
// cubin. The bytes may be those of the image that Read was given. Every call
// decompresses again.
func (e *Entry) Payload() ([]byte, error) {
	b, err := e.decompress()
	if err != nil {
		return nil, fmt.Errorf("the %v for %v at offset %#x: %w", e.Kind, e.Arch, e.Offset, err)
	}
	if e.Kind == PTX {
		if end := bytes.IndexByte(b, 0); end >= 0 {
			b = b[:end]
		}
	}
	return b, nil
}

func (e *Entry) decompress() ([]byte, error) {
	if e.Compression == Uncompressed {
		return e.stored, nil
	}
	if e.size > MaxPayload {
		return nil, fmt.Errorf("%d bytes when decompressed: at most %d are read", e.size, MaxPayload)
	}
	var b []byte
	var err error
	if e.Compression == LZ4 {
		b, err = unLZ4(e.stored, int(e.size))
	} else {
		b, err = unzstd(e.stored, int(e.size))
	}
	if err != nil {
		return nil, fmt.Errorf("decompressing %d bytes of %v: %w", len(e.stored), e.Compression, err)
	}
	if len(b) != int(e.size) {
		return nil, fmt.Errorf("decompressing %d bytes of %v: %d bytes came out, want %d", len(e.stored), e.Compression, len(b), e.size)
	}
	return b, nil
}

// maxLZ4Ratio is more than LZ4 can expand: a byte of a match's length stands
// for 255 bytes.
const maxLZ4Ratio = 255

func unLZ4(src []byte, size int) ([]byte, error) {
	if size/maxLZ4Ratio > len(src) {
		return nil, fmt.Errorf("%d bytes cannot come of them", size)
	}
	dst := make([]byte, size)
	n, err := lz4.UncompressBlock(src, dst)
	if err != nil {
		return nil, err
	}
	return dst[:n], nil
}

func unzstd(src []byte, size int) ([]byte, error) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(max(size, 1))))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.DecodeAll(src, nil)
}
