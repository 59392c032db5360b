//go:build !unix

package record

import (
	"os"
	"os/exec"

	"tracerag/trace"
	"tracerag/trace/target"
)

// relaySignals leaves the keys to the others: the console tells every process of them.
func relaySignals(func() []int) (stop func()) { return target.HandOver(0) }

// exitCode is that of a process that has ended: its own, or the system's for what ended it.
func exitCode(state *os.ProcessState) int {
	if code := state.ExitCode(); code >= 0 {
		return code
	}
	return 1
}

// endLike does nothing: what ends a process here shows in its exit code.
func endLike(trace.Exit) {}

// apart has a command run as a group of processes of its own, which can be asked to end.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = ownGroup() }
