package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"btrace/replay/report"
	"btrace/trace"
	"btrace/trace/plain"
)

func newInfo() *cobra.Command {
	var form string
	cmd := &cobra.Command{
		Use:   "info TRACE",
		Short: "What is in a trace: recorder, device, launches, counts, whether it is whole",
		Args:  exactly(1, "one trace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("--format", form, "text", "json"); err != nil {
				return err
			}
			m := newMeter(cmd.ErrOrStderr(), "reading "+args[0], 0)
			defer m.stop()
			r, closeTrace, err := openTrace(cmd, args[0], m)
			if err != nil {
				return err
			}
			defer closeTrace()
			// Only reading everything tells whether the file is whole.
			if err := r.Verify(cmd.Context()); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			m.stop()
			info := newFileInfo(args[0], r)
			if form == "json" {
				return info.writeJSON(cmd.OutOrStdout())
			}
			out := plain.NewPrinter(cmd.OutOrStdout())
			info.writeText(out)
			return out.Flush()
		},
	}
	cmd.Flags().StringVar(&form, "format", "text", "text or json")
	return cmd
}

// fileInfo is what info says, in the shape of its JSON form. Recorder, device
// and arch are the first launch's; nearly always they are everybody's.
type fileInfo struct {
	Version  int          `json:"version"`
	File     string       `json:"file"`
	Format   string       `json:"format"`
	Size     int64        `json:"size"`
	Whole    bool         `json:"whole"`
	Blocks   int          `json:"blocks"`
	Recorder string       `json:"recorder"`
	Device   string       `json:"device"`
	Arch     string       `json:"arch"`
	Counts   countsInfo   `json:"counts"`
	Launches []launchInfo `json:"launches"`
	Sections []string     `json:"sections"`
	Damage   []damageInfo `json:"damage"`
}

type countsInfo struct {
	WarpEvents   uint64 `json:"warp_events"`
	ThreadEvents uint64 `json:"thread_events"`
}

type launchInfo struct {
	ID       uint32        `json:"id"`
	Kernel   string        `json:"kernel"`
	Mangled  string        `json:"mangled,omitempty"`
	Program  string        `json:"program"`
	Recorder string        `json:"recorder"`
	Device   string        `json:"device"`
	Arch     string        `json:"arch"`
	Grid     trace.Dim     `json:"grid"`
	Block    trace.Dim     `json:"block"`
	Cluster  trace.Dim     `json:"cluster"`
	Shared   uint32        `json:"shared"`
	Observes []string      `json:"observes"` // null: the recording does not say
	Outcome  trace.Outcome `json:"outcome"`
	Counts   countsInfo    `json:"counts"`
	First    int64         `json:"first_ns"`
	Last     int64         `json:"last_ns"`
}

type damageInfo struct {
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
	Rows   int64  `json:"warp_events"` // -1: unknown
	Error  string `json:"error"`
}

func newFileInfo(name string, r *trace.Reader) *fileInfo {
	i := r.Info()
	out := &fileInfo{
		Version: 1, File: name, Format: fmt.Sprintf("%d.%d", i.Major, i.Minor),
		Size: i.Size, Whole: r.Whole(), Blocks: i.Blocks,
		Counts:   countsInfo{i.Rows, i.ThreadEvents},
		Launches: []launchInfo{}, Sections: []string{}, Damage: []damageInfo{},
	}
	out.Sections = append(out.Sections, r.SectionNames()...)
	counts := map[uint32]trace.LaunchInfo{}
	for _, l := range i.Launches {
		counts[l.ID] = l
	}
	for n, l := range r.Launches() {
		if n == 0 {
			out.Recorder, out.Device, out.Arch = l.Recorder, l.Device, l.Arch
		}
		c := counts[l.ID]
		out.Launches = append(out.Launches, launchInfo{
			ID: l.ID, Kernel: l.Kernel, Mangled: l.Mangled, Program: l.Program,
			Recorder: l.Recorder, Device: l.Device, Arch: l.Arch,
			Grid: l.Grid, Block: l.Block, Cluster: l.Cluster, Shared: l.Shared,
			Observes: l.Observes, Outcome: l.Outcome,
			Counts: countsInfo{c.Rows, c.ThreadEvents}, First: c.First, Last: c.Last,
		})
	}
	for _, d := range r.Damage() {
		out.Damage = append(out.Damage, damageInfo{d.Offset, d.Bytes, d.Rows, d.Err.Error()})
	}
	return out
}

func (i *fileInfo) writeJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(i)
}

func (i *fileInfo) writeText(out *plain.Printer) {
	state := "whole"
	if !i.Whole {
		state = "NOT whole"
	}
	out.Printf("file      %s, %d bytes, %s (format %s, %d blocks)\n", i.File, i.Size, state, i.Format, i.Blocks)
	out.Printf("events    %d warp events, %d thread events\n", i.Counts.WarpEvents, i.Counts.ThreadEvents)
	out.Printf("recorder  %s\n", orNone(i.Recorder))
	out.Printf("device    %s\n", orNone(strings.TrimSpace(i.Device+" "+i.Arch)))
	for _, l := range i.Launches {
		out.Printf("launch %d  %s: %s\n", l.ID, l.Kernel, l.Outcome)
		out.Printf("  grid %s, block %s, cluster %s, %d bytes of dynamic shared memory\n", dim(l.Grid), dim(l.Block), dim(l.Cluster), l.Shared)
		if l.Program != "" {
			out.Printf("  program %s\n", l.Program)
		}
		if l.Observes != nil {
			out.Printf("  observes %s\n", strings.Join(l.Observes, " "))
		}
		out.Printf("  %d warp events, %d thread events, %s to %s\n", l.Counts.WarpEvents, l.Counts.ThreadEvents, report.Time(l.First), report.Time(l.Last))
	}
	for _, d := range i.Damage {
		out.Printf("damage    at byte %d: %s\n", d.Offset, d.Error)
	}
}

// dim is an extent, as in a launch: 4x2x1 without the trailing ones.
func dim(d trace.Dim) string {
	s := fmt.Sprintf("%dx%dx%d", max(d[0], 1), max(d[1], 1), max(d[2], 1))
	return strings.TrimSuffix(strings.TrimSuffix(s, "x1"), "x1")
}

func orNone(s string) string {
	if s == "" {
		return "not recorded"
	}
	return s
}

// oneOf checks the value of a flag that takes one of a few words.
func oneOf(flag, value string, words ...string) error {
	for _, w := range words {
		if value == w {
			return nil
		}
	}
	return fmt.Errorf("unknown %s %q: it takes %s", flag, value, strings.Join(words, ", "))
}
