package ptx

import (
	"fmt"
	"strconv"
	"strings"
)

// Bounds on what a file of any content makes of itself.
const (
	maxDepth     = 200     // of blocks, parentheses and braces in each other
	maxRegisters = 1 << 20 // that the ranges of a function declare
	maxSize      = 1 << 32 // of a variable, in bytes
	maxAlign     = 1 << 20 // of a variable, in bytes
	maxGrowth    = 1 << 16 // names and values that are not written out, beyond as many as tokens
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
	grown int // names and values that ranges and short rows of initialisers stand for
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
// missing at the end of a line is reported there, and a semicolon then taken to
// be there.
func (p *parser) expect(text, after string) {
	if p.accept(text) {
		return
	}
	at, goOn := p.t.Pos, false
	if last := &p.toks[p.last()]; last.Pos.Line < at.Line {
		at = last.Pos
		at.Offset += len(last.Text)
		at.Col += len(last.Text)
		goOn = text == ";"
	}
	failed := p.bad != nil
	p.failf(at, "expected %s%s, found %s", text, after, p.found())
	if goOn && !failed && len(p.errs) < maxErrors {
		p.recovered()
	}
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

// grow takes n names or values that are not written out; false, with an error,
// if there are too many for the size of the file.
func (p *parser) grow(at Pos, n int) bool {
	if n > maxGrowth+len(p.toks)-p.grown {
		p.failf(at, "ranges and short rows of initialisers stand for too many names and values: write them out")
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
