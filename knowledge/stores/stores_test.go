//go:build unix

package stores_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tracerag/code/words"
	"tracerag/knowledge"
	"tracerag/knowledge/index"
	"tracerag/knowledge/knowledgetest"
	"tracerag/knowledge/postgres/postgrestest"
	"tracerag/knowledge/stores"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Run(m)) }

func at(t testing.TB, place string) *stores.Place {
	t.Helper()
	p, err := stores.At(place, "")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func open(t testing.TB, p *stores.Place) knowledge.Store {
	t.Helper()
	s, err := p.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestCopy copies a knowledge base with a real repository from a file into a database, from there into another
// project, and back into a file. All are equal, and answer equally; the last one is brought up to date as
// the first one.
func TestCopy(t *testing.T) {
	ctx := t.Context()
	owner := postgrestest.Shared(t).Database(t)
	file := func() *stores.Place { return at(t, filepath.Join(t.TempDir(), "knowledge.db")) }
	project := func(name string) *stores.Place { return at(t, owner.URL("project", name)) }
	open(t, project("first")) // so that numbers of rows and repositories differ
	knowledgetest.Full(t, open(t, project("first")), "other")

	first := file()
	s := open(t, first)
	knowledgetest.Full(t, s, "small")
	knowledgetest.Full(t, s, "another")
	dir, err := filepath.Abs("..") // package knowledge and those below it
	if err != nil {
		t.Fatal(err)
	}
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(copied, "go.mod"), []byte("module tracerag\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := index.Update(ctx, s, copied, index.Options{Name: "knowledge"}); err != nil {
		t.Fatal(err)
	}
	want := knowledgetest.Dump(t, s)
	if n := strings.Count(want, "\n"); n < 2000 {
		t.Fatalf("the dump has only %d lines", n)
	}
	from := first
	for _, to := range []*stores.Place{project("one"), project("two"), file()} {
		if err := stores.Copy(ctx, from, to, nil); err != nil {
			t.Fatalf("%s to %s: %v", from, to, err)
		}
		c := open(t, to)
		if got := knowledgetest.Dump(t, c); got != want {
			t.Fatalf("the copy in %s differs:\n%s", to, firstDifference(got, want))
		}
		if got, want := answers(t, c), answers(t, s); got != want {
			t.Errorf("the copy in %s answers otherwise:\n%s", to, firstDifference(got, want))
		}
		var e *stores.NotEmptyError
		if err := stores.Copy(ctx, from, to, nil); !errors.As(err, &e) || strings.Contains(err.Error(), owner.Password) {
			t.Errorf("copying again into %s: %v", to, err)
		}
		if r, err := index.Update(ctx, c, copied, index.Options{}); err != nil || r.Parsed > 0 {
			t.Errorf("nothing changed, and an update of the copy parsed %+v, %v", r, err)
		}
		from = to
	}
	if err := os.Remove(filepath.Join(copied, "store.go")); err != nil {
		t.Fatal(err)
	}
	last := open(t, from)
	for _, s := range []knowledge.Store{s, last} {
		if r, err := index.Update(ctx, s, copied, index.Options{}); err != nil || r.Removed != 1 {
			t.Errorf("an update: %+v, %v", r, err)
		}
	}
	if knowledgetest.Dump(t, last) != knowledgetest.Dump(t, s) || knowledgetest.Dump(t, s) == want {
		t.Error("after an update the copy and the first one differ")
	}
	if err := stores.Copy(ctx, project("nothing"), file(), nil); !errors.Is(err, knowledge.ErrNotIndexed) {
		t.Errorf("copying from what does not exist: %v", err)
	}
}

// answers are those to all kinds of questions, without numbers of rows.
func answers(t *testing.T, s knowledge.Store) string {
	t.Helper()
	ctx := t.Context()
	var b strings.Builder
	decl := func(d *knowledge.Decl) string {
		return fmt.Sprintf("%s %s %s %s:%d %s %v", d.Module, d.Package, d.PackageName, d.Path, d.Line, d.Symbol(), d.Names)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	all, err := s.Repositories(ctx)
	check(err)
	for _, r := range all {
		fmt.Fprintln(&b, r.Name, r.URL, r.Snapshot.Commit, r.Modules, r.Incomplete, r.Calls)
		n, err := s.Counts(ctx, r.ID)
		check(err)
		h, err := s.History(ctx, r.ID, 5)
		check(err)
		fmt.Fprintln(&b, n, h)
	}
	for _, text := range []string{"who waits for the lock of a repository", "rows of a table that are removed", "text", "BM25 hits"} {
		for _, q := range []knowledge.Query{{}, {Tests: true}, {Files: "sqlite/..."}} {
			q.Terms, q.Limit = words.Terms(text), 20
			hits, err := s.Search(ctx, q)
			check(err)
			for _, h := range hits {
				fmt.Fprintf(&b, "%.9f %s\n", h.Score, decl(&h.Decl))
			}
			if len(hits) == 0 && q.Files == "" {
				t.Errorf("%q has no hits", text)
			}
		}
		rarity, err := s.Rarity(ctx, words.Terms(text), nil)
		check(err)
		fmt.Fprintln(&b, rarity)
	}
	named, err := s.Named(ctx, []string{"Open", "Store", "search", "Fsmall", "G", "Two"}, nil)
	check(err)
	var ids []int64
	for i := range named {
		ids = append(ids, named[i].ID)
		fmt.Fprintln(&b, decl(&named[i]))
	}
	quoting, err := s.Quoting(ctx, []string{"nothing was indexed yet", "text of"}, nil)
	check(err)
	for i := range quoting {
		fmt.Fprintln(&b, decl(&quoting[i]))
	}
	runs, err := s.Runs(ctx, ids)
	check(err)
	for _, r := range runs {
		r.Repository = min(r.Repository, 1)
		fmt.Fprintln(&b, r)
	}
	for _, edges := range []func([]int64) ([]knowledge.Edge, error){
		func(ids []int64) ([]knowledge.Edge, error) { return s.Callers(ctx, ids) },
		func(ids []int64) ([]knowledge.Edge, error) { return s.Callees(ctx, ids) },
	} {
		list, err := edges(ids)
		check(err)
		var lines []string
		for _, e := range list {
			ends, err := s.Decls(ctx, []int64{e.Caller, e.Callee})
			check(err)
			lines = append(lines, fmt.Sprintln(decl(&ends[0]), decl(&ends[1]), e.Kind, e.Site, e.Count, e.Trace))
		}
		slices.Sort(lines)
		b.WriteString(strings.Join(lines, ""))
		if len(list) == 0 {
			t.Error("no edges")
		}
	}
	near, err := s.Nearest(ctx, "m", []float32{1, 2}, nil, 9)
	check(err)
	for i := range near {
		fmt.Fprintf(&b, "%.6f %s\n", near[i].Cosine, decl(&near[i].Decl))
	}
	answer, err := s.Answer(ctx, "small")
	check(err)
	fmt.Fprintf(&b, "%s\n", answer)
	return b.String()
}

func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d\n got %s\nwant %s", i, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(a), len(b))
}

// TestPlaces says how places are named, and that no name has a password.
func TestPlaces(t *testing.T) {
	password := rand.Text()
	p := at(t, "postgres://me:"+password+"@db.example.com:5433/team?project=pay%20ments&sslmode=require")
	if got, want := p.String(), "postgres://me@db.example.com:5433/team?project=pay%20ments"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if secret, inURL := p.Secret(); secret != password || !inURL || !p.IsDatabase() {
		t.Errorf("%s, %v", secret, inURL)
	}
	if p := at(t, "dir/postgres.db"); p.IsDatabase() || p.Exists() || p.String() != "dir/postgres.db" {
		t.Errorf("%s", p)
	}
}

// TestNoFile refuses what was meant to be a database: a file would have its password for a name.
func TestNoFile(t *testing.T) {
	for _, place := range []string{"mysql://u:s3cret@h/d", "postgres:u:s3cret@h/d", "host=h password=s3cret"} {
		if p, err := stores.At(place, ""); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s is %v, %v", place, p, err)
		}
	}
}
