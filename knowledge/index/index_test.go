package index_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/knowledge/index"
	"tracerag/knowledge/stores"
)

// repo is a working tree that a test changes.
type repo struct {
	testing.TB
	dir string
}

func newRepo(t testing.TB) *repo {
	t.Helper()
	r := &repo{t, t.TempDir()}
	r.git("init", "-q", "-b", "main")
	r.git("config", "user.name", "A")
	r.git("config", "user.email", "a@example.com")
	r.git("config", "core.autocrlf", "false")
	r.git("config", "commit.gpgsign", "false")
	r.write("go.mod", "module example.com/app\n\ngo 1.26\n")
	return r
}

func (r *repo) git(args ...string) string {
	r.Helper()
	c := exec.Command("git", args...)
	c.Dir = r.dir
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_DATE=2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z")
	out, err := c.CombinedOutput()
	if err != nil {
		r.Fatalf("git %s: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *repo) write(path, text string) {
	r.Helper()
	file := filepath.Join(r.dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		r.Fatal(err)
	}
}

// age waits until the times of files tell that they were not written since.
func (r *repo) age(paths ...string) {
	r.Helper()
	old := time.Now().Add(-time.Hour)
	for _, path := range paths {
		if err := os.Chtimes(filepath.Join(r.dir, path), old, old); err != nil {
			r.Fatal(err)
		}
	}
	time.Sleep(50 * time.Millisecond) // more than a tick of the clock that the kernel takes their last change from
}

func (r *repo) remove(path string) {
	r.Helper()
	if err := os.Remove(filepath.Join(r.dir, filepath.FromSlash(path))); err != nil {
		r.Fatal(err)
	}
}

func (r *repo) commit(subject string) string {
	r.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", subject)
	return r.git("rev-parse", "HEAD")
}

// newPlace makes a place for a new store: see [TestOnPostgres].
var newPlace = aFile

func aFile(t testing.TB) string { return filepath.Join(t.TempDir(), "knowledge.db") }

func open(t testing.TB) knowledge.Store {
	t.Helper()
	return openAt(t, newPlace(t))
}

func openAt(t testing.TB, place string) knowledge.Store {
	t.Helper()
	p, err := stores.At(place, "")
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func update(t testing.TB, s knowledge.Store, dir string, o index.Options) *index.Result {
	t.Helper()
	r, err := index.Update(t.Context(), s, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func dump(t testing.TB, s knowledge.Store) string {
	t.Helper()
	var b bytes.Buffer
	if err := s.Dump(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// sameAsFresh compares a store with one that is made of a directory from nothing.
func sameAsFresh(t testing.TB, s knowledge.Store, dir string, o index.Options) {
	t.Helper()
	fresh := openAt(t, aFile(t)) // whatever the store is
	update(t, fresh, dir, o)
	diff(t, dump(t, s), dump(t, fresh))
}

// diff reports the first lines in which dumps differ.
func diff(t testing.TB, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	in := map[string]int{}
	for _, l := range b {
		in[l]++
	}
	var out []string
	for _, l := range a {
		if in[l]--; in[l] < 0 {
			out = append(out, "only updated: "+l)
		}
	}
	for _, l := range b {
		if in[l] > 0 {
			in[l]--
			out = append(out, "only fresh:   "+l)
		}
	}
	t.Fatalf("the store differs from one that was made afresh:\n%s", strings.Join(out[:min(len(out), 20)], "\n"))
}

// callsByName stands in for package code/calls: a function of the repository's own code calls those
// whose name it has. It also counts how often it is asked.
func callsByName(asked *int) index.CallsFunc {
	return func(_ context.Context, l *code.Listing) (calls []knowledge.Call, gaps []string, err error) {
		*asked++
		places := map[string][]knowledge.Place{}
		bodies := map[knowledge.Place]string{}
		for _, e := range l.Files {
			if e.Vendored || e.Testdata {
				continue
			}
			text, err := os.ReadFile(filepath.Join(l.Root, e.Path))
			if err != nil {
				return nil, nil, err
			}
			for _, d := range code.Parse(text).Decls {
				if d.Kind.Callable() {
					p := knowledge.Place{Path: e.Path, Symbol: d.Symbol()}
					places[d.Name] = append(places[d.Name], p)
					bodies[p] = string(text[d.Head:d.End])
				}
			}
		}
		for caller, body := range bodies {
			for i, m := range named.FindAllStringSubmatch(body, -1) {
				for _, callee := range places[m[1]] {
					calls = append(calls, knowledge.Call{Kind: knowledge.Static, Caller: caller, Callee: callee, Site: i})
				}
			}
		}
		return calls, nil, nil
	}
}

var named = regexp.MustCompile(`(\w+)\(`)

const first = `package app

import "fmt"

// Greet greets somebody by name.
func Greet(name string) string { return fmt.Sprintf("hello %s, welcome", name) }

type Speaker struct{ loud bool }

// Say speaks.
func (s *Speaker) Say(name string) { fmt.Println(Greet(name)) }

const (
	Small = iota
	Large
)

func init() {}

func init() { Greet("x") }
`

// TestUpdate says what is in a store, and what an update does when one thing changes.
func TestUpdate(t *testing.T) {
	r := newRepo(t)
	r.write("app.go", first)
	r.write("sub/sub.go", "package sub\n\nfunc Twice(n int) int { return 2 * n }\n")
	r.write("sub/sub_test.go", "package sub_test\n\nimport \"testing\"\n\nfunc TestTwice(t *testing.T) {}\n")
	commit := r.commit("Begin")
	s := open(t)
	asked := 0
	o := index.Options{Calls: callsByName(&asked)}
	got := update(t, s, r.dir, o)
	if got.Parsed != 3 || got.Commits != 1 || !got.CallsMade || len(got.Gaps) > 0 {
		t.Errorf("the first update: %+v", got)
	}
	if sn := got.Repository.Snapshot; sn.Commit != commit || sn.Uncommitted != (code.Hash{}) || got.Repository.Calls != knowledge.FreshCalls || got.Repository.Incomplete {
		t.Errorf("the repository is %+v, want that of commit %s", got.Repository, commit)
	}

	again := update(t, s, r.dir, o)
	if again.Parsed != 0 || again.CallsMade || asked != 1 {
		t.Errorf("an update when nothing changed: %+v, calls asked for %d times", again, asked)
	}

	r.write("sub/sub.go", "package sub\n\n// Twice doubles.\nfunc Twice(n int) int { return 2 * n }\n")
	if got = update(t, s, r.dir, o); got.Parsed != 1 || got.CallsMade {
		t.Errorf("an update after a comment changed: %+v; calls do not depend on it", got)
	}
	if got.Repository.Snapshot.Uncommitted == (code.Hash{}) {
		t.Error("the snapshot does not say that a file differs from the commit")
	}
	r.write("sub/sub.go", "package sub\n\n// Twice doubles.\nfunc Twice(n int) int { return n + n }\n")
	if got = update(t, s, r.dir, index.Options{}); got.Parsed != 1 || got.Repository.Calls != knowledge.OldCalls {
		t.Errorf("an update without calls after code changed: %+v; the calls are old", got)
	}
	if got = update(t, s, r.dir, o); !got.CallsMade || got.Repository.Calls != knowledge.FreshCalls {
		t.Errorf("an update with calls: %+v", got)
	}
	sameAsFresh(t, s, r.dir, o)
}

// TestReader asks a small store everything that a [knowledge.Reader] is asked.
func TestReader(t *testing.T) {
	r := newRepo(t)
	r.write("app.go", first)
	r.write("app_test.go", "package app\n\nfunc helper() { Greet(\"welcome everybody\") }\n")
	r.commit("Begin with a greeting")
	s := open(t)
	asked := 0
	update(t, s, r.dir, index.Options{Calls: callsByName(&asked)})
	ctx := t.Context()
	names := func(list []knowledge.Decl, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, d := range list {
			out = append(out, d.Symbol())
		}
		return strings.Join(out, " ")
	}
	check := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	for name, want := range map[string]string{
		"Greet": "Greet", "Say": "(*Speaker).Say", "Speaker.Say": "(*Speaker).Say", "(*Speaker).Say": "(*Speaker).Say",
		"greet": "Greet", "speaker.say": "(*Speaker).Say", "Large": "Small", "init": "init init#2", "Other.Say": "", "nothing": "",
	} {
		check("named "+name, names(s.Named(ctx, []string{name}, nil)), want)
	}
	check("quoting", names(s.Quoting(ctx, []string{"welcome"}, nil)), "Greet helper")
	hits, err := s.Search(ctx, knowledge.Query{Terms: []string{"greet"}, Limit: 10})
	if err != nil || len(hits) == 0 || hits[0].Name != "Greet" || slices.ContainsFunc(hits, func(h knowledge.Hit) bool { return h.Test }) {
		t.Errorf("search: %+v, %v", hits, err)
	}
	hits, err = s.Search(ctx, knowledge.Query{Terms: []string{"greet"}, Limit: 10, Tests: true, Files: "*_test.go"})
	if err != nil || len(hits) != 1 || hits[0].Name != "helper" {
		t.Errorf("search in tests: %+v, %v", hits, err)
	}
	rare, err := s.Rarity(ctx, []string{"greet", "nothing"}, nil)
	if err != nil || rare.Functions != 4 || rare.With[0] != 3 || rare.With[1] != 0 || rare.Length <= 0 {
		t.Errorf("rarity: %+v, %v", rare, err)
	}
	greet, _ := s.Named(ctx, []string{"Greet"}, nil)
	callers, err := s.Callers(ctx, []int64{greet[0].ID})
	if err != nil {
		t.Fatal(err)
	}
	var from []int64
	for _, e := range callers {
		from = append(from, e.Caller)
	}
	check("callers", names(s.Decls(ctx, from)), "(*Speaker).Say init#2 helper")
	if all, err := s.Files(ctx, []string{"app.go", "app_test.go"}, nil); err != nil {
		t.Error(err)
	} else {
		want := map[int64]code.Hash{}
		ids := []int64{1 << 40} // no file
		for _, f := range all {
			want[f.ID], ids = f.Hash, append(ids, f.ID)
		}
		if got, err := s.Hashes(ctx, ids); err != nil || len(all) == 0 || !maps.Equal(got, want) {
			t.Errorf("the hashes of %v are %v, %v, want %v", ids, got, err, want)
		}
	}
	files, err := s.Files(ctx, []string{"app.go"}, nil)
	if err != nil || len(files) != 1 || files[0].PackageName != "app" {
		t.Errorf("files: %+v, %v", files, err)
	}
	check("in the file", names(s.In(ctx, []int64{files[0].ID})), "Greet Speaker (*Speaker).Say Small init init#2")
	all, _ := s.Repositories(ctx)
	history, err := s.History(ctx, all[0].ID, 10)
	if err != nil || len(history) != 1 || history[0].Subject != "Begin with a greeting" || strings.Join(history[0].Files, " ") != "app.go app_test.go" {
		t.Errorf("history: %+v, %v", history, err)
	}
}

// TestFormattingChangesNoDerivedRow formats all files of a repository that needs it. Of all tables
// but those with positions every row stays, with its number.
func TestFormattingChangesNoDerivedRow(t *testing.T) {
	r := newRepo(t)
	var paths []string
	for i := range 5 {
		paths = append(paths, fmt.Sprintf("f%d.go", i))
		r.write(paths[i], strings.NewReplacer("Greet", fmt.Sprintf("Greet%d", i), "Speaker", fmt.Sprintf("Speaker%d", i), "Small", fmt.Sprintf("Small%d", i), "Large", fmt.Sprintf("Large%d", i),
			"{ return", "{\n\n   return", ", name) }", ",   name)\n}", "// Say speaks", "//   Say   speaks").Replace(first))
	}
	r.commit("Ugly")
	file := aFile(t)
	s := openAt(t, file)
	asked := 0
	o := index.Options{Calls: callsByName(&asked)}
	update(t, s, r.dir, o)
	before := derivedRows(t, file)
	old := dump(t, s)
	for _, p := range paths {
		out, err := exec.Command("gofmt", "-w", filepath.Join(r.dir, p)).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if got := update(t, s, r.dir, o); got.Parsed != 5 || got.CallsMade {
		t.Fatalf("after gofmt: %+v, want 5 files and no calls", got)
	}
	if dump(t, s) == old {
		t.Fatal("positions are as before: gofmt changed nothing")
	}
	diff(t, derivedRows(t, file), before)
	sameAsFresh(t, s, r.dir, o)
}

// derivedRows are all rows of the tables that have no positions, with their numbers, as
// the file has them.
func derivedRows(t testing.TB, file string) string {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var b strings.Builder
	for _, table := range []string{"unit", "member", "literal", "edge", "chunk", "posting"} {
		rows, err := db.Query("SELECT * FROM " + table)
		if err != nil {
			t.Fatal(err)
		}
		columns, _ := rows.Columns()
		for n := 0; rows.Next(); n++ {
			values, refs := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				refs[i] = &values[i]
			}
			if err := rows.Scan(refs...); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s %v\n", table, values)
		}
		rows.Close()
	}
	if strings.Count(b.String(), "edge ") == 0 || strings.Count(b.String(), "literal ") == 0 {
		t.Fatal("no derived rows")
	}
	return b.String()
}

// TestStale says what changed, by times, and brings up to date what takes little.
func TestStale(t *testing.T) {
	r := newRepo(t)
	r.write("a.go", first)
	r.write("b.go", "package app\n")
	r.commit("Begin")
	s := open(t)
	repository := update(t, s, r.dir, index.Options{}).Repository
	stale := func() *index.Staleness {
		t.Helper()
		all, err := s.Repositories(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		st, err := index.Stale(t.Context(), s, all[0])
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	if st := stale(); st.Is() {
		t.Errorf("nothing changed, and stale is %v", st)
	}
	// The same size, and maybe within the same tick of the clock.
	r.write("a.go", strings.ReplaceAll(first, "hello", "Hello"))
	if st := stale(); !st.Is() || st.String() != "1 file changed" {
		t.Errorf("a file changed, and stale is %q", st)
	}
	r.remove("b.go")
	commit := r.commit("Change")
	if got, want := stale().String(), "1 file changed, 1 file removed, commit "+commit[:12]+" is checked out"; got != want {
		t.Errorf("stale is %q, want %q", got, want)
	}
	left, err := index.Refresh(t.Context(), s, 0, nil, index.Options{})
	if err != nil || len(left) != 1 {
		t.Errorf("with no time, left stale are %v, %v", left, err)
	}
	left, err = index.Refresh(t.Context(), s, time.Second, []int64{repository.ID}, index.Options{})
	if err != nil || len(left) != 0 || stale().Is() {
		t.Errorf("with a second, left stale are %v, %v", left, err)
	}
	sameAsFresh(t, s, r.dir, index.Options{})
	if err := os.RemoveAll(r.dir); err != nil {
		t.Fatal(err)
	}
	left, err = index.Refresh(t.Context(), s, time.Second, nil, index.Options{})
	if err != nil || len(left) != 1 || left[0].Missing == nil {
		t.Errorf("of a removed directory, left stale are %v, %v", left, err)
	}
	if n, _ := s.Named(t.Context(), []string{"Greet"}, nil); len(n) != 1 {
		t.Error("a directory that is gone took its declarations along")
	}
}

// TestDerivedFactsStay holds what is derived from a declaration against a hash of it. When it
// changes, stores have facts of both kinds: a migration of knowledge/sqlite has to remove the
// files and units of all repositories, so that they are made again.
func TestDerivedFactsStay(t *testing.T) {
	r := newRepo(t)
	r.write("a.go", first+"\n// parseHTTPRequest pads errors.\nfunc parseHTTPRequest(ctx string) { panic(\"can't parse %-5d of \\u03c0\") }\n")
	r.remove("go.mod")
	s := open(t)
	update(t, s, r.dir, index.Options{})
	_, derived, _ := strings.Cut(strings.ReplaceAll(dump(t, s), filepath.Base(r.dir), "r"), "# unit")
	derived, rest, _ := strings.Cut(derived, "# orphan")
	_, postings, _ := strings.Cut(rest, "# posting")
	derived += postings
	const want = "4c842762fc0c78c6"
	if got := fmt.Sprintf("%x", sha256.Sum256([]byte(derived)))[:16]; got != want {
		t.Errorf("the facts have the hash %s, want %s: see the comment of this test\n%s", got, want, derived)
	}
}

// TestSkipped says which files are not taken in, and that they are found when that changes.
func TestSkipped(t *testing.T) {
	r := newRepo(t)
	r.write("a.go", first)
	r.write("data.go", "package app\n\nvar data = `"+strings.Repeat("x", 5<<20)+"`\n")
	r.write("broken.go", "package app\n\nfunc Whole() {}\n\nfunc broken( {\n")
	// Written just now, they would be read again: their times could not tell.
	r.age("a.go", "data.go", "broken.go")
	s := open(t)
	got := update(t, s, r.dir, index.Options{})
	if len(got.Gaps) != 1 || got.Gaps[0] != (index.Gap{Path: "data.go", What: "it has 5 MB, which is taken for data"}) {
		t.Errorf("skipped: %+v", got.Gaps)
	}
	if d, _ := s.Named(t.Context(), []string{"Whole", "data"}, nil); len(d) != 1 || d[0].Name != "Whole" {
		t.Errorf("declarations: %+v", d)
	}
	if got = update(t, s, r.dir, index.Options{}); got.Read != 0 || len(got.Gaps) != 1 {
		t.Errorf("again: %+v", got)
	}
	r.write("a.go", first+"\n")
	if got = update(t, s, r.dir, index.Options{}); got.Parsed != 1 || len(got.Gaps) != 1 {
		t.Errorf("after a change of another file: %+v", got)
	}
	r.write("data.go", "package app\n\nvar data = 1\n")
	if got = update(t, s, r.dir, index.Options{}); got.Parsed != 1 || len(got.Gaps) != 0 {
		t.Errorf("once it is small: %+v", got)
	}
	sameAsFresh(t, s, r.dir, index.Options{})
}

// TestInterrupted ends an update by its context: what it wrote is kept, and the next one makes the rest only.
func TestInterrupted(t *testing.T) {
	r := newRepo(t)
	many(r, 60, "one")
	s := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := index.Update(ctx, s, r.dir, index.Options{Progress: func(done, all int) {
		if done == 20 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("the update ended with %v", err)
	}
	all, err := s.Repositories(t.Context())
	if err != nil || len(all) != 1 || !all[0].Incomplete {
		t.Errorf("repositories: %+v, %v", all, err)
	}
	if got := update(t, s, r.dir, index.Options{}); got.Parsed == 0 || got.Parsed > 40 {
		t.Errorf("%d files were written after 20 of 60 were", got.Parsed)
	}
	sameAsFresh(t, s, r.dir, index.Options{})
}
