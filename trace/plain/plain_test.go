package plain

import (
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
