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
			Meaning: `The recorder dropped events here, blocks of the file are damaged or missing, or the recorder does not observe this kind of ` +
				`operation at all. Of what is missing no absence is claimed: rules that would need it are held back, and the verdict can be ` +
				`incomplete at best.`,
			Source: []Section{format("Damage")},
			Hint:   "record again with a larger buffer or a recorder that sees more (see `btrace info`), or fetch a fresh copy of the file",
			Example: `# bad: half a download
btrace validate partial.zst
# good: check the file first
zstd -t trace.zst && btrace validate trace.zst`,
		},
	}
}
