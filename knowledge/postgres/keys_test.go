//go:build unix

package postgres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tracerag/knowledge/knowledgetest"
	"tracerag/knowledge/postgres/postgrestest"
	"tracerag/knowledge/rows"
)

// TestKeysApart has a role write the same rows as another project, numbers included: a key that is taken would tell
// it what the other one has, and one that it takes would stop the other one.
func TestKeysApart(t *testing.T) {
	ctx := t.Context()
	owner := postgrestest.Shared(t).Database(t)
	one := opened(t, owner.URL("project", "one"), Options{})
	two := opened(t, owner.URL("project", "two"), Options{})
	knowledgetest.Full(t, one, "word")
	tables, err := forcedTables(ctx, one)
	if err != nil {
		t.Fatal(err)
	}
	super, err := pgx.Connect(ctx, owner.Server().Superuser(owner.Database())) // who sees the rows to write
	if err != nil {
		t.Fatal(err)
	}
	defer super.Close(ctx)
	for _, query := range []string{
		"INSERT INTO tracerag.worker (project, host, process, kinds, parallel) VALUES ($1, 'h', 1, '', 1)",
		"INSERT INTO tracerag.followed (project, url) VALUES ($1, 'https://example.com/r')",
		"INSERT INTO tracerag.model (project, model) VALUES ($1, 'm')",
		"INSERT INTO tracerag.asking (project, model, worker, cost, tokens) VALUES ($1, 'm', 1, 1, 1)",
		"INSERT INTO tracerag.spent VALUES ($1, 'm', '2026-01-01', 1, 1, 1)",
		"INSERT INTO tracerag.claim VALUES ($1, 1, '1', 1)",
		"INSERT INTO tracerag.trace VALUES ($1, '0123456789abcdef', 'm', 'n', now(), 'x')",
		"INSERT INTO tracerag.recorded VALUES ($1, 'https://example.com/r', 'c', 1, 0, '')",
		"INSERT INTO tracerag.report VALUES ($1, 'k', 'id', 'text', '')",
		"INSERT INTO tracerag.candidate VALUES ($1, 'k', 'id', 'url', 'test', 'change')",
		"INSERT INTO tracerag.token (project, hash, name) VALUES ($1, 'h', 'anna')",
		"INSERT INTO tracerag.audit (project, who, what, text) VALUES ($1, 'anna', 'search', 'text')",
	} {
		if _, err := super.Exec(ctx, query, one.project); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range tables {
		columns, err := rows.Values[string](queryOf(ctx, super, "SELECT quote_ident(attname) FROM pg_attribute WHERE attrelid = ('tracerag.' || $1::text)::regclass AND attnum > 0 AND attname <> 'project' AND attgenerated = ''", []any{table}))
		if err != nil {
			t.Fatal(err)
		}
		list := strings.Join(columns, ", ")
		tag, err := super.Exec(ctx, fmt.Sprintf("INSERT INTO tracerag.%s (project, %s) SELECT %[3]d, %[2]s FROM tracerag.%[1]s WHERE project = %[4]d", table, list, two.project, one.project))
		if err != nil {
			t.Errorf("the rows of %s in another project: %v", table, err)
		} else if tag.RowsAffected() == 0 && table != "orphan" {
			t.Errorf("%s has no rows to try", table)
		}
	}
	if got, want := knowledgetest.Dump(t, two), knowledgetest.Dump(t, one); got != want {
		t.Errorf("the other project is\n%s\nwant\n%s", got, want)
	}
}

// TestTextsAreNotEstimated explains queries for texts of another project. The planner's estimates are those of all
// rows: by halving, they would tell a text letter by letter.
func TestTextsAreNotEstimated(t *testing.T) {
	ctx := t.Context()
	owner := postgrestest.Shared(t).Database(t)
	one := opened(t, owner.URL("project", "one"), Options{})
	if _, err := one.pool.Exec(ctx, "INSERT INTO summary SELECT $1, 1, sha256(n::text::bytea), 'm', 'what the function does: ' || n, false FROM generate_series(1, 2000) n", one.project); err != nil {
		t.Fatal(err)
	}
	owner.Server().Exec(t, owner.Database(), "ANALYZE tracerag.summary")
	two := opened(t, owner.URL("project", "two"), Options{})
	estimate := func(than string) string {
		plan, err := rows.Values[string](two.query(ctx, "EXPLAIN SELECT FROM summary WHERE text > '"+than+"'"))
		if err != nil {
			t.Fatal(err)
		}
		return plan[0]
	}
	if low, high := estimate("what the fun"), estimate("what the g"); low != high {
		t.Errorf("the planner expects %s, or %s", low, high)
	}
}
