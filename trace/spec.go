package trace

// ValueType is the form of an operand's value in the interchange (NDJSON)
// form.
type ValueType uint8

// The value types.
const (
	TypeInt    ValueType = iota // a JSON number
	TypeBool                    // true or false
	TypeHex32                   // a string of 8 hex digits: one bit a lane
	TypeHex64                   // a string of 16 hex digits
	TypeString                  // text
	TypeEnum                    // one of a few words
	TypeRaw                     // any JSON, kept as it came
)

// FieldSpec describes an operand.
type FieldSpec struct {
	Field Field
	Key   string // its key in the interchange form
	Type  ValueType
	// Row is true for an operand whose value changes from one execution of
	// an instruction to the next; the file stores those as columns. The
	// others are part of the row's template.
	Row bool
	Doc string
}

// Operands returns the operand table: what every operand is called, how it
// is written and what it means, in the order in which the interchange form
// writes them.
func Operands() []FieldSpec {
	return []FieldSpec{
		{FieldBar, "bar", TypeInt, false, "PTX named barrier, 0 to 15"},
		{FieldAddr, "addr", TypeInt, false, "shared-memory address of the mbarrier, in bytes"},
		{FieldGroup, "group", TypeString, false, "name of the cooperative group"},
		{FieldCount, "count", TypeInt, false, "threads a named barrier waits for (0 = none given: all threads of the CTA); arrivals that an mbarrier expects, or that each lane makes; threads in a group"},
		{FieldAligned, "aligned", TypeBool, false, "the aligned form: every lane of the warp executes this very instruction"},
		{FieldRed, "red", TypeEnum, false, "reduction: popc, and, or"},
		{FieldPred, "pred", TypeHex32, true, "lanes whose predicate is true"},
		{FieldBytes, "bytes", TypeInt, false, "transaction bytes, signed; absent = unknown"},
		{FieldToken, "token", TypeHex64, true, "the hardware's state word; bit 63 = parity of the phase before the arrive"},
		{FieldPhase, "phase", TypeInt, true, "phase that the token belongs to"},
		{FieldParity, "parity", TypeInt, false, "parity of the phase waited for, 0 or 1"},
		{FieldOwnerCTA, "owner_cta", TypeInt, false, "linear index of the CTA that owns the mbarrier of a remote operation"},
		{FieldCTAMask, "cta_mask", TypeInt, false, "CTA ranks in the cluster that a multicast copy completes on, one bit each"},
		{FieldMask, "mask", TypeHex32, false, "lanes that a syncwarp joins"},
		{FieldNoInc, "noinc", TypeBool, false, "cp.async.mbarrier.arrive.noinc: the arrival was counted at init"},
		{FieldSem, "sem", TypeEnum, false, "memory ordering: relaxed, acquire, release, acq_rel"},
		{FieldResult, "result", TypeInt, true, "result of a bar.red, or the answer of a test"},
		{FieldText, "text", TypeString, false, "a user's annotation"},
		{FieldReason, "reason", TypeString, false, "why the kernel trapped"},
		{FieldLost, "lost", TypeInt, false, "events dropped or cut here"},
		{FieldFile, "file", TypeString, false, "source file, where it is not the launch's program"},
		{FieldLine, "line", TypeInt, false, "source line, from 1"},
		{FieldPC, "pc", TypeInt, false, "program counter of the instruction; of recorder ptx, its line in the .ptx file (file and line are those of the source, where a .loc says so)"},
		{FieldClk, "clk", TypeInt, true, "the SM's cycle counter; comparable inside one SM only"},
		{FieldExtra, "", TypeRaw, true, "keys that this version does not know, as JSON"},
	}
}

// Family groups kinds by what a recorder observes: the words of a launch's
// Observes.
type Family string

// The families.
const (
	FamilyEnter      Family = "enter"
	FamilyExit       Family = "exit"
	FamilyBar        Family = "bar"
	FamilyMbar       Family = "mbar"
	FamilyCluster    Family = "cluster"
	FamilyGroup      Family = "group"
	FamilyCompletion Family = "completion"
	FamilySyncwarp   Family = "syncwarp"
	FamilyOther      Family = "" // always seen: marks, gaps, traps
)

// KindSpec describes a kind of event.
type KindSpec struct {
	Kind   Kind
	Name   string // its "op" in the interchange form
	Family Family
	// Required operands must be there; Optional ones may. Site (file, line,
	// pc), clk and extra are optional everywhere.
	Required, Optional []Field
	Doc                string
}

// Kinds returns the event table, indexed by Kind. It is the one place where
// the vocabulary of traces is defined: the writer, the readers, the
// interchange form, the command that lists events and FORMAT.md follow it.
func Kinds() []KindSpec {
	token := []Field{FieldToken, FieldPhase}
	wait := []Field{FieldParity, FieldToken, FieldPhase, FieldOwnerCTA, FieldSem}
	arrive := append([]Field{FieldOwnerCTA, FieldSem, FieldCount}, token...)
	bar := []Field{FieldBar, FieldCount}
	return []KindSpec{
		{KindUnknown, "", FamilyOther, nil, nil, "an operation this version does not know"},
		{KindEnter, "enter", FamilyEnter, nil, nil, "the lanes began the kernel"},
		{KindExit, "exit", FamilyExit, nil, nil, "the lanes ended the kernel"},
		{KindBarArrive, "bar.arrive", FamilyBar, bar, []Field{FieldAligned}, "arrive on a named barrier without waiting"},
		{KindBarSync, "bar.sync", FamilyBar, bar, []Field{FieldAligned}, "arrive on a named barrier and wait for the phase"},
		{KindBarRed, "bar.red", FamilyBar, append([]Field{FieldRed, FieldPred}, bar...), []Field{FieldAligned}, "arrive, wait and reduce a predicate over the participants"},
		{KindBarDone, "bar.done", FamilyBar, []Field{FieldBar}, []Field{FieldResult}, "the lanes came out of a bar.sync or bar.red"},
		{KindMbarInit, "mbar.init", FamilyMbar, []Field{FieldAddr, FieldCount}, nil, "initialise an mbarrier with its expected arrivals"},
		{KindMbarInval, "mbar.inval", FamilyMbar, []Field{FieldAddr}, nil, "make the memory of an mbarrier ordinary again"},
		{KindMbarArrive, "mbar.arrive", FamilyMbar, []Field{FieldAddr}, arrive, "arrive on an mbarrier"},
		{KindMbarArriveDrop, "mbar.arrive_drop", FamilyMbar, []Field{FieldAddr}, append([]Field{FieldBytes}, arrive...), "arrive, and lower the expected arrivals of the phases that follow"},
		{KindMbarArriveNoComplete, "mbar.arrive_nocomplete", FamilyMbar, []Field{FieldAddr}, arrive, "arrive with the promise that this does not complete the phase"},
		{KindMbarExpectTx, "mbar.expect_tx", FamilyMbar, []Field{FieldAddr}, []Field{FieldBytes, FieldOwnerCTA, FieldSem}, "announce transaction bytes"},
		{KindMbarArriveExpectTx, "mbar.arrive_expect_tx", FamilyMbar, []Field{FieldAddr}, append([]Field{FieldBytes}, arrive...), "announce transaction bytes, then arrive"},
		{KindMbarCpAsyncArrive, "mbar.cp_async_arrive", FamilyMbar, []Field{FieldAddr}, []Field{FieldNoInc}, "arrive once the lane's earlier cp.async copies have completed"},
		{KindMbarCopy, "mbar.copy", FamilyMbar, []Field{FieldAddr}, []Field{FieldBytes, FieldOwnerCTA, FieldCTAMask}, "issue an asynchronous copy that will complete_tx its bytes on the mbarrier"},
		{KindMbarCompleteTx, "mbar.complete_tx", FamilyMbar, []Field{FieldAddr}, []Field{FieldBytes, FieldOwnerCTA, FieldSem}, "complete transaction bytes"},
		{KindMbarWait, "mbar.wait", FamilyMbar, []Field{FieldAddr}, wait, "began to wait for a phase"},
		{KindMbarDone, "mbar.done", FamilyMbar, []Field{FieldAddr}, wait, "the wait succeeded"},
		{KindMbarTest, "mbar.test", FamilyMbar, []Field{FieldAddr}, append([]Field{FieldResult}, wait...), "one test_wait with its answer; not a wait"},
		{KindClusterArrive, "cluster.arrive", FamilyCluster, nil, []Field{FieldAligned, FieldSem}, "arrive on the cluster's barrier"},
		{KindClusterWait, "cluster.wait", FamilyCluster, nil, []Field{FieldAligned, FieldSem}, "began to wait on the cluster's barrier"},
		{KindClusterDone, "cluster.done", FamilyCluster, nil, nil, "came out of the cluster's barrier"},
		{KindGroupArrive, "group.arrive", FamilyGroup, []Field{FieldGroup}, append([]Field{FieldCount}, token...), "arrive on a cooperative group's barrier"},
		{KindGroupWait, "group.wait", FamilyGroup, []Field{FieldGroup}, token, "began to wait on a cooperative group's barrier"},
		{KindGroupDone, "group.done", FamilyGroup, []Field{FieldGroup}, token, "came out of a cooperative group's barrier"},
		{KindCompletionBegin, "completion.begin", FamilyCompletion, []Field{FieldAddr}, nil, "the barrier's completion function began on that lane"},
		{KindCompletionEnd, "completion.end", FamilyCompletion, []Field{FieldAddr}, nil, "the completion function ended"},
		{KindSyncwarp, "syncwarp", FamilySyncwarp, []Field{FieldMask}, []Field{FieldSem}, "began to wait for the lanes of the mask"},
		{KindSyncwarpDone, "syncwarp.done", FamilySyncwarp, []Field{FieldMask}, nil, "the lanes of the mask have met"},
		{KindTrap, "trap", FamilyOther, nil, []Field{FieldReason}, "the lanes trapped: the launch is over"},
		{KindMark, "mark", FamilyOther, []Field{FieldText}, nil, "a user's annotation"},
		{KindGap, "gap", FamilyOther, []Field{FieldLost}, nil, "events of this warp were dropped or cut here"},
	}
}
