package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"tracerag/knowledge"
	"tracerag/knowledge/rows"
)

var _ knowledge.Traces = (*Store)(nil)

// PushTrace is of [knowledge.Traces]. Its run is of no machine, and by its longer ID another one than that of a directory.
func (s *Store) PushTrace(ctx context.Context, k knowledge.KeptTrace, file []byte, x knowledge.Executed, processes ...knowledge.ProcessFile) (added bool, err error) {
	err = s.writing(ctx, func(t *transaction) error {
		if added, err = t.pushTrace(k, file, x); err != nil || !added {
			return err
		}
		for _, p := range processes {
			if _, err := t.insertTrace(k, k.ID+ofProcess+p.ID, p.File); err != nil {
				return err
			}
		}
		return nil
	})
	return added && err == nil, err
}

// ofProcess stands in a row's ID between those of a trace and of a process that came with it. It is before all digits.
// Such a row has no run: what the process executed, its trace's program did.
const ofProcess = "/"

func (t *transaction) insertTrace(k knowledge.KeptTrace, id string, file []byte) (rows int64, err error) {
	return t.exec("INSERT INTO trace (project, id, module, name, recorded, file) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
		t.s.project, id, k.Module, k.Name, k.Recorded, file)
}

func (t *transaction) pushTrace(k knowledge.KeptTrace, file []byte, x knowledge.Executed) (added bool, err error) {
	n, err := t.insertTrace(k, k.ID, file)
	if err != nil || n == 0 {
		return false, err
	}
	return true, t.addRun("", knowledge.Run{Trace: k.ID, Package: k.Package, Test: k.Test, Command: k.Command, Snapshot: k.Commit, Passed: k.Passed}, x)
}

// PushTraces takes in the traces that each calls push with, and what with writes: all or none. Both may be called again.
func (s *Store) PushTraces(ctx context.Context, each func(push func(knowledge.KeptTrace, []byte, knowledge.Executed) error) error, with func(tx pgx.Tx) error) error {
	return s.writing(ctx, func(t *transaction) error {
		err := each(func(k knowledge.KeptTrace, file []byte, x knowledge.Executed) error {
			_, err := t.pushTrace(k, file, x)
			return err
		})
		if err != nil {
			return err
		}
		return with(t.tx)
	})
}

// keptColumns are those of [rows.ReadKept], of trace t and run r.
const keptColumns = "r.trace, coalesce(t.module, ''), r.revision, r.package, r.test, r.command, coalesce(t.name, ''), r.passed, coalesce((extract(epoch FROM t.recorded) * 1000000)::bigint, 0), coalesce(octet_length(t.file), 0)"

// KeptTraces is of [knowledge.Traces].
func (s *Store) KeptTraces(ctx context.Context, f knowledge.TraceFilter) ([]knowledge.KeptTrace, error) {
	var limit *int
	if f.Limit > 0 {
		limit = &f.Limit
	}
	return rows.All(s.query(ctx, "SELECT "+keptColumns+` FROM trace t JOIN run r ON r.project = t.project AND r.trace = t.id
		WHERE ($1 = '' OR t.module = $1) AND left(r.revision, length($2)) = $2 AND ($3 = '' OR r.package = $3) AND ($4 = '' OR r.test = $4)
		ORDER BY t.recorded DESC, t.id LIMIT $5`, f.Module, f.Commit, f.Package, f.Test, limit), func(scan rows.Scan) (k knowledge.KeptTrace, err error) {
		err = rows.ReadKept(scan, &k)
		return k, err
	})
}

// TraceFile is of [knowledge.Traces].
func (s *Store) TraceFile(ctx context.Context, id string) ([]byte, error) {
	// By the key: what begins with an ID lies between it and the ID with a letter behind all digits.
	ids, err := rows.Values[string](s.query(ctx, "SELECT id FROM trace WHERE project = $1 AND id >= $2 AND id < $3 AND position($4 IN id) = 0 ORDER BY id LIMIT 2",
		s.project, id, id+"g", ofProcess))
	switch {
	case err != nil:
		return nil, err
	case len(ids) == 0:
		return nil, &knowledge.NoTraceError{ID: id}
	case len(ids) > 1 && ids[0] != id:
		return nil, &knowledge.NoTraceError{ID: id, Several: true}
	}
	return s.file(ctx, ids[0])
}

// ProcessFile is of [knowledge.Traces].
func (s *Store) ProcessFile(ctx context.Context, trace, id string) ([]byte, error) {
	return s.file(ctx, trace+ofProcess+id)
}

func (s *Store) file(ctx context.Context, id string) ([]byte, error) {
	file, known, err := rows.Value[[]byte](s.query(ctx, "SELECT file FROM trace WHERE project = $1 AND id = $2", s.project, id))
	if err == nil && !known {
		err = &knowledge.NoTraceError{ID: id} // dropped just now
	}
	return file, err
}

// DropTraces is of [knowledge.Traces].
func (s *Store) DropTraces(ctx context.Context, n int) (dropped int, err error) {
	err = s.writing(ctx, func(t *transaction) error {
		if err := t.lockProject(runsLock); err != nil {
			return err
		}
		gone, err := rows.Values[string](t.query(`DELETE FROM trace t USING (
				SELECT t.id, row_number() OVER (PARTITION BY t.module, r.package, r.test, CASE WHEN r.test = '' THEN r.command END ORDER BY t.recorded DESC, t.id) AS nth
				FROM trace t JOIN run r ON r.project = t.project AND r.trace = t.id) x
			WHERE t.id = x.id AND x.nth > $1 RETURNING t.id`, n))
		if dropped = len(gone); err != nil || dropped == 0 {
			return err
		}
		if _, err := t.exec("DELETE FROM trace WHERE project = $1 AND split_part(id, $2, 1) = ANY($3) AND position($2 IN id) > 0", t.s.project, ofProcess, gone); err != nil {
			return err
		}
		return t.removeRuns(gone)
	})
	return dropped, err
}

// Executions is of [knowledge.Store].
func (s *Store) Executions(ctx context.Context, f knowledge.FunctionName, limit int) ([]knowledge.Execution, error) {
	return rows.Executions(f,
		s.query(ctx, "SELECT id, package, name FROM symbol WHERE project = $1 AND last = $2 ORDER BY package, name, nth, base", s.project, f.Name),
		func(symbols []int64) rows.Query {
			return s.query(ctx, `SELECT symbol, calls, `+keptColumns+` FROM (
					SELECT DISTINCT ON (n.symbol, r.package, r.test, CASE WHEN r.test = '' THEN r.command END) n.symbol, n.calls, r.*
					FROM ran n JOIN run r ON r.id = n.run LEFT JOIN trace t ON t.project = r.project AND t.id = r.trace
					WHERE n.symbol = ANY($1)
					ORDER BY n.symbol, r.package, r.test, CASE WHEN r.test = '' THEN r.command END, t.recorded DESC NULLS LAST, r.id DESC) r
				LEFT JOIN trace t ON t.project = r.project AND t.id = r.trace
				ORDER BY array_position($1, symbol), r.package, r.test, r.command, r.trace LIMIT $2`, symbols, limit)
		})
}
