//go:build !(linux && amd64)

package probe

import (
	"context"
	"runtime"

	"tracerag/trace"
	"tracerag/trace/target"
)

// Record records nothing here.
func Record(context.Context, *target.Target, Options) (*trace.Trace, error) {
	return nil, &Unsuitable{Why: "it does not work on " + runtime.GOOS + "/" + runtime.GOARCH}
}
