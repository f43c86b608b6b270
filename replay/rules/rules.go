// Package rules is the catalogue of what btrace can find in a trace: for
// every rule its severity, what it means to the author of a kernel, the
// section of the public documents that it comes from, and what to change.
//
// It is text, not logic: the models of replay/barrier, replay and diagnose
// decide when a rule is broken and name it by its id.
package rules

import (
	"slices"
	"sync"

	"btrace/replay/barrier"
	"btrace/replay/rules/similar"
)

// Severity is how bad a finding is; the verdict counts errors only.
type Severity string

// The severities.
const (
	Error   Severity = "error"   // violates the specification, or hangs
	Warning Severity = "warning" // legal but fragile, or only another schedule breaks it
	Note    Severity = "note"
)

// Section is a place in a document.
type Section struct {
	Document string // "PTX ISA"
	Title    string // the heading, as the document writes it
}

// String is the form that users see.
func (s Section) String() string { return s.Document + `, "` + s.Title + `"` }

// Rule is an entry of the catalogue.
type Rule struct {
	ID       barrier.Rule
	Severity Severity
	Title    string    // what is wrong, in a few words
	Meaning  string    // what it means, in a few sentences
	Source   []Section // where the documents say so
	Hint     string    // what to change
	Example  string    // a few lines of code, wrong and right
}

// All returns the catalogue, in the order of its families: named barriers,
// mbarriers, completion functions, groups, clusters, warps, hangs, other
// schedules, and the recording itself.
func All() []Rule {
	return slices.Concat(named(), mbarrier(), collective(), hang(), hazard(), recording())
}

// Lookup returns the entry of the rule, and whether there is one.
func Lookup(id barrier.Rule) (Rule, bool) {
	r, ok := byID()[id]
	return r, ok
}

// byID is the catalogue, which nobody changes, by id: a replay looks a rule up
// for every finding.
var byID = sync.OnceValue(func() map[barrier.Rule]Rule {
	rules := make(map[barrier.Rule]Rule)
	for _, r := range All() {
		rules[r.ID] = r
	}
	return rules
})

// Nearest returns the ids that somebody who wrote s may have meant, best
// first; there may be none.
func Nearest(s string) []barrier.Rule {
	var ids []string
	for _, r := range All() {
		ids = append(ids, string(r.ID))
	}
	var out []barrier.Rule
	for _, name := range similar.Names(s, ids) {
		out = append(out, barrier.Rule(name))
	}
	return out
}

// The ids of what replay and diagnose find; those of the barrier models
// stand in package barrier.
const (
	BarRedResult    barrier.Rule = "bar-red-result"
	BarEarlyRelease barrier.Rule = "bar-early-release"
	BarTarget       barrier.Rule = "bar-target"

	MbarReuseBeforeWait   barrier.Rule = "mbar-reuse-before-wait"
	MbarWrongToken        barrier.Rule = "mbar-wrong-barrier-token"
	MbarEarlyRelease      barrier.Rule = "mbar-early-release"
	MbarRemoteOp          barrier.Rule = "mbar-remote-op"
	MbarExitWithoutArrive barrier.Rule = "mbar-exit-without-arrive"

	CompletionCount barrier.Rule = "completion-count"
	CompletionOrder barrier.Rule = "completion-order"

	GroupMissingThread      barrier.Rule = "group-missing-thread"
	GroupCollectiveInFlight barrier.Rule = "group-collective-in-flight"

	ClusterEarlyRelease barrier.Rule = "cluster-early-release"
	ClusterExitEarly    barrier.Rule = "cluster-exit-early"

	SyncwarpMissingLane barrier.Rule = "syncwarp-missing-lane"

	DeadlockCycle          barrier.Rule = "deadlock-cycle"
	DeadlockMissingArrival barrier.Rule = "deadlock-missing-arrival"
	DeadlockExited         barrier.Rule = "deadlock-exited"
	DeadlockCount          barrier.Rule = "deadlock-count"
	DeadlockTx             barrier.Rule = "deadlock-tx"
	DeadlockParity         barrier.Rule = "deadlock-parity"
	DeadlockExternal       barrier.Rule = "deadlock-external"
	HangUnexplained        barrier.Rule = "hang-unexplained"
	TrapUnexplained        barrier.Rule = "trap-unexplained"

	HazardRecycle  barrier.Rule = "hazard-recycle"
	HazardLap      barrier.Rule = "hazard-lap"
	HazardInit     barrier.Rule = "hazard-init"
	HazardTx       barrier.Rule = "hazard-tx"
	HazardDeadlock barrier.Rule = "hazard-deadlock"

	TraceTruncated barrier.Rule = "trace-truncated"
	TraceGap       barrier.Rule = "trace-gap"
)

func ptx(title string) Section {
	return Section{Document: "PTX ISA", Title: title}
}

func ptxSync(instruction string) Section {
	return ptx("Parallel Synchronization and Communication Instructions: " + instruction)
}

func guide(title string) Section {
	return Section{Document: "CUDA C++ Programming Guide", Title: title}
}

func format(title string) Section {
	return Section{Document: "btrace trace format (trace/FORMAT.md)", Title: title}
}
