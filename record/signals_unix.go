//go:build unix

package record

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"tracerag/trace"
	"tracerag/trace/target"
)

// relaySignals sends the signals that are sent to us alone on to others. Those that are sent
// to our group, as by a terminal, the others have had, and these are only not to end us.
func relaySignals(to func() []int) (stop func()) {
	return target.Forward(func(s syscall.Signal) {
		for _, pid := range to() {
			_ = syscall.Kill(pid, s)
		}
	})
}

// exitCode is that of a process that has ended, as a shell gives it.
func exitCode(state *os.ProcessState) int {
	if code := state.ExitCode(); code >= 0 {
		return code
	}
	return 128 + int(state.Sys().(syscall.WaitStatus).Signal())
}

// endLike ends this process by the signal that ended the program, for the go
// command says by which. It returns if that cannot be done. A Go program handles
// most signals in its own way, which cannot be switched off; another one does not,
// so this process becomes the shell.
func endLike(exit trace.Exit) {
	kill := fmt.Sprintf("ulimit -c 0; kill -%d $$", exit.Code-128)
	_ = syscall.Exec("/bin/sh", []string{"sh", "-c", kill}, os.Environ())
}

// apart does nothing: a process can be asked to end by itself.
func apart(*exec.Cmd) {}

// askToEnd asks a process to end, as a user does.
func askToEnd(p *os.Process) { _ = p.Signal(syscall.SIGTERM) }
