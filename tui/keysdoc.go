package tui

import (
	"fmt"
	"strings"
)

// KeysDoc is the documentation of the commands as Markdown, made from the
// table.
func KeysDoc() string {
	var b strings.Builder
	b.WriteString(`# The viewer's commands

Made from the table in ` + "`tui/table.go`" + `; a test holds this file to it. In the viewer ` + "`?`" + ` shows what the keys do where you are, and ` + "`:`" + ` finds a
command by its name; what a command takes may follow its name there: ` + "`:go-to-time 12us`" + `. A script (` + "`btrace view --keys FILE`" + `) has a
key or such a ` + "`:command`" + ` on each line.

Other keys are bound in ` + "`$XDG_CONFIG_HOME/btrace/keys`" + ` (` + "`~/.config/btrace/keys`" + ` where that is not set; ` + "`--keymap FILE`" + ` names another), one
command a line with all of its keys; a key that is bound there is taken away from the command that had it:

` + "```" + `
# zoom with the arrows, leave with Q only
zoom-in = ctrl+up +
zoom-out = ctrl+down -
quit = Q
` + "```" + `
`)
	for _, c := range contexts() {
		fmt.Fprintf(&b, "\n## %s\n", c.title)
		subject := ""
		for _, k := range Commands() {
			if k.Context != c.context {
				continue
			}
			if k.Subject != subject {
				subject = k.Subject
				if c.context == Everywhere {
					fmt.Fprintf(&b, "\n### %s\n", subject)
				}
				b.WriteString("\n| keys | command | what it does |\n|---|---|---|\n")
			}
			var keys []string
			for _, key := range k.Keys {
				if key == "|" {
					key = `\|`
				}
				keys = append(keys, "`"+key+"`")
			}
			name := k.Name
			if k.Takes != "" {
				name += " " + strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(k.Takes, "an "), "a "), " ", "-"))
			}
			fmt.Fprintf(&b, "| %s | `%s` | %s |\n", strings.Join(keys, " "), name, k.Help)
		}
	}
	b.WriteString(`
## With the mouse

| mouse | what it does |
|---|---|
| click, drag over rows and barriers | puts the playhead there, focuses what is clicked |
| click on a row's name | folds or unfolds it |
| drag along the time axis, or with the right button anywhere | zooms to what is dragged over |
| wheel | moves through rows, barriers, findings or text; with ctrl zooms, with shift moves the playhead |

` + "`M`" + ` gives the mouse back to the terminal, which then selects text as usual; most terminals do that with shift, too.
`)
	return b.String()
}

// contexts lists the contexts in the order of the documentation.
func contexts() []struct {
	context Context
	title   string
} {
	return []struct {
		context Context
		title   string
	}{
		{Everywhere, "Everywhere"},
		{InWarps, "While the warps are active"},
		{InBarriers, "While the barriers are active"},
		{InFindings, "While the findings are active"},
		{InWalk, "While who waits for whom, the waits, or where two recordings part are active"},
		{InDetails, "While another pane is active"},
		{InHelp, "In the help"},
		{InPalette, "In the palette"},
		{InPrompt, "While typing"},
	}
}
