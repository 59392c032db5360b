package sqlite

import (
	"context"
	"errors"

	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

// Traces is of [knowledge.Writer].
func (s *Store) Traces(ctx context.Context, dir string) ([]string, error) {
	return rows.Values[string](s.query(ctx, "SELECT trace FROM run WHERE dir = ? ORDER BY trace", dir))
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

// runs is where the functions of runs are read.
func (s *Store) runs(ctx context.Context) *rows.RunSource {
	return &rows.RunSource{
		Symbols: func(decls []int64) rows.Query {
			return s.query(ctx, `SELECT DISTINCT s.id FROM decl d JOIN package p ON p.id = d.package
				JOIN symbol s ON s.package = p.path AND s.name = d.name AND s.nth = d.nth
				WHERE d.id IN (SELECT value FROM json_each(?)) AND d.kind IN (1, 2)`, array(decls))
		},
		Decls: func(symbols []int64) rows.Query {
			return s.query(ctx, `SELECT s.id, d.id, f.base = s.base FROM symbol s
				JOIN package p ON p.path = s.package
				JOIN decl d ON d.package = p.id AND d.name = s.name AND d.nth = s.nth AND d.kind IN (1, 2)
				JOIN file f ON f.id = d.file
				WHERE s.id IN (SELECT value FROM json_each(?)) ORDER BY s.id, d.id`, array(symbols))
		},
		Calls: func(symbols []int64, end rows.End) rows.Query {
			return s.query(ctx, "SELECT c.caller, c.callee, c.count, r.trace FROM ran_call c JOIN run r ON r.id = c.run WHERE c."+string(end)+" IN (SELECT value FROM json_each(?))", array(symbols))
		},
	}
}

// Runs is of [knowledge.Reader].
func (s *Store) Runs(ctx context.Context, ids []int64) ([]knowledge.Run, error) {
	return rows.ReadRuns(s.runs(ctx), ids, func(symbols []int64) rows.Query {
		return s.query(ctx, `SELECT r.trace, r.dir, r.package, r.test, r.command, r.revision, r.passed,
				ifnull((SELECT min(repository) FROM package WHERE path = r.package), 0)
			FROM ran x JOIN run r ON r.id = x.run WHERE x.symbol IN (SELECT value FROM json_each(?))
			GROUP BY r.id ORDER BY count(*) DESC, r.package, r.test, r.trace`, array(symbols))
	})
}

// Executions is of [knowledge.Store]. A file has no traces, but what was indexed of those beside a repository.
func (s *Store) Executions(ctx context.Context, f knowledge.FunctionName, limit int) ([]knowledge.Execution, error) {
	return rows.Executions(f,
		s.query(ctx, "SELECT id, package, name FROM symbol WHERE name = ?1 OR substr(name, -length(?1) - 1) = '.' || ?1 ORDER BY package, name, nth, base", f.Name),
		func(symbols []int64) rows.Query {
			// Of the rows of a group that has a greatest one, SQLite takes the other columns from that.
			return s.query(ctx, `SELECT symbol, calls, trace, '', revision, package, test, command, '', passed, 0, 0 FROM (
					SELECT a.key AS nth, n.symbol, n.calls, r.*, max(r.id)
					FROM json_each(?1) a JOIN ran n ON n.symbol = a.value JOIN run r ON r.id = n.run
					GROUP BY n.symbol, r.package, r.test, CASE WHEN r.test = '' THEN r.command END)
				ORDER BY nth, package, test, command, trace LIMIT ?2`, array(symbols), limit)
		})
}
