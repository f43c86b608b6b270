package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"btrace/replay/report"
)

// mergeResults reads results and puts them together.
func mergeResults(cmd *cobra.Command, names []string) ([]report.File, report.End, error) {
	var parts []report.Results
	for _, name := range names {
		p, err := readResults(cmd, name)
		if err != nil {
			return nil, report.End{}, err
		}
		parts = append(parts, p...)
	}
	files, end, err := report.Merge(parts)
	if err != nil {
		return nil, report.End{}, fmt.Errorf("merge: %w", err)
	}
	return files, end, nil
}

func readResults(cmd *cobra.Command, name string) ([]report.Results, error) {
	if name == "-" {
		in := newMeter(io.Discard, "", 0).stream(cmd.Context(), cmd.InOrStdin())
		defer in.Close()
		return report.ReadResults("standard input", in)
	}
	if err := readable(name); err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return report.ReadResults(name, f)
}
