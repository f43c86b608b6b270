package cupti

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"btrace/capture/sanitizer"
)

//go:embed native/Makefile native/*.cc native/*.h
var nativeFiles embed.FS

// Header is btrace.cuh, with which a program says itself what its instructions
// do not show.
//
//go:embed native/btrace.cuh
var Header []byte

// Way is one of the two ways into a program.
type Way struct {
	// Name is the recorder's, in traces.
	Name string
	// File is the library's name.
	File    string
	folders []folder // of sources; the first is the one to build in
	needs   []need
}

type folder struct {
	name string
	fs   fs.FS
}

// need is a file of the toolkit, by where it may be.
type need struct {
	what  string
	paths []string
}

// CUPTI swaps the program's PTX for PTX with probes.
func CUPTI() Way {
	return Way{
		Name: "cupti", File: "libbtrace_cupti.so",
		folders: []folder{{"cupti", nativeFiles}},
		needs: []need{
			{"the headers of the CUDA driver", []string{"include/cuda.h"}},
			{"the headers of CUPTI", []string{"extras/CUPTI/include/cupti.h", "include/cupti.h"}},
		},
	}
}

// Sanitizer patches machine code.
func Sanitizer() Way {
	return Way{
		Name: "sanitizer", File: "libbtrace_sanitizer.so",
		folders: []folder{{"sanitizer", sanitizer.Source}, {"cupti", nativeFiles}},
		needs: []need{
			{"the headers of the CUDA driver", []string{"include/cuda.h"}},
			{"the headers of the Compute Sanitizer", []string{"compute-sanitizer/include/sanitizer.h"}},
			{"nvcc", []string{"bin/nvcc"}},
		},
	}
}

// Find finds the library: the file that the user named; or else beside the
// program of that path; or else in the user's cache, where it is built once
// for each version of its sources. Say is told before it is built.
func (w Way) Find(ctx context.Context, named, program string, say func(string)) (string, error) {
	if named != "" {
		path, err := filepath.Abs(named)
		if err == nil {
			err = readable(path)
		}
		if err != nil {
			return "", fmt.Errorf("--lib %s: %w", named, err)
		}
		return path, nil
	}
	if path := filepath.Join(filepath.Dir(program), w.File); readable(path) == nil {
		return filepath.Abs(path)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder to build %s in (%w): build it by hand, and name it with --lib", w.File, err)
	}
	toolkit, missing := w.toolkit()
	sum, err := w.sum(toolkit)
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "btrace")
	built := filepath.Join(cache, sum)
	path := filepath.Join(built, w.File)
	if readable(path) == nil {
		return path, nil
	}
	if missing != "" {
		return "", fmt.Errorf("%s has to be built once, and %s: install the CUDA toolkit (or set CUDA_HOME), a C++ compiler and make, or name a library that was built elsewhere with --lib", w.File, missing)
	}
	say(fmt.Sprintf("building %s, once, with the toolkit in %s", w.File, toolkit))
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return "", fmt.Errorf("make a folder for %s: %w", w.File, err)
	}
	dir, err := os.MkdirTemp(cache, sum+"-")
	if err != nil {
		return "", fmt.Errorf("make a folder for %s: %w", w.File, err)
	}
	if err := w.build(ctx, dir, toolkit); err != nil {
		os.RemoveAll(dir)
		return "", err
	}
	if err := os.Symlink(filepath.Base(dir), built); err != nil {
		os.RemoveAll(dir)
		if readable(path) == nil { // somebody else was faster
			return path, nil
		}
		return "", fmt.Errorf("keep %s: %w", w.File, err)
	}
	return path, nil
}

// readable reports why a file cannot be loaded.
func readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		var failed *fs.PathError
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.New("it is no file")
	}
	return nil
}

// toolkit is the folder of a toolkit that has what is needed, or what is
// missing.
func (w Way) toolkit() (dir, missing string) {
	for _, tool := range []string{"make", "g++"} {
		if _, err := exec.LookPath(tool); err != nil {
			missing = "there is no " + tool
		}
	}
	best := ""
	for _, t := range toolkits() {
		lacks := ""
		for _, n := range w.needs {
			if !slices.ContainsFunc(n.paths, func(path string) bool { return readable(filepath.Join(t, path)) == nil }) {
				lacks = fmt.Sprintf("there is no %s (%s)", filepath.Join(t, n.paths[0]), n.what)
				break
			}
		}
		if lacks == "" {
			return t, missing
		}
		if _, err := os.Stat(t); err == nil && best == "" {
			best = lacks
		}
	}
	if missing == "" {
		if missing = best; missing == "" {
			missing = "there is no CUDA toolkit"
		}
	}
	return "", missing
}

// sum names what is built: of these sources, with that toolkit.
func (w Way) sum(toolkit string) (string, error) {
	h := xxhash.New()
	fmt.Fprintln(h, runtime.GOARCH, toolkit, ProtocolVersion)
	for _, f := range w.folders {
		err := fs.WalkDir(f.fs, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := fs.ReadFile(f.fs, path)
			fmt.Fprintln(h, f.name, path, len(b))
			h.Write(b)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%s-%016x", w.Name, h.Sum64()), nil
}

// build builds the library in a folder of its own.
func (w Way) build(ctx context.Context, dir, toolkit string) error {
	for _, f := range w.folders {
		if err := os.CopyFS(filepath.Join(dir, f.name), f.fs); err != nil {
			return fmt.Errorf("unpack the sources of %s: %w", w.File, err)
		}
	}
	cmd := exec.CommandContext(ctx, "make", "-s", "-C", filepath.Join(dir, w.folders[0].name, "native"),
		"CUDA_HOME="+toolkit, "OBJDIR="+dir, "OUT="+filepath.Join(dir, w.File))
	said, err := cmd.CombinedOutput()
	if err == nil {
		return readable(filepath.Join(dir, w.File))
	}
	why := err.Error()
	for line := range strings.Lines(string(said)) {
		if strings.Contains(line, "error") || strings.Contains(line, "***") {
			why = strings.TrimSpace(line)
			break
		}
	}
	return fmt.Errorf("%s cannot be built with the toolkit in %s: %s", w.File, toolkit, why)
}

// FindDisassembler finds the toolkit's nvdisasm; "" if there is none.
func FindDisassembler() string {
	for _, dir := range toolkits() {
		if p := filepath.Join(dir, "bin", "nvdisasm"); readable(p) == nil {
			return p
		}
	}
	p, err := exec.LookPath("nvdisasm")
	if err != nil {
		return ""
	}
	return p
}
