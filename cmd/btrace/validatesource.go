package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"btrace/replay"
)

// sources finds the files that recordings name in the folder that they lie in
// here: a recording has the paths of the machine that compiled the kernel, and
// annotations need those of the checkout.
type sources struct {
	folder string
	found  map[string]string
}

// newSources checks the folder; without one, names stay as they are.
func newSources(folder string) (*sources, error) {
	if folder == "" {
		return &sources{}, nil
	}
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("--source %s: is not a folder", folder)
	}
	return &sources{folder, map[string]string{}}, nil
}

// rename gives the places of all findings the names that their files have
// here.
func (s *sources) rename(r *replay.Report) {
	if s.folder == "" || r == nil {
		return
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Location.File = s.name(f.Location.File)
		for j := range f.Behind {
			f.Behind[j].Location.File = s.name(f.Behind[j].Location.File)
		}
	}
}

// name is the longest end of a path that is a file in the folder; else the
// path itself.
func (s *sources) name(recorded string) string {
	const longest, deepest, most = 4096, 64, 10_000
	if here, ok := s.found[recorded]; ok {
		return here
	}
	if recorded == "" || len(recorded) > longest || len(s.found) >= most {
		return recorded
	}
	here := recorded
	parts := strings.FieldsFunc(recorded, func(r rune) bool { return r == '/' || r == '\\' })
	for i := max(0, len(parts)-deepest); i < len(parts); i++ {
		end := filepath.Join(parts[i:]...)
		if !filepath.IsLocal(end) {
			continue
		}
		if info, err := os.Stat(filepath.Join(s.folder, end)); err == nil && info.Mode().IsRegular() {
			here = filepath.ToSlash(filepath.Join(s.folder, end))
			break
		}
	}
	s.found[recorded] = here
	return here
}
