package ptx

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
