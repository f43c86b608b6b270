package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Merge puts results together, so that they are what checking all traces at
// once would have given: shards in their order, other results in the order in
// which they are given. Shards have to be of one list, and all there.
func Merge(parts []Results) ([]File, End, error) {
	if len(parts) == 0 {
		return nil, End{}, errors.New("there are no results to merge")
	}
	if err := oneList(parts); err != nil {
		return nil, End{}, err
	}
	if parts[0].End.Shard != nil {
		parts = slices.SortedStableFunc(slices.Values(parts), func(a, b Results) int { return cmp.Compare(a.End.Shard.Index, b.End.Shard.Index) })
	}
	var files []File
	from := map[string]string{}
	end := End{Baseline: parts[0].End.Baseline}
	gone, times, last := map[string]Site{}, map[string]int{}, map[string]int{}
	for i, p := range parts {
		for _, f := range p.Files {
			if other, twice := from[f.Name]; twice {
				return nil, End{}, fmt.Errorf("%s has the results of %s, and so has %s", p.Name, f.Name, other)
			}
			from[f.Name] = p.Name
			files = append(files, f)
		}
		if p.End.Baseline != end.Baseline {
			return nil, End{}, fmt.Errorf("%s was made with %s, %s with %s: give all of them the same, or give it here",
				parts[0].Name, withBaseline(end.Baseline), p.Name, withBaseline(p.End.Baseline))
		}
		for _, s := range p.End.Gone {
			if last[s.Fingerprint] != i+1 { // not twice in one of them
				gone[s.Fingerprint] = s
				times[s.Fingerprint]++
				last[s.Fingerprint] = i + 1
			}
		}
	}
	// A finding is gone if none of them has it.
	for fp, n := range times {
		if n < len(parts) {
			delete(gone, fp)
		}
	}
	end.Gone = inOrder(gone)
	return files, end, nil
}

func withBaseline(name string) string {
	if name == "" {
		return "no baseline"
	}
	return "the baseline " + name
}

// oneList reports what keeps parts from being a whole.
func oneList(parts []Results) error {
	first := &parts[0]
	have := map[uint32]string{}
	for i := range parts {
		p := &parts[i]
		a, b := first.End.Shard, p.End.Shard
		switch {
		case a == nil && b == nil:
			continue
		case a == nil:
			return fmt.Errorf("%s is shard %s of its traces, and %s is no shard: they do not belong together", p.Name, b, first.Name)
		case b == nil:
			return fmt.Errorf("%s is shard %s of its traces, and %s is no shard: they do not belong together", first.Name, a, p.Name)
		case a.Of != b.Of:
			return fmt.Errorf("%s is shard %s, and %s is shard %s: they do not belong together", first.Name, a, p.Name, b)
		case a.List != b.List:
			return fmt.Errorf("%s and %s are shards of different lists of traces: traces came, went or changed between the two runs", first.Name, p.Name)
		}
		if other, twice := have[b.Index]; twice {
			return fmt.Errorf("%s is shard %s, and so is %s", p.Name, b, other)
		}
		have[b.Index] = p.Name
	}
	if first.End.Shard == nil || len(have) == int(first.End.Shard.Of) {
		return nil
	}
	const most = 8
	var missing []string
	s := *first.End.Shard
	n := int(s.Of) - len(have)
	for s.Index = 1; len(missing) < min(n, most); s.Index++ {
		if _, ok := have[s.Index]; !ok {
			missing = append(missing, s.String())
		}
	}
	text := strings.Join(missing, ", ")
	if n > most {
		text += fmt.Sprintf(" and %d others", n-most)
	}
	return fmt.Errorf("there is no shard %s among the results", text)
}
