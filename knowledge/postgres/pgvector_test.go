//go:build unix

package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tracerag/knowledge"
	"tracerag/knowledge/knowledgetest"
	"tracerag/knowledge/postgres/postgrestest"
	"tracerag/knowledge/rows"
)

// TestStoreWithVector is TestStore in a database that has pgvector.
func TestStoreWithVector(t *testing.T) {
	owner := postgrestest.WithVector(t).VectorDatabase(t)
	n := 0
	knowledgetest.TestStore(t, func(t testing.TB) knowledgetest.Place {
		n++
		url := owner.URL("project", t.Name()+string(rune('a'+n)))
		return func() (knowledge.Store, error) { return tryOpen(t, url, Options{}) }
	})
}

// functions fills a project with functions, and returns them. They are those of the repository's only file.
func functions(t testing.TB, s *Store, n int) (repository int64, list []knowledge.Decl) {
	t.Helper()
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("F%05d", i)
	}
	repository = knowledgetest.Fill(t, s, "a.go", names...)
	if _, err := s.pool.Exec(t.Context(), "ANALYZE"); err != nil {
		t.Fatal(err)
	}
	list, err := s.Unembedded(t.Context(), "none", []int64{repository}, n)
	if err != nil || len(list) != n {
		t.Fatal(len(list), err)
	}
	return repository, list
}

func setVectors(t testing.TB, s *Store, model string, list []knowledge.Decl, values func(i int) []float32) {
	t.Helper()
	var vectors []knowledge.Vector
	for i, d := range list {
		vectors = append(vectors, knowledge.Vector{Tokens: d.Tokens, Comments: d.Comments, Values: values(i)})
	}
	if err := s.SetVectors(t.Context(), model, vectors); err != nil {
		t.Fatal(err)
	}
}

// randomVectors gives n functions vectors of model "m".
func randomVectors(t testing.TB, s *Store, n, length int) (*rand.Rand, []knowledge.Decl) {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	_, list := functions(t, s, n)
	setVectors(t, s, "m", list, func(int) []float32 { return random(r, length) })
	return r, list
}

// random returns numbers around those of one of some groups, each time others.
func random(r *rand.Rand, length int) []float32 {
	group := rand.New(rand.NewPCG(uint64(r.IntN(5)), 1))
	list := make([]float32, length)
	for i := range list {
		list[i] = float32(group.NormFloat64() + .5*r.NormFloat64())
	}
	return list
}

// compared asks with pgvector and without, which has to be the same to the last bit, and says whether pgvector answered.
func compared(t testing.TB, s *Store, model string, to []float32, in []int64, limit int) (done bool) {
	t.Helper()
	there, done, err := s.nearestThere(t.Context(), model, to, in, limit)
	if err != nil {
		t.Fatal(err)
	}
	here, err := s.nearestHere(t.Context(), model, to, in, limit)
	if err != nil {
		t.Fatal(err)
	}
	if done && !slices.EqualFunc(there, here, func(a, b knowledge.Near) bool { return reflect.DeepEqual(a, b) }) {
		t.Errorf("%s, %d numbers, the nearest %d: pgvector finds\n%v\nwant\n%v", model, len(to), limit, brief(there), brief(here))
	}
	if all, err := s.Nearest(t.Context(), model, to, in, limit); err != nil || !reflect.DeepEqual(all, here) {
		t.Errorf("%s, %d numbers, the nearest %d are %v, %v, want %v", model, len(to), limit, brief(all), err, brief(here))
	}
	return done
}

func brief(list []knowledge.Near) (out []string) {
	for _, n := range list {
		out = append(out, fmt.Sprintf("%s %.9f", n.Name, n.Cosine))
	}
	return out
}

// TestNearestThere says when pgvector answers, and that the answers are those of the store's own arithmetic: for vectors of
// many lengths, in some repositories or all, and where several are equally near.
func TestNearestThere(t *testing.T) {
	s := opened(t, postgrestest.WithVector(t).VectorDatabase(t).URL(), Options{})
	r := rand.New(rand.NewPCG(1, 2))
	in, list := functions(t, s, 1000)
	for _, length := range []int{1, 2, 3, 17, 384, 1536, 2001, 3072, 16000} {
		model := fmt.Sprint("m", length)
		of := list[:max(200, 400_000/length)%1001]
		setVectors(t, s, model, of, func(int) []float32 { return random(r, length) })
		const asked = 1
		done := 0
		for range asked {
			to := random(r, length)
			for _, repositories := range [][]int64{nil, {in, in + 1}, {in + 1}} {
				for _, limit := range []int{0, 1, 100} {
					if compared(t, s, model, to, repositories, limit) {
						done++
					}
				}
			}
		}
		if length > 2 && done != 9*asked { // the others have two directions, or hundreds that are the same but for rounding
			t.Errorf("of %d numbers: pgvector answered %d questions of %d", length, done, 9*asked)
		}
	}
	setVectors(t, s, "equal", list, func(i int) []float32 { return []float32{1, float32(i / 20)} })
	if !compared(t, s, "equal", []float32{1, 0}, nil, 30) {
		t.Error("pgvector can't say which are nearest of groups of 20")
	}
	setVectors(t, s, "same", list, func(int) []float32 { return []float32{1, 1} })
	if compared(t, s, "same", []float32{1, 0}, nil, 30) {
		t.Error("pgvector says which are nearest of 1,000 that are the same")
	}
	setVectors(t, s, "16001", list[:40], func(int) []float32 { return random(r, 16001) })
	if compared(t, s, "16001", random(r, 16001), nil, 3) {
		t.Error("pgvector compares vectors of 16,001 numbers")
	}
	// Numbers that differ by less than pgvector's arithmetic can tell.
	setVectors(t, s, "close", list, func(i int) []float32 {
		v := make([]float32, 384)
		for k := range v {
			v[k] = 1 + float32((i*7919+k*104729)%1000)*1e-7
		}
		return v
	})
	compared(t, s, "close", slices.Repeat([]float32{1}, 384), nil, 10)
}

// TestNearestAtOnce asks more questions at once than there are connections: each gets its answer.
func TestNearestAtOnce(t *testing.T) {
	s := opened(t, postgrestest.WithVector(t).VectorDatabase(t).URL("pool_max_conns", "1"), Options{})
	r, _ := randomVectors(t, s, 200, 8)
	to := random(r, 8)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			for range 5 {
				if near, done, err := s.nearestThere(ctx, "m", to, nil, 10); err != nil || !done || len(near) != 10 {
					t.Errorf("%d functions, %v, %v", len(near), done, err)
				}
			}
		})
	}
	wg.Wait()
}

// TestVectorComesAndGoes has the extension dropped, made again, and moved under open stores. They answer all
// the while, and what was written in between is given to pgvector by the next who makes vectors.
func TestVectorComesAndGoes(t *testing.T) {
	ctx := t.Context()
	server := postgrestest.NewWithVector(t)
	owner := server.Database(t)
	sql := func(query string) { t.Helper(); server.Exec(t, owner.Database(), query) }
	s, other := opened(t, owner.URL(), Options{}), opened(t, owner.URL(), Options{})
	r := rand.New(rand.NewPCG(3, 4))
	_, list := functions(t, s, 700)
	to := random(r, 8)
	is := func(what string, want bool) {
		t.Helper()
		for range 2 {
			for _, s := range []*Store{s, other} {
				if done := compared(t, s, "m", to, nil, 20); done != want {
					t.Fatalf("%s: pgvector answers: %v, want %v", what, done, want)
				}
			}
		}
	}
	before := func() {
		t.Helper()
		if left, err := s.Unembedded(ctx, "m", nil, 10); err != nil || len(left) > 0 {
			t.Fatalf("%v, %v", left, err)
		}
	}
	setVectors(t, s, "m", list, func(int) []float32 { return random(r, 8) })
	want := knowledgetest.Dump(t, s)
	is("it is not installed", false)
	before()
	sql("CREATE EXTENSION vector")
	is("it is installed, and has no vectors", false)
	setVectors(t, s, "other", list[:1], func(int) []float32 { return random(r, 8) })
	is("it has one of another model", false)
	before()
	is("it has all vectors", true)
	sql("DROP EXTENSION vector")
	is("it is dropped", false)
	setVectors(t, s, "m", list[10:11], func(int) []float32 { return random(r, 8) })
	sql("CREATE SCHEMA \"Ext\"\"ensions\"; GRANT USAGE ON SCHEMA \"Ext\"\"ensions\" TO PUBLIC; CREATE EXTENSION vector SCHEMA \"Ext\"\"ensions\"")
	is("one was written without it", false)
	before()
	is("it is in another schema", true)
	sql("ALTER EXTENSION vector SET SCHEMA public")
	is("it was moved", true)
	sql("CREATE SCHEMA closed; ALTER EXTENSION vector SET SCHEMA closed")
	is("it is in a schema that the role may not use", false)
	sql("GRANT USAGE ON SCHEMA closed TO " + owner.Name)
	is("the role may use its schema", true)
	sql("REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA closed FROM PUBLIC")
	is("the role may not use its functions", false)
	sql("DROP EXTENSION vector; CREATE EXTENSION vector")
	is("it was made anew", true)

	// An older tracerag, which was opened before the tables had the second form, changes a vector.
	changed := rows.Numbers(to)
	if _, err := other.pool.Exec(ctx, "UPDATE vector SET numbers = $1 WHERE tokens = $2 AND model = 'm'", changed, list[5].Tokens[:]); err != nil {
		t.Fatal(err)
	}
	is("one was changed in its first form alone", false)
	before()
	is("it was made again", true)
	if near, err := s.Nearest(ctx, "m", to, nil, 1); err != nil || near[0].ID != list[5].ID {
		t.Errorf("the nearest is %v, %v", brief(near), err)
	}
	setVectors(t, s, "m", list[5:6], func(int) []float32 { return random(r, 8) })
	is("one was written again", true)

	server.Stop(true)
	var down *UnreachableError
	if _, err := s.Nearest(ctx, "m", to, nil, 20); !errors.As(err, &down) {
		t.Errorf("the server is down: %v", err)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	for range 20 { // until connections of before are noticed
		for _, s := range []*Store{s, other} {
			_, _ = s.Nearest(ctx, "m", to, nil, 20)
		}
	}
	is("after a restart", true)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Nearest(ended, "m", to, nil, 20); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if got := knowledgetest.Dump(t, s); strings.Count(got, "\n") != strings.Count(want, "\n")+1 { // one of model "other"
		t.Error("something was lost")
	}
}

// TestVectorChangedMeanwhile changes a vector while all are brought into the second form: it is left out, as it may not be that of before.
func TestVectorChangedMeanwhile(t *testing.T) {
	ctx := t.Context()
	s := opened(t, postgrestest.WithVector(t).VectorDatabase(t).URL(), Options{})
	r, list := randomVectors(t, s, 5, 8)
	if _, err := s.pool.Exec(ctx, "UPDATE vector SET reals = NULL"); err != nil {
		t.Fatal(err)
	}
	now := random(r, 8)
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, "UPDATE vector SET numbers = $1 WHERE tokens = $2", rows.Numbers(now), list[3].Tokens[:]); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.makeReals(ctx), tx.Commit(ctx)); err != nil {
		t.Fatal(err)
	}
	if compared(t, s, "m", now, nil, 2) {
		t.Error("pgvector has a vector of before")
	}
	if err := s.makeReals(ctx); err != nil {
		t.Fatal(err)
	}
	if !compared(t, s, "m", now, nil, 2) {
		t.Error("pgvector does not have all vectors")
	}
}

// TestVectorDamaged has rows in a project that are no vectors of length 1, as nobody but an SQL client writes them. The answers are the same.
func TestVectorDamaged(t *testing.T) {
	ctx := t.Context()
	s := opened(t, postgrestest.WithVector(t).VectorDatabase(t).URL(), Options{})
	_, list := randomVectors(t, s, 300, 2)
	for i, numbers := range []string{"0000c07f0000803f", "0000807f00000000", "ffff7f7fffff7f7f", "000080bf000080bf", "00", "", "0000803f", "0000803f00000000aa"} {
		if _, err := s.pool.Exec(ctx, "UPDATE vector SET numbers = decode($1, 'hex') WHERE tokens = $2", numbers, list[i].Tokens[:]); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.makeReals(ctx); err != nil {
		t.Fatal(err)
	}
	if compared(t, s, "m", []float32{1, 0}, nil, 20) {
		t.Error("pgvector answers, and lacks some")
	}
	if !compared(t, s, "m", []float32{1}, nil, 20) || !compared(t, s, "m", []float32{1, 2, 3, 4}, nil, 20) {
		t.Error("pgvector does not answer what the damaged ones have no part in")
	}
	var unmade, none int
	if err := s.pool.QueryRow(ctx, "SELECT count(*) FILTER (WHERE reals IS NULL), count(*) FILTER (WHERE reals = '{}') FROM vector").Scan(&unmade, &none); err != nil || unmade > 0 || none != 7 { // one is of one number
		t.Errorf("%d are not made, %d are none, %v", unmade, none, err)
	}
}

// TestVectorMigration opens tables of version 11 that have vectors: several processes at once, with pgvector and without.
func TestVectorMigration(t *testing.T) {
	ctx := t.Context()
	server := postgrestest.WithVector(t)
	for _, installed := range []bool{true, false} {
		owner := server.Database(t)
		if installed {
			server.Exec(t, owner.Database(), "CREATE EXTENSION vector")
		}
		l, err := Parse(owner.URL("project", "one"))
		if err != nil {
			t.Fatal(err)
		}
		older, err := open(ctx, l, Options{}, migrations[:11], false)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { older.Close() })
		r := rand.New(rand.NewPCG(7, 8))
		repository := knowledgetest.Fill(t, older, "a.go", "A", "B", "C")
		insert := "INSERT INTO vector (project, model, tokens, comments, numbers) SELECT $1, 'm', tokens, comments, $2 FROM unit ON CONFLICT (project, tokens, comments, model) DO UPDATE SET numbers = excluded.numbers"
		if _, err := older.pool.Exec(ctx, insert, older.project, rows.Numbers(random(r, 8))); err != nil {
			t.Fatal(err)
		}
		before := knowledgetest.Dump(t, older)
		member := owner.Other(t)
		if _, err := older.pool.Exec(ctx, "SELECT admit('one', $1)", member.Name); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if s, err := tryOpen(t, owner.URL("project", "one"), Options{}); err != nil {
					t.Error(err)
				} else {
					s.Close()
				}
			})
		}
		wg.Wait()
		s := opened(t, member.URL("project", "one"), Options{})
		if got := knowledgetest.Dump(t, s); got != before {
			t.Errorf("the migration changed what was there:\n%s\nwant\n%s", got, before)
		}
		if compared(t, s, "m", random(r, 8), nil, 2) {
			t.Error("pgvector has vectors that nobody gave it")
		}
		for range 4 { // at once, by a role that does not own the tables
			wg.Go(func() {
				if left, err := s.Unembedded(ctx, "m", nil, 10); err != nil || len(left) > 0 {
					t.Errorf("%v, %v", left, err)
				}
			})
		}
		wg.Wait()
		if done := compared(t, s, "m", random(r, 8), []int64{repository}, 2); done != installed {
			t.Errorf("pgvector answers: %v, want %v", done, installed)
		}
		// The older one goes on, and can't leave pgvector something that is not so any more.
		if _, err := older.pool.Exec(ctx, insert, older.project, rows.Numbers(random(r, 8))); err != nil {
			t.Fatal(err)
		}
		if compared(t, s, "m", random(r, 8), nil, 2) {
			t.Error("pgvector has vectors of before")
		}
	}
}
