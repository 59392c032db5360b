//go:build unix

package llm

import (
	"fmt"
	"io/fs"
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
