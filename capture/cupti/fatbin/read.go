package fatbin

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	magic           = 0xba55ed50
	containerHeader = 16
	entryHeader     = 64

	flag64         = 0x1
	flagDebug      = 0x2
	flagLZ4        = 0x2000
	flagZstd       = 0x8000
	flagObfuscated = 0x10000
	flagA          = 0x100000
	flagF          = 0x200000

	// maxEntries bounds the entries of an image. The largest libraries have
	// a few thousand, one container a few dozen.
	maxEntries = 1 << 16
)

var le = binary.LittleEndian

// Read finds the entries of an image: one or more containers, one after the
// other (zeros between them are passed over), a bare cubin, or PTX text. A bare
// cubin or PTX is one entry. The entries share the image's memory.
func Read(image []byte) ([]Entry, error) {
	switch {
	case len(image) >= 4 && le.Uint32(image) == magic:
		return readContainers(image)
	case bytes.HasPrefix(image, []byte(elf.ELFMAG)):
		arch, err := elfArch(image)
		if err != nil {
			return nil, err
		}
		return []Entry{{Kind: ELF, Arch: arch, Bits64: image[elf.EI_CLASS] == byte(elf.ELFCLASS64), stored: image}}, nil
	}
	return readText(image)
}

func readContainers(image []byte) ([]Entry, error) {
	var es []Entry
	for at, container := 0, 0; ; container++ {
		for at < len(image) && image[at] == 0 {
			at++
		}
		if at == len(image) {
			return es, nil
		}
		end, err := containerEnd(image, at)
		if err != nil {
			return nil, fmt.Errorf("the fat binary at offset %#x: %w", at, err)
		}
		for at += containerHeader; at < end; {
			if len(es) == maxEntries {
				return nil, fmt.Errorf("the fat binary has more than %d entries", maxEntries)
			}
			e, n, err := readEntry(image[:end], at)
			if err != nil {
				return nil, fmt.Errorf("the entry at offset %#x of the fat binary: %w", at, err)
			}
			e.Container = container
			es, at = append(es, e), at+n
		}
	}
}

// containerEnd is the offset after the container at offset at.
func containerEnd(image []byte, at int) (int, error) {
	b := image[at:]
	if len(b) < containerHeader {
		return 0, fmt.Errorf("%d bytes are left, its header has %d", len(b), containerHeader)
	}
	if got := le.Uint32(b); got != magic {
		return 0, fmt.Errorf("it begins with %#x, want %#x", got, uint32(magic))
	}
	if v, h := le.Uint16(b[4:]), le.Uint16(b[6:]); v != 1 || h != containerHeader {
		return 0, fmt.Errorf("version %d with a header of %d bytes: only version 1 with %d is known", v, h, containerHeader)
	}
	size := le.Uint64(b[8:])
	if size > uint64(len(b)-containerHeader) {
		return 0, fmt.Errorf("%d bytes of entries, but only %d are left", size, len(b)-containerHeader)
	}
	return at + containerHeader + int(size), nil
}

// readEntry reads the entry at offset at, and says how many bytes it takes.
func readEntry(image []byte, at int) (Entry, int, error) {
	b := image[at:]
	if len(b) < entryHeader {
		return Entry{}, 0, fmt.Errorf("%d bytes are left, its header has %d", len(b), entryHeader)
	}
	header, payload := uint64(le.Uint32(b[4:])), le.Uint64(b[8:])
	if header < entryHeader || header > uint64(len(b)) {
		return Entry{}, 0, fmt.Errorf("a header of %d bytes: want %d to the %d that are left", header, entryHeader, len(b))
	}
	if payload > uint64(len(b))-header {
		return Entry{}, 0, fmt.Errorf("a payload of %d bytes, but only %d are left", payload, uint64(len(b))-header)
	}
	h, flags, arch := b[:header], le.Uint64(b[40:]), le.Uint32(b[28:])
	if arch < 10 || arch > 9999 {
		return Entry{}, 0, fmt.Errorf("the arch %d", arch)
	}
	e := Entry{
		Kind: Kind(le.Uint16(b)), Arch: Arch{Major: int(arch / 10), Minor: int(arch % 10)},
		Bits64: flags&flag64 != 0, Debug: flags&flagDebug != 0, Obfuscated: flags&flagObfuscated != 0,
		Version: [2]int{int(le.Uint16(b[26:])), int(le.Uint16(b[24:]))},
		Offset:  at + int(header), stored: b[header : header+payload],
	}
	switch flags & (flagA | flagF) {
	case flagA:
		e.Arch.Suffix = 'a'
	case flagF:
		e.Arch.Suffix = 'f'
	case flagA | flagF:
		return Entry{}, 0, errors.New("a target with both suffixes, a and f")
	}
	switch flags & (flagLZ4 | flagZstd) {
	case flagLZ4:
		e.Compression = LZ4
	case flagZstd:
		e.Compression = Zstd
	case flagLZ4 | flagZstd:
		return Entry{}, 0, errors.New("compressed by both LZ4 and zstd")
	}
	if e.Compression != Uncompressed {
		n := uint64(le.Uint32(b[16:]))
		if n > payload {
			return Entry{}, 0, fmt.Errorf("%d compressed bytes in a payload of %d", n, payload)
		}
		e.stored, e.size = e.stored[:n], le.Uint64(b[56:])
	}
	var err error
	if e.Identifier, err = text(h, le.Uint32(b[32:]), le.Uint32(b[36:])); err != nil {
		return Entry{}, 0, fmt.Errorf("its identifier: %w", err)
	}
	if at := le.Uint32(b[20:]); at != 0 && (e.Kind == PTX || e.Kind == NVVM) {
		if uint64(at)+8 > header {
			return Entry{}, 0, fmt.Errorf("its options stand at %d of a header of %d bytes", at, header)
		}
		if e.Options, err = text(h, le.Uint32(h[at:]), le.Uint32(h[at+4:])); err != nil {
			return Entry{}, 0, fmt.Errorf("its options: %w", err)
		}
	}
	return e, int(header + payload), nil
}

func text(header []byte, at, n uint32) (string, error) {
	if n == 0 {
		return "", nil
	}
	if uint64(at)+uint64(n) > uint64(len(header)) {
		return "", fmt.Errorf("%d bytes at %d of a header of %d", n, at, len(header))
	}
	return string(bytes.TrimRight(header[at:at+n], "\x00")), nil
}

// elfArch is the arch that the header of a cubin tells. Where a suffix is
// told is not known: a bare cubin has none.
func elfArch(image []byte) (Arch, error) {
	const headerBytes, machineCUDA = 64, 190
	if len(image) < headerBytes || image[elf.EI_CLASS] != byte(elf.ELFCLASS64) || image[elf.EI_DATA] != byte(elf.ELFDATA2LSB) {
		return Arch{}, fmt.Errorf("an ELF file of %d bytes that is not one of 64 bits, little endian", len(image))
	}
	if m := le.Uint16(image[18:]); m != machineCUDA {
		return Arch{}, fmt.Errorf("an ELF file for machine %d: want %d, CUDA", m, machineCUDA)
	}
	flags := le.Uint32(image[48:])
	n := int(flags & 0xff)
	if image[elf.EI_ABIVERSION] >= 8 { // since CUDA 13.0 two bytes
		n = int(flags >> 8 & 0xffff)
	}
	if n < 10 {
		return Arch{}, fmt.Errorf("a cubin whose flags are %#x: no arch in them", flags)
	}
	return Arch{Major: n / 10, Minor: n % 10}, nil
}
