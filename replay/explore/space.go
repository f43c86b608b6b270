package explore

// Found is what a search has come to.
type Found struct {
	// Bad is what went wrong: the rule that was broken, a trap, or "hang"; ""
	// if nothing did.
	Bad string
	// Schedule is the choices that lead there (Machine.Do).
	Schedule []int
	// Whole is true if all schedules were looked at.
	Whole bool
	// States is how many states were.
	States int
}

// Exhaust looks at all schedules of a program, until one goes wrong or limit
// states were seen. States that were reached before are not gone into again.
func Exhaust(p *Program, limit int) Found {
	f := Found{Whole: true}
	seen := make(map[string]bool)
	var path []int
	var visit func(m *Machine) bool
	visit = func(m *Machine) bool {
		key := m.Key()
		if seen[key] {
			return true
		}
		if len(seen) >= limit {
			f.Whole = false
			return false
		}
		seen[key] = true
		choices := m.Choices()
		switch {
		case m.Bad != "":
			f.Bad = m.Bad
		case len(choices) == 0 && !m.Done():
			f.Bad = "hang"
		}
		if f.Bad != "" {
			f.Schedule = append([]int(nil), path...)
			return false
		}
		for _, c := range choices {
			next := m.Clone()
			next.Do(c)
			path = append(path, c)
			if !visit(next) {
				return false
			}
			path = path[:len(path)-1]
		}
		return true
	}
	visit(NewMachine(p))
	f.States = len(seen)
	return f
}
