// Package kernels is a gallery of kernels for the emulator: the documented
// patterns of barrier use, and the bugs that people make in them. Every one
// says what a replay of its recording must find. Every pattern has a twin that
// works by luck only.
package kernels

import (
	"embed"
	"fmt"
	"slices"

	"btrace/capture/emu"
	"btrace/replay/barrier"
	"btrace/trace"
)

// Kernel is a kernel of the gallery.
type Kernel struct {
	Name   string // lower case, with dashes
	Doc    string // one sentence: what it shows
	Expect Expect
	// Racy is true for a bug that does its harm under some schedules only,
	// that of emu.RoundRobin among them.
	Racy                 bool
	Grid, Block, Cluster trace.Dim // the launch that it is written for
	// Param is the number that the kernel takes; nil for a kernel that takes
	// none.
	Param *Param
	Run   func(*emu.Thread)
	// Check says whether the results of a launch that completed are right;
	// nil for a kernel that does not complete.
	Check func(emu.Result) error
}

// Expect is what a replay finds in a recording of a kernel.
type Expect struct {
	Verdict string       // clean, violation (it traps) or deadlock
	Rule    barrier.Rule // the root of the hang, or the worst violation; "" for none
	Barrier string       // on which, as trace.Barrier writes it; "" for none or several
}

// Param is a number that a kernel takes: how much it has to do. With a large
// one, and a large grid, its recording is as large as anybody likes.
type Param struct {
	Name  string // what it counts: "tiles a CTA"
	Value int
	with  func(int) Kernel
}

// maxParam bounds what a kernel takes: what it keeps of every trip has to fit
// into memory.
const maxParam = 1 << 24

// With is the kernel with another number for its parameter.
func (k Kernel) With(n int) (Kernel, error) {
	switch {
	case k.Param == nil:
		return k, fmt.Errorf("kernel %s takes no argument", k.Name)
	case n < 1 || n > maxParam:
		return k, fmt.Errorf("kernel %s: %d %s: give 1 to %d", k.Name, n, k.Param.Name, maxParam)
	}
	return k.Param.with(n), nil
}

// The verdicts, as package replay calls them.
const (
	clean     = "clean"
	violation = "violation"
	deadlock  = "deadlock"
)

// All is the gallery: the patterns, then the bugs.
func All() []Kernel {
	return []Kernel{
		phaseCountdown(), splitArriveWait(), producerConsumer(), barrierReductions(), clusterExchange(), prefixSum(), tmaPipeline(),
		ringPipeline(), pingPong(), electedArrive(), earlyExit(), arriveAndDrop(), splitClusterSync(), tryWaitStream(),
		wrongEmptyCount(), countTooLow(), oneForAll(), allForOne(),
		wrongBytes(), tooFewBytes(), noBytes(), bytesOfOneCTA(),
		missingInit(), racedInit(), repeatedInit(),
		wrongParity(), skippedFlip(), foreignToken(),
		lostArrive(), tripCounts(), earlyReturn(), exitWithoutDrop(), missingPeer(),
		runAhead(), sharedID(), circularWait(), circleOfThree(), waitingCompletion(),
	}
}

// Lookup finds a kernel by its name.
func Lookup(name string) (Kernel, bool) {
	all := All()
	i := slices.IndexFunc(all, func(k Kernel) bool { return k.Name == name })
	if i < 0 {
		return Kernel{}, false
	}
	return all[i], true
}

// Names lists the names of all kernels.
func Names() []string {
	var names []string
	for _, k := range All() {
		names = append(names, k.Name)
	}
	return names
}

//go:embed *.go
var sources embed.FS

// Source is the text of a source file of the gallery, by its base name, as
// recordings name it.
func Source(file string) (string, bool) {
	b, err := sources.ReadFile(file)
	return string(b), err == nil
}

// jitter makes times that look like work: up to span ns, always the same for
// the same x.
func jitter(x, span int) int64 {
	h := uint32(x)*0x9e3779b9 + 0x7f4a7c15
	h ^= h >> 15
	h *= 0x846ca68b
	h ^= h >> 13
	return int64(h % uint32(span))
}
