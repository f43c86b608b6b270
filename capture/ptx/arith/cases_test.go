package arith

import (
	"fmt"
	"strings"
)

// hardwareCase is an instruction that the H100 has done.
type hardwareCase struct {
	name   string
	ptx    string                               // puts the result into the register r16, r32 or r64
	width  int                                  // of that register
	approx bool                                 // the ISA bounds the error, it does not give the bits
	args   func(o operands, t uint64) [4]uint64 // of an approximation
	want   func(o operands, t uint64) uint64
}

// caseList collects cases.
type caseList []hardwareCase

// add adds an instruction: a name and what of its operands are immediate.
func (l *caseList) add(name string, immediate ...uint64) {
	parts := strings.Split(name, ".")
	op, err := Lookup(parts[0], parts[1:])
	if err != nil {
		panic(err)
	}
	c := hardwareCase{name: name, width: max(16, op.Dst.Bits())}
	if op.Dst.Bits() == 8 {
		c.width = 32
	}
	n := len(op.Src) - len(immediate)
	var regs []string
	var slots []slotOf
	for i := range n {
		s := slotFor(parts[0], op, i)
		slots = append(slots, s)
		regs = append(regs, s.register())
	}
	for _, v := range immediate {
		text := fmt.Sprint(v)
		if op.Dst == F32 {
			text = fmt.Sprintf("0f%08x", v)
		}
		regs = append(regs, text)
		c.name += " " + text
	}
	args := func(o operands, t uint64) (v [4]uint64) {
		for i, s := range slots {
			v[i] = s.value(o, t)
		}
		copy(v[n:], immediate)
		return v
	}
	sources := strings.Join(regs, ",")
	switch {
	case op.Carry != nil:
		l.addCarry(name, op, sources, args)
		return
	case op.TestHi != nil:
		c.width = 32
		c.ptx = fmt.Sprintf("%s q|q2,%s;\nselp.b32 r32,1,0,q;\nselp.b32 s32,2,0,q2;\nor.b32 r32,r32,s32;\n", name, sources)
		c.want = func(o operands, t uint64) uint64 {
			v := args(o, t)
			return bit(op.Test(v[0], v[1])) | bit(op.TestHi(v[0], v[1]))<<1
		}
	case op.Test != nil:
		c.width = 32
		c.ptx = fmt.Sprintf("%s q,%s;\nselp.b32 r32,1,0,q;\n", name, sources)
		c.want = func(o operands, t uint64) uint64 {
			v := args(o, t)
			return bit(op.Test(v[0], v[1]))
		}
	default:
		c.ptx = fmt.Sprintf("%s r%d,%s;\n", name, c.width, sources)
		c.approx = op.Dst.Float() && (strings.Contains(name, "approx") || strings.Contains(name, "div.full"))
		c.args = args
		c.want = func(o operands, t uint64) uint64 {
			v := args(o, t)
			return call(op, v[:]) & (^uint64(0) >> (64 - c.width))
		}
	}
	*l = append(*l, c)
}

// addCarry adds an instruction of the add.cc family: its result, and if it
// writes the flag, that.
func (l *caseList) addCarry(name string, op Op, sources string, args func(operands, uint64) [4]uint64) {
	w := op.Dst.Bits()
	// The flag is set by an addition or, for subtractions, a subtraction.
	set := "add.cc.u32 s32,cin,-1;\n"
	borrows := strings.HasPrefix(name, "sub")
	if borrows {
		set = "sub.cc.u32 s32,0,cin;\n"
	}
	result := hardwareCase{name: name, width: w, ptx: fmt.Sprintf("%s%s r%d,%s;\n", set, name, w, sources)}
	mask := ^uint64(0) >> (64 - w)
	result.want = func(o operands, t uint64) uint64 {
		v := args(o, t)
		d, _ := op.Carry(v[0], v[1], v[2], carryIn(t) != borrows)
		return d & mask
	}
	*l = append(*l, result)
	if !op.WritesCC {
		return
	}
	get := "addc.u32 r32,0,0;\n"
	if borrows {
		get = "subc.u32 r32,0,0;\nneg.s32 r32,r32;\n"
	}
	*l = append(*l, hardwareCase{name: name + " (flag)", width: 32,
		ptx: fmt.Sprintf("%s%s r%d,%s;\n%s", set, name, w, sources, get),
		want: func(o operands, t uint64) uint64 {
			v := args(o, t)
			_, carry := op.Carry(v[0], v[1], v[2], carryIn(t) != borrows)
			return bit(carry != borrows)
		}})
}

// mixedCarry adds a sum that reads the flag of a difference, and the other way
// round.
func (l *caseList) mixedCarry() {
	for _, m := range [][2]string{{"sub.cc", "addc"}, {"add.cc", "subc"}} {
		a, b := slotOf{'a', classes[2], 32}, slotOf{'b', classes[2], 32}
		op, _ := Lookup(m[0][:3], []string{"cc", "u32"})
		next, _ := Lookup(m[1], []string{"u32"})
		*l = append(*l, hardwareCase{name: m[0] + " " + m[1], width: 32,
			ptx: fmt.Sprintf("%s.u32 s32,%s,%s;\n%s.u32 r32,0,0;\n", m[0], a.register(), b.register(), m[1]),
			want: func(o operands, t uint64) uint64 {
				_, carry := op.Carry(a.value(o, t), b.value(o, t), 0, false)
				d, _ := next.Carry(0, 0, 0, carry)
				return d
			}})
	}
}

// slotOf is an operand register; with no class the predicate.
type slotOf struct {
	slot  byte
	class class
	bits  int // what of it the instruction reads
}

// slotFor chooses a source's register.
func slotFor(name string, op Op, i int) slotOf {
	t := op.Src[i]
	if t == Pred {
		return slotOf{}
	}
	s := slotOf{slot: "abcu"[i], bits: t.Bits()}
	if len(op.Src) == 1 {
		s.slot = 'u'
	}
	var c string
	switch t {
	case U8, S8, B8, U32, S32, B32:
		c = "i32"
	case U16, S16, B16, E4M3x2, E5M2x2:
		c = "i16"
	case U64, S64, B64:
		c = "i64"
	case U16x2, S16x2:
		c = "i16x2"
	default:
		c = t.String()
	}
	switch name {
	case "shl", "shr", "szext", "fns":
		if i > 0 {
			c = "n"
		}
	case "shf":
		if i == 2 {
			c = "n"
		}
	case "bfe", "bfi":
		if i >= len(op.Src)-2 {
			c = "n"
		}
	case "bmsk":
		c = "n"
	}
	for _, known := range classes {
		if known.name == c {
			s.class = known
		}
	}
	return s
}

func (s slotOf) register() string {
	if s.slot == 0 {
		return "p"
	}
	return register(s.slot, s.class.name)
}

// value is the operand of a thread, with something above the type's width.
func (s slotOf) value(o operands, t uint64) uint64 {
	if s.slot == 0 {
		return bit(predicate(t))
	}
	v := o.value(s.slot, s.class, t)
	if s.bits < 64 {
		v |= 0xdeadbeefcafef00d << s.bits
	}
	return v
}

// each adds an instruction for every combination of alternatives in braces:
// "add.{u16,s16}" is two; an alternative may be empty: "add{.rn,}.f32".
func (l *caseList) each(pattern string) {
	open := strings.IndexByte(pattern, '{')
	if open < 0 {
		l.add(pattern)
		return
	}
	end := open + strings.IndexByte(pattern[open:], '}')
	for _, alternative := range strings.Split(pattern[open+1:end], ",") {
		l.each(pattern[:open] + alternative + pattern[end+1:])
	}
}

// hardwareCases is all that is held to the H100.
func hardwareCases() []hardwareCase {
	var l caseList
	for _, p := range []string{
		// Integer Arithmetic Instructions
		"{add,sub}.{u16,u32,u64,s16,s32,s64}", "add.{u16x2,s16x2}", "{add,sub}.sat.s32",
		"mul.{lo,hi}.{u16,u32,u64,s16,s32,s64}", "mul.wide.{u16,u32,s16,s32}",
		"mad.{lo,hi}.{u16,u32,u64,s16,s32,s64}", "mad.wide.{u16,u32,s16,s32}", "mad.hi.sat.s32",
		"{mul24,mad24}.{lo,hi}.{u32,s32}", "mad24.hi.sat.s32",
		"{div,rem}.{u16,u32,u64,s16,s32,s64}", "sad.{u16,u32,u64,s16,s32,s64}",
		"{abs,neg}.{s16,s32,s64}",
		"{min,max}.{u16,u32,u64,u16x2,s16,s64,s16x2,s32,relu.s16x2,relu.s32}",
		"{popc,clz,brev}.{b32,b64}", "{bfind,bfind.shiftamt,bfe}.{u32,u64,s32,s64}", "bfi.{b32,b64}",
		"bmsk.{clamp,wrap}.b32", "szext.{clamp,wrap}.{u32,s32}", "fns.b32",
		"dp4a.{u32,s32}.{u32,s32}", "dp2a.{lo,hi}.{u32,s32}.{u32,s32}",
		// Extended-Precision Integer Arithmetic Instructions
		"{add.cc,addc,addc.cc,sub.cc,subc,subc.cc}.{u32,s32,u64,s64}",
		"{mad,madc}.{lo,hi}.cc.{u32,s32,u64,s64}", "madc.{lo,hi}.{u32,s32,u64,s64}",
		// Logic and Shift Instructions
		"{and,or,xor,not,cnot}.{b16,b32,b64}", "shl.{b16,b32,b64}",
		"shr.{b16,b32,b64,u16,u32,u64,s16,s32,s64}", "shf.{l,r}.{clamp,wrap}.b32",
		"prmt.b32{,.f4e,.b4e,.rc8,.ecl,.ecr,.rc16}",
		// Comparison and Selection Instructions
		"setp.{eq,ne}.{b16,b32,b64}", "setp.{eq,ne,lt,le,gt,ge}.{u16,u32,u64,s16,s32,s64}",
		"setp.{lo,ls,hi,hs}.{u16,u32,u64}",
		"setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}.{f32,ftz.f32,f64,f16,ftz.f16,f16x2,ftz.f16x2,bf16,bf16x2}",
		"set.{eq,ne}.{u32,s32,f32}.{b16,b32,b64}", "set.{lt,hs}.{u32,f32}.{u16,u32,u64}",
		"set.{ge,le}.{s32,f32}.{s16,s32,s64}", "set.{gt,leu,nan}.{u32,s32,f32,f16,bf16}.{f32,f64}",
		"set.{gt,ne}.{f16,bf16}.{s32,u64}", "set.{eq,ltu}.ftz.{u32,f32}.f32",
		"set.{ne,ltu}.{u16,s16,u32,s32,f16}.f16", "set.{ne,ltu}.{u16,s16,u32,s32,bf16}.bf16",
		"set.{eq,geu}.{f16x2,u32,s32}.f16x2", "set.{eq,geu}.{bf16x2,u32,s32}.bf16x2",
		"set.lt.{and,or,xor}.{u32,f32}.s32", "set.gtu.{and,or,xor}.s32.f32", "set.le.{and,or,xor}.{f16x2,u32}.f16x2",
		"selp.{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64}",
		"slct.{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64}.{s32,f32}", "slct.ftz.{u32,f32,f64}.f32",
		// Floating Point Instructions
		"testp.{finite,infinite,number,notanumber,normal,subnormal}.{f32,f64}", "copysign.{f32,f64}",
		"{add,sub,mul}{,.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32", "{add,sub,mul}{,.rn,.rz,.rm,.rp}.f64",
		"fma.{rn,rz,rm,rp}{,.ftz}{,.sat}.f32", "fma.{rn,rz,rm,rp}.f64", "mad.{rn,rp}{,.ftz.sat}.f32", "mad.{rn,rm}.f64",
		"div.{rn,rz,rm,rp}.{f32,ftz.f32,f64}", "{rcp,sqrt}.{rn,rz,rm,rp}.{f32,ftz.f32,f64}",
		"{abs,neg}.{f32,ftz.f32,f64}", "{min,max}{,.ftz}{,.NaN}{,.xorsign.abs}.f32", "{min,max}.f64",
		// Half Precision Floating Point Instructions
		"{add,sub,mul}{,.rn}{,.ftz}{,.sat}.{f16,f16x2}", "{add,sub,mul}{,.rn}.{bf16,bf16x2}",
		"fma.rn{,.ftz}{,.sat,.relu}.{f16,f16x2}", "fma.rn{,.relu}.{bf16,bf16x2}",
		"{abs,neg}.{f16,ftz.f16,f16x2,ftz.f16x2,bf16,bf16x2}",
		"{min,max}{,.ftz}{,.NaN}{,.xorsign.abs}.{f16,f16x2}", "{min,max}{,.NaN}{,.xorsign.abs}.{bf16,bf16x2}",
		// Data Movement and Conversion Instructions
		"cvt.{u8,u16,u32,u64,s8,s16,s32,s64}.{u8,u16,u32,u64,s8,s16,s32,s64}",
		"cvt.sat.{u8,u16,u32,u64}.{s8,s16,s32,s64}", "cvt.sat.{u8,s8}.{u16,u32,u64}", "cvt.sat.{u16,s16}.{u32,u64}",
		"cvt.sat.{u32,s32}.u64", "cvt.sat.s8.{u8,s16,s32,s64}", "cvt.sat.s16.{u16,s32,s64}", "cvt.sat.s32.{u32,s64}", "cvt.sat.s64.u64",
		"cvt.{rn,rz,rm,rp}.{f16,f32,f64}.{u8,s8}", "cvt.{rn,rz,rm,rp}.{f16,bf16,f32,f64}.{u16,u32,u64,s16,s32,s64}",
		"cvt.rn.sat.{f16,f32,f64}.{u32,s64}", "cvt.rn.ftz.f32.s32",
		"cvt.{rni,rzi,rmi,rpi}.{u8,s8}.{f16,f32,f64}", "cvt.{rni,rzi,rmi,rpi}.{u16,u32,u64,s16,s32,s64}.{f16,bf16,f32,f64}",
		"cvt.{rni,rzi,rmi,rpi}.ftz.{u8,u16,u32,u64,s8,s16,s32,s64}.f32",
		"cvt.rzi.sat.{u8,s16,s64}.f32",
		"cvt{,.sat}.{f32,f64}.f16", "cvt.ftz.f32.f16", "cvt{,.sat,.ftz,.ftz.sat}.f64.f32",
		"cvt.{f32,f64}.bf16",
		"cvt.{rn,rz,rm,rp}{,.sat}.f16.{f32,f64}", "cvt.{rn,rz}.ftz.f16.f32", "cvt.{rn,rz,rm,rp}{,.sat,.ftz,.ftz.sat}.f32.f64",
		"cvt.{rn,rz,rm,rp}.bf16.{f16,f32,f64}", "cvt.{rn,rz,rm,rp}.f16.bf16",
		"cvt{,.sat}.{f16.f16,f32.f32,f64.f64}", "cvt.ftz{,.sat}.f32.f32",
		"cvt.{rni,rzi,rmi,rpi}{,.sat}.{f16.f16,f32.f32,f64.f64}", "cvt.{rni,rzi,rmi,rpi}.ftz{,.sat}.f32.f32", "cvt.{rni,rzi,rmi,rpi}.bf16.bf16",
		"cvt.{rn,rz}{.relu,.satfinite,.relu.satfinite}.{f16,bf16}.f32", "cvt.{rn,rz}{,.relu}{,.satfinite}.{f16x2,bf16x2}.f32",
		"cvt.rna{,.satfinite}.tf32.f32", "cvt.{rn,rz}{,.relu}.tf32.f32",
		"cvt.rn.satfinite{,.relu}.{e4m3x2,e5m2x2}.{f32,f16x2}", "cvt.rn{,.relu}.f16x2.{e4m3x2,e5m2x2}",
		"cvt.pack.sat.{u16,s16}.s32", "cvt.pack.sat.{u2,s2,u4,s4,u8,s8}.s32.b32",
		// The approximations
		"div.{approx,full}{,.ftz}.f32", "{rcp,sqrt,rsqrt,sin,cos,lg2,ex2}.approx{,.ftz}.f32", "tanh.approx.f32",
		"{rcp,rsqrt}.approx.ftz.f64", "rsqrt.approx.f64",
		"{ex2,tanh}.approx.{f16,f16x2}", "ex2.approx.ftz.{bf16,bf16x2}", "tanh.approx.{bf16,bf16x2}",
	} {
		l.each(p)
	}
	for _, lut := range []uint64{0x00, 0xff, 0x80, 0xfe, 0x96, 0xe8, 0xca, 0x1b, 0xc0, 0x3c, 0xfc, 0x27} {
		l.add("lop3.b32", lut)
	}
	for _, p := range []string{"fma.rn.ftz.f32", "fma.rz.ftz.f32", "fma.rp.ftz.sat.f32"} {
		l.add(p, 0)
	}
	l.atomics()
	l.mixedCarry()
	return l
}

// atomics adds atom on memory of the thread's own.
func (l *caseList) atomics() {
	one := func(space, op, name, typ string) {
		t, _ := ParseType(typ)
		f, err := Atomic(op, typ)
		if err != nil {
			panic(err)
		}
		w := t.Bits()
		a := slotFor("atom", Op{Src: []Type{t, t, t}}, 0)
		b := slotFor("atom", Op{Src: []Type{t, t, t}}, 1)
		c := slotFor("atom", Op{Src: []Type{t, t, t}}, 2)
		cell := "cell"
		if space == "shared" {
			cell = "scell"
		}
		c0 := hardwareCase{name: fmt.Sprintf("atom.%s.%s.%s", space, name, typ), width: w}
		do := fmt.Sprintf("%s r%d,[%s],%s", c0.name, w, cell, b.register())
		if op == "cas" {
			do += "," + c.register()
		}
		store := fmt.Sprintf("st.volatile.%s.b%d [%s],%s;\n", space, w, cell, a.register())
		if op == "cas" {
			// Half of the threads compare with what is there.
			store = fmt.Sprintf("selp.b%d r%d,%s,%s,p;\nst.volatile.%s.b%d [%s],r%d;\n", w, w, a.register(), b.register(), space, w, cell, w)
		}
		if vector, ok := strings.CutPrefix(name, "v2:"); ok {
			c0.name = fmt.Sprintf("atom.%s.%s.noftz.v2.%s", space, vector, typ)
			// Two neighbours, of which the second is looked at.
			do = fmt.Sprintf("%s {r%d,r%d},[%s],{%s,%s}", c0.name, w, w, cell, b.register(), b.register())
			store += fmt.Sprintf("st.volatile.%s.b%d [%s+%d],%s;\n", space, w, cell, w/8, a.register())
			cell += fmt.Sprintf("+%d", w/8)
		}
		c0.ptx = fmt.Sprintf("%s%s;\nld.volatile.%s.b%d r%d,[%s];\n", store, do, space, w, w, cell)
		c0.want = func(o operands, t uint64) uint64 {
			old := a.value(o, t)
			if op == "cas" && !predicate(t) {
				old = b.value(o, t)
			}
			return f(old, b.value(o, t), c.value(o, t)) & (^uint64(0) >> (64 - w))
		}
		*l = append(*l, c0)
	}
	for _, space := range []string{"global", "shared"} {
		for _, typ := range []string{"u32", "s32", "u64", "s64"} {
			for _, op := range []string{"add", "min", "max"} {
				if op != "add" || typ != "s64" {
					one(space, op, op, typ)
				}
			}
		}
		one(space, "inc", "inc", "u32")
		one(space, "dec", "dec", "u32")
		for _, typ := range []string{"b32", "b64"} {
			for _, op := range []string{"and", "or", "xor", "exch", "cas"} {
				one(space, op, op, typ)
			}
		}
		one(space, "cas", "cas", "b16")
		for _, typ := range []string{"f16", "f16x2", "bf16", "bf16x2"} {
			one(space, "add", "add.noftz", typ)
		}
	}
	one("global", "add.global", "add", "f32")
	one("global", "add.global", "add", "f64")
	one("shared", "add", "add", "f32")
	one("shared", "add", "add", "f64")
	for _, typ := range []string{"f16", "f16x2", "bf16", "bf16x2"} {
		for _, op := range []string{"add", "min", "max"} {
			one("global", op, "v2:"+op, typ)
		}
	}
}
