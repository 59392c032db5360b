//go:build !((linux || darwin || windows) && (amd64 || arm64))

package rebuild

import (
	"context"
	"fmt"
	"runtime"

	"tracerag/trace"
	"tracerag/trace/target"
)

// Supported reports whether there is such a recorder for this system.
func Supported() bool { return false }

// Record says that there is no such recorder for this system.
func Record(context.Context, *target.Target, Options) (*trace.Trace, error) { return nil, errSystem() }

// Live is a program that cannot be started here.
type Live struct{}

// Snapshot is of none.
type Snapshot struct{}

// Start says that there is no such recorder for this system.
func Start(context.Context, *target.Target, Options) (*Live, error) { return nil, errSystem() }

func (*Live) Pid() int                                    { return 0 }
func (*Live) Close()                                      {}
func (*Live) Wait(context.Context) (*trace.Trace, error)  { return nil, errSystem() }
func (*Live) Snapshot() (*Snapshot, error)                { return nil, errSystem() }
func (*Live) Begin() (*Snapshot, error)                   { return nil, errSystem() }
func (*Live) Window(_, _ *Snapshot) (*trace.Trace, error) { return nil, errSystem() }

func errSystem() error {
	return fmt.Errorf("the recorder by rebuilding needs Linux, macOS or Windows on amd64 or arm64, this is %s/%s", runtime.GOOS, runtime.GOARCH)
}
