//go:build unix

package postgres

import (
	"os"
	"testing"

	"tracerag/knowledge"
	"tracerag/knowledge/knowledgetest"
	"tracerag/knowledge/postgres/postgrestest"
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
