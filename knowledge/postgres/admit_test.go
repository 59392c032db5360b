//go:build unix

package postgres

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tracerag/knowledge/postgres/postgrestest"
	"tracerag/knowledge/rows"
)

// catalogWork returns how many rows of PostgreSQL's catalogs a statement changes. It is rolled back unless it is kept.
func catalogWork(t testing.TB, s *Store, keep bool, query string, args ...any) (changed int64) {
	t.Helper()
	ctx := t.Context()
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	counted := func() (n int64) {
		t.Helper()
		if err := tx.QueryRow(ctx, "SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_xact_sys_tables").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := counted()
	if _, err := tx.Exec(ctx, query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	changed = counted() - before
	if keep {
		if err := tx.Commit(ctx); err != nil {
			t.Fatal(err)
		}
	}
	return changed
}

// TestAdmitWork counts what admitting a role to a further project changes: as much for the thirtieth as for the third. A migration's
// grants are as many as there are admissions.
func TestAdmitWork(t *testing.T) {
	owner := postgrestest.Shared(t).Database(t)
	s := opened(t, owner.URL(), Options{})
	member, other := owner.Other(t), owner.Other(t)
	const admit = "SELECT admit($1, $2)"
	project := func(i int) string { return fmt.Sprint("p", i) }
	var made, entered, again, granted []int64
	for i := range 30 {
		of, in := catalogWork(t, s, true, admit, project(i), member.Name), catalogWork(t, s, true, admit, project(i), other.Name)
		made, entered = append(made, of), append(entered, in)
		again = append(again, catalogWork(t, s, false, admit, project(i), other.Name))
		if i%10 == 9 {
			granted = append(granted, catalogWork(t, s, false, grantAll))
		}
	}
	for what, list := range map[string][]int64{"a new project": made, "a project": entered, "a project that has the role": again} {
		if list[29] != list[2] || list[2] == 0 {
			t.Errorf("admitting a role to %s changes %d rows of catalogs when it has 2 others, and %d when it has 29", what, list[2], list[29])
		}
	}
	if granted[2]-granted[1] != granted[1]-granted[0] {
		t.Errorf("with 10, 20 and 30 projects of two roles a migration's grants change %d rows of catalogs: not as many more each time", granted)
	}
	// The owner makes projects by naming them.
	named := func(i int) int64 {
		return catalogWork(t, s, true, "SELECT admit($1, session_user)", fmt.Sprint("named ", i))
	}
	if first, last := named(0), named(1); first != last {
		t.Errorf("naming a project changes %d rows, the next %d", first, last)
	}
}

// privileges are those of a role, without its name.
func privileges(t testing.TB, s *Store, role string) string {
	t.Helper()
	list, err := rows.Values[string](s.query(t.Context(), `WITH given (what, acl) AS (
			SELECT c.relkind::text || ' ' || c.oid::regclass, c.relacl FROM pg_class c
			UNION ALL SELECT format('column %s.%s', a.attrelid::regclass, a.attname), a.attacl FROM pg_attribute a
			UNION ALL SELECT 'schema ' || nspname, nspacl FROM pg_namespace
			UNION ALL SELECT 'function ' || oid::regprocedure, proacl FROM pg_proc)
		SELECT format('%s %s %s', what, x.privilege_type, x.is_grantable) FROM given, aclexplode(acl) x WHERE x.grantee = $1::regrole ORDER BY 1`, role))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(list, "\n")
}

// TestAdmitGrants says that a role has the same privileges whichever way it came to them: by version 11 and a migration, one project after
// another, or all anew after it was dropped and made again.
func TestAdmitGrants(t *testing.T) {
	ctx := t.Context()
	server := postgrestest.Shared(t)
	owner := server.Database(t)
	l, err := Parse(owner.URL())
	if err != nil {
		t.Fatal(err)
	}
	older, err := open(ctx, l, Options{}, migrations[:11], false)
	if err != nil {
		t.Fatal(err)
	}
	defer older.Close()
	before, member, other := owner.Other(t), owner.Other(t), owner.Other(t)
	admit := func(s *Store, to *postgrestest.Role, projects ...string) {
		t.Helper()
		for _, p := range projects {
			if _, err := s.pool.Exec(ctx, "SELECT admit($1, $2)", p, to.Name); err != nil {
				t.Fatal(err)
			}
		}
	}
	admit(older, before, "one", "two", "it's-\"three\"")
	want := privileges(t, older, before.Name)
	s := opened(t, owner.URL(), Options{})
	is := func(what string, r *postgrestest.Role, want string) {
		t.Helper()
		if got := privileges(t, s, r.Name); got != want {
			t.Errorf("%s has the privileges\n%s\nwant\n%s", what, got, want)
		}
	}
	is("a role of before the migration", before, want)
	if strings.Count(want, "\n") < 100 || !strings.Contains(want, "S tracerag_jobs_") {
		t.Fatalf("it has the privileges\n%s", want)
	}
	admit(s, member, "two", "it's-\"three\"", "one")
	is("a role that was admitted after it", member, want)
	admit(s, member, "one", "four")
	if _, err := s.pool.Exec(ctx, "SELECT expel('four', $1)", member.Name); err != nil {
		t.Fatal(err)
	}
	is("one that was expelled from another project", member, want)
	admit(s, other, "one")
	if got := privileges(t, s, other.Name); strings.Contains(got, "tracerag_jobs_3") || !strings.Contains(got, "tracerag_jobs_2") {
		t.Errorf("a role of one project has the privileges\n%s", got)
	}
	server.Exec(t, owner.Database(), fmt.Sprintf("DROP OWNED BY %s; DROP ROLE %[1]s; CREATE ROLE %[1]s LOGIN PASSWORD '%s'", member.Name, member.Password))
	is("a role that was made again", member, "")
	admit(s, member, "two")
	is("a role that was made again and admitted", member, want)
	for _, p := range []string{"one", "two", "it's-\"three\""} {
		in := opened(t, member.URL("project", p), Options{})
		_, queue, _ := in.Queue()
		if _, err := in.pool.Exec(ctx, "INSERT INTO "+pgx.Identifier{queue, "river_job"}.Sanitize()+" (args, kind) VALUES ('{}', 'k')"); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
}
