//go:build !(linux && amd64)

package probe

import (
	"context"
	"runtime"

	"tracerag/trace"
	"tracerag/trace/target"
)

func unsuitable() error {
	return &Unsuitable{Why: "it does not work on " + runtime.GOOS + "/" + runtime.GOARCH}
}

// Record records nothing here.
func Record(context.Context, *target.Target, Options) (*trace.Trace, error) {
	return nil, unsuitable()
}

// Live is a target that runs and is recorded; here there is none.
type Live struct{}

// Snapshot is what had been called at a moment.
type Snapshot struct{}

// Start starts nothing here.
func Start(context.Context, *target.Target, Options) (*Live, error) { return nil, unsuitable() }

// Attach attaches to nothing here.
func Attach(context.Context, *target.Target, int, Options) (*Live, error) { return nil, unsuitable() }

// The methods of a Live that is not there.
func (*Live) Pid() int                                       { return 0 }
func (*Live) Found() string                                  { return "" }
func (*Live) Close()                                         {}
func (*Live) Wait(context.Context) (*trace.Trace, error)     { return nil, unsuitable() }
func (*Live) DetachOr(context.Context) (*trace.Trace, error) { return nil, unsuitable() }
func (*Live) Snapshot() (*Snapshot, error)                   { return nil, unsuitable() }
func (*Live) Window(_, _ *Snapshot) *trace.Trace             { return nil }

// Keep is needed by nobody here.
func Keep() error { return unsuitable() }
