package trace

// Kind says what an event is. The names, operands and meaning of every kind
// stand in one table, Kinds; a kind's number is private to this version of
// the library and never stored: files carry names.
type Kind uint8

// The kinds, in the order of the table.
const (
	// KindUnknown is an operation of a newer recorder. Op.Name keeps its
	// name and Op.Extra its operands, so that nothing is lost on the way
	// through.
	KindUnknown Kind = iota
	KindEnter
	KindExit
	KindBarArrive
	KindBarSync
	KindBarRed
	KindBarDone
	KindMbarInit
	KindMbarInval
	KindMbarArrive
	KindMbarArriveDrop
	KindMbarArriveNoComplete
	KindMbarExpectTx
	KindMbarArriveExpectTx
	KindMbarCpAsyncArrive
	KindMbarCopy
	KindMbarCompleteTx
	KindMbarWait
	KindMbarDone
	KindMbarTest
	KindClusterArrive
	KindClusterWait
	KindClusterDone
	KindGroupArrive
	KindGroupWait
	KindGroupDone
	KindCompletionBegin
	KindCompletionEnd
	KindSyncwarp
	KindSyncwarpDone
	KindTrap
	KindMark
	KindGap

	// NumKinds is how many kinds this version knows.
	NumKinds = int(iota)
)

// Field is a bit of an operand that an event may carry. A set of them
// (Fields) says which operands of an Op or Event are present: absent and
// zero are different things.
type Field uint8

// The operands, in the order of the operand table.
const (
	FieldBar Field = iota
	FieldAddr
	FieldGroup
	FieldCount
	FieldAligned
	FieldRed
	FieldPred
	FieldResult
	FieldBytes
	FieldToken
	FieldPhase
	FieldParity
	FieldOwnerCTA
	FieldCTAMask
	FieldMask
	FieldNoInc
	FieldSem
	FieldText
	FieldReason
	FieldLost
	FieldFile
	FieldLine
	FieldPC
	FieldClk
	FieldExtra

	// NumFields is how many operands this version knows.
	NumFields = int(iota)
)

// Fields is a set of operands.
type Fields uint32

// Has reports whether the operand is in the set.
func (f Fields) Has(x Field) bool { return f&(1<<x) != 0 }

// With returns the set with the operands added.
func (f Fields) With(xs ...Field) Fields {
	for _, x := range xs {
		f |= 1 << x
	}
	return f
}

// Red is the reduction of a bar.red.
type Red uint8

// The reductions of PTX barrier.red.
const (
	RedNone Red = iota
	RedPopc
	RedAnd
	RedOr
)

// Sem is the memory ordering of an operation, where the recording has it.
type Sem uint8

// The orderings. SemNone means that the recording does not say.
const (
	SemNone Sem = iota
	SemRelaxed
	SemAcquire
	SemRelease
	SemAcqRel
)
