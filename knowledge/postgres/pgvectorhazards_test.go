//go:build unix

package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tracerag/knowledge"
	"tracerag/knowledge/knowledgetest"
	"tracerag/knowledge/postgres/postgrestest"
	"tracerag/knowledge/rows"
)

// TestVectorWhileItGoes has the extension dropped, made in other schemas and closed to the role while stores ask, and while others make
// vectors. Every answer is the one without pgvector, and no question fails.
func TestVectorWhileItGoes(t *testing.T) {
	server := postgrestest.WithVector(t)
	owner := server.Database(t)
	s := opened(t, owner.URL(), Options{})
	r := rand.New(rand.NewPCG(1, 2))
	_, list := functions(t, s, 500)
	of := make([][]float32, len(list))
	for i := range of {
		of[i] = random(r, 8)
	}
	set := func(s *Store, from, to int) error {
		var vectors []knowledge.Vector
		for i, d := range list[from:to] {
			vectors = append(vectors, knowledge.Vector{Tokens: d.Tokens, Comments: d.Comments, Values: of[from+i]})
		}
		return s.SetVectors(t.Context(), "m", vectors)
	}
	if err := set(s, 0, len(list)); err != nil {
		t.Fatal(err)
	}
	to := random(r, 8)
	want, err := s.nearestHere(t.Context(), "m", to, nil, 20)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			s := opened(t, owner.URL(), Options{})
			for ctx.Err() == nil {
				if near, err := s.Nearest(t.Context(), "m", to, nil, 20); err != nil || !reflect.DeepEqual(near, want) {
					t.Errorf("the nearest are %v, %v, want %v", brief(near), err, brief(want))
					return
				}
			}
		})
		wg.Go(func() {
			s := opened(t, owner.URL(), Options{})
			for i := 0; ctx.Err() == nil; i++ {
				left, err := s.Unembedded(t.Context(), "m", nil, 10)
				if err := errors.Join(err, set(s, i*50%500, i*50%500+50)); err != nil || len(left) > 0 {
					t.Errorf("%d functions have no vector, %v", len(left), err)
					return
				}
			}
		})
	}
	for i := range 10 {
		for _, query := range []string{
			fmt.Sprintf("CREATE SCHEMA s%d; GRANT USAGE ON SCHEMA s%[1]d TO PUBLIC; CREATE EXTENSION vector SCHEMA s%[1]d", i),
			"ALTER EXTENSION vector SET SCHEMA public",
			"REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA public FROM PUBLIC",
			"GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO PUBLIC",
			fmt.Sprintf("ALTER EXTENSION vector SET SCHEMA s%d", i),
			[]string{"DROP EXTENSION vector", fmt.Sprintf("DROP SCHEMA s%d CASCADE", i)}[i%2],
		} {
			server.Exec(t, owner.Database(), query)
			time.Sleep(15 * time.Millisecond)
		}
	}
	cancel()
	wg.Wait()
	server.Exec(t, owner.Database(), "CREATE EXTENSION vector")
	if err := s.makeReals(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !compared(t, s, "m", to, nil, 20) {
		t.Error("pgvector does not answer in the end")
	}
}

// TestVectorKilled ends the server at once, as a crash, while vectors are written and brought into the second form. No
// vector that was written is lost, and the next one goes on.
func TestVectorKilled(t *testing.T) {
	ctx := t.Context()
	server := postgrestest.NewWithVector(t)
	owner := server.VectorDatabase(t)
	s := opened(t, owner.URL(), Options{})
	r := rand.New(rand.NewPCG(5, 6))
	_, list := functions(t, s, 1000)
	of := make([][]float32, len(list))
	for i := range of {
		of[i] = random(r, 64)
	}
	setVectors(t, s, "m", list, func(i int) []float32 { return of[i] })
	want := knowledgetest.Dump(t, s)
	to := random(r, 64)
	for i := range 4 {
		if _, err := s.pool.Exec(ctx, "UPDATE vector SET reals = NULL"); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for n, do := range []func() error{
			func() error { return s.makeReals(ctx) },
			func() error {
				_, err := s.Nearest(ctx, "m", to, nil, 20)
				return err
			},
			func() error {
				d := list[r.IntN(len(list))]
				return s.SetVectors(ctx, "other", []knowledge.Vector{{Tokens: d.Tokens, Comments: d.Comments, Values: []float32{1, 2}}})
			},
		} {
			wg.Go(func() {
				for {
					if err := do(); err != nil {
						if !IsUnreachable(err) {
							t.Errorf("%d: %v", n, err)
						}
						return
					}
				}
			})
		}
		time.Sleep(time.Duration(10+20*i) * time.Millisecond)
		server.Stop(true)
		wg.Wait()
		if err := server.Restart(); err != nil {
			t.Fatal(err)
		}
		for range 20 { // until connections of before are noticed
			_, _ = s.Nearest(ctx, "m", to, nil, 1)
		}
		if left, err := s.Unembedded(ctx, "m", nil, 10); err != nil || len(left) > 0 {
			t.Fatalf("%d functions have no vector, %v", len(left), err)
		}
		if !compared(t, s, "m", to, nil, 20) {
			t.Error("pgvector does not answer")
		}
	}
	if _, err := s.pool.Exec(ctx, "DELETE FROM vector WHERE model = 'other'"); err != nil {
		t.Fatal(err)
	}
	if knowledgetest.Dump(t, s) != want {
		t.Error("something was changed")
	}
}

// TestVectorWhileBackup brings vectors into the second form while an older transaction goes on, as a backup. What is done stays in the index
// of what is to do, and is not read again for each hundred.
func TestVectorWhileBackup(t *testing.T) {
	ctx := t.Context()
	server := postgrestest.WithVector(t)
	owner := server.Database(t)
	s, err := tryOpen(t, owner.URL("enable_seqscan", "off"), Options{}) // the table is small
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	const n = 3000
	_, list := functions(t, s, n)
	setVectors(t, s, "m", list, func(int) []float32 { return random(r, 8) })
	server.Exec(t, owner.Database(), "CREATE EXTENSION vector")
	other := opened(t, owner.URL(), Options{})
	backup, err := other.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = backup.Rollback(context.Background()) }()
	if _, err := backup.Exec(ctx, "SELECT FROM vector LIMIT 1"); err != nil {
		t.Fatal(err)
	}
	if err := s.makeReals(ctx); err != nil {
		t.Fatal(err)
	}
	s.Close() // PostgreSQL counts at the latest when a connection ends
	var read int64
	for deadline := time.Now().Add(20 * time.Second); read == 0 && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if err := other.pool.QueryRow(ctx, "SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelid = 'tracerag.vector_unmade'::regclass").Scan(&read); err != nil {
			t.Fatal(err)
		}
	}
	if read < n || read > 4*n {
		t.Errorf("%d vectors are looked up in %d entries", n, read)
	}
	if !compared(t, other, "m", random(r, 8), nil, 20) {
		t.Error("pgvector does not have all vectors")
	}
}

// TestVectorReadOnly has pgvector answer who may only read, and asks nothing of them that they can't do.
func TestVectorReadOnly(t *testing.T) {
	ctx := t.Context()
	server := postgrestest.WithVector(t)
	owner := server.VectorDatabase(t)
	s := opened(t, owner.URL(), Options{})
	r, list := randomVectors(t, s, 300, 8)
	l, err := Parse(owner.URL())
	if err != nil {
		t.Fatal(err)
	}
	reads, err := OpenRead(ctx, l, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reads.Close() })
	may := func(what string) *Store {
		t.Helper()
		member := owner.Other(t)
		if _, err := s.pool.Exec(ctx, "SELECT admit('default', $1)", member.Name); err != nil {
			t.Fatal(err)
		}
		server.Exec(t, owner.Database(), fmt.Sprintf(what, member.Name))
		return opened(t, member.URL(), Options{})
	}
	stores := map[string]*Store{
		"opened for reading":              reads,
		"a role that only reads":          may("ALTER ROLE %s SET default_transaction_read_only = on"),
		"a role that may change no table": may("REVOKE INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA tracerag FROM %s"),
	}
	is := func(want bool) {
		t.Helper()
		for who, other := range stores {
			if left, err := other.Unembedded(ctx, "m", nil, 10); err != nil || len(left) > 0 {
				t.Errorf("%s: %d functions have no vector, %v", who, len(left), err)
			}
			if done := compared(t, other, "m", random(r, 8), nil, 20); done != want {
				t.Errorf("%s: pgvector answers: %v, want %v", who, done, want)
			}
		}
	}
	is(true)
	if _, err := s.pool.Exec(ctx, "UPDATE vector SET reals = NULL WHERE tokens = $1", list[3].Tokens[:]); err != nil {
		t.Fatal(err)
	}
	is(false)
	if err := s.makeReals(ctx); err != nil {
		t.Fatal(err)
	}
	is(true)
}

// TestVectorManyProjects has 200 projects with the same functions, whose vectors are in another order in each. Each has its own nearest.
func TestVectorManyProjects(t *testing.T) {
	ctx := t.Context()
	server := postgrestest.WithVector(t)
	owner := server.VectorDatabase(t)
	s := opened(t, owner.URL(), Options{})
	const projects, functions = 200, 50
	roles := map[string]*postgrestest.Role{"p1": owner.Other(t), "p99": owner.Other(t), "p200": owner.Other(t)}
	for project, role := range roles {
		if _, err := s.pool.Exec(ctx, "SELECT admit($1, $2)", project, role.Name); err != nil {
			t.Fatal(err)
		}
	}
	server.Exec(t, owner.Database(), fmt.Sprintf("INSERT INTO tracerag.project (name) SELECT 'p' || n FROM generate_series(1, %d) n ON CONFLICT DO NOTHING", projects))
	server.Exec(t, owner.Database(), fmt.Sprintf(`SET search_path = tracerag;
		INSERT INTO repository (project, name, host, root, url) SELECT id, 'r', 'h', '/r', '' FROM project WHERE name <> 'default';
		INSERT INTO package (project, repository, path) SELECT project, id, 'example.com/r' FROM repository;
		INSERT INTO file (project, repository, path, base, package, directory, module, clause, class, platform, build, broken, imports, problem, size, mtime, hash, blob, calls)
			SELECT project, repository, 'a.go', 'a.go', id, path, 0, 'p', 0, '', '', 0, '', '', 1, 1, '', '', '' FROM package;
		INSERT INTO decl (project, file, package, unit, kind, name, short, nth, start, "end", doc_start, doc_end, line, end_line, head, broken)
			SELECT project, id, package, repository << 40 | n, 1, 'F' || n, 'f' || n, 1, n, n + 1, 0, 0, n, n + 1, 0, 0 FROM file, generate_series(1, %d) n;
		INSERT INTO unit (id, project, package, tokens, comments, names) SELECT unit, project, package, decode(md5(name), 'hex'), decode(md5(''), 'hex'), '' FROM decl`, functions))
	r := rand.New(rand.NewPCG(1, 2))
	var numbers [][]byte
	var texts []string
	for range functions {
		numbers = append(numbers, rows.Numbers(random(r, 8)))
		texts = append(texts, reals(numbers[len(numbers)-1]))
	}
	conn, err := pgx.Connect(ctx, server.Superuser(owner.Database()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, `INSERT INTO tracerag.vector (project, tokens, comments, model, numbers, reals)
		SELECT u.project, u.tokens, u.comments, 'm', x.numbers, x.reals::real[] FROM tracerag.unit u JOIN unnest($1::bytea[], $2::text[]) WITH ORDINALITY x (numbers, reals, n)
		ON (u.id + 7 * u.project) % $3::int = x.n - 1`, numbers, texts, functions); err != nil {
		t.Fatal(err)
	}
	server.Exec(t, owner.Database(), "ANALYZE")
	to := random(r, 8)
	for project, role := range roles {
		s := opened(t, role.URL("project", project), Options{})
		if !compared(t, s, "m", to, nil, 10) {
			t.Errorf("%s: pgvector does not answer", project)
		}
		near, err := s.Nearest(ctx, "m", to, nil, 2*functions)
		if err != nil || len(near) != functions {
			t.Errorf("%s: %d functions, %v", project, len(near), err)
		}
	}
}
