//go:build linux

package cupti

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Link is one end of a connection between a recorder and what runs in an
// application, or in place of an assembler. One goroutine may receive while
// others send.
type Link struct {
	conn *net.UnixConn
	in   []byte
	oob  []byte
	mu   sync.Mutex // of sending
	out  []byte
}

func newLink(c *net.UnixConn) *Link {
	return &Link{conn: c, in: make([]byte, MaxMessage+1), oob: make([]byte, unix.CmsgSpace(4*4))}
}

// Dial connects to a recorder by the path in BTRACE_SOCKET.
func Dial(path string) (*Link, error) {
	c, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: path, Net: "unixpacket"})
	if err != nil {
		return nil, fmt.Errorf("connect to the recorder: %w", err)
	}
	return newLink(c), nil
}

// Close closes the connection.
func (l *Link) Close() error { return l.conn.Close() }

// peer is the process at the other end, as the system knows it.
func (l *Link) peer() (pid int, uid uint32, err error) {
	raw, err := l.conn.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var cred *unix.Ucred
	if cerr := raw.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); cerr != nil {
		return 0, 0, cerr
	}
	if err != nil {
		return 0, 0, err
	}
	return int(cred.Pid), cred.Uid, nil
}

// Send sends a message, and a file if there is one.
func (l *Link) Send(m Message, f *os.File) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out = AppendMessage(l.out[:0], m)
	var oob []byte
	if f != nil {
		oob = unix.UnixRights(int(f.Fd()))
	}
	if _, _, err := l.conn.WriteMsgUnix(l.out, oob, nil); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	return nil
}

// Receive waits for the next message. A file that comes with it is the
// caller's to close. The end of the connection is io.EOF.
func (l *Link) Receive() (Message, *os.File, error) {
	n, oobn, flags, _, err := l.conn.ReadMsgUnix(l.in, l.oob)
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, net.ErrClosed) {
			return nil, nil, io.EOF
		}
		return nil, nil, fmt.Errorf("receive: %w", err)
	}
	f, err := oneFile(l.oob[:oobn])
	if err == nil && (n > MaxMessage || flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0) {
		err = fmt.Errorf("receive: a message of more than %d bytes, or with several files", MaxMessage)
	}
	var m Message
	if err == nil {
		m, err = ParseMessage(l.in[:n])
	}
	if err != nil {
		if f != nil {
			f.Close()
		}
		return nil, nil, err
	}
	return m, f, nil
}

// oneFile is the file in a control message; nil if there is none. More than
// one is an error, and leaves none open.
func oneFile(oob []byte) (*os.File, error) {
	if len(oob) == 0 {
		return nil, nil
	}
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, fmt.Errorf("receive a file: %w", err)
	}
	var all []int
	for i := range messages {
		if fds, err := unix.ParseUnixRights(&messages[i]); err == nil {
			all = append(all, fds...)
		}
	}
	if len(all) != 1 {
		for _, fd := range all {
			unix.Close(fd)
		}
		if len(all) == 0 {
			return nil, nil
		}
		return nil, fmt.Errorf("receive: %d files with a message that has one", len(all))
	}
	unix.CloseOnExec(all[0])
	return os.NewFile(uintptr(all[0]), "memory"), nil
}

// memory is memory that two processes map.
type memory struct {
	file  *os.File
	bytes []byte
}

// newMemory makes memory that is all zero.
func newMemory(name string, size int) (*memory, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make %d bytes of shared memory: %w", size, err)
	}
	m := &memory{file: os.NewFile(uintptr(fd), name)}
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		m.close()
		return nil, fmt.Errorf("make %d bytes of shared memory: %w", size, err)
	}
	// Nobody can take it away from under a mapping.
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		m.close()
		return nil, fmt.Errorf("seal shared memory: %w", err)
	}
	if m.bytes, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		m.close()
		return nil, fmt.Errorf("map %d bytes of shared memory: %w", size, err)
	}
	return m, nil
}

func (m *memory) close() {
	if m.bytes != nil {
		unix.Munmap(m.bytes)
		m.bytes = nil
	}
	m.file.Close()
}

// readFile reads the first bytes of a file that the other side sent. It does
// not map it: the other side could shorten it meanwhile.
func readFile(f *os.File, size uint64) ([]byte, error) {
	if size > MaxImage {
		return nil, fmt.Errorf("an image of %d bytes: at most %d are taken", size, MaxImage)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() < int64(size) {
		return nil, fmt.Errorf("an image of %d bytes in a file of %d", size, info.Size())
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && !(size == 0 && errors.Is(err, io.EOF)) {
		return nil, fmt.Errorf("read an image: %w", err)
	}
	return b, nil
}

// imageFile is a file with the bytes of an image, to be sent.
func imageFile(image []byte) (*os.File, error) {
	m, err := newMemory("btrace-image", max(len(image), 1))
	if err != nil {
		return nil, err
	}
	copy(m.bytes, image)
	unix.Munmap(m.bytes)
	return m.file, nil
}
