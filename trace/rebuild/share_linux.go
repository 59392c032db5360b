//go:build amd64 || arm64

package rebuild

import (
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// A shared is the memory, on this side.
type shared struct {
	*os.File
	layout layout
}

// room is how much the memory may take.
func room() uint64 { return addressSpace() }

// share makes the memory: a file that is in no directory, and on no disk.
func share(l layout) (*shared, error) {
	fd, err := unix.MemfdCreate("tracerag", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	mem := os.NewFile(uintptr(fd), "memory of the recorder")
	if err := l.begin(mem); err != nil {
		mem.Close()
		return nil, err
	}
	return &shared{mem, l}, nil
}

// lend returns the name by which a program that is about to be started opens the memory.
func (s *shared) lend(*exec.Cmd) string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), s.Fd()) }
