package main

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"btrace/replay/barrier"
	"btrace/replay/rules"
	"btrace/trace/plain"
)

func newExplain() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [RULE]",
		Short: "What a rule means, with its source and an example",
		Long:  "Explain says what a rule means, where the PTX ISA or the CUDA guide states it, and\nwhat to change. It shows a kernel that breaks the rule and one that just does not, in Go for\nthe emulator. Without a rule it lists them all.",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			out := plain.NewPrinter(cmd.OutOrStdout())
			if len(args) == 0 {
				for _, r := range rules.All() {
					out.Printf("%-30s %-8s %s\n", r.ID, r.Severity, r.Title)
				}
				return out.Flush()
			}
			r, ok := rules.Lookup(barrier.Rule(args[0]))
			if !ok {
				return unknown("rule", args[0], nearestRules(args[0]), "btrace explain")
			}
			explain(out, r)
			if err := explainPair(out, r.ID); err != nil {
				return err
			}
			return out.Flush()
		},
	}
}

func nearestRules(name string) []string {
	var names []string
	for _, id := range rules.Nearest(name) {
		names = append(names, string(id))
	}
	return names
}

func explain(out *plain.Printer, r rules.Rule) {
	out.Printf("%s (%s): %s\n\n", r.ID, r.Severity, r.Title)
	paragraph(out, "", r.Meaning)
	out.Printf("\nChange:\n")
	paragraph(out, "  ", r.Hint)
	out.Printf("\nSource:\n")
	for _, s := range r.Source {
		paragraph(out, "  ", s.String())
	}
	out.Printf("\nExample:\n")
	for line := range strings.Lines(r.Example) {
		out.Printf("  %s\n", strings.TrimSuffix(line, "\n"))
	}
}

// paragraph prints text wrapped to 80 columns, each line indented.
func paragraph(out *plain.Printer, indent, s string) {
	for line := range strings.Lines(ansi.Wordwrap(s, 80-len(indent), "")) {
		out.Printf("%s%s\n", indent, strings.TrimSuffix(line, "\n"))
	}
}
