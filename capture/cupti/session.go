//go:build linux

package cupti

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"btrace/capture/cupti/ring"
)

// The environment of a recorded program, besides CUDA's own.
const (
	EnvSocket = "BTRACE_SOCKET"
	// EnvAssembler is the ptxas that a program was told to use by
	// TRITON_PTXAS_PATH, EnvBlackwell by TRITON_PTXAS_BLACKWELL_PATH, before
	// the recorder put itself there.
	EnvAssembler = "BTRACE_PTXAS"
	EnvBlackwell = "BTRACE_PTXAS_BLACKWELL"
)

// session is what a recording has of the system: its folder, its socket, the
// application and the connections.
type session struct {
	ctx    context.Context
	o      *Options
	dir    string
	listen *net.UnixListener
	sites  *siteTable
	in     *instrumenter
	drain  *drain
	events chan event
	over   chan struct{}
	cmd    *exec.Cmd

	serving sync.WaitGroup
	mu      sync.Mutex
	links   map[*Link]int // to the process's number
	closed  bool
}

// process is one that has connected.
type process struct {
	link     *Link
	pid      int
	role     Role
	rings    map[uint32]*source // by context; of the recorder's loop
	captured map[string]*Launch // what was put into graphs, by function
	broken   map[uint32]string  // contexts, with what they failed by
	cut      time.Time          // when it ended

	// Of its connection.
	devices map[uint32]device
	device  device // of its first context
}

// ended is how the application ended.
type ended struct{ how string }

// killAfter is how long an application has to end in order.
const killAfter = 2 * time.Second

// startSession makes what a recording needs. Nothing of it can be reached by
// other users, and close leaves nothing of it behind.
func startSession(ctx context.Context, o *Options) (*session, error) {
	var run [4]byte
	if _, err := rand.Read(run[:]); err != nil {
		return nil, err
	}
	dir, err := privateDir()
	if err != nil {
		return nil, err
	}
	s := &session{
		ctx: ctx, o: o, dir: dir, sites: newSiteTable(binary.LittleEndian.Uint32(run[:])),
		events: make(chan event, 256), over: make(chan struct{}), links: make(map[*Link]int),
	}
	s.in = newInstrumenter(ctx, s.sites, o)
	s.listen, err = net.ListenUnix("unixpacket", &net.UnixAddr{Name: s.socket(), Net: "unixpacket"})
	if err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("listen for the application: %w", err)
	}
	return s, nil
}

// privateDir is a new folder that nobody else can look into. Its path is
// short: a socket's has at most 107 bytes.
func privateDir() (string, error) {
	var errs []error
	for _, parent := range []string{os.Getenv("XDG_RUNTIME_DIR"), os.TempDir(), "/tmp"} {
		if parent == "" || len(parent) > 64 {
			continue
		}
		dir, err := os.MkdirTemp(parent, "btrace-")
		if err == nil {
			return dir, nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("make a folder for the application's socket: %w", errors.Join(errs...))
}

func (s *session) socket() string { return filepath.Join(s.dir, "socket") }

// start starts the application.
func (s *session) start() error {
	s.serving.Add(1)
	go s.accept()
	env, err := s.environment(os.Environ())
	if err != nil {
		return err
	}
	s.cmd = exec.Command(s.o.Args[0], s.o.Args[1:]...)
	s.cmd.Env = env
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = s.o.Stdin, s.o.Stdout, s.o.Stderr
	s.cmd.WaitDelay = killAfter
	if err := s.cmd.Start(); err != nil {
		var notFound *exec.Error
		var failed *os.PathError
		if errors.As(err, &notFound) {
			err = notFound.Err
		} else if errors.As(err, &failed) {
			err = failed.Err
		}
		return fmt.Errorf("start %s: %w", s.o.Args[0], err)
	}
	go func() {
		err := s.cmd.Wait()
		how := ""
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			how = failed.Error()
		}
		s.tell(event{x: &ended{how}})
	}()
	return nil
}

// environment is the application's.
func (s *session) environment(env []string) ([]string, error) {
	set := func(name, value string) {
		env = slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
		env = append(env, name+"="+value)
	}
	set(EnvSocket, s.socket())
	set("CUDA_INJECTION64_PATH", s.o.Library)
	set("CUDA_MODULE_LOADING", "EAGER")
	if s.o.Shim == "" {
		return env, nil
	}
	for _, a := range []struct{ file, name, keep string }{
		{"ptxas", "TRITON_PTXAS_PATH", EnvAssembler},
		{"ptxas-blackwell", "TRITON_PTXAS_BLACKWELL_PATH", EnvBlackwell},
	} {
		link := filepath.Join(s.dir, a.file)
		if err := os.Symlink(s.o.Shim, link); err != nil {
			return nil, fmt.Errorf("put an assembler in the application's way: %w", err)
		}
		if before := os.Getenv(a.name); before != "" {
			set(a.keep, before)
		}
		set(a.name, link)
	}
	// What Triton assembled before has no probes.
	cache := filepath.Join(s.dir, "triton")
	if err := os.Mkdir(cache, 0o700); err != nil {
		return nil, fmt.Errorf("make a cache for Triton: %w", err)
	}
	set("TRITON_CACHE_DIR", cache)
	return env, nil
}

// close ends all connections and removes what the session made.
func (s *session) close() {
	s.listen.Close()
	s.mu.Lock()
	s.closed = true
	for l := range s.links {
		l.Close()
	}
	s.mu.Unlock()
	s.serving.Wait()
	os.RemoveAll(s.dir)
}

// kill ends the application and the processes that connected: it asks, and
// after a while does not ask.
func (s *session) kill() {
	s.signal(unix.SIGTERM)
	time.AfterFunc(killAfter, func() { s.signal(unix.SIGKILL) })
}

func (s *session) signal(sig unix.Signal) {
	s.cmd.Process.Signal(sig)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	for _, pid := range s.links {
		if pid > 1 && pid != s.cmd.Process.Pid && pid != os.Getpid() {
			unix.Kill(pid, sig)
		}
	}
}

// tell gives the recorder an event, as long as it takes any.
func (s *session) tell(e event) bool {
	select {
	case s.events <- e:
		return true
	case <-s.over:
		return false
	}
}

func (s *session) note(line string) {
	if s.o.Note != nil && line != "" {
		s.o.Note(line)
	}
}

func (s *session) accept() {
	defer s.serving.Done()
	for {
		c, err := s.listen.AcceptUnix()
		if err != nil {
			return
		}
		l := newLink(c)
		pid, uid, err := l.peer()
		s.mu.Lock()
		if err != nil || int(uid) != os.Getuid() || s.closed {
			s.mu.Unlock()
			l.Close()
			continue
		}
		s.links[l] = pid
		s.serving.Add(1)
		s.mu.Unlock()
		go s.serve(l, pid)
	}
}

// serve answers one process until it is gone.
func (s *session) serve(l *Link, pid int) {
	p := &process{link: l, pid: pid, rings: make(map[uint32]*source), devices: make(map[uint32]device)}
	defer s.serving.Done()
	defer func() {
		l.Close()
		s.mu.Lock()
		delete(s.links, l)
		s.mu.Unlock()
		if p.role != 0 {
			s.tell(event{p: p, at: time.Now()})
		}
	}()
	for {
		m, f, err := l.Receive()
		if err == nil {
			err = s.message(p, m, f)
		}
		if f != nil {
			f.Close()
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				s.note(fmt.Sprintf("process %d is not recorded any more: %v", pid, err))
			}
			return
		}
	}
}

// message takes one message. An error ends the connection.
func (s *session) message(p *process, m Message, f *os.File) error {
	hello, isHello := m.(*Hello)
	if isHello != (p.role == 0) {
		return fmt.Errorf("a message of type %d where HELLO comes first, and once", m.Type())
	}
	switch m := m.(type) {
	case *Hello:
		if m.Version != ProtocolVersion || m.Role < RoleCUPTI || m.Role > RoleSanitizer {
			err := fmt.Errorf("its library speaks version %d as %d, btrace version %d: use the library that belongs to this btrace", m.Version, m.Role, ProtocolVersion)
			p.link.Send(&Welcome{Version: ProtocolVersion, Error: err.Error()}, nil)
			return err
		}
		p.role = hello.Role
		if !s.tell(event{p: p, m: m}) {
			return io.EOF
		}
		return p.link.Send(&Welcome{Version: ProtocolVersion}, nil)
	case *Context:
		return s.context(p, m)
	case *Image:
		return s.image(p, m, f)
	case *Module:
		if m.Error != "" {
			if p.role != RoleAssembler { // which only says what it decided
				s.note("an instrumented module could not be loaded, its kernels are not recorded: " + m.Error)
			}
			s.in.unload(m.Module, m.Error)
		}
		return nil
	case *Note:
		s.note(m.Text)
		return nil
	case *Bye:
		return io.EOF
	case *Launch, *Done, *Failed:
		if !s.tell(event{p: p, m: m}) {
			return io.EOF
		}
		return nil
	}
	return fmt.Errorf("a message of type %d, which only the recorder sends", m.Type())
}

// context makes the ring of a context.
func (s *session) context(p *process, c *Context) error {
	if _, ok := p.devices[c.Context]; ok {
		return fmt.Errorf("context %d comes twice", c.Context)
	}
	dev := device{int(c.Major), int(c.Minor), int(c.Registers)}
	if dev.registers == 0 {
		dev.registers = 64 << 10
	}
	p.devices[c.Context] = dev
	if len(p.devices) == 1 {
		p.device = dev
	}
	src, err := s.newSource(p, c)
	if err != nil {
		s.note(fmt.Sprintf("nothing is recorded on %s: %v", c.Name, err))
		return p.link.Send(&Ring{Context: c.Context, Error: err.Error()}, nil)
	}
	if !s.tell(event{p: p, s: src}) {
		src.mem.close()
		return io.EOF
	}
	answer := &Ring{Context: c.Context, Size: uint64(len(src.mem.bytes))}
	if src.Drops() {
		answer.Flags = ring.FlagDrop
	}
	if src.chosen {
		answer.Flags |= ring.FlagChosen
	}
	return p.link.Send(answer, src.mem.file)
}

func (s *session) newSource(p *process, c *Context) (*source, error) {
	chunks, err := chunksFor(s.o.Buffer)
	if err != nil {
		return nil, err
	}
	mem, err := newMemory("btrace-ring", ring.Size(chunks))
	if err != nil {
		return nil, err
	}
	flags := uint32(0)
	if s.o.Drop {
		flags = ring.FlagDrop
	}
	err = ring.Format(mem.bytes, chunks, flags)
	var r *ring.Reader
	if err == nil {
		r, err = ring.NewReader(mem.bytes)
	}
	if err != nil {
		mem.close()
		return nil, err
	}
	// The Sanitizer's patches write everything.
	chosen := p.role == RoleCUPTI && (s.o.CTAs.Set || s.o.Warps.Set)
	if chosen {
		cta, warp := s.o.CTAs.bounds(), s.o.Warps.bounds()
		ring.Choose(mem.bytes, cta[0], cta[1], warp[0], warp[1])
	}
	return &source{Reader: r, mem: mem, process: p, context: *c, chosen: chosen}, nil
}

// defaultBuffer is the bytes of a ring where nobody says.
const defaultBuffer = 512 << 20

// chunksFor is how many chunks a ring of that many bytes has.
func chunksFor(bytes int64) (int, error) {
	if bytes == 0 {
		bytes = defaultBuffer
	}
	if bytes < ring.MinChunks*ring.ChunkBytes {
		return 0, fmt.Errorf("a buffer of %d bytes: give at least %d KiB", bytes, ring.MinChunks*ring.ChunkBytes>>10)
	}
	chunks := ring.MinChunks
	for chunks < ring.MaxChunks && int64(chunks)*2*ring.ChunkBytes <= bytes {
		chunks *= 2
	}
	return chunks, nil
}

// image answers an image.
func (s *session) image(p *process, m *Image, f *os.File) error {
	if f == nil {
		return errors.New("an image without its bytes")
	}
	bytes, err := readFile(f, m.Size)
	if err != nil {
		return p.link.Send(&Answer{Reason: err.Error()}, nil)
	}
	dev, ok := p.devices[m.Context]
	if !ok {
		dev = p.device
	}
	v, note := s.in.image(bytes, m, p.role, dev)
	s.note(note)
	answer := v.answer
	if answer.Action != ActionReplace {
		return p.link.Send(&answer, nil)
	}
	out, err := imageFile(v.image)
	if err != nil {
		return p.link.Send(&Answer{Reason: err.Error()}, nil)
	}
	defer out.Close()
	answer.Size = uint64(len(v.image))
	return p.link.Send(&answer, out)
}
