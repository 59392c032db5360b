//go:build !linux && !darwin && !(windows && amd64)

package breakpoint

import (
	"fmt"
	"runtime"

	"github.com/go-delve/delve/pkg/proc"

	"tracerag/trace/executable"
	"tracerag/trace/target"
)

// supported says that delve does not work here.
func supported(*executable.File) error {
	return fmt.Errorf("breakpoints do not work on %s/%s: give the package or the go command in place of the program", runtime.GOOS, runtime.GOARCH)
}

func launch(t *target.Target) (*proc.TargetGroup, error) { return nil, supported(t.Binary) }

func signalName(n int) string { return fmt.Sprintf("signal %d", n) }
