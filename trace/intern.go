package trace

import (
	"fmt"
	"math/bits"
	"strings"
)

// opTable numbers the distinct operations that a writer has buffered.
type opTable struct {
	slots []uint32 // index into ops, plus 1
	ops   []Op
	text  int // bytes of their texts
}

func (t *opTable) reset() {
	if t.slots == nil {
		t.slots = make([]uint32, 4*maxTemplates)
	}
	clear(t.slots)
	clear(t.ops)
	t.ops, t.text = t.ops[:0], 0
}

// add returns the number of an operation. A new one is checked first.
func (t *opTable) add(o *Op) (uint32, error) {
	mask := uint64(len(t.slots) - 1)
	i := o.hash() & mask
	for {
		at := t.slots[i]
		if at == 0 {
			return t.insert(i, o)
		}
		if t.ops[at-1].same(o) {
			return at - 1, nil
		}
		i = (i + 1) & mask
	}
}

func (t *opTable) insert(slot uint64, o *Op) (uint32, error) {
	if err := o.check(); err != nil {
		return 0, err
	}
	c := *o
	c.Group, c.File = strings.Clone(o.Group), strings.Clone(o.File)
	c.Text, c.Name = strings.Clone(o.Text), strings.Clone(o.Name)
	t.text += len(c.Group) + len(c.File) + len(c.Text) + len(c.Name)
	t.ops = append(t.ops, c)
	t.slots[slot] = uint32(len(t.ops))
	return uint32(len(t.ops)) - 1, nil
}

// hash spreads operations over the table.
func (o *Op) hash() uint64 {
	a := uint64(o.Kind) | uint64(o.Has)<<8 | uint64(o.Parity)<<40 | uint64(o.Red)<<48 | uint64(o.Sem)<<56
	b := uint64(o.Lanes) | uint64(o.Line)<<32
	c := o.Addr ^ bits.RotateLeft64(o.PC, 32) ^ bits.RotateLeft64(o.Lost, 17)
	d := uint64(o.Count) | uint64(o.Bar)<<32
	d ^= bits.RotateLeft64(uint64(o.Bytes), 16) ^ bits.RotateLeft64(uint64(o.Owner)|uint64(o.CTAMask)<<32, 7) ^ uint64(o.Mask)<<40
	h := fold(fold(a^0x9E3779B97F4A7C15, b^0xD6E8FEB86659FD93)^c, d^0xA0761D6478BD642F)
	if len(o.Group)|len(o.File)|len(o.Text)|len(o.Name) != 0 {
		for _, s := range [...]string{o.Group, o.File, o.Text, o.Name} {
			h = fold(h^nameHash(s), 0x589965CC75374CC3)
		}
	}
	return h
}

// same is ==, for operations that are mostly the same and have no texts.
func (o *Op) same(p *Op) bool {
	return o.Kind == p.Kind && o.Has == p.Has && o.Lanes == p.Lanes && o.Line == p.Line && o.Addr == p.Addr &&
		o.PC == p.PC && o.Bar == p.Bar && o.Count == p.Count && o.Bytes == p.Bytes && o.Parity == p.Parity &&
		o.Sem == p.Sem && o.Aligned == p.Aligned && o.Owner == p.Owner && o.CTAMask == p.CTAMask && o.Mask == p.Mask &&
		o.Lost == p.Lost && o.Red == p.Red && o.NoInc == p.NoInc && o.Implied == p.Implied &&
		len(o.Group) == len(p.Group) && len(o.File) == len(p.File) && len(o.Text) == len(p.Text) && len(o.Name) == len(p.Name) &&
		(len(o.Group)+len(o.File)+len(o.Text)+len(o.Name) == 0 || *o == *p)
}

func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// textTable numbers distinct texts.
type textTable struct {
	numbers map[string]uint32
	texts   []string
	text    int
}

func (t *textTable) reset() {
	clear(t.numbers)
	clear(t.texts)
	t.texts, t.text = t.texts[:0], 0
}

// add returns the number of an event's unknown keys.
func (t *textTable) add(s string) (uint32, error) {
	if n, ok := t.numbers[s]; ok {
		return n, nil
	}
	if len(s) > MaxLine || !validExtra([]byte(s)) {
		return 0, fmt.Errorf("its extra keys are not the inside of a JSON object of at most %d bytes", MaxLine)
	}
	if t.numbers == nil {
		t.numbers = map[string]uint32{}
	}
	s = strings.Clone(s)
	n := uint32(len(t.texts))
	t.numbers[s] = n
	t.texts = append(t.texts, s)
	t.text += len(s)
	return n, nil
}
