package replay

import "math/bits"

// parking holds the rows of a warp that are not possible yet, in program
// order. A row can be performed once no lane of it has an earlier row here.
// Every lane has a pointer to its first row, and the pointers only move
// forward, so that no order of events costs more than the number of rows.
type parking struct {
	rows  []row // a row that was taken has no op
	lanes uint32
	first [32]int32 // by lane: its first row, where lanes has it
	alike bool      // all rows are of the same lanes: first is kept for the lowest
	taken int
}

func (p *parking) len() int { return len(p.rows) - p.taken }

// put adds a row at the end.
func (p *parking) put(r row) {
	switch {
	case p.lanes == 0 && r.lanes != 0:
		p.alike, p.lanes = true, r.lanes
		p.first[bits.TrailingZeros32(r.lanes)] = int32(len(p.rows))
	case p.alike && p.lanes != r.lanes:
		at := p.front()
		for m := p.lanes; m != 0; m &= m - 1 {
			p.first[bits.TrailingZeros32(m)] = int32(at)
		}
		p.alike = false
	}
	for m := r.lanes &^ p.lanes; m != 0; m &= m - 1 {
		p.first[bits.TrailingZeros32(m)] = int32(len(p.rows))
	}
	p.lanes |= r.lanes
	p.rows = append(p.rows, r)
}

// front is the index of the earliest row.
func (p *parking) front() int {
	if p.alike {
		return int(p.first[bits.TrailingZeros32(p.lanes)&31])
	}
	at := len(p.rows)
	for m := p.lanes; m != 0; m &= m - 1 {
		at = min(at, int(p.first[bits.TrailingZeros32(m)]))
	}
	return at
}

// isFirst reports whether a row is the first of all its lanes.
func (p *parking) isFirst(i int) bool {
	if p.alike {
		return i == p.front()
	}
	for m := p.rows[i].lanes; m != 0; m &= m - 1 {
		if int(p.first[bits.TrailingZeros32(m)]) != i {
			return false
		}
	}
	return true
}

// take removes a row that is the first of its lanes.
func (p *parking) take(i int) row {
	r := p.rows[i]
	p.rows[i] = row{}
	p.taken++
	if p.alike {
		p.first[bits.TrailingZeros32(p.lanes)&31] = int32(i + 1)
		if i+1 == len(p.rows) {
			p.lanes, p.alike = 0, false
		}
		p.packed()
		return r
	}
	for m := r.lanes; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m)
		next := i + 1
		for next < len(p.rows) && p.rows[next].lanes>>lane&1 == 0 {
			next++
		}
		if p.first[lane] = int32(next); next == len(p.rows) {
			p.lanes &^= 1 << lane
		}
	}
	p.packed()
	return r
}

// packed drops the taken rows, once they are many.
func (p *parking) packed() {
	if p.taken > 64 && p.taken > len(p.rows)/2 || p.lanes == 0 {
		p.pack()
	}
}

// pack puts the rows that are left into the place of the taken ones.
func (p *parking) pack() {
	old := p.rows
	*p = parking{rows: p.rows[:0]}
	for _, r := range old {
		if r.op != nil {
			p.put(r)
		}
	}
	clear(old[len(p.rows):])
}

// drainWarp performs the warp's rows for as long as one is possible, and returns
// how many it took.
func (s *scope) drainWarp(w *warp) (n int) {
	p := &w.parked
	for again := true; again; {
		again = false
		for todo := p.lanes; todo != 0; {
			i := int(p.first[bits.TrailingZeros32(todo)])
			if !p.isFirst(i) {
				todo &= todo - 1 // other lanes of the row have an earlier one
				continue
			}
			r := &s.tried // a copy: what is parked stays as it is
			*r = p.rows[i]
			todo &^= r.lanes
			if s.try(w, r) {
				p.take(i)
				n++
				again = true
				break
			}
		}
	}
	return n
}
