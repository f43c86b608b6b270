package interp

import "btrace/capture/ptx"

// sources says where in the source files the code of a function is. Of code
// that was inlined, .loc names the innermost function, which often is in a
// header of a library; what the author of a kernel looks for is the line of
// his own file that called it.
type sources struct {
	own     int // the file that the function is in; 0 if nothing says
	first   *ptx.Loc
	inlined map[[3]int]*ptx.Loc // by file, line and column: what is said of a place in an inlined function
}

// maxInlined bounds the functions that are inlined in each other.
const maxInlined = 64

func sourcesOf(lines []line) sources {
	s := sources{inlined: make(map[[3]int]*ptx.Loc)}
	for _, l := range lines {
		switch {
		case l.loc == nil:
		case l.loc.InlinedAt != nil:
			s.inlined[[3]int{l.loc.File, l.loc.Line, l.loc.Col}] = l.loc
		case s.first == nil && l.loc.Line > 0:
			s.first, s.own = l.loc, l.loc.File
		}
	}
	return s
}

// frame is the innermost call that is in the function's own file; the place
// itself if none is.
func (s *sources) frame(loc *ptx.Loc) *ptx.Loc {
	at := loc
	for range maxInlined {
		if at == nil || at.File == s.own {
			break
		}
		next := at.InlinedAt
		if next == nil {
			return loc
		}
		if more := s.inlined[[3]int{next.File, next.Line, next.Col}]; more != nil && next.File != s.own {
			next = more
		}
		at = next
	}
	return at
}

// sourceLine is the file, without its folder, and the line that a .loc names;
// "" if it names none.
func sourceLine(m *ptx.Module, loc *ptx.Loc) (file string, line uint32) {
	if loc == nil || loc.Line <= 0 || m.Files[loc.File] == "" {
		return "", 0
	}
	return baseName(m.Files[loc.File]), uint32(loc.Line)
}
