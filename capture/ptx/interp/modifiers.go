package interp

import (
	"slices"
	"strings"

	"btrace/capture/ptx"
	"btrace/capture/ptx/arith"
)

// What an instruction does not take is refused, and not passed over: a
// modifier of a newer ISA may change what it means. Arithmetic and matrix
// instructions are looked up with all of theirs elsewhere; what does nothing
// here does it with any.

// The groups of modifiers that several instructions have.
const (
	spaces = " global shared shared::cta shared::cluster local param param::entry param::func const "
	scopes = " cta cluster gpu sys "
	caches = " ca cg cs lu cv wb wt L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate " +
		"L2::evict_normal L2::evict_first L2::evict_last L2::cache_hint L2::64B L2::128B L2::256B "
	operations = " add inc dec min max and or xor exch cas noftz "
	vectors    = " v2 v4 v8 "
)

// taken is the modifiers that an instruction may have, types apart; not ok if
// it may have any.
func taken(i *ptx.Instruction) (mods string, ok bool) {
	has := func(m string) bool { return slices.Contains(i.Mods, m) }
	switch i.Op {
	case "mov", "trap", "brkpt", "exit", "selp", "activemask", "nanosleep":
		return "", true
	case "cvta":
		return "to" + spaces, true
	case "isspacep":
		return spaces, true
	case "mapa", "getctarank":
		return "shared::cluster", true
	case "ld", "ldu":
		return "weak volatile relaxed acquire mmio nc" + scopes + spaces + caches + vectors, true
	case "st":
		return "weak volatile relaxed release mmio async mbarrier::complete_tx::bytes" + scopes + spaces + caches + vectors, true
	case "atom", "red":
		return "relaxed acquire release acq_rel async mbarrier::complete_tx::bytes L2::cache_hint" + scopes + spaces + operations + vectors, true
	case "bra", "call", "ret":
		return "uni", true
	case "brx":
		return "idx uni", true
	case "bar", "barrier":
		return "sync arrive wait red warp cta cluster popc and or aligned acquire release relaxed", true
	case "mbarrier":
		return "init inval arrive arrive_drop expect_tx complete_tx test_wait try_wait pending_count noComplete parity " +
			"relaxed acquire release shared shared::cta shared::cluster" + scopes, true
	case "shfl":
		return "sync up down bfly idx", true
	case "vote":
		return "sync all any uni ballot", true
	case "match":
		return "sync all any", true
	case "redux":
		return "sync add min max and or xor", true
	case "elect":
		return "sync", true
	case "cp":
		switch {
		case has("tensor") || has("prefetch"):
			return "", false
		case has("bulk"):
			return "async bulk commit_group wait_group read bulk_group mbarrier::complete_tx::bytes multicast::cluster cp_mask reduce " +
				"L2::cache_hint global shared::cta shared::cluster" + operations, true
		}
		return "async commit_group wait_group wait_all mbarrier arrive noinc global shared shared::cta" + caches, true
	}
	return "", false
}

// unknownModifier is the first modifier that an instruction does not take.
func unknownModifier(i *ptx.Instruction) (mod string, found bool) {
	mods, ok := taken(i)
	if !ok {
		return "", false
	}
	list := strings.Fields(mods)
	for _, m := range i.Mods {
		if _, isType := ptx.TypeSize(m); !isType && !slices.Contains(list, m) {
			if _, isType := arith.ParseType(m); !isType {
				return m, true
			}
		}
	}
	return "", false
}
