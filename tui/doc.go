// Package tui is the terminal viewer of a trace: time runs right, barriers and
// warps are rows, and one focus (a time, a row, a barrier) is what every pane
// shows.
//
// It draws from a replay.Timeline and never reads a file: what it needs of a
// launch it asks for in commands outside the frame, one at a time and
// cancellably, and a frame draws what has arrived. A frame therefore costs
// what is visible and nothing else; what is written to the terminal is the
// cells that have changed, when something has. Every key stands in one table,
// Commands; key handling, the help, the palette, KEYS.md and the tests are made
// from it. Script drives the same program without a terminal.
//
// It is not a general widget kit, and it decides nothing about a trace: every
// verdict, state and phase on the screen comes from replay.
package tui
