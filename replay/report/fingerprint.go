package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"btrace/replay"
	"btrace/replay/barrier"
	"btrace/replay/rules"
	"btrace/trace"
)

// Site is what stays the same of a finding when its kernel is recorded again:
// the rule, the kernel, the barrier as the program names it, and the line. It
// does not hold what a run makes up anew: times, launch ids, CTAs, phases,
// addresses in shared memory, the folder of the checkout.
type Site struct {
	Fingerprint string // 32 hexadecimal digits, made of all the rest
	Rule        barrier.Rule
	About       string // "hang_cross: bar:1 at corpus.cu:396"
}

// SiteOf is the site of a finding of a launch.
func SiteOf(f *replay.Finding, l *trace.Launch) Site {
	kernel := cmp.Or(l.Kernel, l.Mangled)
	what := barrierSite(f.Barrier)
	at := f.Location
	at.File = at.File[strings.LastIndexAny(at.File, `/\`)+1:]
	place := source(at)

	h := sha256.New()
	// Quoted, so that no name can run into the next. A change here is another
	// version of baselines and of the key in SARIF.
	fmt.Fprintf(h, "%q %q %q %q", f.Rule, kernel, what, place)

	about := kernel
	if what != "" {
		about += ": " + what
	}
	if place != "" {
		about += " at " + place
	}
	return Site{Fingerprint: hex.EncodeToString(h.Sum(nil)[:16]), Rule: f.Rule, About: about}
}

// barrierSite names a barrier as the program does: a named barrier has its
// number in the code, the address of an mbarrier is the compiler's choice, and
// which warp was caught at a syncwarp is chance.
func barrierSite(b trace.Barrier) string {
	switch b.Kind {
	case trace.BarrierMbar:
		return "mbar"
	case trace.BarrierWarp:
		return "warp"
	}
	return b.String()
}

// ofRecording reports whether a rule is about the recording and not about the
// kernel.
func ofRecording(r barrier.Rule) bool { return r == rules.TraceGap || r == rules.TraceTruncated }
