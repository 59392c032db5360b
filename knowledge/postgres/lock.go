package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// projectLock is an advisory lock of a project, by its number.
type projectLock int32

// The advisory locks of a project.
const (
	namesLock     projectLock = 0x74726101 // names of repositories are looked for and taken
	runsLock      projectLock = 0x74726102 // functions of runs are removed; shared: they are made
	summariesLock projectLock = 0x74726103 // summaries are made
)

// lockProject waits for an advisory lock. The transaction holds it until it is over.
func (t *transaction) lockProject(l projectLock) error {
	_, err := t.exec("SELECT pg_advisory_xact_lock($1, $2)", int32(l), t.s.project)
	return err
}

// shareProject is lockProject of a lock that several may hold, if nobody holds it alone.
func (t *transaction) shareProject(l projectLock) error {
	_, err := t.exec("SELECT pg_advisory_xact_lock_shared($1, $2)", int32(l), t.s.project)
	return err
}

// Lock has one process at a time work on a project. It waits for the other one, after it called
// waiting. The lock ends with the process, or with the connection.
func (s *Store) Lock(ctx context.Context, waiting func()) (unlock func(), err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	for waited := false; ; waited = true {
		var got bool
		err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1, $2)", int32(summariesLock), s.project).Scan(&got)
		if err == nil && got {
			return func() { endLocks(conn) }, nil
		}
		if err == nil {
			if !waited {
				waiting()
			}
			select {
			case <-ctx.Done():
				err = ctx.Err()
			case <-time.After(200 * time.Millisecond):
			}
		}
		if err != nil {
			conn.Release()
			return nil, s.explain(ctx, err)
		}
	}
}

// endLocks ends the locks of a connection, which is not used for anything else, and the connection. With it alone they
// would go, too, but when the server comes to it: who asks next would be told that somebody has the lock.
func endLocks(conn *pgxpool.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c := conn.Hijack()
	_, _ = c.Exec(ctx, "SELECT pg_advisory_unlock_all()")
	_ = c.Close(ctx)
}
