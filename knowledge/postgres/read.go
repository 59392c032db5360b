package postgres

import (
	"context"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

// decls returns the declarations that a condition holds for, in the order of their places.
func (s *Store) decls(ctx context.Context, where string, args ...any) ([]knowledge.Decl, error) {
	return rows.ReadDecls(s.query(ctx, rows.SelectDecls+where+rows.DeclOrder, args...))
}

// Conditions for repositories, the first parameter, or all if it is empty.
const (
	inRepositories   = " (cardinality($1::bigint[]) = 0 OR f.repository = ANY($1)) "
	productFunctions = "WHERE d.unit >> 32 & 255 = 0 AND " + inRepositories // rows.ProductFunctions
)

// Named is of [knowledge.Reader].
func (s *Store) Named(ctx context.Context, names []string, repositories []int64) ([]knowledge.Decl, error) {
	if len(names) == 0 {
		return nil, nil
	}
	shorts, members := make([]string, len(names)), make([]string, len(names))
	for i, n := range names {
		shorts[i], members[i] = rows.Key(fold(rows.Short(n))), rows.Key(fold(n))
	}
	// By the short name, which has no case: which of them are meant is looked at below.
	list, err := s.decls(ctx, `WHERE d.id IN (
		SELECT id FROM decl WHERE project = $4 AND short = ANY($2)
		UNION ALL SELECT e.id FROM member n JOIN decl e ON e.unit = n.unit WHERE n.project = $4 AND n.folded = ANY($3)) AND`+inRepositories,
		repositories, shorts, members, s.project)
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
	return s.decls(ctx, "WHERE d.unit = ANY($2) AND d.kind IN (1, 2) AND"+inRepositories, repositories, units)
}

// Decls is of [knowledge.Reader]. They are in the order asked for.
func (s *Store) Decls(ctx context.Context, ids []int64) ([]knowledge.Decl, error) {
	list, err := s.decls(ctx, "WHERE d.id = ANY($1)", ids)
	return rows.InOrder(list, ids), err
}

// Holds is of [knowledge.Reader].
func (s *Store) Holds(ctx context.Context, pattern string) (bool, error) {
	return rows.Holds(s.query(ctx, rows.SelectPlaces), pattern)
}

// Hashes is of [knowledge.Reader].
func (s *Store) Hashes(ctx context.Context, files []int64) (map[int64]code.Hash, error) {
	return rows.ReadHashes(s.query(ctx, "SELECT id, hash FROM file WHERE id = ANY($1)", files))
}

// In is of [knowledge.Reader].
func (s *Store) In(ctx context.Context, files []int64) ([]knowledge.Decl, error) {
	return s.decls(ctx, "WHERE d.file = ANY($1)", files)
}

// Files is of [knowledge.Reader].
func (s *Store) Files(ctx context.Context, paths []string, repositories []int64) ([]knowledge.File, error) {
	list, err := rows.ReadFiles(s.query(ctx, rows.SelectFiles+inRepositories+"AND f.project = $3 AND f.base = ANY($2)"+rows.FileOrder, repositories, rows.Bases(paths), s.project))
	return rows.Files(list, paths), err
}

// Product is of [knowledge.Reader].
func (s *Store) Product(ctx context.Context, repository int64) ([]knowledge.File, error) {
	return rows.ReadProduct(s.query(ctx, rows.SelectFiles+"f.repository = $1"+rows.FileOrder, repository))
}
