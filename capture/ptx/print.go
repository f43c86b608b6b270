package ptx

import (
	"fmt"
	"slices"
)

// Source returns the source that the module was parsed from, to the byte.
func (m *Module) Source() []byte {
	size := 0
	for i := range m.Tokens {
		size += len(m.Tokens[i].Lead) + len(m.Tokens[i].Text)
	}
	src := make([]byte, 0, size)
	for i := range m.Tokens {
		src = append(src, m.Tokens[i].Lead...)
		src = append(src, m.Tokens[i].Text...)
	}
	return src
}

// Edits are changes to the source of a module, which itself stays as it is.
// Places are indexes of Module.Tokens, such as Span returns. Text goes in as it
// is given: who inserts a word brings the white space that parts it from its
// neighbours.
type Edits struct {
	m       *Module
	before  map[int]string
	after   map[int]string
	replace []replacement
}

// replacement is text that stands for tokens.
type replacement struct {
	first, last int
	text        string
}

// NewEdits returns an Edits without any.
func NewEdits(m *Module) *Edits {
	return &Edits{m: m, before: map[int]string{}, after: map[int]string{}}
}

// InsertBefore puts text between a token and the white space before it. What
// is inserted there later stands behind.
func (e *Edits) InsertBefore(token int, text string) { e.before[token] += text }

// InsertAfter puts text directly behind a token. What is inserted there later
// stands behind.
func (e *Edits) InsertAfter(token int, text string) { e.after[token] += text }

// Replace puts text in the place of the tokens from first to last, both
// included, and of the white space between them; what stands before the first
// stays. What is inserted before the first and after the last stays too.
func (e *Edits) Replace(first, last int, text string) {
	e.replace = append(e.replace, replacement{first, last, text})
}

// Source returns the edited source. The error says that an edit is outside of
// the module, or inside of a part that another one replaces.
func (e *Edits) Source() ([]byte, error) {
	cuts := slices.Clone(e.replace)
	slices.SortStableFunc(cuts, func(a, b replacement) int { return a.first - b.first })
	toks := e.m.Tokens
	if err := e.check(cuts); err != nil {
		return nil, fmt.Errorf("editing %s: %w", e.m.File, err)
	}
	var src []byte
	for i := 0; i < len(toks); i++ {
		src = append(src, toks[i].Lead...)
		src = append(src, e.before[i]...)
		if len(cuts) > 0 && cuts[0].first == i {
			src = append(src, cuts[0].text...)
			i = cuts[0].last
			cuts = cuts[1:]
		} else {
			src = append(src, toks[i].Text...)
		}
		src = append(src, e.after[i]...)
	}
	return src, nil
}

// check looks whether the edits can be made; cuts are in order.
func (e *Edits) check(cuts []replacement) error {
	n := len(e.m.Tokens)
	for i, c := range cuts {
		if c.first < 0 || c.last < c.first || c.last >= n {
			return fmt.Errorf("there are no tokens %d to %d to replace, only %d", c.first, c.last, n)
		}
		if i > 0 && c.first <= cuts[i-1].last {
			return fmt.Errorf("tokens %d to %d and %d to %d are both replaced", cuts[i-1].first, cuts[i-1].last, c.first, c.last)
		}
	}
	inside := func(token int, first, last int) error {
		if token < 0 || token >= n {
			return fmt.Errorf("there is no token %d to insert text at, only %d", token, n)
		}
		at, _ := slices.BinarySearchFunc(cuts, token, func(c replacement, t int) int { return c.last - t })
		if at < len(cuts) && cuts[at].first+first <= token && token <= cuts[at].last-last {
			return fmt.Errorf("text is inserted at token %d, inside of tokens %d to %d that are replaced", token, cuts[at].first, cuts[at].last)
		}
		return nil
	}
	for token := range e.before {
		if err := inside(token, 1, 0); err != nil {
			return err
		}
	}
	for token := range e.after {
		if err := inside(token, 0, 1); err != nil {
			return err
		}
	}
	return nil
}
