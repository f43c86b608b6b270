package arith

// Type is the type of an operand, as PTX spells it (.u32, .f16x2).
type Type uint8

// The types. The zero Type is none.
const (
	U8 Type = iota + 1
	U16
	U32
	U64
	S8
	S16
	S32
	S64
	B8
	B16
	B32
	B64
	U16x2
	S16x2
	F16
	F16x2
	BF16
	BF16x2
	F32
	F64
	TF32
	E4M3x2
	E5M2x2
	Pred // 0 or 1
)

// typeInfo is what there is to know of a type.
type typeInfo struct {
	name   string
	bits   uint8
	signed bool
	float  bool
}

var types = [...]typeInfo{
	U8:     {name: "u8", bits: 8},
	U16:    {name: "u16", bits: 16},
	U32:    {name: "u32", bits: 32},
	U64:    {name: "u64", bits: 64},
	S8:     {name: "s8", bits: 8, signed: true},
	S16:    {name: "s16", bits: 16, signed: true},
	S32:    {name: "s32", bits: 32, signed: true},
	S64:    {name: "s64", bits: 64, signed: true},
	B8:     {name: "b8", bits: 8},
	B16:    {name: "b16", bits: 16},
	B32:    {name: "b32", bits: 32},
	B64:    {name: "b64", bits: 64},
	U16x2:  {name: "u16x2", bits: 32},
	S16x2:  {name: "s16x2", bits: 32},
	F16:    {name: "f16", bits: 16, float: true},
	F16x2:  {name: "f16x2", bits: 32, float: true},
	BF16:   {name: "bf16", bits: 16, float: true},
	BF16x2: {name: "bf16x2", bits: 32, float: true},
	F32:    {name: "f32", bits: 32, float: true},
	F64:    {name: "f64", bits: 64, float: true},
	TF32:   {name: "tf32", bits: 32, float: true},
	E4M3x2: {name: "e4m3x2", bits: 16, float: true},
	E5M2x2: {name: "e5m2x2", bits: 16, float: true},
	Pred:   {name: "pred", bits: 1},
}

// ParseType finds a type by its name without the dot: u32.
func ParseType(s string) (t Type, ok bool) {
	for t, info := range types {
		if info.name == s && t > 0 {
			return Type(t), true
		}
	}
	return 0, false
}

// Bits is the width of the type; 1 for Pred, 0 for none.
func (t Type) Bits() int {
	if int(t) >= len(types) {
		return 0
	}
	return int(types[t].bits)
}

// Signed reports whether values of the type are sign-extended: a signed
// integer that is not packed.
func (t Type) Signed() bool { return int(t) < len(types) && types[t].signed }

// Float reports whether the type is a floating-point format, or a pair of
// such values.
func (t Type) Float() bool { return int(t) < len(types) && types[t].float }

// String is the name, without the dot.
func (t Type) String() string {
	if t == 0 || int(t) >= len(types) {
		return "none"
	}
	return types[t].name
}

// half is the type of the two values of a packed type; 0 for any other.
func (t Type) half() Type {
	switch t {
	case U16x2:
		return U16
	case S16x2:
		return S16
	case F16x2:
		return F16
	case BF16x2:
		return BF16
	}
	return 0
}

// integer reports whether the type is a signed or an unsigned integer of 16
// bits or more: what integer arithmetic takes.
func (t Type) integer() bool {
	switch t {
	case U16, U32, U64, S16, S32, S64:
		return true
	}
	return false
}

// untyped reports whether the type is .b16, .b32 or .b64.
func (t Type) untyped() bool { return t == B16 || t == B32 || t == B64 }

// wide is the type of twice the width; 0 if there is none.
func (t Type) wide() Type {
	switch t {
	case U16:
		return U32
	case U32:
		return U64
	case S16:
		return S32
	case S32:
		return S64
	}
	return 0
}

// extend makes a register value a proper value of the type: what is above its
// width becomes copies of the sign for signed types, else zeros.
func (t Type) extend(v uint64) uint64 {
	n := 64 - types[t].bits
	if types[t].signed {
		return uint64(int64(v<<n) >> n)
	}
	return v << n >> n
}
