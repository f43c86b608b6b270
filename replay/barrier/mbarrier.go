package barrier

// The limits of PTX ISA, "Size and alignment / Contents of the mbarrier
// object".
const (
	MaxCount = 1<<20 - 1 // expected and pending arrivals
	MaxTx    = 1<<20 - 1 // |tx-count|, bytes
)

// Life says whether an mbarrier is one.
type Life uint8

// The lives of an mbarrier.
const (
	NeverInit Life = iota
	Live
	Invalidated
)

// MBarrier is one mbarrier object.
type MBarrier struct {
	Life     Life
	Phase    uint64 // completed phases: the number of the current, incomplete one
	Expected uint32 // arrivals of the next phases
	Pending  uint32 // arrivals that the current phase still needs
	// Tx is the current phase's transaction count in bytes: announced minus
	// completed. It may run ahead, and so be negative.
	Tx int64
	// Function is true for a cuda::barrier with a completion function: the
	// phase ends when the function does. Completing is true while it runs.
	Function, Completing bool
}

// Token is what an arrive returns: the phase it arrived in, and how many
// arrivals were pending before it.
type Token struct {
	Phase   uint64
	Pending uint32
}

// Word is the token as the hardware encodes it: bit 63 is the parity of the
// phase, bits 62 to 43 are the negated pending arrivals (measured on sm_90).
func (t Token) Word() uint64 {
	return t.Phase&1<<63 | uint64(-int64(t.Pending))&(1<<20-1)<<43
}

// PendingCount decodes a token word, as mbarrier.pending_count does.
func PendingCount(word uint64) uint32 { return uint32(-int64(word>>43)) & (1<<20 - 1) }

// WordParity is the parity of the phase that a token word was made in.
func WordParity(word uint64) uint8 { return uint8(word >> 63) }

// Arrive describes an arrive-on operation of one lane.
type Arrive struct {
	Count      uint32
	Drop       bool  // arrive_drop
	NoComplete bool  // .noComplete
	Tx         int64 // expect_tx that goes before the arrival; 0 for none
}

// Init initialises the object.
func (m *MBarrier) Init(count uint32, eff *Effect) {
	if m.Life == Live {
		eff.violate(MbarReinit, m.Phase, int64(count), int64(m.Expected))
	}
	if count < 1 || count > MaxCount {
		eff.violate(MbarCountRange, 0, int64(count), MaxCount)
	}
	*m = MBarrier{Life: Live, Expected: count, Pending: count, Function: m.Function}
}

// Inval ends the object's life.
func (m *MBarrier) Inval(eff *Effect) {
	if m.usable(eff) {
		m.Life = Invalidated
	}
}

// usable reports whether the object takes an operation, and says so where it
// should not. Seen on silicon: inval changes nothing, operations after it work
// on. What they do to memory that was never initialised depends on what is in
// it; here they do nothing.
func (m *MBarrier) usable(eff *Effect) bool {
	switch m.Life {
	case NeverInit:
		eff.violate(MbarUninitialized, 0, 0, 0)
		return false
	case Invalidated:
		eff.violate(MbarAfterInval, m.Phase, 0, 0)
	}
	return true
}

// Arrive performs one lane's arrive-on and returns its token.
func (m *MBarrier) Arrive(a Arrive, eff *Effect) Token {
	if !m.usable(eff) {
		return Token{Phase: m.Phase}
	}
	if m.Expected == 0 && m.Pending == 0 {
		// Everybody has dropped: no phase is left to arrive in.
		eff.Violations = append(eff.Violations, Violation{Rule: MbarDropToZero, Phase: m.Phase, Escalated: true, Other: NoWarp})
		eff.Trap = TrapLaunchFailure
		return Token{Phase: m.Phase}
	}
	m.addTx(a.Tx, eff)
	tok := Token{Phase: m.Phase, Pending: m.Pending}
	if a.Count < 1 || a.Count > MaxCount {
		eff.violate(MbarCountRange, m.Phase, int64(a.Count), MaxCount)
		a.Count = min(a.Count, MaxCount)
	}
	if a.Count > m.Pending {
		eff.violate(MbarOverArrival, m.Phase, int64(a.Count), int64(m.Pending))
		eff.Trap = TrapLaunchFailure
		return tok
	}
	m.Pending -= a.Count
	if a.Drop {
		m.Expected -= min(m.Expected, a.Count)
		if m.Expected == 0 {
			eff.violate(MbarDropToZero, m.Phase, 0, 0)
		}
	}
	phase := m.Phase
	m.complete(eff)
	if a.NoComplete && (m.Phase != phase || m.Completing) {
		eff.violate(MbarNoCompleteComplete, phase, int64(a.Count), int64(tok.Pending))
	}
	return tok
}

// ArriveLanes performs the same arrive-on by n lanes, one after the other,
// and returns the first lane's token. It stops at a trap.
func (m *MBarrier) ArriveLanes(a Arrive, n int, eff *Effect) Token {
	tok := m.Arrive(a, eff)
	for i := 1; i < n && eff.Trap == ""; i++ {
		m.Arrive(a, eff)
	}
	return tok
}

// ExpectTx announces bytes.
func (m *MBarrier) ExpectTx(bytes int64, eff *Effect) {
	if m.usable(eff) {
		m.addTx(bytes, eff)
	}
}

// CompleteTx completes bytes.
func (m *MBarrier) CompleteTx(bytes int64, eff *Effect) {
	if m.usable(eff) {
		m.addTx(-bytes, eff)
		m.complete(eff)
	}
}

func (m *MBarrier) addTx(bytes int64, eff *Effect) {
	m.Tx += bytes
	if m.Tx > MaxTx || m.Tx < -MaxTx {
		eff.violate(MbarTxRange, m.Phase, m.Tx, MaxTx)
		m.Tx = max(min(m.Tx, MaxTx), -MaxTx)
	}
}

// CpAsyncIssue is cp.async.mbarrier.arrive: without .noinc it raises the
// pending count, so that the arrival to come is not one of the expected.
func (m *MBarrier) CpAsyncIssue(noInc bool, eff *Effect) {
	if !m.usable(eff) || noInc {
		return
	}
	if m.Pending == MaxCount {
		eff.violate(MbarCountRange, m.Phase, MaxCount+1, MaxCount)
		return
	}
	m.Pending++
}

// CpAsyncDone is the arrival that a CpAsyncIssue triggers when the copies
// have completed.
func (m *MBarrier) CpAsyncDone(eff *Effect) {
	if m.Life == Live {
		m.Arrive(Arrive{Count: 1}, eff)
	}
}

// complete ends the phase if nothing is pending.
func (m *MBarrier) complete(eff *Effect) {
	if m.Pending != 0 || m.Tx != 0 || m.Completing {
		return
	}
	if m.Function {
		m.Completing = true
		return
	}
	m.Advance(eff)
}

// Advance ends the current phase: the barrier re-arms for the next. It is
// called for the end of a completion function.
func (m *MBarrier) Advance(eff *Effect) {
	m.Completing = false
	m.Phase++
	m.Pending = m.Expected
	eff.Completed++
}

// TestParity is test_wait.parity: true if the phase of that parity that is
// nearest is complete. A fresh barrier passes parity 1, and so does, as seen
// on silicon, memory of zeros that was never initialised.
func (m *MBarrier) TestParity(parity uint8) bool { return uint8(m.Phase&1) != parity&1 }

// TestWord is test_wait with a token word, as the silicon answers it: only
// the parity is compared, so an old token aliases.
func (m *MBarrier) TestWord(word uint64) bool { return m.TestParity(WordParity(word)) }

// CheckToken applies the rule about tokens: a phase can be tested only while
// it is current or the one just completed (PTX ISA, mbarrier.test_wait).
func (m *MBarrier) CheckToken(phase uint64, eff *Effect) {
	if phase > m.Phase || phase+1 < m.Phase {
		eff.violate(MbarStaleToken, m.Phase, int64(phase), int64(m.Phase))
	}
}
