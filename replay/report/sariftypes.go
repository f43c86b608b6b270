package report

import (
	"btrace/replay"
	"btrace/replay/rules"
	"btrace/trace"
)

// The part of SARIF 2.1.0 that is written. The words of the enumerations are
// the schema's (testdata/sarif), to which tests hold the
// output.

type (
	sarifLevel        string // result.level, notification.level
	baselineState     string // result.baselineState
	suppressionKind   string // suppression.kind
	suppressionStatus string // suppression.status
)

const (
	sarifError   sarifLevel = "error"
	sarifWarning sarifLevel = "warning"
	sarifNote    sarifLevel = "note"

	baselineNew       baselineState = "new"
	baselineUnchanged baselineState = "unchanged"

	suppressedExternally suppressionKind   = "external"
	suppressionAccepted  suppressionStatus = "accepted"
)

func sarifLevelOf(s rules.Severity) sarifLevel {
	switch s {
	case rules.Error:
		return sarifError
	case rules.Warning:
		return sarifWarning
	}
	return sarifNote
}

type (
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      string        `json:"id"`
		Short   *sarifText    `json:"shortDescription,omitempty"`
		Full    *sarifText    `json:"fullDescription,omitempty"`
		Help    *sarifText    `json:"help,omitempty"`
		Default *sarifDefault `json:"defaultConfiguration,omitempty"`
	}
	sarifText struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown,omitempty"`
	}
	sarifDefault struct {
		Level sarifLevel `json:"level"`
	}
	sarifInvocation struct {
		ExecutionSuccessful bool                `json:"executionSuccessful"`
		Notifications       []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level     sarifLevel      `json:"level"`
		Message   sarifMessage    `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifBase struct {
		Description sarifMessage `json:"description"`
	}

	sarifResult struct {
		RuleID       string              `json:"ruleId"`
		RuleIndex    int                 `json:"ruleIndex"`
		Level        sarifLevel          `json:"level"`
		Message      sarifMessage        `json:"message"`
		Target       *sarifArtifact      `json:"analysisTarget,omitempty"` // the trace, where the location is the source
		Locations    []sarifLocation     `json:"locations"`
		Related      []sarifLocation     `json:"relatedLocations,omitempty"`
		Times        int                 `json:"occurrenceCount"`
		Fingerprints map[string]string   `json:"partialFingerprints"`
		Baseline     baselineState       `json:"baselineState,omitempty"`
		Suppressions *[]sarifSuppression `json:"suppressions,omitempty"`
		Properties   sarifProperties     `json:"properties"`
	}
	sarifSuppression struct {
		Kind          suppressionKind   `json:"kind"`
		Status        suppressionStatus `json:"status"`
		Justification string            `json:"justification"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
		Message  *sarifMessage  `json:"message,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId,omitempty"`
	}
	sarifRegion struct {
		Line uint32 `json:"startLine"`
	}
	sarifLogical struct {
		Name string `json:"name"`
		Full string `json:"fullyQualifiedName"`
		Kind string `json:"kind"`
	}

	// sarifProperties is what SARIF has no words for, in those of the JSON
	// form.
	sarifProperties struct {
		Trace   string   `json:"trace"`
		Launch  uint32   `json:"launch"`
		CTA     uint32   `json:"cta"`
		Barrier string   `json:"barrier,omitempty"`
		Phase   uint64   `json:"phase"`
		Time    int64    `json:"time_ns"`
		PC      uint64   `json:"pc,omitempty"`
		Root    bool     `json:"root"`
		Threads []string `json:"threads"`
		Missing []string `json:"missing"`
	}
)

func newProperties(file string, f *replay.Finding, l *trace.Launch) sarifProperties {
	return sarifProperties{
		Trace: file, Launch: f.Launch, CTA: f.CTA, Barrier: f.Barrier.String(), Phase: f.Phase, Time: f.Time, PC: f.Location.PC, Root: f.Root,
		Threads: rules.Threads(f.Threads, f.CTA, l), Missing: rules.Threads(f.Missing, f.CTA, l),
	}
}
