//go:build linux

package cupti

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// ActAsAssembler does what ptxas does with those arguments: it has a recorder
// put probes into the PTX, runs the real ptxas on what comes back, and returns
// its exit status. Without a recorder, or where there is nothing to record, it
// only becomes the real one. Name is what it was called by: ptxas, or
// ptxas-blackwell.
func ActAsAssembler(ctx context.Context, name string, args []string, stdout, stderr io.Writer) int {
	a, err := realAssembler(name)
	if err != nil {
		fmt.Fprintf(stderr, "btrace as %s: %v\n", name, err)
		return 1
	}
	s := &shim{Assembler: a, args: args, stdout: stdout, stderr: stderr}
	if code, done := s.probed(ctx); done {
		return code
	}
	err = unix.Exec(a.Path, append([]string{a.Path}, args...), os.Environ())
	fmt.Fprintf(stderr, "btrace as %s: run %s: %v\n", name, a.Path, err)
	return 1
}

// realAssembler is the ptxas that would have been run: the one that the
// environment named before the recorder came, the one that the calling program
// brings, or the toolkit's.
func realAssembler(name string) (Assembler, error) {
	keep := EnvAssembler
	if name == "ptxas-blackwell" {
		keep = EnvBlackwell
	}
	candidates := []string{os.Getenv(keep), bundled(os.Getppid(), name)}
	if a, ok := FindAssembler(); ok {
		candidates = append(candidates, a.Path)
	}
	if a, ok := firstAssembler(candidates); ok {
		return a, nil
	}
	return Assembler{}, errors.New("there is no ptxas to run: install the CUDA toolkit, or name one in " + keep)
}

// bundled is the ptxas that belongs to the Triton that a process has loaded.
func bundled(pid int, name string) string {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return ""
	}
	defer f.Close()
	in := bufio.NewScanner(io.LimitReader(f, 64<<20))
	for in.Scan() {
		if before, _, ok := strings.Cut(in.Text(), "/triton/_C/"); ok {
			if i := strings.IndexByte(before, '/'); i >= 0 {
				return filepath.Join(before[i:], "triton/backends/nvidia/bin", name)
			}
		}
	}
	return ""
}

// shim is one call.
type shim struct {
	Assembler
	args           []string
	stdout, stderr io.Writer
}

// probed assembles with probes. It returns false if the PTX is to be assembled
// as it is.
func (s *shim) probed(ctx context.Context) (code int, done bool) {
	socket, at := os.Getenv(EnvSocket), s.input()
	if socket == "" || at < 0 {
		return 0, false
	}
	ptx, err := os.ReadFile(s.args[at])
	if err != nil {
		return 0, false
	}
	l, err := Dial(socket)
	if err != nil {
		return 0, false
	}
	defer l.Close()
	id, text, ok := askProbes(l, filepath.Base(s.args[at]), ptx)
	if !ok {
		return 0, false
	}
	said, why := s.assemble(ctx, at, text)
	if why != "" {
		l.Send(&Module{Module: id, Result: 1, Error: why}, nil)
		return 0, false
	}
	l.Send(&Module{Module: id}, nil)
	verbose := s.verbose()
	for line := range strings.Lines(said) {
		if verbose || !strings.HasPrefix(line, "ptxas info") && !strings.HasPrefix(line, "    ") {
			io.WriteString(s.stderr, line)
		}
	}
	return 0, true
}

// input is where the PTX stands among the arguments; -1 if there is none, or
// several.
func (s *shim) input() int {
	at := -1
	for i, arg := range s.args {
		if !strings.HasSuffix(arg, ".ptx") || strings.HasPrefix(arg, "-") || i > 0 && (s.args[i-1] == "-o" || s.args[i-1] == "--output-file") {
			continue
		}
		if at >= 0 {
			return -1
		}
		at = i
	}
	return at
}

// askProbes has the recorder put probes into PTX.
func askProbes(l *Link, name string, ptx []byte) (id uint64, text []byte, ok bool) {
	if l.Send(&Hello{Version: ProtocolVersion, Role: RoleAssembler, PID: uint32(os.Getpid()), Program: os.Args[0]}, nil) != nil {
		return 0, nil, false
	}
	m, f, err := l.Receive()
	if f != nil {
		f.Close()
	}
	if w, isWelcome := m.(*Welcome); err != nil || !isWelcome || w.Error != "" {
		return 0, nil, false
	}
	in, err := imageFile(ptx)
	if err != nil {
		return 0, nil, false
	}
	err = l.Send(&Image{Door: DoorAssembler, Size: uint64(len(ptx)), Name: name}, in)
	in.Close()
	if err != nil {
		return 0, nil, false
	}
	m, f, err = l.Receive()
	if f != nil {
		defer f.Close()
	}
	answer, isAnswer := m.(*Answer)
	if err != nil || !isAnswer || answer.Action != ActionReplace || f == nil {
		return 0, nil, false
	}
	text, err = readFile(f, answer.Size)
	return answer.Module, text, err == nil
}

// assemble runs the real ptxas on PTX with probes, and says why what comes out
// cannot be used.
func (s *shim) assemble(ctx context.Context, at int, text []byte) (said, why string) {
	dir, err := os.MkdirTemp("", "btrace-ptxas-")
	if err != nil {
		return "", err.Error()
	}
	defer os.RemoveAll(dir)
	in := filepath.Join(dir, filepath.Base(s.args[at]))
	if err := os.WriteFile(in, text, 0o600); err != nil {
		return "", err.Error()
	}
	args := slices.Clone(s.args)
	if !s.verbose() {
		args = append(args, "-v")
	}
	args[at] = in
	out, err := exec.CommandContext(ctx, s.Path, args...).CombinedOutput()
	if err != nil {
		return "", refusal(out, err).Error()
	}
	now := ParseReport(out)
	if !now.LostSetMax && !now.spills() {
		return string(out), ""
	}
	// Does the original do so, too? It goes where nobody looks.
	args[at] = s.args[at]
	args = output(args, filepath.Join(dir, "original.cubin"))
	was, err := exec.CommandContext(ctx, s.Path, args...).CombinedOutput()
	if err != nil {
		return "", refusal(was, err).Error()
	}
	before := ParseReport(was)
	for _, name := range sortedNames(now.Entries) {
		if now.Entries[name].spilled() > before.Entries[name].spilled() {
			return "", spillText(now.Entries[name])
		}
	}
	if now.LostSetMax && !before.LostSetMax {
		return "", lostSetMaxText
	}
	return string(out), ""
}

func (s *shim) verbose() bool {
	return slices.Contains(s.args, "-v") || slices.Contains(s.args, "--verbose")
}

// output is arguments with another output.
func output(args []string, file string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "-o" || arg == "--output-file":
			i++
		case strings.HasPrefix(arg, "-o=") || strings.HasPrefix(arg, "--output-file="):
		default:
			out = append(out, arg)
		}
	}
	return append(out, "-o", file)
}
