package monitor

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tracerag/jobs"
)

// TestServe answers who watches a worker: with its database and without. What it says names no database.
func TestServe(t *testing.T) {
	f, failed := &jobs.Figures{Ended: []jobs.Ended{{Kind: jobs.Index, Result: "done", Jobs: 3, Seconds: 1.5}}}, error(nil)
	l, err := Listen("0")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(l.Addr().String(), "127.0.0.1:") {
		t.Errorf("a port is open to others: %s", l.Addr())
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, l, func(context.Context) (*jobs.Figures, error) { return f, failed }) }()
	get := func(path string) (int, string) {
		t.Helper()
		r, err := http.Get("http://" + l.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(text)
	}
	if code, text := get("/healthz"); code != http.StatusServiceUnavailable || !strings.Contains(text, "waits") {
		t.Errorf("without PostgreSQL: %d %s", code, text)
	}
	if code, text := get("/metrics"); code != http.StatusOK || !strings.Contains(text, "\ntracerag_connected 0\n") || !strings.Contains(text, `tracerag_worker_jobs_total{kind="index",result="done"} 3`) || strings.Contains(text, "tracerag_workers") {
		t.Errorf("without PostgreSQL: %d %s", code, text)
	}
	f.Connected, f.Workers, f.Jobs = true, 2, []jobs.Counted{{Kind: jobs.Index, State: jobs.Waiting, Jobs: 7, Oldest: 12.5}, {Kind: jobs.Index, State: jobs.Done, Jobs: 9, Oldest: 99}}
	f.Today = []jobs.Spent{{Model: "a\"b\\c\n", Questions: 4, Tokens: 5000, Cost: 0.25}}
	if code, text := get("/healthz"); code != http.StatusOK || text != "ok\n" {
		t.Errorf("%d %s", code, text)
	}
	_, text := get("/metrics")
	for _, line := range []string{
		"# TYPE tracerag_jobs gauge", "tracerag_connected 1", "tracerag_workers 2", `tracerag_jobs{kind="index",state="waiting"} 7`, `tracerag_jobs{kind="index",state="done"} 9`,
		`tracerag_jobs_oldest_seconds{kind="index",state="waiting"} 12.5`, `tracerag_worker_job_seconds_total{kind="index",result="done"} 1.5`,
		`tracerag_model_cost_usd_today{model="a\"b\\c\n"} 0.25`, `tracerag_model_questions_today{model="a\"b\\c\n"} 4`,
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("missing: %s in\n%s", line, text)
		}
	}
	failed = errors.New("PostgreSQL at me@db.example.com:5432/team can't be reached")
	for _, path := range []string{"/healthz", "/metrics"} {
		if _, text := get(path); strings.Contains(text, "example.com") || strings.Contains(text, "ok\n") || strings.Contains(text, "tracerag_connected 1\n") {
			t.Errorf("%s: %s", path, text)
		}
	}
	if code, _ := get("/"); code != http.StatusNotFound {
		t.Errorf("/ is %d", code)
	}
	w := httptest.NewRecorder()
	handler(nil).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/metrics", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST is %d", w.Code)
	}
	stop()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the server does not end")
	}
	var e *AddressError
	for _, address := range []string{"x", ":x", "127.0.0.1:99999", "nowhere.invalid:1"} {
		if _, err := Listen(address); !errors.As(err, &e) {
			t.Errorf("%s: %v", address, err)
		}
	}
}
