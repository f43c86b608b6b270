package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newCompletion() *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "The script that lets a shell complete btrace: bash, zsh, fish or powershell",
		Long: `Completion writes a script for a shell. With it the tab key completes commands, flags and their
values, kernels of the gallery, rules, traces, and what is in a trace: its launches and barriers.

For the shell that runs now:
  source <(btrace completion bash)                               # needs bash-completion
  source <(btrace completion zsh)                                # needs compinit
  btrace completion fish | source
  btrace completion powershell | Out-String | Invoke-Expression

For every new one:
  btrace completion bash > ~/.local/share/bash-completion/completions/btrace
  btrace completion zsh > "${fpath[1]}/_btrace"
  btrace completion fish > ~/.config/fish/completions/btrace.fish
  btrace completion powershell >> $PROFILE`,
		Args: exactly(1, "a shell: bash, zsh, fish or powershell"),
		RunE: func(cmd *cobra.Command, args []string) error {
			root, out := cmd.Root(), cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(out)
			}
			return fmt.Errorf("no completion for %q: there is bash, zsh, fish and powershell", args[0])
		},
	}
}

// argumentCompletions is what the arguments of each command complete to. A
// command that is not here takes none. The line is all that has been typed.
func argumentCompletions(line []string) map[string]cobra.CompletionFunc {
	one, two := first(1, filesEnding("zst")), first(2, filesEnding("zst"))
	return map[string]cobra.CompletionFunc{
		"completion": first(1, words("bash", "zsh", "fish", "powershell")),
		"diagnose":   one,
		"diff":       two,
		"events":     one,
		"explain":    first(1, ruleIDs),
		"explore":    one,
		"export":     one,
		"import":     first(1, anyFile),
		"info":       one,
		"man":        first(1, folders),
		"record":     recordable(line),
		"state":      one,
		"stats":      one,
		"validate":   checkable,
		"view":       two,
	}
}

// flagCompletions is what the values of flags complete to: of "--flag", or of
// "command --flag" where it means something else there. Every flag that takes
// a value is here, if only with nothing.
func flagCompletions() map[string]cobra.CompletionFunc {
	return map[string]cobra.CompletionFunc{
		"--arg":            argTypes,
		"--at":             words("end"),
		"--barrier":        list(barrierNames),
		"--baseline":       filesEnding("json"),
		"--block":          noValue,
		"--buffer":         noValue,
		"--cluster":        noValue,
		"--cta":            noValue,
		"--dump":           anyFile,
		"--entry":          entries,
		"--files-from":     anyFile,
		"--finding":        noValue,
		"--format":         words("text", "json"),
		"--from":           noValue,
		"--grid":           noValue,
		"--hang-timeout":   noValue,
		"--hazards":        words("on", "off"),
		"--jobs":           noValue,
		"--kernel":         noValue,
		"--keymap":         anyFile,
		"--keys":           anyFile,
		"--launch":         launchIDs,
		"--lib":            filesEnding("so"),
		"--limit":          noValue,
		"--on-full":        words("wait", "drop"),
		"--op":             list(operations),
		"--output":         filesEnding("zst"),
		"--runs":           noValue,
		"--schedule":       words("rr", "random", "pct"),
		"--seed":           noValue,
		"--shard":          noValue,
		"--shared":         noValue,
		"--size":           words("80x24", "120x40"),
		"--source":         folders,
		"--steps":          noValue,
		"--theme":          themes,
		"--to":             noValue,
		"--top":            noValue,
		"--tries":          noValue,
		"--via":            words("auto", "cupti", "sanitizer"),
		"--warp":           noValue,
		"--write-baseline": filesEnding("json"),

		"events --format":   words("text", "ndjson"),
		"export --output":   anyFile,
		"export --to":       words("ndjson", "csv", "parquet", "perfetto", "html"),
		"import --from":     words("auto", "ndjson", "racecheck"),
		"record --launch":   noValue, // of a program that has not run
		"stats --format":    words("text", "json", "csv"),
		"validate --format": words(formats()...),
	}
}

// addCompletions tells all commands of root how to complete the line.
func addCompletions(root *cobra.Command, line []string) {
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	arguments, flags := argumentCompletions(line), flagCompletions()
	for _, cmd := range root.Commands() {
		cmd.ValidArgsFunction = arguments[cmd.Name()]
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			complete, ok := flags[cmd.Name()+" --"+f.Name]
			if !ok {
				complete, ok = flags["--"+f.Name]
			}
			if ok && f.NoOptDefVal == "" {
				// It fails for a flag that is not there: this one is.
				_ = cmd.RegisterFlagCompletionFunc(f.Name, complete)
			}
		})
	}
}
