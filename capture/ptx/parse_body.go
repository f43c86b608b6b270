package ptx

// block reads { statements }.
func (p *parser) block() *Block {
	b := &Block{Pos: p.t.Pos}
	first := p.next()
	if !p.enter() {
		p.leave()
		return b
	}
	defer p.leave()
	for {
		if p.recovered() {
			p.skipStatement()
		}
		if p.is("}") {
			break
		}
		if p.t.Kind == TokenEOF {
			if !p.ended {
				p.failf(p.t.Pos, "expected } for the { of line %d, found end of file", b.Pos.Line)
			}
			p.ended = true
			return b
		}
		b.Statements = p.statement(b.Statements)
	}
	p.next()
	b.Node = p.from(first)
	return b
}

// skipStatement skips to what follows the next semicolon, or to the brace that
// ends the block. A brace after which an operand list goes on ends a vector.
func (p *parser) skipStatement() {
	for p.t.Kind != TokenEOF {
		switch {
		case p.is(";"):
			p.next()
			return
		case p.is("}"):
			next := p.peek(1)
			if next.Kind != TokenPunct || next.Text != "," && next.Text != ";" && next.Text != "]" {
				return
			}
		}
		p.next()
	}
}

// statement appends what it reads to the statements of a block: nothing, one,
// or as many as a declaration has names.
func (p *parser) statement(to []Statement) []Statement {
	first := p.i
	switch p.t.Kind {
	case TokenIdent:
		if next := p.peek(1); next.Kind == TokenPunct && next.Text == ":" {
			if p.isLabelled() {
				return append(to, p.labelled())
			}
			l := &Label{Pos: p.t.Pos, Name: p.t.Text}
			p.next()
			p.next()
			l.Node = p.from(first)
			return append(to, l)
		}
		return append(to, p.instruction())
	case TokenDirective:
		return p.directiveStatement(to)
	case TokenPunct:
		switch p.t.Text {
		case "@":
			return append(to, p.instruction())
		case "{":
			return append(to, p.block())
		case ";":
			p.next()
			return to
		}
	}
	p.want("an instruction, a label or a directive")
	return to
}

func (p *parser) directiveStatement(to []Statement) []Statement {
	first := p.i
	switch name := p.t.Text[1:]; name {
	case "loc":
		return append(to, p.loc())
	case "pragma":
		return append(to, p.end(p.pragma(), first))
	case "file":
		return append(to, p.end(p.file(), first))
	case "section":
		return append(to, p.end(p.section(), first))
	case "branchtargets", "calltargets", "callprototype":
		p.failf(p.t.Pos, "expected a label before .%s, found none", name)
		return to
	}
	linkage := p.linkage()
	if p.t.Kind != TokenDirective || !isSpace(p.t.Text[1:]) {
		p.want("a directive such as .reg or .shared")
		return to
	}
	for _, v := range p.variables(first, linkage) {
		to = append(to, v)
	}
	return to
}

// loc reads .loc file line column {, function_name label {+ offset},
// inlined_at file line column} (PTX ISA, "Debugging Directives: .loc").
func (p *parser) loc() *Loc {
	first := p.next()
	l := p.place()
	if p.is(",") && p.peek(1).Text == "function_name" {
		p.next()
		p.next()
		switch p.t.Kind {
		case TokenIdent, TokenDirective:
			l.Function = p.t.Text
			p.next()
		default:
			p.want("the label of a name in .debug_str")
		}
		l.FunctionOffset = p.displacement()
		p.expect(",", " before inlined_at")
		if p.t.Text != "inlined_at" {
			p.want("inlined_at")
		}
		at := p.next() + 1
		l.InlinedAt = p.place()
		l.InlinedAt.Node = p.from(at)
	}
	l.Node = p.from(first)
	return l
}

func (p *parser) place() *Loc {
	const most = 1<<31 - 1
	return &Loc{
		File: int(p.integer("the index of a file", most)),
		Line: int(p.integer("a line", most)),
		Col:  int(p.integer("a column", most)),
	}
}
