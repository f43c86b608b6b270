// Package fatbin reads the code that a CUDA program hands to the driver: a fat
// binary with code for several devices, one cubin, or PTX text.
//
// It finds the parts, decompresses them on demand, and says which PTX is the
// source of what the driver would run. It does not read what is in a part:
// PTX is for package ptx, a cubin for package cubin. Nor does it read the
// wrapper (magic 0x466243b1) by which a program points to its fat binary: that
// is pointers, which only the program's own process can follow.
//
// # Layout
//
// NVIDIA does not document the format. What is here was read off what nvcc
// 13.0 makes (testdata/README.md) and agrees with cuobjdump's account of it.
// All numbers are little endian. A container is a header and, one after the
// other, entries:
//
//	0x00 u32 magic 0xba55ed50
//	0x04 u16 version = 1
//	0x06 u16 bytes of this header = 16
//	0x08 u64 bytes of all entries
//
// An entry is a header, with texts at its end, and a payload:
//
//	0x00 u16 kind: 1 PTX, 2 cubin, 8 NVVM (for optimisation at link time)
//	0x02 u16 version = 0x0101
//	0x04 u32 bytes of this header, at least 64
//	0x08 u64 bytes of the payload with its padding
//	0x10 u32 bytes of the compressed payload; 0: it is not compressed
//	0x14 u32 where in this header the options stand; 0: none
//	0x18 u16 minor, 0x1a u16 major version of the kind (PTX ISA 9.0)
//	0x1c u32 arch: 90 is sm_90
//	0x20 u32 where in this header the identifier stands, 0x24 u32 its bytes
//	0x28 u64 flags: 1 64 bits, 2 debug, 0x10 Linux, 0x2000 LZ4, 0x8000 zstd,
//	     0x10000 obfuscated, 0x100000 suffix a, 0x200000 suffix f
//	0x38 u64 bytes of the payload once it is decompressed
//
// The options are a u32 (where in this header their text stands), a u32 (its
// bytes) and the text. Of a cubin they are no text, and not read.
package fatbin
