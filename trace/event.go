package trace

// Op is the part of a warp event that repeats: what was done, by which lanes,
// with which operands, at which site. A file stores every distinct Op of a
// block once, as a template.
//
// Has says which operands are present, those of the enclosing Event
// included.
type Op struct {
	Kind    Kind
	Red     Red
	Sem     Sem
	Parity  uint8
	Aligned bool
	NoInc   bool
	Has     Fields
	Lanes   uint32 // one bit a lane
	Bar     uint32
	Count   uint32
	Owner   uint32 // FieldOwnerCTA
	CTAMask uint32
	Mask    uint32
	Line    uint32
	Addr    uint64
	PC      uint64
	Lost    uint64
	Bytes   int64
	Group   string
	File    string
	Text    string // FieldText, and FieldReason of a trap
	Name    string // the operation's name, for KindUnknown
	// Implied says which keys the line of a mark or a gap did without: their
	// values were taken from the lines before it.
	Implied Implied
}

// Implied is a set of keys that a mark or gap line may leave out.
type Implied uint8

// The keys.
const (
	ImpliedLaunch Implied = 1 << iota
	ImpliedTime
	ImpliedSeq
	ImpliedLanes
)

// Event is one warp event: one operation by the lanes in a mask, standing
// for up to 32 thread events.
type Event struct {
	Time   int64 // ns from the launch's anchor
	Launch uint32
	CTA    uint32 // linear block index in the grid
	Warp   uint32 // warp index in the CTA
	Seq    uint32 // this warp's own event number
	Op
	Pred   uint32
	Result uint32
	Token  uint64
	Phase  uint64
	Clk    int64
	Extra  string // unknown keys, as the inside of a JSON object: `"k":1,"l":"x"`
}

// Compare orders events by the stored order of a trace: launch, then time,
// CTA, warp and sequence number.
func (e *Event) Compare(o *Event) int {
	switch {
	case e.Launch != o.Launch:
		return less(e.Launch < o.Launch)
	case e.Time != o.Time:
		return less(e.Time < o.Time)
	case e.CTA != o.CTA:
		return less(e.CTA < o.CTA)
	case e.Warp != o.Warp:
		return less(e.Warp < o.Warp)
	case e.Seq != o.Seq:
		return less(e.Seq < o.Seq)
	}
	return 0
}

func less(b bool) int {
	if b {
		return -1
	}
	return 1
}

// Block is a run of warp events of one launch, in columns and in stored
// order. Row i did Ops[Op[i]]. A column of a per-row operand is nil where no
// row has it; whether a row has it stands in its Op's Has.
//
// A block handed out by a reader is valid until the next one is asked for.
type Block struct {
	Launch uint32
	Index  int    // number of the block in the file; of blocks that were merged, the first's
	First  uint64 // number of its first row among all rows of the launch, whatever was asked for
	Time   []int64
	CTA    []uint32
	Warp   []uint32
	Seq    []uint32
	Op     []uint32
	Ops    []Op
	// Groups is the rows of CTAs that belong together, in order of the numbers
	// that Query.Group gave them; empty if it was not asked for.
	Groups []Group

	Pred   []uint32
	Result []uint32
	Token  []uint64
	Phase  []uint64
	Clk    []int64
	Extra  []string
}

// Group is rows of a block that follow each other.
type Group struct {
	Number uint32
	End    int // the row after its last
}

// Len is the number of rows.
func (b *Block) Len() int { return len(b.Time) }

// Event copies row i into e.
func (b *Block) Event(i int, e *Event) {
	e.Time, e.Launch = b.Time[i], b.Launch
	e.CTA, e.Warp, e.Seq = b.CTA[i], b.Warp[i], b.Seq[i]
	e.Op = b.Ops[b.Op[i]]
	e.Pred, e.Result, e.Token, e.Phase, e.Clk, e.Extra = 0, 0, 0, 0, 0, ""
	has := e.Has
	if has.Has(FieldPred) {
		e.Pred = b.Pred[i]
	}
	if has.Has(FieldResult) {
		e.Result = b.Result[i]
	}
	if has.Has(FieldToken) {
		e.Token = b.Token[i]
	}
	if has.Has(FieldPhase) {
		e.Phase = b.Phase[i]
	}
	if has.Has(FieldClk) {
		e.Clk = b.Clk[i]
	}
	if has.Has(FieldExtra) {
		e.Extra = b.Extra[i]
	}
}

func (b *Block) key(i int) key { return key{b.Time[i], b.CTA[i], b.Warp[i], b.Seq[i]} }
