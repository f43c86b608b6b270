// Package cubin reads a CUDA binary: its functions, what they need of an SM,
// and the source lines of their instructions. With the toolkit's nvdisasm it
// also tells which instructions are barriers.
//
// It does not decode instructions itself: NVIDIA does not document them. Of
// the ELF file it reads what nvdisasm and cuobjdump print of it, too, and is
// held to their output by tests.
package cubin
