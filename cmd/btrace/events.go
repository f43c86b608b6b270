package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"btrace/capture"
	"btrace/replay/rules/similar"
	"btrace/trace"
	"btrace/trace/plain"
)

// eventFlags are the filters of the events command as they were given.
type eventFlags struct {
	from, to      string
	ctas, warps   []uint
	barriers, ops []string
	launch        int64
	limit         uint64
	format        string
}

func newEvents() *cobra.Command {
	var f eventFlags
	cmd := &cobra.Command{
		Use:   "events TRACE",
		Short: "List the recorded events, filtered by time, CTA, warp, barrier or operation",
		Long: "Events lists the recorded events in stored order: time, CTA, warp, number.\n\nOperations:\n" +
			ansi.Wordwrap(strings.Join(opNames(), " "), 80, ""),
		Example: `  btrace events run.zst --barrier mbar:0x1420 --from 100us
  btrace events run.zst --cta 0 --warp 3 --op bar.sync,bar.done --format ndjson`,
		Args: exactly(1, "one trace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("--format", f.format, "text", "ndjson"); err != nil {
				return err
			}
			q, err := f.query()
			if err != nil {
				return err
			}
			r, closeTrace, err := openTrace(cmd, args[0], nil)
			if err != nil {
				return err
			}
			defer closeTrace()
			if f.launch >= 0 {
				l, err := findLaunch(r, args[0], f.launch)
				if err != nil {
					return err
				}
				q.Launch = &l.ID
			}
			var w eventWriter = &ndjsonEvents{w: bufio.NewWriter(cmd.OutOrStdout())}
			if f.format == "text" {
				w = newTextEvents(cmd.OutOrStdout(), r.Launches())
			}
			if err := listEvents(cmd, r, q, f.limit, w); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return warnDamage(cmd, args[0], r)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.from, "from", "", "not before this time: nanoseconds, or with a unit (12us, 3ms)")
	fs.StringVar(&f.to, "to", "", "before this time")
	fs.UintSliceVar(&f.ctas, "cta", nil, "only these CTAs (linear index)")
	fs.UintSliceVar(&f.warps, "warp", nil, "only these warps")
	fs.StringSliceVar(&f.barriers, "barrier", nil, "only on these barriers: bar:1, mbar:0x1420, cluster, group:NAME, warp:2")
	fs.StringSliceVar(&f.ops, "op", nil, "only these operations: bar.sync, mbar.arrive, …")
	fs.Int64Var(&f.launch, "launch", -1, "only this launch (default: all)")
	fs.Uint64Var(&f.limit, "limit", 0, "at most this many events (default: all)")
	fs.StringVar(&f.format, "format", "text", "text or ndjson")
	return cmd
}

// query turns the flags into a query.
func (f *eventFlags) query() (trace.Query, error) {
	var q trace.Query
	var err error
	if q.From, err = parseTime("--from", f.from); err != nil {
		return q, err
	}
	if q.To, err = parseTime("--to", f.to); err != nil {
		return q, err
	}
	if f.to != "" && q.To <= q.From {
		return q, fmt.Errorf("--to %s is not after --from %s", f.to, orZero(f.from))
	}
	if q.CTAs, err = uint32s("--cta", f.ctas); err != nil {
		return q, err
	}
	if q.Warps, err = uint32s("--warp", f.warps); err != nil {
		return q, err
	}
	for _, s := range f.barriers {
		b, err := trace.ParseBarrier(s)
		if err != nil {
			return q, err
		}
		q.Barriers = append(q.Barriers, b)
	}
	for _, s := range f.ops {
		k, ok := trace.ParseKind(s)
		if !ok {
			return q, unknown("operation", s, similar.Names(s, opNames()), "btrace events --help")
		}
		q.Kinds = append(q.Kinds, k)
	}
	return q, nil
}

func orZero(s string) string {
	if s == "" {
		return "0"
	}
	return s
}

func opNames() []string {
	var names []string
	for _, k := range trace.Kinds() {
		if k.Kind != trace.KindUnknown {
			names = append(names, k.Name)
		}
	}
	return names
}

// parseTime reads a time: 107552 (nanoseconds), 12us, 3ms, 1.5s.
func parseTime(flag, s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	if ns, err := strconv.ParseInt(s, 10, 64); err == nil {
		return ns, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%s %q is not a time: give nanoseconds, or a unit (12us, 3ms)", flag, s)
	}
	return int64(d), nil
}

func uint32s(flag string, in []uint) ([]uint32, error) {
	var out []uint32
	for _, n := range in {
		if uint(uint32(n)) != n {
			return nil, fmt.Errorf("%s %d is too large", flag, n)
		}
		out = append(out, uint32(n))
	}
	return out, nil
}

// eventWriter is a form in which events are listed.
type eventWriter interface {
	event(e *trace.Event)
	flush() error
}

func listEvents(cmd *cobra.Command, r *trace.Reader, q trace.Query, limit uint64, w eventWriter) error {
	var e trace.Event
	n := uint64(0)
	for b, err := range r.Blocks(cmd.Context(), q) {
		if err != nil {
			w.flush()
			return err
		}
		for i := range b.Len() {
			if limit > 0 && n == limit {
				return w.flush()
			}
			b.Event(i, &e)
			w.event(&e)
			n++
		}
	}
	return w.flush()
}

type ndjsonEvents struct {
	w    *bufio.Writer
	line []byte
	err  error
}

func (o *ndjsonEvents) event(e *trace.Event) {
	o.line = append(trace.AppendNDJSON(o.line[:0], e), '\n')
	if _, err := o.w.Write(o.line); o.err == nil {
		o.err = err
	}
}

func (o *ndjsonEvents) flush() error {
	if err := o.w.Flush(); o.err == nil {
		o.err = err
	}
	return o.err
}

type textEvents struct {
	out      *plain.Printer
	table    []trace.FieldSpec
	launches bool            // show the launch of each event
	ptx      map[uint32]bool // launches whose program counters are lines of PTX
	begun    bool
	operands []byte
}

func newTextEvents(out io.Writer, launches []trace.Launch) *textEvents {
	o := &textEvents{out: plain.NewPrinter(out), table: trace.Operands(), launches: len(launches) > 1, ptx: make(map[uint32]bool)}
	for _, l := range launches {
		o.ptx[l.ID] = l.Recorder == capture.PTX
	}
	return o
}

func (o *textEvents) event(e *trace.Event) {
	if !o.begun {
		o.begun = true
		if o.launches {
			o.out.Printf("launch ")
		}
		o.out.Printf("%12s %5s %4s %6s %-8s %-22s %s\n", "ns", "cta", "warp", "seq", "lanes", "op", "operands")
	}
	if o.launches {
		o.out.Printf("%6d ", e.Launch)
	}
	o.operands = appendOperands(o.operands[:0], o.table, e, o.ptx[e.Launch])
	o.out.Printf("%12d %5d %4d %6d %08x ", e.Time, e.CTA, e.Warp, e.Seq, e.Lanes)
	if len(o.operands) > 0 {
		o.out.Printf("%-22s %s\n", opName(&e.Op), string(o.operands))
	} else {
		o.out.Printf("%s\n", opName(&e.Op))
	}
}

func (o *textEvents) flush() error { return o.out.Flush() }

func opName(o *trace.Op) string {
	if o.Kind == trace.KindUnknown {
		return o.Name
	}
	return o.Kind.String()
}

// appendOperands appends an event's operands as KEY=VALUE, in the order of
// the operand table. The program counter is written as a line if it is one of
// PTX.
func appendOperands(b []byte, table []trace.FieldSpec, e *trace.Event, ptx bool) []byte {
	for i := range table {
		if f := table[i].Field; e.Has.Has(f) {
			if len(b) > 0 {
				b = append(b, ' ')
			}
			if f == trace.FieldExtra {
				b = append(b, e.Extra...)
				continue
			}
			b = append(append(b, table[i].Key...), '=')
			if f == trace.FieldPC && ptx {
				b = strconv.AppendUint(append(b, "ptx:"...), e.PC, 10)
				continue
			}
			b = appendOperand(b, f, e)
		}
	}
	return b
}

func appendOperand(b []byte, f trace.Field, e *trace.Event) []byte {
	switch f {
	case trace.FieldBar:
		return strconv.AppendUint(b, uint64(e.Bar), 10)
	case trace.FieldAddr:
		return fmt.Appendf(b, "%#x", e.Addr)
	case trace.FieldGroup:
		return append(b, e.Group...)
	case trace.FieldCount:
		return strconv.AppendUint(b, uint64(e.Count), 10)
	case trace.FieldAligned:
		return strconv.AppendBool(b, e.Aligned)
	case trace.FieldRed:
		return append(b, e.Red.String()...)
	case trace.FieldPred:
		return fmt.Appendf(b, "%08x", e.Pred)
	case trace.FieldBytes:
		return strconv.AppendInt(b, e.Bytes, 10)
	case trace.FieldToken:
		return fmt.Appendf(b, "%016x", e.Token)
	case trace.FieldPhase:
		return strconv.AppendUint(b, e.Phase, 10)
	case trace.FieldParity:
		return strconv.AppendUint(b, uint64(e.Parity), 10)
	case trace.FieldOwnerCTA:
		return strconv.AppendUint(b, uint64(e.Owner), 10)
	case trace.FieldCTAMask:
		return fmt.Appendf(b, "%#x", e.CTAMask)
	case trace.FieldMask:
		return fmt.Appendf(b, "%08x", e.Mask)
	case trace.FieldNoInc:
		return strconv.AppendBool(b, e.NoInc)
	case trace.FieldSem:
		return append(b, e.Sem.String()...)
	case trace.FieldResult:
		return strconv.AppendUint(b, uint64(e.Result), 10)
	case trace.FieldText, trace.FieldReason:
		return strconv.AppendQuote(b, e.Text)
	case trace.FieldLost:
		return strconv.AppendUint(b, e.Lost, 10)
	case trace.FieldFile:
		return append(b, e.File...)
	case trace.FieldLine:
		return strconv.AppendUint(b, uint64(e.Line), 10)
	case trace.FieldPC:
		return fmt.Appendf(b, "%#x", e.PC)
	case trace.FieldClk:
		return strconv.AppendInt(b, e.Clk, 10)
	}
	return append(b, '?')
}
