package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tracerag/trace"
	"tracerag/trace/store"
)

// goModule is built and run by the go command and by tracerag.
var goModule = map[string]string{
	"go.mod": "module example.com/m\n\ngo 1.22\n",
	"cmd/app/main.go": `package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"example.com/m/lib"
)

func main() {
	code := flag.Int("exit", 0, "")
	kill := flag.Int("kill", 0, "")
	wait := flag.Bool("wait", false, "")
	version := flag.Bool("version", false, "")
	flag.Parse()
	if *version {
		return
	}
	in, _ := io.ReadAll(os.Stdin)
	dir, _ := os.Getwd()
	fmt.Println(flag.Args(), lib.Double(21), string(in), dir)
	fmt.Fprintln(os.Stderr, "to stderr")
	if *kill != 0 {
		die(syscall.Signal(*kill))
	}
	if *wait {
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		fmt.Println("waiting")
		<-c
		*code = 7
	}
	os.Exit(*code)
}

func die(s syscall.Signal) {
	syscall.Kill(os.Getpid(), s)
	time.Sleep(time.Minute)
}
`,
	"cmd/broken/main.go": "package main\n\nfunc main() { return 1 }\n",
	"lib/lib.go":         "package lib\n\n// Double is small enough to be inlined.\nfunc Double(x int) int { return x + x }\n",
	"lib/lib_test.go": `package lib

import (
	"flag"
	"os"
	"testing"
)

var mine = flag.String("mine", "", "")

func TestDouble(t *testing.T) {
	dir, _ := os.Getwd()
	t.Log(Double(21), *mine, dir, os.Getenv("PWD") == dir)
	for range 9 {
		Double(1)
	}
	if *mine == "fail" {
		t.Error("as asked for")
	}
}
`,
	"other/other_test.go": "package other_test\n\nimport (\n\t\"testing\"\n\n\t\"example.com/m/lib\"\n)\n\nfunc TestX(t *testing.T) { lib.Double(3) }\n",
	"other/other.go":      "package other\n",
	"none/none.go":        "package none\n",
}

// goDir is a directory with goModule, where the go command has nothing to look for
// elsewhere.
func goDir(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("no recorder for this system")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range goModule {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOPROXY", "off")
	t.Setenv("TRACERAG_DIR", "")
	return dir
}

// seen is what a user sees of a command.
type seen struct {
	stdout, stderr string
	code           int
}

func (s seen) String() string {
	return fmt.Sprintf("%s-- stderr\n%s-- exit code %d", s.stdout, s.stderr, s.code)
}

var times = regexp.MustCompile(`[ \t]*(\(cached\)|\(?[0-9.]+s\)?)|"(Time|Elapsed)":("[^"]*"|[0-9.]+)`)

func see(t *testing.T, dir string, args ...string) seen {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader("from stdin")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return seen{times.ReplaceAllString(stdout.String(), "_"), times.ReplaceAllString(stderr.String(), "_"), cmd.ProcessState.ExitCode()}
}

// saved returns the traces in dir's store, the oldest first, and empties it.
func saved(t *testing.T, dir string) []*trace.Trace {
	t.Helper()
	s := store.Open(filepath.Join(dir, store.DirName))
	entries, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	var out []*trace.Trace
	for _, e := range entries {
		tr, _, err := s.Load(e.Path)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, tr)
	}
	if err := os.RemoveAll(s.Dir()); err != nil {
		t.Fatal(err)
	}
	return out
}

func callsOf(tr *trace.Trace, function string) (n int64) {
	for _, node := range tr.Nodes {
		if tr.Functions[node.Func].Name == function && node.Flags == 0 {
			n += node.Calls
		}
	}
	return n
}

// TestGoCommands compares go commands with the same under tracerag.
func TestGoCommands(t *testing.T) {
	dir := goDir(t)
	for _, test := range []struct {
		args   string   // words separated by |
		runs   []string // working directories of the programs that are recorded
		double []int64  // calls of lib.Double in each
	}{
		{"go|run|./cmd/app|a b|c", []string{"."}, []int64{1}},
		{"go|run|./cmd/app|-exit=3", []string{"."}, []int64{1}},
		{"go|run|./cmd/app|-kill=9", []string{"."}, []int64{1}},
		{"go|run|./cmd/app|-kill=15", []string{"."}, []int64{1}},
		{"go|-C|cmd/app|run|main.go|x", []string{"cmd/app"}, []int64{1}},
		{"go|run|./cmd/broken", nil, nil},
		{"go|test|./lib", []string{"lib"}, []int64{10}},
		{"go|test|-count=2|-v|./lib|-mine|x", []string{"lib"}, []int64{20}},
		{"go|test|-json|./lib|-args|-mine=fail", []string{"lib"}, []int64{10}},
		{"go|test|./lib|./none|./other", []string{"lib", "other"}, []int64{10, 1}},
		{"go|test|-run=None|./none", nil, nil},
	} {
		t.Run(test.args, func(t *testing.T) {
			args := strings.Split(test.args, "|")
			want := see(t, dir, args...)
			got := see(t, dir, append([]string{"tracerag", "run", "--quiet", "--"}, args...)...)
			if got != want {
				t.Errorf("tracerag:\n%v\nthe go command:\n%v", got, want)
			}
			traces := saved(t, dir)
			slices.SortFunc(traces, func(a, b *trace.Trace) int { return strings.Compare(a.Dir, b.Dir) })
			if len(traces) != len(test.runs) {
				t.Fatalf("%d traces, want %d", len(traces), len(test.runs))
			}
			for i, tr := range traces {
				if !slices.Equal(tr.Command, args) {
					t.Errorf("the trace's command is %q", tr.Command)
				}
				if want := filepath.Join(dir, test.runs[i]); tr.Dir != want {
					t.Errorf("the trace's directory is %s, want %s", tr.Dir, want)
				}
				if n := callsOf(tr, "example.com/m/lib.Double"); n != test.double[i] {
					t.Errorf("%d calls of lib.Double in %s, want %d", n, test.runs[i], test.double[i])
				}
			}
		})
	}
}

// TestGoPackage: a package in place of a program is the go run of it, with the exit
// code of tracerag run.
func TestGoPackage(t *testing.T) {
	dir := goDir(t)
	plain := see(t, dir, "go", "run", "./cmd/app", "x")
	for _, name := range []string{"./cmd/app", "cmd/app", "example.com/m/cmd/app"} {
		if got := see(t, dir, "tracerag", "run", "--quiet", name, "x"); got != plain {
			t.Errorf("%s:\n%v\nwant:\n%v", name, got, plain)
		}
		if tr := saved(t, dir); len(tr) != 1 || !slices.Equal(tr[0].Command, []string{name, "x"}) {
			t.Errorf("%s: traces %+v", name, tr)
		}
	}
	for args, code := range map[string]int{
		"cmd/app -exit=3":  3,
		"cmd/app -kill=9":  137,
		"cmd/broken":       126,
		"./lib":            126,
		"example.com/none": 127,
	} {
		got := see(t, dir, append([]string{"tracerag", "run", "--quiet", "--"}, strings.Fields(args)...)...)
		if got.code != code || strings.Contains(got.stderr, "exit status") || strings.Contains(got.stderr, "signal:") {
			t.Errorf("%s:\n%v\nwant exit code %d", args, got, code)
		}
	}
}

// TestGoFlags: the flags of tracerag run mean what they mean where they are typed,
// wherever the program runs.
func TestGoFlags(t *testing.T) {
	dir := goDir(t)
	run := func(args ...string) seen {
		return see(t, dir, append([]string{"tracerag", "run"}, args...)...)
	}

	got := run("--include", "./lib", "--dir", "traces", "go", "test", "./lib")
	traces, err := filepath.Glob(filepath.Join(dir, "traces", "*.pb.gz"))
	if err != nil || len(traces) != 1 {
		t.Errorf("--dir: traces %v, %v\n%v", traces, err, got)
	}

	got = run("--baseline=-version", "go", "run", "./cmd/app", "x")
	if want := "tracerag: baseline: running go run ./cmd/app -version\n"; !strings.Contains(got.stderr, want) {
		t.Errorf("no %q in:\n%v", want, got)
	}
	if n := strings.Count(got.stdout, "\n"); n != 1 {
		t.Errorf("the program ran %d times for all to see:\n%v", n, got)
	}
	saved(t, dir)

	// What cannot be recorded is said once, by tracerag alone.
	got = run("--include", "x.org/...", "go", "run", "./cmd/app")
	if got.code != 126 || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, "--include x.org/...") {
		t.Errorf("nothing to record:\n%v", got)
	}
	got = run("--include", "x.org/...", "go", "test", "./lib")
	if got.code != 126 || !strings.Contains(got.stdout, "FAIL\texample.com/m/lib") || !strings.Contains(got.stderr, "--include x.org/...") {
		t.Errorf("nothing to record in tests:\n%v", got)
	}
	got = run("go", "test", "-exec=sudo", "./lib")
	if got.code != 126 || got.stdout != "" || !strings.Contains(got.stderr, "go test -exec cannot be recorded") {
		t.Errorf("-exec:\n%v", got)
	}
	got = run("go", "test", "./none")
	if got.code != 0 || !strings.Contains(got.stderr, "go test ran no program: nothing is recorded") {
		t.Errorf("no tests:\n%v", got)
	}

	// No arguments make tests only start.
	for args, advice := range map[string]bool{"test ./lib": false, "run ./cmd/app": true} {
		got = run(append([]string{"go"}, strings.Fields(args)...)...)
		if strings.Contains(got.stderr, "--baseline=ARGS") != advice || !strings.Contains(got.stderr, "call tree: ") {
			t.Errorf("go %s: the advice of a baseline is %t:\n%v", args, !advice, got)
		}
	}
	saved(t, dir)

	// Several traces: each is named.
	got = run("go", "test", "./other", "./lib")
	if n := len(regexp.MustCompile(`(?m)^tracerag: trace [0-9a-f]+: example.com/m/(lib|other).test, `).FindAllString(got.stderr, -1)); n != 2 {
		t.Errorf("%d of two traces are named:\n%v", n, got)
	}
	got = run("--quiet", "-q", "what for?", "go", "test", "./other", "./lib")
	if got.code != 125 || !regexp.MustCompile(`^tracerag: go test ran 2 programs, and a question is about one run\n  tracerag ask [0-9a-f]+ 'what for\?'\n$`).MatchString(got.stderr) {
		t.Errorf("a question about two runs:\n%v", got)
	}
}
