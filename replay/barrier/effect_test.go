package barrier

import (
	"fmt"
	"strings"
	"testing"
)

// String says in one line what an effect is: phases completed, who is
// released, what is violated, and a trap.
func (e *Effect) String() string {
	var b strings.Builder
	if e.Completed > 0 {
		fmt.Fprintf(&b, " complete:%d", e.Completed)
	}
	for _, r := range e.Released {
		fmt.Fprintf(&b, " go:c%dw%d:%x", r.CTA, r.Warp, r.Lanes)
		if r.Result != 0 {
			fmt.Fprintf(&b, "=%d", r.Result)
		}
	}
	for _, v := range e.Violations {
		fmt.Fprintf(&b, " %s(%d,%d)", v.Rule, v.Got, v.Want)
		if v.Escalated {
			b.WriteString("!")
		}
	}
	if e.Trap != "" {
		fmt.Fprintf(&b, " trap:%s", e.Trap)
	}
	if e.MayTrap {
		b.WriteString(" may-trap")
	}
	return strings.TrimSpace(b.String())
}

// step is an operation and the effect that it must have.
type step[M any] struct {
	do   func(m M, e *Effect)
	want string
}

// script is a sequence of operations on a fresh machine.
type script[M any] struct {
	name  string
	steps []step[M]
}

func run[M any](t *testing.T, fresh func() M, scripts []script[M]) {
	t.Helper()
	for _, s := range scripts {
		t.Run(s.name, func(t *testing.T) {
			m := fresh()
			var e Effect
			for i, st := range s.steps {
				e.Reset()
				st.do(m, &e)
				if got := e.String(); got != st.want {
					t.Errorf("step %d: %q, want %q", i, got, st.want)
				}
			}
		})
	}
}

func TestResetKeepsNothing(t *testing.T) {
	e := Effect{Completed: 1, Trap: TrapLaunchFailure, MayTrap: true, Released: []Release{{}}, Violations: []Violation{{}}}
	e.Reset()
	if e.String() != "" || cap(e.Released) == 0 || cap(e.Violations) == 0 {
		t.Errorf("after Reset: %q, memory for %d and %d", e.String(), cap(e.Released), cap(e.Violations))
	}
}

func TestRulesAreUnique(t *testing.T) {
	seen := make(map[Rule]bool)
	for _, r := range Rules() {
		if r == "" || seen[r] {
			t.Errorf("rule %q twice, or empty", r)
		}
		seen[r] = true
	}
}
