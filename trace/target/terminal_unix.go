//go:build unix

package target

import (
	"os"
	"os/signal"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

func openTerminal() (*os.File, error) {
	return os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
}

// HandOver leaves the terminal and its signals to the started target, and
// forwards to it the signals that are sent to us. The returned function undoes
// this; it must be called when the target has ended.
//
// The target is in our process group, as it would be if it were started alone: a shell
// made the group for the whole of a pipeline, or a system that runs jobs made it to end them
// all. In it the target may read the keyboard, is interrupted by Ctrl-C, stopped by
// Ctrl-Z, killed with the group, and goes to the background and back together with us.
// Only where a debugging server of the system starts it, on macOS, it has one of its own.
func HandOver(pid int) (takeBack func()) {
	group, err := unix.Getpgid(pid)
	shared := err == nil && group == unix.Getpgrp()
	forward := Forward
	restore := func() {}
	if !shared {
		forward, restore = forwardAll, foreground(group)
	}
	stop := forward(func(s syscall.Signal) { _ = syscall.Kill(pid, s) })
	return func() {
		restore()
		stop()
	}
}

// forwarded are the signals that are passed on.
var forwarded = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH}

// Forward calls send with each signal that is sent to us alone, and keeps it from ending
// us. Those that are sent to our process group the others in it get, too.
func Forward(send func(syscall.Signal)) (stop func()) {
	sigs := make(chan os.Signal, 16)
	signal.Notify(sigs, forwarded...)
	ready, done, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		withWitness(ready, func(toGroup func(syscall.Signal) (yes, known bool)) {
			for {
				select {
				case s := <-sigs:
					// One signal that was sent to the group twice may have come to the
					// witness once, so what has come meanwhile is taken together.
					for _, s := range withQueued(s, sigs) {
						yes, known := toGroup(s)
						if !known {
							yes = fromTerminal(s)
						}
						if !yes {
							send(s)
						}
					}
				case <-done:
					return
				}
			}
		})
	}()
	<-ready
	return func() {
		signal.Stop(sigs)
		close(done)
		<-ended
	}
}

// withQueued returns a signal and those that wait in a channel, each once.
func withQueued(first os.Signal, sigs <-chan os.Signal) []syscall.Signal {
	all := []syscall.Signal{first.(syscall.Signal)}
	for {
		select {
		case s := <-sigs:
			if !slices.Contains(all, s.(syscall.Signal)) {
				all = append(all, s.(syscall.Signal))
			}
		default:
			return all
		}
	}
}

// forwardAll calls send with each signal that is sent to us.
func forwardAll(send func(syscall.Signal)) (stop func()) {
	sigs := make(chan os.Signal, 16)
	done := make(chan struct{})
	signal.Notify(sigs, forwarded...)
	go func() {
		for {
			select {
			case s := <-sigs:
				send(s.(syscall.Signal))
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

// fromTerminal reports whether a signal to us is taken to be the terminal's,
// which sends it to every process of the foreground group. One that somebody
// sent to us alone looks the same; of those that a key makes we believe that it
// was the key.
func fromTerminal(s os.Signal) bool {
	switch s {
	case syscall.SIGWINCH:
		return true
	case syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP:
		tty, err := openTerminal()
		if err != nil {
			return false
		}
		defer tty.Close()
		group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
		return err == nil && group == unix.Getpgrp()
	}
	return false
}

// foreground makes a process group the terminal's, if ours was.
func foreground(group int) (restore func()) {
	none := func() {}
	tty, err := openTerminal()
	if err != nil {
		return none
	}
	fd := int(tty.Fd())
	ours := unix.Getpgrp()
	current, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	if err != nil || current != ours && current != group {
		tty.Close()
		return none
	}
	// From the background, setting the group raises SIGTTOU unless ignored.
	signal.Ignore(syscall.SIGTTOU, syscall.SIGTTIN)
	_ = unix.IoctlSetPointerInt(fd, unix.TIOCSPGRP, group)
	return func() {
		_ = unix.IoctlSetPointerInt(fd, unix.TIOCSPGRP, ours)
		signal.Reset(syscall.SIGTTOU, syscall.SIGTTIN)
		tty.Close()
	}
}
