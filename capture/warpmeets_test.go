package capture

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"btrace/capture/emu"
	"btrace/capture/ptx/interp"
)

// The instructions by which the lanes of a warp meet.
func meetings() map[string]string {
	return map[string]string{
		"bar.warp.sync": "bar.warp.sync -1;",
		"shfl":          "{ .reg .b32 x; mov.b32 x, 0; shfl.sync.idx.b32 x, x, 0, 31, -1; }",
		"vote":          "{ .reg .pred x; setp.eq.u32 x, 0, 0; vote.sync.all.pred x, x, -1; }",
		"match":         "{ .reg .b32 x; mov.b32 x, 0; match.any.sync.b32 x, x, -1; }",
		"redux":         "{ .reg .b32 x; mov.b32 x, 0; redux.sync.add.u32 x, x, -1; }",
		"elect":         "{ .reg .pred x; elect.sync _|x, -1; }",
	}
}

// TestWarpMeets: a lane that hands a buffer back for its warp does so after
// all lanes have seen that it was full, if they meet in between, by whatever
// instruction.
func TestWarpMeets(t *testing.T) {
	file := filepath.Join(corpusDir, "nvcc/bugs.ptx")
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	again := regexp.MustCompile(`bar\.warp\.sync\s+-1;`)
	for name, text := range meetings() {
		m, k := compileSource(t, file, "ring_ok", again.ReplaceAll(src, []byte(text)))
		for seed := range uint64(4) {
			cfg := emu.Config{Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{128, 1, 1}, Seed: seed}
			if seed > 0 {
				cfg.Schedule = emu.Random
			}
			var args []interp.Arg
			for _, a := range []string{"i32:10", "buf:512"} {
				arg, err := interp.ParseArg(a)
				if err != nil {
					t.Fatal(err)
				}
				args = append(args, arg)
			}
			_, rep := recordPTX(t, m, k, cfg, args)
			if s := rep.Launches[0].Schedules; !s.Proved {
				t.Errorf("%s, seed %d: not proved: %q %v", name, seed, s.Why, listed(rep))
			}
		}
	}
}

// TestWarpMeetsInit: lanes that use an mbarrier after they have met the one
// that made it come after it, and only bar.warp.sync makes them see it.
func TestWarpMeetsInit(t *testing.T) {
	const before = `.version 8.0
.target sm_90
.address_size 64
.shared .align 8 .b8 bar[8];
.visible .entry k() {
	.reg .pred %p, %q;
	.reg .b32 %t;
	.reg .b64 %s;
	mov.u32 %t, %tid.x;
	setp.eq.u32 %p, %t, 0;
	@%p mbarrier.init.shared.b64 [bar], 32;
	`
	const after = `
	mbarrier.arrive.shared.b64 %s, [bar];
wait:
	mbarrier.try_wait.shared.b64 %q, [bar], %s;
	@!%q bra wait;
	ret;
}
`
	for name, text := range meetings() {
		m, k := compileSource(t, "k.ptx", "k", []byte(before+text+after))
		for seed := range uint64(4) {
			cfg := emu.Config{Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{32, 1, 1}, Seed: seed}
			if seed > 0 {
				cfg.Schedule = emu.Random
			}
			_, rep := recordPTX(t, m, k, cfg, nil)
			s := rep.Launches[0].Schedules
			if s.Proved != (name == "bar.warp.sync") || len(rep.Findings) > 0 {
				t.Errorf("%s, seed %d: proved: %t %q %v", name, seed, s.Proved, s.Why, listed(rep))
			}
		}
	}
}
