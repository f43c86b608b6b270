// Package probe puts probes into PTX: code that records what a kernel does on
// barriers, on a real GPU.
//
// Rewrite takes a PTX file and returns it with probes, together with a table of
// their sites. Site.Append turns what a site recorded into trace events. What
// runs in between, the memory that the GPU writes to and who reads it, is not
// here, and neither is an assembler. What is recorded of an instruction, and
// which tests of mbarriers are waits, is what package interp records when it
// runs the same PTX.
//
// # What a probe is
//
// Straight-line code before or behind an instruction, without calls, shared
// memory or parameters. A thread has a pointer of its own to where it writes
// next, in a register; the lowest of the lanes that are at a site with the same
// operands writes the record for all of them. Which lanes those are is asked
// once (activemask) and kept, and asked again only behind a wait: nothing
// relies on lockstep. Where operands are in
// registers, and so may differ, match.all says whether they do, and only then
// match.any who has the same.
//
// Where a thread has no room left, all that came to the probe with it branch to
// a block at the end of the braces that they are in, in which it takes a chunk
// of the ring: they must not part. What the ring is made of: package
// capture/cupti/ring.
//
// A function (.func) with probes has chunks of its own, which it closes when it
// returns.
//
// # Records
//
// A record is one slot of 16 bytes or more, each written by one store of two
// words, of which bit 63 is 1. It begins at a multiple of 16.
//
//	slot 1:       1 | site (23 bits) | clock64, its low 40 bits     1 | operand (31 bits) | lanes (32 bits)
//	other slots:  1 | value (63 bits)                               1 | value (63 bits)
//
// A short record (Site.Short) is the first word of its slot alone, at any
// multiple of 8: it is of all 32 lanes of a warp, and what else there is to say
// is known of its site. Barriers whose operands are constants have both sites:
// who writes the other kind in the middle of a slot fills it with a word of
// SiteGap first.
//
// How many slots a record has is a property of its site (Site.Slots), and so is
// how many of them are written behind the operation (Site.Tail). Sites 0
// and 1 are the same in every module: SiteClose says that the lane writes no
// more to this chunk, SiteGap that records were dropped here, as many as its
// operand says.
//
// The clock is read before an operation that acts on a barrier, and behind one
// that waits: an arrive has the time before it, a done the time after. The
// record of an arrive is written ahead of it, but for its token: an arrive may
// trap.
//
// A chunk begins with two slots that say whose it is; see Header.
//
// # The control block
//
// The rewritten module has the variable __btrace_ctl, 64 bytes, little endian,
// in constant memory (in global memory if the module needs all constant memory
// itself), which whoever loads it fills in before the first launch:
//
//	 0 u64 address of the ring; 0: probes record nothing
//	 8 u64 address of the ticket counter (u64, in device memory)
//	16 u32 number of chunks less one
//	20 u32 flags: 1 = drop records when no chunk is free, 2 = record only the
//	   CTAs and warps from 40 on
//	24 u64 address of the fifo
//	32 u64 address of the chunks
//	40 u32 first and u32 last CTA (linear index), u32 first and u32 last warp of
//	   a CTA to record, with flag 2. Of a cluster with such a CTA all may be
//
// and __btrace_module, a u64 that holds Options.Module. Chunk t belongs
// to the lane that took ticket t; of tickets beyond the number of chunks the
// fifo says which, at t mod chunks, once it is free: that number plus 1, and
// above its 20 bits the lap, t / chunks mod 4096. An entry with another lap is
// for another lane. The lane sets the entry to 0 again. While it waits for one
// it looks at the flags in the header of the ring, too: with flag 1 there it
// gives up, and drops.
//
// # Marks
//
// What PTX does not show a kernel can say itself: by code that does nothing,
// which the header btrace.cuh puts in and Rewrite finds. A mark is a block
//
//	{
//	.reg .b32 __btrace_mark;
//	.reg .b64 __btrace_a, __btrace_b, __btrace_c;
//	mov.b32 __btrace_mark, 0x62740001;
//	mov.b64 __btrace_a, %rd1;
//	mov.b64 __btrace_b, %rd2;
//	mov.b64 __btrace_c, %rd3;
//	}
//
// in CUDA C++
//
//	asm volatile("{\n\t.reg .b32 __btrace_mark;\n\t.reg .b64 __btrace_a, __btrace_b, __btrace_c;\n\t"
//	    "mov.b32 __btrace_mark, 0x62740001;\n\tmov.b64 __btrace_a, %0;\n\tmov.b64 __btrace_b, %1;\n\tmov.b64 __btrace_c, %2;\n\t}"
//	    :: "l"(a), "l"(b), "l"(c) : "memory");
//
// The low 16 bits of the constant say what it is:
//
//	1 completion.begin   a: generic address of the mbarrier
//	2 completion.end     a: the same
//	3 group.arrive       a: name, b: token (the number of the phase), c: threads in the group; 0 if not known
//	4 group.wait         a: name, b: token
//	5 group.done         a: name, b: token
//	6 mark               a: text
//	7 mbar.init          a: generic address of a barrier that is no mbarrier, b: threads that arrive in each phase
//	8 mbar.arrive        a: the same, b: number of the phase
//	9 mbar.wait          a: the same, b: number of the phase
//	10 mbar.done         a: the same, b: number of the phase
//
// Marks 7 to 10 of a barrier that is not in shared memory are left out.
//
// A name or text is the generic address of a string literal: the compiler has
// to know it, as it does where the functions of the header are inlined. An
// operand that is not used is 0. ptxas removes the block: its registers are
// read by nobody.
package probe
