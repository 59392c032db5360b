package sqlite

import (
	"context"

	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

// Unembedded is of [knowledge.Vectors].
func (s *Store) Unembedded(ctx context.Context, model string, repositories []int64, limit int) ([]knowledge.Decl, error) {
	where, args := s.product(repositories)
	where += " AND NOT EXISTS (SELECT 1 FROM vector v WHERE v.tokens = u.tokens AND v.comments = u.comments AND v.model = ?)"
	return rows.ReadOnce(s.query(ctx, rows.SelectDecls+where+rows.DeclOrder, append(args, model)...), limit)
}

// product is the condition for functions of the program in some repositories, or all.
func (s *Store) product(repositories []int64) (where string, args []any) {
	where = "WHERE d.unit >> 32 & 255 = 0" // rows.ProductFunctions
	if len(repositories) > 0 {
		where += " AND f.repository IN (SELECT value FROM json_each(?))"
		args = append(args, array(repositories))
	}
	return where, args
}

// SetVectors is of [knowledge.Vectors].
func (s *Store) SetVectors(ctx context.Context, model string, vectors []knowledge.Vector) error {
	return s.writing(ctx, func(t *transaction) error {
		for _, v := range vectors {
			if err := t.exec("INSERT OR REPLACE INTO vector (tokens, comments, model, numbers) VALUES (?, ?, ?, ?)", v.Tokens[:], v.Comments[:], model, rows.Numbers(v.Values)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Nearest is of [knowledge.Vectors].
func (s *Store) Nearest(ctx context.Context, model string, to []float32, repositories []int64, limit int) ([]knowledge.Near, error) {
	where, args := s.product(repositories)
	query := s.query(ctx, "SELECT d.id, v.numbers"+rows.DeclTables+"JOIN vector v ON v.tokens = u.tokens AND v.comments = u.comments AND v.model = ? "+where, append([]any{model}, args...)...)
	return rows.Nearest(query, to, limit, func(ids []int64) ([]knowledge.Decl, error) { return s.Decls(ctx, ids) })
}
