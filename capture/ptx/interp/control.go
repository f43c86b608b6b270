package interp

import (
	"errors"
	"fmt"
	"math/bits"

	"btrace/capture/emu"
	"btrace/capture/ptx"
	"btrace/trace"
)

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
	name, ok := l.operand(1).(*ptx.Name)
	if !ok || name.Sym == nil || name.Sym.Directive == nil || name.Sym.Directive.Name != "branchtargets" {
		return errors.New("the last operand has to be the label of a .branchtargets")
	}
	l.in.a = l.src(0, u32)
	l.tables = append(l.tables, branchTable{int32(len(l.k.code)), name.Sym.Directive})
	return nil
}

// branchTable is a brx whose targets have yet to be found.
type branchTable struct {
	at int32 // the instruction
	of *ptx.Directive
}

// linkTables gives every brx of a function its targets.
func (c *compiler) linkTables(fn *function, labels map[*ptx.Label]int32) {
	linked := make(map[*ptx.Directive][]int32)
	for _, t := range c.tables {
		targets, ok := linked[t.of]
		if !ok {
			for _, n := range t.of.Targets {
				if n.Sym == nil || n.Sym.Label == nil {
					c.refuse(n.Pos, "%s is not a label", n.Name)
					continue
				}
				targets = append(targets, fn.start+labels[n.Sym.Label])
			}
			linked[t.of] = targets
		}
		c.k.code[t.at].stop = func(x *warp, in *inst, m uint32) bool {
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

// exit is the instruction, however deep in calls the lanes are.
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

// trap is an instruction that ends the launch.
func (l *lowering) trap(reason, detail string) error {
	l.in.do = func(x *warp, in *inst, m uint32) { x.trap(in, first(m), reason, detail) }
	return l.want(0)
}
