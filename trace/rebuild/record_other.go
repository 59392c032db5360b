//go:build !(linux && amd64)

package rebuild

import (
	"context"
	"fmt"
	"runtime"

	"tracerag/trace"
	"tracerag/trace/target"
)

// Record says that this system has no such recorder yet.
func Record(context.Context, *target.Target, Options) (*trace.Trace, error) {
	return nil, fmt.Errorf("the recorder by rebuilding needs linux/amd64, this is %s/%s", runtime.GOOS, runtime.GOARCH)
}
