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
	// clear takes a breakpoint away. A thread that stands at it goes on.
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

// delveTraps are delve's own breakpoints. They work wherever delve does. At
// every stop it walks over all of them three times, which costs half a
// millisecond when there are five thousand.
type delveTraps struct{ tgt *proc.Target }

func (d delveTraps) set(addr uint64) error {
	_, err := d.tgt.SetBreakpoint(0, addr, proc.UserBreakpoint, nil)
	return err
}

func (d delveTraps) clear(addr uint64) error { return d.tgt.ClearBreakpoint(addr) }

func (d delveTraps) hits() ([]hit, error) {
	var out []hit
	for _, th := range d.tgt.ThreadList() {
		bp := th.Breakpoint()
		if bp == nil || bp.Breakpoint == nil {
			continue
		}
		regs, err := th.Registers()
		if err != nil {
			return nil, err
		}
		out = append(out, hit{th, bp.Addr, regs})
	}
	return byThread(out), nil
}

// clearAll leaves it to Detach, which clears delve's breakpoints.
func (d delveTraps) clearAll() error { return nil }
