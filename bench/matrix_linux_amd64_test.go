package bench

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tracerag/fixtures"
	"tracerag/trace"
	"tracerag/trace/recordtest"
)

// matrixBuild is a way to build a program.
type matrixBuild struct {
	name  string
	flags []string
	env   []string

	experiment  bool // it need not be possible: experiments may exclude others, or the system
	cgo         bool // needs a C compiler
	breakpoints bool // is none for the probe
}

func (b matrixBuild) small() bool {
	return slices.Contains([]string{"default", "race", "-N -l", "stripped", "pie", "cover"}, b.name)
}

// matrixBuilds are all of the ways that this toolchain knows.
func matrixBuilds(t *testing.T) []matrixBuild {
	t.Helper()
	all := []matrixBuild{
		{name: "default"},
		{name: "race", flags: []string{"-race"}, cgo: true},
		{name: "pie", flags: []string{"-buildmode=pie"}},
		{name: "-N -l", flags: []string{"-gcflags=all=-N -l"}},
		{name: "-l", flags: []string{"-gcflags=all=-l"}},
		{name: "external", flags: []string{"-ldflags=-linkmode=external"}, cgo: true},
		{name: "external pie", flags: []string{"-ldflags=-linkmode=external", "-buildmode=pie"}, cgo: true},
		{name: "static", flags: []string{"-ldflags=-linkmode=external -extldflags=-static"}, cgo: true},
		{name: "stripped", flags: []string{"-ldflags=-s -w"}},
		{name: "stripped pie", flags: []string{"-ldflags=-s -w", "-buildmode=pie"}},
		{name: "cover", flags: []string{"-cover"}},
		{name: "cover atomic", flags: []string{"-cover", "-covermode=atomic"}},
		{name: "GOAMD64=v2", env: []string{"GOAMD64=v2"}},
		{name: "GOAMD64=v3", env: []string{"GOAMD64=v3"}},
		{name: "checkptr", flags: []string{"-gcflags=all=-d=checkptr"}},
		{name: "trimpath", flags: []string{"-trimpath"}},
		{name: "race -N -l", flags: []string{"-race", "-gcflags=all=-N -l"}, cgo: true},
		{name: "race stripped", flags: []string{"-race", "-ldflags=-s -w"}, cgo: true},
		{name: "asan", flags: []string{"-asan"}, cgo: true, experiment: true, breakpoints: true},
		{name: "msan", flags: []string{"-msan"}, env: []string{"CC=clang"}, cgo: true, experiment: true, breakpoints: true},
	}
	for _, e := range experiments(t) {
		env := []string{"GOEXPERIMENT=" + e}
		all = append(all, matrixBuild{name: e, env: env, experiment: true})
	}
	return all
}

// experiments are the values of GOEXPERIMENT that differ from how this toolchain builds
// anyway, each in one experiment: those that are on come with a "no" before their name.
func experiments(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(goroot(t), "src", "internal", "goexperiment", "flags.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	tags, err := exec.Command("go", "list", "-f", `{{join context.ToolTags " "}}`, "runtime").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != "Flags" {
			return true
		}
		for _, f := range spec.Type.(*ast.StructType).Fields.List {
			for _, name := range f.Names {
				e := strings.ToLower(name.Name)
				if slices.Contains(strings.Fields(string(tags)), "goexperiment."+e) {
					e = "no" + e
				}
				all = append(all, e)
			}
		}
		return false
	})
	if len(all) == 0 {
		t.Fatal("the toolchain lists no experiments")
	}
	return all
}

// TestMatrix builds programs in every way that the toolchain knows: one that counts its
// calls, the tests of one that uses many libraries, and tests of Go's own that make use
// of reflection, panics and closures. Recorded, they do what they do alone.
func TestMatrix(t *testing.T) {
	small := stdMode(t)
	var results []result
	defer func() { printResults(t, results) }()
	builds := matrixBuilds(t)
	if small {
		builds = slices.DeleteFunc(builds, func(b matrixBuild) bool { return !b.small() })
	}
	cgo, err := exec.Command("go", "env", "CGO_ENABLED").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := goroot(t)
	for i, b := range builds {
		t.Run(b.name, func(t *testing.T) {
			progress("%s: build %d of %d", b.name, i+1, len(builds))
			defer progress("")
			if b.cgo && strings.TrimSpace(string(cgo)) != "1" {
				t.Skip("it needs a C compiler")
			}
			tests := []struct{ dir, pkg string }{
				{filepath.Join(fixtures.Dir("tablecat"), "internal", "csvview"), "."},
				{filepath.Join(root, "src", "text", "template"), "text/template"},
			}
			if small {
				tests = tests[:1]
			}
			counters := filepath.Join(t.TempDir(), "counters")
			if out, err := b.command("build", fixtures.Dir("counters"), counters, ".").CombinedOutput(); err != nil {
				text := fmt.Sprintf("does not build: %s", firstError(string(out)))
				results = append(results, result{name: "counters", mode: b.name, text: text})
				if !b.experiment {
					t.Errorf("%s: %v\n%s", text, err, out)
				}
				return
			}
			results = append(results, holdCounters(t, b, counters))
			for _, tt := range tests {
				name := filepath.Base(tt.dir)
				path := filepath.Join(t.TempDir(), name+".test")
				if out, err := b.command("test", tt.dir, path, tt.pkg).CombinedOutput(); err != nil {
					text := fmt.Sprintf("does not build: %s", firstError(string(out)))
					results = append(results, result{name: name, mode: b.name, text: text})
					if !b.experiment {
						t.Errorf("%s: %v\n%s", text, err, out)
					}
					continue
				}
				p := tested{name: name, path: path, args: []string{"-test.short", "-test.v"}, dir: tt.dir, env: b.runEnv(t)}
				want := p.alone(t)
				if want.code != 0 {
					t.Logf("%s does not pass alone: exit code %d\n%s\n%s", name, want.code, failures(want.stdout), tail(want.stderr))
				}
				flags := b.recorder()
				if tt.pkg != "." {
					flags = append(flags, "--include", "std")
				}
				if b.breakpoints && tt.pkg != "." {
					continue // they would take minutes
				}
				results = append(results, p.hold(t, b.name, want, nil, flags...))
			}
		})
	}
}

// command builds a program ("build") or a package's tests ("test").
func (b matrixBuild) command(what, dir, out, pkg string) *exec.Cmd {
	args := []string{what}
	if what == "test" {
		args = append(args, "-c")
	}
	cmd := exec.Command("go", slices.Concat(args, []string{"-o", out}, b.flags, []string{pkg})...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GOWORK=off"), b.env...)
	return cmd
}

// runEnv is what a program that was built so needs to run without a word.
func (b matrixBuild) runEnv(t *testing.T) []string {
	return []string{"GOCOVERDIR=" + t.TempDir()}
}

// recorder are the flags that choose one: the probe, unless it must refuse.
func (b matrixBuild) recorder() []string {
	if b.breakpoints {
		return []string{"--recorder=auto"}
	}
	return []string{"--recorder=probe"}
}

// firstError is the first line of what the go command wrote that is no headline.
func firstError(out string) string {
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line[:min(len(line), 160)]
		}
	}
	return "no reason given"
}

// holdCounters records the program that counts its calls, and compares the counts.
func holdCounters(t *testing.T, b matrixBuild, path string) result {
	t.Helper()
	file := filepath.Join(t.TempDir(), "counters.json")
	p := tested{name: "counters", path: path, args: []string{"-counters", file}, dir: t.TempDir(), env: b.runEnv(t)}
	want := p.alone(t)
	r := result{name: p.name, mode: b.name}
	if want.code != 0 {
		r.text = fmt.Sprintf("does not run here alone: exit code %d, %s", want.code, firstError(want.stderr))
		return r
	}
	if b.breakpoints {
		// Breakpoints would stop at each of a million calls.
		r.text = "not for the probe"
		if o, _, err := p.recorded(t, "--recorder=probe"); err == nil || o.code != 126 {
			t.Errorf("%s: the probe records it, exit code %d\n%s", b.name, o.code, o.stderr)
		}
		return r
	}
	got, tr, err := p.recorded(t, b.recorder()...)
	if err != nil {
		t.Errorf("no trace: %v\n%s", err, tail(got.stderr))
		r.text = "NO TRACE"
		return r
	}
	r.calls, r.ratio, r.text = tr.Calls(), tr.Duration.Seconds()/want.wall.Seconds(), "same, all counts are equal"
	if got.code != want.code || got.stdout != want.stdout || got.stderr != want.stderr {
		t.Errorf("exit code %d, want %d; standard output %q, want %q; standard error %q, want %q", got.code, want.code, got.stdout, want.stdout, got.stderr, want.stderr)
		r.text = "DIFFERS"
		return r
	}
	if !equalCounts(t, tr, file) {
		r.text = "COUNTS DIFFER"
	}
	return r
}

func equalCounts(t *testing.T, tr *trace.Trace, file string) bool {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := maps.Clone(fixtures.Want(t, "counters"))
	if err := json.Unmarshal(text, &want); err != nil { // in the place of the table's
		t.Fatal(err)
	}
	got, equal := recordtest.Generic(recordtest.Counts(tr)), true
	for _, fn := range slices.Sorted(maps.Keys(want)) {
		if got[fn] != want[fn] {
			t.Errorf("%s: %d calls, want %d", fn, got[fn], want[fn])
			equal = false
		}
	}
	return equal
}
