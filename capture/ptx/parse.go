package ptx

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Bounds on what a file of any content makes of itself.
const (
	maxDepth     = 200     // of blocks, parentheses and braces in each other
	maxRegisters = 1 << 20 // that the ranges of a function declare
	maxSize      = 1 << 32 // of a variable, in bytes
	maxAlign     = 1 << 20 // of a variable, in bytes
	maxGrowth    = 1 << 16 // names and elements that ranges and short rows of initialisers stand for
)

// parser turns tokens into declarations. After an error the present token is
// a substitute that nothing accepts, so that the rules unwind to the one that
// recovers: a statement or a declaration.
type parser struct {
	m     *Module
	toks  []Token
	i     int    // the present token
	t     *Token // &toks[i], or the substitute
	bad   *Token // the substitute: not nil after an error
	errs  Errors
	ended bool // the end of the file inside of a block is reported
	depth int
	grown int // of maxGrowth
	regs  int // of maxRegisters, in this function

	names  slab[Name]
	ints   slab[Int]
	addrs  slab[Address]
	instrs slab[Instruction]
	lists  arena[Operand]
	mods   arena[string]
}

// Parse parses a PTX source file; file is its name, for messages. It reads
// the syntax of PTX ISA 3.0 to 9.0. Whether names are declared is for Resolve,
// whether instructions exist for who uses the module. The error is an Errors.
//
// The tree and the time are linear in the size of the source: what a few
// bytes can ask for (ranges, sizes, nesting) is bounded.
func Parse(file string, src []byte) (*Module, error) {
	toks, errs := lex(file, string(src))
	if err := errs.err(); err != nil {
		return nil, err
	}
	m := &Module{File: file, Tokens: toks, AddressSize: 32, Files: map[int]string{}}
	p := &parser{m: m, toks: toks, t: &toks[0]}
	p.module()
	if err := p.errs.err(); err != nil {
		return nil, err
	}
	m.index()
	return m, nil
}

// next goes to the next token and returns the index of the one it leaves.
func (p *parser) next() int {
	if p.bad != nil || p.t.Kind == TokenEOF {
		return p.i
	}
	p.i++
	p.t = &p.toks[p.i]
	return p.i - 1
}

// last returns the index of the token before the present one.
func (p *parser) last() int { return max(p.i-1, 0) }

// from returns the node of the tokens from first up to the present one.
func (p *parser) from(first int) Node { return Node{first, max(first, p.last())} }

// peek returns the token n after the present one.
func (p *parser) peek(n int) *Token {
	return &p.toks[min(p.i+n, len(p.toks)-1)]
}

// is says whether the present token is a certain piece of punctuation.
func (p *parser) is(text string) bool {
	return p.t.Kind == TokenPunct && p.t.Text == text
}

// accept skips a piece of punctuation, if it is there.
func (p *parser) accept(text string) bool {
	if !p.is(text) {
		return false
	}
	p.next()
	return true
}

// expect skips a piece of punctuation; after says where it should be. What is
// missing at the end of a line is reported there.
func (p *parser) expect(text, after string) {
	if p.accept(text) {
		return
	}
	at := p.t.Pos
	if last := &p.toks[p.last()]; last.Pos.Line < at.Line {
		at = last.Pos
		at.Offset += len(last.Text)
		at.Col += len(last.Text)
	}
	p.failf(at, "expected %s%s, found %s", text, after, p.found())
}

// isDirective says whether the present token is the directive .name.
func (p *parser) isDirective(name string) bool {
	return p.t.Kind == TokenDirective && p.t.Text[1:] == name
}

func (p *parser) acceptDirective(name string) bool {
	if !p.isDirective(name) {
		return false
	}
	p.next()
	return true
}

// ident reads an identifier; what says of what.
func (p *parser) ident(what string) string {
	if p.t.Kind != TokenIdent {
		p.want(what)
		return ""
	}
	name := p.t.Text
	p.next()
	return name
}

// integer reads an integer literal that is at most most.
func (p *parser) integer(what string, most uint64) uint64 {
	if p.t.Kind != TokenInt {
		p.want(what)
		return 0
	}
	v, ok := parseInt(p.t.Text)
	if !ok || v > most {
		p.failf(p.t.Pos, "expected %s, at most %d, found %s", what, most, p.found())
		return 0
	}
	p.next()
	return v
}

// parseInt returns the value of an integer literal; false if it is more than
// 64 bits.
func parseInt(text string) (uint64, bool) {
	v, err := strconv.ParseUint(strings.TrimSuffix(text, "U"), 0, 64)
	return v, err == nil
}

// want fails with what was expected instead of the present token.
func (p *parser) want(what string) {
	p.failf(p.t.Pos, "expected %s, found %s", what, p.found())
}

// found describes the present token.
func (p *parser) found() string {
	if p.t.Kind == TokenEOF {
		return "end of file"
	}
	return quote(p.t.Text)
}

// failf records an error, unless it follows from one.
func (p *parser) failf(at Pos, format string, args ...any) {
	if p.bad != nil {
		return
	}
	if len(p.errs) < maxErrors {
		p.errs = append(p.errs, &SyntaxError{p.m.File, at, fmt.Sprintf(format, args...)})
	}
	p.bad = &Token{Kind: TokenEOF, Pos: at}
	p.t = p.bad
}

// enter goes a level deeper; false, with an error, if that is too deep. leave
// is called in either case.
func (p *parser) enter() bool {
	p.depth++
	if p.depth > maxDepth {
		p.failf(p.t.Pos, "nested more than %d deep", maxDepth)
		return false
	}
	return true
}

func (p *parser) leave() { p.depth-- }

// grow takes n of maxGrowth.
func (p *parser) grow(at Pos, n int) bool {
	if n > maxGrowth-p.grown {
		p.failf(at, "ranges and short rows of initialisers stand for more than %d names and values: write them out", maxGrowth)
		return false
	}
	p.grown += n
	return true
}

// recovered ends the state of error, and says whether there was one. The
// caller skips to where it can go on.
func (p *parser) recovered() bool {
	if p.bad == nil {
		return false
	}
	p.bad = nil
	p.t = &p.toks[p.i]
	if len(p.errs) == maxErrors {
		p.i = len(p.toks) - 1
		p.t = &p.toks[p.i]
	}
	return true
}

// module reads the file: .version and .target first (PTX ISA, "Source
// Format").
func (p *parser) module() {
	if !p.isDirective("version") {
		p.want(".version at the begin of the module")
	} else {
		p.decl()
		if p.bad == nil && !p.isDirective("target") {
			p.want(".target after .version")
		}
	}
	for {
		if p.recovered() {
			p.skipDecl()
		}
		if p.t.Kind == TokenEOF {
			return
		}
		p.decl()
	}
}

// skipDecl skips to the next declaration: what follows a ; or the brace that
// ends a function, or a directive at the begin of a line that only a module
// has.
func (p *parser) skipDecl() {
	for depth := 0; p.t.Kind != TokenEOF; {
		switch {
		case depth == 0 && p.t.Kind == TokenDirective && beginsDecl(p.t.Text[1:]) && strings.Contains(p.t.Lead, "\n"):
			return
		case p.is("{"):
			depth++
		case p.is("}"):
			depth = max(depth-1, 0)
			if next := p.peek(1).Text; depth == 0 && next != ";" && next != "," && next != "}" {
				p.next()
				return
			}
		case p.is(";") && depth == 0:
			p.next()
			return
		}
		p.next()
	}
}

func beginsDecl(name string) bool {
	switch name {
	case "version", "target", "address_size", "visible", "extern", "weak", "common", "entry", "func",
		"global", "const", "alias", "section", "file":
		return true
	}
	return false
}

// decl reads a declaration of the module.
func (p *parser) decl() {
	if p.accept(";") {
		return
	}
	if p.t.Kind != TokenDirective {
		p.want("a directive such as .entry, .func or .global")
		return
	}
	first, d := p.i, (*Directive)(nil)
	switch name := p.t.Text[1:]; name {
	case "version":
		d = p.version()
	case "target":
		d = p.target()
	case "address_size":
		d = p.directive()
		size := p.integer("32 or 64", 64)
		if p.bad == nil && size != 32 && size != 64 {
			p.failf(d.Pos, "the address size is 32 or 64, not %d", size)
		}
		p.m.AddressSize = int(size)
	case "file":
		d = p.file()
	case "section":
		d = p.section()
	case "pragma":
		d = p.pragma()
	case "alias":
		d = p.directive()
		p.ident("the name of an alias")
		p.expect(",", " after the name of the alias")
		p.ident("the name of the function that it stands for")
		p.expect(";", " after .alias")
	default:
		p.symbols()
		return
	}
	if p.bad == nil {
		p.m.Decls = append(p.m.Decls, p.end(d, first))
	}
}

// directive begins a directive: it skips its name.
func (p *parser) directive() *Directive {
	d := &Directive{Pos: p.t.Pos, Name: p.t.Text[1:]}
	p.next()
	return d
}

// end gives a directive the tokens from first up to the present one, of which
// those that are not punctuation are its arguments.
func (p *parser) end(d *Directive, first int) *Directive {
	d.Node = p.from(first)
	name := first
	if d.Label != "" {
		name += 2
	}
	for _, t := range p.toks[name+1 : p.i] {
		if t.Kind != TokenPunct {
			d.Args = append(d.Args, t.Text)
		}
	}
	return d
}

func (p *parser) version() *Directive {
	d := p.directive()
	major, minor, ok := strings.Cut(p.t.Text, ".")
	a, err1 := strconv.ParseUint(major, 10, 16)
	b, err2 := strconv.ParseUint(minor, 10, 16)
	if p.t.Kind != TokenFloat || !ok || err1 != nil || err2 != nil {
		p.want("a version such as 8.0")
		return d
	}
	if len(p.m.Decls) > 0 {
		p.failf(d.Pos, "a second .version")
		return d
	}
	p.m.Version = [2]int{int(a), int(b)}
	p.next()
	return d
}

func (p *parser) target() *Directive {
	d := p.directive()
	for {
		p.m.Target = append(p.m.Target, p.ident("a target such as sm_90a"))
		if !p.accept(",") {
			return d
		}
	}
}

// file reads .file index "name" {"name"} {, time, size}.
func (p *parser) file() *Directive {
	d := p.directive()
	n := p.integer("the index of a file", 1<<31-1)
	if p.t.Kind != TokenString {
		p.want("the name of a file, in quotes")
	}
	var path []string
	for p.t.Kind == TokenString {
		path = append(path, unquote(p.t.Text))
		p.next()
	}
	if p.accept(",") {
		p.integer("the time of the file", 1<<64-1)
		p.expect(",", " between the time and the size of the file")
		p.integer("the size of the file", 1<<64-1)
	}
	if len(path) > 1 && strings.HasPrefix(path[len(path)-1], "/") {
		path = path[len(path)-1:]
	}
	p.m.Files[int(n)] = strings.Join(path, "/")
	return d
}

func unquote(text string) string {
	s := text[1 : len(text)-1]
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// section reads .section name { … }: DWARF, which is kept as it stands.
func (p *parser) section() *Directive {
	d := p.directive()
	switch p.t.Kind {
	case TokenDirective, TokenIdent, TokenString:
		p.next()
	default:
		p.want("the name of a section")
	}
	p.expect("{", " after the name of the section")
	for depth := 1; depth > 0; p.next() {
		switch {
		case p.t.Kind == TokenEOF:
			p.want("} at the end of the section")
			return d
		case p.is("{"):
			depth++
		case p.is("}"):
			depth--
		}
	}
	return d
}

// pragma reads .pragma "…" {, "…"} ;.
func (p *parser) pragma() *Directive {
	d := p.directive()
	for {
		if p.t.Kind != TokenString {
			p.want("a string after .pragma")
		}
		p.next()
		if !p.accept(",") {
			break
		}
	}
	p.expect(";", " after .pragma")
	return d
}

// index finds the functions by name: the one with a body, if there is one, or
// the one that an .alias stands for.
func (m *Module) index() {
	m.functions = map[string]*Function{}
	for _, d := range m.Decls {
		if f, ok := d.(*Function); ok {
			if old := m.functions[f.Name]; old == nil || old.Body == nil {
				m.functions[f.Name] = f
			}
		}
	}
	for _, d := range m.Decls {
		if a, ok := d.(*Directive); ok && a.Name == "alias" {
			if f := m.functions[a.Args[1]]; f != nil {
				m.functions[a.Args[0]] = f
			}
		}
	}
}

// Lookup returns the function of a name: its definition if the module has it,
// else a declaration, else nil.
func (m *Module) Lookup(name string) *Function { return m.functions[name] }

// Entries returns the kernels that the module defines, in its order.
func (m *Module) Entries() []*Function {
	var entries []*Function
	for _, d := range m.Decls {
		if f, ok := d.(*Function); ok && f.Entry && f.Body != nil {
			entries = append(entries, f)
		}
	}
	return entries
}

// slab hands out zero values, of which it allocates many at a time.
type slab[T any] struct{ free []T }

func (s *slab[T]) new() *T {
	if len(s.free) == 0 {
		s.free = make([]T, 128)
	}
	v := &s.free[0]
	s.free = s.free[1:]
	return v
}

// arena keeps lists that were gathered in a stack, of which it allocates many
// at a time.
type arena[T any] struct {
	stack []T // of the lists that are being gathered, innermost last
	free  []T
}

// take returns the list that was gathered since the stack had n elements.
func (a *arena[T]) take(n int) []T {
	list := a.stack[n:]
	a.stack = a.stack[:n]
	if len(list) == 0 {
		return nil
	}
	if len(a.free) < len(list) {
		a.free = make([]T, max(512, len(list)))
	}
	kept := a.free[:len(list):len(list)]
	a.free = a.free[len(list):]
	copy(kept, list)
	return slices.Clip(kept)
}
