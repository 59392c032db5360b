package postgres

import (
	"context"
	"io"

	"github.com/jackc/pgx/v5"

	"tracerag/knowledge/rows"
)

// Dump writes all that is in the project as text: see [rows.Dump].
func (s *Store) Dump(ctx context.Context, w io.Writer) error {
	return s.snapshot(ctx, func(read rows.ReadFunc) error { return rows.Dump(w, read) })
}

// snapshot has do read what is there at one moment.
func (s *Store) snapshot(ctx context.Context, do func(read rows.ReadFunc) error) error {
	return s.explain(ctx, pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		return do(func(query string, each func(values []any) error) error {
			list, err := tx.Query(ctx, query)
			if err != nil {
				return err
			}
			defer list.Close()
			for list.Next() {
				values, err := list.Values()
				if err != nil {
					return err
				}
				for i, v := range values {
					switch v := v.(type) {
					case int32:
						values[i] = int64(v)
					case string:
						values[i] = decode(v)
					}
				}
				if err := each(values); err != nil {
					return err
				}
			}
			return list.Err()
		})
	}))
}
