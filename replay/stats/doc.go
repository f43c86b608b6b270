// Package stats says where the warps of a launch wait: on which barriers and
// at which lines, for how long, and for whom.
//
// It listens to a replay, so that a wait and an arrival are in the phase that
// the barrier's model says. A wait is lanes of a warp that begin to wait
// together and come out together, from the time of the event before to that
// of the event after it; it counts once, however many lanes it is. A wait
// whose end is not recorded, as in a launch that hangs, is counted as such and
// adds no time.
//
// Times are what the recorder wrote, in nanoseconds: the time that it took to
// write is in them. Barriers of the same name in different CTAs are counted
// together. What is kept does not grow with the events of the trace: quantiles
// come from histograms (see Distribution).
//
// The package is not a profiler: it does not know what a warp does between
// barriers.
package stats
