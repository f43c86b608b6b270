package interp_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"btrace/capture/ptx"
	"btrace/capture/ptx/interp"
)

// TestRefusals: what cannot be run is refused by name and line, all of it.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		body, want string // one line each, without the file's name
	}{
		// Instructions, modifiers, operands that nobody knows.
		{"tex.2d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%d0, {%r1, %r2}];", "9:1: tex.2d.v4.f32.s32: the emulator does not know this instruction"},
		{"frobnicate.u32 %r3, %r4;", "9:1: frobnicate.u32: the emulator does not know this instruction"},
		{"multimem.red.relaxed.sys.global.add.u32 [%d0], %r3;", "9:1: multimem.red.relaxed.sys.global.add.u32: the emulator does not know this instruction"},
		{"alloca.u64 %d2, 16;", "9:1: alloca.u64: the emulator does not know this instruction"},
		{"barrier.cluster.frob;", "9:1: barrier.cluster.frob: it takes no .frob"},
		{"bar.cta;", "9:1: bar.cta: the emulator does not know this instruction"},
		{"add.frob.u32 %r3, %r4, %r5;", "9:1: add.frob.u32: no modifier .frob is known"},
		{"ld.global.newer.u32 %r3, [%d0];", "9:1: ld.global.newer.u32: it takes no .newer"},
		{"st.bulk.weak.shared::cta [%r3], 16, 0;", "9:1: st.bulk.weak.shared::cta: it takes no .bulk"},
		{"mbarrier.arrive.newer.shared.b64 _, [%r3];", "9:1: mbarrier.arrive.newer.shared.b64: it takes no .newer"},
		{"cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob [%r3], [%d0], 16, 1, 2, [%r3];", "9:1: cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob: it takes no .ignore_oob"},
		{"shfl.sync.b32 %r3, %r4, 1, 31, -1;", "9:1: shfl.sync.b32: it names no mode"},
		{"vote.sync.pred %p0, %p1, -1;", "9:1: vote.sync.pred: it names no mode"},
		{"bar.red.u32 %r3, 0, %p1;", "9:1: bar.red.u32: it names no reduction"},
		{"atom.global.u32 %r3, [%d0], 1;", "9:1: atom.global.u32: it names no operation"},
		{"atom.global.add %r3, [%d0], 1;", "9:1: atom.global.add: it names no type"},
		{"isspacep %p0, %d0;", "9:1: isspacep: it names no state space"},
		{"redux.sync.add.f32 %f0, %f1, -1;", "9:1: redux.sync.add.f32: no such reduction of .f32"},
		{"redux.sync.min.abs.f32 %f0, %f1, -1;", "9:1: redux.sync.min.abs.f32: it takes no .abs"},
		{"atom.global.add.b32 %r3, [%d0], 1;", "9:1: atom.global.add.b32: no atomic add of type b32"},
		{"red.global.cas.b32 [%d0], 1, 2;", "9:1: red.global.cas.b32: there is no .cas without a result"},
		{"cp.reduce.async.bulk.global.shared::cta.bulk_group.exch.b32 [%d0], [%r3], 16;", "9:1: cp.reduce.async.bulk.global.shared::cta.bulk_group.exch.b32: it takes no .exch"},
		{"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r1, %r2}, {%r3, %r4}, {%f4, %f5, %f6, %f7}, %r5, 0;", "9:1: mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32: sparse matrices are not supported"},
		{"ldmatrix.sync.aligned.m8n8.x3.b16 {%r3, %r4, %r5}, [%r6];", "9:1: ldmatrix.sync.aligned.m8n8.x3.b16: not a form that is covered: want .sync.aligned.m8n8.(x1|x2|x4)[.trans][.shared].b16"},
		{"cp.async.ca.shared.global [%r3], [%d0], 5;", "9:1: cp.async.ca.shared.global: it copies 4, 8 or 16 bytes"},
		{"cp.async.wait_group %r3;", "9:1: cp.async.wait_group: it takes a constant number of groups"},

		// 128 bits, vectors.
		{"ld.global.pred %p0, [%d0];", "9:1: ld.global.pred: it takes no predicates"},
		{"ld.global.b128 %r3, [%d0];", "9:1: ld.global.b128: 128-bit registers are not supported: use two of 64 bits"},
		{"mov.b128 %r3, {%d0, %d1};", "9:1: mov.b128: 128-bit registers are not supported: use two of 64 bits"},
		{"atom.global.exch.b128 %r3, [%d0], %r4;", "9:1: atom.global.exch.b128: 128-bit registers are not supported: use two of 64 bits"},
		{"atom.global.add.v2.f32 {%f0, %f1}, [%d0], {%f2, %f3, %f4};", "9:1: atom.global.add.v2.f32: a vector of 3 elements: it takes 2"},
		{".reg .v4 .f32 %vec;", "9:15: vector registers (.reg .v4 %vec): use scalar ones"},
		{"ld.global.v4.u32 {%r3, %r4}, [%d0];", "9:1: ld.global.v4.u32: a vector of 2 elements: it takes 4"},
		{"st.global.v2.u32 [%d0], %r3;", "9:1: st.global.v2.u32: a vector of 2 is wanted"},
		{"mov.b32 {%h0, %h1, %h2}, %r3;", "9:1: mov.b32: 3 parts of a .b32"},
		{"mov.b32 %r3, %r4.b0;", "9:1: mov.b32: %r4.b0: a part of a register cannot be taken"},
		{"mov.u32 %r3, %tid;", "9:1: mov.u32: %tid has components: %tid.x"},

		// Operands.
		{"add.u32 %r3, %r4;", "9:1: add.u32: 2 operands: it takes 3"},
		{"ld.global.u32 %r3;", "9:1: ld.global.u32: 1 operands: it takes 2"},
		{"add.u32 5, %r4, %r4;", "9:1: add.u32: the destination has to be a register"},
		{"add.u32 %p0, %r4, %r4;", "9:1: add.u32: the destination has to be a register"},
		{"add.u32 %r3, %p0, 1;", "9:1: add.u32: %p0 is a predicate"},
		{"add.u32 %r3, {%r4, %r5}, 1;", "9:1: add.u32: the operand has to be a register or a constant"},
		{"add.f32 %f0, %f1, 1;", "9:1: add.f32: an integer constant where a .f32 is wanted"},
		{"add.f16 %h0, %h1, 1.5;", "9:1: add.f16: a floating-point constant where a .f16 is wanted"},
		{"add.u32 %r3, _, 1;", "9:1: add.u32: _ cannot be read"},
		{"setp.eq.u32 %r3, 1, 1;", "9:1: setp.eq.u32: %r3 has to be a predicate"},
		{"selp.u32 %r3, 1, 2, %r4;", "9:1: selp.u32: %r4 has to be a predicate"},
		{"lop3.or.b32 %r3, %r4, %r5, %r6, 1, %p0;", "9:1: lop3.or.b32: the destination has to be d|p"},
		{"elect.sync %r3, -1;", "9:1: elect.sync: the destination has to be d|p"},
		{"ld.global.u32 %r3, %r4|%p0;", "9:1: ld.global.u32: an address is wanted"},
		{"ld.shared.u32 %r3, [g];", "9:1: ld.shared.u32: g is in .global memory"},
		{".local .u32 l; add.u64 %d2, l, 1;", "9:16: add.u64: the address of l, which differs between threads, has to be moved to a register first"},
		{"add.u64 %d2, %clock64, 1;", "9:1: add.u64: %clock64 has to be moved to a register first"},
		{"mov.u32 %r3, %pm0;", "9:1: mov.u32: the emulator does not know the special register %pm0"},

		// Calls and variables.
		{"call f, (1);", "9:1: call: it takes 2 arguments, and is called with 1"},
		{"call (%r3, %r4), f, (1, 2);", "9:1: call: it returns 1 values, and is called for 2"},
		{"call k, (%d0);", "9:1: call: a kernel cannot be called"},
		{"call (%r3), malloc, (%d0);", "9:1: call: malloc is declared here and defined nowhere: link its PTX into this file"},
		{"mov.u64 %d2, malloc;", "4:88: function malloc is declared here and defined nowhere"},
		{"call p, (1);", "4:245: q: predicates cannot be passed: use .reg .b32"},
		{"ld.global.u32 %r3, [elsewhere];", "4:132: elsewhere is declared here and defined nowhere"},
		{"ld.global.u64 %d2, [table];", "4:183: table: dyn has no address that is known before the launch"},
		{".local .b8 l[600000]; mov.u64 %d2, l;", "9:12: l: more than 524288 bytes of local memory in a function"},
		{"ld.global.u8 %r3, [huge];", "4:208: huge: more than 1073741824 bytes of variables"},
	} {
		t.Run(c.body, func(t *testing.T) {
			const decls = ".func (.reg .b32 r) f(.reg .b32 a, .reg .b32 b) { ret; } .extern .func (.param .b64 r) malloc(.param .b64 n);" +
				" .extern .global .u32 elsewhere; .extern .shared .b8 dyn[]; .global .u64 table = dyn;" +
				" .global .b8 huge[2000000000]; .func p(.reg .pred q) { ret; } .global .u32 g;"
			s := snippet{body: c.body, decls: decls}
			m := module(t, s.source())
			_, err := interp.Compile(m, m.Lookup("k"))
			var rs interp.Refusals
			if !errors.As(err, &rs) {
				t.Fatalf("%v is no refusal", err)
			}
			if got := err.Error(); got != "t.ptx:"+c.want {
				t.Errorf("%s\nwant t.ptx:%s", got, c.want)
			}
			if err := interp.Check(m); err == nil || err.Error() != rs.Error() {
				t.Errorf("Check: %v", err)
			}
		})
	}
}

// TestCheck: all that would be refused, in the order of the file, each once.
func TestCheck(t *testing.T) {
	m := module(t, `.func both() { frob.one; ret; }
.global .u64 p = dyn; .extern .shared .b8 dyn[];
.visible .entry a() { call both; call both; frob.two; ret; }
.visible .entry b() { .reg .b64 d; mov.u64 d, p; frob.three; frob.two; call both; ret; }
.visible .entry c(.param .b8 many[40000]) { frob.four; ret; }
.visible .entry fine() { ret; }
`)
	unknown := func(at, what string) string {
		return "t.ptx:" + at + ": " + what + ": the emulator does not know this instruction"
	}
	want := []string{
		unknown("4:16", "frob.one"), "t.ptx:5:14: p: dyn has no address that is known before the launch",
		unknown("6:45", "frob.two"), unknown("7:50", "frob.three"), unknown("7:62", "frob.two"),
		"t.ptx:8:30: many: a kernel has at most 32764 bytes of parameters", unknown("8:45", "frob.four"),
	}
	var rs interp.Refusals
	if err := interp.Check(m); !errors.As(err, &rs) {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rs {
		got = append(got, r.Error())
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if text := strings.Join(want[:5], "; ") + "; and 2 more"; rs.Error() != text {
		t.Errorf("got %s, want %s", rs, text)
	}
	if k, err := interp.Compile(m, m.Lookup("fine")); err != nil || k.Entry.Name != "fine" {
		t.Errorf("what other entries do is held against one that does not: %v", err)
	}
	if err := interp.Check(module(t, ".visible .entry fine() { ret; } .func f() { frob; }")); err != nil {
		t.Errorf("a function that nobody calls: %v", err)
	}
}

// TestTargets: any version and target is run; 32-bit addresses are not.
func TestTargets(t *testing.T) {
	const body = ".visible .entry k() { .reg .b32 r; mov.u32 r, %tid.x; bar.sync 0; ret; }"
	for head, want := range map[string]string{
		".version 3.2\n.target sm_20\n.address_size 64\n":          "",
		".version 9.0\n.target sm_103a, debug\n.address_size 64\n": "",
		".version 99.9\n.target sm_999\n.address_size 64\n":        "",
		".version 8.0\n.target sm_90\n.address_size 32\n":          "t.ptx:1:1: 32-bit addresses (.address_size 32): compile with .address_size 64",
		".version 8.0\n.target sm_90\n":                            "t.ptx:1:1: 32-bit addresses (.address_size 32): compile with .address_size 64",
	} {
		m, err := ptx.Parse("t.ptx", []byte(head+body))
		if err != nil {
			t.Fatal(err)
		}
		if err := ptx.Resolve(m); err != nil {
			t.Fatal(err)
		}
		_, err = interp.Compile(m, m.Lookup("k"))
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%q: %v", head, err)
		}
	}
}

// TestTooMuch: what is too large is an error that says so.
func TestTooMuch(t *testing.T) {
	for text, want := range map[string]string{
		".shared .b8 s[300000]; .entry k() { .reg .u32 r; ld.shared.u32 r, [s]; }":                 "t.ptx:4: k has 300000 bytes of static shared memory: a CTA has at most 232448",
		".shared .b8 s[4000000000]; .entry k() { .reg .u32 r; ld.shared.u32 r, [s]; }":             "t.ptx:4:13: s: more shared memory than any device has",
		".entry k() { .reg .u32 r; { .local .b8 a[500000]; .local .b8 b[40000]; mov.u32 r, a; } }": "t.ptx:4:62: b: more than 524288 bytes of local memory in a function",
	} {
		m := module(t, text)
		_, err := interp.Compile(m, m.Lookup("k"))
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
