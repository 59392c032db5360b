//go:build unix

package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tracerag/llm/llmtest"
)

// TestSummariesInterrupted presses Ctrl-C while a question is under way: its answer is kept, no
// further one is asked, and the same command goes on.
func TestSummariesInterrupted(t *testing.T) {
	dir := t.TempDir()
	for path, text := range map[string]string{"go.mod": "module example.com/port\n", "a.go": "package port\n\nfunc A() {}\n", "b.go": "package port\n\nfunc B() {}\n"} {
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	var c *exec.Cmd
	var first sync.Once
	srv := llmtest.New(t, llmtest.Step{Reply: func(message string) string {
		first.Do(func() {
			mu.Lock()
			defer mu.Unlock()
			_ = c.Process.Signal(syscall.SIGINT)
		})
		return lines(message, "says what it does in many words so that it comes in pieces")
	}})
	run := func() (string, error) {
		mu.Lock()
		c = exec.Command(commandPath(t), "index", "--edges=no", "--summaries", "--parallel=1")
		c.Dir = dir
		c.Env = append(os.Environ(), "OPENAI_API_KEY=sk-none", "OPENAI_BASE_URL="+srv.URL(), "TRACERAG_MODEL=small")
		var out strings.Builder
		c.Stdout, c.Stderr = &out, &out
		err := c.Start()
		mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		err = c.Wait()
		return out.String(), err
	}
	out, err := run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted || !strings.Contains(out, "interrupted: what was made is kept") {
		t.Errorf("%v, %s", err, out)
	}
	asked := len(srv.Requests())
	out, err = run()
	// How many answers came before the signal did is a matter of time; each that came is kept.
	var all, left int
	_, counted, _ := strings.Cut(out, "small: ")
	if _, wrong := fmt.Sscanf(counted, "%d summaries of %d", &all, &left); wrong != nil || err != nil || !strings.Contains(out, "1 package and 1 repository made") {
		t.Fatalf("%v, %v, %s", err, wrong, out)
	}
	if n := len(srv.Requests()); asked < 2-left || n != asked+left+1 {
		t.Errorf("asked %d, then of %d files, %d in all", asked, left, n)
	}
}

// TestSummariesInterruptedTwice presses Ctrl-C until index ends, while the server says nothing: the
// first one waits for the answer, another one does not.
func TestSummariesInterruptedTwice(t *testing.T) {
	dir := t.TempDir()
	for path, text := range map[string]string{"go.mod": "module example.com/port\n", "a.go": "package port\n\nfunc A() {}\n"} {
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	asked, ended := make(chan bool, 10), make(chan bool)
	srv := llmtest.New(t, llmtest.Step{Handle: func(http.ResponseWriter, *http.Request) {
		asked <- true
		<-ended
	}})
	c := exec.Command(commandPath(t), "index", "--edges=no", "--summaries")
	c.Dir = dir
	c.Env = append(os.Environ(), "OPENAI_API_KEY=sk-none", "OPENAI_BASE_URL="+srv.URL(), "TRACERAG_MODEL=small")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(ended)
		_ = c.Wait()
	}()
	select {
	case <-asked:
	case <-ended:
		t.Fatalf("it asked nothing: %v", c.ProcessState)
	}
	// Of two signals that come at once a process gets one.
	for range 50 {
		_ = c.Process.Signal(syscall.SIGINT)
		select {
		case <-ended:
			if s := c.ProcessState.Sys().(syscall.WaitStatus); !s.Signaled() || s.Signal() != syscall.SIGINT {
				t.Errorf("it ended by itself: %v", c.ProcessState)
			}
			return
		case <-time.After(200 * time.Millisecond):
		}
	}
	_ = c.Process.Kill()
	<-ended
	t.Error("no Ctrl-C ended it")
}

// TestSummariesTwice starts the command twice at once: one waits for the other, and finds its answers.
func TestSummariesTwice(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"go.mod": "module example.com/port\n"}
	for i := range 5 {
		files[fmt.Sprintf("f%d.go", i)] = fmt.Sprintf("package port\n\nfunc F%d() {}\n", i)
	}
	for path, text := range files {
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	both := make(chan struct{})
	srv := llmtest.New(t, llmtest.Step{Reply: func(message string) string {
		<-both
		return lines(message, "says what it does")
	}})
	start := func() (*exec.Cmd, *strings.Builder) {
		c := exec.Command(commandPath(t), "index", "--edges=no", "--summaries", "--parallel=1")
		c.Dir = dir
		c.Env = append(os.Environ(), "OPENAI_API_KEY=sk-none", "OPENAI_BASE_URL="+srv.URL(), "TRACERAG_MODEL=small")
		out := new(strings.Builder)
		c.Stdout, c.Stderr = out, out
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return c, out
	}
	first, out1 := start()
	for len(srv.Requests()) == 0 { // it has the lock
		time.Sleep(10 * time.Millisecond)
	}
	second, out2 := start()
	time.AfterFunc(time.Second, func() { close(both) })
	if err := errors.Join(first.Wait(), second.Wait()); err != nil {
		t.Fatalf("%v: %s, %s", err, out1, out2)
	}
	if n := len(srv.Requests()); n != 6 || !strings.Contains(out2.String(), "another tracerag makes summaries") || !strings.Contains(out2.String(), "nothing changed") {
		t.Errorf("asked %d times of 5 files and a package: %s, %s", n, out1, out2)
	}
}
