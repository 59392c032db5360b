//go:build unix

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tracerag/knowledge"
	"tracerag/knowledge/knowledgetest"
	"tracerag/knowledge/postgres/postgrestest"
	"tracerag/knowledge/rows"
)

// full puts something into every table of a project, and calls in.
func full(t testing.TB, s *Store, word string) {
	t.Helper()
	knowledgetest.Full(t, s, word)
	if _, err := s.PushTrace(t.Context(), knowledge.KeptTrace{ID: "0123456789abcdef", Module: word}, []byte(word), knowledge.Executed{}); err != nil {
		t.Fatal(err)
	}
	_, schema, project := s.Queue()
	for _, query := range []string{
		"INSERT INTO worker (project, host, process, kinds, parallel) VALUES ($1, $2, 1, '', 1)",
		"INSERT INTO followed (project, url) VALUES ($1, $2)",
		"INSERT INTO model (project, model) VALUES ($1, $2)",
		"INSERT INTO asking (project, model, worker, cost, tokens) VALUES ($1, $2, 1, 1, 1)",
		"INSERT INTO spent VALUES ($1, $2, '2026-01-01', 1, 1, 1)",
		"INSERT INTO recorded VALUES ($1, $2, 'c', 1, 0, '')",
		"INSERT INTO report VALUES ($1, $2, 'id', 'text', '')",
		"INSERT INTO candidate VALUES ($1, $2, 'id', 'url', 'test', 'change')",
		"INSERT INTO claim VALUES ($1, 1, convert_to($2, 'UTF8'), 1)",
		"INSERT INTO token (project, hash, name) VALUES ($1, convert_to($2, 'UTF8'), 'anna')",
		"INSERT INTO audit (project, who, what, text) VALUES ($1, 'anna', 'search', $2)",
		"INSERT INTO " + schema + ".river_job (max_attempts, kind, args) VALUES ($1, $2, '{}')",
	} {
		if _, err := s.pool.Exec(t.Context(), query, project, word); err != nil {
			t.Fatal(err)
		}
	}
}

// TestProjectsApart has two teams in one database. Each tries to reach what is of the other, through the
// store and around it.
func TestProjectsApart(t *testing.T) {
	ctx := t.Context()
	owner := postgrestest.Shared(t).Database(t)
	admin := opened(t, owner.URL("project", "payments"), Options{})
	full(t, admin, "payments")
	before := knowledgetest.Dump(t, admin)
	search, pay := owner.Other(t), owner.Other(t)

	for _, project := range []string{"payments", "search", "it's"} {
		_, err := tryOpen(t, search.URL("project", project), Options{})
		var e *NotAdmittedError
		if !errors.As(err, &e) || e.Role != search.Name || !strings.Contains(err.Error(), "tracerag.admit(") {
			t.Errorf("a role that was admitted to nothing opens %s: %v", project, err)
		}
	}
	if _, err := admin.pool.Exec(ctx, "SELECT admit('search', $1), admit('payments', $2)", search.Name, pay.Name); err != nil {
		t.Fatal(err)
	}
	theirs := opened(t, pay.URL("project", "payments"), Options{})
	if knowledgetest.Dump(t, theirs) != before {
		t.Error("a role that was admitted does not see all that is in the project")
	}
	if n, err := rows.Values[int](theirs.query(ctx, fmt.Sprintf("SELECT count(*) FROM tracerag_jobs_%d.river_job", admin.project))); err != nil || n[0] != 1 {
		t.Errorf("a role that was admitted sees %v jobs, %v", n, err)
	}
	mine := opened(t, search.URL("project", "search"), Options{})
	if list, err := mine.Repositories(ctx); err != nil || len(list) > 0 {
		t.Fatalf("a new project has %v, %v", list, err)
	}
	full(t, mine, "search")
	if knowledgetest.Dump(t, admin) != before {
		t.Error("writing into one project changed another one")
	}

	// Through the interface, with the numbers of the other project.
	foreign, err := admin.Named(ctx, []string{"Fpayments"}, nil)
	if err != nil || len(foreign) != 1 {
		t.Fatalf("%v, %v", foreign, err)
	}
	d := foreign[0]
	if got, err := mine.Decls(ctx, []int64{d.ID}); err != nil || len(got) > 0 {
		t.Errorf("a declaration by its number: %v, %v", got, err)
	}
	if got, err := mine.Search(ctx, knowledge.Query{Terms: []string{"fpayments"}, Repositories: []int64{d.Repository}, Limit: 5}); err != nil || len(got) > 0 {
		t.Errorf("search in a repository by its number: %v, %v", got, err)
	}
	if err := mine.Forget(ctx, d.Repository); err != nil {
		t.Error(err)
	}
	if err := mine.Write(ctx, d.Repository, knowledge.Change{Remove: []string{"a.go"}}); err == nil {
		t.Error("a repository of another project can be written")
	}
	if knowledgetest.Dump(t, admin) != before {
		t.Error("a repository of another project was changed by its number")
	}

	// Around it, with the role's own password and any SQL.
	conn, err := pgx.Connect(ctx, search.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	tables, err := forcedTables(ctx, admin)
	if err != nil || len(tables) != 35 {
		t.Fatalf("tables with row-level security: %v, %v", tables, err)
	}
	for _, setting := range []string{"payments", "search", "", "1"} {
		if _, err := conn.Exec(ctx, "SELECT set_config('tracerag.project', $1, false)", setting); err != nil {
			t.Fatal(err)
		}
		for _, table := range tables {
			var rows, others int
			if err := conn.QueryRow(ctx, fmt.Sprintf("SELECT count(*), count(*) FILTER (WHERE project = $1) FROM tracerag.%s", table), admin.project).Scan(&rows, &others); err != nil {
				t.Fatalf("%s: %v", table, err)
			}
			if others > 0 || rows > 0 != (setting == "search") {
				t.Errorf("as %q a role of search sees %d rows of %s, %d of payments", setting, rows, table, others)
			}
			guarded := table == "token" || table == "audit" // rows that also a role of the project only adds: see TestGuestsGuarded
			for _, query := range []string{"DELETE FROM tracerag.%s WHERE project = $1", "UPDATE tracerag.%s SET project = project WHERE project = $1"} {
				if tag, err := conn.Exec(ctx, fmt.Sprintf(query, table), admin.project); isCode(err, denied) != guarded || err != nil && !guarded || tag.RowsAffected() > 0 {
					t.Errorf(query+": %v, %v", table, tag, err)
				}
			}
			if tag, err := conn.Exec(ctx, fmt.Sprintf("UPDATE tracerag.%s SET project = $1", table), admin.project); setting == "search" && err == nil {
				t.Errorf("rows of %s are moved into another project: %v", table, tag)
			}
		}
	}
	for _, query := range []string{
		"SELECT * FROM tracerag_jobs_%d.river_job",
		"SELECT tracerag_jobs_%d.river_job_state_in_bitmask('11111111', 'running')",
		"INSERT INTO tracerag_jobs_%d.river_job (max_attempts, kind, args) VALUES (1, 'index', '{}')",
		"UPDATE tracerag_jobs_%d.river_job SET metadata = '{\"cancel_attempted_at\": 1}'",
		"UPDATE tracerag_jobs_%d.river_job SET state = 'running'",
		"DELETE FROM tracerag_jobs_%d.river_job",
		"DELETE FROM tracerag_jobs_%d.river_leader",
		"SELECT nextval('tracerag_jobs_%d.river_job_id_seq')",
		"SELECT tracerag.make_queue(-%d)",
		"INSERT INTO tracerag.worker (project, host, process, kinds, parallel) VALUES (%d, 'x', 1, '', 1)",
		"INSERT INTO tracerag.followed (project, url) VALUES (%d, 'x')",
		"INSERT INTO tracerag.answer VALUES (%d, 'k', 'x')",
		"SET row_security = off; SELECT * FROM tracerag.decl",
		"SELECT tracerag.admit('payments', session_user)",
		"SELECT tracerag.grant_to(session_user)",
		"SELECT tracerag.grant_tables(session_user)",
		"SELECT tracerag.grant_queue(%d, session_user)",
		"SELECT tracerag.relations_of('tracerag_jobs_%d')",
		"INSERT INTO tracerag.access VALUES (%d, session_user)",
		"SELECT * FROM tracerag.project",
		"UPDATE tracerag.schema_version SET version = 0 + %d",
		"ALTER TABLE tracerag.decl DISABLE ROW LEVEL SECURITY",
		"DROP POLICY of_project ON tracerag.decl",
		"TRUNCATE tracerag.decl",
		"CREATE TABLE tracerag.more (x int)",
		"CREATE OR REPLACE FUNCTION tracerag.entered() RETURNS int LANGUAGE sql AS 'SELECT 1'",
		"SET ROLE " + owner.Name,
		"SET SESSION AUTHORIZATION " + pay.Name,
	} {
		if strings.Contains(query, "%d") {
			query = fmt.Sprintf(query, admin.project)
		}
		if _, err := conn.Exec(ctx, query); err == nil {
			t.Errorf("a role of another project may do: %s", query)
		}
	}
	if knowledgetest.Dump(t, admin) != before {
		t.Error("something was changed around the store")
	}

	// Also the owner of the tables sees a project only where it was admitted.
	var e *NotAdmittedError
	if _, err := tryOpen(t, owner.URL("project", "search"), Options{}); !errors.As(err, &e) {
		t.Errorf("the owner opens a project that it was not admitted to: %v", err)
	}
	if _, err := admin.pool.Exec(ctx, "SELECT expel('payments', $1)", pay.Name); err != nil {
		t.Fatal(err)
	}
	if list, err := theirs.Repositories(ctx); err != nil || len(list) > 0 {
		t.Errorf("a role that was expelled still sees %v, %v", list, err)
	}
	if _, err := theirs.pool.Exec(ctx, fmt.Sprintf("SELECT FROM tracerag_jobs_%d.river_job", admin.project)); err == nil {
		t.Error("a role that was expelled still sees jobs")
	}
}

func forcedTables(ctx context.Context, s *Store) (list []string, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		list, err = forced(ctx, tx)
		return err
	})
	return list, err
}

// TestUnbound refuses a role for which PostgreSQL does not look at policies.
func TestUnbound(t *testing.T) {
	server := postgrestest.Shared(t)
	owner := server.Database(t)
	_, err := tryOpen(t, server.Superuser(owner.Database()), Options{})
	var e *UnboundError
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "CREATE ROLE") {
		t.Errorf("a superuser: %v", err)
	}
	server.Exec(t, "postgres", "ALTER ROLE "+owner.Name+" BYPASSRLS")
	if _, err := tryOpen(t, owner.URL(), Options{}); !errors.As(err, &e) {
		t.Errorf("a role with BYPASSRLS: %v", err)
	}
}

// TestMachines has two machines share a store. Each knows where its own files are; a clone is one repository,
// wherever it is.
func TestMachines(t *testing.T) {
	ctx := t.Context()
	owner := postgrestest.Shared(t).Database(t)
	clones := t.TempDir()
	here := opened(t, owner.URL(), Options{Host: "here", Clone: func(string) string { return clones + "/clone" }})
	there := opened(t, owner.URL(), Options{Host: "there", Clone: func(string) string { return clones }})
	clone := knowledge.Repository{Name: "clone", URL: "https://example.com/clone"}
	begin := func(s *Store, r knowledge.Repository) int64 {
		t.Helper()
		id, update, err := s.Begin(ctx, r)
		if err == nil {
			err = s.Finish(ctx, id, update, knowledge.Snapshot{}, [16]byte{})
		}
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	app := knowledge.Repository{Name: "app", Root: "/home/me/app"}
	one := begin(here, app)
	if two := begin(there, app); two == one {
		t.Error("directories of two machines are one repository")
	}
	if again := begin(here, app); again != one {
		t.Error("a directory is not known again")
	}
	clone.Root = clones + "/clone"
	one = begin(here, clone)
	clone.Root = clones
	if two := begin(there, clone); two != one {
		t.Error("clones of one URL are two repositories")
	}
	list := func(s *Store) (out string) {
		t.Helper()
		all, err := s.Repositories(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			out += fmt.Sprintf("%s %s %v\n", r.Name, strings.Replace(r.Root, clones, "CLONES", 1), r.Elsewhere)
		}
		return out
	}
	if got, want := list(here), "app /home/me/app false\nclone CLONES/clone true\nme/app there:/home/me/app true\n"; got != want {
		t.Errorf("here:\n%swant\n%s", got, want)
	}
	if got, want := list(there), "app here:/home/me/app true\nclone CLONES false\nme/app /home/me/app false\n"; got != want {
		t.Errorf("there:\n%swant\n%s", got, want)
	}
	// A run is of one machine's directory: the other one does not take it for removed.
	if err := here.AddRun(ctx, knowledge.Run{Trace: "t", Dir: "/traces"}, knowledge.Executed{}); err != nil {
		t.Fatal(err)
	}
	for s, want := range map[*Store]int{here: 1, there: 0} {
		if got, err := s.Traces(ctx, "/traces"); err != nil || len(got) != want {
			t.Errorf("%s has the traces %v, %v", s.where.Host, got, err)
		}
	}
}
