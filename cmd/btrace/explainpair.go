package main

import (
	"fmt"
	"strings"

	"btrace/capture/kernels/pairs"
	"btrace/replay/barrier"
	"btrace/trace/plain"
)

// explainPair shows the kernels that prove a rule both ways.
func explainPair(out *plain.Printer, id barrier.Rule) error {
	p, ok := pairs.Lookup(id)
	if !ok {
		return nil
	}
	bad, err := p.Bad.Source()
	if err != nil {
		return err
	}
	good, err := p.Good.Source()
	if err != nil {
		return err
	}
	if good == bad {
		good = "// the same kernel"
	}
	for _, x := range []struct {
		title, text string
		e           *pairs.Example
	}{{"Breaks it", bad, &p.Bad}, {"Does not", good, &p.Good}} {
		out.Printf("\n%s (%s):\n", x.title, launched(&p, x.e))
		if x.e.Fault != nil {
			paragraph(out, "  ", "// the recorder "+x.e.Fault.Name)
		}
		for line := range strings.Lines(x.text) {
			out.Printf("  %s\n", strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "    "))
		}
	}
	for _, also := range p.Also {
		out.Printf("\n")
		paragraph(out, "", fmt.Sprintf("The first is found to break %s as well: %s.", also, p.AlsoWhy))
	}
	return nil
}

// launched says how an example is launched.
func launched(p *pairs.Pair, e *pairs.Example) string {
	parts := []string{fmt.Sprintf("block %d", p.Threads)}
	if p.CTAs > 1 {
		parts = append(parts, fmt.Sprintf("cluster %d", p.CTAs))
	}
	if e.Arch != "" {
		parts = append(parts, e.Arch)
	}
	return strings.Join(parts, ", ")
}
