package main

import (
	"encoding/json"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"btrace/trace/plain"
)

// release is the version of a build that knows of no git checkout, such as one
// from a source archive: -ldflags "-X main.release=v1.2.3". Nothing else sets it.
var release string

// buildInfo is what version says, in the shape of its JSON form.
type buildInfo struct {
	Version string `json:"version"`          // v1.2.3, or devel
	Commit  string `json:"commit,omitempty"` // as the checkout had it; "" where the build did not see one
	Date    string `json:"date,omitempty"`   // of the commit, RFC 3339
	Dirty   bool   `json:"dirty"`            // the checkout had changes that are in no commit
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func newVersion() *cobra.Command {
	var form string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "The version of this program",
		Long:  "Version says which btrace this is: its version, the commit that it was built from, and by\nwhich Go for which system.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("--format", form, "text", "json"); err != nil {
				return err
			}
			b := thisBuild()
			if form == "json" {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(b)
			}
			out := plain.NewPrinter(cmd.OutOrStdout())
			b.writeText(out)
			return out.Flush()
		},
	}
	cmd.Flags().StringVar(&form, "format", "text", "text or json")
	return cmd
}

// version is the version of this program in a word.
func version() string { return thisBuild().Version }

func thisBuild() buildInfo { return readBuild(debug.ReadBuildInfo()) }

// readBuild takes from what Go wrote into the program what version says.
func readBuild(info *debug.BuildInfo, ok bool) buildInfo {
	b := buildInfo{Version: release, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if !ok {
		info = new(debug.BuildInfo)
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Dirty = s.Value == "true"
		}
	}
	if b.Version == "" {
		// Go takes it from the tags of the checkout.
		b.Version = info.Main.Version
	}
	if b.Version == "" || b.Version == "(devel)" {
		b.Version = "devel"
	}
	return b
}

func (b *buildInfo) writeText(out *plain.Printer) {
	out.Printf("btrace %s (%s, %s/%s)\n", b.Version, b.Go, b.OS, b.Arch)
	if b.Commit == "" {
		return
	}
	line := "commit " + b.Commit
	if b.Date != "" {
		line += " of " + strings.Replace(b.Date, "T", " ", 1)
	}
	if b.Dirty {
		line += ", with changes"
	}
	out.Printf("%s\n", line)
}
