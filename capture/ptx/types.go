package ptx

// TypeSize returns the size in bytes of a fundamental type (b32, f64, pred, …),
// a packed type (f16x2, …) or an opaque type (texref, …: a handle); not ok if
// there is no such type. A predicate counts as a byte. PTX ISA, "Types".
func TypeSize(typ string) (bytes int, ok bool) {
	switch typ {
	case "pred", "b8", "u8", "s8", "e4m3", "e5m2":
		return 1, true
	case "b16", "u16", "s16", "f16", "bf16", "e4m3x2", "e5m2x2":
		return 2, true
	case "b32", "u32", "s32", "f32", "f16x2", "bf16x2", "tf32":
		return 4, true
	case "b64", "u64", "s64", "f64", "f32x2", "texref", "samplerref", "surfref":
		return 8, true
	case "b128":
		return 16, true
	}
	return 0, false
}

func isOpaque(typ string) bool {
	return typ == "texref" || typ == "samplerref" || typ == "surfref"
}

// isSpace says whether name is a state space that variables are declared in.
func isSpace(name string) bool {
	switch name {
	case "reg", "shared", "global", "const", "local", "param":
		return true
	}
	return false
}

// elements returns how many scalars the variable is made of: 0 for an array
// of unknown size.
func (v *Variable) elements() int64 {
	n := int64(max(v.Vector, 1))
	for _, d := range v.Dims {
		n *= max(d, 0)
	}
	return n
}

// Size returns the size of the variable in bytes; 0 for an array [] that has
// no initialiser, and for one element of a range of registers its own. It is
// at most 4 GiB.
func (v *Variable) Size() int64 {
	size, _ := TypeSize(v.Type)
	return int64(size) * v.elements()
}

// Alignment returns the alignment of the variable in bytes: what its .align
// says, else the size of its type, of all of it for a vector (PTX ISA,
// "Alignment").
func (v *Variable) Alignment() int {
	if v.Align > 0 {
		return v.Align
	}
	size, _ := TypeSize(v.Type)
	return size * max(v.Vector, 1)
}
