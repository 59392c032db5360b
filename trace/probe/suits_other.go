//go:build !(linux && amd64)

package probe

import (
	"context"

	"tracerag/trace/target"
)

// Supported reports whether the probe works on this system.
func Supported() bool { return false }

// Suits returns why no target is recorded here.
func Suits(t *target.Target, o Options) error {
	_, err := Record(context.Background(), t, o)
	return err
}

// UsablePlans reports why plans cannot be kept in a directory. Here none are made.
func UsablePlans(dir string) error { return nil }
