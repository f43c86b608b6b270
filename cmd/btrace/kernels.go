package main

import (
	"fmt"

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
root of the hang or is broken; "btrace record NAME" records it. Some take a number, which is given
with its own value: how much work a CTA has. With that and --grid, a recording gets as large as you
like.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			out := plain.NewPrinter(cmd.OutOrStdout())
			for _, k := range kernels.All() {
				rule := string(k.Expect.Rule)
				if rule == "" {
					rule = "-"
				}
				doc := k.Doc
				if k.Param != nil {
					doc += fmt.Sprintf(" (--arg i32:%d %s)", k.Param.Value, k.Param.Name)
				}
				out.Printf("%-26s %-9s %-24s %s\n", k.Name, k.Expect.Verdict, rule, doc)
			}
			return out.Flush()
		},
	}
}
