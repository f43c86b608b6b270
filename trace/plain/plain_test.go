package plain

import (
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "",
		"producer_consumer<4, 64>": "producer_consumer<4, 64>",
		"Größe ≤ 4 日本":             "Größe ≤ 4 日本",
		"\x1b[2Jgone":              `\u001b[2Jgone`,
		"two\nlines\ttab":          `two\u000alines\u0009tab`,
		"\x9b31mC1":                `\x9b31mC1`,
		"\u009b31mC1":              `\u009b31mC1`,
		"a\u202egnp.exe":           `a\u202egnp.exe`,
		"\U000e0001tag":            `\U000e0001tag`,
		"bad \xff\xfe":             `bad \xff\xfe`,
		"\ufffd":                   `\ufffd`,
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestTextIsBounded(t *testing.T) {
	got := Text(strings.Repeat("\x1b", 1<<20))
	if len(got) > Most+16 {
		t.Errorf("Text of a megabyte has %d bytes", len(got))
	}
	if !strings.HasSuffix(got, "…") {
		t.Errorf("a cut string does not say so: it ends in %q", got[len(got)-10:])
	}
}

func FuzzText(f *testing.F) {
	f.Add("\x1b]52;c;aGk=\a")
	f.Add("kernel\r\n")
	f.Add("\xc3\x28")
	f.Fuzz(func(t *testing.T, s string) {
		got := Text(s)
		if !utf8.ValidString(got) {
			t.Fatalf("Text(%q) is not UTF-8", s)
		}
		for _, r := range got {
			if !unicode.IsPrint(r) {
				t.Fatalf("Text(%q) has %U", s, r)
			}
		}
	})
}

type named struct{ s string }

func (n named) String() string { return n.s }

type word string

func TestPrinterCleansEveryArgument(t *testing.T) {
	const evil = "\x1b[31m"
	var b strings.Builder
	p := NewPrinter(&b)
	p.Printf("%s %v %s %8s %d\n", evil, errors.New(evil), named{evil}, word(evil), 7)
	if err := p.Flush(); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); strings.ContainsRune(s, '\x1b') || strings.Count(s, `\u001b[31m`) != 4 {
		t.Errorf("printed %q", s)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestPrinterReportsAFullDisk(t *testing.T) {
	p := NewPrinter(full{})
	p.Printf("%s\n", strings.Repeat("x", 10000))
	if err := p.Flush(); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("Flush = %v", err)
	}
}
