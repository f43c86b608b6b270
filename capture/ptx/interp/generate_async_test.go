package interp_test

import "fmt"

// bulkProgram: bulk copies and reductions, issued by one thread and looked at
// by all.
func bulkProgram(p *program) {
	p.fill("s", "shared", 32)
	g, u := p.fill("g", "global", 32), p.fill("u", "shared", 32)
	first := p.reg("p")
	p.line("setp.ne.u32 %s, %%t, 0;", first)
	p.line("@!%s mbarrier.init.shared.b64 [bar], 1;", first)
	p.line("fence.proxy.async;\nbar.sync 0;\n@%s bra issued;", first)
	total := 0
	for i := range 8 {
		n := 16 * (1 + p.rng.IntN(8))
		total += n
		p.line("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [u+%d], [g+%d], %d, [bar];", 512*i, 16*p.rng.IntN(248), n)
	}
	p.line("mbarrier.arrive.expect_tx.shared.b64 _, [bar], %d;\nissued:", total)
	q := p.reg("p")
	p.line("wait: mbarrier.try_wait.parity.shared.b64 %s, [bar], 0; @!%s bra wait;", q, q)
	for i := range 16 {
		d := p.reg("d")
		p.line("ld.shared.b64 %s, [%s+%d];", d, u, 8*i)
		p.keep(d)
	}
	p.line("bar.sync 0;\n@%s bra stored;", first)
	for i := range 4 {
		p.line("cp.async.bulk.global.shared::cta.bulk_group [g+%d], [s+%d], %d;", 256*i, 16*p.rng.IntN(200), 16*(1+p.rng.IntN(8)))
	}
	at := 1024
	for _, op := range []string{
		"add.u32", "add.s32", "add.u64", "inc.u32", "dec.u32", "min.u32", "max.u32", "min.s32", "max.s32", "min.u64", "max.u64", "min.s64", "max.s64",
		"and.b32", "or.b32", "xor.b32", "and.b64", "or.b64", "xor.b64", "add.noftz.f16", "add.noftz.bf16", "min.f16", "max.f16", "min.bf16", "max.bf16", "add.f32", "add.f64",
	} {
		p.line("cp.reduce.async.bulk.global.shared::cta.bulk_group.%s [g+%d], [s+%d], 64;", op, at, 16*p.rng.IntN(250))
		at += 64
	}
	p.line("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nfence.proxy.async;\nstored: bar.sync 0;")
	for i := range 16 {
		d := p.reg("d")
		p.line("ld.relaxed.gpu.global.b64 %s, [%s+%d];", d, g, 8*i)
		p.keep(d)
	}
}

// clusterProgram: CTAs of a cluster in each other's shared memory.
func clusterProgram(p *program) {
	s := p.fill("s", "shared", 32)
	rank, peer, base, there, bar, far := p.reg("r"), p.reg("r"), p.reg("r"), p.reg("r"), p.reg("r"), p.reg("r")
	p.line("mov.u32 %s, %%cluster_ctarank; xor.b32 %s, %s, 1;", rank, peer, rank)
	p.line("mov.u32 %s, s; mapa.shared::cluster.u32 %s, %s, %s;", base, there, base, peer)
	p.line("mov.u32 %s, bar; mapa.shared::cluster.u32 %s, %s, %s;", bar, far, bar, peer)
	own := p.reg("r") // the lane's part of the peer's array
	p.line("mad.lo.u32 %s, %%lane, 128, %s;", own, there)
	first := p.reg("p")
	p.line("setp.ne.u32 %s, %%lane, 0;", first)
	p.line("@!%s mbarrier.init.shared.b64 [bar], 1; @!%s mbarrier.init.shared.b64 [bar+8], 32;", first, first)
	p.line("@!%s mbarrier.arrive.expect_tx.shared.b64 _, [bar], %d;", first, 32*(8+16+4+8)+64+128)
	p.line("fence.mbarrier_init.release.cluster; fence.proxy.async;\nbarrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;")
	// Bytes 0 to 31: plain and atomic accesses.
	d, local := p.reg("d"), p.reg("d")
	p.line("cvta.shared.u64 %s, %s; mapa.u64 %s, %s, %s;", local, s, d, local, peer)
	p.line("st.shared::cluster.b32 [%s], %s; st.b32 [%s+4], %s;", own, p.value(), d, p.value())
	old, older := p.reg("r"), p.reg("r")
	p.line("atom.shared::cluster.add.u32 %s, [%s+8], %s; atom.xor.b32 %s, [%s+12], %s;", old, own, p.value(), older, d, p.value())
	p.keep(old, older)
	p.line("red.relaxed.cluster.shared::cluster.add.u32 [%s+16], %s;", own, p.value())
	// Bytes 32 to 67: what completes transactions.
	p.line("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%s+32], {%s, %s}, [%s];", own, p.value(), p.value(), far)
	p.line("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%s+48], {%s, %s, %s, %s}, [%s];", own, p.value(), p.value(), p.value(), p.value(), far)
	p.line("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.%s [%s+64], %s, [%s];", p.pick("add.u32", "max.s32", "inc.u32"), own, p.value(), far)
	p.line("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%s+72], %s, [%s];", own, p.wide(), far)
	// Bytes 96 to 127, by one thread: of its own array, in lanes 0 to 3 of the
	// peer, and of global memory for all CTAs in lanes 8 and 9.
	for i := range 4 {
		p.line("@!%s cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%s+%d], [s+%d], 16, [%s];", first, there, 128*i+96, 112+128*p.rng.IntN(32), far)
	}
	leader := p.reg("p")
	mask := p.reg("h")
	p.line("setp.eq.u32 %s, %%lane, %s; mov.u16 %s, 3;", leader, rank, mask)
	for i := range 4 {
		p.line("@%s cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s+%d], [g+%d], 16, [bar], %s;", leader, 128*(8+2*i)+96, 16*i, mask)
	}
	p.line("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%s+8];", far)
	q := p.reg("p")
	for i := range 2 {
		p.line("wait%d: mbarrier.try_wait.parity.acquire.cluster.shared.b64 %s, [bar+%d], 0; @!%s bra wait%d;", i, q, 8*i, q, i)
	}
	p.line("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;")
	for i := range 16 {
		e := p.reg("d")
		p.line("ld.shared.b64 %s, [%s+%d];", e, s, 8*i)
		p.keep(e)
	}
	p.line("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;")
}

// mbarrierProgram: one thread on mbarriers, which it never makes do what is
// not allowed: tokens, counts and answers.
func mbarrierProgram(p *program) {
	for b := range 4 {
		bar := fmt.Sprintf("bar+%d", 8*b)
		expected := 5 + p.rng.IntN(1000)
		pending, next, tx := expected, expected, 0
		p.line("mbarrier.init.shared.b64 [%s], %d;", bar, expected)
		ask := func(token string) {
			for _, parity := range []string{"0", "1"} {
				q := p.reg("p")
				p.line("mbarrier.test_wait.parity.shared.b64 %s, [%s], %s;", q, bar, parity)
				p.keep(q)
			}
			if token != "" {
				q, n := p.reg("p"), p.reg("r")
				p.line("mbarrier.test_wait.shared.b64 %s, [%s], %s; mbarrier.pending_count.b64 %s, %s;", q, bar, token, n, token)
				p.keep(q, n)
			}
		}
		for range 20 {
			token := p.reg("d")
			n := 1 + p.rng.IntN(pending)
			if p.rng.IntN(3) == 0 {
				n = pending
			}
			kind := p.rng.IntN(6)
			if kind == 3 && n == pending || kind == 4 && next < 4 || pending == 1 && kind != 5 {
				kind = 0
			}
			switch kind {
			case 0, 1:
				p.line("mbarrier.arrive.shared.b64 %s, [%s], %d;", token, bar, n)
			case 2:
				n = 1
				bytes := p.rng.IntN(1000)
				tx += bytes
				p.line("mbarrier.arrive.expect_tx.shared.b64 %s, [%s], %d;", token, bar, bytes)
			case 3:
				p.line("mbarrier.arrive.noComplete.shared.b64 %s, [%s], %d;", token, bar, n)
			case 4:
				n = 1
				next--
				p.line("mbarrier.arrive_drop.shared.b64 %s, [%s];", token, bar)
			case 5:
				n, token = 0, ""
				bytes := p.rng.IntN(500)
				tx += bytes
				p.line("mbarrier.expect_tx.relaxed.cta.shared.b64 [%s], %d;", bar, bytes)
			}
			if pending -= n; pending == 0 { // the bytes, before anybody arrives again
				ask(token)
				if tx > 0 {
					p.line("mbarrier.complete_tx.relaxed.cta.shared.b64 [%s], %d;", bar, tx)
				}
				pending, tx = next, 0
			}
			ask(token)
		}
	}
}
