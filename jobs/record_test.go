//go:build unix

package jobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tracerag/knowledge"
	"tracerag/knowledge/postgres/postgrestest"
	"tracerag/repair/sandbox"
	"tracerag/trace/store"
)

// pretended are recordings whose sandbox runs a function in place of a command. It is called with the directory of traces.
func pretended(t testing.TB, run func(ctx context.Context, traces string) (sandbox.Result, error)) *Recordings {
	t.Helper()
	program := filepath.Join(t.TempDir(), "tracerag")
	if err := os.WriteFile(program, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	return &Recordings{Program: program, Each: time.Minute,
		Command: func(_, traces string, _ []string) []string { return []string{"record", traces} },
		Box: Box{Scratch: t.TempDir(), Limits: sandbox.Limits{Time: time.Minute}, Run: func(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
			return run(ctx, c.Args[1])
		}},
		Reader: func(*store.Store) func(store.Entry, string) (knowledge.KeptTrace, []byte, knowledge.Executed, error) {
			return func(e store.Entry, commit string) (knowledge.KeptTrace, []byte, knowledge.Executed, error) {
				file, err := os.ReadFile(e.Path)
				if string(file) == "damaged" {
					err = errors.New("it is damaged by hunter2")
				}
				sum := sha256.Sum256(file)
				return knowledge.KeptTrace{ID: hex.EncodeToString(sum[:])[:knowledge.TraceIDLength], Module: "example.com/app", Commit: commit, Package: "example.com/app", Test: "Test" + string(file), Recorded: e.Saved, Passed: true},
					file, knowledge.Executed{Functions: []knowledge.Function{{Package: "example.com/app", Name: "F", Calls: 1}}}, err
			}
		}}
}

// save writes what counts as the trace of a test.
func save(t testing.TB, traces, name string) {
	t.Helper()
	sum := sha256.Sum256([]byte(name))
	if err := os.WriteFile(filepath.Join(traces, "20260102-030405.123-"+hex.EncodeToString(sum[:])[:8]+".pb.gz"), []byte(name), 0o600); err != nil {
		t.Error(err)
	}
}

func recorder(t testing.TB, url string, r *Recordings) *session {
	t.Helper()
	s := indexer(t, url, "/")
	s.Recordings = r
	s.Mask = func(s string) string { return strings.ReplaceAll(s, "hunter2", "[REDACTED]") }
	return s
}

func keptTraces(t testing.TB, s *session) []knowledge.KeptTrace {
	t.Helper()
	list, err := s.Store.KeptTraces(t.Context(), knowledge.TraceFilter{})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestRecordOnce has two workers record one commit at the same time: one does. A worker that is cut off before its traces
// are kept keeps none of them.
func TestRecordOnce(t *testing.T) {
	t.Parallel()
	url := postgrestest.Shared(t).Database(t).URL()
	r := newRepo(t)
	commit := r.commit("One")
	var ran atomic.Int32
	begun, end := make(chan bool), make(chan bool)
	recordings := pretended(t, func(ctx context.Context, traces string) (sandbox.Result, error) {
		ran.Add(1)
		save(t, traces, "A")
		save(t, traces, "B")
		begun <- true
		<-end
		return sandbox.Result{}, ctx.Err()
	})
	first, second := recorder(t, url, recordings), recorder(t, url, recordings)
	task := Task{Record, r.url(""), commit}

	done := make(chan error)
	go func() { done <- first.record(t.Context(), task) }()
	<-begun
	err := second.record(t.Context(), task)
	if _, later := errors.AsType[*laterError](err); !later {
		t.Errorf("another worker records it already: %v", err)
	}
	if err := first.Leave(t.Context(), first.release); err != nil { // others have its jobs
		t.Fatal(err)
	}
	end <- true
	if err := <-done; err == nil {
		t.Error("a worker that was cut off has kept traces")
	}
	if got := keptTraces(t, second); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	go func() { <-begun; end <- true }()
	for range 2 {
		if err := second.record(t.Context(), task); err != nil {
			t.Fatal(err)
		}
	}
	if got := keptTraces(t, second); len(got) != 2 || got[0].Commit != commit || ran.Load() != 2 {
		t.Errorf("%+v after %d tries", got, ran.Load())
	}
}

// TestRecordHostile: what tests write in place of traces is left out, and names no file of the worker's user. What was recorded before
// a limit ended the tests is kept.
func TestRecordHostile(t *testing.T) {
	t.Parallel()
	url := postgrestest.Shared(t).Database(t).URL()
	r := newRepo(t)
	commit := r.commit("One")
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := recorder(t, url, pretended(t, func(_ context.Context, traces string) (sandbox.Result, error) {
		save(t, traces, "A")
		save(t, traces, "damaged")
		if err := syscall.Mkfifo(filepath.Join(traces, "20260102-030405.123-00000001.pb.gz"), 0o600); err != nil {
			t.Error(err)
		}
		if err := os.Symlink(secret, filepath.Join(traces, "20260102-030405.123-00000002.pb.gz")); err != nil {
			t.Error(err)
		}
		return sandbox.Result{Code: 137, Stopped: sandbox.Time}, nil
	}))
	if _, err := s.queue.Follow(t.Context(), r.url(""), Wanted{Record: true}); err != nil {
		t.Fatal(err)
	}
	if err := s.record(t.Context(), Task{Record, r.url(""), commit}); err != nil {
		t.Fatal(err)
	}
	if got := keptTraces(t, s); len(got) != 1 || got[0].Test != "TestA" {
		t.Errorf("%+v", got)
	}
	list, err := s.queue.Recorded(t.Context())
	if err != nil || len(list) != 1 || list[0].Tests != 1 || list[0].Problem != "the limit of time ended it: tests that had not ended have no trace\n1 trace was left out: it is damaged by [REDACTED]" {
		t.Errorf("%+v, %v", list, err)
	}

	for name, change := range map[string]func(){
		"link in the place of go.mod": func() {
			_ = os.Remove(filepath.Join(r.dir, "go.mod"))
			_ = os.Symlink(secret, filepath.Join(r.dir, "go.mod"))
		},
		"directory outside": func() { write(t, r.dir, "go.mod", "module example.com/app\n\nreplace example.com/x => ../x\n") },
		"workspace with what is outside": func() {
			write(t, r.dir, "go.mod", "module example.com/app\n")
			write(t, r.dir, "go.work", "go 1.21\n\nuse (\n\t.\n\t../x\n)\n")
		},
		"no module": func() { _ = os.Remove(filepath.Join(r.dir, "go.mod")); _ = os.Remove(filepath.Join(r.dir, "go.work")) },
	} {
		change()
		r.git("add", "-A")
		r.git("commit", "-q", "-m", name)
		commit := r.git("rev-parse", "HEAD")
		err := s.record(t.Context(), Task{Record, r.url(""), commit})
		if _, final := errors.AsType[*FinalError](err); !final {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := keptTraces(t, s); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	_ = os.Remove(file)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
