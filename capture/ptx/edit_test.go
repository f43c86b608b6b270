package ptx

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestEdits: where inserted and replaced text stands.
func TestEdits(t *testing.T) {
	m := parsed(t, "f.ptx", []byte(head+".entry k() {\n\tbar.sync 0; // all\n\tret;\n}\n"))
	body := m.Lookup("k").Body.Statements
	bar, _ := body[0].Span()
	ret, end := body[1].Span()
	for _, tt := range []struct {
		name string
		do   func(e *Edits)
		want string // instead of the body
	}{
		{"nothing", func(*Edits) {}, "bar.sync 0; // all\n\tret;"},
		{"before", func(e *Edits) { e.InsertBefore(ret, "trap; "); e.InsertBefore(ret, "exit; ") }, "bar.sync 0; // all\n\ttrap; exit; ret;"},
		{"after", func(e *Edits) { e.InsertAfter(end, " a;"); e.InsertAfter(end, " b;") }, "bar.sync 0; // all\n\tret; a; b;"},
		{"replace", func(e *Edits) { e.Replace(ret, end, "exit;"); e.Replace(bar, bar+2, "barrier.sync 1") }, "barrier.sync 1; // all\n\texit;"},
		{"over lines", func(e *Edits) { e.Replace(bar, end, "exit;") }, "exit;"},
		{"all", func(e *Edits) {
			e.InsertAfter(end, "/*>*/")
			e.Replace(bar, end, "exit;")
			e.InsertBefore(bar, "/*<*/")
		}, "/*<*/exit;/*>*/"},
		{"twice", func(e *Edits) { e.Replace(bar, ret, "x"); e.Replace(ret, end, "y") },
			"error: editing f.ptx: tokens 11 to 15 and 15 to 16 are both replaced"},
		{"inside", func(e *Edits) { e.Replace(bar, end, "x"); e.InsertBefore(ret, "y") },
			"error: editing f.ptx: text is inserted at token 15, inside of tokens 11 to 16 that are replaced"},
		{"inside, before", func(e *Edits) { e.Replace(bar, end, "x"); e.InsertAfter(bar, "y") },
			"error: editing f.ptx: text is inserted at token 11, inside of tokens 11 to 16 that are replaced"},
		{"outside", func(e *Edits) { e.InsertAfter(19, "y") }, "error: editing f.ptx: there is no token 19 to insert text at, only 19"},
		{"nowhere", func(e *Edits) { e.Replace(3, 2, "y") }, "error: editing f.ptx: there are no tokens 3 to 2 to replace, only 19"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := NewEdits(m)
			tt.do(e)
			src, err := e.Source()
			got := strings.TrimSuffix(strings.TrimPrefix(string(src), head+".entry k() {\n\t"), "\n}\n")
			if err != nil {
				got = "error: " + err.Error()
			}
			if got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestEditsRandom: edits in any order do what the same edits do to the list
// of tokens.
func TestEditsRandom(t *testing.T) {
	m, err := Parse("f.ptx", []byte(body("mov.b32 %r1, /* a */ %r2; // b\n\tret;")))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		e := NewEdits(m)
		text := make([]string, len(m.Tokens)) // of each token with what is around it
		for i, tok := range m.Tokens {
			text[i] = tok.Text
		}
		lead := make([]string, len(m.Tokens))
		for i, tok := range m.Tokens {
			lead[i] = tok.Lead
		}
		var todo []func()
		for i := 0; i < len(m.Tokens); i++ {
			switch rapid.IntRange(0, 5).Draw(t, "edit") {
			case 0:
				todo = append(todo, func() { e.InsertBefore(i, "<") })
				text[i] = "<" + text[i]
			case 1:
				todo = append(todo, func() { e.InsertAfter(i, ">") })
				text[i] += ">"
			case 2:
				first, last := i, min(i+rapid.IntRange(0, 3).Draw(t, "more"), len(m.Tokens)-1)
				todo = append(todo, func() { e.Replace(first, last, "=") })
				text[i] = "="
				for j := i + 1; j <= last; j++ {
					text[j], lead[j] = "", ""
				}
				i = last
			}
		}
		for _, do := range rapid.Permutation(todo).Draw(t, "order") {
			do()
		}
		var want strings.Builder
		for i := range text {
			want.WriteString(lead[i] + text[i])
		}
		got, err := e.Source()
		if err != nil || string(got) != want.String() {
			t.Fatalf("got\n%s\nwant\n%s\n%v", got, want.String(), err)
		}
	})
}
