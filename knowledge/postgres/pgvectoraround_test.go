//go:build unix

package postgres

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tracerag/knowledge"
	"tracerag/knowledge/knowledgetest"
	"tracerag/knowledge/postgres/postgrestest"
	"tracerag/knowledge/rows"
	"tracerag/knowledge/sqlite"
)

// TestVectorApart has a role ask for the vectors of another project in every way that pgvector adds: by the numbers of its repositories,
// by what its functions, which are not leakproof, say of rows, and by what the planner knows.
func TestVectorApart(t *testing.T) {
	ctx := t.Context()
	server := postgrestest.WithVector(t)
	owner := server.VectorDatabase(t)
	theirs := opened(t, owner.URL("project", "payments"), Options{})
	r := rand.New(rand.NewPCG(1, 2))
	repository, list := functions(t, theirs, 400)
	setVectors(t, theirs, "m", list, func(int) []float32 { return random(r, 8) })
	before := knowledgetest.Dump(t, theirs)
	search := owner.Other(t)
	if _, err := theirs.pool.Exec(ctx, "SELECT admit('search', $1)", search.Name); err != nil {
		t.Fatal(err)
	}
	mine := opened(t, search.URL("project", "search"), Options{})
	own, few := functions(t, mine, 3)
	setVectors(t, mine, "m", few, func(int) []float32 { return random(r, 8) })
	for _, in := range [][]int64{{repository}, {repository, own}, nil} {
		near, done, err := mine.nearestThere(ctx, "m", random(r, 8), in, 100)
		if want := 3 * (len(in) + 1) % 6; err != nil || !done || len(near) != want && (in == nil || in[0] != repository || len(near) > 3) {
			t.Errorf("in %v: %d functions, %v, %v", in, len(near), done, err)
		}
		for _, n := range near {
			if n.Repository != own {
				t.Errorf("in %v: %+v is of another project", in, n)
			}
		}
	}

	// A row of payments on which each function of pgvector fails. Nobody but payments ever gets so far.
	if _, err := theirs.pool.Exec(ctx, "UPDATE vector SET reals = '{NaN}'"); err != nil {
		t.Fatal(err)
	}
	if _, err := theirs.pool.Exec(ctx, "SELECT reals::public.vector FROM vector"); err == nil {
		t.Fatal("pgvector takes a vector that is none: the test says nothing")
	}
	conn, err := pgx.Connect(ctx, search.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "SELECT set_config('tracerag.project', 'search', false)"); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{
		"SELECT count(*) FROM tracerag.vector WHERE reals::public.vector OPERATOR(public.<#>) '[1,0,0,0,0,0,0,0]' < 2",
		"SELECT count(*) FROM (SELECT FROM tracerag.vector ORDER BY reals::public.vector OPERATOR(public.<->) '[1,0,0,0,0,0,0,0]' LIMIT 9) x",
		"SELECT count(*) FROM tracerag.vector WHERE public.vector_norm(reals::public.vector) > 0",
		"SELECT count(*) FROM tracerag.vector v JOIN (VALUES ('[1,0,0,0,0,0,0,0]'::public.vector)) q (x) ON v.reals::public.vector OPERATOR(public.<=>) q.x < 3",
	} {
		var n int
		if err := conn.QueryRow(ctx, query).Scan(&n); err != nil || n != 3 {
			t.Errorf("%s: %d rows, %v", query, n, err)
		}
	}
	// The planner knows no value of the second form, nor how long they are.
	server.Exec(t, owner.Database(), "ANALYZE tracerag.vector")
	known := "SELECT string_agg(a.attname, ' ' ORDER BY a.attnum) FROM pg_statistic s JOIN pg_attribute a ON a.attrelid = s.starelid AND a.attnum = s.staattnum WHERE s.starelid = 'tracerag.vector'::regclass"
	admin, err := pgx.Connect(ctx, server.Superuser(owner.Database()))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(ctx)
	var columns string
	if err := admin.QueryRow(ctx, known).Scan(&columns); err != nil || columns != "project tokens comments model" {
		t.Errorf("the planner knows of the columns %s, %v", columns, err)
	}
	if _, err := conn.Exec(ctx, "CREATE INDEX mine ON tracerag.vector (reals)"); err == nil {
		t.Error("a role of another project makes an index of all vectors")
	}
	if _, err := theirs.pool.Exec(ctx, "UPDATE vector SET reals = NULL"); err != nil {
		t.Fatal(err)
	}
	if knowledgetest.Dump(t, theirs) != before {
		t.Error("something was changed")
	}
}

// TestVectorInOurSchema has pgvector in the schema tracerag before there are tables, whose vector can't be made beside it. The error says what to do.
func TestVectorInOurSchema(t *testing.T) {
	server := postgrestest.WithVector(t)
	owner := server.Database(t)
	server.Exec(t, owner.Database(), fmt.Sprintf("CREATE SCHEMA tracerag AUTHORIZATION %s; CREATE EXTENSION vector SCHEMA tracerag", owner.Name))
	const move = "ALTER EXTENSION vector SET SCHEMA public"
	if _, err := tryOpen(t, owner.URL(), Options{}); err == nil || !strings.Contains(err.Error(), move) {
		t.Errorf("the error is %v", err)
	}
	server.Exec(t, owner.Database(), move)
	s := opened(t, owner.URL(), Options{})
	r, _ := randomVectors(t, s, 3, 8)
	if !compared(t, s, "m", random(r, 8), nil, 2) {
		t.Error("pgvector does not answer")
	}
}

// TestVectorBackup restores a backup on the same server, and on one that may not have pgvector. All vectors are there.
func TestVectorBackup(t *testing.T) {
	server := postgrestest.WithVector(t)
	owner := server.VectorDatabase(t)
	s := opened(t, owner.URL(), Options{})
	r, _ := randomVectors(t, s, 200, 8)
	want := knowledgetest.Dump(t, s)
	// Programs run in the server's directory, and as its user.
	if out, err := server.Program("pg_dump", "-Fc", "--file", "dump", "--dbname", server.Superuser(owner.Database())); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for what, to := range map[string]*postgrestest.Server{"the same server": server, "another server": postgrestest.Shared(t)} {
		restored := to.Database(t)
		if to != server {
			to.Exec(t, "postgres", "CREATE ROLE "+owner.Name)
			to.Exec(t, "postgres", fmt.Sprintf("GRANT %s TO %s", owner.Name, restored.Name))
		} else {
			server.Exec(t, "postgres", fmt.Sprintf("GRANT %s TO %s", owner.Name, restored.Name))
		}
		out, err := server.Program("pg_restore", "--dbname", to.Superuser(restored.Database()), "dump")
		if err != nil && to == server {
			t.Errorf("on %s: %v\n%s", what, err, out)
		}
		again := opened(t, restored.URL(), Options{})
		if got := knowledgetest.Dump(t, again); got != want {
			t.Errorf("on %s are restored %d lines of %d:\n%s", what, strings.Count(got, "\n"), strings.Count(want, "\n"), out)
		}
		if done := compared(t, again, "m", random(r, 8), nil, 20); !done && to == server {
			t.Errorf("on %s: pgvector does not answer", what)
		}
	}
}

// TestVectorCopied copies vectors from a file into a database that has pgvector, into one that does not, and back: all are equal, and pgvector
// has what was copied.
func TestVectorCopied(t *testing.T) {
	ctx := t.Context()
	server := postgrestest.WithVector(t)
	r := rand.New(rand.NewPCG(1, 2))
	file := func() *sqlite.Store {
		t.Helper()
		s, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "knowledge.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	from := file()
	names := make([]string, 1200)
	for i := range names {
		names[i] = fmt.Sprint("F", i)
	}
	id := knowledgetest.Fill(t, from, "a.go", names...)
	list, err := from.Unembedded(ctx, "m", nil, len(names))
	if err != nil {
		t.Fatal(err)
	}
	var vectors []knowledge.Vector
	for _, d := range list {
		vectors = append(vectors, knowledge.Vector{Tokens: d.Tokens, Comments: d.Comments, Values: random(r, 8)})
	}
	if err := errors.Join(from.SetVectors(ctx, "m", vectors), from.SetVectors(ctx, "n", vectors[:7])); err != nil {
		t.Fatal(err)
	}
	want, to := knowledgetest.Dump(t, from), random(r, 8)
	answer := func(s knowledge.Store, in int64) string {
		t.Helper()
		near, err := s.Nearest(ctx, "m", to, []int64{in}, 30)
		if err != nil || len(near) != 30 {
			t.Fatal(len(near), err)
		}
		return strings.Join(brief(near), "\n")
	}
	with, without := opened(t, server.VectorDatabase(t).URL(), Options{}), opened(t, server.Database(t).URL(), Options{})
	back := file()
	var source rows.Copied = from
	for _, s := range []interface {
		knowledge.Store
		rows.Copied
	}{with, without, back} {
		if err := rows.Copy(ctx, source, s, nil); err != nil {
			t.Fatal(err)
		}
		if got := knowledgetest.Dump(t, s); got != want {
			t.Error("the copy is not what was copied")
		}
		all, err := s.Repositories(ctx)
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		if got, want := answer(s, all[0].ID), answer(from, id); got != want {
			t.Errorf("the copy answers\n%s\nwant\n%s", got, want)
		}
		source = s
	}
	if !compared(t, with, "m", to, nil, 30) || !compared(t, with, "n", to, nil, 3) {
		t.Error("pgvector does not have what was copied")
	}
}
