package rebuild_test

import (
	"cmp"
	"errors"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tracerag/fixtures"
	"tracerag/fixtures/random"
	"tracerag/trace"
	"tracerag/trace/rebuild"
	"tracerag/trace/recordtest"
	"tracerag/trace/target"
)

// flags build without inlining, as for every recorder.
var flags = []string{"-gcflags=all=-l", "-gcflags=std="}

func tool(t testing.TB) []string {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append(slices.Clone(flags), "-toolexec="+self+" tool")
}

// programs are fixtures with arguments.
var programs = map[string][]string{
	"closures": nil, "counters": nil, "cgocalls": nil, "deepstack": nil, "execchild": nil, "generics": nil, "goroutines": nil, "inits": nil, "inlining": nil,
	"interfaces": nil, "lines": nil, "orders": nil, "panics": nil, "places": nil, "recursion": nil, "values": nil,
}

// TestTrees holds the trees of all fixtures against those of the probe: nodes, counts, order, call sites, goroutines.
func TestTrees(t *testing.T) {
	for name, args := range programs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain := append([]string{fixtures.Build(t, name, flags...)}, args...)
			rebuilt := append([]string{fixtures.Build(t, name, lined(t)...)}, args...)
			env := []string{"GOMAXPROCS=1"}
			want := recordtest.Record(t, recordtest.Run{Job: recordtest.Job{Args: plain}, Env: env})
			got := recordtest.Record(t, recordtest.Run{Job: recordtest.Job{Args: rebuilt}, Env: env})
			same(t, recordtest.Tree(got.Trace), without(recordtest.Tree(want.Trace), differences[name]))
			alone := recordtest.Untraced(t, recordtest.Run{Job: recordtest.Job{Args: plain}, Env: env})
			if got.Stdout != alone.Stdout || got.Code != alone.Code {
				t.Errorf("recorded it ends with %d and prints\n%s\nalone with %d, and\n%s", got.Code, got.Stdout, alone.Code, alone.Stdout)
			}
		})
	}
}

// differences are where the tree is another one, as old and new text of the probe's.
var differences = map[string][]string{
	// These are not rewritten, and named in the trace.
	"cgocalls": {"main._Cfunc_add 3 :29\n", "", "main._Cfunc_visit 1 :34\n", "", "main._Cfunc_visitOnThread 1 :39\n", ""},
	// The frame of a function that meets nil is there here, and what was deferred is called with it on the stack. A
	// function without a frame has none in the ordinary program.
	"counters": {"main.nosplit 100 :95\n", "",
		"main.(*point).field 5 :388\n        main.nilField.func1 5 :388 via\n", "main.(*point).field 5 :388\n          main.nilField.func1 5 :151 via\n"},
	"panics": {"main.(*node).value 2 :99\n    main.nilField.func1 1 :99\n    main.nilField.func1 1 :99 via\n      main.after 1 :96\n",
		"main.(*node).value 2 :99\n      main.nilField.func1 1 :88 via\n        main.after 1 :96\n    main.nilField.func1 1 :99\n"},
}

// without applies differences. Lines below a line that goes move to the left.
func without(tree string, replaced []string) string {
	for i := 0; i < len(replaced); i += 2 {
		if replaced[i+1] != "" {
			tree = strings.Replace(tree, replaced[i], replaced[i+1], 1)
			continue
		}
		var out []string
		below := -1
		for line := range strings.Lines(tree) {
			depth := len(line) - len(strings.TrimLeft(line, " "))
			if strings.TrimLeft(line, " ") == replaced[i] {
				below = depth
				continue
			}
			if below >= 0 && depth > below {
				line = line[2:]
			} else {
				below = -1
			}
			out = append(out, line)
		}
		tree = strings.Join(out, "")
	}
	return tree
}

// same compares a tree with the probe's.
func same(t *testing.T, g, w string) {
	t.Helper()
	if g == w {
		return
	}
	a, b := strings.Split(g, "\n"), strings.Split(w, "\n")
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			t.Errorf("line %d of the tree:\n%s\nthe probe's:\n%s", i+1, strings.Join(a[max(0, i-6):min(len(a), i+4)], "\n"), strings.Join(b[max(0, min(i-6, len(b))):min(len(b), i+4)], "\n"))
			return
		}
	}
	t.Errorf("the probe's tree has %d lines, this one %d", len(b), len(a))
}

// TestRandom holds programs of random calls, goroutines, panics and recursions against their own counters.
func TestRandom(t *testing.T) {
	n := uint64(3)
	if testing.Short() {
		n = 1
	}
	for seed := range n {
		got := recordtest.Record(t, recordtest.Run{Job: recordtest.Job{Args: []string{random.Build(t, seed, tool(t)...), "1", "2000"}}})
		want, _, err := random.Counts(got.Stdout)
		if err != nil {
			t.Fatal(err)
		}
		counts := map[string]int64{}
		for name, n := range recordtest.Counts(got.Trace) {
			counts[random.Name(name)] += n
		}
		for name, n := range want {
			if counts[name] != n {
				t.Errorf("seed %d: %s was called %d times, and has %d", seed, name, n, counts[name])
			}
		}
	}
}

// module makes a module of a program in testdata.
func module(t *testing.T, name, release string) string {
	t.Helper()
	program, err := os.ReadFile(filepath.Join("testdata", name+".go.txt"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for file, text := range map[string]string{"main.go": string(program), "go.mod": "module example.com/" + name + "\n\ngo " + release + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var update = flag.Bool("update", false, "write the golden files")

// TestReleases builds a program with each release of Go whose runtime is known, for each system on which programs can be run.
// Only the release that runs the test is there without a download.
func TestReleases(t *testing.T) {
	releases := []string{""}
	if os.Getenv("TRACERAG_REAL") == "all" {
		releases = append(releases, "go1.25.4", "go1.24.10", "go1.23.12", "go1.22.12", "go1.21.13")
	}
	dir := module(t, "releases", "1.21")
	for _, system := range []string{"linux/amd64", "linux/arm64", "windows/amd64"} {
		for _, release := range releases {
			t.Run(system+" "+cmp.Or(release, "own"), func(t *testing.T) {
				out := filepath.Join(t.TempDir(), "app.exe")
				how := recordtest.Run{Job: recordtest.Job{Args: []string{out}}}
				goos, goarch, _ := strings.Cut(system, "/")
				switch {
				case goos == "windows":
					how = inWindows(t, out)
				case goarch == "arm64":
					how.Through = emulator(t)
				}
				cmd := exec.Command("go", append(append([]string{"build", "-o", out}, tool(t)...), ".")...)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch)
				if release != "" {
					cmd.Env = append(cmd.Env, "GOTOOLCHAIN="+release)
				}
				if said, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, said)
				}
				got := recordtest.Record(t, how)
				recordtest.Golden(t, filepath.Join("testdata", "releases.tree"), recordtest.Tree(got.Trace), *update)
			})
		}
	}
}

// TestShapes builds a program in many ways: what it prints is the same, and its tree is that of the probe. The program is
// not formatted as gofmt does it, with several things on a line.
func TestShapes(t *testing.T) {
	shapes := module(t, "shapes", "1.26")
	ways := map[string][]string{"plain": nil, "cover": {"-cover"}, "stripped": {"-ldflags=-s -w"}, "unchecked": {"-gcflags=example.com/shapes=-l -B"}}
	if os.Getenv("TRACERAG_REAL") == "all" { // for these the standard library is built once more
		maps.Copy(ways, map[string][]string{"race": {"-race"}, "trimpath": {"-trimpath"}, "pie": {"-buildmode=pie"}})
	}
	for name, more := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			build := func(flags ...string) string {
				t.Helper()
				out := filepath.Join(dir, strconv.Itoa(len(flags)))
				cmd := exec.Command("go", slices.Concat([]string{"build", "-o", out}, flags, more, []string{"."})...)
				cmd.Dir = shapes
				if said, err := cmd.CombinedOutput(); err != nil {
					if name == "race" && strings.Contains(string(said), "cgo") {
						t.Skipf("%s", said)
					}
					t.Fatalf("%v\n%s", err, said)
				}
				return out
			}
			plain, rebuilt := build(flags...), build(lined(t)...)
			env := []string{"GOMAXPROCS=1", "GOCOVERDIR=" + dir}
			want := recordtest.Record(t, recordtest.Run{Job: recordtest.Job{Args: []string{plain}}, Env: env})
			got := recordtest.Record(t, recordtest.Run{Job: recordtest.Job{Args: []string{rebuilt}}, Env: env})
			if alone := recordtest.Untraced(t, recordtest.Run{Job: recordtest.Job{Args: []string{plain}}, Env: env}); got.Stdout != alone.Stdout || got.Stderr != alone.Stderr || got.Code != alone.Code {
				t.Errorf("recorded it ends with %d and prints\n%s%s\nalone with %d, and\n%s%s", got.Code, got.Stdout, got.Stderr, alone.Code, alone.Stdout, alone.Stderr)
			}
			same(t, recordtest.Tree(got.Trace), without(recordtest.Tree(want.Trace), []string{"main.split 1 :140\n    main.split.func1 1 :48\n", "main.split.func1 1 :140 via\n"}))
			if !slices.ContainsFunc(got.Trace.Losses, func(l trace.Loss) bool { return l.Function == "main.split" }) {
				t.Errorf("main.split is not named: %v", got.Trace.Losses)
			}
		})
	}
}

// TestFull: a program with more contexts than there is room for does what it does alone, and the trace tells of the others.
func TestFull(t *testing.T) {
	args := []string{fixtures.Build(t, "orders", tool(t)...)}
	got := recordtest.Record(t, recordtest.Run{Job: recordtest.Job{Args: args, Memory: 4 << 10}})
	if alone := recordtest.Untraced(t, recordtest.Run{Job: recordtest.Job{Args: args}}); got.Stdout != alone.Stdout || got.Code != alone.Code {
		t.Errorf("%d %s", got.Code, got.Stdout)
	}
	if !slices.ContainsFunc(got.Trace.Losses, func(l trace.Loss) bool { return l.Kind == trace.LossOverflow && l.Count > 0 }) {
		t.Errorf("%v", got.Trace.Losses)
	}
}

// TestPlain: a program without the recorder is not run in vain.
func TestPlain(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "ran")
	tgt, err := target.Find([]string{fixtures.Build(t, "changes"), "-mark", mark}, t.TempDir(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rebuild.Record(t.Context(), tgt, rebuild.Options{}); !errors.Is(err, rebuild.ErrPlain) {
		t.Error(err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("it ran")
	}
}

// TestKilled: what was called before a SIGKILL is in the trace.
func TestKilled(t *testing.T) {
	got := recordtest.Record(t, recordtest.Run{Job: recordtest.Job{Args: []string{fixtures.Build(t, "exits", tool(t)...), "-how", "kill"}}})
	if got.Trace.Exit.Signal != "SIGKILL" || recordtest.Counts(got.Trace)["main.main"] != 1 {
		t.Errorf("%v\n%s", got.Trace.Exit, recordtest.Tree(got.Trace))
	}
}

// TestAddressSpace: where the address space has a limit, the recorder takes little of it.
func TestAddressSpace(t *testing.T) {
	for _, limit := range []string{"-v 3000000", "-f 1000000"} { // and of files
		cmd, out := recordtest.Command(t, t.Context(), recordtest.Job{Args: []string{fixtures.Build(t, "recursion", tool(t)...)}})
		cmd.Args = []string{"sh", "-c", "ulimit " + limit + " && exec " + cmd.Path}
		cmd.Path = "/bin/sh"
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", limit, err, said)
		}
		if tr := recordtest.ReadTrace(t, out, ""); recordtest.Counts(tr)["main.main"] != 1 {
			t.Error(limit, recordtest.Tree(tr))
		}
	}
}
