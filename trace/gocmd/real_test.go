package gocmd

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
)

// recorderArg makes the test program the recorder: it appends what it was given to
// a file and runs the program.
const recorderArg = "recorder-of-gocmd"

func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == recorderArg {
		os.Exit(fakeRecorder(os.Args[2], os.Args[3:]))
	}
	os.Exit(m.Run())
}

func fakeRecorder(log string, args []string) int {
	f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 126
	}
	fmt.Fprintln(f, filepath.Base(args[0]), strings.Join(args[1:], " "))
	f.Close()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, err)
		return 126
	}
	return cmd.ProcessState.ExitCode()
}

// The module that the commands below work on. Its functions are small enough for
// the compiler to inline, and tell whether it did.
var module = map[string]string{
	"go.mod": "module example.com/m\n\ngo 1.21\n",
	"cmd/app/main.go": `package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"example.com/m/lib"
)

func main() {
	code := flag.Int("exit", 0, "")
	flag.Parse()
	in, _ := io.ReadAll(os.Stdin)
	dir, _ := os.Getwd()
	fmt.Println(flag.Args(), lib.Double(21), string(in), dir, os.Getenv("PWD") == dir)
	fmt.Fprintln(os.Stderr, "to stderr")
	os.Exit(*code)
}
`,
	"cmd/app/tagged.go":  "//go:build other\n\npackage main\n\nimport \"fmt\"\n\nfunc init() { fmt.Println(\"tagged\") }\n",
	"cmd/broken/main.go": "package main\n\nfunc main() { return 1 }\n",
	"cmd/inlined/main.go": `package main

import (
	"fmt"
	"runtime"
	"strings"
	"sync"

	"example.com/m/lib"
)

// The frames of the callers of where: which of them the compiler inlined, and
// then have no function of their own.
func where() {
	pc := make([]uintptr, 50)
	frames := runtime.CallersFrames(pc[:runtime.Callers(2, pc)])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "runtime.") {
			fmt.Println(f.Function, "inlined:", f.Func == nil)
		}
		if !more {
			return
		}
	}
}

func viaStd() { sync.OnceFunc(func() { lib.Calls(where) })() }

func main() { viaStd() }
`,
	"lib/lib.go": "package lib\n\nfunc Double(x int) int { return x + x }\n\nfunc Calls(f func()) { f() }\n",
	"lib/lib_test.go": `package lib

import (
	"flag"
	"os"
	"testing"
)

var mine = flag.String("mine", "", "")

func TestDouble(t *testing.T) {
	dir, _ := os.Getwd()
	t.Log(Double(21), *mine, flag.Args(), dir == os.Getenv("PWD"), testing.Short())
	if _, err := os.ReadFile("lib.go"); err != nil {
		t.Fatal(err)
	}
}

func TestFails(t *testing.T) {
	if *mine == "fail" {
		t.Fatal("as asked for")
	}
	if *mine == "exit" {
		os.Exit(0)
	}
}

func BenchmarkDouble(b *testing.B) {
	for i := 0; i < b.N; i++ {
		Double(i)
	}
}
`,
	"none/none.go":          "package none\n",
	"wrong/wrong.go":        "package wrong\n",
	"wrong/wrong_test.go":   "package wrong\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) { undefined() }\n",
	"vetted/vetted.go":      "package vetted\n",
	"vetted/vetted_test.go": "package vetted\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) { t.Errorf(\"%d\", \"x\") }\n",
	"other/other.go":        "package other\n",
	"other/other_test.go":   "package other_test\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {}\n",
	"other/sub/file.go":     "package main\n\nimport \"os\"\n\nfunc main() { println(len(os.Args), name) }\n",
	"other/sub/file2.go":    "package main\n\nconst name = \"x\"\n",
	"other/sub/ignored.go":  "package main\n\nconst name = \"y\"\n",
}

// TestAgainstTheGoCommand runs commands with the plain go command and rewritten,
// and compares what a user sees of them.
func TestAgainstTheGoCommand(t *testing.T) {
	if testing.Short() {
		t.Skip("some thirty builds")
	}
	dir := realDir(t)
	write(t, dir, module)
	for _, test := range []struct {
		args string   // words separated by |
		runs []string // what the recorder was given, in order of package
	}{
		{"go|run|./cmd/app", []string{"app "}},
		{"go|run|./cmd/app|-exit=3|a b|-v", []string{"app -exit=3 a b -v"}},
		{"go|run|-tags|other|example.com/m/cmd/app|x", []string{"app x"}},
		{"go|-C|cmd/app|run|.|x", []string{"app x"}},
		{"go|run|-C|cmd/app|main.go|x.txt", []string{"main x.txt"}},
		{"go|run|other/sub/file.go|other/sub/file2.go|a", []string{"file a"}},
		{"go|run|./cmd/broken", nil},
		{"go|run|./lib", nil},
		{"go|run|./nowhere", nil},
		{"go|run|-nosuchflag|./cmd/app", nil},
		{"go|run", nil},
		{"go|test|./lib", []string{"lib.test -test.paniconexit0 -test.timeout=10m0s"}},
		{"go|test|-run|Double|-v|-short|./lib|-mine|a|b", []string{"lib.test -test.paniconexit0 -test.timeout=10m0s -test.run=Double -test.v=true -test.short=true -mine a b"}},
		{"go|test|-count=2|-timeout|1m|./lib|-args|-mine=fail", []string{"lib.test -test.paniconexit0 -test.count=2 -test.timeout=1m0s -mine=fail"}},
		{"go|test|./lib|-mine=exit", []string{"lib.test -test.paniconexit0 -test.timeout=10m0s -mine=exit"}},
		{"go|-C|lib|test|-v", []string{"lib.test -test.paniconexit0 -test.timeout=10m0s -test.v=true"}},
		{"go|test|./lib|./none|./other", []string{"lib.test -test.paniconexit0 -test.timeout=10m0s", "other.test -test.paniconexit0 -test.timeout=10m0s"}},
		{"go|test|-json|-run=Double|./lib", []string{"lib.test -test.paniconexit0 -test.v=test2json -test.timeout=10m0s -test.run=Double"}},
		{"go|test|-cover|./lib", []string{"lib.test -test.paniconexit0 -test.gocoverdir=DIR -test.timeout=10m0s"}},
		{"go|test|-bench=.|-benchtime=10x|./lib", []string{"lib.test -test.paniconexit0 -test.timeout=10m0s -test.bench=. -test.benchtime=10x"}},
		{"go|test|./wrong|./other", []string{"other.test -test.paniconexit0 -test.timeout=10m0s"}},
		{"go|test|./vetted", nil},
		{"go|test|-vet=off|./vetted", []string{"vetted.test -test.paniconexit0 -test.timeout=10m0s"}},
		{"go|test|./nowhere", nil},
		{"go|test|-run", nil},
	} {
		t.Run(test.args, func(t *testing.T) {
			t.Parallel()
			args := strings.Split(test.args, "|")
			want := start(t, dir, args)
			log := filepath.Join(t.TempDir(), "log")
			got := start(t, dir, rewritten(t, args, nil, log))
			if got != want {
				t.Errorf("rewritten:\n%s\nplain:\n%s", got, want)
			}
			if runs := readLog(t, log); !slices.Equal(runs, test.runs) {
				t.Errorf("the recorder was given\n%q\nwant\n%q", runs, test.runs)
			}
		})
	}
}

// TestTestsAreNotTakenFromTheCache: a test that passed is not run again by the go
// command, but nothing would be recorded.
func TestTestsAreNotTakenFromTheCache(t *testing.T) {
	dir := realDir(t)
	write(t, dir, module)
	args := []string{"go", "test", "./other"}
	start(t, dir, args)
	log := filepath.Join(t.TempDir(), "log")
	for range 2 {
		start(t, dir, rewritten(t, args, nil, log))
	}
	if runs := readLog(t, log); len(runs) != 2 {
		t.Errorf("two commands ran the tests %d times", len(runs))
	}
}

// TestInlining asks the program itself what was inlined.
func TestInlining(t *testing.T) {
	dir := realDir(t)
	write(t, dir, module)
	const (
		caller  = "main.viaStd inlined: "
		closure = "main.viaStd.func1 inlined: "
		lib     = "example.com/m/lib.Calls inlined: "
		std     = "sync.(*Once).Do inlined: "
	)
	for _, test := range []struct {
		args    string
		include []string
		want    []string
	}{
		{"go run ./cmd/inlined", nil, []string{caller + "false", lib + "false", std + "true"}},
		{"go run -gcflags=-N ./cmd/inlined", nil, []string{caller + "false", lib + "false", std + "true"}},
		{"go run -gcflags=-l=4 ./cmd/inlined", nil, []string{caller + "false", lib + "false", std + "true"}},
		{"go run ./cmd/inlined", []string{"main", "sync"}, []string{caller + "false", lib + "false", std + "false"}},
	} {
		args := rewritten(t, strings.Fields(test.args), test.include, filepath.Join(t.TempDir(), "log"))
		out := start(t, dir, args)
		for _, want := range test.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", test.args, want, out)
			}
		}
	}
	// The program does tell the difference.
	if out := start(t, dir, []string{"go", "run", "./cmd/inlined"}); !strings.Contains(out, lib+"true") {
		t.Errorf("nothing is inlined in the plain program:\n%s", out)
	}
}

func rewritten(t *testing.T, args, include []string, log string) []string {
	t.Helper()
	c, err := Parse(args)
	if err != nil || c == nil {
		t.Fatalf("%q: %v, %v", args, c, err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.Rewrite([]string{exe, recorderArg, log}, include, "")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var changing = regexp.MustCompile(`[ \t]*\(cached\)|[ \t]*[0-9.]+ ?n?s(/op)?\b|"(Time|Elapsed)":("[^"]*"|[0-9.]+)|0x[0-9a-f]+|goroutine [0-9]+`)

// start runs a command and returns what a user sees: output, errors, exit code.
func start(t *testing.T, dir string, args []string) string {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off", "PWD="+dir)
	cmd.Stdin = strings.NewReader("from stdin")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	text := fmt.Sprintf("stdout:\n%sstderr:\n%sexit code %d", &stdout, &stderr, cmd.ProcessState.ExitCode())
	return changing.ReplaceAllString(text, "_")
}

func readLog(t *testing.T, log string) []string {
	data, err := os.ReadFile(log)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`-test.gocoverdir=\S+`).ReplaceAllString(string(data), "-test.gocoverdir=DIR")
	if runtime.GOOS == "windows" {
		text = strings.ReplaceAll(text, ".exe ", " ")
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	slices.Sort(lines)
	return lines
}

// realDir is a temporary directory by the name that the go command gives it.
func realDir(t *testing.T) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
