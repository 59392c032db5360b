package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

// Store is an open file. It is safe for concurrent use.
type Store struct {
	file  string
	read  *sql.DB
	write *sql.DB // nil: only for reading

	mu       sync.Mutex // held by who writes, and guards the others
	conn     *sql.Conn  // the one that writes; nil: none did
	prepared map[string]*sql.Stmt
}

var (
	_ knowledge.Reader = (*Store)(nil)
	_ knowledge.Writer = (*Store)(nil)

	_ knowledge.Vectors   = (*Store)(nil)
	_ knowledge.Summaries = (*Store)(nil)
	_ knowledge.Answers   = (*Store)(nil)

	_ rows.Copied = (*Store)(nil)
)

// busy is how long a writer waits for another process. A transaction of that takes
// less than a second on a slow disk.
const busy = 30 * time.Second

// Open opens a file for reading and writing. It is made if need be, with its directory.
func Open(ctx context.Context, file string) (*Store, error) { return open(ctx, file, migrations) }

func open(ctx context.Context, file string, migrations []string) (*Store, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	if err := makeDir(filepath.Dir(file)); err != nil {
		return nil, &UnwritableError{File: file, Err: err}
	}
	if err := create(file); err != nil {
		return nil, &UnwritableError{File: file, Err: err}
	}
	s := &Store{file: file}
	// One connection writes, so that its statements stay prepared. Transactions take the
	// write lock when they begin: one that took it later could fail half-way.
	s.write = connect(file, "&_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=cache_size(-32000)")
	s.write.SetMaxOpenConns(1)
	for start := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		err = s.explain(s.migrate(ctx, migrations))
		// While another process makes a new file one with a log, SQLite does not wait but fails at
		// once.
		if _, isBusy := errors.AsType[*BusyError](err); !isBusy || ctx.Err() != nil || time.Since(start) > busy {
			break
		}
	}
	if err != nil {
		_ = s.write.Close()
		return nil, err
	}
	s.read = connect(file, "&_pragma=query_only(1)&_pragma=cache_size(-16000)")
	return s, nil
}

// OpenRead opens a file that is there for reading. Methods that write fail.
func OpenRead(ctx context.Context, file string) (*Store, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	fi, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &MissingError{File: file}
	}
	if err != nil {
		return nil, err
	}
	if fi.Size() == 0 { // of an Open that was killed
		return nil, &MissingError{File: file}
	}
	s := &Store{file: file, read: connect(file, "&_pragma=query_only(1)&_pragma=cache_size(-16000)")}
	v, err := version(ctx, s.read)
	if err != nil && unwritable(filepath.Dir(file)) && !hasLog(file) {
		// SQLite makes two files beside one in WAL mode, also to read it. Where
		// nobody can write, nobody writes.
		_ = s.read.Close()
		s.read = connect(file, "&immutable=1&_pragma=query_only(1)")
		v, err = version(ctx, s.read)
	}
	switch {
	case err == errForeign:
		err = &DamagedError{file, err}
	case err != nil:
	case v > len(migrations):
		err = &NewerError{File: file, Version: v, Known: len(migrations)}
	case v < len(migrations):
		err = &OlderError{File: file, Version: v, Known: len(migrations)}
	}
	if err != nil {
		_ = s.read.Close()
		return nil, s.explain(err)
	}
	return s, nil
}

func connect(file, more string) *sql.DB {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(file)}
	dsn := u.String() + fmt.Sprintf("?_pragma=busy_timeout(%d)", busy.Milliseconds()) + more
	db, err := sql.Open("sqlite", dsn)
	if err != nil { // only of a driver that is not there
		panic(err)
	}
	return db
}

// Close closes the file.
func (s *Store) Close() error {
	var err error
	if s.read != nil {
		err = s.read.Close()
	}
	if s.write != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, st := range s.prepared {
			_ = st.Close()
		}
		if s.conn != nil {
			_ = s.conn.Close()
		}
		err = errors.Join(s.write.Close(), err)
	}
	return err
}

// File returns the path of the file.
func (s *Store) File() string { return s.file }

// Size returns the bytes that the store takes of the disk.
func (s *Store) Size() int64 {
	var n int64
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if fi, err := os.Stat(s.file + suffix); err == nil {
			n += fi.Size()
		}
	}
	return n
}

// makeDir makes the directory of a store. Like that of traces it is readable by its owner
// alone, and git takes no notice of it.
func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil || filepath.Base(dir) != ".tracerag" {
		return err
	}
	ignore := filepath.Join(dir, ".gitignore")
	if _, err := os.Lstat(ignore); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(ignore, []byte("*\n"), 0o600)
}

// create makes the file, so that it is readable by its owner alone: SQLite would ask
// the umask.
func create(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func unwritable(dir string) bool {
	f, err := os.CreateTemp(dir, ".tracerag-*")
	if err != nil {
		return true
	}
	_ = f.Close()
	_ = os.Remove(f.Name())
	return false
}

// hasLog reports whether a log is beside the file, with what is not in it yet.
func hasLog(file string) bool {
	fi, err := os.Stat(file + "-wal")
	return err == nil && fi.Size() > 0
}
