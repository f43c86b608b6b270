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
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
