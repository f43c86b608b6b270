package interp_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// The programs of testdata/hardware: instructions with pseudo-random operands,
// which an H100 has run too. Every thread stores what it gets one word after
// the other.

// program writes a kernel k(.param .u64 out).
type program struct {
	b    strings.Builder
	rng  *rand.Rand
	next int // register
	at   int // bytes of a thread's words so far
}

func (p *program) line(format string, args ...any) {
	fmt.Fprintf(&p.b, format+"\n", args...)
}

// pick is one of some words.
func (p *program) pick(of ...string) string { return of[p.rng.IntN(len(of))] }

// reg is a new register: r for 32 bits, d for 64, h for 16, f and g for floats, p
// for a predicate.
func (p *program) reg(class string) string {
	p.next++
	return fmt.Sprintf("%%%s%d", class, p.next)
}

// value is a register that holds 32 pseudo-random bits, other ones in each
// thread.
func (p *program) value() string {
	r, s := p.reg("r"), p.reg("r")
	p.line("mad.lo.u32 %s, %%t, %d, %d; shr.u32 %s, %s, 15; xor.b32 %s, %s, %s; mul.lo.u32 %s, %s, 0x2c1b3c6d; shr.u32 %s, %s, 12; xor.b32 %s, %s, %s;",
		r, p.rng.Uint32()|1, p.rng.Uint32(), s, r, r, r, s, r, r, s, r, r, r, s)
	return r
}

// wide is the same of 64 bits.
func (p *program) wide() string {
	d := p.reg("d")
	p.line("mov.b64 %s, {%s, %s};", d, p.value(), p.value())
	return d
}

// small is a pseudo-random number below n.
func (p *program) small(n int) string {
	r := p.reg("r")
	p.line("rem.u32 %s, %s, %d;", r, p.value(), n)
	return r
}

// coin is a pseudo-random predicate.
func (p *program) coin() string {
	q, r := p.reg("p"), p.reg("r")
	p.line("and.b32 %s, %s, 4; setp.ne.u32 %s, %s, 0;", r, p.value(), q, r)
	return q
}

// keep stores registers of 32 bits, or predicates.
func (p *program) keep(regs ...string) {
	for _, r := range regs {
		if strings.HasPrefix(r, "%p") {
			s := p.reg("r")
			p.line("selp.u32 %s, 1, 0, %s;", s, r)
			r = s
		}
		bits, size := "b32", 4
		switch r[1] {
		case 'd', 'g':
			bits, size = "b64", 8
			p.at = (p.at + 7) / 8 * 8
		case 'h':
			bits, size = "b16", 2
		}
		p.line("st.global.%s [%%out+%d], %s;", bits, p.at, r)
		if p.at += size; bits == "b16" {
			p.at += 2
		}
	}
}

// hardware is the programs by name: the shape of their launch, and what writes
// them.
type hardware struct {
	ctas, threads, cluster int
	decls                  string
	write                  func(p *program)
}

// source is the file of a program, and how many bytes each of its threads
// stores.
func (h *hardware) source(name string) (text string, bytes int) {
	p := &program{rng: rand.New(rand.NewPCG(uint64(len(name)), uint64(name[0])<<8|uint64(name[len(name)-1])))}
	h.write(p)
	bytes = (p.at + 7) / 8 * 8
	var regs strings.Builder
	for _, c := range [][2]string{{"p", "pred"}, {"h", "b16"}, {"r", "b32"}, {"f", "f32"}, {"d", "b64"}, {"g", "f64"}} {
		fmt.Fprintf(&regs, "\t.reg .%s %%%s<%d>;\n", c[1], c[0], p.next+1)
	}
	body := "\t" + strings.ReplaceAll(strings.TrimSpace(p.b.String()), "\n", "\n\t") + "\n"
	return fmt.Sprintf(`// Written by generate_test.go; %[1]d CTAs of %[2]d threads, in clusters of %[3]d.
.version 8.3
.target sm_90a
.address_size 64

%[4]s
.visible .entry k(.param .u64 out)
{
	.reg .b32 %%t, %%i, %%n, %%m, %%lane;
	.reg .b64 %%out, %%own;
%[5]s	ld.param.u64 %%out, [out];
	mov.u32 %%n, %%ctaid.x; mov.u32 %%m, %%ntid.x; mov.u32 %%i, %%tid.x; mad.lo.u32 %%t, %%n, %%m, %%i;
	mov.u32 %%lane, %%laneid;
	mul.wide.u32 %%own, %%t, %[6]d; add.u64 %%out, %%out, %%own;
%[7]s	ret;
}
`, h.ctas, h.threads, h.cluster, strings.TrimSpace(h.decls)+"\n", regs.String(), bytes, body), bytes
}

func programs() map[string]*hardware {
	return map[string]*hardware{
		"warp":     {ctas: 1, threads: 64, cluster: 1, write: warpProgram},
		"scalar":   {ctas: 1, threads: 32, cluster: 1, write: scalarProgram},
		"parted":   {ctas: 1, threads: 64, cluster: 1, write: partedProgram},
		"memory":   {ctas: 1, threads: 64, cluster: 1, write: memoryProgram, decls: ".shared .align 64 .b8 s[4096];\n.global .align 64 .b8 g[4096];"},
		"atomics":  {ctas: 1, threads: 32, cluster: 1, write: atomicsProgram, decls: ".shared .align 64 .b8 s[2048];\n.global .align 64 .b8 g[2048];\n.shared .align 8 .b64 many[8];\n.global .align 8 .b64 gmany[8];"},
		"copies":   {ctas: 1, threads: 32, cluster: 1, write: copiesProgram, decls: ".shared .align 64 .b8 s[4096];\n.global .align 64 .b8 g[4096];"},
		"bulk":     {ctas: 1, threads: 32, cluster: 1, write: bulkProgram, decls: ".shared .align 64 .b8 s[4096];\n.shared .align 64 .b8 u[4096];\n.global .align 64 .b8 g[4096];\n.shared .align 8 .b64 bar;"},
		"matrix":   {ctas: 1, threads: 32, cluster: 1, write: matrixProgram, decls: ".shared .align 64 .b8 s[2048];"},
		"spaces":   {ctas: 2, threads: 32, cluster: 2, write: spacesProgram, decls: ".shared .align 64 .b8 s[200];\n.global .align 64 .b8 g[64];\n.const .align 64 .b8 c[64];"},
		"control":  {ctas: 1, threads: 96, cluster: 1, write: controlProgram, decls: controlDecls},
		"cluster":  {ctas: 4, threads: 32, cluster: 2, write: clusterProgram, decls: ".shared .align 64 .b8 s[4096];\n.shared .align 8 .b64 bar[2];\n.global .align 64 .b32 g[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};"},
		"mbarrier": {ctas: 1, threads: 1, cluster: 1, write: mbarrierProgram, decls: ".shared .align 8 .b64 bar[4];"},
	}
}
