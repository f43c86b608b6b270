// Package ring is the memory that a GPU writes barrier records to and a
// recorder reads them from, at the same time and without a lock.
//
// It knows slots, chunks and how they are handed out; it does not know what a
// record means: that is in the site tables of capture/ptx/probe. Nor does it
// make or share the memory: capture/cupti does.
//
// # Layout
//
// One file (a memfd) a context, mapped by the recorder and by the
// application, which registers it with the driver so that kernels can write
// to it. Everything is little endian.
//
//	0x0000  header, 4096 bytes:
//	        0x00 u64 magic "BTRACER1"
//	        0x08 u32 version = 1
//	        0x0c u32 bytes of a chunk = 1024
//	        0x10 u32 chunks, a power of two
//	        0x14 u32 flags: 1 = drop records when there is no chunk
//	        0x18 u64 offset of the fifo = 0x1000
//	        0x20 u64 offset of the chunks, a multiple of 4096
//	0x1000  fifo: one u32 a chunk
//	...     chunks: 1024 bytes each; a free chunk is all zero
//
// # Handing out chunks
//
// A lane that needs a chunk takes a ticket t, by an atomic add of 1 to a u64
// counter in device memory that begins at 0 (one a context; the recorder
// does not see it). It reads entry t mod chunks of the fifo until that is not
// 0, takes chunk entry-1, and writes 0 to the entry. At the start entry i is
// i+1. The recorder recycles a chunk when nobody will write to it any more
// and it has read it: it zeroes the chunk, then writes its number, plus 1, to
// the entries in the order of the tickets, each once it is 0.
//
// The lanes that wait for a chunk must be fewer than the chunks, or two of
// them would wait for the same entry; the recorder therefore makes at least
// as many chunks as the device runs threads at once.
//
// With flag 1 a lane takes no ticket when the entry of the next one (its
// value, read without an add) is 0: it drops its record and counts it. A
// race may still make it wait for a short time.
//
// # Chunks
//
// A chunk has 64 slots of 16 bytes: two u64, w0 and w1, written by one
// st.volatile.global.v2.b64. Bit 63 of both words (V) is 1 once the slot is
// written; a slot in which only one of them is 1 is torn.
//
//	slot 0: w0 = V | %gridid (its low 63 bits)
//	        w1 = V | smid << 43 (16 bits) | lane << 38 (5) | warp in the CTA << 32 (6) | linear CTA (32)
//	slot 1: w0 = V | %clock64 (its low 63 bits)
//	        w1 = V | %globaltimer (its low 63 bits), read right after the clock
//	slots 2 to 63: records
//
// The first slot of a record:
//
//	w0 = V | site << 40 (23 bits) | low 40 bits of %clock64
//	w1 = V | operand << 32 (31 bits) | lanes (32 bits)
//
// The slots after it, as many as the site says: w0 = V | value (63 bits),
// w1 = V | value (63 bits). A record has at most 4 slots and lies in one
// chunk: a lane whose chunk has fewer than 4 slots left takes another, so a
// chunk with 61 to 64 slots written is full.
//
// A chunk belongs to one lane, and the clocks in it ascend. Sites 0 and 1 are
// the same in every module, with one slot:
//
//	site 0  close: the lane writes no more to this chunk (it ends). The
//	        clock and lanes are not used.
//	site 1  gap: operand records were dropped here.
//
// The others number the sites of all modules of a run: the recorder hands
// every module its first.
//
// # Control block
//
// An instrumented module has a global __btrace_ctl of 64 bytes, 8-aligned,
// which the application's library fills in before the first launch:
//
//	0x00 u64 device address of the mapped file; 0 = not recording
//	0x08 u64 device address of the ticket counter
//	0x10 u32 chunks-1
//	0x14 u32 flags of the header
//	0x18 u64 device address of the fifo
//	0x20 u64 device address of the chunks
//	0x28     24 bytes, 0
//
// and a global u64 __btrace_module that is initialised with the module's
// number, by which the recorder knows a module again that was instrumented
// when it was assembled.
package ring
