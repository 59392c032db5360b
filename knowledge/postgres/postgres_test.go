//go:build unix

package postgres

import (
	"context"
	"errors"
	"os"
	"strconv"
	"testing"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/knowledge/knowledgetest"
	"tracerag/knowledge/postgres/postgrestest"
	"tracerag/knowledge/rows"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Run(m)) }

func opened(t testing.TB, url string, o Options) *Store {
	t.Helper()
	s, err := tryOpen(t, url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func tryOpen(t testing.TB, url string, o Options) (*Store, error) {
	t.Helper()
	l, err := Parse(url)
	if err != nil {
		return nil, err
	}
	return Open(t.Context(), l, o)
}

// TestStore holds the store against what every one promises: each test in a project of its own, of one
// database.
func TestStore(t *testing.T) {
	owner := postgrestest.Shared(t).Database(t)
	n := 0
	knowledgetest.TestStore(t, func(t testing.TB) knowledgetest.Place {
		n++
		url := owner.URL("project", t.Name()+string(rune('a'+n)))
		return func() (knowledge.Store, error) { return tryOpen(t, url, Options{}) }
	})
}

// TestAnalyze says that the planner knows how large tables are as soon as something large was indexed, and that who does
// not own them indexes all the same.
func TestAnalyze(t *testing.T) {
	owner := postgrestest.Shared(t).Database(t)
	s := opened(t, owner.URL(), Options{})
	names := make([]string, 3000)
	for i := range names {
		names[i] = "F" + strconv.Itoa(i)
	}
	counted := func() (rows float64) {
		t.Helper()
		if err := s.pool.QueryRow(t.Context(), "SELECT reltuples FROM pg_class WHERE oid = 'tracerag.decl'::regclass").Scan(&rows); err != nil {
			t.Fatal(err)
		}
		return rows
	}
	member := owner.Other(t)
	if _, err := s.pool.Exec(t.Context(), "SELECT admit('default', $1)", member.Name); err != nil {
		t.Fatal(err)
	}
	others := opened(t, member.URL(), Options{})
	knowledgetest.Fill(t, others, "b.go", names...)
	knowledgetest.Fill(t, s, "a.go", names...)
	if n := counted(); n < 3000 {
		t.Errorf("%v rows are counted", n)
	}
}

// TestCopyIsWhole interrupts a copy while it reads texts: nothing of it is there, and it can be made again.
// The pools are as small as their URLs can ask for: texts are read while a snapshot holds a connection.
func TestCopyIsWhole(t *testing.T) {
	owner := postgrestest.Shared(t).Database(t)
	from := opened(t, owner.URL("project", "copied", "pool_max_conns", "1"), Options{Host: "one"})
	to := opened(t, owner.URL("project", "target", "pool_max_conns", "1"), Options{Host: "two"})
	knowledgetest.Full(t, from, "word")
	empty := knowledgetest.Dump(t, to)
	ctx, cancel := context.WithCancel(t.Context())
	err := rows.Copy(ctx, from, to.WithTexts(func(string, string, code.Hash) []byte {
		cancel()
		return []byte("text")
	}), nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted copy: %v", err)
	}
	if got := knowledgetest.Dump(t, to); got != empty {
		t.Errorf("an interrupted copy left\n%s", got)
	}
	list, err := from.Repositories(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if err := rows.Copy(t.Context(), from, to.WithTexts(func(repository, path string, _ code.Hash) []byte {
		if repository != list[0].Name {
			t.Errorf("a text of %s is asked for, want %s", repository, list[0].Name)
		}
		text, err := from.Text(t.Context(), list[0].ID, path)
		if err != nil {
			t.Error(err)
		}
		return text
	}), nil); err != nil {
		t.Fatal(err)
	}
	if got, want := knowledgetest.Dump(t, to), knowledgetest.Dump(t, from); got != want {
		t.Errorf("the copy is\n%s\nwant\n%s", got, want)
	}
	copies, err := to.Repositories(t.Context())
	if err != nil || len(copies) != 1 {
		t.Fatal(copies, err)
	}
	text, err := to.Text(t.Context(), copies[0].ID, "a.go")
	want, err2 := from.Text(t.Context(), list[0].ID, "a.go")
	if err := errors.Join(err, err2); err != nil || string(text) != string(want) || len(text) == 0 {
		t.Errorf("the text is %q, %v, want %q", text, err, want)
	}
}
