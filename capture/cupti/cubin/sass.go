package cubin

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// Op is what an instruction does with barriers.
type Op uint8

// The instructions, by the names that nvdisasm gives them.
const (
	OpBarSync       Op = 1 + iota // BAR.SYNC: bar.sync, barrier.sync
	OpBarArrive                   // BAR.ARV: bar.arrive
	OpBarRed                      // BAR.RED.POPC, .AND, .OR: bar.red
	OpMbarrier                    // SYNCS: mbarrier operations but a wait
	OpMbarrierWait                // SYNCS.PHASECHK: test_wait and try_wait
	OpWarpSync                    // WARPSYNC: bar.warp.sync, and what the compiler adds
	OpClusterArrive               // UCGABAR_ARV
	OpClusterWait                 // UCGABAR_WAIT
	OpBulkCopy                    // UBLKCP, UTMALDG, ...: copies that an mbarrier counts
	OpCall                        // CALL: another function is entered
)

func (o Op) String() string {
	names := [...]string{"", "bar.sync", "bar.arrive", "bar.red", "mbarrier", "mbarrier wait", "bar.warp.sync", "cluster arrive", "cluster wait", "bulk copy", "call"}
	if int(o) < len(names) {
		return names[o]
	}
	return fmt.Sprintf("Op(%d)", uint8(o))
}

// Instruction is one that has to do with barriers, or calls what may.
type Instruction struct {
	PC uint64 // offset in the function
	Op Op
	// Text is the instruction as nvdisasm prints it, without its encoding.
	Text string
	// Barrier and Threads are BAR's operands where they are numbers in the
	// instruction: else -1. BAR.SYNC for all threads of the CTA has 0 Threads.
	Barrier, Threads int
	// Result is the operation of BAR.RED: "POPC", "AND", "OR".
	Result string
}

// maxListing bounds nvdisasm's output. A cubin grows by about 12 as text.
const maxListing = 1 << 30

// Disassemble runs nvdisasm (a path, or a name for PATH) on a cubin and finds
// the instructions that have to do with barriers, by function. dir is a
// directory for the file that nvdisasm reads.
func Disassemble(ctx context.Context, nvdisasm, dir string, image []byte) (map[string][]Instruction, error) {
	f, err := os.CreateTemp(dir, "btrace-*.cubin")
	if err != nil {
		return nil, fmt.Errorf("disassembling: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(image)
	if end := f.Close(); err == nil {
		err = end
	}
	if err != nil {
		return nil, fmt.Errorf("disassembling: writing %s: %w", f.Name(), err)
	}
	cmd := exec.CommandContext(ctx, nvdisasm, "-c", f.Name())
	var said bytes.Buffer
	out := limited{most: maxListing}
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
		return nil, fmt.Errorf("disassembling: %s: %w (%.200s)", nvdisasm, err, line)
	}
	return ParseListing(out.Bytes())
}

// limited is a buffer that refuses more than most bytes.
type limited struct {
	bytes.Buffer
	most int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > l.most {
		return 0, errors.New("the listing is too long")
	}
	return l.Buffer.Write(p)
}

// ParseListing reads what `nvdisasm -c` prints. A function without any such
// instruction has an empty list.
func ParseListing(listing []byte) (map[string][]Instruction, error) {
	found := make(map[string][]Instruction)
	function := ""
	s := bufio.NewScanner(bytes.NewReader(listing))
	s.Buffer(nil, 1<<20)
	for n := 1; s.Scan(); n++ {
		line := strings.TrimSpace(s.Text())
		// A section has one function; its label comes before the code.
		if name, ok := strings.CutPrefix(line, ".text."); ok && strings.HasSuffix(name, ":") {
			function = strings.TrimSuffix(name, ":")
			found[function] = nil
			continue
		}
		rest, ok := strings.CutPrefix(line, "/*")
		if !ok {
			continue
		}
		at, code, ok := strings.Cut(rest, "*/")
		pc, err := strconv.ParseUint(at, 16, 64)
		if !ok || err != nil {
			continue // the second line of an encoding
		}
		if function == "" {
			return nil, fmt.Errorf("line %d of nvdisasm's listing: an instruction outside a function", n)
		}
		if i, ok := parseInstruction(code); ok {
			i.PC = pc
			found[function] = append(found[function], i)
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("reading nvdisasm's listing: %w", err)
	}
	return found, nil
}

// parseInstruction reads "@P0 BAR.SYNC.DEFER_BLOCKING 0x1, 0x40 ;".
func parseInstruction(code string) (Instruction, bool) {
	code, _, _ = strings.Cut(code, ";")
	text := strings.TrimSpace(code)
	name, operands, _ := strings.Cut(text, " ")
	if strings.HasPrefix(name, "@") {
		name, operands, _ = strings.Cut(strings.TrimSpace(operands), " ")
	}
	i := Instruction{Text: text, Barrier: -1, Threads: -1}
	parts := strings.Split(name, ".")
	second := ""
	if len(parts) > 1 {
		second = parts[1]
	}
	switch parts[0] {
	case "BAR":
		switch second {
		case "SYNC":
			i.Op = OpBarSync
		case "ARV":
			i.Op = OpBarArrive
		case "RED":
			i.Op = OpBarRed
			if len(parts) > 2 {
				i.Result = parts[2]
			}
		}
		i.barOperands(operands)
	case "SYNCS":
		i.Op = OpMbarrier
		if second == "PHASECHK" {
			i.Op = OpMbarrierWait
		}
	case "WARPSYNC":
		i.Op = OpWarpSync
	case "UCGABAR_ARV":
		i.Op = OpClusterArrive
	case "UCGABAR_WAIT":
		i.Op = OpClusterWait
	case "UBLKCP", "UTMALDG", "UBLKRED":
		i.Op = OpBulkCopy
	case "CALL":
		i.Op = OpCall
	}
	return i, i.Op != 0
}

func (i *Instruction) barOperands(operands string) {
	var xs []string
	for o := range strings.SplitSeq(operands, ",") {
		if o = strings.TrimSpace(o); o != "" && !strings.HasPrefix(o, "P") && !strings.HasPrefix(o, "!P") && !strings.HasPrefix(o, "UP") {
			xs = append(xs, o)
		}
	}
	number := func(s string) int {
		n, err := strconv.ParseUint(s, 0, 16)
		if err != nil {
			return -1
		}
		return int(n)
	}
	if len(xs) > 0 {
		i.Barrier = number(xs[0])
	}
	switch {
	case len(xs) > 1:
		i.Threads = number(xs[1])
	case i.Barrier >= 0: // in a register the operand has both
		i.Threads = 0
	}
}
