//go:build unix

package index

import (
	"os"
	"syscall"
)

// owned reports whether a file is this user's: git takes no others' repositories.
func owned(path string) bool {
	s := stat(path)
	return s != nil && int(s.Uid) == os.Geteuid()
}

// sameDevice reports whether two directories are in one file system.
func sameDevice(a, b string) bool {
	x, y := stat(a), stat(b)
	return x != nil && y != nil && x.Dev == y.Dev
}

func stat(path string) *syscall.Stat_t {
	info, err := os.Lstat(path)
	if err != nil {
		return nil
	}
	s, _ := info.Sys().(*syscall.Stat_t)
	return s
}
