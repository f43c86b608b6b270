package ptx

import (
	"strconv"
	"strings"
)

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
