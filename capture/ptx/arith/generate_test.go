package arith

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/h100.ptx anew")

// The kernel that testdata/h100.ptx holds does every instruction of cases, in
// their order, with the operands of its thread, and gives its results to a
// function: E16, E32 and E64 for those that are exact, A16, A32 and A64 for
// approximations. Those write
//
//	to exact   a sum over all threads, and the results of the first 8
//	to approx  the results of 512 threads: those numbered 37·n, modulo all
//	to raw     the results of the first keep threads, for looking at: with
//	           as many as there are, and a buffer for them, those of all
//
// 64 bits each, cases after cases.
const (
	firstThreads = 8
	sampleCount  = 512
	sampleStep   = 37
	// sampleStep·sampleInverse = 1, modulo threads.
	sampleInverse = 7085
	mixThread     = 0x9e3779b97f4a7c15
	mixResult     = 0xd6e8feb86659fd93
)

// mix is what a thread adds to the sum.
func mix(result, thread uint64) uint64 {
	h := (result ^ thread*mixThread) * mixResult
	return h ^ h>>32
}

// writePTX writes the kernel.
func writePTX(w *bytes.Buffer, cases []hardwareCase) {
	w.WriteString(`// The instructions of btrace's arith package, for an H100 to say what they
// give. Made by: go test ./capture/ptx/arith -run TestPTX -update
// What is beside it is of an H100 80GB HBM3 with driver 580.159.04 (CUDA 13.0).
// Run, in capture/ptx/arith/testdata, with the program of capture/ptx/testdata/gpu:
`)
	exact, approx := 0, 0
	for _, c := range cases {
		if c.approx {
			approx++
		} else {
			exact++
		}
	}
	fmt.Fprintf(w, "//	run h100.ptx arith %d 128 1 0 0 60000 h100 buf:%d buf:%d buf:1 u32:0 buf:%d\n",
		threads/128, exact*8*(1+firstThreads), approx*8*sampleCount, threads*16)
	fmt.Fprintf(w, "//	mv h100.0 h100-exact.bin; mv h100.1 h100-approx.bin; rm h100.2 h100.4\n")
	w.WriteString(".version 8.3\n.target sm_90a\n.address_size 64\n")
	for _, c := range classes {
		if c.of != "" {
			continue
		}
		fmt.Fprintf(w, ".global .align 8 .b%d T%s[%d]={", c.bits, c.name, tableSize)
		for i, v := range newOperands().tables[c.name] {
			if i > 0 {
				w.WriteByte(',')
			}
			fmt.Fprintf(w, "%#x", v)
		}
		w.WriteString("};\n")
	}
	w.WriteString(".global .u64 Pexact;\n.global .u64 Papprox;\n.global .u64 Praw;\n.global .u32 Pkeep;\n")
	for _, bits := range []int{16, 32, 64} {
		extend := fmt.Sprintf("cvt.u64.u%d v,x;", bits)
		if bits == 64 {
			extend = "mov.b64 v,x;"
		}
		const start = `.reg .pred p;
.reg .b32 i,j;
.reg .b64 v,t,h,g,q;
mov.u32 i,%ctaid.x;
mov.u32 j,%tid.x;
mad.lo.u32 i,i,128,j;
`
		fmt.Fprintf(w, ".func E%d(.reg .b32 n,.reg .b%d x)\n{\n%s%s\n", bits, bits, start, extend)
		fmt.Fprintf(w, `ld.global.u64 q,[Pexact];
mad.wide.u32 q,n,%d,q;
cvt.u64.u32 t,i;
mul.lo.u64 h,t,%#x;
xor.b64 h,h,v;
mul.lo.u64 h,h,%#x;
shr.u64 g,h,32;
xor.b64 h,h,g;
red.global.add.u64 [q],h;
setp.lt.u32 p,i,%d;
mad.wide.u32 q,i,8,q;
@p st.global.b64 [q+8],v;
ld.global.u32 j,[Pkeep];
setp.lt.u32 p,i,j;
mad.lo.u32 j,n,j,i;
ld.global.u64 q,[Praw];
mad.wide.u32 q,j,8,q;
@p st.global.b64 [q],v;
ret;
}
`, 8*(1+firstThreads), uint64(mixThread), uint64(mixResult), firstThreads)
		fmt.Fprintf(w, ".func A%d(.reg .b32 n,.reg .b%d x)\n{\n%s%s\n", bits, bits, start, extend)
		fmt.Fprintf(w, `mul.lo.u32 j,i,%d;
and.b32 j,j,%d;
setp.lt.u32 p,j,%d;
ld.global.u64 q,[Papprox];
mad.lo.u32 j,n,%d,j;
mad.wide.u32 q,j,8,q;
@p st.global.b64 [q],v;
ret;
}
`, sampleInverse, threads-1, sampleCount, sampleCount)
	}
	w.WriteString(`.visible .entry arith(.param .u64 exact,.param .u64 approx,.param .u64 raw,.param .u32 keep,.param .u64 cells)
{
.reg .pred p,q,q2;
.reg .b16 r16,s16;
.reg .b32 t,i,j,cin,r32,s32;
.reg .b64 x,y,m,cell,r64;
.shared .align 16 .b8 S[2048];
.reg .b32 scell;
ld.param.u64 x,[exact];
st.global.u64 [Pexact],x;
ld.param.u64 x,[approx];
st.global.u64 [Papprox],x;
ld.param.u64 x,[raw];
st.global.u64 [Praw],x;
ld.param.u32 j,[keep];
st.global.u32 [Pkeep],j;
mov.u32 i,%ctaid.x;
mov.u32 j,%tid.x;
mad.lo.u32 t,i,128,j;
ld.param.u64 cell,[cells];
mad.wide.u32 cell,t,16,cell;
mov.u32 scell,S;
mad.lo.u32 scell,j,16,scell;
`)
	predicateOf := func(reg string, a, b int) {
		fmt.Fprintf(w, "shr.u32 i,t,%d;\nshr.u32 j,t,%d;\nxor.b32 i,i,j;\nand.b32 %s,i,1;\n", a, b, reg)
	}
	predicateOf("cin", 3, 9)
	predicateOf("j", 2, 8)
	w.WriteString("setp.ne.u32 p,j,0;\n")
	for _, c := range classes {
		if c.of == "" {
			writeOperands(w, c)
		}
	}
	exact, approx = 0, 0
	for _, c := range cases {
		w.WriteString(c.ptx)
		if c.approx {
			fmt.Fprintf(w, "call A%d,(%d,r%d);\n", c.width, approx, c.width)
			approx++
		} else {
			fmt.Fprintf(w, "call E%d,(%d,r%d);\n", c.width, exact, c.width)
			exact++
		}
	}
	w.WriteString("ret;\n}\n")
}

// writeOperands writes what loads the operands of a class, and the pairs of
// it, as operands.value has them.
func writeOperands(w *bytes.Buffer, c class) {
	pair := ""
	for _, p := range classes {
		if p.of == c.name {
			pair = p.name
		}
	}
	load := func(reg, index string) {
		fmt.Fprintf(w, "and.b32 j,%s,127;\nmov.u64 x,T%s;\nmad.wide.u32 x,j,%d,x;\nld.global.b%d %s,[x];\n",
			index, c.name, c.bits/8, c.bits, reg)
	}
	// one writes the load of a slot's value for the thread number in s32.
	one := func(slot byte, reg string) {
		switch slot {
		case 'a':
			load(reg, "s32")
		case 'b':
			w.WriteString("shr.u32 i,s32,7;\n")
			load(reg, "i")
		case 'c':
			w.WriteString("shr.u32 i,s32,7;\nmul.lo.u32 i,i,53;\nadd.u32 i,i,17;\nmad.lo.u32 i,s32,29,i;\n")
			load(reg, "i")
		case 'u':
			w.WriteString("shr.u32 i,s32,2;\n")
			load(reg, "i")
			fmt.Fprintf(w, "cvt.u64.u32 x,s32;\nmul.lo.u64 x,x,%#x;\n", uint64(mixThread))
			switch c.name[0] {
			case 'n':
				w.WriteString("shr.u64 x,x,40;\n")
			case 'i':
				fmt.Fprintf(w, "shr.u64 x,x,%d;\nand.b32 i,i,%d;\nshr.u64 x,x,i;\n", 64-c.bits, c.bits-1)
			default:
				w.WriteString("and.b32 i,s32,3;\nsetp.eq.u32 q,i,1;\nshr.u64 y,x,14;\nshr.s64 x,x,63;\nselp.b64 x,x,y,q;\n")
				fmt.Fprintf(w, "and.b64 x,x,%#x;\ncvt.u64.u32 y,s32;\nshl.b64 y,y,%d;\nor.b64 x,x,y;\n", uint64(1)<<(c.bits-14)-1, c.bits-14)
			}
			w.WriteString("and.b32 i,s32,3;\nsetp.eq.u32 q,i,0;\n")
			if c.bits == 64 {
				fmt.Fprintf(w, "selp.b64 %s,%s,x,q;\n", reg, reg)
			} else {
				fmt.Fprintf(w, "cvt.u%d.u64 r%d,x;\nselp.b%d %s,%s,r%d,q;\n", c.bits, c.bits, c.bits, reg, reg, c.bits)
			}
		}
	}
	for _, slot := range []byte("abcu") {
		reg := register(slot, c.name)
		fmt.Fprintf(w, ".reg .b%d %s;\nmov.u32 s32,t;\n", c.bits, reg)
		one(slot, reg)
		if pair != "" {
			both := register(slot, pair)
			fmt.Fprintf(w, ".reg .b32 %s;\nmul.lo.u32 s32,t,37;\nadd.u32 s32,s32,11;\nand.b32 s32,s32,%d;\n", both, threads-1)
			one(slot, "s16")
			fmt.Fprintf(w, "mov.b32 %s,{%s,s16};\n", both, reg)
		}
	}
}

// register is the name of an operand's register.
func register(slot byte, class string) string { return string(slot) + class }

func TestPTX(t *testing.T) {
	var w bytes.Buffer
	writePTX(&w, hardwareCases())
	const name = "testdata/h100.ptx"
	if *update {
		if err := os.WriteFile(name, w.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, w.Bytes()) {
		old, now := strings.Split(string(have), "\n"), strings.Split(w.String(), "\n")
		for i := range min(len(old), len(now)) {
			if old[i] != now[i] {
				t.Fatalf("%s:%d: %q; of the cases it would be made %q (go test -run TestPTX -update; then run it on an H100 again)", name, i+1, old[i], now[i])
			}
		}
		t.Fatalf("%s has %d lines; of the cases it would be made with %d (go test -run TestPTX -update; then run it on an H100 again)", name, len(old), len(now))
	}
}
