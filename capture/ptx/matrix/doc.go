// Package matrix is what the warp-wide matrix instructions of PTX do to data:
// ldmatrix, stmatrix and movmatrix, which move 8x8 matrices between a warp's
// registers and memory, and mma.sync and wmma, which multiply matrices that
// lie spread over the registers (PTX ISA, "Warp-Level Matrix Instructions").
//
// It is pure functions over values. It knows nothing of threads, masks,
// addresses or shared memory: who executes an instruction finds the bytes and
// the registers, and calls it for the whole warp, since all of these are
// .aligned. It is no model of a tensor core either: the order in which one adds
// and the bits that it keeps meanwhile are not specified. Here the products are
// exact, the sum is one of float64, and the result is rounded once, to nearest
// even; a sum of f64 is a chain of fused multiply-adds in order of k.
//
// A register of a warp is the values of its 32 lanes, in the low bits of a
// uint64 each. An instruction's fragment is a slice of such registers, in the
// order of the instruction's operand vector.
//
// A Lookup finds the form of an instruction by its modifiers, which are what
// follows its name, split at the dots. It refuses what is not covered: sparse
// (mma.sp), block-scaled and .kind:: products; mma.m8n8k4 of .f16, which is
// four products; the .b8 forms of ldmatrix and stmatrix (sm_100a); and of wmma
// elements of less than 8 bits, f64 rounded otherwise than .rn, and .satfinite
// of .f16.
package matrix
