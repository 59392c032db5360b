//go:build !(linux && amd64)

package probe

import (
	"context"

	"tracerag/trace/target"
)

// Suits returns why no target is recorded here.
func Suits(t *target.Target, o Options) error {
	_, err := Record(context.Background(), t, o)
	return err
}
