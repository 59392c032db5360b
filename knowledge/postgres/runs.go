package postgres

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

// Traces is of [knowledge.Writer]. A directory is one of this machine.
func (s *Store) Traces(ctx context.Context, dir string) ([]string, error) {
	return rows.Values[string](s.query(ctx, "SELECT trace FROM run WHERE host = $1 AND dir = $2 ORDER BY trace", s.where.Host, dir))
}

type ranKey struct {
	pkg, name string
	nth       int
	base      string
}

// AddRun is of [knowledge.Writer].
func (s *Store) AddRun(ctx context.Context, r knowledge.Run, x knowledge.Executed) error {
	return s.writing(ctx, func(t *transaction) error { return t.addRun(s.where.Host, r, x) })
}

// addRun takes in a run of a machine's directory; "" is of none.
func (t *transaction) addRun(host string, r knowledge.Run, x knowledge.Executed) error {
	s := t.s
	// Who removes runs removes functions that none has any more: not those that are taken in now.
	if err := t.shareProject(runsLock); err != nil {
		return err
	}
	run, added, err := t.number("INSERT INTO run (project, trace, host, dir, package, test, command, revision, passed) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING RETURNING id",
		s.project, r.Trace, host, r.Dir, r.Package, r.Test, r.Command, r.Snapshot, r.Passed)
	if err != nil || !added {
		return err
	}
	ids, err := t.symbols(x.Functions)
	if err != nil {
		return err
	}
	calls := map[int64]int64{}
	for _, f := range x.Functions {
		calls[ids[keyOf(&f)]] += f.Calls
	}
	counts := map[[2]int64]int64{}
	for _, c := range x.Calls {
		counts[[2]int64{ids[keyOf(&x.Functions[c.Caller])], ids[keyOf(&x.Functions[c.Callee])]}] += c.Count
	}
	var symbols, times, callers, callees, n []int64
	for _, id := range slices.Sorted(maps.Keys(calls)) {
		symbols, times = append(symbols, id), append(times, calls[id])
	}
	for _, c := range slices.SortedFunc(maps.Keys(counts), func(a, b [2]int64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }) {
		callers, callees, n = append(callers, c[0]), append(callees, c[1]), append(n, counts[c])
	}
	return t.do(
		sql("INSERT INTO ran (project, run, symbol, calls) SELECT $1, $2, * FROM unnest($3::bigint[], $4::bigint[])", s.project, run, symbols, times),
		sql("INSERT INTO ran_call (project, run, caller, callee, count) SELECT $1, $2, * FROM unnest($3::bigint[], $4::bigint[], $5::bigint[])", s.project, run, callers, callees, n))
}

func keyOf(f *knowledge.Function) ranKey {
	return ranKey{rows.Key(f.Package), rows.Key(f.Name), f.Nth, rows.Key(f.Base)}
}

// symbols returns the numbers of functions, which it makes if need be: in one order, so that two
// processes that make the same do not wait for each other in a circle.
func (t *transaction) symbols(functions []knowledge.Function) (map[ranKey]int64, error) {
	seen := map[ranKey]bool{}
	var keys []ranKey
	for i := range functions {
		if k := keyOf(&functions[i]); !seen[k] {
			seen[k] = true
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b ranKey) int {
		return cmp.Or(cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.name, b.name), cmp.Compare(a.nth, b.nth), cmp.Compare(a.base, b.base))
	})
	var packages, names, bases []string
	var nths []int64
	for _, k := range keys {
		packages, names, nths, bases = append(packages, k.pkg), append(names, k.name), append(nths, int64(k.nth)), append(bases, k.base)
	}
	const these = "unnest($1::text[], $2::text[], $3::int[], $4::text[]) WITH ORDINALITY x (package, name, nth, base, n)"
	if _, err := t.exec("INSERT INTO symbol (package, name, nth, base, project) SELECT x.package, x.name, x.nth, x.base, $5::int FROM "+these+
		" WHERE NOT EXISTS (SELECT FROM symbol s WHERE s.project = $5 AND s.package = x.package AND s.name = x.name AND s.nth = x.nth AND s.base = x.base) ORDER BY x.n ON CONFLICT DO NOTHING",
		packages, names, nths, bases, t.s.project); err != nil {
		return nil, err
	}
	ids := make(map[ranKey]int64, len(keys))
	found := t.query("SELECT s.id, x.n FROM "+these+" JOIN symbol s ON s.project = $5 AND s.package = x.package AND s.name = x.name AND s.nth = x.nth AND s.base = x.base", packages, names, nths, bases, t.s.project)
	return ids, found.Each(func(scan rows.Scan) error {
		var id, n int64
		if err := scan(&id, &n); err != nil {
			return err
		}
		ids[keys[n-1]] = id
		return nil
	})
}

// RemoveRuns is of [knowledge.Writer].
func (s *Store) RemoveRuns(ctx context.Context, traces []string) error {
	if len(traces) == 0 {
		return nil
	}
	return s.writing(ctx, func(t *transaction) error {
		if err := t.lockProject(runsLock); err != nil {
			return err
		}
		return t.removeRuns(traces)
	})
}

// removeRuns removes runs of traces, and functions that no run has any more. The transaction holds runsLock.
func (t *transaction) removeRuns(traces []string) error {
	runs, err := rows.Values[int64](t.query("DELETE FROM run WHERE trace = ANY($1) RETURNING id", traces))
	if err != nil || len(runs) == 0 {
		return err
	}
	symbols, err := rows.Values[int64](t.query("DELETE FROM ran WHERE run = ANY($1) RETURNING symbol", runs))
	if err != nil {
		return err
	}
	return t.do(
		sql("DELETE FROM ran_call WHERE run = ANY($1)", runs),
		sql("DELETE FROM symbol WHERE id = ANY($1) AND NOT EXISTS (SELECT FROM ran WHERE ran.symbol = symbol.id)", symbols))
}

// runs is where the functions of runs are read.
func (s *Store) runs(ctx context.Context) *rows.RunSource {
	return &rows.RunSource{
		Symbols: func(decls []int64) rows.Query {
			// Until it has counted the rows of symbol, PostgreSQL would look for the declaration of each.
			return s.query(ctx, `WITH named AS MATERIALIZED (SELECT p.project, p.path, d.name, d.nth FROM decl d JOIN package p ON p.id = d.package WHERE d.id = ANY($1) AND d.kind IN (1, 2))
				SELECT DISTINCT s.id FROM named x JOIN symbol s ON s.project = x.project AND s.package = x.path AND s.name = x.name AND s.nth = x.nth`, decls)
		},
		Decls: func(symbols []int64) rows.Query {
			return s.query(ctx, `SELECT s.id, d.id, f.base = s.base FROM symbol s
				JOIN package p ON p.project = s.project AND p.path = s.package
				JOIN decl d ON d.package = p.id AND d.begins = s.begins AND d.name = s.name AND d.nth = s.nth AND d.kind IN (1, 2)
				JOIN file f ON f.id = d.file
				WHERE s.id = ANY($1) ORDER BY s.id, d.id`, symbols)
		},
		Calls: func(symbols []int64, end rows.End) rows.Query {
			return s.query(ctx, "SELECT c.caller, c.callee, c.count, r.trace FROM ran_call c JOIN run r ON r.id = c.run WHERE c."+string(end)+" = ANY($1)", symbols)
		},
	}
}

// Runs is of [knowledge.Reader]. The directory of one that another machine saved has that machine's name
// before it.
func (s *Store) Runs(ctx context.Context, ids []int64) ([]knowledge.Run, error) {
	return rows.ReadRuns(s.runs(ctx), ids, func(symbols []int64) rows.Query {
		return s.query(ctx, `SELECT r.trace, CASE WHEN r.host = $2 THEN r.dir ELSE r.host || ':' || r.dir END, r.package, r.test, r.command, r.revision, r.passed,
				coalesce((SELECT min(p.repository) FROM package p WHERE p.project = r.project AND p.path = r.package), 0)
			FROM (SELECT run, count(*) AS most FROM ran WHERE symbol = ANY($1) GROUP BY run) x JOIN run r ON r.id = x.run
			ORDER BY x.most DESC, r.package, r.test, r.trace`, symbols, s.where.Host)
	})
}
