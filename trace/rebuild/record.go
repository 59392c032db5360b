//go:build (linux || darwin || windows) && (amd64 || arm64)

package rebuild

import (
	"context"

	"tracerag/trace"
	"tracerag/trace/target"
)

// Supported reports whether there is such a recorder for this system.
func Supported() bool { return true }

// Record runs a program that was built through [Tool], to its end, and returns its trace. The program has
// our standard input, output and error, and our process group.
func Record(ctx context.Context, t *target.Target, o Options) (*trace.Trace, error) {
	l, err := Start(ctx, t, o)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	return l.Wait(ctx)
}

// variable names the file of the memory, for the program, which takes it out of its environment.
const variable = "TRACERAG_REBUILD"
