package ptx

// Pos is a place in a source file.
type Pos struct {
	Offset int // bytes, from 0
	Line   int // from 1
	Col    int // bytes, from 1
}

// Node is the tokens that a part of a module is made of: those from First to
// Last, both included, of Module.Tokens.
type Node struct {
	First, Last int
}

// Span returns the tokens.
func (n Node) Span() (first, last int) { return n.First, n.Last }

// Module is a PTX source file. Its tokens hold every byte of it, so that it
// can be printed back; the declarations say what they mean.
type Module struct {
	File        string // its name, for messages
	Tokens      []Token
	Version     [2]int   // of .version: major, minor
	Target      []string // of .target: the first is the architecture, sm_90a
	AddressSize int      // of .address_size: 32 or 64
	Decls       []Decl
	Files       map[int]string // of .file: the source files that .loc names

	functions map[string]*Function
}

// Decl is a part of a module: *Variable, *Function or *Directive.
type Decl interface {
	Span() (first, last int)
	decl()
}

// Statement is a part of a body: *Instruction, *Label, *Variable, *Block,
// *Loc or *Directive.
type Statement interface {
	Span() (first, last int)
	statement()
}

// Function is an .entry or a .func.
type Function struct {
	Node
	Pos        Pos
	Linkage    string // visible, extern, weak; or nothing
	Entry      bool
	Name       string
	Returns    []*Variable // of a .func
	Params     []*Variable
	Directives []*Directive // .maxntid, .reqntid, .minnctapersm, .noreturn, …
	Body       *Block       // nil for a declaration

	// What Resolve adds.
	Registers []*Symbol // by their Index
}

// Variable is a declaration of one name: a variable, a register, a range of
// registers (%r<8>) or a parameter. A declaration of several names is as many
// variables, which share their tokens.
type Variable struct {
	Node
	Pos     Pos
	Linkage string // visible, extern, weak, common; or nothing
	Space   string // reg, shared, global, const, local, param
	Type    string // b32, f64, pred, …
	Vector  int    // 2, 4 or 8 for .v2, .v4, .v8; 0 for a scalar
	Align   int    // in bytes; 0 if not given
	Name    string
	Range   int     // N of %r<N>; 0 for one register
	Dims    []int64 // of an array, outermost first; -1 for [] without initial values
	Init    []Init  // initial values of the first elements, in memory order; nil if none

	// Of a parameter that is a pointer (.ptr).
	Pointer      bool
	PointerSpace string // that it points to; or nothing
	PointerAlign int    // of what it points to, in bytes; 0 if not given

	// What Resolve adds.
	Sym *Symbol // nil for a range
}

// Init is one element of an initialiser: Value, or the address of Symbol plus
// Value. Mask, if not 0, is the byte of it that is meant (0xFF(sym), 0xFF00(sym)).
type Init struct {
	Value   uint64 // bits, in the width of the variable's type
	Symbol  string // variable or function; or nothing
	Generic bool   // generic(Symbol)
	Mask    uint64

	Sym *Symbol // what Resolve found; nil without a Symbol
}

// Directive is a directive that is kept as it stands: .pragma, .section,
// .file, .maxntid, .branchtargets, .callprototype, …
type Directive struct {
	Node
	Pos   Pos
	Label string   // of .branchtargets, .calltargets, .callprototype
	Name  string   // without the dot
	Args  []string // its tokens, without punctuation
	// Of .callprototype.
	Returns, Params []*Variable
	// Of .branchtargets and .calltargets: ranges (N<4>) are written out.
	Targets []*Name
}

// Block is statements in braces, which have a scope of their own.
type Block struct {
	Node
	Pos        Pos
	Statements []Statement
}

// Label is the name of the place before the next instruction.
type Label struct {
	Node
	Pos  Pos
	Name string
}

// Loc is .loc: the source line of the instructions that follow.
type Loc struct {
	Node
	File, Line, Col int // File is a key of Module.Files

	// Of code from a function that was inlined.
	Function       string // the label or the section that its name is at
	FunctionOffset int64  // of the name from there, in bytes
	InlinedAt      *Loc   // nil if it is not inlined
}

// Instruction is one instruction, such as
//
//	@!%p1 mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1+8], %r2;
type Instruction struct {
	Node
	Pos      Pos
	Guard    *Guard   // nil if there is none
	Op       string   // mbarrier
	Mods     []string // try_wait, parity, shared::cta, b64
	Operands []Operand
}

// Guard is the predicate of an instruction: @%p or @!%p.
type Guard struct {
	Name *Name
	Not  bool
}

// Operand is *Name, *Int, *Float, *Vector, *Address, *Not, *Pair or *List.
type Operand interface {
	Span() (first, last int)
	operand()
}

// Name is a register, a variable, a label, a function, a special register or
// the sink _ , and a displacement in bytes for a variable (var+4).
type Name struct {
	Node
	Pos       Pos
	Name      string
	Component string // x, y, z, w of a vector register or of %tid; or nothing
	Offset    int64

	Sym *Symbol // what Resolve found; nil for _
}

// Int is an integer constant, or a constant expression.
type Int struct {
	Node
	Value uint64 // two's complement
}

// Float is a floating-point constant: Value, whose bits are exact where it was
// written as 0f… (Bits32) or 0d….
type Float struct {
	Node
	Value  float64
	Single bool   // written as 0f and eight hex digits
	Bits32 uint32 // of that
}

// Vector is {a, b, …}.
type Vector struct {
	Node
	Elems []Operand
}

// Address is [base+offset], [var], [imm], or for tensor copies
// [base, {coordinates}], for textures also [base, sampler, {coordinates}].
type Address struct {
	Node
	Base        Operand // *Name, *Int
	Offset      int64   // in bytes
	Sampler     Operand // *Name; nil if there is none
	Coordinates []Operand
}

// Not is !p.
type Not struct {
	Node
	X Operand
}

// Pair is p|q.
type Pair struct {
	Node
	A, B Operand
}

// List is (a, b, …), of a call.
type List struct {
	Node
	Elems []Operand
}

// SymbolKind is what a name stands for.
type SymbolKind uint8

// The kinds of symbols.
const (
	SymRegister SymbolKind = iota + 1
	SymVariable            // .shared, .global, .const, .local, .param
	SymFunction
	SymLabel
	SymSpecial   // %tid, %clock64, …
	SymDirective // the label of a .branchtargets, .calltargets or .callprototype
)

// Symbol is what a name stands for in its scope.
type Symbol struct {
	Kind      SymbolKind
	Name      string
	Index     int       // of a register: its place in Function.Registers
	Variable  *Variable // of a register and a variable: its declaration
	Function  *Function // of a function; of anything in a body, whose body
	Label     *Label
	Directive *Directive
}

func (*Variable) decl()         {}
func (*Function) decl()         {}
func (*Directive) decl()        {}
func (*Instruction) statement() {}
func (*Label) statement()       {}
func (*Variable) statement()    {}
func (*Block) statement()       {}
func (*Loc) statement()         {}
func (*Directive) statement()   {}
func (*Name) operand()          {}
func (*Int) operand()           {}
func (*Float) operand()         {}
func (*Vector) operand()        {}
func (*Address) operand()       {}
func (*Not) operand()           {}
func (*Pair) operand()          {}
func (*List) operand()          {}
