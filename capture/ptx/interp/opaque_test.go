package interp_test

import (
	"slices"
	"testing"

	"btrace/capture/emu"
	"btrace/trace"
)

// TestOpaque: instructions that compute nothing are noted once each, and do to
// barriers what they should, so that a kernel comes to its end.
func TestOpaque(t *testing.T) {
	pair := emu.Config{Grid: trace.Dim{2}, Cluster: trace.Dim{2}, Block: trace.Dim{1}}
	const init = "mbarrier.init.shared.b64 [bar], 1;\n"
	const wait = "l: mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0; @!%p0 bra l;\n"
	for _, c := range []struct {
		snippet
		notes  []string
		copies string // recorded
	}{
		{snippet: snippet{name: "tensor copies", want: []uint32{7}, body: init + `
st.shared.u32 [s], 7;
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 4096;
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [s], [%d2, {%r3, %r4}], [bar];
cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.L2::cache_hint [s], [%d2, {%r3, %r4, %r5, %r6}], [bar], {%h0, %h1}, %d9;
` + wait + `
cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%d2, {%r3}], [s];
cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [%d2, {%r3}], [s];
cp.async.bulk.prefetch.tensor.1d.L2.global.tile [%d2, {%r3}];
cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;
ld.shared.u32 %r5, [s]; st.global.u32 [%d0], %r5;`},
			notes:  []string{"t.ptx:13:1: tensor copies move no data: their bytes on an mbarrier are taken to be what is expected"},
			copies: "w0 1 mbar.copy addr=0x400 @5\nw0 1 mbar.copy addr=0x400 @6"},
		{snippet: snippet{name: "tensor copies to all CTAs of a cluster", cfg: pair, each: func(uint32) []uint32 { return []uint32{1} }, body: init + `
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 4096;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
mov.u32 %r3, %cluster_ctarank; setp.eq.u32 %p1, %r3, 1; mov.b16 %h0, 3;
@%p1 cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster [s], [%d2, {%r3, %r4, %r5, %r6}], [bar], {%h1, %h2}, %h0;
` + wait + `st.global.u32 [%d1], 1;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;`},
			notes:  []string{"t.ptx:14:1: tensor copies move no data: their bytes on an mbarrier are taken to be what is expected"},
			copies: "c1 w0 1 mbar.copy addr=0x400 ctas=3 @6"},
		{snippet: snippet{name: "wgmma, tensor maps, register counts", cfg: block(128), each: func(uint32) []uint32 { return []uint32{5} }, body: `
mov.b32 %r3, 5;
setmaxnreg.inc.sync.aligned.u32 232;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r3, %r4, %r5, %r6}, %d2, %d3, 1, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
tensormap.replace.tile.global_address.global.b1024.b64 [%d2], %d3;
setmaxnreg.dec.sync.aligned.u32 40;
st.global.u32 [%d1], %r3;`},
			notes: []string{
				"t.ptx:11:1: wgmma does not compute: what it would write is not written",
				"t.ptx:15:1: tensormap does not compute: what it would write is not written",
			}},
		{snippet: snippet{name: "tcgen05", want: []uint32{9}, body: init + `
mov.b32 %r3, 9;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [s], 64;
tcgen05.mma.cta_group::1.kind::f16 [%r4], %d2, %d3, %r5, %p3;
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];
` + wait + `
tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r3}, [%r4];
tcgen05.wait::ld.sync.aligned;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 64;
st.global.u32 [%d0], %r3;`},
			notes:  []string{"t.ptx:12:1: tcgen05 does not compute: what it would write is not written"},
			copies: "w0 1 mbar.arrive addr=0x400 count=1 phase=0 @6"},
		{snippet: snippet{name: "a commit of tcgen05 to all CTAs of a cluster, and to none", cfg: pair, each: func(uint32) []uint32 { return []uint32{1} }, body: init + `
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
mov.u32 %r3, %cluster_ctarank; setp.eq.u32 %p1, %r3, 1; mov.b16 %h0, 3;
mov.u64 %d3, bar; cvta.shared.u64 %d3, %d3;
@%p1 tcgen05.commit.cta_group::2.mbarrier::arrive::one.multicast::cluster.b64 [%d3], %h0;
@%p1 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [bar], 0;
` + wait + `st.global.u32 [%d1], 1;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;`, decls: ".shared .align 8 .b64 bar;"},
			copies: "c1 w0 1 mbar.arrive addr=0x400 count=1 owner=0 @6\nc1 w0 1 mbar.arrive addr=0x400 count=1 phase=0 @6"},
		{snippet: snippet{name: "printf", want: []uint32{0, 1}, body: `
.param .b64 a; .param .b64 b; .param .b32 r;
st.param.b32 [r], 77;
call (r), vprintf, (a, b);
ld.param.b32 %r3, [r];
call (%r4), vprintf, (%d2, %d3);
add.u32 %r4, %r4, 1;
st.global.v2.b32 [%d0], {%r3, %r4};`, decls: ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);"},
			notes: []string{"t.ptx:11:1: printf prints nothing"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.decls == "" {
				c.decls = ".shared .align 16 .b8 s[64]; .shared .align 8 .b64 bar;"
			}
			c.check(t)
			k := kernel(t, c.source())
			var notes []string
			for _, n := range k.Opaque {
				notes = append(notes, n.String())
			}
			if !slices.Equal(notes, c.notes) {
				t.Errorf("notes:\n%q, want\n%q", notes, c.notes)
			}
			_, rec := start(t, k, c.cfg, "buf:4096")
			if got := rec.of(trace.KindMbarCopy, trace.KindMbarArrive).String(); got != c.copies {
				t.Errorf("recorded\n%s, want\n%s", got, c.copies)
			}
		})
	}
}
