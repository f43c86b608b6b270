package probe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"btrace/capture/ptx"
)

func TestTry(t *testing.T) {
	out := os.Getenv("PROBE_OUT")
	_ = filepath.WalkDir("../interp/testdata", func(path string, d os.DirEntry, err error) error {
		if !strings.HasSuffix(path, ".ptx") {
			return nil
		}
		src, _ := os.ReadFile(path)
		m, err := Rewrite(src, Options{File: path})
		if err != nil {
			t.Errorf("%v", err)
			return nil
		}
		q, err := ptx.Parse(path, m.PTX)
		if err == nil {
			err = ptx.Resolve(q)
		}
		if err != nil {
			t.Errorf("%v", err)
		}
		if out != "" {
			os.WriteFile(filepath.Join(out, strings.ReplaceAll(strings.TrimPrefix(path, "../interp/testdata/"), "/", "_")), m.PTX, 0o644)
		}
		return nil
	})
}
