package postgres

import (
	"context"
	"time"
)

// summariesLock is the number of an advisory lock, with that of a project.
const summariesLock = 0x74726103

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
			// The connection is not used for anything else: with it goes the lock.
			return func() { _ = conn.Hijack().Close(context.Background()) }, nil
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
