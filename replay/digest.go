package replay

import (
	"cmp"
	"slices"

	"btrace/replay/barrier"
	"btrace/replay/rules"
	"btrace/trace"
)

// maxListed is how many CTAs have a finding of their own for one fault. A
// kernel with a bug has it in every CTA: a few show that, and let one compare;
// the others are counted.
const maxListed = 16

// maxPlaces bounds the places of a launch that are told apart. No kernel has
// so many: the addresses or lines of such a recording are made up.
const maxPlaces = 2 * maxFindings

// digest collects the findings of scopes as they end: what the same fault has
// in many CTAs is kept for the earliest of them. What it holds depends on what
// was added alone, and not on the order: workers have one each.
type digest struct {
	most   int // CTAs with a finding of their own; 0: maxListed
	places map[fault]*sightings
	// coarse is true once there were too many places: then only the rules are
	// told apart.
	coarse bool
}

// fault is what makes findings of several CTAs the same.
type fault struct {
	rule     barrier.Rule
	severity rules.Severity
	root     bool
	barrier  trace.Barrier
	location Location
}

// sightings is a fault in several CTAs.
type sightings struct {
	first    []sighting // the earliest, in order
	rest     rules.Elsewhere
	unlisted int
}

// sighting is a finding with its place in the order of all of a launch.
type sighting struct {
	scope uint32
	n     int // in the scope
	*Finding
}

func (a sighting) compare(b sighting) int {
	return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.CTA, b.CTA), cmp.Compare(a.scope, b.scope), cmp.Compare(a.n, b.n))
}

// take adds the findings of a scope that is over.
func (d *digest) take(scope uint32, list []*Finding) {
	for n, f := range list {
		d.at(fault{f.Rule, f.Severity, f.Root, f.Barrier, f.Location}).add(sighting{scope, n, f}, d)
	}
}

// at is where a fault is collected.
func (d *digest) at(k fault) *sightings {
	if !d.coarse && len(d.places) >= maxPlaces && d.places[k] == nil {
		d.coarsen()
	}
	if d.coarse {
		k.barrier, k.location = trace.Barrier{}, Location{}
	}
	s := d.places[k]
	if s == nil {
		s = &sightings{}
		if d.places == nil {
			d.places = make(map[fault]*sightings)
		}
		d.places[k] = s
	}
	return s
}

// coarsen tells only rules apart from now on.
func (d *digest) coarsen() {
	if d.coarse {
		return
	}
	fine := d.places
	d.places, d.coarse = nil, true
	d.join(fine)
}

// merge adds what another digest holds.
func (d *digest) merge(o *digest) {
	if o.coarse {
		d.coarsen()
	}
	d.join(o.places)
}

func (d *digest) join(places map[fault]*sightings) {
	for k, s := range places {
		// One after the other: any of them can be one place too many.
		into := d.at(k)
		for _, x := range s.first {
			into.add(x, d)
		}
		into.unlisted += s.unlisted
		if d.coarse {
			into.unlisted += s.rest.CTAs
			continue
		}
		into.miss(s.rest)
	}
}

// add puts a finding among the earliest, and counts the one for which there
// is no room; where places are not told apart, that may be the fault of any.
func (s *sightings) add(x sighting, d *digest) {
	i, _ := slices.BinarySearchFunc(s.first, x, sighting.compare)
	s.first = slices.Insert(s.first, i, x)
	last := cmp.Or(d.most, maxListed)
	if len(s.first) <= last {
		return
	}
	x = s.first[last]
	s.first = slices.Delete(s.first, last, last+1)
	s.unlisted += x.Unlisted
	if d.coarse {
		s.unlisted++
		return
	}
	s.miss(rules.Elsewhere{CTAs: 1, Times: 1 + x.More, Last: x.Time})
}

// miss counts what has no finding of its own.
func (s *sightings) miss(x rules.Elsewhere) {
	if s.rest.CTAs == 0 || x.CTAs > 0 && x.Last > s.rest.Last {
		s.rest.Last = x.Last
	}
	s.rest.CTAs += x.CTAs
	s.rest.Times += x.Times
}

// empty reports whether nothing was found.
func (d *digest) empty() bool { return len(d.places) == 0 }

// values copies the findings out, those of a scope in the order in which it
// found them. The earliest of a fault has the count of the others.
func (d *digest) values() []Finding {
	var all []sighting
	for _, s := range d.places {
		f := *s.first[0].Finding
		f.Elsewhere = s.rest
		f.Unlisted += s.unlisted
		all = append(append(all, sighting{s.first[0].scope, s.first[0].n, &f}), s.first[1:]...)
	}
	slices.SortFunc(all, func(a, b sighting) int { return cmp.Or(cmp.Compare(a.scope, b.scope), cmp.Compare(a.n, b.n)) })
	out := make([]Finding, len(all))
	for i, x := range all {
		out[i] = *x.Finding
	}
	return out
}
