package trace

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of FORMAT.md anew")

func kindTable() string {
	var b strings.Builder
	b.WriteString("| op | family | operands needed | operands usual | meaning |\n|---|---|---|---|---|\n")
	for _, s := range Kinds() {
		if s.Kind == KindUnknown {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", s.Name, s.Family, keys(s.Required), keys(s.Optional), s.Doc)
	}
	return b.String()
}

func keys(fs []Field) string {
	var ks []string
	for _, f := range fs {
		ks = append(ks, f.String())
	}
	return strings.Join(ks, ", ")
}

func operandTable() string {
	types := [...]string{TypeInt: "number", TypeBool: "bool", TypeHex32: "hex, 8", TypeHex64: "hex, 16", TypeString: "text", TypeEnum: "word"}
	var b strings.Builder
	b.WriteString("| key | value | range | column | meaning |\n|---|---|---|---|---|\n")
	for _, s := range Operands() {
		if s.Field == FieldExtra {
			continue
		}
		scope, column := "", ""
		if s.Type == TypeInt {
			lo, hi := bounds(s.Field)
			scope = fmt.Sprintf("%d to %d", lo, hi)
		}
		if s.Row {
			column = "yes"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", s.Key, types[s.Type], scope, column, s.Doc)
	}
	return b.String()
}

// The tables of FORMAT.md are those of the code.
func TestFormatTables(t *testing.T) {
	doc, err := os.ReadFile("FORMAT.md")
	must(t, err)
	text := string(doc)
	for name, table := range map[string]string{"kinds": kindTable(), "operands": operandTable()} {
		_, rest, ok := strings.Cut(text, "<!-- "+name+": ")
		_, rest, ok2 := strings.Cut(rest, "-->\n\n")
		have, _, ok3 := strings.Cut(rest, "\n<!-- end of "+name)
		if !ok || !ok2 || !ok3 {
			t.Fatalf("FORMAT.md has no table of %s", name)
		}
		if have != table {
			if !*update {
				t.Errorf("FORMAT.md: the table of %s is not the code's; run go test -run Format -update", name)
			}
			text = strings.Replace(text, "-->\n\n"+have+"\n<!-- end of "+name, "-->\n\n"+table+"\n<!-- end of "+name, 1)
		}
	}
	if *update {
		must(t, os.WriteFile("FORMAT.md", []byte(text), 0o666))
	}
}

// The numbers in FORMAT.md are those of the code.
func TestFormatNumbers(t *testing.T) {
	doc, err := os.ReadFile("FORMAT.md")
	must(t, err)
	text := strings.Join(strings.Fields(string(doc)), " ")
	for _, want := range []string{
		fmt.Sprintf("version %d.%d", Major, Minor),
		fmt.Sprintf("| rows of a block | %d |", MaxBlockRows),
		fmt.Sprintf("| templates of a block | %d |", maxTemplates),
		fmt.Sprintf("| decompressed data of a frame | %d MiB, of a section %d MiB |", maxBlockRaw>>20, MaxSection>>20),
		fmt.Sprintf("| blocks of events | %d |", MaxBlocks),
		fmt.Sprintf("| launches | %d, and %d MiB", MaxLaunches, maxLaunchText>>20),
		fmt.Sprintf("| sections | %d |", MaxSections),
		fmt.Sprintf("| frames | %d |", maxFrames),
		fmt.Sprintf("| a line, or the texts of a row | %d MiB |", MaxLine>>20),
		fmt.Sprintf("overlap in time | %d |", MaxOverlap),
		fmt.Sprintf("after every %d frames", indexEvery),
		fmt.Sprintf("a name of 1 to %d bytes", MaxSectionName),
		fmt.Sprintf("*file head*, of %d bytes", fileHeadLen),
		fmt.Sprintf("heads are %d to %d bytes long", headLen, maxHead),
		fmt.Sprintf("It is %d bytes long with its head", endLen),
		fmt.Sprintf("summary, %d bytes", eventsLen-headLen),
		fmt.Sprintf("0x%X", fileMagic), fmt.Sprintf("0x%X", headMagic), fmt.Sprintf("0x%X", seekMagic), fmt.Sprintf("0x%X", seekFoot),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("FORMAT.md does not say %q", want)
		}
	}
	for f := FrameLaunch; f <= FrameEnd; f++ {
		if !strings.Contains(text, fmt.Sprintf("| %d | %s |", f, f)) {
			t.Errorf("FORMAT.md does not list frame %d, %s", f, f)
		}
	}
}
