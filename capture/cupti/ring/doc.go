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
//	        0x0c u32 bytes of a chunk = 16384
//	        0x10 u32 chunks, a power of two
//	        0x14 u32 flags: 1 = drop records when there is no chunk, 2 = only
//	             the CTAs and warps at 0x28 write
//	        0x18 u64 offset of the fifo = 0x1000
//	        0x20 u64 offset of the chunks, a multiple of 16384
//	        0x28 u32 first and u32 last CTA (linear index), u32 first and u32
//	             last warp of a CTA that write, with flag 2
//	0x1000  fifo: one u32 a chunk, all zero at the start
//	...     chunks: 16384 bytes each; a free chunk is all zero
//
// Lanes find the slot that they are at in the low bits of its address, so the
// application maps the file at a multiple of 16384.
//
// # Handing out chunks
//
// A lane that needs a chunk takes a ticket t, by an atomic add of 1 to a u64
// counter in device memory that begins at 0 (one a context; the recorder
// does not see it). With a ticket below the number of chunks it takes chunk t:
// to read what the host writes is slow while stores are on their way, and most
// kernels never need more. With a later one it reads entry t mod chunks of the
// fifo until that is
//
//	(t / chunks mod 4096) << 20 | chunk + 1
//
// takes that chunk, and writes 0 to the entry. The lap in it keeps two lanes
// apart whose tickets have the same entry.
//
// The recorder recycles a chunk when nobody will write to it any more and it
// has read it: it zeroes the chunk, then writes it to the entries of the
// tickets from the number of chunks on, in their order, each once it is 0. It
// sees that a chunk was taken by its first slot in the first lap, and by its
// entry's being 0 later.
//
// With flag 1 a lane takes no ticket when there is no chunk for the next one
// (the counter's value, read without an add): it drops its record and counts
// it. A race may still make it wait for a short time.
//
// # Chunks
//
// A chunk has 1024 slots of 16 bytes: two u64, w0 and w1, written by one
// st.volatile.global.v2.b64. Bit 63 of both words (V) is 1 once the slot is
// written; a slot in which only one of them is 1 is torn.
//
//	slot 0: w0 = V | %gridid (its low 63 bits)
//	        w1 = V | smid << 43 (16 bits) | lane << 38 (5) | warp in the CTA << 32 (6) | linear CTA (32)
//	slot 1: w0 = V | %clock64 (its low 63 bits)
//	        w1 = V | %globaltimer (its low 63 bits), read right after the clock
//	slots 2 to 1023: records
//
// The first slot of a record:
//
//	w0 = V | site << 40 (23 bits) | low 40 bits of %clock64
//	w1 = V | operand << 32 (31 bits) | lanes (32 bits)
//
// The slots after it, as many as the site says: w0 = V | value (63 bits),
// w1 = V | value (63 bits). The last ones of some sites are written behind the
// operation that the record is of, the others ahead of it: if it traps, the
// record stays without them. A record has at most 4 slots and lies in one
// chunk. A lane leaves a chunk while it has a word for a record of site 0, and
// writes that.
//
// Records of some sites are short: w0 alone, for all 32 lanes, with operand 0.
// They may begin in the middle of a slot, the others not: there a word with site
// 1 fills the slot.
//
// A chunk belongs to one lane, and the clocks in it ascend. Sites 0 and 1 are
// the same in every module, with one slot:
//
//	site 0  close: the lane writes no more to this chunk (it ends, or takes
//	        another). w0 alone counts, and of that not the clock. It may stand
//	        in the middle of a slot.
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
//	0x28 u32 first and u32 last CTA, u32 first and u32 last warp of the header
//	0x38     8 bytes, 0
//
// and a global u64 __btrace_module that is initialised with the module's
// number, by which the recorder knows a module again that was instrumented
// when it was assembled.
package ring
