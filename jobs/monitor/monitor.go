// Package monitor serves how a worker is to those that watch it: /healthz, and /metrics in the text format of
// Prometheus.
package monitor

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"tracerag/jobs"
)

// AddressError says that an address can't be listened on.
type AddressError struct {
	Address string
	Err     error
}

func (e *AddressError) Error() string {
	return fmt.Sprintf("can't listen on %s: %v\nthe address is a port, or HOST:PORT", e.Address, e.Err)
}

func (e *AddressError) Unwrap() error { return e.Err }

// Listen listens on an address: a port is one of the loopback interface, as is one without a host.
func Listen(address string) (net.Listener, error) {
	at := address
	if !strings.Contains(at, ":") {
		at = ":" + at
	}
	if strings.HasPrefix(at, ":") {
		at = "127.0.0.1" + at
	}
	l, err := net.Listen("tcp", at)
	if err != nil {
		return nil, &AddressError{address, err}
	}
	return l, nil
}

// patience is how long PostgreSQL may take to answer who watches.
const patience = 5 * time.Second

// Serve answers until ctx ends.
func Serve(ctx context.Context, l net.Listener, figures func(context.Context) (*jobs.Figures, error)) error {
	s := &http.Server{Handler: handler(figures), ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	err := s.Serve(l)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func handler(figures func(context.Context) (*jobs.Figures, error)) http.Handler {
	get := func(r *http.Request) (*jobs.Figures, error) {
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		return figures(ctx)
	}
	m := http.NewServeMux()
	m.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		// An error names the database, which is not for everybody who can ask.
		if f, err := get(r); err != nil || !f.Connected {
			http.Error(w, "PostgreSQL can't be reached: the worker waits for it", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	m.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		f, err := get(r)
		if err != nil {
			f.Connected, f.Jobs = false, nil
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = io.WriteString(w, metrics(f))
	})
	return m
}

// metrics are figures in the text format. Prometheus' client library would write the same, and bring ten modules.
func metrics(f *jobs.Figures) string {
	var b strings.Builder
	family := func(name, kind, help string) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", name, help, kind)
	}
	family("tracerag_connected", "gauge", "1 if this worker has a session with PostgreSQL, and 0 while it waits for one.")
	connected := 0
	if f.Connected {
		connected = 1
	}
	fmt.Fprintf(&b, "tracerag_connected %d\n", connected)
	family("tracerag_worker_jobs_total", "counter", "Jobs that this worker has ended.")
	for _, e := range f.Ended {
		fmt.Fprintf(&b, "tracerag_worker_jobs_total{kind=%s,result=%s} %d\n", label(string(e.Kind)), label(e.Result), e.Jobs)
	}
	family("tracerag_worker_job_seconds_total", "counter", "What they took.")
	for _, e := range f.Ended {
		fmt.Fprintf(&b, "tracerag_worker_job_seconds_total{kind=%s,result=%s} %g\n", label(string(e.Kind)), label(e.Result), e.Seconds)
	}
	if !f.Connected {
		return b.String()
	}
	family("tracerag_workers", "gauge", "Workers of the project.")
	fmt.Fprintf(&b, "tracerag_workers %d\n", f.Workers)
	family("tracerag_jobs", "gauge", "Jobs of the project that are in the queue.")
	for _, c := range f.Jobs {
		fmt.Fprintf(&b, "tracerag_jobs{kind=%s,state=%s} %d\n", label(string(c.Kind)), label(string(c.State)), c.Jobs)
	}
	family("tracerag_jobs_oldest_seconds", "gauge", "Age of the oldest job that waits, runs or is tried again.")
	for _, c := range f.Jobs {
		if c.State == jobs.Waiting || c.State == jobs.Running || c.State == jobs.Retrying {
			fmt.Fprintf(&b, "tracerag_jobs_oldest_seconds{kind=%s,state=%s} %g\n", label(string(c.Kind)), label(string(c.State)), c.Oldest)
		}
	}
	family("tracerag_model_questions_today", "gauge", "Questions that all workers of the project asked a model on this day of UTC.")
	for _, s := range f.Today {
		fmt.Fprintf(&b, "tracerag_model_questions_today{model=%s} %d\n", label(s.Model), s.Questions)
	}
	family("tracerag_model_tokens_today", "gauge", "Tokens of these questions and their answers.")
	for _, s := range f.Today {
		fmt.Fprintf(&b, "tracerag_model_tokens_today{model=%s} %d\n", label(s.Model), s.Tokens)
	}
	family("tracerag_model_cost_usd_today", "gauge", "What they cost at list prices.")
	for _, s := range f.Today {
		fmt.Fprintf(&b, "tracerag_model_cost_usd_today{model=%s} %g\n", label(s.Model), s.Cost)
	}
	return b.String()
}

// label is a label's value in quotes.
func label(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(s, "\uFFFD")) + `"`
}
