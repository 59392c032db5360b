//go:build unix

package target

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// SharesGroup reports whether a target should be started in our process group:
// where there is a terminal. The terminal talks to groups, and the shell made
// ours for the whole of a pipeline; in it the target may read the keyboard, is
// interrupted by Ctrl-C, stopped by Ctrl-Z, and goes to the background and back
// together with us, as if it were started alone. Where there is no terminal a
// group of its own is better: a signal that is sent to our group reaches the
// target once, forwarded by us.
func SharesGroup() bool {
	tty, err := openTerminal()
	if err != nil {
		return false
	}
	tty.Close()
	return true
}

func openTerminal() (*os.File, error) {
	return os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
}

// HandOver leaves the terminal and its signals to the started target, and
// forwards to it the signals that are sent to us. The returned function undoes
// this; it must be called when the target has ended.
func HandOver(pid int) (takeBack func()) {
	group, err := unix.Getpgid(pid)
	shared := err == nil && group == unix.Getpgrp()
	sigs := make(chan os.Signal, 16)
	done := make(chan struct{})
	signal.Notify(sigs, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH)
	go func() {
		for {
			select {
			case s := <-sigs:
				if !shared || !fromTerminal(s) {
					_ = syscall.Kill(pid, s.(syscall.Signal))
				}
			case <-done:
				return
			}
		}
	}()
	restore := func() {}
	if !shared {
		restore = foreground(group)
	}
	return func() {
		restore()
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
