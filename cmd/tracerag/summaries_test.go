package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tracerag/llm/llmtest"
)

// TestSummariesKilled kills index when its n-th question arrives, for each n: started again it asks
// none again that was answered, and in the end everything has the summary it would have had. No
// secret of the source is sent.
func TestSummariesKilled(t *testing.T) {
	const password = "correct-horse-battery-7"
	texts := map[string]string{
		"go.mod": "module example.com/port\n\ngo 1.26\n",
		"a.go":   "package port\n\nfunc Harbour() { login(\"" + password + "\") }\n\nfunc login(password string) {}\n",
		"b.go":   "package port\n\nfunc other() { password := \"" + password + "\"; login(password) }\n",
		"c/c.go": "package c\n\nfunc C() {}\n",
	}
	var want string
	all := 4 // three files, the package of two, the repository: that of one file is the file's
	for at := 0; at <= all+1; at++ {
		dir := t.TempDir()
		for path, text := range texts {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		var mu sync.Mutex
		var c *exec.Cmd
		asked := 0
		srv := llmtest.New(t, llmtest.Step{Reply: func(message string) string {
			mu.Lock()
			defer mu.Unlock()
			if asked++; asked == at {
				_ = c.Process.Kill() // nothing gets the answer
			}
			return lines(message, fmt.Sprintf("says %d", len(message)))
		}})
		run := func(args ...string) (string, error) {
			mu.Lock()
			c = exec.Command(commandPath(t), append([]string{"index", "--edges=no", "--summaries", "--parallel=1"}, args...)...)
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
		if out, err := run(); (err != nil) != (at > 0 && at <= all) {
			t.Fatalf("at %d: %v, %s", at, err, out)
		}
		out, err := run("--quiet", "--json")
		if err != nil {
			t.Fatalf("at %d: %v, %s", at, err, out)
		}
		var sent []string
		for _, r := range srv.Requests() {
			sent = append(sent, string(r.Body))
			if strings.Contains(string(r.Body), password) {
				t.Errorf("the password was sent: %s", r.Body)
			}
		}
		if at > 0 && at <= len(sent) {
			sent = slices.Delete(sent, at-1, at) // nobody got the answer
		}
		slices.Sort(sent)
		if n := len(sent); n != len(slices.Compact(slices.Clone(sent))) {
			t.Errorf("at %d: a question was asked twice:\n%s", at, strings.Join(sent, "\n"))
		}
		summaries := out[strings.Index(out, `"code_tokens"`):]
		if want == "" {
			want, all = summaries, len(sent)
		}
		if summaries != want {
			t.Errorf("at %d: the summaries are\n%s\nwant\n%s", at, summaries, want)
		}
	}
}
