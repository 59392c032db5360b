//go:build !(linux && amd64)

package breakpoint

import "github.com/go-delve/delve/pkg/proc"

// maxInlinedPoints bounds the breakpoints of a program for whose inlined calls
// breakpoints are set, too: delve looks at every one at every stop.
const maxInlinedPoints = 20_000

func newTraps(tgt *proc.Target) traps { return delveTraps{tgt} }

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
