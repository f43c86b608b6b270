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
		Long: `Kernels lists the gallery: the documented patterns of barrier use, and the bugs that people make in
them. Each is given with the verdict that a replay of its recording has, and the rule that is the
root of the hang or is broken; "btrace record NAME" records it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			out := plain.NewPrinter(cmd.OutOrStdout())
			for _, k := range kernels.All() {
				rule := string(k.Expect.Rule)
				if rule == "" {
					rule = "-"
				}
				out.Printf("%-26s %-9s %-24s %s\n", k.Name, k.Expect.Verdict, rule, k.Doc)
			}
			return out.Flush()
		},
	}
}
