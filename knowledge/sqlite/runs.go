package sqlite

import (
	"context"
	"errors"
	"slices"

	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

// Traces is of [knowledge.Writer].
func (s *Store) Traces(ctx context.Context, dir string) ([]string, error) {
	var list []string
	err := s.rows(ctx, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		list = append(list, id)
		return err
	}, "SELECT trace FROM run WHERE dir = ? ORDER BY trace", dir)
	return list, err
}

// AddRun is of [knowledge.Writer].
func (s *Store) AddRun(ctx context.Context, r knowledge.Run, x knowledge.Executed) error {
	return s.writing(ctx, func(t *transaction) error {
		if _, known, err := t.number("SELECT id FROM run WHERE trace = ?", r.Trace); err != nil || known {
			return err
		}
		run, err := t.insert("INSERT INTO run (trace, dir, package, test, command, revision, passed) VALUES (?, ?, ?, ?, ?, ?, ?)", r.Trace, r.Dir, r.Package, r.Test, r.Command, r.Snapshot, r.Passed)
		if err != nil {
			return err
		}
		ids := make([]int64, len(x.Functions))
		for i, f := range x.Functions {
			id, known, err := t.number("SELECT id FROM symbol WHERE package = ? AND name = ? AND nth = ? AND base = ?", f.Package, f.Name, f.Nth, f.Base)
			if err == nil && !known {
				id, err = t.insert("INSERT INTO symbol (package, name, nth, base) VALUES (?, ?, ?, ?)", f.Package, f.Name, f.Nth, f.Base)
			}
			if err == nil {
				err = t.exec("INSERT INTO ran (symbol, run, calls) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET calls = calls + excluded.calls", id, run, f.Calls)
			}
			if err != nil {
				return err
			}
			ids[i] = id
		}
		for _, c := range x.Calls {
			if err := t.exec("INSERT INTO ran_call (caller, callee, run, count) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count", ids[c.Caller], ids[c.Callee], run, c.Count); err != nil {
				return err
			}
		}
		return nil
	})
}

// RemoveRuns is of [knowledge.Writer].
func (s *Store) RemoveRuns(ctx context.Context, traces []string) error {
	if len(traces) == 0 {
		return nil
	}
	return s.writing(ctx, func(t *transaction) error {
		for _, trace := range traces {
			run, known, err := t.number("SELECT id FROM run WHERE trace = ?", trace)
			if err != nil {
				return err
			}
			if !known {
				continue
			}
			if err := errors.Join(
				t.exec("DELETE FROM ran_call WHERE run = ?", run),
				t.exec("DELETE FROM ran WHERE run = ?", run),
				t.exec("DELETE FROM run WHERE id = ?", run)); err != nil {
				return err
			}
		}
		return t.exec("DELETE FROM symbol WHERE NOT EXISTS (SELECT 1 FROM ran WHERE ran.symbol = symbol.id)")
	})
}

const sameFunction = ` FROM symbol s
	JOIN package p ON p.path = s.package
	JOIN decl d ON d.package = p.id AND d.name = s.name AND d.nth = s.nth AND d.kind IN (1, 2)
	JOIN file f ON f.id = d.file `

// declsOf returns the declarations of functions of runs.
func (s *Store) declsOf(ctx context.Context, symbols []int64) (*rows.Matches, error) {
	m := &rows.Matches{}
	return m, s.rows(ctx, func(scan func(...any) error) error {
		var symbol, decl int64
		var same bool
		err := scan(&symbol, &decl, &same)
		m.Add(symbol, decl, same)
		return err
	}, "SELECT s.id, d.id, f.base = s.base"+sameFunction+"WHERE s.id IN (SELECT value FROM json_each(?)) ORDER BY s.id, d.id", array(symbols))
}

// symbolsOf returns the functions of runs that are one of the declarations, each with
// those of them that it is.
func (s *Store) symbolsOf(ctx context.Context, decls []int64) (map[int64][]int64, error) {
	var symbols []int64
	if err := s.rows(ctx, func(scan func(...any) error) error {
		var symbol int64
		err := scan(&symbol)
		symbols = append(symbols, symbol)
		return err
	}, `SELECT DISTINCT s.id FROM decl d JOIN package p ON p.id = d.package
		JOIN symbol s ON s.package = p.path AND s.name = d.name AND s.nth = d.nth
		WHERE d.id IN (SELECT value FROM json_each(?)) AND d.kind IN (1, 2)`, array(decls)); err != nil {
		return nil, err
	}
	m, err := s.declsOf(ctx, symbols)
	if err != nil {
		return nil, err
	}
	return m.Ours(decls), nil
}

// ranEdges returns the calls of runs of which one end, a column's name, is one of the
// declarations.
func (s *Store) ranEdges(ctx context.Context, ids []int64, end string) ([]knowledge.Edge, error) {
	ours, err := s.symbolsOf(ctx, ids)
	if err != nil || len(ours) == 0 {
		return nil, err
	}
	var calls []rows.RanCall
	if err := s.rows(ctx, func(scan func(...any) error) error {
		var c rows.RanCall
		err := scan(&c.Caller, &c.Callee, &c.Count, &c.Trace)
		calls = append(calls, c)
		return err
	}, "SELECT c.caller, c.callee, c.count, r.trace FROM ran_call c JOIN run r ON r.id = c.run WHERE c."+end+" IN (SELECT value FROM json_each(?))", array(keys(ours))); err != nil {
		return nil, err
	}
	m, err := s.declsOf(ctx, rows.Ends(calls))
	if err != nil {
		return nil, err
	}
	return rows.RanEdges(calls, m.All(), ours, end == "caller"), nil
}

func keys[V any](m map[int64]V) []int64 {
	list := make([]int64, 0, len(m))
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// Runs is of [knowledge.Reader].
func (s *Store) Runs(ctx context.Context, ids []int64) ([]knowledge.Run, error) {
	ours, err := s.symbolsOf(ctx, ids)
	if err != nil || len(ours) == 0 {
		return nil, err
	}
	var list []knowledge.Run
	err = s.rows(ctx, func(scan func(...any) error) error {
		var r knowledge.Run
		var most int
		err := scan(&r.Trace, &r.Dir, &r.Package, &r.Test, &r.Command, &r.Snapshot, &r.Passed, &r.Repository, &most)
		list = append(list, r)
		return err
	}, `SELECT r.trace, r.dir, r.package, r.test, r.command, r.revision, r.passed,
			ifnull((SELECT min(repository) FROM package WHERE path = r.package), 0), count(*) AS most
		FROM ran x JOIN run r ON r.id = x.run WHERE x.symbol IN (SELECT value FROM json_each(?))
		GROUP BY r.id ORDER BY most DESC, r.package, r.test, r.trace`, array(keys(ours)))
	return list, err
}
