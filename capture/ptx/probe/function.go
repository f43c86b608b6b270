package probe

import (
	"fmt"
	"strings"

	"btrace/capture/ptx"
	"btrace/capture/ptx/interp"
	"btrace/trace"
)

// rewrite puts probes into the function.
func (fn *function) rewrite() {
	fn.limit()
	fn.runs = make(map[*ptx.Instruction]runPart)
	fn.findRuns(fn.f.Body)
	fn.enter()
	n := 0
	fn.block(fn.f.Body, &n)
}

// How often code is executed can be said from this version on.
const frequencyVersion = 9

// limit gives a kernel the most registers that it may have, and notes how to
// say that code is rare. A kernel that changes its number of registers, or has
// asynchronous instructions work on them, is left as it is.
func (fn *function) limit() {
	if !fn.f.Entry || fn.m.Version[0] < frequencyVersion || fn.registers == nil {
		return
	}
	for g := range fn.reach(fn) {
		if g.setMax || g.wgmma {
			return
		}
	}
	limited := false
	for _, d := range fn.f.Directives {
		switch d.Name {
		case "maxnreg", "minnctapersm", "maxnctapersm":
			limited = true
		}
	}
	if !limited {
		n := fn.registers(fn.f.Name)
		if n == 0 {
			return
		}
		open, _ := fn.f.Body.Span()
		fn.edits.InsertBefore(open, fmt.Sprintf(".maxnreg %d\n", n))
	}
	fn.rare = "\n\t.pragma \"frequency 1\";"
}

// enter puts the declarations at the beginning of the body, and what a thread
// does first in front of its first instruction or label.
func (fn *function) enter() {
	body := fn.f.Body
	open, end := body.Span()
	fn.edits.InsertAfter(open, "\n"+strings.TrimSuffix(registers, "\n"))
	for _, s := range body.Statements {
		if _, ok := s.(*ptx.Variable); !ok {
			end, _ = s.Span()
			break
		}
	}
	p := &probe{function: fn}
	fn.at = body
	p.off()
	p.emit("mov.u32 %%bt_l, %%lanemask_lt;")
	p.emit("mov.b64 %%bt_w, %#x;", uint64(none))
	if fn.waits {
		p.emit("setp.ne.u32 %%bt_s, 0, 0;")
	}
	if fn.tests {
		p.emit("mov.b64 %%bt_f, 0;")
	}
	fn.edits.InsertBefore(end, strings.Join(p.lines, "\n\t")+"\n\t")
	p.lines = nil
	if fn.f.Entry {
		p.clock("%bt_c")
		p.lanes("")
		p.leader("")
		p.record(fn.site(fn.op(fn.begin, uint32(fn.f.Pos.Line), trace.KindEnter), 0, 1), "")
	}
	p.before(end)
}

// block puts probes into a block. next counts the instructions.
func (fn *function) block(b *ptx.Block, next *int) {
	falls := true // its end can be reached
	for _, s := range b.Statements {
		fn.at = b
		switch s := s.(type) {
		case *ptx.Block:
			fn.block(s, next)
			falls = true
		case *ptx.Label:
			falls = true
		case *ptx.Instruction:
			i := fn.code[*next]
			*next++
			fn.instruction(i)
			falls = s.Guard != nil || !leaves(s)
		}
	}
	_, end := b.Span()
	if m, ok := fn.marks[b]; ok {
		fn.at = b
		p := &probe{function: fn}
		p.mark(m)
		p.before(end)
	}
	whole := b == fn.f.Body
	if whole && falls {
		fn.at = b
		p := &probe{function: fn}
		last := fn.begin
		last.Instruction = &ptx.Instruction{Op: "ret", Pos: fn.f.Pos}
		if n := len(fn.code); n > 0 {
			last = fn.code[n-1]
		}
		p.leave(last, fn.f.Entry)
		p.before(end)
		fn.edits.InsertBefore(end, "ret;\n\t")
		falls = false
	}
	cold := fn.cold[b]
	if cold == nil {
		return
	}
	text := cold.String()
	if falls {
		fn.labels++
		fn.edits.InsertBefore(end, fmt.Sprintf("bra $bt_E%d;\n\t", fn.labels))
		text += fmt.Sprintf("$bt_E%d:\n\t", fn.labels)
	}
	fn.edits.InsertBefore(end, "\n"+text)
}

// leaves reports whether an instruction without a predicate never goes on to
// the next.
func leaves(i *ptx.Instruction) bool {
	switch i.Op {
	case "bra", "brx", "ret", "exit":
		return true
	}
	return false
}

// op is the operation of an event at an instruction.
func (fn *function) op(i interp.Instruction, pc uint32, kind trace.Kind) trace.Op {
	o := trace.Op{Kind: kind, PC: uint64(pc), File: i.File, Line: i.Line}
	if o.File == "" {
		o.File, o.Line = baseName(fn.m.File), pc
	}
	o.Has = o.Has.With(trace.FieldPC, trace.FieldLine)
	if o.File != "" {
		o.Has = o.Has.With(trace.FieldFile)
	}
	return o
}

func baseName(file string) string { return file[strings.LastIndexByte(file, '/')+1:] }

// opAt is op for an instruction of the PTX.
func (fn *function) opAt(i interp.Instruction, kind trace.Kind) trace.Op {
	return fn.op(i, uint32(i.Pos.Line), kind)
}

// instruction puts the probes of an instruction around it.
func (fn *function) instruction(i interp.Instruction) {
	kind := classify(i.Instruction)
	if kind == opNone {
		return
	}
	p := &probe{function: fn}
	p.keepGuard(i.Guard)
	switch kind {
	case opRet, opExit:
		p.leave(i, fn.f.Entry || kind == opExit)
		first, _ := i.Span()
		p.before(first)
	case opTrap:
		p.trap(i)
	case opBar:
		p.bar(i)
	case opSyncwarp:
		p.syncwarp(i)
	case opCluster:
		p.cluster(i)
	case opMbar:
		p.mbar(i)
	case opArrive:
		p.arrive(i)
	case opTest:
		p.test(i)
	case opCopy:
		p.copy(i)
	case opCpAsyncArrive:
		p.cpAsyncArrive(i)
	case opCommit:
		p.commit(i)
	}
	if fn.tests && kind != opTest {
		p.emitFor(p.guard, "mov.b64 %%bt_f, 0;")
	}
	_, last := i.Span()
	p.behind(last)
}

// leave puts in front of an instruction by which lanes leave the function, or
// the kernel, that they do.
func (p *probe) leave(i interp.Instruction, kernel bool) {
	p.clock("%bt_c")
	if kernel {
		p.lanes(p.guard)
		p.leader(p.guard)
		p.record(p.site(p.opAt(i, trace.KindExit), 0, 1), "")
	}
	p.close()
}

// trapReason is what an emulator's recording of the instruction says.
const trapReason = "illegal instruction"

// trap puts in front of a trap that lanes come to it, and waits until the
// record is out.
func (p *probe) trap(i interp.Instruction) {
	p.clock("%bt_c")
	p.lanes(p.guard)
	p.leader(p.guard)
	op := p.opAt(i, trace.KindTrap)
	op.Text = trapReason
	if i.Op == "brkpt" {
		op.Text = "breakpoint"
	}
	p.record(p.site(op, 0, 1, trace.FieldReason), "")
	p.emitFor(p.guard, "membar.sys;")
	first, _ := i.Span()
	p.before(first)
}
