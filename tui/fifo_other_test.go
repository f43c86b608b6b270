//go:build !unix

package tui

// makeFIFO makes nothing: pipes are no files here.
func makeFIFO(string) error { return nil }
