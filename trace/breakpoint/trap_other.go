//go:build !(linux && amd64)

package breakpoint

import "github.com/go-delve/delve/pkg/proc"

func newTraps(tgt *proc.Target) traps { return delveTraps{tgt} }
