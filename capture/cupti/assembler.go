package cupti

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Assembler is the toolkit's ptxas.
type Assembler struct {
	Path string
}

// FindAssembler finds ptxas: in CUDA_HOME or CUDA_PATH, where the toolkit is
// usually installed, or on the PATH. It passes over this very program, which
// may stand in for ptxas.
func FindAssembler() (Assembler, bool) {
	var candidates []string
	for _, dir := range toolkits() {
		candidates = append(candidates, filepath.Join(dir, "bin", "ptxas"))
	}
	if p, err := exec.LookPath("ptxas"); err == nil {
		candidates = append(candidates, p)
	}
	return firstAssembler(candidates)
}

// firstAssembler is the first of the paths that is a program, and not this one.
func firstAssembler(paths []string) (Assembler, bool) {
	var self os.FileInfo
	if path, err := os.Executable(); err == nil {
		self, _ = os.Stat(path)
	}
	for _, p := range paths {
		info, err := os.Stat(p)
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && (self == nil || !os.SameFile(info, self)) {
			return Assembler{p}, true
		}
	}
	return Assembler{}, false
}

// toolkits lists the folders in which a CUDA toolkit may be, the likeliest
// first.
func toolkits() []string {
	var dirs []string
	for _, name := range []string{"CUDA_HOME", "CUDA_PATH"} {
		if dir := os.Getenv(name); dir != "" {
			dirs = append(dirs, dir)
		}
	}
	if p, err := exec.LookPath("nvcc"); err == nil {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			p = real
		}
		dirs = append(dirs, filepath.Dir(filepath.Dir(p)))
	}
	return append(dirs, "/usr/local/cuda", "/opt/cuda")
}

// Use is what ptxas -v says of one entry.
type Use struct {
	Registers   int
	SpillStores int // bytes
	SpillLoads  int
}

// spilled is the bytes of spills.
func (u Use) spilled() int { return u.SpillStores + u.SpillLoads }

// Report is what ptxas -v says.
type Report struct {
	Entries map[string]Use
	// LostSetMax is true where it says that setmaxnreg was ignored, and
	// Serialized that wgmma instructions do not overlap.
	LostSetMax, Serialized bool
}

// spills reports whether any entry spills registers.
func (r *Report) spills() bool {
	for _, use := range r.Entries {
		if use.spilled() > 0 {
			return true
		}
	}
	return false
}

const splitCompile = "split-compile"

// AssemblyError is a module that ptxas refused.
type AssemblyError struct {
	Line string // the first error, as ptxas has it
	// Version is true if ptxas is older than the PTX.
	Version bool
}

func (e *AssemblyError) Error() string { return "ptxas: " + e.Line }

// Assemble makes a cubin of PTX for a target (sm_90a). The options are those
// of an image's own compilation; what is not known to be harmless is left out.
func (a Assembler) Assemble(ctx context.Context, ptx []byte, target string, options []string) ([]byte, Report, error) {
	dir, err := os.MkdirTemp("", "btrace-ptxas-")
	if err != nil {
		return nil, Report{}, err
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "in.ptx"), filepath.Join(dir, "out.cubin")
	if err := os.WriteFile(in, ptx, 0o600); err != nil {
		return nil, Report{}, err
	}
	args := append([]string{"-v", "-arch=" + target}, options...)
	args = append(args, in, "-o", out)
	// On all cores: the application waits. A ptxas before 12.1 does not know how.
	said, err := exec.CommandContext(ctx, a.Path, append(args, "--"+splitCompile+"=0")...).CombinedOutput()
	if err != nil && strings.Contains(string(said), splitCompile) {
		said, err = exec.CommandContext(ctx, a.Path, args...).CombinedOutput()
	}
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			return nil, Report{}, refusal(said, err)
		}
		return nil, Report{}, fmt.Errorf("run ptxas: %w", err)
	}
	cubin, err := os.ReadFile(out)
	if err != nil {
		return nil, Report{}, err
	}
	return cubin, ParseReport(said), nil
}

// refusal is the error that ptxas gave.
func refusal(said []byte, err error) error {
	line := err.Error()
	for s := range strings.Lines(string(said)) {
		if _, rest, ok := strings.Cut(s, "; "); ok && strings.Contains(s, "error") {
			line = strings.TrimSpace(rest) // without the name of our file
			break
		}
		if rest, ok := strings.CutPrefix(s, "ptxas fatal"); ok {
			line = strings.TrimSpace(strings.TrimLeft(rest, " :"))
			break
		}
	}
	return &AssemblyError{Line: line, Version: strings.Contains(string(said), "Unsupported .version")}
}

// options are those of an image's own compilation that may be given again.
func options(text string) []string {
	var keep []string
	words := strings.Fields(text)
	for i := 0; i < len(words); i++ {
		name, value, joined := strings.Cut(words[i], "=")
		switch name {
		case "-g", "--device-debug", "-lineinfo", "--generate-line-info", "-O0", "-O1", "-O2", "-O3",
			"--return-at-end", "--dont-merge-basicblocks", "--disable-optimizer-constants",
			"--sp-bounds-check", "--position-independent-code", "-pic":
			keep = append(keep, words[i])
		case "-O", "--opt-level", "-maxrregcount", "--maxrregcount", "-dlcm", "--def-load-cache", "-dscm", "--def-store-cache", "--fmad", "-fmad":
			if joined {
				keep = append(keep, name+"="+value)
			} else if i+1 < len(words) {
				keep = append(keep, words[i], words[i+1])
				i++
			}
		}
	}
	return keep
}

// ParseReport reads what ptxas -v printed.
func ParseReport(said []byte) Report {
	r := Report{Entries: make(map[string]Use)}
	entry := ""
	in := bufio.NewScanner(bytes.NewReader(said))
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		line := in.Text()
		if _, rest, ok := strings.Cut(line, "Compiling entry function '"); ok {
			entry, _, _ = strings.Cut(rest, "'")
			r.Entries[entry] = Use{}
			continue
		}
		if strings.Contains(line, "setmaxnreg") && strings.Contains(line, "ignored") {
			r.LostSetMax = true
		}
		if strings.Contains(line, "wgmma") && strings.Contains(line, "serialized") {
			r.Serialized = true
		}
		use, ok := r.Entries[entry]
		if !ok {
			continue
		}
		if n, ok := number(line, " bytes spill stores"); ok {
			use.SpillStores += n
		}
		if n, ok := number(line, " bytes spill loads"); ok {
			use.SpillLoads += n
		}
		if n, ok := number(line, " registers"); ok {
			use.Registers = n
		}
		r.Entries[entry] = use
	}
	return r
}

// number is the one before a text.
func number(line, text string) (int, bool) {
	before, _, ok := strings.Cut(line, text)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(before[strings.LastIndexByte(before, ' ')+1:])
	return n, err == nil
}
