//go:build unix

package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tracerag/knowledge"
	"tracerag/knowledge/index"
	"tracerag/knowledge/postgres"
	"tracerag/knowledge/postgres/postgrestest"
)

// repo is a git repository of a test.
type repo struct {
	t   testing.TB
	dir string
}

func newRepo(t testing.TB) *repo {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &repo{t, dir}
	r.git("init", "-q", "-b", "main")
	return r
}

func (r *repo) git(args ...string) string {
	r.t.Helper()
	c := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...)
	c.Dir = r.dir
	out, err := c.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit makes a commit with a function of a name.
func (r *repo) commit(name string) string {
	r.t.Helper()
	for file, text := range map[string]string{"go.mod": "module example.com/app\n\ngo 1.26\n", "a.go": fmt.Sprintf("package app\n\n// %s does it.\nfunc %[1]s() {}\n", name)} {
		if err := os.WriteFile(filepath.Join(r.dir, file), []byte(text), 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
	r.git("add", ".")
	r.git("commit", "-q", "-m", name)
	return r.git("rev-parse", "HEAD")
}

func (r *repo) url(ref string) string { return "file://" + r.dir + ref }

// indexer is a worker's session, whose jobs are called one by one.
func indexer(t testing.TB, url, files string) *session {
	t.Helper()
	w := &Worker{At: location(t, url), Kinds: []Kind{Index}, Parallel: 1, Files: files, Clones: t.TempDir(), Refresh: time.Hour, Mask: func(s string) string { return s }}
	s, err := w.join(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Leave(t.Context(), s.release) })
	return s
}

func known(t testing.TB, s *postgres.Store, url string) *knowledge.Repository {
	t.Helper()
	all, err := s.Repositories(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(all, func(r knowledge.Repository) bool { return r.URL == url }); i >= 0 {
		return &all[i]
	}
	return nil
}

// look has a session look at a followed URL now.
func look(t testing.TB, s *session, url string) {
	t.Helper()
	if _, err := s.queue.Follow(t.Context(), url, Wanted{}); err != nil {
		t.Fatal(err)
	}
	if due, err := s.refreshOne(t.Context()); !due || err != nil {
		t.Fatalf("%v, %v", due, err)
	}
}

// TestFollow has one job for each new commit of a branch, and none for an old one.
func TestFollow(t *testing.T) {
	t.Parallel()
	url := postgrestest.Shared(t).Database(t).URL()
	r := newRepo(t)
	first := r.commit("One")
	s := indexer(t, url, r.dir)
	q := s.queue
	if added, err := q.Follow(t.Context(), r.url("#main"), Wanted{}); err != nil || !added {
		t.Fatal(added, err)
	}
	for range 2 {
		look(t, s, r.url("#main"))
	}
	if due, err := s.refreshOne(t.Context()); due || err != nil {
		t.Errorf("it is looked at before its time: %v", err)
	}
	list, err := q.Jobs(t.Context(), time.Now())
	if err != nil || len(list) != 1 || list[0].Version != first || list[0].Priority != Changed {
		t.Fatalf("%+v, %v", list, err)
	}
	second := r.commit("Two")
	look(t, s, r.url("#main"))
	if list, err = q.Jobs(t.Context(), time.Now()); err != nil || len(list) != 2 || list[1].Version != second {
		t.Fatalf("%+v, %v", list, err)
	}
	all, err := q.Followed(t.Context())
	if err != nil || len(all) != 1 || all[0].Commit != second || all[0].Problem != "" || all[0].Checked == nil {
		t.Fatalf("%+v, %v", all, err)
	}
	// It is gone for a while.
	if err := os.Rename(r.dir+"/.git", r.dir+"/gone"); err != nil {
		t.Fatal(err)
	}
	look(t, s, r.url("#main"))
	if all, err = q.Followed(t.Context()); err != nil || all[0].Commit != second || all[0].Problem == "" {
		t.Errorf("%+v, %v", all, err)
	}
	if was, err := q.Unfollow(t.Context(), r.url("#main")); err != nil || !was {
		t.Error(was, err)
	}
	for _, j := range jobs(t, q) {
		if j.State != Cancelled {
			t.Errorf("of what is not followed any more there is the job %+v", j)
		}
	}
	if was, err := q.Unfollow(t.Context(), r.url("#main")); err != nil || was {
		t.Error(was, err)
	}
}

// TestLooksKilled kills a worker that looks at a followed URL. Another one looks at once, and not after the next pause.
func TestLooksKilled(t *testing.T) {
	t.Parallel()
	url := postgrestest.Shared(t).Database(t).URL()
	r := newRepo(t)
	commit := r.commit("One")
	first, second := indexer(t, url, r.dir), indexer(t, url, r.dir)
	if _, err := second.queue.Follow(t.Context(), r.url(""), Wanted{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	first.Worker.Mask = func(s string) string { cancel(); return s }
	first.Worker.Files = "" // so its look fails, which is masked
	if _, err := first.refreshOne(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("it goes on: %v", err)
	}
	if due, err := second.refreshOne(t.Context()); due || err != nil {
		t.Fatalf("two look at it: %v", err)
	}
	if err := first.Leave(t.Context(), first.release); err != nil { // as Rescue does with a dead one
		t.Fatal(err)
	}
	if due, err := second.refreshOne(t.Context()); !due || err != nil {
		t.Fatalf("nobody looks at it: %v", err)
	}
	list, err := second.queue.Jobs(t.Context(), time.Now())
	if err != nil || len(list) != 1 || list[0].Version != commit {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestSuperseded tries a job of an old commit again, late. What is known stays that of the new one. A branch that goes
// back is followed back.
func TestSuperseded(t *testing.T) {
	t.Parallel()
	url := postgrestest.Shared(t).Database(t).URL()
	r := newRepo(t)
	s := indexer(t, url, r.dir)
	at := r.url("#main")
	do := func(commit string) {
		t.Helper()
		if err := s.index(t.Context(), Task{Index, at, commit}); err != nil {
			t.Fatal(err)
		}
	}
	is := func(commit string) {
		t.Helper()
		if k := known(t, s.Store, at); k == nil || k.Snapshot.Commit != commit || k.Incomplete {
			t.Errorf("known is %+v, not %s", k, commit)
		}
	}
	first := r.commit("One")
	look(t, s, at)
	do(first)
	is(first)
	second := r.commit("Two")
	look(t, s, at)
	do(second)
	is(second)
	r.git("reset", "-q", "--hard", first)
	do(first) // nobody has looked yet: it is the old one's
	is(second)
	look(t, s, at)
	do(first)
	is(first)
}

// TestCallsLeft goes on where a worker was killed that had indexed a commit and not yet made its calls.
func TestCallsLeft(t *testing.T) {
	t.Parallel()
	url := postgrestest.Shared(t).Database(t).URL()
	r := newRepo(t)
	s := indexer(t, url, r.dir)
	commit := r.commit("One")
	place, err := index.Locate(t.Context(), r.url(""), s.Clones)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := index.Update(t.Context(), s.Store, place.Dir, index.Options{URL: place.URL}); err != nil {
		t.Fatal(err)
	}
	if k := known(t, s.Store, r.url("")); k == nil || k.Snapshot.Commit != commit || k.Calls != knowledge.NoCalls {
		t.Fatalf("%+v", k)
	}
	for range 2 {
		if err := s.index(t.Context(), Task{Index, r.url(""), commit}); err != nil {
			t.Fatal(err)
		}
		if k := known(t, s.Store, r.url("")); k.Calls != knowledge.FreshCalls {
			t.Errorf("the job left the calls out: %+v", k)
		}
	}
}

// TestHostileRows works on rows that somebody else wrote. No command of them runs, and no directory is opened that the
// worker was not told to take.
func TestHostileRows(t *testing.T) {
	t.Parallel()
	url := postgrestest.Shared(t).Database(t).URL()
	r := newRepo(t)
	r.commit("Private")
	allowed, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(r.dir, filepath.Join(allowed, "link")); err != nil {
		t.Fatal(err)
	}
	ran := filepath.Join(t.TempDir(), "ran")
	s := indexer(t, url, allowed)
	rows := []string{
		"ext::sh -c touch% " + ran, "ext::sh -c touch%20" + ran, "--upload-pack=touch " + ran, "-u" + ran, "ssh://-oProxyCommand=touch " + ran + "/x",
		"-oProxyCommand=touch:x", "file://" + allowed + "#--upload-pack=touch " + ran, "fd::17", "http://example.com/x", "https://u:hunter2@example.com/x",
		r.url(""), "file://" + allowed + "/../" + filepath.Base(r.dir), "file://" + allowed + "/link", "file://localhost" + r.dir, "file://" + allowed + "/%2e%2e/x", r.dir, "", "\x1b[2J",
	}
	for _, row := range rows {
		err := s.index(t.Context(), Task{Index, row, "1"})
		if _, final := err.(*FinalError); !final || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", row, err)
		}
		if _, err := s.queue.pool.Exec(t.Context(), "INSERT INTO followed (project, url) VALUES ($1, $2)", s.queue.project, row); err != nil {
			t.Fatal(err)
		}
	}
	for range rows {
		if due, err := s.refreshOne(t.Context()); !due || err != nil {
			t.Fatal(due, err)
		}
	}
	all, err := s.queue.Followed(t.Context())
	if err != nil || len(all) != len(rows) {
		t.Fatalf("%d, %v", len(all), err)
	}
	for _, f := range all {
		if f.Problem == "" || f.Commit != "" || strings.Contains(f.Problem, "hunter2") {
			t.Errorf("%+v", f)
		}
	}
	if len(jobs(t, s.queue)) > 0 {
		t.Error("there are jobs")
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a command ran")
	}
	if list, err := s.Store.Repositories(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("indexed: %v, %v", list, err)
	}
}
