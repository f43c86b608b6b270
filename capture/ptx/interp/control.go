package interp

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"btrace/capture/emu"
	"btrace/capture/ptx"
	"btrace/trace"
)

// maxDepth bounds the calls that a lane is in.
const maxDepth = 4096

// branch is bra. Its target is known when the whole function is decoded.
func (l *lowering) branch() error {
	if err := l.want(1); err != nil {
		return err
	}
	n, ok := l.operand(0).(*ptx.Name)
	if !ok || n.Sym == nil || n.Sym.Kind != ptx.SymLabel {
		return errors.New("the target has to be a label")
	}
	l.in.target = 0
	return nil
}

// branchTable is brx.idx.
func (l *lowering) branchTable() error {
	if err := l.want(2); err != nil {
		return err
	}
	table, err := l.directive(1, "branchtargets")
	if err != nil {
		return err
	}
	l.in.a = l.src(0, u32)
	l.tables = append(l.tables, branchTable{at: int32(len(l.k.code)), to: table.Targets})
	return nil
}

// branchTable is a brx whose targets have yet to be found.
type branchTable struct {
	at int32
	to []*ptx.Name
}

// directive is the one that operand n names.
func (l *lowering) directive(n int, kind string) (*ptx.Directive, error) {
	if name, ok := l.operand(n).(*ptx.Name); ok && name.Sym != nil && name.Sym.Directive != nil && name.Sym.Directive.Name == kind {
		return name.Sym.Directive, nil
	}
	return nil, fmt.Errorf("the last operand has to be the label of a .%s", kind)
}

// linkTables gives every brx of a function its targets.
func (c *compiler) linkTables(fn *function, labels map[*ptx.Label]int32) {
	for _, t := range c.tables {
		in := &c.k.code[t.at]
		var targets []int32
		for _, n := range t.to {
			if n.Sym == nil || n.Sym.Label == nil {
				c.refuse(n.Pos, "%s is not a label", n.Name)
				continue
			}
			targets = append(targets, fn.start+labels[n.Sym.Label])
		}
		in.stop = func(x *warp, in *inst, m uint32) bool {
			idx := x.val(in.a)
			for k := m; k != 0; k &= k - 1 {
				i := bits.TrailingZeros32(k) & 31
				n := uint32(idx[i])
				if n >= uint32(len(targets)) {
					x.trap(in, i, trapInstruction, fmt.Sprintf("target %d of %d", n, len(targets)))
					return true
				}
				x.pc[i] = targets[n]
			}
			return true
		}
	}
	c.tables = nil
}

// argument is what a call passes or takes back: a variable of the caller's
// frame, or a register or constant.
type argument struct {
	frame bool
	at    int64
	size  int64
	slot  int32
}

// call is a call, by name or through a register.
func (l *lowering) call() error {
	ops := l.i.Operands
	var rets, args []argument
	var err error
	if len(ops) > 0 {
		if list, ok := ops[0].(*ptx.List); ok {
			if rets, err = l.arguments(list, true); err != nil {
				return err
			}
			ops = ops[1:]
		}
	}
	if len(ops) == 0 {
		return errors.New("it names no function")
	}
	target, ok := ops[0].(*ptx.Name)
	if !ok || target.Sym == nil {
		return errors.New("the target has to be a function or a register")
	}
	for _, o := range ops[1:] {
		if list, ok := o.(*ptx.List); ok {
			if args, err = l.arguments(list, false); err != nil {
				return err
			}
		}
	}
	if target.Sym.Kind == ptx.SymFunction {
		f := target.Sym.Function
		if def := l.m.Lookup(f.Name); def != nil {
			f = def
		}
		if f.Body == nil {
			return l.builtin(f.Name, rets)
		}
		if f.Entry {
			return errors.New("a kernel cannot be called")
		}
		fn := l.function(f)
		if err := fits(f, rets, args); err != nil {
			return err
		}
		l.fn.calls = append(l.fn.calls, fn)
		l.in.stop = func(x *warp, in *inst, m uint32) bool {
			for k := m; k != 0 && !x.faulted; k &= k - 1 {
				x.enter(in, bits.TrailingZeros32(k)&31, fn, rets, args)
			}
			return true
		}
		l.in.rets = rets
		return nil
	}
	if target.Sym.Kind != ptx.SymRegister {
		return errors.New("the target has to be a function or a register")
	}
	l.fn.indirect = true
	l.in.a, l.in.rets = l.name(target), rets
	l.in.stop = func(x *warp, in *inst, m uint32) bool {
		to := x.val(in.a)
		for k := m; k != 0 && !x.faulted; k &= k - 1 {
			i := bits.TrailingZeros32(k) & 31
			n := (to[i] - codeBase) / 16
			if to[i] < codeBase || n >= uint64(len(x.k.targets)) || x.k.targets[n].f.Entry {
				x.trap(in, i, trapInstruction, fmt.Sprintf("%#x is not the address of a function", to[i]))
				return true
			}
			fn := x.k.targets[n]
			if err := fits(fn.f, rets, args); err != nil {
				x.trap(in, i, trapInstruction, fmt.Sprintf("%s: %v", fn.f.Name, err))
				return true
			}
			x.enter(in, i, fn, rets, args)
		}
		return true
	}
	return nil
}

// fits reports whether a call passes what the function takes.
func fits(f *ptx.Function, rets, args []argument) error {
	switch {
	case len(args) != len(f.Params):
		return fmt.Errorf("it takes %d arguments, and is called with %d", len(f.Params), len(args))
	case len(rets) > len(f.Returns):
		return fmt.Errorf("it returns %d values, and is called for %d", len(f.Returns), len(rets))
	}
	return nil
}

func (l *lowering) arguments(list *ptx.List, rets bool) ([]argument, error) {
	var as []argument
	for _, o := range list.Elems {
		if n, ok := o.(*ptx.Name); ok && n.Sym != nil && n.Sym.Kind == ptx.SymVariable {
			v := n.Sym.Variable
			if sp, at := l.place(v); sp == local {
				as = append(as, argument{frame: true, at: int64(at), size: v.Size()})
				continue
			}
			return nil, fmt.Errorf("%s is not a parameter variable of this function", n.Name)
		}
		if rets {
			as = append(as, argument{slot: l.dstOf(o)})
		} else {
			as = append(as, argument{slot: l.srcOf(o, u64)})
		}
	}
	return as, nil
}

// enter has a lane call a function.
func (x *warp) enter(in *inst, lane int, fn *function, rets, args []argument) {
	base := x.top[lane]
	top := base + uint32(alignUp(fn.frame, 16))
	if len(x.calls[lane]) >= maxDepth || top > maxLocal {
		x.trap(in, lane, trapStack, fmt.Sprintf("%d calls deep, with %d bytes of local memory", len(x.calls[lane]), base))
		return
	}
	f := frame{call: in, pc: in.index + 1, fp: x.fp[lane], top: x.top[lane], fn: fn}
	x.top[lane] = top
	var from [][]byte
	for _, a := range args {
		b := make([]byte, 8)
		if a.frame {
			b, _ = x.find(lane, local, localBase+uint64(x.fp[lane])+uint64(a.at), uint64(a.size), false)
		} else {
			store(b, 8, x.val(a.slot)[lane])
		}
		from = append(from, b)
	}
	if fn.recursive {
		f.saved = make([]uint64, fn.regs[1]-fn.regs[0])
		for i := range f.saved {
			f.saved[i] = x.regs[int(fn.regs[0])+i][lane]
		}
		f.preds = make([]bool, fn.preds[1]-fn.preds[0])
		for i := range f.preds {
			f.preds[i] = x.preds[int(fn.preds[0])+i]>>lane&1 != 0
		}
	}
	x.fp[lane] = base
	for i, p := range fn.f.Params {
		x.pass(lane, fn, p, from[i])
	}
	x.calls[lane] = append(x.calls[lane], f)
	x.depth[lane]++
	x.pc[lane] = fn.start
}

// pass gives a formal parameter its value.
func (x *warp) pass(lane int, fn *function, p *ptx.Variable, from []byte) {
	if p.Space == "reg" {
		if slot, ok := fn.formals[p]; ok {
			x.regs[slot][lane] = load(append(from, make([]byte, 8)...), 8)
		}
		return
	}
	if to, _ := x.find(lane, local, localBase+uint64(x.fp[lane])+uint64(fn.vars[p]), uint64(p.Size()), true); to != nil {
		copy(to, from)
	}
}

// leave is ret: back to the caller, or the end of the kernel.
func leave(x *warp, in *inst, m uint32) bool {
	var gone uint32
	for k := m; k != 0; k &= k - 1 {
		i := bits.TrailingZeros32(k) & 31
		n := len(x.calls[i])
		if n == 0 {
			gone |= 1 << i
			continue
		}
		f := &x.calls[i][n-1]
		var out [][]byte
		for _, v := range f.fn.f.Returns[:len(f.call.rets)] {
			b := make([]byte, 8)
			if v.Space == "reg" {
				if slot, ok := f.fn.formals[v]; ok {
					store(b, 8, x.regs[slot][i])
				}
			} else if from, _ := x.find(i, local, localBase+uint64(x.fp[i])+uint64(f.fn.vars[v]), uint64(v.Size()), false); from != nil {
				b = append([]byte(nil), from...)
			}
			out = append(out, b)
		}
		for j, v := range f.saved {
			x.regs[int(f.fn.regs[0])+j][i] = v
		}
		for j, v := range f.preds {
			x.preds[int(f.fn.preds[0])+j] = x.preds[int(f.fn.preds[0])+j]&^(1<<i) | bit(v)<<i
		}
		x.fp[i], x.top[i], x.pc[i] = f.fp, f.top, f.pc
		x.depth[i]--
		for j, a := range f.call.rets {
			if !a.frame {
				x.regs[a.slot][i] = load(append(out[j], make([]byte, 8)...), 8)
			} else if to, _ := x.find(i, local, localBase+uint64(x.fp[i])+uint64(a.at), uint64(a.size), true); to != nil {
				copy(to, out[j])
			}
		}
		x.calls[i] = slices.Delete(x.calls[i], n-1, n)
	}
	if gone != 0 {
		x.exit(gone)
	}
	return true
}

func bit(v bool) uint32 {
	if v {
		return 1
	}
	return 0
}

// exit is the instruction, wherever the lanes are.
func exit(x *warp, _ *inst, m uint32) bool {
	x.exit(m)
	return true
}

func (x *warp) exit(lanes uint32) {
	for k := lanes; k != 0; k &= k - 1 {
		x.copies.finish(bits.TrailingZeros32(k) & 31)
	}
	x.stopAt(lanes, &emu.Op{Kind: trace.KindExit}, 0)
}

// builtin is a call of what the CUDA runtime brings along.
func (l *lowering) builtin(name string, rets []argument) error {
	switch name {
	case "vprintf":
		l.note("printf prints nothing")
		l.in.do = func(x *warp, _ *inst, m uint32) {
			for k := m; k != 0; k &= k - 1 {
				i := bits.TrailingZeros32(k) & 31
				for _, a := range rets {
					if b, _ := x.find(i, local, localBase+uint64(x.fp[i])+uint64(a.at), uint64(a.size), true); a.frame && b != nil {
						clear(b)
					}
				}
			}
		}
	case "__assertfail":
		l.in.do = func(x *warp, in *inst, m uint32) { x.trap(in, lowest(m), trapAssert, "an assertion failed") }
	default:
		return fmt.Errorf("%s is declared here and defined nowhere: link its PTX into this file", name)
	}
	return nil
}

// note says once that something is not what it would be on a GPU.
func (l *lowering) note(text string) {
	if !l.opaque[text] {
		l.opaque[text] = true
		l.k.Opaque = append(l.k.Opaque, Note{l.k.file, l.i.Pos, text})
	}
}

// opaqueOp is an instruction that leaves data as it is.
func (l *lowering) opaqueOp() error {
	l.note(l.i.Op + " does not compute: what it would write is not written")
	return l.nothing()
}
