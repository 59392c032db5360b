package index_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tracerag/knowledge/index"
	"tracerag/knowledge/stores"
)

// childVariable makes the test program index a directory: FILE and DIR.
const childVariable = "TRACERAG_TEST_INDEX"

func TestMain(m *testing.M) {
	if file, dir, ok := strings.Cut(os.Getenv(childVariable), "\n"); ok {
		if err := indexOnce(file, dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(runTests(m))
}

func indexOnce(file, dir string) error {
	ctx := context.Background()
	p, err := stores.At(file, "")
	if err != nil {
		return err
	}
	s, err := p.Open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	asked := 0
	_, err = index.Update(ctx, s, dir, index.Options{Calls: callsByName(&asked)})
	return err
}

func child(t testing.TB, file, dir string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), childVariable+"="+file+"\n"+dir)
	c.Stderr = os.Stderr
	return c
}

// rounds is how often a test tries: n, or TRACERAG_SOAK times (make soak).
func rounds(t testing.TB, n int) int {
	t.Helper()
	if v := os.Getenv("TRACERAG_SOAK"); v != "" {
		m, err := strconv.Atoi(v)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	if testing.Short() {
		return min(n, 5)
	}
	return n
}

// many writes files enough that indexing them takes a while.
func many(r *repo, files int, word string) {
	for i := range files {
		var b strings.Builder
		fmt.Fprintf(&b, "package p%d\n", i%7)
		for j := range 30 {
			fmt.Fprintf(&b, "\n// F%d_%d does %s.\nfunc F%[1]d_%[2]d(n int) string {\n\tif n > %[2]d {\n\t\treturn \"%[3]s number %[2]d\"\n\t}\n\treturn F%[1]d_%[4]d(n)\n}\n", i, j, word, (j+1)%30)
		}
		r.write(fmt.Sprintf("p%d/f%d.go", i%7, i), b.String())
	}
}

// TestKilled kills a process that indexes, at random moments: while it fills a new store and while it
// brings one up to date. The next process goes on, and what it has is what one has that was left alone.
func TestKilled(t *testing.T) {
	r := newRepo(t)
	many(r, 25, "begin")
	r.commit("Begin")
	file := newPlace(t)
	start := time.Now()
	if err := child(t, file, r.dir).Run(); err != nil {
		t.Fatal(err)
	}
	whole := time.Since(start)
	file = newPlace(t)
	killed := 0
	n := rounds(t, 20)
	for i := range n {
		many(r, 25, fmt.Sprintf("round%d", i%3))
		if i%5 == 4 { // a new store
			file = newPlace(t)
		}
		c := child(t, file, r.dir)
		c.Stderr = nil
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.Int64N(int64(whole))))
		_ = c.Process.Kill()
		if c.Wait() != nil {
			killed++
		}
		if i%4 == 3 || n <= 20 { // else the next process is killed in a store that was left incomplete
			if err := child(t, file, r.dir).Run(); err != nil {
				t.Fatalf("after a kill: %v", err)
			}
			s := openAt(t, file)
			asked := 0
			sameAsFresh(t, s, r.dir, index.Options{Calls: callsByName(&asked)})
			s.Close()
		}
	}
	if killed == 0 {
		t.Error("no process was killed while it ran")
	}
	t.Logf("%d of %d processes were killed while they ran", killed, n)
}

// TestTwoProcesses has two processes fill one store at once.
func TestTwoProcesses(t *testing.T) {
	r, other := newRepo(t), newRepo(t)
	many(r, 30, "one")
	many(other, 30, "other")
	for range 3 {
		file := newPlace(t)
		var wg sync.WaitGroup
		for _, dir := range []string{r.dir, r.dir, other.dir} {
			c := child(t, file, dir)
			wg.Go(func() {
				if err := c.Run(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		s, fresh := openAt(t, file), openAt(t, aFile(t))
		asked := 0
		o := index.Options{Calls: callsByName(&asked)}
		// The names are given in the order of arrival.
		all, err := s.Repositories(t.Context())
		if err != nil || len(all) != 2 {
			t.Fatalf("repositories: %+v, %v", all, err)
		}
		dirs := []string{r.dir, other.dir}
		if all[0].ID < all[1].ID == (all[0].Root == other.dir) {
			dirs = []string{other.dir, r.dir}
		}
		for _, d := range dirs {
			update(t, s, d, o)
			update(t, fresh, d, o)
		}
		diff(t, dump(t, s), dump(t, fresh))
	}
}
