//go:build unix

package session

import (
	"io/fs"
	"os"
	"syscall"
)

// private tells if nobody else may have written a file or directory.
func private(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}
