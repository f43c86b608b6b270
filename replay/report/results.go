package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"btrace/replay"
	"btrace/replay/barrier"
	"btrace/replay/rules"
	"btrace/trace"
)

// Results is one document of the JSON form, read back.
type Results struct {
	Name  string // of the file that it came from
	Files []File
	End   End
}

// maxTrace and maxResults bound how much of a document is read: what is said
// of one trace, and all of it.
const (
	maxTrace   = 64 << 20
	maxResults = 1 << 30
)

// maxTimes is more often than anything can be found: sums of it do not
// overflow.
const maxTimes = 1 << 48

// ReadResults reads documents of the JSON form, one after the other. A file
// that it gives back writes the same in every format as the one that was
// written.
func ReadResults(name string, r io.Reader) ([]Results, error) {
	in := &bounded{r: r, total: maxResults}
	dec := json.NewDecoder(in)
	dec.DisallowUnknownFields()
	var all []Results
	for {
		in.part = maxTrace
		res := Results{Name: name}
		err := res.read(dec, in)
		switch {
		case err == io.EOF && len(all) > 0:
			return all, nil
		case err == io.EOF:
			return nil, fmt.Errorf("%s: has no results in it (`btrace validate --format json` writes them)", name)
		case err != nil:
			return nil, fmt.Errorf("%s: byte %d: not results of `btrace validate --format json`: %w", name, dec.InputOffset(), err)
		}
		all = append(all, res)
	}
}

// read reads a document; io.EOF means that there is none.
func (res *Results) read(dec *json.Decoder, in *bounded) error {
	if err := delim(dec, '{'); err != nil {
		return err
	}
	seen := map[string]bool{}
	for dec.More() {
		in.part = maxTrace
		t, err := dec.Token()
		if err != nil {
			return inside(err)
		}
		key := t.(string) // in an object, and not at its end
		if seen[key] {
			return fmt.Errorf("it has %.40q twice", key)
		}
		seen[key] = true
		if err := res.member(dec, in, key); err != nil {
			return inside(err)
		}
	}
	if err := delim(dec, '}'); err != nil {
		return inside(err)
	}
	switch {
	case !seen["version"]:
		return errors.New("it has no version")
	case !seen["traces"]:
		return errors.New("it has no traces")
	case seen["baseline"] != seen["gone"], seen["baseline"] && res.End.Baseline == "":
		return errors.New("of a baseline it has the name or what is gone, but not both")
	}
	for i := range res.Files {
		f := &res.Files[i]
		if f.Report == nil || seen["baseline"] {
			continue
		}
		if slices.Contains(f.Known, true) {
			return errors.New("it has known findings, but no baseline")
		}
		f.Known = nil
	}
	return nil
}

// member reads a value of a document.
func (res *Results) member(dec *json.Decoder, in *bounded, key string) error {
	switch key {
	case "version":
		var v int
		if err := dec.Decode(&v); err != nil {
			return err
		}
		if v != 1 {
			return fmt.Errorf("version %d, this btrace reads version 1", v)
		}
		return nil
	case "traces":
		return res.traces(dec, in)
	case "baseline":
		return dec.Decode(&res.End.Baseline)
	case "gone":
		var gone []siteJSON
		if err := dec.Decode(&gone); err != nil {
			return err
		}
		for _, s := range gone {
			if !isFingerprint(s.Fingerprint) {
				return errors.New("what is gone has a fingerprint that is not 32 digits")
			}
			res.End.Gone = append(res.End.Gone, Site(s))
		}
		return nil
	case "shard":
		var s shardJSON
		if err := dec.Decode(&s); err != nil {
			return err
		}
		if s.Index < 1 || s.Index > s.Of {
			return fmt.Errorf("there is no shard %d/%d", s.Index, s.Of)
		}
		res.End.Shard = (*Shard)(&s)
		return nil
	}
	return fmt.Errorf("unknown key %.40q (of a newer btrace?)", key)
}

func (res *Results) traces(dec *json.Decoder, in *bounded) error {
	if err := delim(dec, '['); err != nil {
		return err
	}
	for dec.More() {
		in.part = maxTrace
		var t traceJSON
		if err := dec.Decode(&t); err != nil {
			return err
		}
		f, err := t.file()
		if err != nil {
			return fmt.Errorf("trace %.80q: %w", t.File, err)
		}
		res.Files = append(res.Files, f)
	}
	return delim(dec, ']')
}

// delim reads a bracket.
func delim(dec *json.Decoder, want json.Delim) error {
	t, err := dec.Token()
	if err != nil {
		return err
	}
	if text, ok := t.(string); ok {
		return fmt.Errorf("want %v, got %.40q", want, text)
	}
	if t != want {
		return fmt.Errorf("want %v, got %v", want, t)
	}
	return nil
}

// inside is an error in the middle of a document.
func inside(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// bounded is a reader that ends with an error where a part, or the whole, is
// longer than anybody's results.
type bounded struct {
	r           io.Reader
	part, total int
}

func (b *bounded) Read(p []byte) (int, error) {
	switch {
	case b.part <= 0:
		return 0, fmt.Errorf("a trace with more than %d MB of results", maxTrace>>20)
	case b.total <= 0:
		return 0, fmt.Errorf("more than %d MB of results", maxResults>>20)
	}
	n, err := b.r.Read(p[:min(len(p), b.part, b.total)])
	b.part -= n
	b.total -= n
	return n, err
}

// errOther means that a document says what btrace does not say, or does not
// say in this way.
var errOther = errors.New("it is not what this version of btrace writes")

// file is what the entry was made from, as far as any format shows it.
func (t *traceJSON) file() (File, error) {
	f := File{Name: t.File}
	if t.Error != "" {
		f.Err = errors.New(t.Error)
	} else {
		f.Report = &replay.Report{Verdict: t.Verdict, Counts: replay.Counts(t.Counts)}
		f.Known = make([]bool, 0, len(t.Findings))
		if err := t.report(&f); err != nil {
			return f, err
		}
	}
	// Whatever else is wrong shows when it is written again.
	if !reflect.DeepEqual(*t, newTrace(f)) {
		return f, errOther
	}
	return f, nil
}

func (t *traceJSON) report(f *File) error {
	if !isVerdict(t.Verdict) {
		return fmt.Errorf("unknown verdict %.40q", t.Verdict)
	}
	ids := map[uint32]bool{}
	for _, l := range t.Launches {
		if !isVerdict(l.Verdict) {
			return fmt.Errorf("launch %d: unknown verdict %.40q", l.ID, l.Verdict)
		}
		if ids[l.ID] {
			return fmt.Errorf("it has launch %d twice", l.ID)
		}
		ids[l.ID] = true
		f.Report.Launches = append(f.Report.Launches, replay.LaunchReport{
			Launch: trace.Launch{
				ID: l.ID, Kernel: l.Kernel, Mangled: l.Mangled, Outcome: l.Outcome,
				// The size of the block is not told. With this one a warp is
				// whole where its name says so.
				Block: trace.Dim{1024, 1, 1},
			},
			Verdict: l.Verdict, Incomplete: l.Incomplete, Schedules: replay.Schedules{Proved: l.Proved},
		})
	}
	for i := range t.Findings {
		x, err := t.Findings[i].finding()
		if err != nil {
			return fmt.Errorf("finding %d: %w", i+1, err)
		}
		f.Report.Findings = append(f.Report.Findings, x)
		f.Known = append(f.Known, t.Findings[i].Known)
	}
	return nil
}

func isVerdict(v replay.Verdict) bool {
	switch v {
	case replay.Clean, replay.Violation, replay.Deadlock, replay.Incomplete:
		return true
	}
	return false
}

func (x *findingJSON) finding() (replay.Finding, error) {
	f := replay.Finding{
		Rule: barrier.Rule(x.Rule), Severity: rules.Severity(x.Severity), Root: x.Root, Launch: x.Launch,
		Time: x.Time, Message: x.Message, Hint: x.Hint, Location: x.Location.location(), Story: x.Story, More: x.More, Unlisted: x.Unlisted,
	}
	if x.Elsewhere != nil {
		f.Elsewhere = replay.Elsewhere(*x.Elsewhere)
	}
	for _, n := range []int{f.More, f.Unlisted, f.Elsewhere.CTAs, f.Elsewhere.Times} {
		if n < 0 || n > maxTimes {
			return f, fmt.Errorf("found %d times", n)
		}
	}
	switch f.Severity {
	case rules.Error, rules.Warning, rules.Note:
	default:
		return f, fmt.Errorf("unknown severity %.40q", x.Severity)
	}
	var err error
	read := func(cta uint32, barrier string, phase uint64) replay.BarrierRef {
		b, e := parseBarrier(barrier)
		err = errors.Join(err, e)
		return replay.BarrierRef{CTA: cta, Barrier: b, Phase: phase}
	}
	lanes := func(names []string, cta uint32) []replay.Lanes {
		list, e := parseThreads(names, cta)
		err = errors.Join(err, e)
		return list
	}
	f.BarrierRef = read(x.CTA, x.Barrier, x.Phase)
	f.Threads, f.Missing = lanes(x.Threads, x.CTA), lanes(x.Missing, x.CTA)
	for _, e := range x.Events {
		f.Events = append(f.Events, replay.EventRef(e))
	}
	for _, name := range x.Cycle {
		cta, name, e := cutCTA(name, x.CTA)
		err = errors.Join(err, e)
		f.Cycle = append(f.Cycle, read(cta, name, 0))
	}
	for _, b := range x.Behind {
		f.Behind = append(f.Behind, replay.Wait{
			BarrierRef: read(b.CTA, b.Barrier, b.Phase), Threads: lanes(b.Threads, b.CTA), Since: b.Since, Location: b.Location.location(),
		})
	}
	if err != nil {
		return f, errOther
	}
	return f, nil
}

func (l *locationJSON) location() replay.Location {
	if l == nil {
		return replay.Location{}
	}
	return replay.Location(*l)
}

// parseBarrier reads a barrier's name; a finding may be about none.
func parseBarrier(s string) (trace.Barrier, error) {
	if s == "" {
		return trace.Barrier{}, nil
	}
	return trace.ParseBarrier(s)
}

// parseThreads reads what rules.Threads writes. In a CTA of 1024 threads that
// writes the same again.
func parseThreads(names []string, cta uint32) ([]replay.Lanes, error) {
	var out []replay.Lanes
	for _, s := range names {
		in, name, err := cutCTA(s, cta)
		if err != nil {
			return nil, err
		}
		warp, part, some := strings.Cut(name, ":l")
		n, ok := strings.CutPrefix(warp, "w")
		w, err := strconv.ParseUint(n, 10, 32)
		mask := uint64(math.MaxUint32)
		if some && err == nil {
			mask, err = parseLanes(part)
		}
		if !ok || err != nil {
			return nil, errOther
		}
		out = append(out, replay.Lanes{CTA: in, Warp: uint32(w), Mask: uint32(mask)})
	}
	return out, nil
}

// parseLanes reads "5" or "0-7".
func parseLanes(s string) (mask uint64, err error) {
	from, to, several := strings.Cut(s, "-")
	a, err := strconv.ParseUint(from, 10, 5)
	b := a
	if several && err == nil {
		b, err = strconv.ParseUint(to, 10, 5)
	}
	if err != nil || b < a {
		return 0, errOther
	}
	return 1<<(b+1) - 1<<a, nil
}

// cutCTA takes the prefix "cta2/" of a name; without one it is in the given
// CTA.
func cutCTA(s string, cta uint32) (uint32, string, error) {
	other, ok := strings.CutPrefix(s, "cta")
	if !ok {
		return cta, s, nil
	}
	n, name, _ := strings.Cut(other, "/")
	c, err := strconv.ParseUint(n, 10, 32)
	return uint32(c), name, err
}
