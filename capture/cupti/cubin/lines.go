package cubin

import (
	"debug/elf"
	"errors"
	"fmt"
	"sort"
)

// A cubin's line table is a DWARF line number program (versions 2 to 5; section
// 6.2 of each standard) with two operations of NVIDIA's. There is no debug
// information beside it unless the code was compiled with -G, so debug/dwarf
// does not find it. Addresses are relocations: all functions begin at 0.
//
// NVIDIA's extended operation 0x90 has two ULEB128: the rows from here on are
// of a function that is inlined at the row of that number (counted from 1 in
// the sequence; 0: not inlined), and where its name stands in .debug_str.
// That is what nvdisasm -gi prints.
const opInlinedCall = 0x90

// The operations of a line number program.
const (
	opExtended = iota
	opCopy
	opAdvancePC
	opAdvanceLine
	opSetFile
	opSetColumn
	opNegateStmt
	opSetBlock
	opConstAddPC
	opFixedAdvancePC

	opEndSequence = 1
	opSetAddress  = 2
)

// place is where in the code an address of the line table is.
type place struct {
	section elf.SectionIndex
	offset  uint64
}

func (in *input) readLines(f *File) error {
	s := in.Section(".debug_line")
	if s == nil {
		return nil
	}
	b, err := in.data(s)
	if err != nil {
		return err
	}
	moved, err := in.relocations(s)
	if err != nil {
		return err
	}
	var texts names
	if s := in.Section(".debug_line_str"); s != nil {
		texts.line, _ = in.data(s)
	}
	if s := in.Section(".debug_str"); s != nil {
		texts.str, _ = in.data(s)
	}
	t := newTable(f)
	for at := 0; at < len(b); {
		u, next, err := readUnit(b, at, texts)
		if err == nil {
			err = u.run(t, moved)
		}
		if err != nil {
			return fmt.Errorf("the unit at offset %#x: %w", at, err)
		}
		at = next
	}
	for i := range f.Functions {
		rows := f.Functions[i].Lines
		sort.SliceStable(rows, func(i, j int) bool { return rows[i].PC < rows[j].PC })
	}
	return nil
}

// relocations finds what the addresses in a section stand for, by the offset
// of the address.
func (in *input) relocations(of *elf.Section) (map[uint64]place, error) {
	moved := make(map[uint64]place)
	for _, s := range in.Sections {
		size := 24
		switch {
		case s.Type == elf.SHT_REL:
			size = 16
		case s.Type != elf.SHT_RELA:
			continue
		}
		if int(s.Info) >= len(in.Sections) || in.Sections[s.Info] != of {
			continue
		}
		b, err := in.data(s)
		if err != nil {
			return nil, err
		}
		for ; len(b) >= size; b = b[size:] {
			symbol := int(le.Uint64(b[8:]) >> 32)
			if symbol < 1 || symbol > len(in.symbols) {
				return nil, fmt.Errorf("section %s: symbol %d of %d", s.Name, symbol, len(in.symbols))
			}
			sym := in.symbols[symbol-1]
			p := place{section: sym.Section, offset: sym.Value}
			if size == 24 {
				p.offset += le.Uint64(b[16:])
			}
			moved[le.Uint64(b)] = p
		}
	}
	return moved, nil
}

// table sorts the rows into the functions.
type table struct {
	file      *File
	bySection map[elf.SectionIndex][]int // ascending by start
	rows      int
}

func newTable(f *File) *table {
	t := &table{file: f, bySection: make(map[elf.SectionIndex][]int)}
	for i := range f.Functions {
		s := f.Functions[i].section
		t.bySection[s] = append(t.bySection[s], i)
	}
	for _, fns := range t.bySection {
		sort.SliceStable(fns, func(i, j int) bool { return f.Functions[fns[i]].start < f.Functions[fns[j]].start })
	}
	return t
}

// function is the one that an instruction is in, or nil.
func (t *table) function(s elf.SectionIndex, offset uint64) *Function {
	fns := t.bySection[s]
	i := sort.Search(len(fns), func(i int) bool { return t.file.Functions[fns[i]].start > offset })
	if i == 0 {
		return nil
	}
	if fn := &t.file.Functions[fns[i-1]]; offset-fn.start < fn.Size {
		return fn
	}
	return nil
}

// add gives a sequence's rows to the functions that they are in.
func (t *table) add(at place, rows []row, end uint64) error {
	if t.rows += len(rows); t.rows > maxRows {
		return fmt.Errorf("more than %d rows", maxRows)
	}
	var last *Function
	for _, r := range rows {
		if fn := t.function(at.section, at.offset+r.pc); fn != nil {
			fn.Lines = append(fn.Lines, Row{PC: at.offset + r.pc - fn.start, At: r.at, In: r.in})
			last = fn
		}
	}
	// After the end there is no line, until another sequence tells one.
	if last != nil && last == t.function(at.section, at.offset+end) {
		last.Lines = append(last.Lines, Row{PC: at.offset + end - last.start})
	}
	return nil
}

// row is a row of a sequence, its pc relative to the sequence's address.
type row struct {
	pc     uint64
	at, in Position
}

// run executes the program of a unit.
func (u *unit) run(t *table, moved map[uint64]place) error {
	r := u.program
	var (
		rows   []row
		base   place
		placed bool
		pc     uint64
		file   = uint64(1)
		line   = int64(1)
		caller int // number of the row that the next ones are inlined at
	)
	advance := func(n uint64) { pc += n * u.minInstruction }
	emit := func() {
		p := row{pc: pc}
		if line > 0 && line < 1<<31 {
			p.in = Position{File: u.file(file), Line: int(line)}
		}
		p.at = p.in
		if caller > 0 {
			p.at = rows[caller-1].at
		}
		if rows = append(rows, p); len(rows) > maxRows {
			r.fail(fmt.Errorf("more than %d rows in a sequence", maxRows))
		}
	}
	for len(r.b) > 0 && r.err == nil {
		switch op := r.u8(); {
		case op >= u.firstSpecial:
			op -= u.firstSpecial
			advance(uint64(op / u.lineRange))
			line += int64(u.lineBase) + int64(op%u.lineRange)
			emit()
		case op == opExtended:
			n := r.uleb()
			if n == 0 || n > uint64(len(r.b)) {
				return fmt.Errorf("an extended operation of %d bytes at offset %#x", n, r.at)
			}
			x := reader{b: r.b[:n], at: r.at}
			r.skip(int(n))
			switch x.u8() {
			case opEndSequence:
				if placed {
					if err := t.add(base, rows, pc); err != nil {
						return err
					}
				}
				rows, base, placed, pc, file, line, caller = nil, place{}, false, 0, 1, 1, 0
			case opSetAddress:
				base, placed = moved[uint64(x.at)]
				// Without a relocation the address says nothing.
				pc = 0
			case opInlinedCall:
				n := x.uleb()
				if x.err != nil || n > uint64(len(rows)) {
					return fmt.Errorf("an inlined call at row %d of %d, at offset %#x", n, len(rows), r.at)
				}
				caller = int(n)
			}
		case op == opCopy:
			emit()
		case op == opAdvancePC:
			advance(r.uleb())
		case op == opAdvanceLine:
			line += r.sleb()
		case op == opSetFile:
			file = r.uleb()
		case op == opNegateStmt, op == opSetBlock:
		case op == opConstAddPC:
			advance(uint64((255 - u.firstSpecial) / u.lineRange))
		case op == opFixedAdvancePC:
			pc += uint64(r.u16())
		default: // opSetColumn and those that later versions added
			for range u.lengths[op] {
				r.uleb()
			}
		}
	}
	return r.err
}

var errEnds = errors.New("it ends too soon")
