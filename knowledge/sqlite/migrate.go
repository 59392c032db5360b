package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
)

//go:embed schema.sql
var schema1 string

//go:embed schema2.sql
var schema2 string

//go:embed schema3.sql
var schema3 string

//go:embed schema4.sql
var schema4 string

//go:embed schema5.sql
var schema5 string

//go:embed schema6.sql
var schema6 string

//go:embed schema7.sql
var schema7 string

// migrations make each version of the schema from the one before, the first from
// nothing. They are never changed once a release has them.
var migrations = []string{schema1, schema2, schema3, schema4, schema5, schema6, schema7}

// application is SQLite's application_id of the file: other databases are refused.
const application = 0x74726167 // "trag"

// version returns the version of a file; 0 of an empty one.
func version(ctx context.Context, db interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}) (int, error) {
	var app, v, tables int
	err := db.QueryRowContext(ctx, "SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)").Scan(&app, &v, &tables)
	if err != nil {
		return 0, err
	}
	if app != application && (tables > 0 || v > 0) {
		return 0, errForeign
	}
	return v, nil
}

var errForeign = fmt.Errorf("it is a database of another program")

// migrate brings the file to the newest version, in one transaction.
func (s *Store) migrate(ctx context.Context, migrations []string) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	v, err := version(ctx, tx)
	if err == errForeign {
		return &DamagedError{s.file, err}
	}
	if err != nil {
		return err
	}
	if v > len(migrations) {
		return &NewerError{File: s.file, Version: v, Known: len(migrations)}
	}
	if v == len(migrations) {
		return nil
	}
	for _, m := range migrations[v:] {
		if _, err := tx.ExecContext(ctx, m); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", application, len(migrations))); err != nil {
		return err
	}
	return tx.Commit()
}
