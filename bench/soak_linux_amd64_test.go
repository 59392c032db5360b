package bench

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/term"

	"tracerag/fixtures/real"
	"tracerag/trace"
	"tracerag/trace/store"
)

// soaked is a program that TestSoak runs again and again, always in the same
// directory with the same files.
type soaked struct {
	name  string
	files map[string]string // of the working directory
	stdin string
	env   []string

	// command is how the program is run with these words before it: none, or
	// those of tracerag run.
	command func(before []string) []string
}

// soakedPrograms are those of package real that are selected, tablecat, and the go
// command, gofmt and vet of the Go release that runs the test.
func soakedPrograms(t *testing.T) []soaked {
	t.Helper()
	simple := func(args ...string) func([]string) []string {
		return func(before []string) []string { return slices.Concat(before, args) }
	}
	var all []soaked
	for _, p := range real.Selected() {
		all = append(all, soaked{name: p.Name, files: p.Files, stdin: p.Stdin, command: simple(append([]string{real.Install(t, p)}, p.Args...)...)})
	}
	all = append(all, soaked{name: "tablecat", command: simple(tablecat(t).args...)})

	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(strings.TrimSpace(string(root)), "bin")
	vet, err := exec.Command("go", "tool", "-n", "vet").Output()
	if err != nil {
		t.Fatal(err)
	}
	module := map[string]string{
		"go.mod":     "module example.com/m\n\ngo 1.21\n",
		"main.go":    "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/m/lib\"\n)\n\nfunc main() { fmt.Printf(\"%s\\n\", lib.Sum(1, 2, 3)) }\n",
		"lib/lib.go": "package lib\n\nfunc Sum( list ...int) int {\nn := 0\n   for _, x := range list { n += x }\nreturn n\n}\n",
	}
	goEnv := []string{"GOFLAGS=-buildvcs=false", "GOWORK=off"}
	return append(all,
		soaked{name: "go-build", files: module, env: goEnv, command: simple(filepath.Join(bin, "go"), "build", "-o", "out", ".")},
		soaked{name: "go-vet", files: module, env: goEnv, command: simple(filepath.Join(bin, "go"), "vet", "./...")},
		soaked{name: "gofmt", files: module, command: simple(filepath.Join(bin, "gofmt"), "-d", "-s", ".")},
		// The go command starts this one, and wants a program by one name.
		soaked{name: "vet", files: module, env: goEnv, command: func(before []string) []string {
			script := filepath.Join(t.TempDir(), "vet")
			text := "#!/bin/sh\nexec"
			for _, word := range append(before, strings.TrimSpace(string(vet))) {
				text += " '" + word + "'"
			}
			if err := os.WriteFile(script, []byte(text+" \"$@\"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			return []string{filepath.Join(bin, "go"), "vet", "-vettool=" + script, "./..."}
		}},
	)
}

// TestSoak runs real programs under the recorder as often as TRACERAG_SOAK says.
// Each time the exit code, both output streams and all files of the working
// directory must be those of the run without it, and the trace must make sense.
// What went wrong is kept in a directory that the error names.
func TestSoak(t *testing.T) {
	if os.Getenv("TRACERAG_SOAK") == "" {
		t.Skip("TRACERAG_SOAK=100 runs everything a hundred times")
	}
	n := soak(t, 0)
	self := tracerag(t)
	goCache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	programs := soakedPrograms(t)
	for i, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			p.env = append(p.env, "XDG_CACHE_HOME="+t.TempDir(), "GOCACHE="+strings.TrimSpace(string(goCache)))
			dir := filepath.Join(t.TempDir(), "work")
			alone := p.command(nil)
			want := p.observe(t, dir, alone)
			if again := p.observe(t, dir, alone); again.difference(want) != "" {
				t.Fatalf("it does not do the same twice even without a recorder: %s differs", again.difference(want))
			}
			start, failed := time.Now(), 0
			for round := range n {
				progress("%s: run %d of %d; program %d of %d", p.name, round+1, n, i+1, len(programs))
				traces := t.TempDir()
				got := p.observe(t, dir, p.command([]string{self, "run", "--recorder=probe", "--quiet", "--dir", traces, "--"}))
				problem := got.difference(want)
				if problem != "" {
					problem += " differs from the run without a recorder"
				} else if err := sane(traces); err != nil {
					problem = err.Error()
				}
				if problem != "" {
					t.Errorf("run %d: %s; see %s", round+1, problem, keep(t, p.name, want, got, traces))
					if failed++; failed == 3 {
						t.Fatal("given up")
					}
				}
				os.RemoveAll(traces)
			}
			progress("")
			t.Logf("%d runs in %s, %d failed", n, time.Since(start).Round(time.Second), failed)
		})
	}
}

// observed is all that a run did.
type observed struct {
	output
	files map[string][]byte
}

// observe runs the program in its directory, newly made.
func (p soaked) observe(t *testing.T, dir string, args []string) observed {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range p.files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := run{args: args, dir: dir, stdin: p.stdin, env: p.env}
	o := observed{output: r.alone(t, true), files: map[string][]byte{}}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		o.files[path] = text
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// difference names what differs between two runs, "" if nothing does.
func (o observed) difference(want observed) string {
	var all []string
	if o.code != want.code {
		all = append(all, fmt.Sprintf("the exit code (%d, not %d)", o.code, want.code))
	}
	if o.stdout != want.stdout {
		all = append(all, "standard output")
	}
	if o.stderr != want.stderr {
		all = append(all, "standard error")
	}
	names := maps.Clone(o.files)
	maps.Copy(names, want.files)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if sha256.Sum256(o.files[name]) != sha256.Sum256(want.files[name]) {
			all = append(all, name)
		}
	}
	return strings.Join(all, ", ")
}

// sane reads the newest trace, and says what in it can not be true.
func sane(dir string) error {
	tr, _, err := store.Open(dir).Load("@last")
	if err == nil {
		err = tr.Check()
	}
	if err != nil {
		return err
	}
	main := 0
	for i, n := range tr.Nodes {
		if n.Root == trace.RootMain {
			main++
			if f := tr.Func(trace.NodeID(i)); f.Name != "main.main" || n.Calls != 1 {
				return fmt.Errorf("%s is the root of the main goroutine, with %d calls", f.Name, n.Calls)
			}
		}
		if n.Calls < 0 {
			return fmt.Errorf("node %d has %d calls", i, n.Calls)
		}
	}
	if main != 1 {
		return fmt.Errorf("the main goroutine has %d roots", main)
	}
	for _, l := range tr.Losses {
		if l.Kind == trace.LossOverflow || l.Kind == trace.LossTruncated {
			return fmt.Errorf("calls were lost: %+v", l)
		}
	}
	return nil
}

// keep saves what a failure can be understood by, and returns where.
func keep(t *testing.T, name string, want, got observed, traces string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tracerag-soak-"+name+"-")
	if err != nil {
		t.Fatal(err)
	}
	for sub, o := range map[string]observed{"alone": want, "recorded": got} {
		files := map[string][]byte{
			"stdout": []byte(o.stdout), "stderr": []byte(o.stderr), "exit-code": fmt.Appendln(nil, o.code),
		}
		for path, text := range o.files {
			files["files"+path] = text
		}
		for path, text := range files {
			path = filepath.Join(dir, sub, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.CopyFS(filepath.Join(dir, "traces"), os.DirFS(traces)); err != nil {
		t.Error(err)
	}
	return dir
}

// progress shows one line, where somebody looks on.
func progress(format string, args ...any) {
	if !term.IsTerminal(int(os.Stderr.Fd())) {
		return
	}
	fmt.Fprintf(os.Stderr, "\r\033[K"+format, args...)
}
