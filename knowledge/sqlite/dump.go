package sqlite

import (
	"context"
	"database/sql"
	"io"

	"tracerag/knowledge/rows"
)

// Dump writes all that is in the store as text: see [rows.Dump].
func (s *Store) Dump(ctx context.Context, w io.Writer) error {
	return s.snapshot(ctx, func(read rows.ReadFunc) error { return rows.Dump(w, read) })
}

// snapshot has do read what is there at one moment.
func (s *Store) snapshot(ctx context.Context, do func(read rows.ReadFunc) error) error {
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return s.explain(err)
	}
	defer func() { _ = tx.Rollback() }()
	return s.explain(do(func(query string, each func(values []any) error) error {
		list, err := tx.QueryContext(ctx, query)
		if err != nil {
			return err
		}
		columns, err := list.Columns()
		if err != nil {
			return err
		}
		values, refs := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			refs[i] = &values[i]
		}
		return eachRow(list, func(scan rows.Scan) error {
			if err := scan(refs...); err != nil {
				return err
			}
			return each(values)
		})
	}))
}
