package emu

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"btrace/trace"
)

// The limits of an sm_90 device (CUDA C++ Programming Guide, "Technical
// Specifications per Compute Capability").
const (
	MaxThreads = 1024      // in a CTA
	MaxCluster = 16        // CTAs in a cluster
	MaxShared  = 227 << 10 // bytes of shared memory of a CTA
	maxBlockZ  = 64
	maxGridX   = 1<<31 - 1
	maxGridYZ  = 1<<16 - 1
	// maxTogether is how many threads a device holds at once: 132 SMs of
	// 2,048. A cooperative launch may not be larger.
	maxTogether = 132 * 2048
)

// MaxLaunch is how many threads a launch may have in all. A device takes
// more; the emulator would run for hours.
const MaxLaunch = 1 << 24

// The schedules.
const (
	// RoundRobin runs whoever is ready first, in turn.
	RoundRobin = "rr"
	// Random runs anybody who can go on, however long it takes until then:
	// a warp may be held up at any operation, and so may a copy.
	Random = "random"
	// PCT gives every warp and copy a random priority and always runs the
	// highest, except that at a few random steps the one about to run falls
	// behind all others. A bug that needs d things to happen in a certain
	// order is found with a probability that does not shrink with the number
	// of interleavings (Burckhardt, Kothari, Musuvathi, Nagarakatte: "A
	// Randomized Scheduler with Probabilistic Guarantees of Finding Bugs",
	// ASPLOS 2010). Who polls falls behind as well: otherwise it would keep
	// those from running that it polls for.
	PCT = "pct"
)

// Schedules lists the names that Config.Schedule may have.
func Schedules() []string { return []string{RoundRobin, Random, PCT} }

// ErrConfig is wrapped by the errors about a launch that no device would
// take, or that the emulator does not.
var ErrConfig = errors.New("cannot launch")

// Config says how a kernel is launched. The zero Config is one thread.
type Config struct {
	Grid    trace.Dim // CTAs; an extent of zero counts as one
	Block   trace.Dim // threads of a CTA
	Cluster trace.Dim // CTAs of a cluster
	Shared  int       // bytes of dynamic shared memory of a CTA
	// Schedule is RoundRobin, which is also "", Random, PCT, or what
	// Result.Schedule gave: then the launch goes the same way, as far as the
	// kernel and the rest of the configuration are the same.
	Schedule string
	// Seed chooses the interleaving under Random and PCT. It has no meaning
	// otherwise.
	Seed uint64
	// ChangePoints is at how many steps PCT may make the one about to run
	// fall behind; 0 means 3.
	ChangePoints int
	// Workers is how many clusters may run at the same time, each on a core
	// of its own. The result and the events do not depend on it, as long as
	// the kernel lets clusters share memory only through Atomic; plain memory
	// that they share, that of variables outside of the kernel included,
	// would be a data race. 0 and 1 mean that one runs after the other: then
	// the kernel may do what it likes.
	Workers int
	Launch  uint32 // the launch number that events carry
	// Cooperative makes all CTAs resident at once, so that Thread.ThisGrid
	// can synchronise them. They have one scheduler and run on one core.
	Cooperative bool
	// StepBudget is how many warp operations the launch may take before it
	// is given up as hung; 0 means 1<<26.
	StepBudget uint64
	// SpinBudget is how many turns every lane may poll (Thread.Spin, a test
	// that fails, an Atomic.Load of the same again) while no lane does
	// anything else, before the launch is given up as hung; 0 means 1,000.
	SpinBudget uint64
	// Progress, if there is one, is told now and then that so many more CTAs
	// have come to their end.
	Progress func(ctas uint64)
}

const (
	defaultStepBudget   = 1 << 26
	defaultSpinBudget   = 1000
	defaultChangePoints = 3
	maxChangePoints     = 1000
)

// Prepare fills in the defaults and checks the limits. Launch does it too.
func (c Config) Prepare() (Config, error) {
	for _, d := range []*trace.Dim{&c.Grid, &c.Block, &c.Cluster} {
		for i := range d {
			d[i] = max(d[i], 1)
		}
	}
	if c.Schedule == "" {
		c.Schedule = RoundRobin
	}
	if c.ChangePoints == 0 {
		c.ChangePoints = defaultChangePoints
	}
	if c.StepBudget == 0 {
		c.StepBudget = defaultStepBudget
	}
	if c.SpinBudget == 0 {
		c.SpinBudget = defaultSpinBudget
	}
	return c, c.check()
}

func (c *Config) check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrConfig, fmt.Sprintf(format, args...))
	}
	switch g, b := c.Grid, c.Block; {
	case b[0] > MaxThreads || b[1] > MaxThreads || b[2] > maxBlockZ || b.Size() > MaxThreads:
		return bad("a block of %s threads: a CTA has at most %d, and %d in z", dims(b), MaxThreads, maxBlockZ)
	case g[0] > maxGridX || g[1] > maxGridYZ || g[2] > maxGridYZ || g.Size() > maxGridX:
		return bad("a grid of %s CTAs: at most %d in all, and %d in y and z", dims(g), maxGridX, maxGridYZ)
	case c.Cluster[0] > MaxCluster || c.Cluster[1] > MaxCluster || c.Cluster[2] > MaxCluster || c.Cluster.Size() > MaxCluster:
		return bad("a cluster of %s CTAs: at most %d", dims(c.Cluster), MaxCluster)
	case c.Shared < 0 || c.Shared > MaxShared:
		return bad("%d bytes of shared memory: a CTA has at most %d", c.Shared, MaxShared)
	case c.Cooperative && g.Size()*b.Size() > maxTogether:
		return bad("a cooperative grid of %d threads: at most %d fit on the device at once", g.Size()*b.Size(), maxTogether)
	case g.Size()*b.Size() > MaxLaunch:
		return bad("%d CTAs of %d threads: the emulator takes %d threads in all, make the grid smaller", g.Size(), b.Size(), MaxLaunch)
	case c.ChangePoints < 0 || c.ChangePoints > maxChangePoints:
		return bad("%d change points: want 1 to %d, or 0 for %d", c.ChangePoints, maxChangePoints, defaultChangePoints)
	}
	for i := range c.Grid {
		if c.Grid[i]%c.Cluster[i] != 0 {
			return bad("a grid of %s CTAs is not whole clusters of %s", dims(c.Grid), dims(c.Cluster))
		}
	}
	if isScript(c.Schedule) {
		if _, err := parseScript(c.Schedule); err != nil {
			return bad("%v", err)
		}
		return nil
	}
	if all := Schedules(); !slices.Contains(all, c.Schedule) {
		return bad("unknown schedule %q: want %s or %s", c.Schedule, strings.Join(all[:len(all)-1], ", "), all[len(all)-1])
	}
	return nil
}

func dims(d trace.Dim) string { return fmt.Sprintf("%dx%dx%d", d[0], d[1], d[2]) }
