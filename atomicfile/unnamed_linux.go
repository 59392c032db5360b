package atomicfile

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// unnamed makes a file in dir that has no name. Not every file system can.
func unnamed(dir string) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	return os.NewFile(uintptr(fd), dir), nil
}

// name gives a file its name, if that is free.
func name(f *os.File, path string) error {
	// By way of /proc, since another one needs a privilege before Linux 6.10.
	return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", f.Fd()), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
}
