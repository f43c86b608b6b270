package interp_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"btrace/capture/emu"
	"btrace/capture/ptx"
	"btrace/capture/ptx/interp"
	"btrace/trace"
)

// FuzzRun: whatever the text of a module, it is refused or runs, without a
// panic and in bounded time and memory, and twice to the same end. Since the
// text that bytes are changed in seldom is PTX still, its tokens are shuffled
// too.
func FuzzRun(f *testing.F) {
	for _, pattern := range []string{"testdata/*.ptx", "testdata/litmus/*.ptx", "testdata/corpus/clang/*.ptx", "../testdata/syntax/*.ptx"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(src, uint64(0))
			f.Add(src, uint64(len(src)))
		}
	}
	f.Fuzz(func(t *testing.T, src []byte, how uint64) {
		m, err := ptx.Parse("fuzz.ptx", shuffle(src, how))
		if err != nil || ptx.Resolve(m) != nil {
			return
		}
		_ = interp.Check(m) // the same refusals as below
		for _, e := range m.Entries() {
			k, err := interp.Compile(m, e)
			if err != nil {
				continue
			}
			args, ok := someArguments(t, e)
			if !ok {
				continue
			}
			cfg := emu.Config{
				Grid: trace.Dim{2}, Cluster: trace.Dim{1 + uint32(how%2)}, Block: trace.Dim{1 + uint32(how%65)}, Shared: 256,
				Schedule: emu.Schedules()[how%3], Seed: how, StepBudget: 2000,
			}
			for _, d := range e.Directives {
				switch d.Name { // what it asks for itself
				case "reqntid":
					cfg.Block = trace.Dim{}
				case "reqnctapercluster":
					cfg.Cluster = trace.Dim{}
				}
			}
			var first, second recording
			res, err := k.Launch(context.Background(), cfg, args, &first)
			if err != nil {
				continue
			}
			cfg.Workers = 1
			again, err := k.Launch(context.Background(), cfg, args, &second)
			if err != nil || again.Outcome != res.Outcome || again.Fault != res.Fault || len(first) != len(second) {
				t.Errorf("%s: %s, %s, %d events, and then %s, %s, %d events, %v", e.Name, res.Outcome, res.Fault, len(first), again.Outcome, again.Fault, len(second), err)
			}
		}
	})
}

// shuffle puts other tokens of the same kind, or numbers at the edge of
// something, in the place of a few.
func shuffle(src []byte, seed uint64) []byte {
	m, err := ptx.Parse("fuzz.ptx", src)
	if err != nil || seed == 0 {
		return src
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	of := make(map[ptx.TokenKind][]string)
	for _, t := range m.Tokens {
		of[t.Kind] = append(of[t.Kind], t.Text)
	}
	of[ptx.TokenInt] = append(of[ptx.TokenInt], "0", "1", "-1", "31", "32", "0xffffffff", "0x80000000", "0xffffffffffffffff", "0x7f0000000400", "0x400", "65536")
	for range 1 + rng.IntN(8) {
		t := &m.Tokens[rng.IntN(len(m.Tokens))]
		if same := of[t.Kind]; t.Kind != ptx.TokenPunct && len(same) > 0 {
			t.Text = same[rng.IntN(len(same))]
		}
	}
	return m.Source()
}

// someArguments is arguments that fit the parameters of a kernel, as long as
// there are few.
func someArguments(t *testing.T, e *ptx.Function) (args []interp.Arg, ok bool) {
	var texts []string
	for _, p := range e.Params {
		switch size := p.Size(); {
		case size > 256 || size < 1:
			return nil, false
		case len(p.Dims) > 0 || p.Vector > 0:
			texts = append(texts, "bytes:"+strings.Repeat("07", int(size)))
		case p.Type == "f32":
			texts = append(texts, "f32:1.5")
		case p.Type == "f64":
			texts = append(texts, "f64:1.5")
		case size == 8:
			texts = append(texts, "buf:256")
		case size == 4:
			texts = append(texts, "u32:5")
		case size == 2:
			texts = append(texts, "u16:5")
		case size == 1:
			texts = append(texts, "u8:5")
		default:
			return nil, false
		}
	}
	return arguments(t, texts...), true
}
