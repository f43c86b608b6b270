package tui

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"btrace/replay"
	"btrace/trace"
)

// filter is a query for rows: all of its terms must hold of a warp. Terms
// about barriers, operations and waits must hold of one and the same barrier.
type filter struct {
	text  string
	rows  []func(replay.Row) bool
	uses  []func(*use) bool
	warps []func(*rowFacts) bool
}

// filterHelp is what a filter is made of.
const filterHelp = "cta:2-5 warp:3 bar:1 mbar:0x1420 op:arrive wait>10us is:hung !warp:0"

// parseFilter reads a query: terms with blanks between them.
func parseFilter(s string) (*filter, error) {
	f := &filter{text: strings.Join(strings.Fields(s), " ")}
	for _, term := range strings.Fields(strings.ToLower(s)) {
		if err := f.add(term); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (f *filter) add(term string) error {
	whole := term
	term, not := strings.CutPrefix(term, "!")
	if t, ok := strings.CutPrefix(term, "wait"); ok && strings.IndexAny(t, "<>") == 0 {
		at, err := parseTime(strings.TrimLeft(t, "<>="), 0)
		if err != nil || at < 0 {
			return fmt.Errorf("%q: want wait>10us", clean(whole, 40))
		}
		more := strings.HasPrefix(t, ">")
		f.use(not, func(u *use) bool {
			return more && u.longest.length() > at || !more && u.longest.length() < at && u.longest.to > 0
		})
		return nil
	}
	key, value, ok := strings.Cut(term, ":")
	bad := fmt.Errorf("%q is no part of a filter: %s", clean(whole, 40), filterHelp)
	if !ok || value == "" {
		return bad
	}
	switch key {
	case "cta", "warp", "w":
		in, err := parseRanges(value)
		if err != nil {
			return fmt.Errorf("%q: %w", clean(whole, 40), err)
		}
		f.rows = append(f.rows, func(r replay.Row) bool {
			n := r.Warp
			if key == "cta" {
				n = r.CTA
			}
			return in(n) != not
		})
	case "bar", "mbar", "cluster", "group":
		if key == "bar" || key == "cluster" {
			if _, err := trace.ParseBarrier(term); err != nil {
				return fmt.Errorf("%q: want a barrier such as bar:1, mbar:0x1420 or group:tile", clean(whole, 40))
			}
		}
		f.use(not, func(u *use) bool {
			name := strings.ToLower(u.barrier.String())
			return name == term || key != "bar" && strings.HasPrefix(name, key) && strings.Contains(name, value)
		})
	case "op":
		kinds := uint64(0)
		for _, k := range trace.Kinds() {
			if strings.Contains(k.Name, value) && k.Name != "" {
				kinds |= 1 << k.Kind
			}
		}
		if kinds == 0 {
			return fmt.Errorf("%q: no operation is called so; btrace events shows their names", clean(whole, 40))
		}
		f.use(not, func(u *use) bool { return u.kinds&kinds != 0 })
	case "is":
		switch value {
		case "hung":
			f.warps = append(f.warps, func(r *rowFacts) bool { return r.stuck != not })
		case "waiting":
			f.warps = append(f.warps, func(r *rowFacts) bool { return (r.waited > 0) != not })
		default:
			return fmt.Errorf("%q: want is:hung or is:waiting", clean(whole, 40))
		}
	default:
		return bad
	}
	return nil
}

// use adds a term about a barrier. What must not be of any barrier is about
// the warp.
func (f *filter) use(not bool, ok func(*use) bool) {
	if !not {
		f.uses = append(f.uses, ok)
		return
	}
	f.warps = append(f.warps, func(r *rowFacts) bool {
		for i := range r.uses {
			if ok(&r.uses[i]) {
				return false
			}
		}
		return true
	})
}

// parseRanges reads 3, 2-5 and 1,4-6.
func parseRanges(s string) (func(uint32) bool, error) {
	type span struct{ from, to uint32 }
	var spans []span
	for _, part := range strings.Split(s, ",") {
		from, to, two := strings.Cut(part, "-")
		a, err := strconv.ParseUint(from, 10, 32)
		b := a
		if two && err == nil {
			b, err = strconv.ParseUint(to, 10, 32)
			if to == "" {
				b, err = math.MaxUint32, nil
			}
		}
		if err != nil || b < a {
			return nil, fmt.Errorf("want numbers such as 3, 2-5 or 1,4")
		}
		spans = append(spans, span{uint32(a), uint32(b)})
	}
	return func(n uint32) bool {
		for _, s := range spans {
			if n >= s.from && n <= s.to {
				return true
			}
		}
		return false
	}, nil
}

// deep reports whether the filter asks for what is known only once the launch
// has been read.
func (f *filter) deep() bool { return len(f.uses)+len(f.warps) > 0 }

// match reports whether a warp passes. Facts may be nil for a filter that is
// not deep.
func (f *filter) match(r replay.Row, known *facts) bool {
	for _, ok := range f.rows {
		if !ok(r) {
			return false
		}
	}
	if !f.deep() {
		return true
	}
	x := known.of[r]
	if x == nil {
		return false
	}
	for _, ok := range f.warps {
		if !ok(x) {
			return false
		}
	}
	if len(f.uses) == 0 {
		return true
	}
	for i := range x.uses {
		all := true
		for _, ok := range f.uses {
			all = all && ok(&x.uses[i])
		}
		if all {
			return true
		}
	}
	return false
}

// filterRows shows only the warps that a query selects; an empty one shows all
// again.
func (m *model) filterRows(s string) error {
	if !m.ready() {
		return nil
	}
	f, err := parseFilter(s)
	if err != nil {
		return err
	}
	if f.text == "" {
		f = nil
	}
	if f != nil && f.deep() {
		m.withFacts(func(m *model) { m.applyFilter(f) })
		return nil
	}
	m.applyFilter(f)
	return nil
}

func (m *model) applyFilter(f *filter) {
	var match func(replay.Row) bool
	if f != nil {
		match = func(r replay.Row) bool { return f.match(r, m.facts) }
		if !m.tree.any(match) {
			m.say("no warp matches " + f.text)
			return
		}
	}
	m.filter = f
	m.tree.keep(match)
	m.keepFocus()
	if f == nil {
		m.say("all warps")
	} else {
		m.say(fmt.Sprintf("%d of %d warps; an empty filter shows all", m.tree.shown, len(m.tree.all)))
	}
}

// keepFocus moves the focus to a row that is shown, if its row no longer is.
func (m *model) keepFocus() {
	if len(m.tree.flat) == 0 || m.tree.visible(m.focus.row) {
		return
	}
	if cta := (rowID{cta: m.focus.row.cta, whole: true}); m.tree.visible(cta) {
		m.setRow(cta)
		return
	}
	m.setRow(m.tree.flat[m.tree.first()])
}
