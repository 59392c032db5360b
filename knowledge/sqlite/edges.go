package sqlite

import (
	"context"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

// CallKey is of [knowledge.Writer].
func (s *Store) CallKey(ctx context.Context, repository int64) (key code.Hash, err error) {
	var b []byte
	err = s.read.QueryRowContext(ctx, "SELECT calls_made FROM repository WHERE id = ?", repository).Scan(&b)
	copy(key[:], b)
	return key, s.explain(err)
}

// SetCalls is of [knowledge.Writer]. Only the rows that differ are written.
func (s *Store) SetCalls(ctx context.Context, repository int64, key code.Hash, calls []knowledge.Call) error {
	return s.writing(ctx, func(t *transaction) error {
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
		}, "SELECT d.id, f.path, d.kind, d.name, d.nth FROM decl d JOIN file f ON f.id = d.file WHERE f.repository = ? AND d.kind IN (1, 2, 5) ORDER BY d.kind DESC", repository); err != nil {
			return err
		}
		want, err := places.Edges(calls)
		if err != nil {
			return err
		}
		var gone []rows.Edge
		if err := t.rows(func(scan func(...any) error) error {
			var e rows.Edge
			if err := scan(&e.Caller, &e.Kind, &e.Site, &e.Callee); err != nil {
				return err
			}
			if want[e] {
				delete(want, e)
			} else {
				gone = append(gone, e)
			}
			return nil
		}, "SELECT e.caller, e.kind, e.site, e.callee FROM edge e JOIN decl d ON d.id = e.caller JOIN file f ON f.id = d.file WHERE f.repository = ?", repository); err != nil {
			return err
		}
		for _, e := range gone {
			if err := t.exec("DELETE FROM edge WHERE caller = ? AND kind = ? AND site = ? AND callee = ?", e.Caller, int(e.Kind), e.Site, e.Callee); err != nil {
				return err
			}
		}
		for e := range want {
			if err := t.exec("INSERT INTO edge (caller, kind, site, callee) VALUES (?, ?, ?, ?)", e.Caller, int(e.Kind), e.Site, e.Callee); err != nil {
				return err
			}
		}
		return t.exec("UPDATE repository SET calls_made = ?1, calls_now = ?1 WHERE id = ?2", key[:], repository)
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
	}, "SELECT caller, callee, kind, site FROM edge WHERE "+end+" IN (SELECT value FROM json_each(?))", array(ids))
	if err != nil {
		return nil, err
	}
	ran, err := s.ranEdges(ctx, ids, end)
	list = append(list, ran...)
	rows.SortEdges(list)
	return list, err
}
