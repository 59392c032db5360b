//go:build unix

package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/knowledge/knowledgetest"
	"tracerag/knowledge/postgres"
	"tracerag/knowledge/postgres/postgrestest"
	"tracerag/llm/throttle"
)

// childVariable makes the test program a worker: the URL, and what its jobs do.
const childVariable = "TRACERAG_TEST_WORKER"

// modelVariable is where that worker's model is.
const modelVariable = "TRACERAG_TEST_MODEL_URL"

func child(place string) int {
	place, what, _ := strings.Cut(place, "\n")
	l, err := postgres.Parse(place)
	if err == nil {
		w := &Worker{At: l, Kinds: []Kind{Index}, Parallel: 1, Refresh: time.Hour, Clones: os.Getenv("TRACERAG_TEST_CLONES"), Files: "/"}
		if what == "hang" {
			w.pretend = func(ctx context.Context, _ *session, _ Task) error {
				fmt.Println("begun")
				<-ctx.Done()
				return ctx.Err()
			}
		}
		if what == "embed" {
			w.Kinds = []Kind{Embed}
			w.Embeddings, err = newEmbeddings(os.Getenv(modelVariable))
		}
		if err == nil {
			err = w.Run(context.Background(), context.Background())
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func process(t testing.TB, url, what string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self)
	c.Env = append(append(os.Environ(), childVariable+"="+url+"\n"+what), env...)
	c.Stderr = os.Stderr
	return c
}

// TestKilled kills a worker with kill -9. Another one has its job in seconds, and knows that it is the second try.
func TestKilled(t *testing.T) {
	t.Parallel()
	url := postgrestest.Shared(t).Database(t).URL()
	q := opened(t, url)
	id := add(t, q, "x", Asked)
	c := process(t, url, "hang")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, q, id, "running", is(Running))
	start(t, url, 1, func(context.Context, *session, Task) error { return nil })
	time.Sleep(2 * time.Second)
	if j := jobs(t, q)[id]; j.State != Running || j.Try != 1 || !strings.HasSuffix(j.Worker, fmt.Sprint(":", c.Process.Pid)) {
		t.Fatalf("a job of a worker that lives was taken away: %+v", j)
	}
	killed := time.Now()
	_ = c.Process.Kill()
	_ = c.Wait()
	j := until(t, q, id, "done", is(Done))
	if took := time.Since(killed); took > 10*time.Second || j.Try != 2 || !strings.Contains(j.Error, "its worker was killed") {
		t.Errorf("after %v: %+v", took, j)
	}
}

// TestKillsWorkers sets a job aside that ends its workers again and again.
func TestKillsWorkers(t *testing.T) {
	t.Parallel()
	url := postgrestest.Shared(t).Database(t).URL()
	q := opened(t, url)
	id := add(t, q, "x", Asked)
	if _, err := q.pool.Exec(t.Context(), "UPDATE "+q.schema+".river_job SET attempt = max_attempts - 1"); err != nil {
		t.Fatal(err)
	}
	c := process(t, url, "hang")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, q, id, "running", is(Running))
	_ = c.Process.Kill()
	_ = c.Wait()
	start(t, url, 1, func(context.Context, *session, Task) error { t.Error("it is begun again"); return nil })
	if j := until(t, q, id, "set aside", is(Failed)); j.Try != tries {
		t.Errorf("%+v", j)
	}
}

// TestCutOff ends the connection of a worker that lives, and does not know it yet. Another one takes its job; the first
// can write nothing from then on: no knowledge, no state of the job.
func TestCutOff(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := postgrestest.Shared(t).Database(t).URL()
	q := opened(t, url)
	join := func() *session {
		t.Helper()
		s, err := (&Worker{At: location(t, url), Kinds: []Kind{Index}, Parallel: 1}).join(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first, second := join(), join()
	id := add(t, q, "x", Asked)
	take := func(s *session) int64 {
		t.Helper()
		tag, err := s.queue.pool.Exec(ctx, fmt.Sprintf("UPDATE %s.river_job SET state = 'running', attempted_at = now(), attempt = attempt + 1, attempted_by = array_append(attempted_by, $1) WHERE state = 'available'", q.schema), fmt.Sprint(s.ID))
		if err != nil {
			t.Fatal(err)
		}
		return tag.RowsAffected()
	}
	end := func(s *session) int64 {
		t.Helper()
		tag, err := s.queue.pool.Exec(ctx, fmt.Sprintf("UPDATE %s.river_job SET state = 'completed', finalized_at = now() WHERE state = 'running'", q.schema))
		if err != nil {
			t.Fatal(err)
		}
		return tag.RowsAffected()
	}
	if n := take(first); n != 1 {
		t.Fatalf("%d jobs were begun", n)
	}
	knowledgetest.Fill(t, first.Store, "a.go", "F")
	if err := second.Rescue(ctx, second.release); err != nil || jobs(t, q)[id].State != Running {
		t.Fatalf("a worker that lives was taken for dead: %v", err)
	}
	if _, err := q.pool.Exec(ctx, `SELECT pg_terminate_backend(l.pid) FROM pg_locks l
		WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.objid = $1::int::oid AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`, first.ID); err != nil {
		t.Fatal(err)
	}
	for jobs(t, q)[id].State == Running {
		if err := second.Rescue(ctx, second.release); err != nil {
			t.Fatal(err)
		}
	}
	var lost *postgres.LostError
	if _, err := knowledgetest.TryFill(first.Store, "b.go", "G"); !errors.As(err, &lost) {
		t.Errorf("a worker that was cut off writes: %v", err)
	}
	if n := take(first); n != 0 {
		t.Error("a worker that was cut off begins a job")
	}
	if n := take(second); n != 1 {
		t.Error("the job can't be begun by another worker")
	}
	if n := end(first); n != 0 {
		t.Error("a worker that was cut off ends another one's job")
	}
	if n, err := q.pool.Exec(ctx, "UPDATE "+q.schema+".river_job SET state = 'available'"); err != nil || n.RowsAffected() != 0 {
		t.Errorf("who works on nothing takes a job away: %v, %v", n, err)
	}
	knowledgetest.Fill(t, second.Store, "b.go", "G")
	if n := end(second); n != 1 {
		t.Error("a worker can't end its job")
	}
	if err := first.Beat(ctx); err == nil {
		t.Error("a worker that was cut off does not notice")
	}
	_ = first.Leave(ctx, first.release)
	if err := second.Leave(ctx, second.release); err != nil {
		t.Error(err)
	}
}

// TestOneAtATime has workers come and go while they work: no job is ever in two hands.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	url := postgrestest.Shared(t).Database(t).URL()
	q := opened(t, url)
	const n = 100
	var at [n]atomic.Int32
	var done atomic.Int32
	for i := range n {
		add(t, q, fmt.Sprint(i), Asked)
	}
	do := func(ctx context.Context, _ *session, task Task) error {
		var i int
		fmt.Sscan(task.What, &i)
		if at[i].Add(1) > 1 {
			t.Errorf("two workers have job %d", i)
		}
		defer at[i].Add(-1)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(30 * time.Millisecond):
		}
		done.Add(1)
		return nil
	}
	start(t, url, 3, do)
	for range 3 {
		w := start(t, url, 3, do)
		time.Sleep(300 * time.Millisecond)
		w.end()
		w.done <- <-w.done
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		finished := 0
		for _, j := range jobs(t, q) {
			if j.State == Done {
				finished++
			}
		}
		if finished == n {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d are done", finished, n)
		}
	}
	if done.Load() != n {
		t.Errorf("%d jobs were done %d times", n, done.Load())
	}
}

// TestAskingKilled kills a worker that asks a model: its question counts as asked, with the most that it can take, and what
// it summarised is free.
func TestAskingKilled(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := postgrestest.Shared(t).Database(t).URL()
	q := opened(t, url)
	first, second := indexer(t, url, ""), indexer(t, url, "")
	keys := []knowledge.SummaryKey{{Level: knowledge.DeclSummary, Hash: code.Hash{1}}, {Level: knowledge.DeclSummary, Hash: code.Hash{2}}}
	if err := q.SetLimit(ctx, Limit{Model: "m", Cost: 3, Tokens: 100}); err != nil {
		t.Fatal(err)
	}
	if _, err := first.claim(ctx, keys); err != nil {
		t.Fatal(err)
	}
	job := throttle.Job{Model: "m", Most: 2, MostTokens: 40}
	if _, err := (pace{first}).Begin(ctx, job); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	if _, err := (pace{second}).Begin(short, job); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("what another worker asks may take all that is left: %v", err)
	}
	if _, err := second.claim(short, keys[1:]); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("two workers make one summary: %v", err)
	}
	if err := first.Leave(ctx, first.release); err != nil { // as Rescue does with a dead one
		t.Fatal(err)
	}
	release, err := second.claim(ctx, keys)
	if err != nil {
		t.Fatal(err)
	}
	release()
	if _, err := (pace{second}).Begin(ctx, job); !errors.Is(err, throttle.ErrCeiling) {
		t.Errorf("above the ceiling: %v", err)
	}
	end, err := (pace{second}).Begin(ctx, throttle.Job{Model: "m", Most: 1, MostTokens: 50})
	if err != nil {
		t.Fatal(err)
	}
	end(0.5, 30)
	if list, err := q.Spent(ctx); err != nil || len(list) != 1 || list[0].Questions != 2 || list[0].Tokens != 70 || list[0].Cost != 2.5 {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := (pace{second}).Begin(ctx, throttle.Job{Model: "m", MostTokens: 31}); !errors.Is(err, throttle.ErrCeiling) {
		t.Errorf("above the ceiling of tokens: %v", err)
	}
}
