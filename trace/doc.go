// Package trace is what a barrier trace is: the events that a GPU kernel's
// warps make on barriers, the file that keeps them, and the line-by-line
// JSON form in which they are exchanged.
//
// The vocabulary stands in two tables, Kinds and Operands; everything that
// writes, reads or prints events follows them.
//
// A Writer takes batches of events and writes blocks of columns with bounded
// memory, so that what is written is of use even if the recording dies. A
// Reader hands the blocks out again in stored order, whatever happened to the
// file since: blocks that are whole are given back, the others are named in
// Damage. A RawReader walks a file's frames without believing anything in
// it, and Reader.Check holds the events against their launch and the tables.
// ImportNDJSON and ExportNDJSON speak the exchange form.
//
// The package knows nothing of what events mean to a barrier: that is
// replay's. What others compute from a trace may be kept in its file as
// sections, which this package stores and does not read.
//
// FORMAT.md describes the file and the lines.
package trace
