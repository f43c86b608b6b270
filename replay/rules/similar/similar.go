// Package similar finds, for a name that does not exist, the names that were
// probably meant. It is for error messages; it is not a search.
package similar

import (
	"slices"
	"strings"
)

// most is how many names are offered at once: more would not be read.
const most = 3

// Names returns up to three of the names that look like s, best first: those
// that s begins or is a part of, and those that a few slips of the finger
// away (a third of the longer name, by edit distance). Case is ignored.
func Names(s string, names []string) []string {
	s = strings.ToLower(s)
	if s == "" || len(s) > 100 {
		return nil
	}
	type match struct {
		name string
		cost int
	}
	var found []match
	for _, name := range names {
		low := strings.ToLower(name)
		cost := distance(s, low)
		switch limit := max(len(s), len(low)) / 3; {
		case strings.HasPrefix(low, s):
			cost = 0
		case len(s) >= 3 && strings.Contains(low, s):
			cost = 1
		case cost > limit:
			continue
		}
		found = append(found, match{name, cost})
	}
	slices.SortStableFunc(found, func(a, b match) int { return a.cost - b.cost })
	var out []string
	for _, m := range found[:min(most, len(found))] {
		out = append(out, m.name)
	}
	return out
}

// distance is the Levenshtein distance of two strings, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diag
			if a[i] != b[j] {
				cost++
			}
			diag = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
