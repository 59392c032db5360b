package knowledge

import (
	"context"
	"errors"

	"tracerag/code"
)

// ErrNotIndexed says that nothing is known of the sources that somebody asks about.
var ErrNotIndexed = errors.New("nothing of the source is indexed yet")

// ErrUnwritable says that a store takes nothing in: it is for reading, or its server is.
var ErrUnwritable = errors.New("nothing can be written into the store")

// Reader is what locating, the viewer and agents read.
type Reader interface {
	Repositories(ctx context.Context) ([]Repository, error)
	// Search returns the declarations with words of the query, the best first.
	Search(ctx context.Context, q Query) ([]Hit, error)
	Rarity(ctx context.Context, terms []string, repositories []int64) (Rarity, error)
	// Vocabularies returns that of each of the repositories.
	Vocabularies(ctx context.Context, terms []string, repositories []int64) ([]Vocabulary, error)
	// Named returns the declarations with one of the names: "F", "M", "T.M", "(*T).M", "T",
	// as written, or in any case where none is as written.
	Named(ctx context.Context, names []string, repositories []int64) ([]Decl, error)
	// Quoting returns the functions that have a string literal with one of the texts in it, as
	// written, from word to word.
	Quoting(ctx context.Context, texts []string, repositories []int64) ([]Decl, error)
	Decls(ctx context.Context, ids []int64) ([]Decl, error)
	// Files returns the files whose path is one of the given, or ends in "/" and it.
	Files(ctx context.Context, paths []string, repositories []int64) ([]File, error)
	// Holds reports whether a file of any repository is in a pattern: see [Within].
	Holds(ctx context.Context, pattern string) (bool, error)
	// Hashes returns the hashes of files' bytes, by the files' numbers.
	Hashes(ctx context.Context, files []int64) (map[int64]code.Hash, error)
	// Product returns the files of the program in a repository, by path: no tests, nothing
	// generated, vendored or in testdata.
	Product(ctx context.Context, repository int64) ([]File, error)
	// In returns the declarations of files.
	In(ctx context.Context, files []int64) ([]Decl, error)
	Callers(ctx context.Context, ids []int64) ([]Edge, error)
	Callees(ctx context.Context, ids []int64) ([]Edge, error)
	// Runs returns the saved runs that executed one of the declarations, those that executed
	// most of them first.
	Runs(ctx context.Context, ids []int64) ([]Run, error)
	// History returns the last commits, the newest first.
	History(ctx context.Context, repository int64, limit int) ([]Commit, error)
}
