// Package store is the directory in which recorded runs are kept.
//
// It is an ordinary directory of ordinary files, .tracerag in the root of the
// module that is worked on unless the user says otherwise, and holds nothing
// that cannot be moved, copied or deleted with the shell:
//
//	.tracerag/
//	    .gitignore                                  "*": what a run did is nobody's commit
//	    20260102-030405.123-ab12cd34.pb.gz          a trace, which go tool pprof opens
//	    20260102-030405.123-ab12cd34.ask-001.json   a conversation with a model about it
//
// A trace's name is the UTC time at which it was saved and its id, the first
// eight hex digits of the SHA-256 of its content. It keeps no index that could go
// stale: the names tell all that a listing needs, so that a damaged or foreign
// file never gets in the way of the others, and programs that run at the same
// time need no lock, since each writes a file of its own, which gets its name
// when it is whole.
//
// A program is not run for a trace that could not be saved: [Store.Check] tries the
// directory before. When it fails nevertheless, [Rescue] saves the trace elsewhere.
//
// A trace holds the command line of the program that was run, and maybe
// argument values; a conversation holds source code. Both may be private, so
// directory and files are readable by their owner alone.
//
// Nothing is ever removed behind the user's back. [Entry.Size] is there so that
// a face can say when it is time to.
package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tracerag/atomicfile"
	"tracerag/trace"
)

// DirName is the store's directory within a module.
const DirName = ".tracerag"

// NoDirError says why a store has no directory.
type NoDirError struct{ Err error }

func (e *NoDirError) Error() string { return fmt.Sprintf("no directory for traces: %v", e.Err) }
func (e *NoDirError) Unwrap() error { return e.Err }

// Locate returns the absolute path of the store's directory: flagDir or else
// envDir when one is set (--dir and TRACERAG_DIR), otherwise [DirName] in the
// root of the module that cwd lies in, which is the nearest directory upwards
// with a go.mod, or in cwd itself when there is none. Nothing is created.
func Locate(flagDir, envDir, cwd string) (string, error) {
	cwd, err := filepath.Abs(cwd)
	if err != nil {
		return "", &NoDirError{err}
	}
	for _, dir := range []string{flagDir, envDir} {
		switch {
		case filepath.IsAbs(dir):
			return filepath.Clean(dir), nil
		case dir != "":
			return filepath.Join(cwd, dir), nil
		}
	}
	for dir := cwd; ; dir = filepath.Dir(dir) {
		if fi, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil && fi.Mode().IsRegular() {
			return filepath.Join(dir, DirName), nil
		}
		if dir == filepath.Dir(dir) {
			return filepath.Join(cwd, DirName), nil
		}
	}
}

// Store is a directory of saved traces. Any number of processes may use one at
// the same time.
type Store struct {
	// Limit bounds the memory that a trace of the store may take.
	Limit trace.Limit

	dir   string
	outer *Store // the store that it lies in, or nil
}

// Open returns the store in dir. It touches nothing: a directory that does not
// exist is an empty store, and Save makes it.
func Open(dir string) *Store { return &Store{dir: dir} }

// Within returns the store in a directory of that name in this one's: for
// traces that are kept and not listed, such as those of baselines.
func (s *Store) Within(name string) *Store {
	return &Store{Limit: s.Limit, dir: filepath.Join(s.dir, name), outer: s}
}

// Dir returns the store's directory.
func (s *Store) Dir() string { return s.dir }

// Entry is a saved trace.
type Entry struct {
	ID    string    // 8 hex digits: the beginning of the SHA-256 of the content
	Path  string    // of the file
	Saved time.Time // UTC, to the millisecond
	Size  int64     // bytes, those of the answers beside it included
}

// Save writes t into the store, which it creates if need be. An [*UnwritableError]
// says that the store takes no traces; another one that t cannot be written.
func (s *Store) Save(t *trace.Trace) (Entry, error) {
	var file bytes.Buffer
	if err := t.Write(&file); err != nil {
		return Entry{}, err
	}
	sum := sha256.Sum256(file.Bytes())
	e := Entry{ID: hex.EncodeToString(sum[:])[:idLen], Size: int64(file.Len())}
	if err := s.create(); err != nil {
		return Entry{}, s.unwritable(err)
	}
	e.Saved = s.now()
	e.Path = filepath.Join(s.dir, fileName(e.Saved, e.ID))
	// Two runs that take the same name in the same millisecond have the same
	// content, so that it does not matter whose file stays.
	if err := atomicfile.Save(e.Path, file.Bytes()); err != nil {
		return Entry{}, s.unwritable(err)
	}
	return e, nil
}

// now returns the time that the next trace is saved at: the clock's, but later
// than that of the newest trace when both are of the same moment, so that the
// last one saved is the last one listed. A directory that cannot be listed takes it
// all the same.
func (s *Store) now() time.Time {
	now := time.Now().UTC().Truncate(time.Millisecond)
	list, err := s.List()
	if err != nil || len(list) == 0 {
		return now
	}
	// A file from the far future (a clock once set wrong) is not followed there.
	if last := list[len(list)-1].Saved; !last.Before(now) && last.Sub(now) < time.Second {
		now = last.Add(time.Millisecond)
	}
	return now
}

// create makes the directory, and has git ignore it. A directory that was there
// before may hold other things, which git is to see, unless its name says whose
// it is; nor is a .gitignore of the user's replaced.
func (s *Store) create() error {
	if s.outer != nil {
		if err := s.outer.create(); err != nil {
			return err
		}
	} else if err := os.MkdirAll(filepath.Dir(s.dir), 0o755); err != nil {
		return err
	}
	err := os.Mkdir(s.dir, 0o700)
	made := err == nil
	if errors.Is(err, fs.ErrExist) {
		err = isDirectory(s.dir)
	}
	if err != nil {
		return err
	}
	ignore := filepath.Join(s.dir, ".gitignore")
	if !made && filepath.Base(s.dir) != DirName {
		return nil
	}
	if _, err := os.Lstat(ignore); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return atomicfile.Save(ignore, []byte("*\n"))
}

// List returns the saved traces, oldest first, by the names of the files alone:
// none is opened. Files with other names are passed over. The sum of the
// entries' sizes is what the store takes of the disk.
func (s *Store) List() ([]Entry, error) {
	files, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list the traces: %w", err)
	}
	var list []Entry
	answers := map[string]int64{} // bytes by stem
	for _, f := range files {
		saved, id, isTrace := parseFileName(f.Name())
		stem, _, isAnswer := parseAnswerName(f.Name())
		if !f.Type().IsRegular() || !isTrace && !isAnswer {
			continue
		}
		fi, err := f.Info()
		if err != nil {
			continue // removed since the directory was read
		}
		if isTrace {
			list = append(list, Entry{ID: id, Path: filepath.Join(s.dir, f.Name()), Saved: saved, Size: fi.Size()})
		} else {
			answers[stem] += fi.Size()
		}
	}
	for i := range list {
		list[i].Size += answers[stemOf(filepath.Base(list[i].Path))]
	}
	slices.SortFunc(list, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

// Load finds a trace by any name that [Store.Find] takes, and reads it.
func (s *Store) Load(name string) (*trace.Trace, Entry, error) {
	e, err := s.Find(name)
	if err != nil {
		return nil, Entry{}, err
	}
	t, err := s.read(e.Path)
	if err != nil {
		return nil, Entry{}, err
	}
	return t, e, nil
}

// Head finds a trace like Load, and reads of it what is beside its nodes.
func (s *Store) Head(name string) (*trace.Head, Entry, error) {
	e, err := s.Find(name)
	if err != nil {
		return nil, Entry{}, err
	}
	h, err := readFile(e.Path, s.Limit.ReadHead)
	if err != nil {
		return nil, Entry{}, err
	}
	return h, e, nil
}

// read reads a trace.
func (s *Store) read(path string) (*trace.Trace, error) { return readFile(path, s.Limit.Read) }

// readFile reads a trace or its head, and has an error name the file.
func readFile[T any](path string, read func(io.Reader) (T, error)) (t T, err error) {
	f, err := os.Open(path)
	if err != nil {
		return t, err
	}
	defer f.Close()
	t, err = read(f)
	var pathError *fs.PathError
	switch {
	case err == nil:
		return t, nil
	case errors.As(err, &pathError):
		return t, err
	case errors.Is(err, trace.ErrForeign):
		return t, fmt.Errorf("%s: %w: `tracerag import %s` makes a sampled trace of it", path, err, path)
	}
	return t, fmt.Errorf("%s: %w", path, err)
}

// Remove deletes a trace of the store and the answers beside it. A trace file
// elsewhere is not the store's to delete.
func (s *Store) Remove(e Entry) error {
	if !s.holds(e.Path) && s.outer == nil && s.Processes().holds(e.Path) {
		return fmt.Errorf("%s is the trace of a process: it is removed with the run that started it", e.ID)
	}
	if !s.holds(e.Path) {
		return fmt.Errorf("%s is not in %s: delete the file itself", e.Path, s.dir)
	}
	answers, err := answerFiles(e)
	if err != nil {
		return err
	}
	// The trace last: when an answer cannot be deleted, the name still finds
	// the rest for another try.
	for _, a := range answers {
		if err := os.Remove(a.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Remove(e.Path)
}

// RemoveAll removes every trace of the store.
func (s *Store) RemoveAll() error {
	entries, err := s.List()
	for _, e := range entries {
		if err := s.Remove(e); err != nil {
			return err
		}
	}
	return err
}

// FindAll returns the traces with some names, each once. All are looked up before anything
// else is done: @prev must not change its meaning on the way.
func (s *Store) FindAll(names []string) (found []Entry, err error) {
	for _, name := range names {
		e, err := s.Find(name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(found, e) {
			found = append(found, e)
		}
	}
	return found, nil
}

// holds reports whether path is that of a trace in the store's directory.
func (s *Store) holds(path string) bool {
	_, _, ok := parseFileName(filepath.Base(path))
	if !ok {
		return false
	}
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return false
	}
	own, err := os.Stat(s.dir)
	return err == nil && os.SameFile(dir, own)
}
