package rebuild_test

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tracerag/fixtures"
	"tracerag/fixtures/real"
	"tracerag/trace"
	"tracerag/trace/recordtest"
)

// lined builds with marks of lines, too.
func lined(t testing.TB) []string {
	flags := tool(t)
	flags[0] += " -tracerag=lines"
	return flags
}

// counter is a block of go build -cover.
type counter struct {
	line, column, endLine, endColumn int
	ran                              bool
}

func (c counter) holds(p token.Position) bool {
	after := p.Line > c.line || p.Line == c.line && p.Column >= c.column
	before := p.Line < c.endLine || p.Line == c.endLine && p.Column < c.endColumn
	return after && before
}

// counters runs a program that was built with -cover, and returns its blocks by the name of their file.
func counters(t *testing.T, args []string, dir string, stdin io.Reader) map[string][]counter {
	t.Helper()
	data := t.TempDir()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin = stdin
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOCOVERDIR="+data, "GOMAXPROCS=1")
	if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() < 0 {
		t.Fatalf("%v\n%s", err, out)
	}
	profile := filepath.Join(data, "text")
	if out, err := exec.Command("go", "tool", "covdata", "textfmt", "-i", data, "-o", profile).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]counter{}
	for line := range strings.Lines(string(text)) {
		name, rest, ok := strings.Cut(line, ".go:")
		if !ok {
			continue
		}
		var c counter
		var n, times int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &c.line, &c.column, &c.endLine, &c.endColumn, &n, &times); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		c.ran = times > 0
		out[name+".go"] = append(out[name+".go"], c)
	}
	return out
}

// tally compares the lines of a trace with counters, for the functions of one file that may be elsewhere.
type tally struct {
	all, unknown, wrong int
	said                bytes.Buffer
}

func (y *tally) compare(t *testing.T, tr *trace.Trace, file, at string, counters []counter) {
	t.Helper()
	text, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	source := strings.Split(string(text), "\n")
	byLine := map[int][]trace.FuncID{}
	for id := range tr.Functions {
		if f := &tr.Functions[id]; f.File == file {
			byLine[f.StartLine] = append(byLine[f.StartLine], trace.FuncID(id))
		}
	}
	// state is that of a line in a function that begins on a line, in all its copies, and the bodies of loops in it.
	state := func(from, to, line int) (s trace.LineState, called bool) {
		s = trace.LineNoCode
		for first := from; first <= to; first++ {
			for _, id := range byLine[first] {
				if first > from && !strings.Contains(tr.Functions[id].Name, "-range") {
					continue
				}
				called = called || first == from
				l, ok := tr.Lines[id]
				if !ok {
					return trace.LineUnknown, called
				}
				switch got := l.At(line); {
				case got == trace.LineRan, s == trace.LineNoCode, got == trace.LineUnknown && s == trace.LineNotRun:
					s = got
				}
			}
		}
		return s, called
	}
	var function func(from, to int, body *ast.BlockStmt)
	function = func(from, to int, body *ast.BlockStmt) {
		ran := map[int]bool{}
		ast.Inspect(body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				function(fset.Position(n.Pos()).Line, fset.Position(n.End()).Line, n.Body)
				return false
			case *ast.BlockStmt, *ast.LabeledStmt, *ast.CaseClause, *ast.CommClause, *ast.EmptyStmt, *ast.DeclStmt:
				return true
			}
			if _, ok := n.(ast.Stmt); !ok {
				return true
			}
			at := fset.Position(n.Pos())
			for _, c := range counters {
				if c.holds(at) {
					ran[at.Line] = ran[at.Line] || c.ran
					break
				}
			}
			return true
		})
		for line, ran := range ran {
			got, called := state(from, to, line)
			if !called {
				continue
			}
			y.all++
			switch {
			case got == trace.LineUnknown:
				y.unknown++
				fmt.Fprintf(&y.said, "%s:%d: unknown, ran is %v: %s\n", filepath.Base(file), line, ran, strings.TrimSpace(source[line-1]))
			case (got == trace.LineRan) != ran && !strings.Contains(source[line-1], "// unreached"):
				y.wrong++
				fmt.Fprintf(&y.said, "%s:%d: wrong: %c, ran is %v: %s\n", filepath.Base(file), line, got, ran, strings.TrimSpace(source[line-1]))
			}
		}
	}
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body != nil {
				function(fset.Position(d.Pos()).Line, fset.Position(d.End()).Line, d.Body)
			}
		default:
			ast.Inspect(d, func(n ast.Node) bool {
				if f, ok := n.(*ast.FuncLit); ok {
					function(fset.Position(f.Pos()).Line, fset.Position(f.End()).Line, f.Body)
					return false
				}
				return true
			})
		}
	}
}

// TestLines holds the lines that ran of all fixtures against the compiler's coverage counters, in runs that do the same.
// Those count a whole block when it begins: statements behind a call that does not come back are marked in the program.
func TestLines(t *testing.T) {
	for name, args := range programs {
		ways := map[string][]string{name: args}
		if name == "lines" {
			ways["lines panic"], ways["lines nil"] = []string{"panic"}, []string{"nil"}
		}
		for way, args := range ways {
			t.Run(way, func(t *testing.T) {
				t.Parallel()
				counted := fixtures.Build(t, name, "-cover", "-covermode=set", "-coverpkg=all")
				want := counters(t, append([]string{counted}, args...), "", nil)
				rebuilt := append([]string{fixtures.Build(t, name, lined(t)...)}, args...)
				got := recordtest.Record(t, recordtest.Run{Job: recordtest.Job{Args: rebuilt}, Env: []string{"GOMAXPROCS=1"}})
				if err := got.Trace.Check(); err != nil {
					t.Error(err)
				}
				var y tally
				for _, file := range files(t, fixtures.Dir(name)) {
					for of, c := range want {
						if filepath.Base(of) == filepath.Base(file) && filepath.Base(filepath.Dir(of)) == cmp.Or(filepath.Base(filepath.Dir(file)), name) {
							y.compare(t, got.Trace, file, file, c)
						}
					}
				}
				t.Logf("%d lines, %d wrong, %d unknown\n%s", y.all, y.wrong, y.unknown, &y.said)
				if y.all == 0 || y.wrong > 0 {
					t.Errorf("%d of %d lines are wrong", y.wrong, y.all)
				}
			})
		}
	}
}

// files are the Go files below a directory.
func files(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// TestStatements holds the lines of statements of all shapes against what the program says of each. What it prints and how it
// ends stays as it was.
func TestStatements(t *testing.T) {
	dir := module(t, "statements", "1.26")
	text, err := os.ReadFile(filepath.Join(dir, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	ways := map[string][]string{"plain": nil, "cover": {"-cover"}, "atomic": {"-cover", "-covermode=atomic"}, "stripped": {"-ldflags=-s -w"}}
	if os.Getenv("TRACERAG_REAL") == "all" { // for these the standard library is built once more
		ways["race"], ways["trimpath"], ways["pie"] = []string{"-race"}, []string{"-trimpath"}, []string{"-buildmode=pie"}
	}
	for name, more := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			build := func(flags ...string) []string {
				t.Helper()
				out := filepath.Join(t.TempDir(), "app")
				cmd := exec.Command("go", slices.Concat([]string{"build", "-o", out}, flags, more, []string{"."})...)
				cmd.Dir = dir
				if said, err := cmd.CombinedOutput(); err != nil {
					if name == "race" && strings.Contains(string(said), "cgo") {
						t.Skipf("%s", said)
					}
					t.Fatalf("%v\n%s", err, said)
				}
				return []string{out}
			}
			env := []string{"GOMAXPROCS=1", "GOCOVERDIR=" + t.TempDir()}
			got := recordtest.Record(t, recordtest.Run{Job: recordtest.Job{Args: build(lined(t)...)}, Env: env})
			if alone := recordtest.Untraced(t, recordtest.Run{Job: recordtest.Job{Args: build(flags...)}, Env: env}); got.Stdout != alone.Stdout || got.Stderr != alone.Stderr || got.Code != alone.Code {
				t.Errorf("recorded it ends with %d and prints\n%s%s\nalone with %d, and\n%s%s", got.Code, got.Stdout, got.Stderr, alone.Code, alone.Stdout, alone.Stderr)
			}
			if err := got.Trace.Check(); err != nil {
				t.Error(err)
			}
			line := 0
			for source := range strings.Lines(string(text)) {
				line++
				source = strings.TrimRight(source, "\n")
				want := trace.LineNoCode
				if _, end, ok := strings.Cut(source, " // "); ok && len(end) == 1 {
					want = trace.LineState(end[0])
				}
				state := trace.LineNoCode
				for id := range got.Trace.Functions {
					l, ok := got.Trace.Lines[trace.FuncID(id)]
					if !ok {
						t.Fatalf("%s has no lines", got.Trace.Functions[id].Name)
					}
					switch s := l.At(line); {
					case s == trace.LineRan, state == trace.LineNoCode, s == trace.LineUnknown && state == trace.LineNotRun:
						state = s
					}
				}
				if state != want {
					t.Errorf("line %d is %c, want %c: %s", line, state, want, strings.TrimSpace(source))
				}
			}
		})
	}
}

// TestInitialOrder: what the recorder declares does not put off the initialisation of variables that need what has marks.
func TestInitialOrder(t *testing.T) {
	dir := module(t, "initorder", "1.24")
	for name, more := range map[string][]string{"plain": nil, "cover": {"-cover"}} {
		env := []string{"GOCOVERDIR=" + t.TempDir()}
		alone := recordtest.Untraced(t, recordtest.Run{Job: recordtest.Job{Args: []string{build(t, dir, more...)}}, Env: env})
		if !strings.Contains(alone.Stdout, "false false") {
			t.Fatalf("it says %s%s", alone.Stdout, alone.Stderr)
		}
		for with, flags := range map[string][]string{"calls": tool(t), "lines": lined(t), "lines and values": withValues(t)} {
			got := recordtest.Record(t, recordtest.Run{Job: recordtest.Job{Args: []string{build(t, dir, append(flags, more...)...)}}, Env: env})
			if got.Stdout != alone.Stdout {
				t.Errorf("%s, %s: it says %salone %s", name, with, got.Stdout, alone.Stdout)
			}
		}
	}
}

// TestLinesOfPrograms compares lines of real programs with coverage counters. These count a whole block when it begins: what is
// wrong by them in a block that did not end is printed, and looked at.
func TestLinesOfPrograms(t *testing.T) {
	if os.Getenv("TRACERAG_REAL") == "" {
		t.Skip("TRACERAG_REAL is not set")
	}
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range real.Selected() {
		module := p.Package
		if i := strings.Index(module, "/cmd/"); i >= 0 {
			module = module[:i]
		}
		if !slices.Contains([]string{"gojq", "shfmt", "yq", "esbuild"}, p.Name) {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			dir, stdin := p.Dir(t), func() io.Reader { return strings.NewReader(p.Stdin) }
			want := counters(t, append([]string{covered(t, p, module)}, p.Args...), dir, stdin())
			rebuilt := real.Install(t, p, lined(t)...)
			got := recordtest.Record(t, recordtest.Run{Job: recordtest.Job{Args: append([]string{rebuilt}, p.Args...), Dir: dir}, Stdin: stdin(), Env: []string{"GOMAXPROCS=1"}})
			if err := got.Trace.Check(); err != nil {
				t.Error(err)
			}
			var y tally
			for _, file := range slices.Sorted(maps.Keys(sources(got.Trace))) {
				path := file
				if _, below, ok := strings.Cut(file, "/pkg/mod/"); ok {
					path = below
				}
				of, rest, ok := strings.Cut(path, "@")
				_, rest, within := strings.Cut(rest, "/")
				if c := want[of+"/"+rest]; ok && within && c != nil {
					y.compare(t, got.Trace, file, filepath.Join(strings.TrimSpace(string(cache)), path), c)
				}
			}
			t.Logf("%s: %d lines, %d wrong, %d unknown\n%s", p.Name, y.all, y.wrong, y.unknown, &y.said)
			if y.all < 500 || y.wrong*500 > y.all {
				t.Errorf("%d of %d lines are wrong", y.wrong, y.all)
			}
		})
	}
}

// covered builds a program with coverage counters. go install of a package at a version has none.
func covered(t *testing.T, p real.Program, module string) string {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{{"mod", "init", "example.com/real"}, {"get", p.Package + "@" + p.Version}, {"build", "-o", "app", "-cover", "-covermode=set", "-coverpkg=" + module + "/...", p.Package}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, said)
		}
	}
	return filepath.Join(dir, "app")
}

// sources are the files of the functions of a trace.
func sources(tr *trace.Trace) map[string]bool {
	out := map[string]bool{}
	for i := range tr.Functions {
		out[tr.Functions[i].File] = true
	}
	return out
}

// TestNoLines: without the mark in the compiler's arguments a program has none of its own.
func TestNoLines(t *testing.T) {
	got := recordtest.Record(t, recordtest.Run{Job: recordtest.Job{Args: []string{fixtures.Build(t, "recursion", tool(t)...)}}})
	if len(got.Trace.Lines) > 0 || recordtest.Counts(got.Trace)["main.main"] != 1 {
		t.Errorf("%v", got.Trace.Lines)
	}
}

// TestLinesOfKilled: what ran before a SIGKILL is known.
func TestLinesOfKilled(t *testing.T) {
	got := recordtest.Record(t, recordtest.Run{Job: recordtest.Job{Args: []string{fixtures.Build(t, "exits", lined(t)...), "-how", "kill"}}})
	i := slices.IndexFunc(got.Trace.Functions, func(f trace.Function) bool { return f.Name == "main.main" })
	l := got.Trace.Lines[trace.FuncID(i)]
	if got.Trace.Exit.Signal != "SIGKILL" || l.Count(trace.LineRan) < 3 || l.Count(trace.LineNotRun) < 3 {
		t.Errorf("%v %+v", got.Trace.Exit, l)
	}
}
