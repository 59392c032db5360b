package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"tracerag/knowledge/rows"
)

// transaction is what a method of [knowledge.Writer] does, whole or not at all.
type transaction struct {
	s    *Store
	conn *sql.Conn
}

// errReadOnly is of a store that was opened by OpenRead.
var errReadOnly = errors.New("it was opened for reading")

// writing calls do in a transaction. That is not interrupted half-way: what
// it does takes less than a second, and then it is kept.
func (s *Store) writing(ctx context.Context, do func(t *transaction) error) error {
	if s.write == nil {
		return &UnwritableError{s.file, errReadOnly}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	background := context.Background()
	if s.conn == nil {
		conn, err := s.write.Conn(background)
		if err != nil {
			return s.explain(err)
		}
		s.conn = conn
	}
	if _, err := s.conn.ExecContext(background, "BEGIN IMMEDIATE"); err != nil {
		return s.explain(err)
	}
	err := do(&transaction{s, s.conn})
	if err == nil {
		_, err = s.conn.ExecContext(background, "COMMIT")
	}
	if err != nil {
		// After some errors SQLite has rolled back already; then this fails.
		_, _ = s.conn.ExecContext(background, "ROLLBACK")
		return s.explain(err)
	}
	return nil
}

// stmt returns a statement that stays prepared as long as the store is open.
func (t *transaction) stmt(query string) (*sql.Stmt, error) {
	if st := t.s.prepared[query]; st != nil {
		return st, nil
	}
	st, err := t.conn.PrepareContext(context.Background(), query)
	if err == nil {
		if t.s.prepared == nil {
			t.s.prepared = map[string]*sql.Stmt{}
		}
		t.s.prepared[query] = st
	}
	return st, err
}

func (t *transaction) exec(query string, args ...any) error {
	st, err := t.stmt(query)
	if err == nil {
		_, err = st.Exec(args...)
	}
	return err
}

// removed is exec of a statement that deletes, and reports whether a row was there.
func (t *transaction) removed(query string, args ...any) (bool, error) {
	st, err := t.stmt(query)
	if err != nil {
		return false, err
	}
	r, err := st.Exec(args...)
	if err != nil {
		return false, err
	}
	n, err := r.RowsAffected()
	return n > 0, err
}

// insert returns the number of the new row.
func (t *transaction) insert(query string, args ...any) (int64, error) {
	st, err := t.stmt(query)
	if err != nil {
		return 0, err
	}
	r, err := st.Exec(args...)
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}

// number returns the first column of the first row; known is false without a row.
func (t *transaction) number(query string, args ...any) (n int64, known bool, err error) {
	st, err := t.stmt(query)
	if err != nil {
		return 0, false, err
	}
	err = st.QueryRow(args...).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return n, err == nil, err
}

// bytes returns the first column of the first row; nil without a row.
func (t *transaction) bytes(query string, args ...any) (b []byte, err error) {
	st, err := t.stmt(query)
	if err != nil {
		return nil, err
	}
	err = st.QueryRow(args...).Scan(&b)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return b, err
}

// query is a query of the transaction.
func (t *transaction) query(query string, args ...any) rows.Query {
	return func(do func(scan rows.Scan) error) error {
		st, err := t.stmt(query)
		if err != nil {
			return err
		}
		list, err := st.Query(args...)
		if err != nil {
			return err
		}
		return eachRow(list, do)
	}
}

// query is a query of what is there when its rows are read.
func (s *Store) query(ctx context.Context, query string, args ...any) rows.Query {
	return func(do func(scan rows.Scan) error) error {
		return s.explain(queryOf(ctx, s.read, query, args...).Each(do))
	}
}

// queryOf is a query of all connections, or of a transaction.
func queryOf(ctx context.Context, from interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}, query string, args ...any) rows.Query {
	return func(do func(scan rows.Scan) error) error {
		list, err := from.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		return eachRow(list, do)
	}
}

func eachRow(list *sql.Rows, do func(scan rows.Scan) error) error {
	defer func() { _ = list.Close() }()
	for list.Next() {
		if err := do(list.Scan); err != nil {
			return err
		}
	}
	return list.Err()
}
