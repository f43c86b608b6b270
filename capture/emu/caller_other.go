//go:build !amd64

package emu

import "runtime"

// callerPC returns the return address of the operation that called here.
func callerPC() uintptr {
	var pcs [1]uintptr
	runtime.Callers(4, pcs[:])
	return pcs[0]
}
