// Package replay runs a recorded launch again through the barrier models and
// says what happened: which phases completed, which rules were broken, who
// waited for whom when it hung, and what every warp and barrier did at any
// moment.
//
// It believes events, not outcomes or names. Program order per lane, and that
// nobody leaves a wait before its phase completes, are facts. Recorded times
// only choose among what is possible next: an arrive may be recorded after
// its effect, so an event that is not possible yet is parked until others
// make it so. When nothing can go on, the earliest parked event contradicts
// every order, and that is a violation.
//
// A scope is what is replayed together: the CTAs of a cluster, or the whole
// launch where a grid-wide barrier joins them. Scopes share nothing and are
// replayed side by side.
//
// The package is not a scheduler: what other schedules of the same program
// could do is not its question.
package replay
