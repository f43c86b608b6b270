package barrier

// Rule is the id of a rule: a slug, the same in every output.
type Rule string

// The violations that the models of this package can commit.
const (
	BarIDRange             Rule = "bar-id-range"
	BarCountNotMultiple    Rule = "bar-count-not-warp-multiple"
	BarCountMissing        Rule = "bar-count-missing"
	BarCountExceedsCTA     Rule = "bar-count-exceeds-cta"
	BarCountMismatch       Rule = "bar-count-mismatch"
	BarRedMixed            Rule = "bar-red-mixed"
	BarRedOpMismatch       Rule = "bar-red-op-mismatch"
	BarOverrun             Rule = "bar-overrun"
	BarDivergent           Rule = "bar-divergent"
	MbarUninitialized      Rule = "mbar-uninitialized"
	MbarReinit             Rule = "mbar-reinit"
	MbarAfterInval         Rule = "mbar-after-inval"
	MbarCountRange         Rule = "mbar-count-range"
	MbarOverArrival        Rule = "mbar-over-arrival"
	MbarStaleToken         Rule = "mbar-stale-token"
	MbarNoCompleteComplete Rule = "mbar-nocomplete-completes"
	MbarDropToZero         Rule = "mbar-drop-to-zero"
	MbarTxRange            Rule = "mbar-tx-range"
	GroupArriveTwice       Rule = "group-arrive-twice"
	GroupToken             Rule = "group-token"
	GroupWaitWithoutArrive Rule = "group-wait-without-arrive"
	ClusterArriveTwice     Rule = "cluster-arrive-twice"
	ClusterWaitFirst       Rule = "cluster-wait-before-arrive"
	ClusterMissingWait     Rule = "cluster-missing-wait"
	SyncwarpExcludesCaller Rule = "syncwarp-mask-excludes-caller"
)

// Rules lists them.
func Rules() []Rule {
	return []Rule{
		BarIDRange, BarCountNotMultiple, BarCountMissing, BarCountExceedsCTA, BarCountMismatch, BarRedMixed,
		BarRedOpMismatch, BarOverrun, BarDivergent, MbarUninitialized, MbarReinit, MbarAfterInval, MbarCountRange,
		MbarOverArrival, MbarStaleToken, MbarNoCompleteComplete, MbarDropToZero, MbarTxRange, GroupArriveTwice,
		GroupToken, GroupWaitWithoutArrive, ClusterArriveTwice, ClusterWaitFirst, ClusterMissingWait,
		SyncwarpExcludesCaller,
	}
}
