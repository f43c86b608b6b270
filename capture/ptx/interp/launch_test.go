package interp_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"btrace/capture/emu"
	"btrace/capture/ptx/interp"
	"btrace/trace"
)

// TestPrepare: what a kernel says about its launch is filled in, and held
// against what the launch is to be.
func TestPrepare(t *testing.T) {
	for _, c := range []struct {
		name, directives string
		decls            string
		cfg, want        emu.Config // Block, Cluster
		err              string
	}{
		{name: "nothing", cfg: block(3), want: block(3, 1, 1)},
		{name: "reqntid, not said", directives: ".reqntid 16, 2", want: block(16, 2, 1)},
		{name: "reqntid, said", directives: ".reqntid 16, 2, 1", cfg: block(16, 2), want: block(16, 2, 1)},
		{name: "reqntid, contradicted", directives: ".reqntid 16, 2", cfg: block(32), err: "k: a block of 32x1x1 threads: the kernel demands 16x2x1 (.reqntid)"},
		{name: "maxntid", directives: ".maxntid 8, 4", cfg: block(32), want: block(32, 1, 1)},
		{name: "maxntid, too many", directives: ".maxntid 8, 4", cfg: block(33), err: "k: a block of 33 threads: the kernel was compiled for at most 32 (.maxntid)"},
		{name: "reqnctapercluster, not said", directives: ".reqnctapercluster 2", cfg: emu.Config{Grid: trace.Dim{4}}, want: emu.Config{Block: trace.Dim{1, 1, 1}, Cluster: trace.Dim{2, 1, 1}}},
		{name: "reqnctapercluster, contradicted", directives: ".reqnctapercluster 2, 1, 1", cfg: emu.Config{Grid: trace.Dim{4}, Cluster: trace.Dim{4}}, err: "k: a cluster of 4x1x1 CTAs: the kernel demands 2x1x1 (.reqnctapercluster)"},
		{name: "maxclusterrank", directives: ".maxclusterrank 2", cfg: emu.Config{Grid: trace.Dim{4}, Cluster: trace.Dim{4}}, err: "k: a cluster of 4 CTAs: the kernel was compiled for at most 2 (.maxclusterrank)"},
		{name: "others", directives: ".maxnreg 64 .minnctapersm 2 .explicitcluster", cfg: block(3), want: block(3, 1, 1)},
		{name: "static and dynamic shared memory", decls: ".shared .b8 s[100000];", cfg: emu.Config{Shared: 200000}, err: "k: 300000 bytes of shared memory, static and dynamic: a CTA has at most 232448"},
		{name: "more than any device", cfg: block(2048), err: "cannot launch: a block of 2048x1x1 threads: a CTA has at most 1024, and 64 in z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := kernel(t, c.decls+".entry k() "+c.directives+" { .reg .u32 r; "+strings.Repeat("ld.shared.u32 r, [s];", strings.Count(c.decls, " s["))+" ret; }")
			cfg, err := k.Prepare(c.cfg)
			if c.err != "" {
				if err == nil || err.Error() != c.err {
					t.Errorf("%v, want %s", err, c.err)
				}
				if _, err := k.Launch(context.Background(), c.cfg, nil, nil); err == nil || err.Error() != c.err {
					t.Errorf("launched: %v, want %s", err, c.err)
				}
				return
			}
			if want := max(c.want.Cluster[0], 1); err != nil || cfg.Block != c.want.Block || cfg.Cluster != (trace.Dim{want, 1, 1}) {
				t.Errorf("%v, %v %v, want %v %v", err, cfg.Block, cfg.Cluster, c.want.Block, c.want.Cluster)
			}
			if res, err := k.Launch(context.Background(), c.cfg, nil, nil); err != nil || res.Outcome != trace.OutcomeCompleted {
				t.Errorf("%s, %v", res.Outcome, err)
			}
		})
	}
}

// TestState: registers that would not fit into memory are an error, not a
// crash.
func TestState(t *testing.T) {
	var b strings.Builder
	b.WriteString(".entry k(.param .u64 out) { .reg .u32 %r<40000>; ld.param.u32 %r0, [out];\n")
	for i := 1; i < 40000; i++ {
		b.WriteString("add.u32 %r" + number(i) + ", %r0, 1;\n")
	}
	b.WriteString("l: ")
	for i := 1; i < 40000; i++ {
		b.WriteString("add.u32 %r0, %r0, %r" + number(i) + ";\n")
	}
	b.WriteString("bra l; }")
	k := kernel(t, b.String())
	_, err := k.Prepare(emu.Config{Grid: trace.Dim{2000}})
	want := "k: the registers and shared memory of 2000 threads take 19531 MiB: the emulator takes 8192, make the grid smaller"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := k.Prepare(emu.Config{Grid: trace.Dim{20}}); err != nil {
		t.Error(err)
	}
}

func number(i int) string {
	if i < 10 {
		return string(rune('0' + i))
	}
	return number(i/10) + number(i%10)
}

// TestArguments: how arguments are written, and what they fit.
func TestArguments(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "data")
	if err := os.WriteFile(file, []byte{1, 2, 3, 4, 5, 6, 7, 8}, 0o644); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"5":                     `argument "5": want TYPE:VALUE, as i32:5, f32:1.5, buf:4096 or buf:@FILE`,
		"i128:5":                `argument "i128:5": unknown type i128: want i8 to i64, u8 to u64, f32, f64, buf or bytes`,
		"i8:128":                `argument "i8:128": 128 is not the value of an i8`,
		"u8:-1":                 `argument "u8:-1": -1 is not the value of an u8`,
		"f32:1e99":              `argument "f32:1e99": 1e99 is not the value of an f32`,
		"f64:x":                 `argument "f64:x": x is not the value of an f64`,
		"buf:":                  `argument "buf:": want a number of bytes, or @FILE`,
		"buf:-1":                `argument "buf:-1": want a number of bytes, or @FILE`,
		"buf:5000000000":        `argument "buf:5000000000": a buffer has at most 4294967296 bytes`,
		"bytes:123":             `argument "bytes:123": want hex digits, two a byte, or @FILE`,
		"buf:@" + dir + "/none": `argument "buf:@` + dir + `/none": ` + dir + `/none: no such file or directory`,
		"buf:@" + dir:           `argument "buf:@` + dir + `": ` + dir + `: is a directory`,
	} {
		if _, err := interp.ParseArg(text); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := interp.ParseArg("buf:@" + dir + "/none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v is no os.ErrNotExist", err)
	}

	k := kernel(t, `.visible .entry k(.param .u8 a, .param .s16 b, .param .b32 c, .param .f32 d, .param .u64 .ptr .global .align 4 e, .param .align 4 .b8 f[12], .param .f64 g, .param .u64 h) {
.reg .b64 %d<9>; .reg .b32 %r<9>;
ld.param.u64 %d0, [e];
ld.param.u8 %r0, [a]; ld.param.s16 %r1, [b]; ld.param.b32 %r2, [c]; ld.param.b32 %r3, [d];
st.global.v4.b32 [%d0], {%r0, %r1, %r2, %r3};
ld.param.b32 %r4, [f+8]; ld.param.b64 %d1, [g]; ld.param.u64 %d2, [h];
ld.global.b32 %r5, [%d0+16]; ld.global.b32 %r6, [%d2+4];
st.global.v4.b32 [%d0+16], {%r4, %r5, %r6, 0}; st.global.b64 [%d0+32], %d1;
ret; }`)
	good := []string{"u8:200", "i16:-2", "f32:1.5", "f32:-0", "buf:64", "bytes:0102030405060708090a0b0c", "f64:2", "buf:@" + file}
	res, _ := start(t, k, emu.Config{}, good...)
	want := []uint32{200, 0xfffffffe, 0x3fc00000, 0x80000000, 0x0c0b0a09, 0, 0x08070605, 0, 0, 0x40000000}
	if got := words(res.Buffers[4])[:len(want)]; !slices.Equal(got, want) {
		t.Errorf("got%s, want%s", numbers(got), numbers(want))
	}
	for i, b := range res.Buffers {
		if isBuffer := i == 4 || i == 7; isBuffer != (b != nil) || isBuffer != arguments(t, good[i])[0].IsBuffer() {
			t.Errorf("argument %d: a buffer of %d bytes", i, len(b))
		}
	}
	const takes = "k takes 8 arguments (.u8 (i8:… or u8:…), .s16 (i16:…), .b32 (i32:… or u32:…), .f32 (f32:…), .u64 (u64:… or buf:…), .b8[12] (bytes:…), .f64 (f64:…), .u64 (u64:… or buf:…)), and got 7"
	if _, err := k.Launch(context.Background(), emu.Config{}, arguments(t, good[:7]...), nil); err == nil || err.Error() != takes {
		t.Errorf("%v, want %s", err, takes)
	}
	for _, c := range []struct {
		at        int
		text, err string
	}{
		{0, "i16:5", "argument 0 of k is .u8 (i8:… or u8:…): i16:5 does not fit"},
		{1, "buf:5", "argument 1 of k is .s16 (i16:…): buf:5 does not fit"},
		{2, "f64:5", "argument 2 of k is .b32 (i32:… or u32:…): f64:5 does not fit"},
		{3, "i32:5", "argument 3 of k is .f32 (f32:…): i32:5 does not fit"},
		{4, "f64:5", "argument 4 of k is .u64 (u64:… or buf:…): f64:5 does not fit"},
		{5, "buf:12", "argument 5 of k is .b8[12] (bytes:…): buf:12 does not fit"},
		{5, "bytes:00", "argument 5 of k is .b8[12] (bytes:…): bytes:00 does not fit"},
		{6, "u64:5", "argument 6 of k is .f64 (f64:…): u64:5 does not fit"},
	} {
		args := slices.Clone(good)
		args[c.at] = c.text
		res, err := k.Launch(context.Background(), emu.Config{}, arguments(t, args...), nil)
		if err == nil || err.Error() != c.err || res.Outcome != trace.OutcomeUnknown {
			t.Errorf("%s: %v, want %s", res.Outcome, err, c.err)
		}
	}

	// An integer can stand for a struct of its size; a buffer may be empty.
	k = kernel(t, ".visible .entry k(.param .align 8 .b8 s[8], .param .u64 e) { .reg .b64 %d<2>; ld.param.b64 %d0, [s]; ld.param.b64 %d1, [e]; ret; }")
	if res, _ := start(t, k, emu.Config{}, "i64:-5", "buf:0"); res.Outcome != trace.OutcomeCompleted || res.Buffers[1] == nil {
		t.Errorf("%s, %v", res.Outcome, res.Buffers)
	}
}

// TestArgumentsAreShared: launches do not write to what was passed to others.
func TestArgumentsAreShared(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(file, make([]byte, 8), 0o644); err != nil {
		t.Fatal(err)
	}
	k := kernel(t, (&snippet{body: "ld.global.u32 %r3, [%d0]; add.u32 %r3, %r3, 1; st.global.u32 [%d0], %r3;"}).source())
	args := arguments(t, "buf:@"+file)
	for range 3 {
		res, err := k.Launch(context.Background(), emu.Config{}, args, nil)
		if err != nil || words(res.Buffers[0])[0] != 1 {
			t.Errorf("%v, %v", err, res.Buffers)
		}
	}
}
