package postgres

import (
	"context"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

// CallKey is of [knowledge.Writer].
func (s *Store) CallKey(ctx context.Context, repository int64) (key code.Hash, err error) {
	list, err := column[[]byte](ctx, s, "SELECT calls_made FROM repository WHERE id = $1", repository)
	if err == nil && len(list) == 0 {
		err = &GoneError{s.server}
	}
	for _, b := range list {
		copy(key[:], b)
	}
	return key, err
}

// edgeRows are rows of table edge, by column.
type edgeRows struct{ caller, kind, site, callee []int64 }

func (r *edgeRows) add(e rows.Edge) {
	r.caller, r.kind, r.site, r.callee = append(r.caller, e.Caller), append(r.kind, int64(e.Kind)), append(r.site, int64(e.Site)), append(r.callee, e.Callee)
}

// SetCalls is of [knowledge.Writer]. Only the rows that differ are written.
func (s *Store) SetCalls(ctx context.Context, repository int64, key code.Hash, calls []knowledge.Call) error {
	return s.writing(ctx, func(t *transaction) error {
		if err := t.lock(repository); err != nil {
			return err
		}
		places := rows.Places{}
		if err := t.rows(func(scan func(...any) error) error {
			var id int64
			var path string
			d := code.Decl{}
			if err := scan(&id, &path, &d.Kind, &d.Name, &d.Nth); err != nil {
				return err
			}
			places.Add(id, path, &d)
			return nil
		}, "SELECT d.id, f.path, d.kind, d.name, d.nth FROM decl d JOIN file f ON f.id = d.file WHERE f.repository = $1 AND d.kind IN (1, 2, 5) ORDER BY d.kind DESC", repository); err != nil {
			return err
		}
		want, err := places.Edges(calls)
		if err != nil {
			return err
		}
		var gone, added edgeRows
		if err := t.rows(func(scan func(...any) error) error {
			var e rows.Edge
			if err := scan(&e.Caller, &e.Kind, &e.Site, &e.Callee); err != nil {
				return err
			}
			if want[e] {
				delete(want, e)
			} else {
				gone.add(e)
			}
			return nil
		}, "SELECT e.caller, e.kind, e.site, e.callee FROM edge e JOIN decl d ON d.id = e.caller JOIN file f ON f.id = d.file WHERE f.repository = $1", repository); err != nil {
			return err
		}
		for e := range want {
			added.add(e)
		}
		return t.do(
			sql("DELETE FROM edge e USING unnest($1::bigint[], $2::int[], $3::int[], $4::bigint[]) x (caller, kind, site, callee) WHERE e.caller = x.caller AND e.kind = x.kind AND e.site = x.site AND e.callee = x.callee", gone.caller, gone.kind, gone.site, gone.callee),
			sql("INSERT INTO edge (project, caller, kind, site, callee) SELECT $1, * FROM unnest($2::bigint[], $3::int[], $4::int[], $5::bigint[])", s.project, added.caller, added.kind, added.site, added.callee),
			sql("UPDATE repository SET calls_made = $1, calls_now = $1 WHERE id = $2", key[:], repository))
	})
}

// Callers is of [knowledge.Reader].
func (s *Store) Callers(ctx context.Context, ids []int64) ([]knowledge.Edge, error) {
	return s.edges(ctx, ids, "callee")
}

// Callees is of [knowledge.Reader].
func (s *Store) Callees(ctx context.Context, ids []int64) ([]knowledge.Edge, error) {
	return s.edges(ctx, ids, "caller")
}

// edges returns the edges of which one end, a column's name, is one of the declarations.
func (s *Store) edges(ctx context.Context, ids []int64, end string) ([]knowledge.Edge, error) {
	var list []knowledge.Edge
	err := s.rows(ctx, func(scan func(...any) error) error {
		var e knowledge.Edge
		err := scan(&e.Caller, &e.Callee, &e.Kind, &e.Site)
		list = append(list, e)
		return err
	}, "SELECT caller, callee, kind, site FROM edge WHERE "+end+" = ANY($1)", ids)
	if err != nil {
		return nil, err
	}
	ran, err := s.ranEdges(ctx, ids, end)
	list = append(list, ran...)
	rows.SortEdges(list)
	return list, err
}
