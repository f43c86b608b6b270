package cupti

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The protocol between a recorder and what runs inside an application (or in
// place of its assembler).
//
// It is spoken over a Unix socket of type SOCK_SEQPACKET whose path is in the
// environment variable BTRACE_SOCKET. A message is one packet: a header, its
// payload, and for some a file descriptor (SCM_RIGHTS). Numbers are little
// endian and packed, without padding; a string is a u32 length and that many
// bytes, without a NUL.
//
//	header   u32 bytes of the payload, u32 type
//
// The library sends; the recorder only answers HELLO, CONTEXT and IMAGE, one
// answer each, in order. So a library that keeps others out between its
// request and the answer needs no numbers to match them. A CONTEXT comes before
// the first IMAGE, because it says what the code is to run on; the context
// itself may be made later. Either side that
// finds the other gone or talking nonsense closes its end: the library is
// quiet from then on (images are loaded as they are), the recorder takes it
// as the end of that process.
//
//	type          payload
//	 1 HELLO      u32 protocol version = 1, u32 role (1 CUPTI library, 2
//	              assembler shim, 3 Sanitizer library), u32 pid, u32 driver
//	              version (cuDriverGetVersion; 0 if not known), string program
//	 2 WELCOME    u32 protocol version of the recorder, u32 flags (0), string
//	              error: if not empty, why the recorder wants nothing more
//	 3 CONTEXT    u32 context (the library's number for it, from 1), u32 device
//	              ordinal, u32 major, u32 minor of the compute capability, u32
//	              SMs, u32 threads an SM runs at once, u32 registers of an SM,
//	              u32 SM clock in kHz, string device name
//	 4 RING       u32 context, u32 flags of the ring, u64 bytes, string error;
//	              fd: the memory (package ring), unless there is an error:
//	              then this context is not recorded
//	 5 IMAGE      u32 context (0: that of the first CONTEXT), u32 door (the Door
//	              constants), u64 bytes, string name (a file's, or empty); fd:
//	              a memfd with the bytes, from offset 0
//	 6 ANSWER     u32 action (0 load the original, 1 load the fd's bytes in its
//	              place, 2 load the original, which is instrumented already),
//	              u64 module (0 with action 0), u64 bytes, string reason (why
//	              not, with action 0); fd: with action 1
//	 7 MODULE     u64 module, u32 context (0: of an assembler), u32 CUresult
//	              or exit status of the load, string error. Sent once the
//	              module was loaded and its control block filled in (0), or
//	              could not be: then the library loads the original, if it can
//	 8 LAUNCH     u64 correlation, u64 stream, u64 module (0 if it is none of
//	              the recorder's), u64 host time in ns (CLOCK_MONOTONIC), u32
//	              context, u32 flags (1 cooperative, 2 captured into a graph:
//	              nothing runs yet), 3 u32 grid, 3 u32 block, 3 u32 cluster (0
//	              0 0 if none), u32 dynamic shared memory, string function (as
//	              in the binary). Sent before the launch
//	 9 DONE       u64 correlation, u64 gridid (0 if it is not known), u64 start, u64 end (ns, CUPTI's
//	              clock), u32 context, 3 u32 grid, 3 u32 block, 3 u32 cluster,
//	              u32 dynamic shared memory, u64 stream, string function. From
//	              the kernel's activity record
//	10 FAILED     u64 correlation (0: of no one launch), u32 context, u32
//	              CUresult, string name of the result. A launch that was
//	              refused; or, without a correlation, the context is broken
//	11 BYE        nothing: the process ends in order
//	12 NOTE       string: one line that the user should see
//
// MaxMessage bounds a packet, MaxImage an image on either way.
const (
	ProtocolVersion = 1
	MaxMessage      = 64 << 10
	MaxImage        = 1 << 30
	headerBytes     = 8
	// maxText is the most bytes of a string: C++ names are long.
	maxText = 32 << 10
)

// MessageType is the type of a message.
type MessageType uint32

// The types of messages.
const (
	TypeHello MessageType = 1 + iota
	TypeWelcome
	TypeContext
	TypeRing
	TypeImage
	TypeAnswer
	TypeModule
	TypeLaunch
	TypeDone
	TypeFailed
	TypeBye
	TypeNote
)

// Role is what a peer of the recorder is.
type Role uint32

// The roles.
const (
	RoleCUPTI Role = 1 + iota
	RoleAssembler
	RoleSanitizer
)

// String is what a trace calls a recorder in that role.
func (r Role) String() string {
	switch r {
	case RoleCUPTI:
		return "cupti"
	case RoleAssembler:
		return "assembler"
	case RoleSanitizer:
		return "sanitizer"
	}
	return fmt.Sprintf("role %d", uint32(r))
}

// Door is the way by which an image comes into a process.
type Door uint32

// The doors: driver functions, and an assembler's command line (whose image is
// PTX and is answered with PTX).
const (
	DoorModuleLoad Door = 1 + iota
	DoorModuleLoadData
	DoorModuleLoadDataEx
	DoorModuleLoadFatBinary
	DoorLibraryLoadData
	DoorLibraryLoadFromFile
	DoorLinkAddData
	DoorLinkAddFile
	DoorAssembler
)

// Action is what the sender of an image is to do with it.
type Action uint32

// The actions.
const (
	ActionOriginal Action = iota
	ActionReplace
	ActionInstrumented
)

// The flags of a LAUNCH.
const (
	LaunchCooperative uint32 = 1 << iota
	LaunchCaptured
)

// Message is one of the messages below.
type Message interface {
	// Type is its type.
	Type() MessageType
	// fields walks its fields in the order of the layout.
	fields(*coder)
}

// Hello is the first message of a connection.
type Hello struct {
	Version uint32
	Role    Role
	PID     uint32
	Driver  uint32
	Program string
}

// Welcome answers a Hello.
type Welcome struct {
	Version uint32
	Flags   uint32
	Error   string
}

// Context tells of a context that kernels may run in.
type Context struct {
	Context      uint32
	Device       uint32
	Major, Minor uint32
	SMs          uint32
	Threads      uint32 // that an SM runs at once
	Registers    uint32 // of an SM
	ClockKHz     uint32
	Name         string
}

// Ring answers a Context, with the memory that its kernels write to.
type Ring struct {
	Context uint32
	Flags   uint32
	Size    uint64
	Error   string
}

// Image asks what to do with an image that is about to be loaded.
type Image struct {
	Context uint32
	Door    Door
	Size    uint64
	Name    string
}

// Answer answers an Image.
type Answer struct {
	Action Action
	Module uint64
	Size   uint64
	Reason string
}

// Module tells how the load of an instrumented module ended.
type Module struct {
	Module  uint64
	Context uint32
	Result  uint32
	Error   string
}

// Launch tells of a launch that is about to happen.
type Launch struct {
	Correlation          uint64
	Stream               uint64
	Module               uint64
	HostTime             uint64
	Context              uint32
	Flags                uint32
	Grid, Block, Cluster [3]uint32
	Shared               uint32
	Function             string
}

// Done tells of a kernel that has ended.
type Done struct {
	Correlation          uint64
	GridID               uint64
	Start, End           uint64
	Context              uint32
	Grid, Block, Cluster [3]uint32
	Shared               uint32
	Stream               uint64
	Function             string
}

// Failed tells of a launch that failed, or a context that did.
type Failed struct {
	Correlation uint64
	Context     uint32
	Result      uint32
	Name        string
}

// Bye is the last message of a process that ends in order.
type Bye struct{}

// Note is a line for the user.
type Note struct{ Text string }

func (*Hello) Type() MessageType   { return TypeHello }
func (*Welcome) Type() MessageType { return TypeWelcome }
func (*Context) Type() MessageType { return TypeContext }
func (*Ring) Type() MessageType    { return TypeRing }
func (*Image) Type() MessageType   { return TypeImage }
func (*Answer) Type() MessageType  { return TypeAnswer }
func (*Module) Type() MessageType  { return TypeModule }
func (*Launch) Type() MessageType  { return TypeLaunch }
func (*Done) Type() MessageType    { return TypeDone }
func (*Failed) Type() MessageType  { return TypeFailed }
func (*Bye) Type() MessageType     { return TypeBye }
func (*Note) Type() MessageType    { return TypeNote }

func (m *Hello) fields(c *coder) {
	c.u32(&m.Version)
	c.u32((*uint32)(&m.Role))
	c.u32(&m.PID)
	c.u32(&m.Driver)
	c.text(&m.Program)
}

func (m *Welcome) fields(c *coder) {
	c.u32(&m.Version)
	c.u32(&m.Flags)
	c.text(&m.Error)
}

func (m *Context) fields(c *coder) {
	for _, x := range []*uint32{&m.Context, &m.Device, &m.Major, &m.Minor, &m.SMs, &m.Threads, &m.Registers, &m.ClockKHz} {
		c.u32(x)
	}
	c.text(&m.Name)
}

func (m *Ring) fields(c *coder) {
	c.u32(&m.Context)
	c.u32(&m.Flags)
	c.u64(&m.Size)
	c.text(&m.Error)
}

func (m *Image) fields(c *coder) {
	c.u32(&m.Context)
	c.u32((*uint32)(&m.Door))
	c.u64(&m.Size)
	c.text(&m.Name)
}

func (m *Answer) fields(c *coder) {
	c.u32((*uint32)(&m.Action))
	c.u64(&m.Module)
	c.u64(&m.Size)
	c.text(&m.Reason)
}

func (m *Module) fields(c *coder) {
	c.u64(&m.Module)
	c.u32(&m.Context)
	c.u32(&m.Result)
	c.text(&m.Error)
}

func (m *Launch) fields(c *coder) {
	c.u64(&m.Correlation)
	c.u64(&m.Stream)
	c.u64(&m.Module)
	c.u64(&m.HostTime)
	c.u32(&m.Context)
	c.u32(&m.Flags)
	c.dims(&m.Grid, &m.Block, &m.Cluster)
	c.u32(&m.Shared)
	c.text(&m.Function)
}

func (m *Done) fields(c *coder) {
	c.u64(&m.Correlation)
	c.u64(&m.GridID)
	c.u64(&m.Start)
	c.u64(&m.End)
	c.u32(&m.Context)
	c.dims(&m.Grid, &m.Block, &m.Cluster)
	c.u32(&m.Shared)
	c.u64(&m.Stream)
	c.text(&m.Function)
}

func (m *Failed) fields(c *coder) {
	c.u64(&m.Correlation)
	c.u32(&m.Context)
	c.u32(&m.Result)
	c.text(&m.Name)
}

func (m *Bye) fields(*coder) {}

func (m *Note) fields(c *coder) { c.text(&m.Text) }

// AppendMessage appends a message as one packet. A string that is too long
// for one is cut.
func AppendMessage(b []byte, m Message) []byte {
	at := len(b)
	c := coder{b: append(b, make([]byte, headerBytes)...), writing: true}
	m.fields(&c)
	binary.LittleEndian.PutUint32(c.b[at:], uint32(len(c.b)-at-headerBytes))
	binary.LittleEndian.PutUint32(c.b[at+4:], uint32(m.Type()))
	return c.b
}

// ParseMessage reads a packet, which is exactly one message.
func ParseMessage(b []byte) (Message, error) {
	if len(b) < headerBytes {
		return nil, fmt.Errorf("a message of %d bytes: it has no header", len(b))
	}
	size, kind := binary.LittleEndian.Uint32(b), MessageType(binary.LittleEndian.Uint32(b[4:]))
	if int64(size) != int64(len(b)-headerBytes) {
		return nil, fmt.Errorf("a message of type %d in a packet of %d bytes: it says that %d follow its header", kind, len(b), size)
	}
	m := newMessage(kind)
	if m == nil {
		return nil, fmt.Errorf("a message of the unknown type %d", kind)
	}
	c := coder{b: b[headerBytes:]}
	m.fields(&c)
	if c.err == nil && len(c.b) > 0 {
		c.err = fmt.Errorf("%d bytes too many", len(c.b))
	}
	if c.err != nil {
		return nil, fmt.Errorf("a message of type %d: %w", kind, c.err)
	}
	return m, nil
}

func newMessage(t MessageType) Message {
	switch t {
	case TypeHello:
		return new(Hello)
	case TypeWelcome:
		return new(Welcome)
	case TypeContext:
		return new(Context)
	case TypeRing:
		return new(Ring)
	case TypeImage:
		return new(Image)
	case TypeAnswer:
		return new(Answer)
	case TypeModule:
		return new(Module)
	case TypeLaunch:
		return new(Launch)
	case TypeDone:
		return new(Done)
	case TypeFailed:
		return new(Failed)
	case TypeBye:
		return new(Bye)
	case TypeNote:
		return new(Note)
	}
	return nil
}

// coder writes fields to the end of b, or takes them from its beginning.
type coder struct {
	b       []byte
	writing bool
	err     error
}

var errShort = errors.New("it ends too soon")

// take is the next n bytes of a message that is read.
func (c *coder) take(n int) []byte {
	if c.err == nil && len(c.b) < n {
		c.err = errShort
	}
	if c.err != nil {
		return nil
	}
	p := c.b[:n]
	c.b = c.b[n:]
	return p
}

func (c *coder) u32(x *uint32) {
	if c.writing {
		c.b = binary.LittleEndian.AppendUint32(c.b, *x)
	} else if p := c.take(4); p != nil {
		*x = binary.LittleEndian.Uint32(p)
	}
}

func (c *coder) u64(x *uint64) {
	if c.writing {
		c.b = binary.LittleEndian.AppendUint64(c.b, *x)
	} else if p := c.take(8); p != nil {
		*x = binary.LittleEndian.Uint64(p)
	}
}

func (c *coder) dims(ds ...*[3]uint32) {
	for _, d := range ds {
		for i := range d {
			c.u32(&d[i])
		}
	}
}

func (c *coder) text(s *string) {
	n := uint32(min(len(*s), maxText))
	if c.writing {
		c.u32(&n)
		c.b = append(c.b, (*s)[:n]...)
		return
	}
	c.u32(&n)
	if c.err == nil && n > maxText {
		c.err = fmt.Errorf("a text of %d bytes: at most %d are allowed", n, maxText)
	}
	if p := c.take(int(n)); c.err == nil {
		*s = string(p)
	}
}
