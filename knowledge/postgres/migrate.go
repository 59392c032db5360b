package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed schema1.sql
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

//go:embed schema8.sql
var schema8 string

//go:embed schema9.sql
var schema9 string

//go:embed schema10.sql
var schema10 string

//go:embed schema11.sql
var schema11 string

//go:embed schema12.sql
var schema12 string

// migrations make each version of the schema from the one before, the first from nothing. They
// are never changed once a release has them. They see the rows of all projects.
var migrations = []string{schema1, schema2, schema3, schema4, schema5, schema6, schema7, schema8, schema9, schema10, schema11, schema12}

// migrationLock is the number of the advisory lock that who makes tables holds: "tracerag".
const migrationLock = 0x7472616365726167

// grantAll gives each role that was admitted what tables there are now. A role that was admitted to many projects has a row for each.
const grantAll = "SELECT grant_to(r.rolname) FROM pg_catalog.pg_roles r WHERE r.rolname IN (SELECT role FROM access)"

// querier is a pool, a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}

// version returns the version of the tables, 0 if there are none, and whether the role owns them.
func version(ctx context.Context, q querier) (v int, owner bool, err error) {
	var schema, usable, made bool
	err = q.QueryRow(ctx, `SELECT count(*) > 0, coalesce(bool_or(pg_has_role(current_user, nspowner, 'USAGE')), false), coalesce(bool_or(has_schema_privilege(current_user, oid, 'USAGE')), false)
		FROM pg_catalog.pg_namespace WHERE nspname = 'tracerag'`).Scan(&schema, &owner, &usable)
	if err != nil || !schema {
		return 0, false, err
	}
	if !usable { // a role that was admitted to nothing: [Store.enter] says so
		return len(migrations), false, nil
	}
	err = q.QueryRow(ctx, "SELECT to_regclass('tracerag.schema_version') IS NOT NULL").Scan(&made)
	if err != nil || !made {
		return 0, owner, err
	}
	err = q.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM tracerag.schema_version").Scan(&v)
	return v, owner, err
}

// migrate brings the tables to the newest version, in one transaction. Of several processes that
// do at once one does it, and the others wait.
func (s *Store) migrate(ctx context.Context, migrations []string) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(migrationLock)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS tracerag"); err != nil {
			return err
		}
		v, _, err := version(ctx, tx)
		if err != nil {
			return err
		}
		if v > len(migrations) {
			return &NewerError{s.server, v, len(migrations)}
		}
		if v == len(migrations) { // another process did it meanwhile
			return nil
		}
		if v == 0 {
			if _, err := tx.Exec(ctx, "CREATE TABLE IF NOT EXISTS schema_version (version int NOT NULL)"); err != nil {
				return err
			}
		}
		bound, err := forced(ctx, tx)
		if err != nil {
			return err
		}
		if err := force(ctx, tx, "NO FORCE", bound); err != nil {
			return err
		}
		for _, m := range migrations[v:] {
			if _, err := tx.Exec(ctx, m); err != nil {
				return misplaced(err)
			}
		}
		if err := force(ctx, tx, "FORCE", bound); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "DELETE FROM schema_version"); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "INSERT INTO schema_version VALUES ($1)", len(migrations)); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, grantAll)
		return err
	})
}

// misplaced says what to do where the type of pgvector is in the place of the table vector, which has a type of its name.
func misplaced(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == duplicateObject && strings.Contains(e.Message, "vector") {
		return fmt.Errorf("%w\npgvector can't be in the schema tracerag, which has a table vector: move it with ALTER EXTENSION vector SET SCHEMA public", err)
	}
	return err
}

// forced returns the tables whose rows also their owner sees by project only.
func forced(ctx context.Context, tx pgx.Tx) ([]string, error) {
	list, err := tx.Query(ctx, "SELECT quote_ident(relname) FROM pg_catalog.pg_class WHERE relnamespace = 'tracerag'::regnamespace AND relkind = 'r' AND relforcerowsecurity ORDER BY 1")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(list, pgx.RowTo[string])
}

func force(ctx context.Context, tx pgx.Tx, how string, tables []string) error {
	for _, t := range tables {
		if _, err := tx.Exec(ctx, fmt.Sprintf("ALTER TABLE %s %s ROW LEVEL SECURITY", t, how)); err != nil {
			return err
		}
	}
	return nil
}
