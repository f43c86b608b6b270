package capture

import (
	"testing"

	"btrace/capture/emu"
	"btrace/replay/rules"
)

// TestLateCopies: a phase that more arrivals come to than it needs, some of
// them those of copies: how soon the copies are done says whose arrival is
// left over, and whether the wait is for all of them.
func TestLateCopies(t *testing.T) {
	const source = `.version 8.0
.target sm_90
.address_size 64
.shared .align 8 .b8 bar[8];
.visible .entry k() {
	.reg .pred %p, %q;
	.reg .b32 %t;
	.reg .b64 %s;
	mov.u32 %t, %tid.x;
	setp.eq.u32 %p, %t, 0;
	@%p mbarrier.init.shared.b64 [bar], 48;
	bar.sync 0;
	cp.async.mbarrier.arrive.noinc.shared.b64 [bar];
	mbarrier.arrive.shared.b64 %s, [bar];
wait:
	mbarrier.try_wait.parity.shared.b64 %q, [bar], 0;
	@!%q bra wait;
	ret;
}
`
	m, k := compileSource(t, "k.ptx", "k", []byte(source))
	for seed := range uint64(8) {
		cfg := emu.Config{Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{32, 1, 1}, Seed: seed}
		if seed > 0 {
			cfg.Schedule = emu.PCT
		}
		_, rep := recordPTX(t, m, k, cfg, nil)
		if rep.Launches[0].Schedules.Proved {
			t.Errorf("seed %d: proved", seed)
		}
		for _, f := range rep.Findings {
			if f.Rule != rules.HazardTx && f.Rule != rules.MbarReuseBeforeWait {
				t.Errorf("seed %d: %s: %s", seed, f.Rule, f.Message)
			}
		}
	}
}
