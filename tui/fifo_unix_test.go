//go:build unix

package tui

import "syscall"

// makeFIFO makes a named pipe, which nobody writes to.
func makeFIFO(name string) error { return syscall.Mkfifo(name, 0o644) }
