package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tracerag/llm/llmtest"
)

// TestVectors makes vectors with a server and finds a function by them whose words are not those of
// the report. No secret of the source is sent.
func TestVectors(t *testing.T) {
	const password = "correct-horse-battery-7"
	meaning := func(text string) []float32 {
		if strings.Contains(text, "Harbour") || strings.Contains(text, "ship") {
			return []float32{1, 0}
		}
		return []float32{.1, 1}
	}
	srv := llmtest.New(t, llmtest.Step{Embed: meaning})
	dir := t.TempDir()
	for path, text := range map[string]string{
		"go.mod": "module example.com/port\n\ngo 1.26\n",
		"a.go":   "package port\n\nfunc Harbour() { login(\"" + password + "\") }\n\nfunc login(password string) {}\n\nfunc other() { password := \"" + password + "\"; login(password) }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) (stdout, stderr string, err error) {
		c := exec.Command(commandPath(t), args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "OPENAI_API_KEY=sk-none", "OPENAI_BASE_URL="+srv.URL())
		var out, errs strings.Builder
		c.Stdout, c.Stderr = &out, &errs
		err = c.Run()
		return out.String(), errs.String(), err
	}
	if _, stderr, err := run("locate", "--embed-model", "meaning", "where does the ship go?"); err == nil || !strings.Contains(stderr, "tracerag index --embed-model meaning makes them") {
		t.Errorf("without vectors: %v, %s", err, stderr)
	}
	if _, stderr, err := run("index", "--embed-model", "meaning"); err != nil || !strings.Contains(stderr, "vectors of 3 functions") {
		t.Fatalf("%v, %s", err, stderr)
	}
	stdout, stderr, err := run("locate", "--embed-model", "meaning", "where does the ship go?")
	if err != nil || !strings.HasPrefix(strings.TrimSpace(stdout), "1  ") || !strings.Contains(strings.SplitN(stdout, "\n", 2)[0], "Harbour") || !strings.Contains(stdout, "its vector is near") {
		t.Errorf("%v, %s%s", err, stdout, stderr)
	}
	for _, r := range srv.Requests() {
		if strings.Contains(string(r.Body), password) {
			t.Errorf("the password was sent: %s", r.Body)
		}
	}
	srv.Close()
	if _, stderr, err := run("locate", "--embed-model", "meaning", "--json", "where does the ship go?"); err == nil || !strings.Contains(stderr, "127.0.0.1") {
		t.Errorf("without a server: %v, %s", err, stderr)
	}
}
