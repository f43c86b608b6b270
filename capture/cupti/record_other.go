//go:build !linux

package cupti

import (
	"context"
	"errors"
	"fmt"
	"io"

	"btrace/trace"
)

var errSystem = errors.New("programs on GPUs are recorded on Linux only: record a kernel of the gallery or a PTX file here")

// Record says that programs can be recorded on Linux only.
func Record(context.Context, Options, *trace.Writer) (Result, error) { return Result{}, errSystem }

// ActAsAssembler is for Linux only, as Record is.
func ActAsAssembler(_ context.Context, name string, _ []string, _, stderr io.Writer) int {
	fmt.Fprintf(stderr, "btrace as %s: %v\n", name, errSystem)
	return 1
}
