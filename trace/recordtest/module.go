package recordtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"tracerag/trace"
	"tracerag/trace/store"
)

// module is built and run by the go command and by tracerag.
var module = map[string]string{
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

// Module returns a directory with a module of some packages and tests, where the go command has nothing to look for
// elsewhere.
func Module(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("no recorder for this system")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range module {
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

// Seen is what a user sees of a command.
type Seen struct {
	Stdout, Stderr string
	Code           int
}

func (s Seen) String() string {
	return fmt.Sprintf("%s-- stderr\n%s-- exit code %d", s.Stdout, s.Stderr, s.Code)
}

var times = regexp.MustCompile(`[ \t]*(\(cached\)|\(?[0-9.]+s\)?)|"(Time|Elapsed)":("[^"]*"|[0-9.]+)`)

// See runs a command. How long things took is not in what it returns.
func See(t *testing.T, dir string, args ...string) Seen {
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
	return Seen{times.ReplaceAllString(stdout.String(), "_"), times.ReplaceAllString(stderr.String(), "_"), cmd.ProcessState.ExitCode()}
}

// Saved returns the traces in dir's store, the oldest first, and empties it.
func Saved(t *testing.T, dir string) []*trace.Trace {
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

// Calls returns how often a trace has a function called, other than inlined, folded or
// started.
func Calls(tr *trace.Trace, function string) (n int64) {
	for _, node := range tr.Nodes {
		if tr.Functions[node.Func].Name == function && node.Flags == 0 {
			n += node.Calls
		}
	}
	return n
}

// Names returns the names of traces.
func Names(traces []*trace.Trace) (names []string) {
	for _, tr := range traces {
		names = append(names, tr.Name)
	}
	return names
}

// testModule has tests of every kind, of which one fails, in two packages.
var testModule = map[string]string{
	"each/each.go": "package each\n\nfunc Start() {}\n\nfunc Double(x int) int { return x + x }\n\nfunc Half(x int) int { return x / 2 }\n",
	"each/each_test.go": `package each

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	fmt.Fprintln(os.Stderr, "TestMain was here")
	Start()
	os.Exit(m.Run())
}

func TestDouble(t *testing.T) {
	for _, name := range []string{"a", "b"} {
		t.Run(name, func(t *testing.T) { Double(1) })
	}
}

func TestHalf(t *testing.T) {
	if Half(3) != 2 {
		t.Error("half of three")
	}
}

func TestPanic(t *testing.T) { panic("so there") }

func TestSkipped(t *testing.T) { t.Skip() }

func ExampleDouble() {
	fmt.Println(Double(2))
	// Output: 4
}

func FuzzHalf(f *testing.F) {
	f.Add(4)
	f.Add(6)
	f.Fuzz(func(t *testing.T, x int) { Half(x) })
}

func BenchmarkDouble(b *testing.B) {
	for range b.N {
		Double(3)
	}
}
`,
}

// Tests returns a directory with Module's module and tests of every kind in it.
func Tests(t *testing.T) string {
	dir := Module(t)
	for name, text := range testModule {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// HangingTests returns a directory with three tests, of which the second takes a minute and says so by a file.
func HangingTests(t *testing.T) string {
	t.Helper()
	dir := Module(t)
	text := `package lib

import (
	"os"
	"testing"
	"time"
)

func TestHang(*testing.T) {
	_ = os.WriteFile("hanging", nil, 0o644)
	time.Sleep(time.Minute)
}

func TestLast(*testing.T) { Double(1) }
`
	if err := os.WriteFile(filepath.Join(dir, "lib", "more_test.go"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}
