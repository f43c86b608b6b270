package main

import (
	"bytes"
	"runtime"
	"runtime/debug"
	"testing"

	"btrace/trace/plain"
)

func TestVersionText(t *testing.T) {
	on := " (" + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ")\n"
	settings := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef"},
			{Key: "vcs.time", Value: "2026-11-21T07:53:56Z"},
			{Key: "vcs.modified", Value: modified},
		}
	}
	for _, c := range []struct {
		name string
		info *debug.BuildInfo
		want string
	}{
		{"a tag", &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: settings("false")},
			"btrace v1.2.3" + on + "commit 0123456789abcdef of 2026-11-21 07:53:56Z\n"},
		{"changes", &debug.BuildInfo{Main: debug.Module{Version: "v1.2.4-0.20261121075356-0123456789ab+dirty"}, Settings: settings("true")},
			"btrace v1.2.4-0.20261121075356-0123456789ab+dirty" + on + "commit 0123456789abcdef of 2026-11-21 07:53:56Z, with changes\n"},
		{"no checkout", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "btrace devel" + on},
		{"nothing", nil, "btrace devel" + on},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got bytes.Buffer
			out := plain.NewPrinter(&got)
			b := readBuild(c.info, c.info != nil)
			b.writeText(out)
			if err := out.Flush(); err != nil {
				t.Fatal(err)
			}
			if got.String() != c.want {
				t.Errorf("got  %q\nwant %q", got.String(), c.want)
			}
		})
	}
}
