//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

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
