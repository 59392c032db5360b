//go:build unix

package target

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// HandOver gives the controlling terminal to the process group of the started
// target, so that Ctrl-C, job control and full-screen programs work as without
// a recorder, and forwards to the target the signals that are sent to us. The
// returned function takes the terminal back; it must be called when the target
// has ended. Without a terminal only the signals are forwarded.
func HandOver(pid int) (takeBack func()) {
	sigs := make(chan os.Signal, 8)
	done := make(chan struct{})
	signal.Notify(sigs, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH)
	go func() {
		for {
			select {
			case s := <-sigs:
				_ = syscall.Kill(pid, s.(syscall.Signal))
			case <-done:
				return
			}
		}
	}()
	restore := foreground(pid)
	return func() {
		restore()
		signal.Stop(sigs)
		close(done)
	}
}

// foreground makes the process group of pid the terminal's, if ours was.
func foreground(pid int) (restore func()) {
	none := func() {}
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return none
	}
	fd := int(tty.Fd())
	ours := unix.Getpgrp()
	group, err := unix.Getpgid(pid)
	current, err2 := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	if err != nil || err2 != nil || (current != ours && current != group) || group == ours {
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
