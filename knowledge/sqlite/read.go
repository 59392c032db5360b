package sqlite

import (
	"context"
	"encoding/json"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

// decls returns the declarations that a condition holds for, in the order of their places.
func (s *Store) decls(ctx context.Context, where string, args ...any) ([]knowledge.Decl, error) {
	return rows.ReadDecls(s.query(ctx, rows.SelectDecls+where+rows.DeclOrder, args...))
}

// array is a list as a query takes it, with json_each.
func array[T any](list []T) string {
	if len(list) == 0 {
		return "[]"
	}
	b, _ := json.Marshal(list)
	return string(b)
}

// inRepositories limits a query, whose parameter ?2 is the list, to some repositories.
func inRepositories(repositories []int64) string {
	if len(repositories) == 0 {
		return " AND ?2 = '[]'"
	}
	return " AND f.repository IN (SELECT value FROM json_each(?2))"
}

// Named is of [knowledge.Reader].
func (s *Store) Named(ctx context.Context, names []string, repositories []int64) ([]knowledge.Decl, error) {
	shorts := make([]string, len(names))
	for i, n := range names {
		shorts[i] = rows.Short(n)
	}
	// By the short name, which has no case: which of them are meant is looked at below.
	list, err := s.decls(ctx, "WHERE (d.short IN (SELECT value FROM json_each(?1)) OR d.unit IN (SELECT unit FROM member WHERE name IN (SELECT value FROM json_each(?1))))"+inRepositories(repositories),
		array(shorts), array(repositories))
	if err != nil {
		return nil, err
	}
	return rows.Called(list, names), nil
}

// Quoting is of [knowledge.Reader].
func (s *Store) Quoting(ctx context.Context, texts []string, repositories []int64) ([]knowledge.Decl, error) {
	units, err := rows.Quoting(s.source(ctx), texts, repositories)
	if err != nil || len(units) == 0 {
		return nil, err
	}
	return s.decls(ctx, "WHERE d.unit IN (SELECT value FROM json_each(?1)) AND d.kind IN (1, 2)"+inRepositories(repositories), array(units), array(repositories))
}

// Decls is of [knowledge.Reader]. They are in the order asked for.
func (s *Store) Decls(ctx context.Context, ids []int64) ([]knowledge.Decl, error) {
	list, err := s.decls(ctx, "WHERE d.id IN (SELECT value FROM json_each(?1))", array(ids))
	return rows.InOrder(list, ids), err
}

// Holds is of [knowledge.Reader].
func (s *Store) Holds(ctx context.Context, pattern string) (bool, error) {
	return rows.Holds(s.query(ctx, rows.SelectPlaces), pattern)
}

// Hashes is of [knowledge.Reader].
func (s *Store) Hashes(ctx context.Context, files []int64) (map[int64]code.Hash, error) {
	return rows.ReadHashes(s.query(ctx, "SELECT id, hash FROM file WHERE id IN (SELECT value FROM json_each(?))", array(files)))
}

// In is of [knowledge.Reader].
func (s *Store) In(ctx context.Context, files []int64) ([]knowledge.Decl, error) {
	return s.decls(ctx, "WHERE d.file IN (SELECT value FROM json_each(?1))", array(files))
}

// Files is of [knowledge.Reader].
func (s *Store) Files(ctx context.Context, paths []string, repositories []int64) ([]knowledge.File, error) {
	list, err := rows.ReadFiles(s.query(ctx, rows.SelectFiles+"f.base IN (SELECT value FROM json_each(?1))"+inRepositories(repositories)+rows.FileOrder, array(rows.Bases(paths)), array(repositories)))
	return rows.Files(list, paths), err
}

// Product is of [knowledge.Reader].
func (s *Store) Product(ctx context.Context, repository int64) ([]knowledge.File, error) {
	return rows.ReadProduct(s.query(ctx, rows.SelectFiles+"f.repository = ?"+rows.FileOrder, repository))
}
