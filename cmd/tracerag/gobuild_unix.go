//go:build unix

package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"tracerag/trace"
	"tracerag/trace/target"
)

// relaySignals sends the signals that are sent to us on to others. Those that a
// terminal makes it has sent to all of its group, so these are only not to end us.
func relaySignals(to func() []int) (stop func()) {
	terminal := target.SharesGroup()
	sigs := make(chan os.Signal, 16)
	done := make(chan struct{})
	signal.Notify(sigs, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		for {
			select {
			case s := <-sigs:
				if terminal && (s == syscall.SIGINT || s == syscall.SIGQUIT || s == syscall.SIGHUP) {
					continue
				}
				for _, pid := range to() {
					_ = syscall.Kill(pid, s.(syscall.Signal))
				}
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(sigs)
		close(done)
	}
}

func signalCode(state *os.ProcessState) int {
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

// askToEnd asks a process to end, as a user does.
func askToEnd(p *os.Process) { _ = p.Signal(syscall.SIGTERM) }
