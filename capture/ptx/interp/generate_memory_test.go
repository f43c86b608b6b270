package interp_test

import (
	"fmt"
	"strings"
)

// region is the memory of a thread's own that an instruction goes to.
type region struct {
	space string // of the instruction, with its dot
	base  string
}

// fill puts pseudo-random words into the thread's part of an array, and gives
// its address in the array's space.
func (p *program) fill(array, space string, words int) (base string) {
	base = p.reg("d")
	number := "%t"
	if space == "shared" {
		number = "%i" // in the CTA
	}
	p.line("mul.wide.u32 %s, %s, %d;", base, number, 4*words)
	if space != "local" {
		a := p.reg("d")
		p.line("mov.u64 %s, %s; add.u64 %s, %s, %s;", a, array, base, base, a)
	} else {
		p.line("mov.u64 %s, %s;", base, array)
	}
	for i := range words {
		p.line("st.%s.b32 [%s+%d], %s;", space, base, 4*i, p.value())
	}
	return base
}

// typeOf is a type of memory, with its size and a register for it.
func (p *program) typeOf(load bool) (typ string, size int, class string) {
	typ = p.pick("b8", "u8", "s8", "b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64")
	switch strings.TrimLeft(typ, "bsuf") {
	case "8":
		size, class = 1, p.pick("h", "r", "d")
	case "16":
		size, class = 2, p.pick("h", "r", "d")
	case "32":
		size, class = 4, p.pick("r", "d")
	default:
		size, class = 8, "d"
	}
	if typ[0] == 'f' {
		class = map[int]string{4: "f", 8: "g"}[size]
	}
	if typ[0] == 'b' && load && size < 8 { // nothing is said of what lies above
		class = map[int]string{1: "h", 2: "h", 4: "r"}[size]
	}
	return typ, size, class
}

// memoryProgram: loads and stores of every type and vector in every space.
func memoryProgram(p *program) {
	p.line(".local .align 64 .b8 l[64];")
	s, g, l := p.fill("s", "shared", 16), p.fill("g", "global", 16), p.fill("l", "local", 16)
	generic := func(space, base string) string {
		d := p.reg("d")
		p.line("cvta.%s.u64 %s, %s;", space, d, base)
		return d
	}
	regions := []region{
		{".shared", s}, {".global", g}, {".local", l},
		{"", generic("shared", s)}, {"", generic("global", g)}, {"", generic("local", l)},
		{".volatile.shared", s}, {".volatile.global", g}, {".relaxed.gpu.global", g},
	}
	for range 90 {
		r := regions[p.rng.IntN(len(regions))]
		load := p.rng.IntN(2) == 0
		typ, size, class := p.typeOf(load)
		n := []int{1, 1, 2, 4}[p.rng.IntN(4)]
		for n*size > 16 {
			n /= 2
		}
		at := n * size * p.rng.IntN(64/(n*size))
		var regs []string
		for range n {
			reg := p.reg(class)
			if !load {
				switch class {
				case "h":
					v := p.value()
					p.line("cvt.u16.u32 %s, %s;", reg, v)
				case "r":
					reg = p.value()
				case "f":
					p.line("mov.b32 %s, %s;", reg, p.value())
				case "g":
					p.line("mov.b64 %s, %s;", reg, p.wide())
				default:
					reg = p.wide()
				}
			}
			regs = append(regs, reg)
		}
		list, vec := regs[0], ""
		if n > 1 {
			list, vec = "{"+strings.Join(regs, ", ")+"}", fmt.Sprintf(".v%d", n)
		}
		if load {
			p.line("ld%s%s.%s %s, [%s+%d];", r.space, vec, typ, list, r.base, at)
			p.keep(regs...)
		} else {
			p.line("st%s%s.%s [%s+%d], %s;", r.space, vec, typ, r.base, at, list)
		}
	}
	for _, r := range regions[:3] {
		for i := range 8 {
			d := p.reg("d")
			p.line("ld%s.b64 %s, [%s+%d];", r.space, d, r.base, 8*i)
			p.keep(d)
		}
	}
}

// atomicsProgram: atom and red, of every thread on a word of its own, and of
// all on one.
func atomicsProgram(p *program) {
	s, g := p.fill("s", "shared", 16), p.fill("g", "global", 16)
	gs, gg := p.reg("d"), p.reg("d")
	p.line("cvta.shared.u64 %s, %s; cvta.global.u64 %s, %s;", gs, s, gg, g)
	regions := []region{{".shared", s}, {".global", g}, {"", gs}, {"", gg}, {".relaxed.gpu.global", g}, {".acq_rel.cta.shared", s}}
	for _, typ := range []string{"u32", "s32", "b32", "u64", "s64", "b64", "f32", "f64", "f16", "f16x2", "bf16", "bf16x2", "b16"} {
		ops, size, class := []string{"add.noftz"}, 4, "r"
		switch typ {
		case "u32":
			ops = []string{"add", "inc", "dec", "min", "max"}
		case "s32":
			ops = []string{"add", "min", "max"}
		case "b32":
			ops = []string{"and", "or", "xor", "exch", "cas"}
		case "u64":
			ops, size, class = []string{"add", "min", "max"}, 8, "d"
		case "s64":
			ops, size, class = []string{"min", "max"}, 8, "d"
		case "b64":
			ops, size, class = []string{"and", "or", "xor", "exch", "cas"}, 8, "d"
		case "f32":
			ops, class = []string{"add"}, "f"
		case "f64":
			ops, size, class = []string{"add"}, 8, "g"
		case "f16", "bf16":
			size, class = 2, "h"
		case "b16":
			ops, size, class = []string{"cas"}, 2, "h"
		}
		operand := func() string {
			o := p.reg(class)
			v := p.value()
			if class != "d" && class != "r" && p.rng.IntN(3) == 0 { // small numbers
				p.line("and.b32 %s, %s, 0x80ff80ff;", v, v)
			}
			switch class {
			case "h":
				p.line("cvt.u16.u32 %s, %s;", o, v)
			case "f", "r":
				p.line("mov.b32 %s, %s;", o, v)
			default:
				p.line("mov.b64 %s, {%s, %s};", o, p.value(), v)
			}
			return o
		}
		for range 6 {
			r, op := regions[p.rng.IntN(len(regions))], ops[p.rng.IntN(len(ops))]
			at := size * p.rng.IntN(64/size)
			bits := fmt.Sprintf("b%d", 8*size)
			plain := strings.TrimPrefix(strings.TrimPrefix(r.space, ".relaxed.gpu"), ".acq_rel.cta")
			was := p.reg(map[int]string{2: "h", 4: "r", 8: "d"}[size])
			p.line("ld%s.%s %s, [%s+%d];", plain, bits, was, r.base, at)
			operands := operand()
			if op == "cas" { // now and then with what is there
				if p.rng.IntN(2) == 0 {
					operands = was
				}
				operands += ", " + operand()
			}
			if op != "cas" && op != "exch" && p.rng.IntN(3) == 0 {
				p.line("red%s.%s.%s [%s+%d], %s;", strings.Replace(r.space, "acq_rel", "release", 1), op, typ, r.base, at, operands)
			} else {
				d := p.reg(class)
				p.line("atom%s.%s.%s %s, [%s+%d], %s;", r.space, op, typ, d, r.base, at, operands)
				p.keep(d)
			}
			is := p.reg(map[int]string{2: "h", 4: "r", 8: "d"}[size])
			p.line("ld%s.%s %s, [%s+%d];", plain, bits, is, r.base, at)
			p.keep(is)
		}
	}
	first := p.reg("p")
	p.line("setp.ne.u32 %s, %%t, 0;", first)
	for i := range 8 {
		p.line("@!%s st.shared.b64 [many+%d], 12;", first, 8*i)
	}
	p.line("bar.sync 0;")
	for i, op := range []string{"add.u32", "min.s32", "max.u32", "and.b32", "or.b32", "xor.b32", "inc.u32", "dec.u32"} {
		v := p.value()
		if op == "inc.u32" || op == "dec.u32" {
			v = "19"
		}
		p.line("red.shared.%s [many+%d], %s; red.global.%s [gmany+%d], %s;", op, 8*i, v, op, 8*i, v)
	}
	p.line("bar.sync 0;")
	for i := range 8 {
		d, e := p.reg("d"), p.reg("d")
		p.line("ld.shared.b64 %s, [many+%d]; ld.relaxed.gpu.global.b64 %s, [gmany+%d];", d, 8*i, e, 8*i)
		p.keep(d, e)
	}
}

// copiesProgram: cp.async in all sizes, with less to read than to write, and
// with nothing.
func copiesProgram(p *program) {
	s, g := p.fill("s", "shared", 32), p.fill("g", "global", 32)
	for range 3 {
		for i := range 8 {
			size := []int{4, 8, 16}[p.rng.IntN(3)]
			op := "cp.async.ca.shared.global"
			if size == 16 && p.rng.IntN(2) == 0 {
				op = "cp.async.cg.shared.global" + p.pick("", ".L2::64B", ".L2::128B", ".L2::256B")
			}
			to, from := 16*i+size*p.rng.IntN(16/size), size*p.rng.IntN(128/size)
			more := ""
			switch p.rng.IntN(4) {
			case 0:
				more = ", " + p.small(size+1)
			case 1:
				more = ", " + p.coin()
			case 2:
				more = fmt.Sprint(", ", p.rng.IntN(size+1))
			}
			p.line("%s [%s+%d], [%s+%d], %d%s;", op, s, to, g, from, size, more)
			if p.rng.IntN(3) == 0 {
				p.line("cp.async.commit_group;")
			}
		}
		p.line("cp.async.wait_all;")
		for i := range 16 {
			d := p.reg("d")
			p.line("ld.shared.b64 %s, [%s+%d];", d, s, 8*i)
			p.keep(d)
		}
	}
}

// spacesProgram: which space an address is in, whose it is, and what special
// registers say.
func spacesProgram(p *program) {
	p.line(".local .align 64 .b8 l[64];")
	peer, own := p.reg("r"), p.reg("r")
	p.line("mov.u32 %s, %%cluster_ctarank; xor.b32 %s, %s, 1;", own, peer, own)
	address := func(format string, args ...any) string {
		d := p.reg("d")
		p.line("%s", strings.ReplaceAll(fmt.Sprintf(format, args...), "?", d))
		return d
	}
	shared := address("cvta.shared.u64 ?, s;")
	addresses := []string{
		shared, address("mapa.u64 ?, %s, %s;", shared, own), address("mapa.u64 ?, %s, %s;", shared, peer),
		address("cvta.local.u64 ?, l;"), address("cvta.global.u64 ?, g;"), address("cvta.const.u64 ?, c;"),
		address("mov.u64 ?, out; cvta.param.u64 ?, ?;"),
	}
	for n, a := range addresses {
		for _, space := range []string{"global", "shared", "shared::cta", "shared::cluster", "local", "param", "const"} {
			q := p.reg("p")
			p.line("isspacep.%s %s, %s;", space, q, a)
			p.keep(q)
		}
		if n < 3 {
			r := p.reg("r")
			p.line("getctarank.u64 %s, %s;", r, a)
			p.keep(r)
		}
	}
	for _, space := range []struct{ name, variable string }{{"shared", "s"}, {"local", "l"}, {"global", "g"}, {"const", "c"}} {
		d, e, q := p.reg("d"), p.reg("d"), p.reg("p")
		p.line("mov.u64 %s, %s; cvta.%s.u64 %s, %s; cvta.to.%s.u64 %s, %s; setp.eq.u64 %s, %s, %s;", d, space.variable, space.name, e, d, space.name, e, e, q, d, e)
		p.keep(q)
	}
	narrow := p.reg("r")
	p.line("mov.u32 %s, s;", narrow)
	p.keep(narrow)
	for _, rank := range []string{own, peer} {
		r, k := p.reg("r"), p.reg("r")
		p.line("mapa.shared::cluster.u32 %s, %s, %s; getctarank.shared::cluster.u32 %s, %s;", r, narrow, rank, k, r)
		p.keep(k)
	}
	for _, name := range []string{
		"laneid", "warpid", "lanemask_eq", "lanemask_lt", "lanemask_le", "lanemask_gt", "lanemask_ge", "tid.x", "tid.w", "ntid.z", "ctaid.x", "nctaid.x",
		"clusterid.x", "nclusterid.x", "cluster_ctaid.x", "cluster_nctaid.x", "cluster_ctarank", "cluster_nctarank",
		"total_smem_size", "dynamic_smem_size", "aggr_smem_size", "reserved_smem_offset_begin", "reserved_smem_offset_end",
	} {
		r := p.reg("r")
		p.line("mov.u32 %s, %%%s;", r, name)
		p.keep(r)
	}
	q := p.reg("p")
	p.line("mov.pred %s, %%is_explicit_cluster;", q)
	p.keep(q)
}
