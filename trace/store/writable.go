package store

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"tracerag/atomicfile"
	"tracerag/trace"
)

// Nobody wants to run a program twice because its trace could not be saved. So
// [Store.Check] tries the directory before the run, and [Rescue] saves the trace of a
// run that is over where [Store.Save] could not.

const (
	// minFree is the room that a trace is given. Most take some hundred kilobytes; that
	// of Hugo with 39,000 nodes takes less than a megabyte.
	minFree = 4 << 20
	// probeBytes are written to see whether a file system takes data: a quota is not
	// part of its free space, and some say nothing of that.
	probeBytes = 64 << 10
)

// UnwritableError says that a store does not take traces, and why.
type UnwritableError struct {
	Dir string // the store's
	Err error
}

func (e *UnwritableError) Error() string {
	return fmt.Sprintf("traces cannot be saved in %s: %v", e.Dir, e.Err)
}

func (e *UnwritableError) Unwrap() error { return e.Err }

// unwritable makes an UnwritableError. Its text has the directory's name once.
func (s *Store) unwritable(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path) && (path.Path == s.dir || filepath.Dir(path.Path) == s.dir):
		err = path.Err
	case errors.As(err, &link) && filepath.Dir(link.New) == s.dir:
		err = link.Err
	}
	return &UnwritableError{Dir: s.dir, Err: err}
}

// Check reports, as an [*UnwritableError], why a trace could not be saved now. It leaves
// nothing behind: where the store's directory has to be made, it tries the directory in
// which that would be.
func (s *Store) Check() error {
	at, err := s.nearest()
	if err != nil {
		return s.unwritable(err)
	}
	if at == s.dir {
		if _, err := os.ReadDir(at); err != nil {
			return s.unwritable(err)
		}
	}
	if err := tryWriting(at); err != nil {
		return s.unwritable(within(at, err))
	}
	if most, known := largestFile(); known && most < minFree {
		return s.unwritable(fmt.Errorf("a file may have %d KiB only (ulimit -f), and a trace may need %d MiB", most>>10, minFree>>20))
	}
	if free, known := freeSpace(at); known && free < minFree {
		return s.unwritable(fmt.Errorf("only %d KiB are free there, and a trace may need %d MiB", free>>10, minFree>>20))
	}
	return nil
}

// nearest returns the store's directory, or the nearest one upwards that is there.
func (s *Store) nearest() (string, error) {
	for at := s.dir; ; at = filepath.Dir(at) {
		err := isDirectory(at)
		switch {
		case err == nil:
			return at, nil
		case !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at):
			return "", within(at, err)
		}
	}
}

// isDirectory says what is there in place of a directory.
func isDirectory(dir string) error {
	fi, err := os.Stat(dir)
	switch {
	case err == nil && fi.IsDir():
		return nil
	case err == nil:
		return errors.New("it is not a directory")
	}
	if to, linkErr := os.Readlink(dir); linkErr == nil && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("it is a link to %s, which does not exist", to)
	}
	return err
}

// within gives an error about files of a directory, of which nobody knows the names,
// the directory's name.
func within(dir string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return &fs.PathError{Op: "write", Path: dir, Err: err}
}

// tryWriting writes what no file system can compress, and has it written to the disk:
// some find out only then that they are full.
func tryWriting(dir string) error {
	data := make([]byte, probeBytes)
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(data)
	return atomicfile.Try(dir, data)
}

// Rescue saves a trace that its store did not take: in a new directory below the first
// of parents that takes it. The directory is a store by itself. Parents are made if
// need be.
func Rescue(t *trace.Trace, parents ...string) (Entry, error) {
	var all error
	for _, parent := range parents {
		e, err := rescue(t, parent)
		if err == nil {
			return e, nil
		}
		all = errors.Join(all, err)
	}
	return Entry{}, all
}

func rescue(t *trace.Trace, parent string) (Entry, error) {
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return Entry{}, err
	}
	dir, err := os.MkdirTemp(parent, "tracerag-rescued-") // mode 0700
	if err != nil {
		return Entry{}, err
	}
	e, err := Open(dir).Save(t)
	var no *UnwritableError
	if errors.As(err, &no) {
		err = fmt.Errorf("%s: %w", parent, no.Err)
	}
	if err != nil {
		os.Remove(dir)
	}
	return e, err
}
