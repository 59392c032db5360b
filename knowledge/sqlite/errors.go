package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"tracerag/knowledge"
)

// MissingError says that a file is not there, or that nothing is in it.
type MissingError struct{ File string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("nothing was indexed yet: %s does not exist", e.File)
}

// Is is of [errors.Is]: it is a [knowledge.ErrNotIndexed].
func (e *MissingError) Is(target error) bool { return target == knowledge.ErrNotIndexed }

// UnwritableError says why a file can't be written.
type UnwritableError struct {
	File string
	Err  error
}

func (e *UnwritableError) Error() string {
	return fmt.Sprintf("%s can't be written: %v", e.File, e.Err)
}

func (e *UnwritableError) Unwrap() error { return e.Err }

// Is makes it [knowledge.ErrUnwritable].
func (e *UnwritableError) Is(target error) bool { return target == knowledge.ErrUnwritable }

// FullError says that the disk is full. What was written before is kept.
type FullError struct{ File string }

func (e *FullError) Error() string {
	return fmt.Sprintf("%s can't be written: the disk is full, or a file may not grow so large\nwhat was written before is kept: free some space and run the same command again", e.File)
}

// DamagedError says that a file is no store, or a damaged one.
type DamagedError struct {
	File string
	Err  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s is damaged, or no store of tracerag: %v\nit was left as it is: move it away, and index again", e.File, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// NewerError says that a later version of tracerag made the file.
type NewerError struct {
	File           string
	Version, Known int
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("%s was made by a newer tracerag: its version is %d, this one reads up to %d\nupdate tracerag", e.File, e.Version, e.Known)
}

// OlderError says that a file has to be brought to today's version, and that it was opened only
// for reading.
type OlderError struct {
	File           string
	Version, Known int
}

func (e *OlderError) Error() string {
	return fmt.Sprintf("%s was made by an older tracerag: its version is %d, this one reads %d\nindex again", e.File, e.Version, e.Known)
}

// BusyError says that another process was writing all the time.
type BusyError struct{ File string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("another process is writing %s for more than %v: wait until it ends", e.File, busy)
}

// explain gives the errors of SQLite that a user can do something about a type.
func (s *Store) explain(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return &FullError{s.file}
	case sqlite3.SQLITE_IOERR:
		if e.Code() == sqlite3.SQLITE_IOERR_WRITE || e.Code() == sqlite3.SQLITE_IOERR_SHMSIZE {
			return &FullError{s.file}
		}
		return fmt.Errorf("reading or writing %s: %w", s.file, err)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return &DamagedError{s.file, err}
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return &UnwritableError{s.file, err}
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return &BusyError{s.file}
	}
	return fmt.Errorf("%s: %w", s.file, err)
}

// GoneError says that a repository was forgotten while it was written.
type GoneError struct{ File string }

func (e *GoneError) Error() string {
	return fmt.Sprintf("%s: another process has removed the repository: index it again", e.File)
}
