package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// worker has a worker do all kinds of jobs that need no model, on a repository that is full of
// secrets and control characters, and looks at all that it says, serves and keeps.
func (l *leaker) worker() {
	if l.database == "" {
		l.t.Skip("without PostgreSQL there are no workers")
	}
	dir := filepath.Join(l.t.TempDir(), "repository")
	repository := "file://" + dir + "#main"
	source, err := os.ReadFile(filepath.Join(l.module, "main.go"))
	if err != nil {
		l.t.Fatal(err)
	}
	test := fmt.Sprintf("package main\n\nimport \"testing\"\n\nfunc TestLeak(t *testing.T) { takeArgument(%q); t.Fatalf(\"%%s\", %q) }\n\nfunc TestPanic(*testing.T) { panic(dbPassword) }\n", l.args, "dbPassword="+l.args+controls)
	for name, text := range map[string]string{
		"go.mod": "module example.com/leaker\n\ngo 1.24\n", "main.go": string(source), "main_test.go": test,
		"broken/x" + strings.ReplaceAll(controls, "/", "") + ".go": "package broken\n\nvar x int = \"" + l.args + "\"\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			l.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			l.t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-q", "-m", "one"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			l.t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	file := func(name, text string) string {
		l.write(name, text)
		return filepath.Join(l.module, name)
	}
	with := []string{"--knowledge", l.database}
	l.run(append([]string{"index", "--follow", "--record", repository, "https://127.0.0.1:1/none"}, with...)...)
	l.run(append([]string{"jobs", "locate", file("reports.jsonl", fmt.Sprintf(`{"id": "a", "report": %q}`+"\n", "password="+l.args+" takeMap"))}, with...)...)

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		l.t.Fatal(err)
	}
	at := listener.Addr().String()
	listener.Close()
	cmd := exec.Command(l.self, "worker", "--knowledge", l.database, "--files", filepath.Dir(dir), "--jobs", "index,record,locate,try", "--no-sandbox", "--refresh", "1s", "--listen", at)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	ended := false
	defer func() {
		if !ended {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		all := runAsUser(l.t, append([]string{"jobs", "--all", "--json"}, with...)...).stdout
		if strings.Contains(all, `"kind": "record"`) && strings.Count(all, `"state": "done"`) >= 3 {
			break
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("the jobs are not done: %s\n%s", all, &problems)
		}
		time.Sleep(200 * time.Millisecond)
	}
	for _, path := range []string{"/metrics", "/healthz"} {
		res, err := http.Get("http://" + at + path)
		if err != nil {
			l.t.Fatal(err)
		}
		data, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || len(data) == 0 {
			l.t.Errorf("%s: %q, %v", path, data, err)
		}
		l.look("worker: "+path, data)
	}
	ended = true
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		l.t.Errorf("worker: %v\n%s", err, &problems)
	}
	l.look("worker", out.Bytes())
	l.look("worker: standard error", problems.Bytes())
	if !strings.Contains(problems.String(), "record ") {
		l.t.Errorf("a worker at work says\n%s", &problems)
	}
	for _, args := range [][]string{{"jobs", "--all"}, {"jobs", "--all", "--json"}, {"jobs", "answers"}, {"jobs", "answers", "--json"}, {"executed", "takeArgument"}, {"pull", "--list"}, {"locate", "takeMap"}} {
		l.run(append(args, with...)...)
	}
}
