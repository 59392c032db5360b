// Package atomicfile writes files that are whole, or as they were before.
//
// [Write] is for files that a user names: it follows links, and writes into what is no
// file, such as a device. [Save] is for files of our own, which only their owner reads
// and which survive a crash.
package atomicfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// Write writes a file. If write fails, the file stays as it was. A device, a pipe or
// /dev/stdout is written to and stays what it is, and so does a link.
func Write(path string, write func(io.Writer) error) error {
	to, direct, err := destination(path)
	if err != nil {
		return err
	}
	if direct {
		f, err := os.OpenFile(to, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		return cmp.Or(write(f), f.Close())
	}
	f, err := beside(to)
	if err != nil {
		return err
	}
	if err = errors.Join(write(f), f.Close()); err == nil {
		err = os.Rename(f.Name(), to)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// Check finds out, before there is anything to write, whether [Write] could.
func Check(path string) error {
	to, direct, err := destination(path)
	if err != nil || direct {
		return err
	}
	f, err := beside(to)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// destination follows links to what is to be written, and says whether that is to be done
// in place.
func destination(path string) (to string, direct bool, err error) {
	// Behind a link of /proc is what somebody has open, whatever its name is.
	const most = 40 // as the kernel has it
	to = path
	for range most {
		if dir, err := filepath.EvalSymlinks(filepath.Dir(to)); err == nil && strings.HasPrefix(dir, "/proc/") {
			return path, true, nil
		}
		next, err := os.Readlink(to)
		if err != nil {
			break
		}
		if !filepath.IsAbs(next) {
			next = filepath.Join(filepath.Dir(to), next)
		}
		to = next
	}
	info, err := os.Stat(to)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return to, false, nil
	case err != nil:
		return "", false, err
	case info.IsDir():
		return "", false, fmt.Errorf("%s is a directory", path)
	}
	return to, !info.Mode().IsRegular(), nil
}

// beside makes a file in the directory of another one, with its mode if that is there.
func beside(path string) (*os.File, error) {
	f, err := os.OpenFile(fmt.Sprintf("%s.%08x.new", path, rand.Uint32()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, &fs.PathError{Op: "write", Path: path, Err: at.Err} // a name that the user knows
	}
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil {
		_ = f.Chmod(info.Mode().Perm()) // Windows has none
	}
	return f, nil
}
