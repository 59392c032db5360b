package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tracerag/knowledge/rows"
)

// transaction is what a method of [knowledge.Writer] does, whole or not at all.
type transaction struct {
	ctx context.Context
	s   *Store
	tx  pgx.Tx
}

// errReadOnly is of a store that was opened by OpenRead.
var errReadOnly = errors.New("it was opened for reading")

// tries is how often a transaction is tried that PostgreSQL ended because of another one's locks.
const tries = 8

// writing calls do in a transaction: more than once, if another one is in its way.
func (s *Store) writing(ctx context.Context, do func(t *transaction) error) error {
	if s.read {
		return &UnwritableError{s.server, errReadOnly}
	}
	for try := 1; ; try++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			if err := s.fence(ctx, tx); err != nil {
				return err
			}
			return do(&transaction{ctx, s, tx})
		})
		if try < tries && isCode(err, deadlock, serialization) {
			select {
			case <-ctx.Done():
			case <-time.After(time.Duration(try) * 5 * time.Millisecond):
			}
			continue
		}
		return s.explain(ctx, err)
	}
}

// lock makes other writers of a repository wait until the transaction is over.
func (t *transaction) lock(repository int64) error {
	_, known, err := t.number("SELECT id FROM repository WHERE id = $1 FOR UPDATE", repository)
	if err == nil && !known {
		err = &GoneError{t.s.server}
	}
	return err
}

// exec returns how many rows a statement changed.
func (t *transaction) exec(query string, args ...any) (int64, error) {
	tag, err := t.tx.Exec(t.ctx, query, arguments(args)...)
	return tag.RowsAffected(), withQuery(err, query)
}

// withQuery adds the query to an error of its syntax: PostgreSQL's has one word of it.
func withQuery(err error, query string) error {
	if isCode(err, syntax) {
		return fmt.Errorf("%w in %s", err, query)
	}
	return err
}

// do is exec of several statements, each with its arguments.
func (t *transaction) do(list ...statement) error {
	for _, s := range list {
		if _, err := t.exec(s.query, s.args...); err != nil {
			return err
		}
	}
	return nil
}

type statement struct {
	query string
	args  []any
}

func sql(query string, args ...any) statement { return statement{query, args} }

// number returns the first column of the first row; known is false without a row.
func (t *transaction) number(query string, args ...any) (n int64, known bool, err error) {
	return rows.Value[int64](t.query(query, args...))
}

// query is a query of the transaction.
func (t *transaction) query(query string, args ...any) rows.Query {
	return queryOf(t.ctx, t.tx, query, args)
}

// query is a query of what is there when its rows are read.
func (s *Store) query(ctx context.Context, query string, args ...any) rows.Query {
	return func(do func(scan rows.Scan) error) error {
		return s.explain(ctx, queryOf(ctx, s.pool, query, args).Each(do))
	}
}

// queryOf is a query of the pool, or of a transaction.
func queryOf(ctx context.Context, from interface {
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
}, query string, args []any) rows.Query {
	return func(do func(scan rows.Scan) error) error {
		list, err := from.Query(ctx, query, arguments(args)...)
		if err != nil {
			return withQuery(err, query)
		}
		defer list.Close()
		scan := func(to ...any) error { return list.Scan(targets(to)...) }
		for list.Next() {
			if err := do(scan); err != nil {
				return err
			}
		}
		return withQuery(list.Err(), query)
	}
}
