package interp

import "btrace/capture/ptx"

// allocation says which registers share a place in the register file.
type allocation struct{}

func allocate([]line, map[*ptx.Label]int32) allocation { return allocation{} }

func (a allocation) register(l *lowering, index int) int32 { return l.scratch() }
