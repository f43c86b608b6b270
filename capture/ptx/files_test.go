package ptx

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// files calls f for every PTX file below a folder.
func files(tb testing.TB, root string, f func(path string, src []byte)) {
	tb.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".ptx" {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f(path, src)
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// parsed parses and resolves a file that has no errors.
func parsed(tb testing.TB, file string, src []byte) *Module {
	tb.Helper()
	m, err := Parse(file, src)
	if err != nil {
		tb.Fatal(err)
	}
	if err := Resolve(m); err != nil {
		tb.Fatal(err)
	}
	return m
}

// TestIdentity: every file of testdata, and every kernel that a compiler wrote,
// resolves, and prints as it is.
func TestIdentity(t *testing.T) {
	for _, root := range []string{"testdata", "interp/testdata/corpus"} {
		n := 0
		files(t, root, func(path string, src []byte) {
			n++
			t.Run(filepath.ToSlash(path), func(t *testing.T) {
				m := parsed(t, path, src)
				if got := m.Source(); !bytes.Equal(got, src) {
					t.Errorf("prints %d bytes, and not the %d that it has", len(got), len(src))
				}
				if got, err := NewEdits(m).Source(); err != nil || !bytes.Equal(got, src) {
					t.Errorf("no edits change it: %v", err)
				}
			})
		})
		if n == 0 {
			t.Fatalf("there are no files in %s", root)
		}
	}
}

// TestGolden: the files of testdata/syntax mean what the files beside them say.
func TestGolden(t *testing.T) {
	files(t, "testdata/syntax", func(path string, src []byte) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			got := treeOf(parsed(t, path, src))
			golden := strings.TrimSuffix(path, ".ptx") + ".tree"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s\nis not what %s says: see go test -update", got, golden)
			}
		})
	})
}
