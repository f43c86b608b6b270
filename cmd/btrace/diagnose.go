package main

import (
	"github.com/spf13/cobra"

	"btrace/replay/report"
	"btrace/trace/plain"
)

func newDiagnose() *cobra.Command {
	var form string
	cmd := &cobra.Command{
		Use:   "diagnose TRACE",
		Short: "The story of a hang: which barrier and phase, who arrived, who is missing and why",
		Long:  "Diagnose says why a launch hangs: the root cause, the waits behind it, and the line to\nchange. It exits 1 when there is a hang, 0 when there is none, 2 when it cannot tell.",
		Args:  exactly(1, "one trace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("--format", form, "text", "json"); err != nil {
				return err
			}
			f := check(cmd, args[0])
			if f.Err != nil {
				return f.Err
			}
			if form == "json" {
				if err := report.WriteJSON(cmd.OutOrStdout(), []report.File{f}); err != nil {
					return err
				}
			} else {
				out := plain.NewPrinter(cmd.OutOrStdout())
				report.WriteDiagnosis(out, f)
				if err := out.Flush(); err != nil {
					return err
				}
			}
			if report.Hangs(f) > 0 {
				return exit(exitFound)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&form, "format", "text", "text or json")
	return cmd
}
