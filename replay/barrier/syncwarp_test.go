package barrier

import "testing"

func TestSyncwarp(t *testing.T) {
	type m = *Warp
	sync := func(lanes, mask uint32, want string) step[m] {
		return step[m]{func(w m, e *Effect) { w.Sync(lanes, mask, e) }, want}
	}
	exit := func(lanes uint32, want string) step[m] {
		return step[m]{func(w m, e *Effect) { w.Exit(lanes, e) }, want}
	}
	run(t, func() m { w := NewWarp(full); return &w }, []script[m]{
		{"at once", []step[m]{sync(full, full, "complete:1 go:c0w0:ffffffff")}},
		{"in parts", []step[m]{sync(0xff, full, ""), sync(0xff00, full, ""), sync(0xffff0000, full, "complete:1 go:c0w0:ffffffff")}},
		{"two masks side by side", []step[m]{
			sync(0xff, 0xffff, ""), sync(0xff0000, 0xffff0000, ""), sync(0xff00, 0xffff, "complete:1 go:c0w0:ffff"), sync(0xff000000, 0xffff0000, "complete:1 go:c0w0:ffff0000"),
		}},
		{"exited lanes are not waited for", []step[m]{sync(0xffff, full, ""), exit(0xff0000, ""), exit(0xff000000, "complete:1 go:c0w0:ffff")}},
		{"an exited lane in the mask", []step[m]{exit(1<<31, ""), sync(full>>1, full, "complete:1 go:c0w0:7fffffff")}},
		{"syncwarp-mask-excludes-caller", []step[m]{sync(3, 1, "complete:1 go:c0w0:3 syncwarp-mask-excludes-caller(3,1) may-trap")}},
		{"an exit ends two meetings", []step[m]{sync(0xf, 0x1f, ""), sync(0xf0000, 0xf0010, ""), exit(0x10, "complete:2 go:c0w0:f0000 go:c0w0:f")}},
	})
}
