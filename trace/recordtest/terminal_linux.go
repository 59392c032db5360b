package recordtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Terminal is the keyboard and the screen of a pseudo terminal.
type Terminal struct {
	master *os.File
	mu     sync.Mutex
	screen bytes.Buffer
	seen   int // what Await has passed
}

// StartAtTerminal starts a command as the leader of a session with a terminal.
func StartAtTerminal(t *testing.T, cmd *exec.Cmd) *Terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	// Not master.Fd, which would make reads block beyond its closing.
	raw, err := master.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var n int
	ctlErr := raw.Control(func(fd uintptr) {
		if err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); err == nil {
			n, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	})
	if ctlErr != nil || err != nil {
		t.Skipf("no pseudo terminals here: %v %v", ctlErr, err)
	}
	slave, err := os.OpenFile(filepath.Join("/dev/pts", fmt.Sprint(n)), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	defer slave.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// When the session's leader dies the kernel hangs up on the others.
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	term := &Terminal{master: master}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			term.mu.Lock()
			term.screen.Write(buf[:n])
			term.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return term
}

// Text is all that the screen has shown.
func (term *Terminal) Text() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.screen.String()
}

// Await waits until something is to be seen behind what was awaited before.
func (term *Terminal) Await(t *testing.T, what string) {
	t.Helper()
	for end := time.Now().Add(Timeout / 3); ; time.Sleep(10 * time.Millisecond) {
		text := term.Text()
		if i := strings.Index(text[term.seen:], what); i >= 0 {
			term.seen += i + len(what)
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the terminal does not show %q but\n%q", what, text)
		}
	}
}

// Send types keys.
func (term *Terminal) Send(t *testing.T, keys string) {
	t.Helper()
	if _, err := term.master.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}
