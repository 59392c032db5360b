package postgres

import (
	"context"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

// CallKey is of [knowledge.Writer].
func (s *Store) CallKey(ctx context.Context, repository int64) (key code.Hash, err error) {
	b, known, err := rows.Value[[]byte](s.query(ctx, "SELECT calls_made FROM repository WHERE id = $1", repository))
	if err == nil && !known {
		err = &GoneError{s.server}
	}
	copy(key[:], b)
	return key, err
}

// edgeRows are rows of table edge, by column.
type edgeRows struct{ caller, kind, site, callee []int64 }

// edgeColumns are edges by column.
func edgeColumns(list []rows.Edge) edgeRows {
	var r edgeRows
	for _, e := range list {
		r.caller, r.kind, r.site, r.callee = append(r.caller, e.Caller), append(r.kind, int64(e.Kind)), append(r.site, int64(e.Site)), append(r.callee, e.Callee)
	}
	return r
}

// SetCalls is of [knowledge.Writer]. Only the rows that differ are written.
func (s *Store) SetCalls(ctx context.Context, repository int64, key code.Hash, calls []knowledge.Call) error {
	return s.writing(ctx, func(t *transaction) error {
		if err := t.lock(repository); err != nil {
			return err
		}
		gone, added, err := rows.EdgeChanges(t.query(rows.SelectCallers, repository), t.query(rows.SelectEdges, repository), calls)
		if err != nil {
			return err
		}
		old, made := edgeColumns(gone), edgeColumns(added)
		return t.do(
			sql("DELETE FROM edge e USING unnest($1::bigint[], $2::int[], $3::int[], $4::bigint[]) x (caller, kind, site, callee) WHERE e.caller = x.caller AND e.kind = x.kind AND e.site = x.site AND e.callee = x.callee", old.caller, old.kind, old.site, old.callee),
			sql("INSERT INTO edge (project, caller, kind, site, callee) SELECT $1, * FROM unnest($2::bigint[], $3::int[], $4::int[], $5::bigint[])", s.project, made.caller, made.kind, made.site, made.callee),
			sql("UPDATE repository SET calls_made = $1, calls_now = $1 WHERE id = $2", key[:], repository))
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
	return rows.ReadEdges(s.query(ctx, "SELECT caller, callee, kind, site FROM edge WHERE "+string(end)+" = ANY($1)", ids), s.runs(ctx), ids, end)
}
