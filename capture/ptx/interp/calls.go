package interp

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"btrace/capture/ptx"
)

// maxDepth bounds the calls that a lane is in.
const maxDepth = 4096

// call is what a call instruction passes and takes back. Lanes call one by
// one: each has a stack of its own.
type call struct {
	rets, args []argument
}

// argument is what a call passes or takes back: a variable of the caller's
// frame, or a register or constant.
type argument struct {
	frame bool
	at    int64
	size  int64
	slot  int32
}

// frame is what a call leaves behind.
type frame struct {
	call *inst
	fn   *function // that was called
	fp   uint32    // of the caller
	top  uint32
}

// calls is call, by name or through a register.
func (l *lowering) calls() error {
	ops := l.i.Operands
	c := new(call)
	var err error
	if list, ok := l.operand(0).(*ptx.List); ok {
		if c.rets, err = l.arguments(list, l.dstOf); err != nil {
			return err
		}
		ops = ops[1:]
	}
	if len(ops) == 0 {
		return errors.New("it names no function")
	}
	for _, o := range ops[1:] { // a .callprototype or .calltargets may follow
		if list, ok := o.(*ptx.List); ok {
			if c.args, err = l.arguments(list, func(o ptx.Operand) int32 { return l.srcOf(o, u64) }); err != nil {
				return err
			}
		}
	}
	l.in.call = c
	target, ok := ops[0].(*ptx.Name)
	switch {
	case ok && target.Sym != nil && target.Sym.Kind == ptx.SymFunction:
		return l.callByName(target.Sym.Function)
	case ok && target.Sym != nil && target.Sym.Kind == ptx.SymRegister:
		l.fn.indirect = true
		l.in.a = l.name(target)
		l.in.stop = callPointer
		return nil
	}
	return errors.New("the target has to be a function or a register")
}

// arguments decodes the list of what a call passes or takes back.
func (l *lowering) arguments(list *ptx.List, one func(ptx.Operand) int32) ([]argument, error) {
	var as []argument
	for _, o := range list.Elems {
		if v := variableOf(o); v != nil && (v.Space == "param" || v.Space == "local") {
			sp, at := l.place(v)
			if sp != local {
				return nil, fmt.Errorf("%s is no variable of this call", v.Name)
			}
			as = append(as, argument{frame: true, at: int64(at), size: v.Size()})
			continue
		}
		as = append(as, argument{slot: one(o), size: 8})
	}
	return as, nil
}

func (l *lowering) callByName(f *ptx.Function) error {
	if def := l.m.Lookup(f.Name); def != nil {
		f = def
	}
	switch {
	case f.Body == nil:
		return l.builtin(f.Name)
	case f.Entry:
		return errors.New("a kernel cannot be called")
	}
	if err := l.in.call.fits(f); err != nil {
		return err
	}
	fn := l.function(f)
	l.fn.calls = append(l.fn.calls, fn)
	l.in.stop = func(x *warp, in *inst, m uint32) bool {
		for k := m; k != 0 && !x.faulted; k &= k - 1 {
			x.enter(in, bits.TrailingZeros32(k)&31, fn)
		}
		return true
	}
	return nil
}

// callPointer calls the function whose pointer a register holds.
func callPointer(x *warp, in *inst, m uint32) bool {
	to := x.val(in.a)
	for k := m; k != 0 && !x.faulted; k &= k - 1 {
		i := bits.TrailingZeros32(k) & 31
		n := (to[i] - codeBase) / codeStep
		if to[i]%codeStep != 0 || n >= uint64(len(x.k.targets)) || !x.k.targets[n].pointed || x.k.targets[n].f.Entry {
			x.trap(in, i, trapInstruction, fmt.Sprintf("%#x is not the address of a function", to[i]))
			return true
		}
		fn := x.k.targets[n]
		if err := in.call.fits(fn.f); err != nil {
			x.trap(in, i, trapInstruction, fmt.Sprintf("%s: %v", fn.f.Name, err))
			return true
		}
		x.enter(in, i, fn)
	}
	return true
}

// fits reports whether a call passes what the function takes.
func (c *call) fits(f *ptx.Function) error {
	switch {
	case len(c.args) != len(f.Params):
		return fmt.Errorf("it takes %d arguments, and is called with %d", len(f.Params), len(c.args))
	case len(c.rets) > len(f.Returns):
		return fmt.Errorf("it returns %d values, and is called for %d", len(f.Returns), len(c.rets))
	}
	return nil
}

// findRecursion finds the functions that may call themselves: their registers
// are saved at a call. What is left when functions that call none of the rest
// are taken away again and again, or are called by none of the rest, is those
// and what lies between them.
func (c *compiler) findRecursion() {
	pointers := &function{} // whoever calls a pointer may call any of these
	all := append(slices.Clone(c.k.targets), pointers)
	for _, fn := range c.k.targets {
		if fn.pointed && !fn.f.Entry {
			pointers.calls = append(pointers.calls, fn)
		}
		if fn.indirect {
			fn.calls = append(fn.calls, pointers)
		}
	}
	callers := make(map[*function][]*function)
	for _, fn := range all {
		fn.recursive = true
		for _, g := range fn.calls {
			callers[g] = append(callers[g], fn)
		}
	}
	callees := func(fn *function) []*function { return fn.calls }
	peel(all, callees, func(fn *function) []*function { return callers[fn] })
	peel(all, func(fn *function) []*function { return callers[fn] }, callees)
}

// peel takes away what has no next among the rest, until there is none.
func peel(all []*function, next, prev func(*function) []*function) {
	left := make(map[*function]int) // of next
	var ends []*function
	for _, fn := range all {
		if !fn.recursive {
			continue
		}
		for _, g := range next(fn) {
			if g.recursive {
				left[fn]++
			}
		}
		if left[fn] == 0 {
			ends = append(ends, fn)
		}
	}
	for len(ends) > 0 {
		fn := ends[len(ends)-1]
		ends = ends[:len(ends)-1]
		fn.recursive = false
		for _, g := range prev(fn) {
			if left[g]--; left[g] == 0 && g.recursive {
				ends = append(ends, g)
			}
		}
	}
}

// enter has a lane call a function.
func (x *warp) enter(in *inst, lane int, fn *function) {
	size := fn.frame
	if fn.recursive { // what is saved takes space on the stack, too
		size += int64(8 * fn.saved())
	}
	base := uint32(alignUp(int64(x.top[lane]), fn.align))
	top := base + uint32(alignUp(size, leastAlign))
	if len(x.calls[lane]) >= maxDepth || top > maxLocal {
		x.trap(in, lane, trapStack, fmt.Sprintf("%d calls deep, with %d bytes of local memory", len(x.calls[lane]), base))
		return
	}
	passed := x.passed[:0]
	for n, a := range in.call.args {
		passed = x.fetch(passed, lane, a, fn.f.Params[n].Size())
	}
	x.passed = passed
	x.calls[lane] = append(x.calls[lane], frame{call: in, fn: fn, fp: x.fp[lane], top: x.top[lane]})
	if fn.recursive {
		x.save(lane, fn)
	}
	x.fp[lane], x.top[lane] = base, top
	for _, p := range fn.f.Params {
		n := p.Size()
		x.give(lane, fn.formal(p), passed[:n])
		passed = passed[n:]
	}
	x.depth[lane]++
	x.pc[lane] = fn.start
}

// formal is a parameter or return value of the function as it sees it.
func (fn *function) formal(v *ptx.Variable) argument {
	if v.Space != "reg" {
		return argument{frame: true, at: fn.vars[v], size: v.Size()}
	}
	if slot, ok := fn.formals[v]; ok {
		return argument{slot: slot, size: 8}
	}
	return argument{frame: true} // it uses it nowhere
}

// fetch appends n bytes of a value: of the lane's frame, or of a register.
func (x *warp) fetch(to []byte, lane int, a argument, n int64) []byte {
	var b []byte
	var word [8]byte
	if a.frame {
		b = x.frameBytes(lane, a)
	} else {
		store(word[:], 8, x.val(a.slot)[lane])
		b = word[:]
	}
	to = append(to, b[:min(int64(len(b)), n)]...)
	return append(to, make([]byte, max(n-int64(len(b)), 0))...)
}

// give writes a value to the lane's frame, or to a register.
func (x *warp) give(lane int, a argument, value []byte) {
	if a.frame {
		copy(x.frameBytes(lane, a), value)
		return
	}
	var word [8]byte
	copy(word[:], value)
	x.regs[a.slot][lane] = load(word[:], 8)
}

// frameBytes is a variable in a lane's frame.
func (x *warp) frameBytes(lane int, a argument) []byte {
	if a.size == 0 {
		return nil
	}
	b, _ := x.find(lane, local, localBase+uint64(x.fp[lane])+uint64(a.at), uint64(a.size), true)
	return b
}

// saved is how many words save puts away.
func (fn *function) saved() int {
	return int(fn.regs[1]-fn.regs[0]) + int(fn.preds[1]-fn.preds[0])
}

// save puts away a lane's registers of a function that may call itself.
func (x *warp) save(lane int, fn *function) {
	for r := fn.regs[0]; r < fn.regs[1]; r++ {
		x.saved[lane] = append(x.saved[lane], x.regs[r][lane])
	}
	for p := fn.preds[0]; p < fn.preds[1]; p++ {
		x.saved[lane] = append(x.saved[lane], uint64(x.preds[p]>>lane&1))
	}
}

// restore brings them back.
func (x *warp) restore(lane int, fn *function) {
	n := len(x.saved[lane]) - fn.saved()
	words := x.saved[lane][n:]
	x.saved[lane] = x.saved[lane][:n]
	for r := fn.regs[0]; r < fn.regs[1]; r++ {
		x.regs[r][lane], words = words[0], words[1:]
	}
	for p := fn.preds[0]; p < fn.preds[1]; p++ {
		x.setPred(p, 1<<lane, uint32(words[0])<<lane)
		words = words[1:]
	}
}

// leave is ret: back to the caller, or the end of the kernel.
func leave(x *warp, in *inst, m uint32) bool {
	var gone uint32
	for k := m; k != 0; k &= k - 1 {
		i := bits.TrailingZeros32(k) & 31
		n := len(x.calls[i]) - 1
		if n < 0 {
			gone |= 1 << i
			continue
		}
		f := x.calls[i][n]
		x.calls[i] = x.calls[i][:n]
		passed := x.passed[:0]
		rets := f.call.call.rets
		for j, a := range rets {
			passed = x.fetch(passed, i, f.fn.formal(f.fn.f.Returns[j]), a.size)
		}
		x.passed = passed
		if f.fn.recursive {
			x.restore(i, f.fn)
		}
		x.fp[i], x.top[i], x.pc[i] = f.fp, f.top, f.call.index+1
		x.depth[i]--
		for _, a := range rets {
			x.give(i, a, passed[:a.size])
			passed = passed[a.size:]
		}
	}
	if gone != 0 {
		x.exit(gone)
	}
	return true
}
