//go:build unix

package llm

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkPrivate refuses a key file that the group or others may read or change.
func checkPrivate(path string, mode fs.FileMode) error {
	if mode.Perm()&0o077 == 0 {
		return nil
	}
	return &configError{
		fmt.Sprintf("the key file %s is open to other users (mode %04o): chmod 600 %s", path, mode.Perm(), path),
		"a key that others could read is better replaced at the vendor's",
	}
}

// openKeyFile does not wait for somebody who writes into a named pipe: without one it is
// an empty file.
func openKeyFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
}
