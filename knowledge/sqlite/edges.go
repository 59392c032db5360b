package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

// CallKey is of [knowledge.Writer].
func (s *Store) CallKey(ctx context.Context, repository int64) (key code.Hash, err error) {
	var b []byte
	err = s.read.QueryRowContext(ctx, "SELECT calls_made FROM repository WHERE id = ?", repository).Scan(&b)
	if errors.Is(err, sql.ErrNoRows) {
		return key, &GoneError{s.file}
	}
	copy(key[:], b)
	return key, s.explain(err)
}

// SetCalls is of [knowledge.Writer]. Only the rows that differ are written.
func (s *Store) SetCalls(ctx context.Context, repository int64, key code.Hash, calls []knowledge.Call) error {
	return s.writing(ctx, func(t *transaction) error {
		gone, added, err := rows.EdgeChanges(t.query(rows.SelectCallers, repository), t.query(rows.SelectEdges, repository), calls)
		if err != nil {
			return err
		}
		for _, e := range gone {
			if err := t.exec("DELETE FROM edge WHERE caller = ? AND kind = ? AND site = ? AND callee = ?", e.Caller, int(e.Kind), e.Site, e.Callee); err != nil {
				return err
			}
		}
		for _, e := range added {
			if err := t.exec("INSERT INTO edge (caller, kind, site, callee) VALUES (?, ?, ?, ?)", e.Caller, int(e.Kind), e.Site, e.Callee); err != nil {
				return err
			}
		}
		return t.exec("UPDATE repository SET calls_made = ?1, calls_now = ?1 WHERE id = ?2", key[:], repository)
	})
}

// Callers is of [knowledge.Reader].
func (s *Store) Callers(ctx context.Context, ids []int64) ([]knowledge.Edge, error) {
	return s.edges(ctx, ids, rows.Callee)
}

// Callees is of [knowledge.Reader].
func (s *Store) Callees(ctx context.Context, ids []int64) ([]knowledge.Edge, error) {
	return s.edges(ctx, ids, rows.Caller)
}

// edges returns the edges of which one end is one of the declarations.
func (s *Store) edges(ctx context.Context, ids []int64, end rows.End) ([]knowledge.Edge, error) {
	return rows.ReadEdges(s.query(ctx, "SELECT caller, callee, kind, site FROM edge WHERE "+string(end)+" IN (SELECT value FROM json_each(?))", array(ids)), s.runs(ctx), ids, end)
}
