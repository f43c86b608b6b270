// Package rules is the catalogue of what btrace can find in a trace.
package rules

// Severity is how bad a finding is; the verdict counts errors only.
type Severity string

// The severities.
const (
	Error   Severity = "error"   // violates the specification, or hangs
	Warning Severity = "warning" // legal but fragile, or only another schedule breaks it
	Note    Severity = "note"
)
