package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"tracerag/code"
	"tracerag/knowledge"
)

// CallKey is of [knowledge.Writer].
func (s *Store) CallKey(ctx context.Context, repository int64) (key code.Hash, err error) {
	var b []byte
	err = s.read.QueryRowContext(ctx, "SELECT calls_made FROM repository WHERE id = ?", repository).Scan(&b)
	copy(key[:], b)
	return key, s.explain(err)
}

type edgeRow struct {
	caller, callee int64
	kind           knowledge.EdgeKind
	site           int
}

// SetCalls is of [knowledge.Writer]. Only the rows that differ are written.
func (s *Store) SetCalls(ctx context.Context, repository int64, key code.Hash, calls []knowledge.Call) error {
	return s.writing(ctx, func(t *transaction) error {
		// Functions, and groups of variables, whose initialisers call.
		ids := map[knowledge.Place]int64{}
		if err := t.rows(func(scan func(...any) error) error {
			var id int64
			var p knowledge.Place
			d := code.Decl{}
			if err := scan(&id, &p.Path, &d.Kind, &d.Name, &d.Nth); err != nil {
				return err
			}
			if d.Kind == code.Func && d.Name == "_" {
				return nil // it calls nothing, and variables may have its symbol
			}
			p.Symbol = d.Symbol()
			ids[p] = id
			return nil
		}, "SELECT d.id, f.path, d.kind, d.name, d.nth FROM decl d JOIN file f ON f.id = d.file WHERE f.repository = ? AND d.kind IN (1, 2, 5) ORDER BY d.kind DESC", repository); err != nil {
			return err
		}
		want := make(map[edgeRow]bool, len(calls))
		for _, c := range calls {
			caller, callee := ids[c.Caller], ids[c.Callee]
			if caller == 0 || callee == 0 {
				return fmt.Errorf("call from %v to %v: the files in the store do not declare both", c.Caller, c.Callee)
			}
			want[edgeRow{caller, callee, c.Kind, c.Site}] = true
		}
		var gone []edgeRow
		if err := t.rows(func(scan func(...any) error) error {
			var e edgeRow
			if err := scan(&e.caller, &e.kind, &e.site, &e.callee); err != nil {
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
			if err := t.exec("DELETE FROM edge WHERE caller = ? AND kind = ? AND site = ? AND callee = ?", e.caller, int(e.kind), e.site, e.callee); err != nil {
				return err
			}
		}
		for e := range want {
			if err := t.exec("INSERT INTO edge (caller, kind, site, callee) VALUES (?, ?, ?, ?)", e.caller, int(e.kind), e.site, e.callee); err != nil {
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
	slices.SortFunc(list, func(a, b knowledge.Edge) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Site, b.Site), cmp.Compare(a.Callee, b.Callee), cmp.Compare(a.Trace, b.Trace))
	})
	return list, err
}
