// Command btrace records, checks and shows GPU barrier traces.
//
// The commands are thin: each one reads its flags, asks a library package,
// and prints. Their results go to standard output, everything else to
// standard error.
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"btrace/capture/cupti"
)

func main() {
	// A program that is recorded and assembles PTX itself finds btrace where
	// it looks for ptxas.
	if name := filepath.Base(os.Args[0]); name == "ptxas" || name == "ptxas-blackwell" {
		os.Exit(cupti.ActAsAssembler(context.Background(), name, os.Args[1:], os.Stdout, os.Stderr))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second one ends btrace as it would any program
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
