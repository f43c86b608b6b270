package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"btrace/replay"
	"btrace/replay/report"
	"btrace/trace/plain"
)

func newState() *cobra.Command {
	var at, form string
	var launch, cta int64
	cmd := &cobra.Command{
		Use:     "state TRACE --at TIME",
		Short:   "Every warp and barrier at a moment",
		Example: "  btrace state run.zst --at end\n  btrace state run.zst --at 107.552us --cta 3 --format json",
		Args:    exactly(1, "one trace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("--format", form, "text", "json"); err != nil {
				return err
			}
			var t int64
			if at != "end" {
				var err error
				if t, err = parseTime("--at", at); err != nil {
					return err
				}
			}
			r, closeTrace, err := openTrace(cmd, args[0], nil)
			if err != nil {
				return err
			}
			defer closeTrace()
			l, err := findLaunch(r, args[0], launch)
			if err != nil {
				return err
			}
			tl, err := replay.Open(cmd.Context(), r, l.ID)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if at == "end" {
				_, t = tl.Span()
			}
			s, err := stateAt(cmd.Context(), tl, cta, t)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if form == "json" {
				if err := report.WriteStateJSON(cmd.OutOrStdout(), args[0], &l, s); err != nil {
					return err
				}
			} else {
				out := plain.NewPrinter(cmd.OutOrStdout())
				report.WriteState(out, args[0], &l, s)
				if err := out.Flush(); err != nil {
					return err
				}
			}
			return warnDamage(cmd, args[0], r)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&at, "at", "", "the moment: nanoseconds, with a unit (12us, 3ms), or end")
	fs.Int64Var(&launch, "launch", -1, "the launch (default: the first)")
	fs.Int64Var(&cta, "cta", -1, "only the cluster of this CTA (default: all CTAs)")
	fs.StringVar(&form, "format", "text", "text or json")
	cmd.MarkFlagRequired("at")
	return cmd
}

// stateAt is the state of one CTA's cluster, or of all of them.
func stateAt(ctx context.Context, tl replay.Timeline, cta, t int64) (*replay.State, error) {
	l := tl.Launch()
	if cta >= 0 {
		if uint64(cta) >= l.CTAs() {
			return nil, fmt.Errorf("launch %d has no CTA %d: its grid has %d", l.ID, cta, l.CTAs())
		}
		return tl.State(ctx, uint32(cta), t)
	}
	all := &replay.State{Launch: l.ID, Time: t}
	seen := map[uint32]bool{}
	for _, row := range tl.Rows() {
		if seen[row.CTA] {
			continue
		}
		s, err := tl.State(ctx, row.CTA, t)
		if err != nil {
			return nil, err
		}
		seen[row.CTA] = true
		for _, w := range s.Warps {
			seen[w.CTA] = true
		}
		all.Warps = append(all.Warps, s.Warps...)
		all.Barriers = append(all.Barriers, s.Barriers...)
	}
	return all, nil
}
