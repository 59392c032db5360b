//go:build unix

package jobs

import (
	"fmt"
	"os"
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

// asks is what a scripted model was asked by all workers.
type asks struct {
	mu     sync.Mutex
	times  []time.Time
	labels map[string]int
}

// reply answers in the form asked for, and counts.
func (a *asks) reply(message string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.times = append(a.times, time.Now())
	_, rest, ok := strings.Cut(message, "Answer with these lines")
	if !ok {
		return "All of it together."
	}
	_, rest, _ = strings.Cut(rest, "\n\n")
	var b strings.Builder
	for line := range strings.Lines(rest) {
		label, _, _ := strings.Cut(line, ":")
		a.labels[label]++
		fmt.Fprintf(&b, "%s: does what %s does\n", label, label)
	}
	return b.String()
}

// most is how many questions came within a time.
func (a *asks) most(within time.Duration) int {
	most := 0
	for i := range a.times {
		n := 0
		for _, t := range a.times[i:] {
			if t.Sub(a.times[i]) < within {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// TestSummariseTogether has eight workers make the summaries of repositories that have code in common, by one model. They
// never go above its rate and its ceiling for a day, and ask about no unit twice. When the ceiling is raised they make the
// rest. With TRACERAG_SOAK the rate is 60 a minute. Without it is five times that, and less than six seconds are looked at.
func TestSummariseTogether(t *testing.T) {
	t.Parallel()
	const workers, repositories, parallel = 8, 6, 3
	rate, within, allowed, files := 300.0, 5500*time.Millisecond, 30, 8 // half a second for a busy machine
	if os.Getenv("TRACERAG_SOAK") != "" {
		rate, within, allowed, files = 60, time.Minute, 60, 30
	}
	heard := &asks{labels: map[string]int{}}
	usage := &llmtest.Usage{PromptTokens: 1000, CompletionTokens: 100}
	// No question takes more than was held back for it, as a server promises: else one that is broken off, and counted with
	// what was held back, leaves room for one too many.
	count := func(string) int { return usage.PromptTokens }
	srv := llmtest.New(t, llmtest.Step{Reply: heard.reply, Usage: usage, Delay: 30 * time.Millisecond})
	each, _ := llm.EstimateCost("gpt-4o", llm.Usage{PromptTokens: usage.PromptTokens, CompletionTokens: usage.CompletionTokens})

	url := postgrestest.Shared(t).Database(t).URL()
	q := opened(t, url)
	first := indexer(t, url, "/")
	ids := alike(t, q, first, repositories, files, Wanted{Summaries: true})
	if err := first.index(t.Context(), Task{Index, known(t, first.Store, jobs(t, q)[1].What).URL, jobs(t, q)[1].Version}); err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs(t, q) {
		if j.Kind != Summarise || j.Priority != Derived {
			t.Errorf("%+v", j)
		}
	}
	if n := len(jobs(t, q)); n != repositories {
		t.Fatalf("%d jobs", n)
	}
	const half = 20
	ceiling := each * half
	if err := q.SetLimit(t.Context(), Limit{Model: "gpt-4o", PerMinute: rate, Cost: ceiling}); err != nil {
		t.Fatal(err)
	}
	for i := range workers {
		w := &Worker{Kinds: []Kind{Summarise}, Summaries: &Summaries{Model: func(keep metered.Keeper, shared throttle.Shared) (*metered.Model, error) {
			return metered.Client(llm.Config{Model: "gpt-4o", BaseURL: srv.URL(), APIKey: "sk-none", MaxTokens: 100},
				metered.Options{Window: 100_000, Count: count, Limits: throttle.Limits{Parallel: parallel, Shared: shared}, Keeper: keep})
		}}}
		run := startWorker(t, url, w)
		if i == 0 { // one is ended in the middle of its work
			time.AfterFunc(within/10, run.end)
		}
	}
	for _, id := range ids {
		until(t, q, id, "put off until tomorrow", func(j Job) bool {
			return j.State == Retrying && time.Until(*j.Next) > 0 && j.Next.UTC().Hour() == 0 && strings.Contains(j.Error, "ceiling is reached") || j.State == Done
		})
	}
	spent := func() Spent {
		t.Helper()
		list, err := q.Spent(t.Context())
		if err != nil || len(list) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		return list[0]
	}
	asked := len(srv.Requests())
	// Those of the worker that was ended may have been broken off before the server had them.
	if s := spent(); asked == 0 || asked > half || s.Cost > ceiling+1e-9 || s.Questions < int64(asked) || s.Questions > int64(asked+parallel) || s.Tokens < int64(asked*usage.PromptTokens) {
		t.Errorf("of $%.4f, %d questions, %d were asked: %+v", ceiling, half, asked, s)
	}
	if err := q.SetLimit(t.Context(), Limit{Model: "gpt-4o", PerMinute: rate, Cost: 100}); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids { // what was put off is begun at once
		untilIn(t, time.Minute+4*within, q, id, "done", is(Done))
	}
	heard.mu.Lock()
	defer heard.mu.Unlock()
	if n := heard.most(within); n > allowed {
		t.Errorf("%d questions in %v", n, within)
	}
	functions := 0
	for label, n := range heard.labels {
		if strings.HasPrefix(label, "func ") {
			functions++
			if n > 1 {
				t.Errorf("%s was summarised %d times", label, n)
			}
		}
	}
	if want := repositories*files/2 + files/2 + repositories; functions != want {
		t.Errorf("%d functions were asked about, not %d: %v", functions, want, heard.labels)
	}
	var left int
	if err := q.pool.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM claim) + (SELECT count(*) FROM asking)").Scan(&left); err != nil || left > 0 {
		t.Errorf("%d rows are left, %v", left, err)
	}
	t.Logf("%d questions in %v, at most %d in %v", len(heard.times), heard.times[len(heard.times)-1].Sub(heard.times[0]).Round(time.Millisecond), heard.most(within), within)
}

// alike follows and indexes repositories of which every second file is in all of them, and returns their jobs.
func alike(t testing.TB, q *Queue, s *session, repositories, files int, w Wanted) (ids []int64) {
	t.Helper()
	for i := range repositories {
		r := newRepo(t)
		for f := range files {
			text := fmt.Sprintf("package app\n\n// R%dF%d does it.\nfunc R%[1]dF%[2]d() { println(\"%[1]d %[2]d\") }\n", i, f)
			if f%2 == 1 { // every repository has it
				text = fmt.Sprintf("package app\n\n// Same%d does it.\nfunc Same%[1]d() { println(\"%[1]d\") }\n", f)
			}
			write(t, r.dir, fmt.Sprintf("f%d.go", f), text)
		}
		commit := r.commit(fmt.Sprintf("Own%d", i))
		if _, err := q.Follow(t.Context(), r.url(""), w); err != nil {
			t.Fatal(err)
		}
		if err := s.index(t.Context(), Task{Index, r.url(""), commit}); err != nil {
			t.Fatal(err)
		}
	}
	for id := range jobs(t, q) {
		ids = append(ids, id)
	}
	if len(ids) != repositories {
		t.Fatalf("%d jobs", len(ids))
	}
	return ids
}
