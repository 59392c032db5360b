//go:build !unix

package record

import (
	"os"
	"os/signal"

	"tracerag/trace"
)

// relaySignals leaves the interrupt key to the others: the console tells every
// process of it.
func relaySignals(func() []int) (stop func()) {
	sigs := make(chan os.Signal, 1)
	signal.Notify(sigs, os.Interrupt)
	return func() { signal.Stop(sigs) }
}

func exitCode(state *os.ProcessState) int {
	if code := state.ExitCode(); code >= 0 {
		return code
	}
	return 1
}

// endLike does nothing: no signal ends a process here.
func endLike(trace.Exit) {}

// askToEnd ends a process: it cannot be asked.
func askToEnd(p *os.Process) { _ = p.Kill() }
