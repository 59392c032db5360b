package code

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Read reads a file of a repository, of at most [Large] bytes: see [Open].
func Read(root, path string) ([]byte, error) {
	f, err := Open(root, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, Large)
}

// Open opens a file of a repository by its slash path below the root. A repository is
// somebody else's: no link leads out of it, and a named pipe or a device is not opened,
// which would wait for a writer or do something.
func Open(root, path string) (*os.File, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	name := filepath.FromSlash(path)
	f, err := openRegular(r.Stat, r.OpenFile, name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	// A link may be absolute and still lead to a file of the repository.
	target, err2 := filepath.EvalSymlinks(filepath.Join(root, name))
	if err2 != nil {
		return nil, err
	}
	top, err2 := filepath.EvalSymlinks(root)
	if err2 != nil {
		return nil, err
	}
	if rel, err2 := filepath.Rel(top, target); err2 == nil && filepath.IsLocal(rel) && rel != filepath.Clean(name) {
		return openRegular(r.Stat, r.OpenFile, rel)
	}
	return nil, err
}

// ReadRegular reads a file, which may be anywhere, unless it is over a size or no regular one.
func ReadRegular(file string, most int64) ([]byte, error) {
	f, err := openRegular(os.Stat, os.OpenFile, file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, most)
}

// errNotRegular is of a directory, a named pipe, a device.
var errNotRegular = errors.New("it is not a regular file")

// openRegular looks at a file before it is opened, since that alone may wait or act, and
// again when it is open: it may have been replaced.
func openRegular(stat func(string) (fs.FileInfo, error), open func(string, int, fs.FileMode) (*os.File, error), name string) (*os.File, error) {
	info, err := stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	f, err := open(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func readAll(f *os.File, most int64) ([]byte, error) {
	var b bytes.Buffer
	if info, err := f.Stat(); err == nil {
		b.Grow(int(min(info.Size(), most)) + bytes.MinRead) // or it would be copied as it grows
	}
	_, err := b.ReadFrom(io.LimitReader(f, most+1))
	text := b.Bytes()
	if err == nil && int64(len(text)) > most {
		return nil, fmt.Errorf("it is larger than %d MiB", most>>20)
	}
	return text, err
}
