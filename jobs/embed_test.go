//go:build unix

package jobs

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"tracerag/knowledge/postgres/postgrestest"
	"tracerag/llm"
	"tracerag/llm/llmtest"
	"tracerag/llm/metered"
	"tracerag/llm/throttle"
)

// embeds is what a scripted model of embeddings was sent by all workers.
type embeds struct {
	mu    sync.Mutex
	texts map[string]int
}

func (e *embeds) vector(text string) []float32 {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.texts[text]++
	return []float32{float32(len(text)), 1}
}

// sent is how many texts were sent, and how many of them more than once.
func (e *embeds) sent() (texts, again int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, n := range e.texts {
		if n > 1 {
			again++
		}
	}
	return len(e.texts), again
}

// plain masks nothing.
type plain struct{}

func (plain) LearnText(string)        {}
func (plain) Text(text string) string { return text }

// embedder is how a worker makes vectors by a server.
func embedder(t testing.TB, url string) *Embeddings {
	t.Helper()
	e, err := newEmbeddings(url)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func newEmbeddings(url string) (*Embeddings, error) {
	client, err := llm.New(llm.Config{Model: "text-embedding-3-small", BaseURL: url, APIKey: "sk-none"})
	return &Embeddings{Mask: plain{}, Model: func(shared throttle.Shared) *metered.Embedder {
		return metered.NewEmbedder(metered.EmbedderOptions{Model: "text-embedding-3-small", Embed: client.Embed, Count: func(s string) int { return len(s) / 4 }, Limits: throttle.Limits{Shared: shared}})
	}}, err
}

// rowsLeft is how many claims and questions under way there are.
func rowsLeft(t testing.TB, q *Queue) (n int) {
	t.Helper()
	if err := q.pool.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM claim) + (SELECT count(*) FROM asking)").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestEmbedTogether has four workers make the vectors of repositories that have code in common. They never go above the
// ceiling for a day, and no function is sent twice. When the ceiling is raised they make the rest.
func TestEmbedTogether(t *testing.T) {
	t.Parallel()
	embedTogether(t, postgrestest.Shared(t).Database(t))
}

// TestEmbedTogetherWithVector does the same in a database that has pgvector, which is given all that they make.
func TestEmbedTogetherWithVector(t *testing.T) {
	t.Parallel()
	owner := postgrestest.WithVector(t).VectorDatabase(t)
	embedTogether(t, owner)
	var unmade, made int
	if err := opened(t, owner.URL()).pool.QueryRow(t.Context(), "SELECT count(*) FILTER (WHERE reals IS NULL), count(*) FROM vector").Scan(&unmade, &made); err != nil || unmade > 0 || made == 0 {
		t.Errorf("pgvector lacks %d vectors of %d, %v", unmade, made, err)
	}
}

func embedTogether(t *testing.T, owner *postgrestest.Role) {
	const repositories, files = 4, 100
	const functions = repositories*files/2 + files/2 + repositories
	heard := &embeds{texts: map[string]int{}}
	srv := llmtest.New(t, llmtest.Step{Embed: heard.vector, Usage: &llmtest.Usage{}}) // it counts nothing: what was sent counts
	url := owner.URL()
	q := opened(t, url)
	ids := alike(t, q, indexer(t, url, "/"), repositories, files, Wanted{Vectors: true})
	for _, j := range jobs(t, q) {
		if j.Kind != Embed || j.Priority != Derived {
			t.Errorf("%+v", j)
		}
	}
	const ceiling = 1500 // of tokens: half of all
	limit := Limit{Model: "text-embedding-3-small", Tokens: ceiling}
	if err := q.SetLimit(t.Context(), limit); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		run := startWorker(t, url, &Worker{Kinds: []Kind{Embed}, Embeddings: embedder(t, srv.URL())})
		if i == 0 { // one is ended in the middle of its work
			time.AfterFunc(300*time.Millisecond, run.end)
		}
	}
	for _, id := range ids {
		until(t, q, id, "put off until tomorrow", func(j Job) bool {
			return j.State == Retrying && time.Until(*j.Next) > 0 && j.Next.UTC().Hour() == 0 || j.State == Done
		})
	}
	list, err := q.Spent(t.Context())
	if err != nil || len(list) != 1 || list[0].Tokens == 0 || list[0].Tokens > ceiling || list[0].Questions != int64(len(srv.Requests())) || math.Abs(list[0].Cost-float64(list[0].Tokens)*0.02/1e6) > 1e-12 {
		t.Fatalf("after %d questions: %+v, %v", len(srv.Requests()), list, err)
	}
	if texts, _ := heard.sent(); texts >= functions {
		t.Errorf("%d texts were sent: the ceiling stopped nothing", texts)
	}
	limit.Tokens = 1_000_000
	if err := q.SetLimit(t.Context(), limit); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if _, err := q.Retry(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range ids {
		until(t, q, id, "done", is(Done))
	}
	if texts, again := heard.sent(); texts != functions || again > 0 {
		t.Errorf("%d texts were sent, %d of them again, want each of %d once", texts, again, functions)
	}
	if left, err := q.store.Unembedded(t.Context(), "text-embedding-3-small", nil, 10); err != nil || len(left) > 0 {
		t.Errorf("without a vector: %v, %v", left, err)
	}
	if n := rowsLeft(t, q); n > 0 {
		t.Errorf("%d rows are left", n)
	}
}

// TestEmbedKilled kills a worker with kill -9 while a question of it is under way. What it had kept is not sent again, and the
// question counts as asked.
func TestEmbedKilled(t *testing.T) {
	t.Parallel()
	const files, batch = 150, 64
	heard := &embeds{texts: map[string]int{}}
	asked, answer := make(chan struct{}), make(chan struct{})
	var once sync.Once
	srv := llmtest.New(t, llmtest.Step{Usage: &llmtest.Usage{PromptTokens: 1000}, Embed: func(text string) []float32 {
		v := heard.vector(text)
		if n, _ := heard.sent(); n > batch {
			once.Do(func() { close(asked) })
			<-answer
		}
		return v
	}})
	url := postgrestest.Shared(t).Database(t).URL()
	q := opened(t, url)
	id := alike(t, q, indexer(t, url, "/"), 1, files, Wanted{Vectors: true})[0]
	if err := q.SetLimit(t.Context(), Limit{Model: "text-embedding-3-small", Cost: 1}); err != nil {
		t.Fatal(err)
	}
	c := process(t, url, "embed", modelVariable+"="+srv.URL())
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	_ = c.Process.Kill()
	_ = c.Wait()
	close(answer)
	startWorker(t, url, &Worker{Kinds: []Kind{Embed}, Embeddings: embedder(t, srv.URL())})
	j := until(t, q, id, "done", is(Done))
	texts, again := heard.sent()
	if texts != files+1 || again > batch || j.Try != 2 {
		t.Errorf("%d texts were sent, %d of them again: %+v", texts, again, j)
	}
	list, err := q.Spent(t.Context())
	if requests := len(srv.Requests()); err != nil || len(list) != 1 || list[0].Questions != int64(requests) || requests != 4 {
		t.Errorf("%d requests are counted as %+v, %v", requests, list, err)
	}
	if n := rowsLeft(t, q); n > 0 {
		t.Errorf("%d rows are left", n)
	}
}

// TestEmbedAgain finds nothing to send for a commit that changed no function, and for functions that moved. A model that costs money
// needs a ceiling, and a repository that was forgotten has no vectors made.
func TestEmbedAgain(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	heard := &embeds{texts: map[string]int{}}
	srv := llmtest.New(t, llmtest.Step{Embed: heard.vector})
	url := postgrestest.Shared(t).Database(t).URL()
	q := opened(t, url)
	s := indexer(t, url, "/")
	s.Embeddings = embedder(t, srv.URL())
	r := newRepo(t)
	embed := func(name string, requests int) {
		t.Helper()
		commit := r.commit("F")
		if err := s.index(ctx, Task{Index, r.url(""), commit}); err != nil {
			t.Fatal(err)
		}
		if err := s.embed(ctx, Task{Embed, r.url(""), commit}); err != nil {
			t.Fatal(err)
		}
		if n := len(srv.Requests()); n != requests {
			t.Errorf("%s: %d requests, want %d", name, n, requests)
		}
	}
	commit := r.commit("F")
	if err := s.index(ctx, Task{Index, r.url(""), commit}); err != nil {
		t.Fatal(err)
	}
	var costs *NoCeilingError
	if err := s.embed(ctx, Task{Embed, r.url(""), commit}); !errors.As(err, &costs) || len(srv.Requests()) > 0 {
		t.Fatalf("without a ceiling: %v, %d requests", err, len(srv.Requests()))
	}
	if err := q.SetLimit(ctx, Limit{Model: "text-embedding-3-small", Cost: 1}); err != nil {
		t.Fatal(err)
	}
	write(t, r.dir, "b.go", "package app\n\n// G does more.\nfunc G() { println() }\n")
	embed("F again", 1)
	write(t, r.dir, "b.go", "package app\n")
	write(t, r.dir, "c.go", "package app\n\n//  G does   more.\nfunc G() {\n\tprintln()\n}\n")
	embed("moved", 1)
	write(t, r.dir, "c.go", "package app\n\n// G does less.\nfunc G() {}\n")
	embed("changed", 2)
	if texts, again := heard.sent(); texts != 3 || again > 0 {
		t.Errorf("%d texts were sent, %d of them again", texts, again)
	}
	var final *FinalError
	if err := s.embed(ctx, Task{Embed, "https://example.com/none", "1"}); !errors.As(err, &final) || !strings.Contains(fmt.Sprint(err), "not indexed any more") {
		t.Errorf("a repository that is not there: %v", err)
	}
}
