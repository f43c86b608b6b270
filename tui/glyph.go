package tui

import "btrace/replay"

// Glyphs. Every state has one of its own: a colour only repeats what the glyph
// says.
const (
	glyphExited       = '·'
	glyphRunning      = '─'
	glyphRunningEvent = '┴'
	glyphArrives      = '▲'
	glyphArrived      = '▸'
	glyphReleased     = '◂'
	glyphCompleting   = 'ƒ'
	glyphWaiting      = '░'
	glyphWaitingPart  = '▒'
	glyphTrapped      = '╳'
	glyphHung         = '█'
	glyphError        = '✗'
	glyphWarning      = '!'
	glyphNote         = 'i'
	glyphClean        = '✓'
	glyphIncomplete   = '?'
	glyphLoading      = '⋯'
	glyphPointer      = '▶'
	glyphFolded       = '▷'
	glyphUnfolded     = '▽'
	glyphCycle        = '↺'
	glyphPinned       = '◆'
	glyphPlayhead     = '▼'
	glyphMark         = '┆'
	glyphVertical     = '│'
	glyphPhaseStart   = '├'
	glyphPhaseEven    = '═'
	glyphPhaseOdd     = '─'
	glyphPhaseDense   = '▦'
	glyphGaugeFull    = '■'
	glyphGaugeEmpty   = '□'
	glyphRule         = '─'
	glyphRuleActive   = '━'
	glyphWindow       = '▬'
)

func severityGlyph(s uint8) rune {
	return [...]rune{' ', glyphNote, glyphWarning, glyphError}[min(s, 3)]
}

// activityGlyph is the glyph of a cell in which the activity is the worst.
func activityGlyph(c replay.Cell) rune {
	switch c.Activity {
	case replay.Exited:
		return glyphExited
	case replay.Running:
		if c.Events {
			return glyphRunningEvent
		}
		return glyphRunning
	case replay.Arrived:
		if c.Events {
			return glyphArrives
		}
		return glyphArrived
	case replay.Released:
		return glyphReleased
	case replay.Completing:
		return glyphCompleting
	case replay.Waiting:
		if c.Mixed {
			return glyphWaitingPart
		}
		return glyphWaiting
	case replay.Trapped:
		return glyphTrapped
	case replay.Hung:
		return glyphHung
	}
	return ' '
}
