//go:build darwin && (amd64 || arm64)

package rebuild

import (
	"os"
	"os/exec"
	"strconv"

	"golang.org/x/sys/unix"
)

// A shared is the memory, on this side.
type shared struct {
	*os.File
	layout layout
}

// room is how much the memory may take. On a full disk, writing to it would kill the program.
func room() uint64 {
	most := addressSpace()
	var disk unix.Statfs_t
	if unix.Statfs(os.TempDir(), &disk) == nil {
		most = min(most, disk.Bavail*uint64(disk.Bsize)/2)
	}
	return most
}

// share makes the memory: a file that only the processes have which map it. Its name is gone before the program starts,
// so that nothing is left behind however this process ends. Only pages that were written take room on the disk.
func share(l layout) (*shared, error) {
	mem, err := os.CreateTemp("", "tracerag-memory-") // of mode 0600
	if err != nil {
		return nil, err
	}
	if err = os.Remove(mem.Name()); err == nil {
		err = l.begin(mem)
	}
	if err != nil {
		mem.Close()
		return nil, err
	}
	return &shared{mem, l}, nil
}

// lend gives the memory to a program that is about to be started. It maps the file and closes it.
func (s *shared) lend(cmd *exec.Cmd) string {
	cmd.ExtraFiles = append(cmd.ExtraFiles, s.File)
	return strconv.Itoa(2 + len(cmd.ExtraFiles))
}
