package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"btrace/capture"
	"btrace/replay"
	"btrace/replay/report"
	"btrace/trace"
	"btrace/trace/plain"
	"btrace/tui"
)

// demoKernel hangs: its empty barriers expect one arrival too many.
const demoKernel = "tma-pipeline-empty-count"

func newDemo() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Record a kernel that hangs, say why, and show it",
		Long: `Demo records a kernel of the gallery that hangs, says why, and opens the viewer. Where there is
no terminal it prints the viewer's first screen instead.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := os.MkdirTemp("", "btrace-demo-*")
			if err != nil {
				return err
			}
			defer os.RemoveAll(dir)
			return demo(cmd, dir)
		},
	}
}

func demo(cmd *cobra.Command, dir string) error {
	k, err := findKernel(demoKernel)
	if err != nil {
		return err
	}
	file := k.Name + ".zst"
	path := filepath.Join(dir, file)
	f := recordFlags{out: path}
	to, err := f.files(gallery{k: k})
	if err != nil {
		return err
	}
	defer to.discard()
	if _, err := recordTo(cmd, gallery{k: k}, capture.Options{}, 1, to); err != nil {
		return err
	}
	r, err := trace.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	c := checkTrace(cmd.Context(), file, r, replay.Options{NoHazards: true})
	if c.Err != nil {
		return c.Err
	}
	out := plain.NewPrinter(cmd.OutOrStdout())
	out.Printf("$ btrace record %s\n$ btrace diagnose %s\n\n", k.Name, file)
	report.WriteDiagnosis(out, c)
	out.Printf("\n$ btrace view %s\n", file)
	if err := out.Flush(); err != nil {
		return err
	}
	cfg := viewer(r, file, viewFlags{}, new(prepared))
	cfg.Report = c.Report
	if isTerminal(cmd.InOrStdin()) && isTerminal(cmd.OutOrStdout()) {
		return tui.Run(cmd.Context(), cfg)
	}
	screen, err := tui.Script(cmd.Context(), cfg, strings.NewReader(""), 120, 40)
	if err != nil {
		return err
	}
	_, err = cmd.OutOrStdout().Write([]byte(screen))
	return err
}
