package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// transaction is what a method of [knowledge.Writer] does, whole or not at all.
type transaction struct {
	ctx context.Context
	s   *Store
	pgx.Tx
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
		err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return do(&transaction{ctx, s, tx}) })
		const deadlock, serialization = "40P01", "40001"
		if try < tries && (isCode(err, deadlock) || isCode(err, serialization)) {
			time.Sleep(time.Duration(try) * 5 * time.Millisecond)
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
	tag, err := t.Tx.Exec(t.ctx, query, arguments(args)...)
	return tag.RowsAffected(), at(err, query)
}

// at adds the query to an error that says no more than that there is one.
func at(err error, query string) error {
	if err != nil && isCode(err, "42601") {
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
	err = t.Tx.QueryRow(t.ctx, query, arguments(args)...).Scan(&n)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, false, nil
	}
	return n, err == nil, err
}

// rows calls each for every row.
func (t *transaction) rows(each func(scan func(...any) error) error, query string, args ...any) error {
	return eachRow(t.ctx, t.Tx, each, query, args)
}

// rows calls each for every row.
func (s *Store) rows(ctx context.Context, each func(scan func(...any) error) error, query string, args ...any) error {
	return s.explain(ctx, eachRow(ctx, s.pool, each, query, args))
}

func eachRow(ctx context.Context, from interface {
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
}, each func(scan func(...any) error) error, query string, args []any) error {
	list, err := from.Query(ctx, query, arguments(args)...)
	if err != nil {
		return at(err, query)
	}
	defer list.Close()
	scan := func(to ...any) error { return list.Scan(targets(to)...) }
	for list.Next() {
		if err := each(scan); err != nil {
			return err
		}
	}
	return at(list.Err(), query)
}

// column returns the first column of all rows.
func column[T any](ctx context.Context, s *Store, query string, args ...any) (list []T, err error) {
	err = s.rows(ctx, func(scan func(...any) error) error {
		var x T
		err := scan(&x)
		list = append(list, x)
		return err
	}, query, args...)
	return list, err
}
