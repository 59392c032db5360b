//go:build linux || darwin

package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// freeSpace returns how many bytes may still be written into the file system of dir.
// Some file systems do not know.
func freeSpace(dir string) (free uint64, known bool) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Blocks == 0 {
		return 0, false
	}
	blocks := fs.Bavail
	if os.Geteuid() == 0 {
		blocks = fs.Bfree // root has the reserve, too
	}
	return uint64(blocks) * uint64(fs.Bsize), true
}

// largestFile returns how large a file may be that this process writes.
func largestFile() (bytes uint64, known bool) {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &l); err != nil {
		return 0, false
	}
	return uint64(l.Cur), true
}
