package cubin

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"sort"
	"strings"
)

var le = binary.LittleEndian

// File is what is known of a cubin.
type File struct {
	// Relocatable is code that is linked before it runs.
	Relocatable bool
	Functions   []Function // in the order of the symbol table
}

// Function is a kernel, or a function that kernels call.
type Function struct {
	Name      string // as in the symbol table: mangled
	Kernel    bool
	Size      uint64 // bytes of its code
	Registers int    // of a thread; 0: not told
	Frame     int    // bytes of local memory that its own frame takes (spills too)
	Stack     int    // bytes of local memory, with the functions that it calls
	Shared    int    // bytes of shared memory that are known at compile time
	// Lines is the line table: ascending by PC, the last of equal ones holds.
	Lines []Row

	section elf.SectionIndex
	start   uint64 // in its section
}

// Row is a row of a line table: from here to the next row the instructions
// come of these lines.
type Row struct {
	PC uint64 // offset in the function
	// At is the line in the function itself: where code of another function
	// was inlined, the line of the (outermost) call.
	At Position
	// In is the line that the instruction was written in.
	In Position
}

// Position is a line of a source file. A row without one has Line 0.
type Position struct {
	File string
	Line int
}

// Position is the row of an instruction, by its offset in the function.
func (f *Function) Position(pc uint64) (Row, bool) {
	i := sort.Search(len(f.Lines), func(i int) bool { return f.Lines[i].PC > pc })
	if i == 0 || pc >= f.Size || f.Lines[i-1].At.Line == 0 {
		return Row{}, false
	}
	return f.Lines[i-1], true
}

// Function finds a function by its name, or is nil.
func (f *File) Function(name string) *Function {
	for i := range f.Functions {
		if f.Functions[i].Name == name {
			return &f.Functions[i]
		}
	}
	return nil
}

// symEntry is the bit of a symbol's st_other that makes it a kernel
// (STO_CUDA_ENTRY).
const symEntry = 0x10

// What a file may have: more than was seen in any library, and little enough
// to be held in memory.
const (
	MaxImage     = 256 << 20 // bytes
	maxFunctions = 1 << 16
	maxTable     = 64 << 20 // bytes of a table of symbols or of relocations
	maxRows      = 1 << 22  // of line tables
)

// Read reads a cubin. What it cannot make sense of besides the functions (the
// line table, .nv.info) is left out, and its error is in the second result,
// together with what could be read.
func Read(image []byte) (*File, error) {
	in, err := open(image)
	if err != nil {
		return nil, fmt.Errorf("reading a cubin of %d bytes: %w", len(image), err)
	}
	f := &File{Relocatable: in.Type == elf.ET_REL}
	for i, s := range in.symbols {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || int(s.Section) >= len(in.Sections) {
			continue
		}
		if len(f.Functions) == maxFunctions {
			return nil, fmt.Errorf("reading a cubin: it has more than %d functions", maxFunctions)
		}
		in.functions[i] = len(f.Functions)
		f.Functions = append(f.Functions, Function{
			Name: s.Name, Kernel: s.Other&symEntry != 0, Size: s.Size, section: s.Section, start: s.Value,
		})
	}
	in.readInfo(f)
	if err := in.readLines(f); err != nil {
		return f, fmt.Errorf("reading the line table of a cubin: %w", err)
	}
	return f, nil
}

// input is the file as it is read.
type input struct {
	*elf.File
	image     []byte
	symbols   []elf.Symbol
	functions map[int]int // index of a symbol to that of the function
}

func open(image []byte) (*input, error) {
	const machineCUDA = 190
	if len(image) > MaxImage {
		return nil, fmt.Errorf("at most %d are read", MaxImage)
	}
	f, err := ELF(image)
	if err != nil {
		return nil, err
	}
	if f.Machine != machineCUDA || f.Class != elf.ELFCLASS64 || f.Data != elf.ELFDATA2LSB {
		return nil, fmt.Errorf("an ELF file for machine %d, of class %v: want one for CUDA, of 64 bits", f.Machine, f.Class)
	}
	in := &input{File: f, image: image, functions: make(map[int]int)}
	for _, s := range f.Sections {
		// No cubin has them, and they could be of any size.
		if s.Flags&elf.SHF_COMPRESSED != 0 {
			return nil, fmt.Errorf("section %s is compressed", s.Name)
		}
		if (s.Type == elf.SHT_SYMTAB || s.Type == elf.SHT_REL || s.Type == elf.SHT_RELA) && s.Size > maxTable {
			return nil, fmt.Errorf("section %s has %d bytes: at most %d are read", s.Name, s.Size, maxTable)
		}
	}
	if in.symbols, err = f.Symbols(); err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return nil, err
	}
	return in, nil
}

// data is the bytes of a section in the file.
func (in *input) data(s *elf.Section) ([]byte, error) {
	n := uint64(len(in.image))
	if s.Type == elf.SHT_NOBITS || s.Offset > n || s.FileSize > n-s.Offset {
		return nil, fmt.Errorf("section %s: %d bytes at %#x of a file of %d", s.Name, s.FileSize, s.Offset, n)
	}
	return in.image[s.Offset : s.Offset+s.FileSize], nil
}

// The attributes of .nv.info that are read, and the form that they have. Their
// names are those that cuobjdump prints (EIATTR_...).
const (
	formSized     = 4 // a u16 length and that many bytes
	attrFrameSize = 0x11
	attrMinStack  = 0x12
	attrRegisters = 0x2f
)

// readInfo reads what functions need of an SM.
func (in *input) readInfo(f *File) {
	for _, s := range in.Sections {
		if name, ok := strings.CutPrefix(s.Name, ".nv.shared."); ok {
			if fn := f.Function(name); fn != nil && s.Size < 1<<30 {
				fn.Shared = int(s.Size)
			}
		}
	}
	s := in.Section(".nv.info")
	if s == nil {
		return
	}
	b, err := in.data(s)
	if err != nil {
		return
	}
	for len(b) >= 4 {
		form, attr, n := b[0], b[1], int(le.Uint16(b[2:]))
		b = b[4:]
		if form != formSized { // the value is in the u16
			continue
		}
		if n > len(b) {
			return
		}
		if n == 8 {
			in.attribute(f, attr, le.Uint32(b), le.Uint32(b[4:]))
		}
		b = b[n:]
	}
}

func (in *input) attribute(f *File, attr byte, symbol, value uint32) {
	// The symbols of debug/elf begin with the table's second.
	i, ok := in.functions[int(symbol)-1]
	if !ok || value > 1<<30 {
		return
	}
	switch fn := &f.Functions[i]; attr {
	case attrRegisters:
		fn.Registers = int(value)
	case attrFrameSize:
		fn.Frame = int(value)
	case attrMinStack:
		fn.Stack = int(value)
	}
}
