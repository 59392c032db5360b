//go:build unix

package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"tracerag/knowledge/postgres"
	"tracerag/knowledge/postgres/postgrestest"
)

func TestMain(m *testing.M) {
	if place := os.Getenv(childVariable); place != "" {
		os.Exit(child(place))
	}
	os.Exit(postgrestest.Run(m))
}

func location(t testing.TB, url string) *postgres.Location {
	t.Helper()
	l, err := postgres.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// opened is the queue of a project, for who adds jobs.
func opened(t testing.TB, url string) *Queue {
	t.Helper()
	s, err := postgres.Open(t.Context(), location(t, url), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	q, err := Open(s)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func add(t testing.TB, q *Queue, what string, p Priority) int64 {
	t.Helper()
	id, _, err := q.Add(t.Context(), Task{Index, what, "1"}, p)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func jobs(t testing.TB, q *Queue) map[int64]Job {
	t.Helper()
	list, err := q.Jobs(t.Context(), time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	out := map[int64]Job{}
	for _, j := range list {
		out[j.ID] = j
	}
	return out
}

// until waits until something holds of a job.
func until(t testing.TB, q *Queue, id int64, what string, holds func(Job) bool) Job {
	t.Helper()
	return untilIn(t, 30*time.Second, q, id, what, holds)
}

func untilIn(t testing.TB, limit time.Duration, q *Queue, id int64, what string, holds func(Job) bool) Job {
	t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(50 * time.Millisecond) {
		j := jobs(t, q)[id]
		if holds(j) {
			return j
		}
		if time.Now().After(deadline) {
			t.Fatalf("job %d is never %s: %+v", id, what, j)
		}
	}
}

func is(s State) func(Job) bool { return func(j Job) bool { return j.State == s } }

// working is a worker that runs until the test ends, and says what it notes.
type working struct {
	drain, end func()
	done       chan error
	mu         sync.Mutex
	notes      []string
}

func (w *working) said() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.notes, "\n")
}

func start(t testing.TB, url string, parallel int, do func(context.Context, *session, Task) error) *working {
	t.Helper()
	return startWorker(t, url, &Worker{Kinds: []Kind{Index}, Parallel: parallel, pretend: do})
}

func startWorker(t testing.TB, url string, worker *Worker) *working {
	t.Helper()
	w := &working{done: make(chan error, 1)}
	ctx, drain := context.WithCancel(context.Background())
	now, end := context.WithCancel(context.Background())
	w.drain, w.end = drain, func() { drain(); end() }
	worker.At, worker.Clones, worker.Refresh, worker.Parallel = location(t, url), t.TempDir(), time.Hour, max(worker.Parallel, 1)
	worker.Mask = func(s string) string { return strings.ReplaceAll(s, "hunter2", "[REDACTED]") }
	worker.Note = func(format string, args ...any) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.notes = append(w.notes, fmt.Sprintf(format, args...))
	}
	go func() { w.done <- worker.Run(ctx, now) }()
	t.Cleanup(func() {
		w.end()
		select {
		case err := <-w.done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(30 * time.Second):
			t.Error("the worker does not end")
		}
	})
	return w
}

// TestAdd adds a job once while it is open; who waits for it has it done earlier.
func TestAdd(t *testing.T) {
	t.Parallel()
	q := opened(t, postgrestest.Shared(t).Database(t).URL())
	one := add(t, q, "one", Derived)
	two := add(t, q, "two", Changed)
	if again := add(t, q, "one", Asked); again != one {
		t.Errorf("the same task is the jobs %d and %d", one, again)
	}
	if again := add(t, q, "two", Derived); again != two {
		t.Errorf("the same task is the jobs %d and %d", two, again)
	}
	list, err := q.Jobs(t.Context(), time.Now())
	if err != nil || len(list) != 2 || list[0].ID != one || list[0].Priority != Asked || list[1].Priority != Changed || list[0].State != Waiting || list[0].What != "one" {
		t.Fatalf("%+v, %v", list, err)
	}
	if other, _, err := q.Add(t.Context(), Task{Index, "one", "2"}, Asked); err != nil || other == one {
		t.Errorf("another version is the same job: %v", err)
	}
	if _, _, err := q.Add(t.Context(), Task{"dance", "x", ""}, Asked); err == nil {
		t.Error("a job of an unknown kind was added")
	}
}

// TestOrder works on what a person waits for first; what is done may be done again.
func TestOrder(t *testing.T) {
	t.Parallel()
	url := postgrestest.Shared(t).Database(t).URL()
	q := opened(t, url)
	night, changed, asked := add(t, q, "night", Derived), add(t, q, "changed", Changed), add(t, q, "asked", Asked)
	var mu sync.Mutex
	var order []string
	start(t, url, 1, func(_ context.Context, _ *session, task Task) error {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, task.What)
		return nil
	})
	until(t, q, night, "done", is(Done))
	if got := strings.Join(order, " "); got != "asked changed night" {
		t.Errorf("worked on %s", got)
	}
	for _, id := range []int64{changed, asked} {
		if j := jobs(t, q)[id]; j.State != Done || j.Ended == nil || j.Try != 1 {
			t.Errorf("%+v", j)
		}
	}
	if again := add(t, q, "asked", Asked); again == asked {
		t.Error("what is done can't be done again")
	}
}

// TestFails tries again what fails, later and later; sets aside what would fail each time; and keeps no secret.
func TestFails(t *testing.T) {
	t.Parallel()
	url := postgrestest.Shared(t).Database(t).URL()
	q := opened(t, url)
	again, final, panics := add(t, q, "again", Asked), add(t, q, "final", Asked), add(t, q, "panics", Asked)
	start(t, url, 3, func(_ context.Context, _ *session, task Task) error {
		switch task.What {
		case "final":
			return &FinalError{errors.New("no such thing: hunter2")}
		case "panics":
			panic("hunter2")
		}
		return errors.New("not today: hunter2")
	})
	until(t, q, final, "set aside", is(Failed))
	for _, id := range []int64{again, panics} {
		j := until(t, q, id, "tried again", is(Retrying))
		if wait := time.Until(*j.Next); wait < 5*time.Second || wait > 10*time.Second || j.Try != 1 {
			t.Errorf("%s is tried again in %v: %+v", j.What, wait, j)
		}
	}
	for id, want := range map[int64]string{again: "not today: [REDACTED]", final: "no such thing: [REDACTED]", panics: "panic: [REDACTED]"} {
		if got := jobs(t, q)[id].Error; !strings.HasPrefix(got, want) {
			t.Errorf("the error is %q, not %q", got, want)
		}
	}
	var rows string
	if err := q.pool.QueryRow(t.Context(), "SELECT string_agg(j::text, '') FROM "+q.schema+".river_job j").Scan(&rows); err != nil || strings.Contains(rows, "hunter2") {
		t.Errorf("%v in %s", err, rows)
	}
	if s, err := q.Retry(t.Context(), final); err != nil || s != Failed {
		t.Errorf("it was %s, %v", s, err)
	}
	until(t, q, final, "set aside again", func(j Job) bool { return j.State == Failed && j.Try == 2 })
	var total time.Duration
	for n := 1; n < tries; n++ {
		if n > 1 && pause(n) < pause(n-1) {
			t.Errorf("after try %d the pause is %v", n, pause(n))
		}
		total += pause(n)
	}
	if total < 4*time.Hour || total > 12*time.Hour {
		t.Errorf("a job is tried for %v", total)
	}
}

// TestCancel cancels a job that waits, and one that runs.
func TestCancel(t *testing.T) {
	t.Parallel()
	url := postgrestest.Shared(t).Database(t).URL()
	q := opened(t, url)
	running := add(t, q, "running", Asked)
	start(t, url, 1, func(ctx context.Context, _ *session, task Task) error {
		if task.What == "running" {
			<-ctx.Done()
		}
		return ctx.Err()
	})
	until(t, q, running, "running", is(Running))
	waiting := add(t, q, "waiting", Asked)
	for _, c := range []struct { // the waiting one is begun when the other one has ended
		id     int64
		before State
	}{{waiting, Waiting}, {running, Running}} {
		if s, err := q.Cancel(t.Context(), c.id); err != nil || s != c.before {
			t.Errorf("%s, %v", s, err)
		}
		until(t, q, c.id, "cancelled", is(Cancelled))
	}
	if _, err := q.Retry(t.Context(), waiting); err != nil {
		t.Error(err)
	}
	until(t, q, waiting, "done", is(Done))
	var e *NoJobError
	if _, err := q.Cancel(t.Context(), 12345); !errors.As(err, &e) {
		t.Errorf("no job: %v", err)
	}
	if _, err := q.Retry(t.Context(), 12345); !errors.As(err, &e) {
		t.Errorf("no job: %v", err)
	}
}

// TestDrain ends a worker: what runs comes to its end, nothing is begun; and at once, when what runs goes back.
func TestDrain(t *testing.T) {
	t.Parallel()
	url := postgrestest.Shared(t).Database(t).URL()
	q := opened(t, url)
	first := add(t, q, "first", Asked)
	free := make(chan struct{})
	do := func(ctx context.Context, _ *session, _ Task) error {
		select {
		case <-free:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	w := start(t, url, 1, do)
	until(t, q, first, "running", is(Running))
	second := add(t, q, "second", Asked)
	w.drain()
	select {
	case <-w.done:
		t.Fatal("a worker ends with a job under way")
	case <-time.After(1500 * time.Millisecond):
	}
	close(free)
	w.done <- <-w.done
	if all := jobs(t, q); all[first].State != Done || all[second].State != Waiting {
		t.Errorf("%+v", all)
	}
	free = make(chan struct{})
	w = start(t, url, 1, do)
	until(t, q, second, "running", is(Running))
	w.end()
	w.done <- <-w.done
	if j := jobs(t, q)[second]; j.State != Waiting {
		t.Errorf("%+v", j)
	}
	var workers int
	if err := q.pool.QueryRow(t.Context(), "SELECT count(*) FROM worker").Scan(&workers); err != nil || workers > 0 {
		t.Errorf("%d workers are left, %v", workers, err)
	}
}

// TestDown stops the server under a worker. It says so once, waits, and goes on.
func TestDown(t *testing.T) {
	t.Parallel()
	server := postgrestest.New(t)
	url := server.Database(t).URL()
	q := opened(t, url)
	var mu sync.Mutex
	began := map[string]int{}
	w := start(t, url, 2, func(ctx context.Context, _ *session, task Task) error {
		mu.Lock()
		began[task.What]++
		n := began[task.What]
		mu.Unlock()
		if task.What == "long" && n == 1 {
			<-ctx.Done()
		}
		return ctx.Err()
	})
	long := add(t, q, "long", Asked)
	until(t, q, long, "running", is(Running))
	for _, atOnce := range []bool{false, true} {
		server.Stop(atOnce)
		time.Sleep(2500 * time.Millisecond)
		if err := server.Restart(); err != nil {
			t.Fatal(err)
		}
	}
	until(t, q, long, "done", is(Done))
	until(t, q, add(t, q, "short", Asked), "done", is(Done))
	if began["long"] != 2 || began["short"] != 1 {
		t.Errorf("begun: %v", began)
	}
	if said := w.said(); strings.Count(said, "waiting for it") > 2 || strings.Count(said, "is back") != strings.Count(said, "waiting for it") || !strings.Contains(said, "can't be reached") {
		t.Errorf("it said\n%s", said)
	}
}

// TestFigures counts what a worker did, and what there is.
func TestFigures(t *testing.T) {
	t.Parallel()
	url := postgrestest.Shared(t).Database(t).URL()
	q := opened(t, url)
	good, bad := add(t, q, "good", Asked), add(t, q, "bad", Asked)
	w := &Worker{Kinds: []Kind{Index}, pretend: func(_ context.Context, _ *session, task Task) error {
		if task.What == "bad" {
			return &FinalError{errors.New("no")}
		}
		return nil
	}}
	if f, err := w.Figures(t.Context()); err != nil || f.Connected || len(f.Ended) > 0 {
		t.Errorf("before it works: %+v, %v", f, err)
	}
	run := startWorker(t, url, w)
	until(t, q, good, "done", is(Done))
	until(t, q, bad, "set aside", is(Failed))
	f, err := w.Figures(t.Context())
	if err != nil || !f.Connected || f.Workers != 1 || len(f.Ended) != 2 || f.Ended[0].Result != "done" || f.Ended[0].Jobs != 1 || f.Ended[1].Result != "failed" || f.Ended[1].Jobs != 1 {
		t.Errorf("%+v, %v", f, err)
	}
	if len(f.Jobs) != 2 || f.Jobs[0].State != Done || f.Jobs[0].Jobs != 1 || f.Jobs[1].State != Failed || f.Jobs[1].Jobs != 1 {
		t.Errorf("%+v", f.Jobs)
	}
	run.end()
	run.done <- <-run.done
	if f, err := w.Figures(t.Context()); err != nil || f.Connected || len(f.Ended) != 2 {
		t.Errorf("after it worked: %+v, %v", f, err)
	}
}
