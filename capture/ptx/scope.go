package ptx

import "iter"

// scopes are the names that are declared at a place: a stack of scopes, of
// which an inner one hides the names of the outer ones. Ranges of registers are
// not written out: their members come to be when they are used.
type scopes struct {
	names  map[string]*binding
	ranges map[string]*interval // by prefix
	open   []scope
	ranged int // the innermost scope that declares a range; 0 if none does
}

// binding is a name in a scope, and what it hides.
type binding struct {
	sym   *Symbol
	depth int // of the scope: 1 is the outermost
	outer *binding
}

// interval is a range of registers in a scope, and what it hides.
type interval struct {
	v     *Variable
	depth int
	outer *interval
}

// scope is what is undone when a scope ends.
type scope struct {
	names  []string
	ranges []string
	ranged int
	// least is, by prefix, the smallest number with which a declared name
	// goes on: 3 for %r of %r3 and %r17. With it a range finds a name of its
	// own in the scope.
	least map[string]int
}

func newScopes() *scopes {
	return &scopes{names: map[string]*binding{}, ranges: map[string]*interval{}}
}

func (s *scopes) push() {
	s.open = append(s.open, scope{ranged: s.ranged})
}

func (s *scopes) pop() {
	top := s.open[len(s.open)-1]
	for _, name := range top.names {
		s.names[name] = s.names[name].outer
		if s.names[name] == nil {
			delete(s.names, name)
		}
	}
	for _, prefix := range top.ranges {
		s.ranges[prefix] = s.ranges[prefix].outer
		if s.ranges[prefix] == nil {
			delete(s.ranges, prefix)
		}
	}
	s.ranged = top.ranged
	s.open = s.open[:len(s.open)-1]
}

// declare adds a name to the innermost scope; false if the scope has it, or a
// range that contains it.
func (s *scopes) declare(sym *Symbol) bool {
	name, depth := sym.Name, len(s.open)
	if b := s.names[name]; b != nil && b.depth == depth {
		return false
	}
	if s.member(name, depth) != nil {
		return false
	}
	s.bind(sym, depth)
	s.note(name, 1)
	return true
}

func (s *scopes) bind(sym *Symbol, depth int) {
	s.names[sym.Name] = &binding{sym, depth, s.names[sym.Name]}
	top := &s.open[depth-1]
	top.names = append(top.names, sym.Name)
}

// declareRange adds a range to the innermost scope; false if one of its names
// is there.
func (s *scopes) declareRange(v *Variable) bool {
	depth := len(s.open)
	top := &s.open[depth-1]
	if r := s.ranges[v.Name]; r != nil && r.depth == depth {
		return false
	}
	if n, ok := top.least[v.Name]; ok && n < v.Range {
		return false
	}
	// The first names of %r1<5> that a range %r<N> has too are %r10, …
	for prefix, n := range numbered(v.Name) {
		if r := s.ranges[prefix]; n > 0 && r != nil && r.depth == depth && 10*n < r.v.Range {
			return false
		}
	}
	s.ranges[v.Name] = &interval{v, depth, s.ranges[v.Name]}
	top.ranges = append(top.ranges, v.Name)
	s.ranged = depth
	s.note(v.Name, 10)
	return true
}

// note keeps with which numbers a name may be a member of a range: times is 10
// for the first name of a range that begins so.
func (s *scopes) note(name string, times int) {
	top := &s.open[len(s.open)-1]
	for prefix, n := range numbered(name) {
		if n == 0 && times > 1 {
			continue
		}
		if top.least == nil {
			top.least = map[string]int{}
		}
		if least, ok := top.least[prefix]; !ok || n*times < least {
			top.least[prefix] = n * times
		}
	}
}

// numbered yields the ways in which a name can be a member of a range: %r1 2
// and %r 12 for %r12.
func numbered(name string) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		n, unit := 0, 1
		for i := len(name) - 1; i >= 0 && isDigit(name[i]) && unit <= maxRegisters; i-- {
			n += int(name[i]-'0') * unit
			unit *= 10
			if name[i] == '0' && i < len(name)-1 {
				continue // a leading zero
			}
			if !yield(name[:i], n) {
				return
			}
		}
	}
}

// member returns the innermost range that has a name, if its scope is at least
// at depth.
func (s *scopes) member(name string, depth int) (found *interval) {
	if s.ranged < depth {
		return nil
	}
	for prefix, at := range numbered(name) {
		for r := s.ranges[prefix]; r != nil && r.depth >= depth; r = r.outer {
			if at < r.v.Range {
				found, depth = r, r.depth+1
				break
			}
		}
	}
	return found
}

// lookup returns what a name stands for; nil if it is not declared. A member of
// a range that was not used before is made by member.
func (s *scopes) lookup(name string, member func(v *Variable) *Symbol) *Symbol {
	b := s.names[name]
	depth := 1
	if b != nil {
		depth = b.depth + 1
	}
	if r := s.member(name, depth); r != nil {
		sym := member(r.v)
		s.bind(sym, r.depth)
		return sym
	}
	if b == nil {
		return nil
	}
	return b.sym
}
