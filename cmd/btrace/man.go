package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newMan is for those who package btrace: hidden, and in the README.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages to a folder",
		Long:   "Man writes a page for btrace and one for each command, in section 1. The folder is made\nwhere it is not there.",
		Hidden: true,
		Args:   exactly(1, "a folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := args[0]
			if err := os.MkdirAll(dir, 0o777); err != nil {
				return fmt.Errorf("%s: cannot be made: %w", dir, reason(err))
			}
			for name, text := range manPages(cmd.Root()) {
				file := filepath.Join(dir, name)
				if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
					return fmt.Errorf("%s: cannot be written: %w", file, reason(err))
				}
			}
			return nil
		},
	}
}

// manPages are the pages of the commands that help lists, by the names of
// their files.
//
// cobra has a generator too. It takes help for Markdown, which runs our lists
// and tables together.
func manPages(root *cobra.Command) map[string]string {
	root.InitDefaultHelpFlag()
	root.InitDefaultVersionFlag()
	pages := map[string]string{"btrace.1": rootPage(root)}
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() {
			cmd.InitDefaultHelpFlag()
			pages["btrace-"+cmd.Name()+".1"] = commandPage(cmd)
		}
	}
	return pages
}

func rootPage(root *cobra.Command) string {
	p := newPage("btrace", root.Short)
	p.section("SYNOPSIS")
	p.line(".B btrace")
	p.line(`.I command`)
	p.text("[flags] [arguments]")
	p.section("DESCRIPTION")
	p.prose(root.Long)
	p.section("COMMANDS")
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() {
			p.line(".TP")
			p.line(`.BR btrace\-` + escape(cmd.Name()) + " (1)")
			p.text(cmd.Short)
		}
	}
	p.flags(root)
	p.exitStatus()
	p.section("ENVIRONMENT")
	for _, e := range [][2]string{
		{"NO_COLOR", "Where it is set to anything, nothing is coloured."},
		{"XDG_CONFIG_HOME", "Where the folder btrace is, with the file keys: the viewer's key bindings. By default ~/.config."},
		{"CUDA_HOME", "Where the CUDA toolkit is that programs are recorded with. By default /usr/local/cuda."},
	} {
		p.line(".TP")
		p.line(".B " + e[0])
		p.text(e[1])
	}
	return p.String()
}

func commandPage(cmd *cobra.Command) string {
	p := newPage("btrace-"+cmd.Name(), cmd.Short)
	p.section("SYNOPSIS")
	p.line(".B btrace " + escape(cmd.Name()))
	if _, arguments, ok := strings.Cut(cmd.Use, " "); ok {
		p.text(arguments)
	}
	if cmd.HasAvailableLocalFlags() {
		p.text("[flags]")
	}
	p.section("DESCRIPTION")
	if cmd.Long != "" {
		p.prose(cmd.Long)
	} else {
		p.prose(cmd.Short + ".")
	}
	p.flags(cmd)
	if cmd.HasExample() {
		p.section("EXAMPLES")
		p.prose(cmd.Example)
	}
	p.exitStatus()
	p.section("SEE ALSO")
	p.line(".BR btrace (1)")
	return p.String()
}

// page is a manual page in the making, in man(7).
type page struct{ strings.Builder }

// newPage begins a page. Its date is that of the commit that btrace was built
// from: two builds of a version have the same pages.
func newPage(name, short string) *page {
	b := thisBuild()
	date := ""
	if t, err := time.Parse(time.RFC3339, b.Date); err == nil {
		date = t.UTC().Format(time.DateOnly)
	}
	p := new(page)
	p.line(`.\" Made by btrace man.`)
	p.line(fmt.Sprintf(`.TH %s 1 "%s" "btrace %s" "btrace"`, escape(strings.ToUpper(name)), escape(date), escape(b.Version)))
	p.section("NAME")
	p.text(name + " - " + short)
	return p
}

func (p *page) line(s string)       { p.WriteString(s + "\n") }
func (p *page) section(name string) { p.line(".SH " + name) }

// text is a line of text, never a request.
func (p *page) text(s string) {
	s = escape(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	p.line(s)
}

// prose is help as the commands have it: paragraphs, and indented lines that
// stay as they are, such as tables and commands.
func (p *page) prose(s string) {
	asIs, blank := false, false
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, "\n")
		if line == "" {
			blank = true
			continue
		}
		indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
		switch {
		case indented && !asIs:
			p.line(".PP\n.nf")
		case !indented && asIs:
			p.line(".fi\n.PP")
		case blank && asIs:
			p.line(".sp")
		case blank:
			p.line(".PP")
		}
		asIs, blank = indented, false
		p.text(line)
	}
	if asIs {
		p.line(".fi")
	}
}

// flags lists the flags of a command, as help does.
func (p *page) flags(cmd *cobra.Command) {
	p.section("OPTIONS")
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		names := `\fB` + escape("--"+f.Name) + `\fR`
		if f.Shorthand != "" {
			names = `\fB` + escape("-"+f.Shorthand) + `\fR, ` + names
		}
		if kind != "" {
			names += ` \fI` + escape(kind) + `\fR`
		}
		p.line(".TP")
		p.line(names)
		p.text(usage + byDefault(f))
	})
}

// byDefault is the value of a flag that is not given, where it says something.
func byDefault(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "0", "-1", "false", "[]":
		return ""
	}
	return " (default " + f.DefValue + ")"
}

func (p *page) exitStatus() {
	p.section("EXIT STATUS")
	for _, e := range []struct {
		code    int
		meaning string
	}{
		{exitClean, "Done; of checks: nothing was found."},
		{exitFound, "A violation, a deadlock or a difference was found."},
		{exitFailed, "Usage, or a file that could not be read or written."},
		{exitIncomplete, "Nothing was found, but not everything could be checked or shown: the trace has gaps or is damaged."},
	} {
		p.line(".TP")
		p.line(fmt.Sprintf(".B %d", e.code))
		p.text(e.meaning)
	}
}

// escape is text that man(7) shows as it is.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", `\[u2026]`).Replace(s)
}
