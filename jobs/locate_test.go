//go:build unix

package jobs

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"tracerag/knowledge"
	"tracerag/knowledge/postgres/postgrestest"
	"tracerag/locate"
)

// TestLocate asks about reports. What a person waits for goes before what may be done at night; the same report is one job, and
// its answer is made again when it is asked again.
func TestLocate(t *testing.T) {
	t.Parallel()
	url := postgrestest.Shared(t).Database(t).URL()
	q := opened(t, url)
	ask := func(id string, p Priority, want int) {
		t.Helper()
		if added, err := q.Locate(t.Context(), []Asking{{ID: id, Report: "report " + id + "\x00\xff"}}, p); err != nil || added != want {
			t.Fatalf("%s: %d, %v", id, added, err)
		}
	}
	ask("night", Night, 1)
	ask("night2", Night, 1)
	ask("night2", Night, 0)
	add(t, q, "x", Changed)
	ask("asked", Asked, 1)
	ask("night2", Asked, 0) // now somebody waits for it
	var mu sync.Mutex
	var order []string
	answer := `{"functions": []}`
	startWorker(t, url, &Worker{Kinds: []Kind{Locate}, Parallel: 1, Locator: func(_ context.Context, _ knowledge.Store, question locate.Question) (json.RawMessage, error) {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasPrefix(question.Text, "report lost") {
			return nil, &locate.NoFilesError{Pattern: "gone/..."}
		}
		order = append(order, question.Text)
		return json.RawMessage(answer), nil
	}})
	answered := func(id string) *Answered {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			list, err := q.Answers(t.Context(), []string{id})
			if err != nil || len(list) != 1 {
				t.Fatalf("%+v, %v", list, err)
			}
			if list[0].Made != nil && list[0].Made.After(list[0].Asked) {
				return &list[0]
			}
		}
		t.Fatalf("%s is never answered", id)
		return nil
	}
	answered("night")
	mu.Lock()
	if len(order) != 3 || order[2] != "report night\uFFFD\uFFFD" {
		t.Errorf("%q", order)
	}
	answer = `{"functions": [1]}`
	mu.Unlock()
	until(t, q, 2, "done", is(Done))
	ask("night2", Asked, 1)
	if got := answered("night2"); string(got.Answer) != answer {
		t.Errorf("%s", got.Answer)
	}
	ask("lost", Asked, 1)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		list, err := q.Answers(t.Context(), nil)
		if err != nil || len(list) != 4 || list[0].Problem+list[1].Problem+list[2].Problem != "" {
			t.Fatalf("%+v, %v", list, err)
		}
		if strings.Contains(list[3].Problem, "gone/...") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it never says why there is no answer: %+v", list[3])
		}
	}
}
