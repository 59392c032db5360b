package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Numbers of advisory locks: of a worker, with its own number; and of a name, with its hash.
const (
	workersLock = 0x74726104
	namedLock   = 0x74726105
)

// hangs is after which silence a worker counts as dead whose connection is still there: its process is
// stopped, or its machine gone without a word. Tests make it shorter.
var hangs = 2 * time.Minute

// LostError says that others took a worker's jobs: its connection had ended, or it was silent for too long.
// What it writes then is not kept.
type LostError struct{ Server string }

func (e *LostError) Error() string {
	return fmt.Sprintf("%s: this worker was cut off, and its jobs are others' now", e.Server)
}

// Session is the time in which a process works on the jobs of a project. It lasts as long as a connection of its
// own does, so PostgreSQL knows at once when the process is killed.
type Session struct {
	// Store is the project's. What is written through it while others have this worker's jobs is refused,
	// with a [LostError].
	Store *Store
	// ID is the worker's number, which no other one has or had.
	ID   int32
	conn *pgx.Conn
}

// Join begins a session, in which jobs of some kinds are worked on, so many at a time.
func Join(ctx context.Context, l *Location, o Options, kinds []string, parallel int) (_ *Session, err error) {
	first, err := Open(ctx, l, o) // makes the tables if need be
	if err != nil {
		return nil, err
	}
	defer func() { _ = first.Close() }()
	config := l.config.ConnConfig.Copy()
	// A machine that is gone says nothing: its connection ends after half a minute.
	for name, value := range map[string]string{"tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "4"} {
		config.RuntimeParams[name] = value
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, explain(ctx, l.Server, err)
	}
	s := &Session{conn: conn}
	defer func() {
		if err != nil {
			_ = conn.Close(context.WithoutCancel(ctx))
		}
	}()
	if err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, "INSERT INTO worker (project, host, process, kinds, parallel) VALUES ($1, $2, $3, $4, $5) RETURNING id",
			first.project, encode(first.where.Host), os.Getpid(), strings.Join(kinds, ","), parallel).Scan(&s.ID); err != nil {
			return err
		}
		// Before the others can see the row.
		_, err := tx.Exec(ctx, "SELECT pg_advisory_lock($1, $2)", int32(workersLock), s.ID)
		return err
	}); err != nil {
		return nil, explain(ctx, l.Server, err)
	}
	pooled := l.config.Copy()
	pooled.ConnConfig.RuntimeParams["tracerag.worker"] = strconv.Itoa(int(s.ID))
	pooled.MaxConns = max(pooled.MaxConns, int32(2*parallel+6))
	pool, err := pgxpool.NewWithConfig(ctx, pooled)
	if err != nil {
		return nil, explain(ctx, l.Server, err)
	}
	s.Store = &Store{pool: pool, server: l.Server, where: first.where, project: first.project, worker: s.ID}
	return s, nil
}

// fence has a worker's transaction fail once others have its jobs, and them wait for it until then.
func (s *Store) fence(ctx context.Context, tx pgx.Tx) error {
	if s.worker == 0 {
		return nil
	}
	tag, err := tx.Exec(ctx, "SELECT FROM worker WHERE id = $1 FOR KEY SHARE", s.worker)
	if err == nil && tag.RowsAffected() == 0 {
		err = &LostError{s.server}
	}
	return err
}

// beat is how long PostgreSQL may take to answer a beat.
const beat = 15 * time.Second

// Beat says that the worker is there. Its error means that the session is over: by then others may have its
// jobs.
func (s *Session) Beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, beat)
	defer cancel()
	tag, err := s.conn.Exec(ctx, "UPDATE worker SET seen = now() WHERE id = $1", s.ID)
	if err == nil && tag.RowsAffected() == 0 {
		err = &LostError{s.Store.server}
	}
	return s.Store.explain(context.WithoutCancel(ctx), err)
}

// Rescue takes the jobs of workers that are dead away from them, calling release for each in a transaction
// that stands for the dead one: in it, its running jobs may be changed.
func (s *Session) Rescue(ctx context.Context, release func(ctx context.Context, tx pgx.Tx, worker int32) error) error {
	ctx, cancel := context.WithTimeout(ctx, beat)
	defer cancel()
	// Those that seem to be dead, by one query however many workers there are. The lock decides.
	list, err := s.conn.Query(ctx, `SELECT w.id FROM worker w WHERE w.id <> $1 AND (greatest(w.seen, pg_postmaster_start_time()) < now() - $3::interval OR NOT EXISTS (
			SELECT FROM pg_catalog.pg_locks l WHERE l.locktype = 'advisory' AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
				AND l.classid = $2::int::oid AND l.objid = w.id::oid AND l.objsubid = 2)) ORDER BY w.id`, s.ID, int32(workersLock), hangs)
	if err != nil {
		return s.Store.explain(context.WithoutCancel(ctx), err)
	}
	others, err := pgx.CollectRows(list, pgx.RowTo[int32])
	for _, id := range others {
		if err == nil {
			err = s.rescue(ctx, id, release)
		}
	}
	return s.Store.explain(context.WithoutCancel(ctx), err)
}

func (s *Session) rescue(ctx context.Context, id int32, release func(ctx context.Context, tx pgx.Tx, worker int32) error) error {
	return pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error {
		var dead bool
		err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1, $2) OR EXISTS (
			SELECT FROM worker WHERE id = $2 AND greatest(seen, pg_postmaster_start_time()) < now() - $3::interval)`, int32(workersLock), id, hangs).Scan(&dead)
		if err != nil || !dead {
			return err
		}
		return remove(ctx, tx, id, release)
	})
}

// remove takes a worker out. It waits for what the worker is writing, and after it nothing more is written.
func remove(ctx context.Context, tx pgx.Tx, id int32, release func(ctx context.Context, tx pgx.Tx, worker int32) error) error {
	tag, err := tx.Exec(ctx, "DELETE FROM worker WHERE id = $1", id)
	if err != nil || tag.RowsAffected() == 0 { // another one was faster
		return err
	}
	if _, err := tx.Exec(ctx, "SELECT set_config('tracerag.worker', $1, true)", strconv.Itoa(int(id))); err != nil {
		return err
	}
	return release(ctx, tx, id)
}

// Leave ends a session: the worker gives its jobs back, if PostgreSQL can be reached.
func (s *Session) Leave(ctx context.Context, release func(ctx context.Context, tx pgx.Tx, worker int32) error) error {
	ctx, cancel := context.WithTimeout(ctx, beat)
	defer cancel()
	err := pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error { return remove(ctx, tx, s.ID, release) })
	_ = s.conn.Close(ctx)
	go s.Store.pool.Close() // it waits for who holds a connection
	return s.Store.explain(context.WithoutCancel(ctx), err)
}

// Queue says where the jobs of the project are.
func (s *Store) Queue() (pool *pgxpool.Pool, schema string, project int32) {
	return s.pool, "tracerag_jobs_" + strconv.Itoa(int(s.project)), s.project
}

// Explain gives the errors of [Store.Queue]'s pool that a user can do something about a type.
func (s *Store) Explain(ctx context.Context, err error) error { return s.explain(ctx, err) }

// Transaction calls do in a transaction of the queue and the knowledge, again if another one is in its way.
func (s *Store) Transaction(ctx context.Context, do func(tx pgx.Tx) error) error {
	return s.writing(ctx, func(t *transaction) error { return do(t.tx) })
}

// TryLockName locks a name for this project's processes, unless another one has it. The lock ends with the process.
func (s *Store) TryLockName(ctx context.Context, name string) (unlock func(), ok bool, err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, false, s.explain(ctx, err)
	}
	if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1, hashtext($2))", int32(namedLock), fmt.Sprint(s.project, " ", encode(name))).Scan(&ok); err != nil || !ok {
		conn.Release()
		return nil, false, s.explain(ctx, err)
	}
	return func() { endLocks(conn) }, true, nil
}

// IsUnreachable reports whether an error is that a server does not answer: it may later.
func IsUnreachable(err error) bool {
	_, ok := errors.AsType[*UnreachableError](err)
	return ok
}
