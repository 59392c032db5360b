//go:build unix

package jobs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tracerag/knowledge/postgres"
	"tracerag/knowledge/postgres/postgrestest"
)

// scale is how much TestWorkersKilled does.
type scale struct {
	repositories, lines, workers, restarts int
	kill                                   time.Duration // after so long a worker is killed
}

// scaled is small, or with TRACERAG_SOAK=N of so many repositories of 10,000 lines.
func scaled(t testing.TB) scale {
	s := os.Getenv("TRACERAG_SOAK")
	if s == "" {
		return scale{repositories: 12, lines: 200, workers: 2, restarts: 1, kill: 700 * time.Millisecond}
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return scale{repositories: n, lines: 10_000, workers: 4, restarts: 2, kill: 2 * time.Second}
}

// generate makes a repository with so many lines of its own, in packages that call each other.
func generate(t testing.TB, dir string, n, lines int) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r := &repo{t, dir}
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", fmt.Sprintf("module example.com/r%d\n\ngo 1.26\n", n))
	const each = 10 // lines of a function
	for file := 0; file*each*20 < lines; file++ {
		var b strings.Builder
		fmt.Fprintf(&b, "package p%d\n", file%10)
		for i := range 20 {
			fmt.Fprintf(&b, "\n// Do%d_%d is the step %[2]d of %[3]d.\nfunc Do%[1]d_%[2]d(n int) string {\n\tif n > %[2]d {\n\t\treturn \"step %[2]d in file %[1]d of repository %[3]d\"\n\t}\n\treturn Do%[1]d_%[4]d(n + 1)\n}\n\n", file, i, n, (i+1)%20)
		}
		write(fmt.Sprintf("p%d/f%d.go", file%10, file), b.String())
	}
	r.git("init", "-q", "-b", "main")
	r.git("add", ".")
	r.git("commit", "-q", "-m", "Begin")
}

// crowd is workers as processes, each replaced by another one when it ends.
type crowd struct {
	t       testing.TB
	url     string
	clones  string
	workers []*exec.Cmd
	ended   []chan struct{}
}

func (c *crowd) start(i int) {
	c.t.Helper()
	w := process(c.t, c.url, "index", "TRACERAG_TEST_CLONES="+c.clones)
	w.Stderr = nil // of a worker that is killed, or waits
	if err := w.Start(); err != nil {
		c.t.Fatal(err)
	}
	ended := make(chan struct{})
	c.workers[i], c.ended[i] = w, ended
	go func() { _ = w.Wait(); close(ended) }()
}

func (c *crowd) kill(i int) {
	_ = c.workers[i].Process.Kill()
	<-c.ended[i]
}

// indexAll has workers index repositories, and returns how long it took and how many were killed.
func indexAll(t testing.TB, server *postgrestest.Server, url, repositories string, s scale, disturb bool) (took time.Duration, kills int) {
	t.Helper()
	q := opened(t, url)
	for i := range s.repositories {
		if _, err := q.Follow(t.Context(), fmt.Sprintf("file://%s/r%d#main", repositories, i), Wanted{}); err != nil {
			t.Fatal(err)
		}
	}
	c := &crowd{t: t, url: url, clones: t.TempDir(), workers: make([]*exec.Cmd, s.workers), ended: make([]chan struct{}, s.workers)}
	began := time.Now()
	for i := range s.workers {
		c.start(i)
	}
	defer func() {
		for i := range s.workers {
			c.kill(i)
		}
	}()
	restarts, last := 0, time.Now()
	for deadline := time.Now().Add(time.Minute + time.Duration(s.repositories)*20*time.Second); ; time.Sleep(50 * time.Millisecond) {
		done, failed := progress(t, q)
		if failed != "" {
			t.Fatal(failed)
		}
		if done == s.repositories {
			return time.Since(began), kills
		}
		if time.Now().After(deadline) {
			list, _ := q.Jobs(t.Context(), time.Now())
			t.Fatalf("%d of %d repositories are done: %+v", done, s.repositories, list)
		}
		if !disturb {
			continue
		}
		if restarts < s.restarts && done >= (restarts+1)*s.repositories/(s.restarts+1) {
			server.Stop(restarts%2 == 0)
			restarts++
			time.Sleep(300 * time.Millisecond)
			if err := server.Restart(); err != nil {
				t.Fatal(err)
			}
		}
		if time.Since(last) > s.kill {
			i := rand.IntN(s.workers)
			c.kill(i)
			c.start(i)
			kills++
			last = time.Now()
		}
	}
}

// progress counts the jobs that are done, and says what failed for good.
func progress(t testing.TB, q *Queue) (done int, failed string) {
	t.Helper()
	list, err := q.Jobs(t.Context(), time.Now().Add(-24*time.Hour))
	if postgres.IsUnreachable(err) {
		return 0, "" // a connection from before the restart
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range list {
		switch j.State {
		case Done:
			done++
		case Failed, Cancelled:
			failed = fmt.Sprintf("%+v", j)
		}
	}
	return done, failed
}

// rowsOf counts all rows, and has the contents of those that are derived of sources: each once, whatever its number is.
func rowsOf(t testing.TB, q *Queue) string {
	t.Helper()
	var b strings.Builder
	for _, query := range []string{
		"SELECT count(*)::text FROM repository", "SELECT count(*)::text FROM file", "SELECT count(*)::text FROM source", "SELECT count(*)::text FROM decl", "SELECT count(*)::text FROM unit",
		"SELECT count(*)::text FROM literal", "SELECT count(*)::text FROM member", "SELECT count(*)::text FROM posting", "SELECT count(*)::text FROM edge", "SELECT count(*)::text FROM revision",
		"SELECT count(*)::text FROM module", "SELECT count(*)::text FROM package", "SELECT count(*)::text FROM orphan",
		"SELECT string_agg(name || ' ' || revision || ' ' || updating || ' ' || (calls_made = calls_now), E'\n' ORDER BY name) FROM repository",
		"SELECT string_agg(r.name || ' ' || n, E'\n' ORDER BY r.name) FROM repository r JOIN (SELECT repository, count(*) AS n FROM file f JOIN decl d ON d.file = f.id GROUP BY repository) x ON x.repository = r.id",
		"SELECT md5(string_agg(r.name || f.path || d.name || d.start || d.\"end\", ',' ORDER BY r.name, f.path, d.start)) FROM decl d JOIN file f ON f.id = d.file JOIN repository r ON r.id = f.repository",
		"SELECT string_agg(kind || ' ' || (args->>'what') || ' ' || (args->>'version') || ' ' || state, E'\n' ORDER BY args->>'what', id) FROM " + q.schema + ".river_job",
	} {
		var text string
		if err := q.pool.QueryRow(t.Context(), query).Scan(&text); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		fmt.Fprintf(&b, "%s:\n%s\n", query, text)
	}
	return b.String()
}

// TestWorkersKilled indexes repositories by workers of which a random one is killed again and again, while the server is
// restarted. Nothing is lost, and nothing made twice: row by row it is what workers make that are left alone.
func TestWorkersKilled(t *testing.T) {
	s := scaled(t)
	if os.Getenv("TRACERAG_SOAK") == "" {
		t.Parallel()
	}
	repositories, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.repositories {
		generate(t, filepath.Join(repositories, fmt.Sprint("r", i)), i, s.lines)
	}
	server := postgrestest.New(t)
	alone, killed := server.Database(t).URL(), server.Database(t).URL()
	usual, _ := indexAll(t, server, alone, repositories, s, false)
	took, kills := indexAll(t, server, killed, repositories, s, true)
	want, got := rowsOf(t, opened(t, alone)), rowsOf(t, opened(t, killed))
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			t.Errorf("line %d is after kills\n%s\nand without\n%s", i, strings.Join(g[min(i, len(g)):min(i+2, len(g))], "\n"), strings.Join(w[min(i, len(w)):min(i+2, len(w))], "\n"))
			break
		}
	}
	if kills == 0 {
		t.Error("no worker was killed")
	}
	var tries int
	q := opened(t, killed)
	if err := q.pool.QueryRow(context.Background(), "SELECT sum(attempt) FROM "+q.schema+".river_job").Scan(&tries); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d repositories of %d lines, %d workers: %v alone; %v with %d kills and %d restarts, in %d tries: %.2f times as long", s.repositories, s.lines, s.workers,
		usual.Round(10*time.Millisecond), took.Round(10*time.Millisecond), kills, s.restarts, tries, float64(took)/float64(usual))
}
