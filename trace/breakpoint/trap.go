package breakpoint

import (
	"cmp"
	"slices"

	"github.com/go-delve/delve/pkg/proc"
)

// traps are the breakpoints of a target that is stopped. Addresses are those of
// the running process.
type traps interface {
	set(addr uint64) error
	// clear takes a breakpoint away. A thread that is at it goes on.
	clear(addr uint64) error
	// hits returns the threads that ran into a breakpoint since the target was
	// resumed, and lets each of them pass it when the target is resumed next.
	hits() ([]hit, error)
	// clearAll takes all breakpoints away, for the target to go on alone.
	clearAll() error
}

// hit is a thread that has reached a breakpoint.
type hit struct {
	th   proc.Thread
	addr uint64
	regs proc.Registers // as they were before the instruction at addr
}

// byThread puts hits into an order that does not change from run to run where
// the target's own does not.
func byThread(hits []hit) []hit {
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Compare(a.th.ThreadID(), b.th.ThreadID()) })
	return hits
}
