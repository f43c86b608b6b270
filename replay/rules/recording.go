package rules

// recording is about the trace itself. These make a verdict incomplete, never
// a violation.
func recording() []Rule {
	return []Rule{
		{
			ID: TraceTruncated, Severity: Note,
			Title: "the recording ends before its launch does",
			Meaning: `The file was cut, or its writer was stopped, before the end of the launch was recorded. Everything up to there was checked; ` +
				`of what follows nothing is known, so that the verdict can be incomplete at best.`,
			Source: []Section{format("A file that was cut")},
			Hint:   "record again and let the recorder close the file; with a hanging kernel, stop the host program instead of killing it",
			Example: `# bad
kill -9 $recorder
# good
kill -INT $recorder`,
		},
		{
			ID: TraceGap, Severity: Note,
			Title: "events are missing in the recording",
			Meaning: `The recorder dropped events here, or blocks of the file are damaged or missing. What the rules say about the barriers ` +
				`and warps concerned is held back, and the verdict can be incomplete at best.`,
			Source: []Section{format("Damage")},
			Hint:   "record again: a larger buffer if events were dropped, a fresh copy of the file if it is damaged",
			Example: `# bad: half a download
btrace validate partial.zst
# good: check the file first
zstd -t trace.zst && btrace validate trace.zst`,
		},
	}
}
