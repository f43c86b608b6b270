package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"btrace/replay"
	"btrace/trace/plain"
)

// RestsOn is what every proof about schedules takes for granted.
const RestsOn = "it rests on the recorded operations of every lane: what the program does because of values in memory (a flag, an atomic, a queue) is taken as it was"

// WriteExploration prints what is known of the other schedules of a launch.
// written is the file that holds the schedule of a trial that found one, by
// its index; "" for none.
func WriteExploration(p *plain.Printer, file string, x *replay.Exploration, written []string) {
	p.Printf("%s: launch %d %s: %s\n", file, x.Launch.ID, x.Launch.Kernel, schedulesText(&x.Schedules, len(x.Trials)))
	for i := range x.Trials {
		t := &x.Trials[i]
		if f := t.Hazard; f != nil {
			p.Printf("  %s %s: %s\n    at %s\n", f.Severity, f.Rule, f.Message, strings.Join(where(f, false), ", "))
		}
		p.Printf("    %s\n", trialText(t, written[i]))
	}
	if x.Schedules.Proved {
		p.Printf("  %s\n", RestsOn)
	}
}

func schedulesText(s *replay.Schedules, trials int) string {
	switch {
	case s.Proved:
		return "proved: every schedule of these program orders goes as the recorded one did"
	case len(s.Why) > 0:
		return "not proved: " + strings.Join(s.Why, "; ")
	}
	return fmt.Sprintf("not proved: %s", count(uint64(trials), "hazard"))
}

func trialText(t *replay.Trial, file string) string {
	switch {
	case t.Why != "":
		return "no schedule was looked for: " + t.Why
	case t.Bad == "":
		return "no schedule that goes wrong was found; that none does is not known"
	case file == "":
		return fmt.Sprintf("a schedule goes wrong: %s (-o FILE writes it as a trace)", t.Bad)
	}
	return fmt.Sprintf("a schedule goes wrong: %s, written to %s", t.Bad, file)
}

type (
	explorationJSON struct {
		Version  int           `json:"version"`
		File     string        `json:"file"`
		Launches []exploreJSON `json:"launches"`
	}
	exploreJSON struct {
		ID     uint32      `json:"id"`
		Kernel string      `json:"kernel"`
		Proved bool        `json:"proved"`
		Why    []string    `json:"why,omitempty"`
		Trials []trialJSON `json:"hazards"`
	}
	trialJSON struct {
		Rule     string        `json:"rule,omitempty"`
		Barrier  string        `json:"barrier,omitempty"`
		Phase    uint64        `json:"phase,omitempty"`
		Message  string        `json:"message,omitempty"`
		Location *locationJSON `json:"location,omitempty"`
		Bad      string        `json:"bad,omitempty"`     // what goes wrong in the schedule that was found
		Outcome  string        `json:"outcome,omitempty"` // how it ends
		Trace    string        `json:"trace,omitempty"`   // the file that holds it
		Why      string        `json:"why,omitempty"`     // why none was looked for
	}
)

// WriteExplorationJSON writes the same for machines.
func WriteExplorationJSON(w io.Writer, file string, xs []replay.Exploration, written [][]string) error {
	doc := explorationJSON{Version: 1, File: file, Launches: []exploreJSON{}}
	for n := range xs {
		x := &xs[n]
		l := exploreJSON{ID: x.Launch.ID, Kernel: x.Launch.Kernel, Proved: x.Schedules.Proved, Why: x.Schedules.Why, Trials: []trialJSON{}}
		for i := range x.Trials {
			t := &x.Trials[i]
			j := trialJSON{Bad: t.Bad, Outcome: string(t.Outcome), Trace: written[n][i], Why: t.Why}
			if f := t.Hazard; f != nil {
				j.Rule, j.Barrier, j.Phase, j.Message, j.Location = string(f.Rule), f.Barrier.String(), f.Phase, f.Message, newLocation(f.Location)
			}
			l.Trials = append(l.Trials, j)
		}
		doc.Launches = append(doc.Launches, l)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	return enc.Encode(doc)
}
