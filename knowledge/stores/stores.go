// Package stores opens what keeps the knowledge of repositories, by its place: a file
// (package sqlite), or a project of a PostgreSQL database by its URL (package postgres).
package stores

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"tracerag/code"
	"tracerag/filelock"
	"tracerag/knowledge"
	"tracerag/knowledge/index"
	"tracerag/knowledge/lookup"
	"tracerag/knowledge/postgres"
	"tracerag/knowledge/rows"
	"tracerag/knowledge/sqlite"
)

// Place is where a store is.
type Place struct {
	file   string
	at     *postgres.Location // nil: a file
	clones string
}

// At reads a place: a file's path or a database's URL. Clones is the directory of this machine's clones
// of git URLs; "" if it has none.
func At(place, clones string) (*Place, error) {
	p := &Place{file: place, clones: clones}
	if postgres.Resembles(place) {
		return nil, &postgres.URLError{What: "it is no URL of PostgreSQL, nor a file"}
	}
	if !postgres.IsURL(place) {
		return p, nil
	}
	var err error
	p.at, err = postgres.Parse(place)
	return p, err
}

// IsDatabase reports whether the place is a database, which other machines may share.
func (p *Place) IsDatabase() bool { return p.at != nil }

// Database returns the project of a database, for who shares more than knowledge there; nil of a file.
func (p *Place) Database() (*postgres.Location, postgres.Options) { return p.at, p.options() }

// Clones is the directory of this machine's clones of git URLs; "" if it has none.
func (p *Place) Clones() string { return p.clones }

// String names the place: the file, or the URL without a password.
func (p *Place) String() string {
	if p.at != nil {
		return p.at.String()
	}
	return p.file
}

// Secret returns the password of a database, from wherever it came, and whether it is in the URL itself;
// "" if there is none.
func (p *Place) Secret() (password string, inURL bool) {
	if p.at == nil {
		return "", false
	}
	return p.at.Password, p.at.InURL
}

// Open opens the store for reading and writing. It is made if need be.
func (p *Place) Open(ctx context.Context) (knowledge.Store, error) {
	if p.at != nil {
		s, err := postgres.Open(ctx, p.at, p.options())
		return orNil(s, err)
	}
	s, err := sqlite.Open(ctx, p.file)
	return orNil(s, err)
}

// OpenRead opens a store that is there for reading. It makes nothing: the error is a
// [knowledge.ErrNotIndexed] if the store does not exist.
func (p *Place) OpenRead(ctx context.Context) (knowledge.Store, error) {
	if p.at != nil {
		s, err := postgres.OpenRead(ctx, p.at, p.options())
		return orNil(s, err)
	}
	s, err := sqlite.OpenRead(ctx, p.file)
	return orNil(s, err)
}

func orNil[S knowledge.Store](s S, err error) (knowledge.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (p *Place) options() postgres.Options {
	if p.clones == "" {
		return postgres.Options{}
	}
	return postgres.Options{Clone: func(url string) string { return index.CloneDir(url, p.clones) }}
}

// Exists reports whether there is something to open. Of a database that is not known before.
func (p *Place) Exists() bool {
	if p.at != nil {
		return true
	}
	_, err := os.Stat(p.file)
	return err == nil
}

// Lock has one process at a time do what two would do twice, such as asking a model for summaries. It
// waits for the other one, after it called waiting.
func (p *Place) Lock(ctx context.Context, s knowledge.Store, waiting func()) (unlock func(), err error) {
	if db, ok := s.(*postgres.Store); ok {
		return db.Lock(ctx, waiting)
	}
	return filelock.Wait(ctx, p.file+"-lock", waiting)
}

// NotEmptyError says that a store can't be copied into, because something is in it.
type NotEmptyError struct{ Place string }

func (e *NotEmptyError) Error() string {
	return fmt.Sprintf("%s has something in it already: a knowledge base is copied into an empty one", e.Place)
}

// ErrChanged says that a file is another one than was indexed, whose text is nowhere kept.
var ErrChanged = errors.New("the file changed since it was indexed")

// Indexed returns what reads files of a store's repositories as they were indexed: from a database, which keeps the texts,
// or from this machine, where they are unchanged.
func Indexed(ctx context.Context, s knowledge.Store) func(r *knowledge.Repository, path string) ([]byte, error) {
	if db, ok := s.(*postgres.Store); ok {
		return func(r *knowledge.Repository, path string) ([]byte, error) { return db.Text(ctx, r.ID, path) }
	}
	return func(r *knowledge.Repository, path string) ([]byte, error) {
		text, err := code.Read(r.Root, path)
		if err != nil {
			return nil, err
		}
		files, err := s.Files(ctx, []string{path}, []int64{r.ID})
		if err != nil {
			return nil, err
		}
		hash := code.HashText(text)
		if !slices.ContainsFunc(files, func(f knowledge.File) bool { return f.Path == path && f.Hash == hash }) {
			return nil, ErrChanged
		}
		return text, nil
	}
}

// Copy copies all that is in a store into an empty one, whole or not at all. The copy is equal, but for
// the numbers of rows: all that was derived, recorded, and said by models is in it.
func Copy(ctx context.Context, from, to *Place, progress func(rows int)) error {
	source, err := from.OpenRead(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	target, err := to.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = target.Close() }()
	into := target.(rows.Copied)
	if db, ok := target.(*postgres.Store); ok {
		text, err := indexedText(ctx, source)
		if err != nil {
			return err
		}
		into = db.WithTexts(text)
	}
	err = rows.Copy(ctx, source.(rows.Copied), into, progress)
	if errors.Is(err, rows.ErrNotEmpty) {
		err = &NotEmptyError{to.String()}
	}
	return err
}

// indexedText returns what reads files of a store's repositories as they were indexed: from this machine, or
// from the store if it is a database; nil if neither has it.
func indexedText(ctx context.Context, s knowledge.Store) (func(repository, path string, hash code.Hash) []byte, error) {
	list, err := s.Repositories(ctx)
	if err != nil {
		return nil, err
	}
	byName := make(map[string]*knowledge.Repository, len(list))
	for i := range list {
		byName[list[i].Name] = &list[i]
	}
	return func(repository, path string, hash code.Hash) []byte {
		r := byName[repository]
		if r == nil { // begun since
			return nil
		}
		text, err := lookup.ReadTree(r, path)
		if db, ok := s.(*postgres.Store); ok && (err != nil || code.HashText(text) != hash) {
			text, err = db.Text(ctx, r.ID, path)
		}
		if err != nil || code.HashText(text) != hash {
			return nil
		}
		return text
	}, nil
}
