package ptx

import "strconv"

// SpecialRegister is a predefined, read-only register (PTX ISA, "Special
// Registers").
type SpecialRegister struct {
	Name   string // %tid
	Type   string // u32, b32, u64, pred: of it or of each component
	Vector bool   // it has the components x, y and z, and w, which is 0
}

// Special returns the special register of a name such as %tid or %envreg31;
// not ok if there is none.
func Special(name string) (r SpecialRegister, ok bool) {
	scalar := func(typ string) (SpecialRegister, bool) { return SpecialRegister{name, typ, false}, true }
	switch name {
	case "%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid":
		return SpecialRegister{name, "u32", true}, true
	case "%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid",
		"%lanemask_eq", "%lanemask_le", "%lanemask_lt", "%lanemask_ge", "%lanemask_gt",
		"%clock", "%clock_hi", "%globaltimer_lo", "%globaltimer_hi",
		"%cluster_ctarank", "%cluster_nctarank", "%total_smem_size", "%dynamic_smem_size", "%aggr_smem_size":
		return scalar("u32")
	case "%reserved_smem_offset_begin", "%reserved_smem_offset_end", "%reserved_smem_offset_cap",
		"%reserved_smem_offset_0", "%reserved_smem_offset_1":
		return scalar("b32")
	case "%gridid", "%clock64", "%globaltimer", "%current_graph_exec":
		return scalar("u64")
	case "%is_explicit_cluster":
		return scalar("pred")
	}
	for prefix, n := range numbered(name) {
		switch {
		case prefix == "%envreg" && n < 32:
			return scalar("b32")
		case prefix == "%pm" && n < 8:
			return scalar("u32")
		}
	}
	for i := range 8 {
		if name == "%pm"+strconv.Itoa(i)+"_64" {
			return scalar("u64")
		}
	}
	return SpecialRegister{}, false
}
