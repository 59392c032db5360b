package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"tracerag/fixtures/real"
	"tracerag/trace/store"
)

// TestReal records programs of others, by the recorder that tracerag
// chooses, and the first of them by breakpoints, too. What they print, write and
// exit with must be what it is without a recorder, and the trace must give a
// tree and a prompt with sources. TRACERAG_REAL=all records the large ones, too.
func TestReal(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the recorder is tested on linux")
	}
	if testing.Short() {
		t.Skip("installs programs")
	}
	self := commandPath(t)
	for i, p := range real.Selected() {
		recorders := []string{"auto"}
		if i == 0 {
			recorders = append(recorders, "breakpoint")
		}
		for _, recorder := range recorders {
			t.Run(p.Name+"/"+recorder, func(t *testing.T) {
				program := real.Install(t, p)
				plain := runReal(t, p, program, p.Args...)
				if plain.code != 0 {
					t.Fatalf("%s itself fails: %d\n%s", p.Name, plain.code, plain.stderr)
				}
				dir := t.TempDir()
				start := time.Now()
				traced := runReal(t, p, self, append([]string{"run", "--quiet", "--recorder", recorder, "--dir", dir, "--", program}, p.Args...)...)
				t.Logf("recorded in %s", time.Since(start).Round(10*time.Millisecond))
				if traced.code != plain.code || traced.stdout != plain.stdout || traced.stderr != plain.stderr {
					t.Errorf("recorded, it exits with %d instead of %d, prints\n%s\ninstead of\n%s\nand on standard error\n%s\ninstead of\n%s",
						traced.code, plain.code, traced.stdout, plain.stdout, traced.stderr, plain.stderr)
				}
				for name, want := range plain.outputs {
					if traced.outputs[name] != want {
						t.Errorf("recorded, it writes another %s", name)
					}
				}
				checkRecorder(t, dir, recorder)
				tree := mustRun(t, self, "tree", "--dir", dir)
				if !strings.HasPrefix(tree, "main.main ") {
					t.Errorf("the tree does not begin with main.main:\n%.300s", tree)
				}
				checkPrompt(t, mustRun(t, self, "prompt", "--dir", dir, "--json", "--context-window=100000000", "what does it do?"))
			})
		}
	}
}

// checkRecorder verifies that the trace was made by the recorder that was asked
// for, or by the fast one where it works and nothing was asked for.
func checkRecorder(t *testing.T, dir, want string) {
	t.Helper()
	tr, _, err := store.Open(dir).Load("@last")
	if err != nil {
		t.Fatal(err)
	}
	if want == "auto" && runtime.GOARCH == "amd64" {
		want = "probe"
	}
	if want != "auto" && tr.Recorder != want {
		t.Errorf("recorded by %s, want %s", tr.Recorder, want)
	}
}

// checkPrompt verifies that nearly every called function has its source in the
// prompt, and that the account adds up.
func checkPrompt(t *testing.T, text string) {
	t.Helper()
	var p struct {
		Text      string
		Total     int
		Sections  []struct{ Tokens int }
		Functions []struct {
			Name, Position string
		}
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	sum, without := 0, 0
	for _, s := range p.Sections {
		sum += s.Tokens
	}
	for _, f := range p.Functions {
		if f.Position == "" {
			without++
			t.Logf("no source of %s", f.Name)
		}
	}
	if sum != p.Total {
		t.Errorf("the sections have %d tokens, the prompt %d", sum, p.Total)
	}
	if len(p.Functions) < 10 || without*20 > len(p.Functions) {
		t.Errorf("%d of %d functions are without source", without, len(p.Functions))
	}
	if !strings.HasSuffix(strings.TrimSpace(p.Text), "what does it do?") {
		t.Error("the question does not stand at the end of the prompt")
	}
}

type realRun struct {
	code           int
	stdout, stderr string
	outputs        map[string]string
}

func runReal(t *testing.T, p real.Program, name string, args ...string) realRun {
	t.Helper()
	dir := p.Dir(t)
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, strings.NewReader(p.Stdin), &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	r := realRun{code: cmd.ProcessState.ExitCode(), outputs: map[string]string{}}
	// Each run has a directory of its own; nothing else may differ.
	r.stdout, r.stderr = strings.ReplaceAll(stdout.String(), dir, "DIR"), strings.ReplaceAll(stderr.String(), dir, "DIR")
	for _, o := range p.Outputs {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(o)))
		if err != nil {
			t.Error(err)
		}
		r.outputs[o] = string(data)
	}
	return r
}

func mustRun(t *testing.T, name string, args ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args, " "), err, &stderr)
	}
	return string(out)
}
