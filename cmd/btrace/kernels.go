package main

import (
	"github.com/spf13/cobra"

	"btrace/capture/kernels"
	"btrace/trace/plain"
)

func newKernels() *cobra.Command {
	return &cobra.Command{
		Use:   "kernels",
		Short: "The gallery: kernels that can be recorded without a GPU",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			out := plain.NewPrinter(cmd.OutOrStdout())
			for _, k := range kernels.All() {
				what := k.Expect.Verdict
				if k.Expect.Rule != "" {
					what = string(k.Expect.Rule)
				}
				out.Printf("%-25s %-24s %s\n", k.Name, what, k.Doc)
			}
			return out.Flush()
		},
	}
}
