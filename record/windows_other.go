//go:build !linux

package record

import (
	"context"
	"errors"

	"tracerag/trace"
)

var errNoWindows = errors.New("windows of a running program are recorded on linux/amd64 only")

// Ask fails here.
func Ask(int, Request) (Event, error) { return nil, errNoWindows }

func recordings() ([]int, error) { return nil, errNoWindows }

// Windows fails here.
func (r *Runner) Windows(context.Context) (trace.Exit, error) {
	return trace.Exit{}, &CannotRunError{Program: r.Spec.Command[0], Err: errNoWindows}
}

// Attach fails here.
func (r *Runner) Attach(context.Context, int) error { return errNoWindows }
