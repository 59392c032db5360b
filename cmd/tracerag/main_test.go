package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/rogpeppe/go-internal/testscript"

	"tracerag/fixtures"
	"tracerag/llm/llmtest"
	"tracerag/repair/sandbox"
	"tracerag/trace/store"
)

var update = flag.Bool("update", false, "rewrite what the scripts compare with")

// testCommands are programs that this test binary can be, by their names.
var testCommands = map[string]func(){"tracerag": main}

func TestMain(m *testing.M) {
	os.Setenv("GORACE", goRace)
	testscript.Main(m, testCommands)
}

// goRace takes away the second for which the race detector waits at the end of
// each process: the tests start hundreds.
const goRace = "atexit_sleep_ms=0"

// commandPath is where the command is, for tests that run it as a process of its
// own: testscript.Main puts it in PATH.
func commandPath(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("tracerag")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestScripts runs the command as a user does. Beside testscript's own commands
// the scripts have those of scriptCommands, and begin in an empty directory with
// the environment that testscript makes: none of the user's keys and models is in
// it.
func TestScripts(t *testing.T) {
	t.Parallel()
	// Built here: a script cannot say what is wrong with a build.
	programs := map[string]string{}
	for _, name := range []string{"starts", "twice", "exits", "stdio", "server", "values", "changes"} {
		programs[name] = fixtures.Build(t, name)
	}
	testscript.Run(t, testscript.Params{
		Dir:                filepath.Join("testdata", "script"),
		UpdateScripts:      *update,
		RequireUniqueNames: true,
		Setup:              setUp,
		Cmds:               scriptCommands(programs),
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "record", "probe": // on this system, with this recorder
				return runtime.GOOS == "linux" && runtime.GOARCH == "amd64", nil
			case "postgres":
				return hasPostgres()
			case "sandbox":
				exe, err := exec.LookPath("tracerag")
				_, limits, _ := sandbox.New([]string{exe, sandboxArg}).Check(context.Background())
				return len(unenforced(limits)) == 0, err
			case "root":
				return os.Getuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
	})
}

// setUp gives a script a home of its own, so that nothing is left by another script or by another run of the tests, and the go
// command's caches of whoever runs them.
func setUp(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, ".home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return err
	}
	env.Setenv("HOME", home)
	env.Setenv("GORACE", goRace)
	settings, err := goSettings()
	for name, value := range settings {
		env.Setenv(name, value)
	}
	return err
}

// goSettings are the settings of the go command that say where it finds and keeps packages.
var goSettings = sync.OnceValues(func() (map[string]string, error) {
	out, err := exec.Command("go", "env", "-json", "GOCACHE", "GOMODCACHE", "GOPROXY", "GOSUMDB", "GONOSUMDB").Output()
	if err != nil {
		return nil, err
	}
	settings := map[string]string{}
	return settings, json.Unmarshal(out, &settings)
})

func scriptCommands(programs map[string]string) map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"app":      cmdApp,
		"arm64":    cmdArm64,
		"code":     cmdCode,
		"group":    cmdGroup,
		"fixture":  func(ts *testscript.TestScript, _ bool, args []string) { cmdFixture(ts, programs, args) },
		"model":    cmdModel,
		"postgres": cmdPostgres,
		"nowhere":  cmdNowhere,
		"profile":  cmdProfile,
		"requests": cmdRequests,
		"trace":    cmdTrace,
		"until":    cmdUntil,
	}
}

// until TEXT COMMAND [ARG...] runs a command again and again until it succeeds and its output has a text. The
// first number of that line is put into $NUMBER: that of a job depends on what came before it.
func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until TEXT COMMAND [ARG...]")
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		err := ts.Exec(args[1], args[2:]...)
		if err == nil && strings.Contains(ts.ReadFile("stdout"), args[0]) {
			before, _, _ := strings.Cut(ts.ReadFile("stdout"), args[0])
			ts.Setenv("NUMBER", firstNumber.FindString(before[strings.LastIndexByte(before, '\n')+1:]+args[0]))
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%q never comes: %v\n%s", args[0], err, ts.ReadFile("stdout"))
		}
	}
}

var firstNumber = regexp.MustCompile("[0-9]+")

// app puts the sources of testdata/program into the directory app, and goes
// there.
func cmdApp(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.CopyFS(ts.MkAbs("app"), os.DirFS(filepath.Join(testDir, "testdata", "program"))))
	ts.Check(ts.Chdir(ts.MkAbs("app")))
}

// testDir is where go test runs this package's tests.
var testDir, _ = os.Getwd()

// code N COMMAND [ARG...] runs a command that must exit with N.
func cmdCode(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// fixture NAME [FILE] puts a program of package fixtures there.
func cmdFixture(ts *testscript.TestScript, programs map[string]string, args []string) {
	path, ok := programs[args[0]]
	if !ok {
		ts.Fatalf("no fixture %q is built", args[0])
	}
	data, err := os.ReadFile(path)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[len(args)-1]), data, 0o755))
}

// arm64 FILE puts testdata/program there, built for another machine.
func cmdArm64(ts *testscript.TestScript, _ bool, args []string) {
	cmd := exec.Command("go", "build", "-o", ts.MkAbs(args[0]), ".")
	cmd.Dir = filepath.Join(testDir, "testdata", "program")
	cmd.Env = append(os.Environ(), "GOARCH=arm64", "GOWORK=off", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		ts.Fatalf("go build: %v\n%s", err, out)
	}
}

// trace NAME... saves hand-made traces in the order of their names, and sets a
// variable of each name to its id. NAME@old is of a program that was built before
// its sources were changed.
func cmdTrace(ts *testscript.TestScript, _ bool, args []string) {
	for _, arg := range args {
		name, old := strings.CutSuffix(arg, "@old")
		var built time.Time
		if old {
			built = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
		}
		tr, err := makeTrace(name, built)
		ts.Check(err)
		e, err := store.Open(ts.MkAbs(".tracerag")).Save(tr)
		ts.Check(err)
		ts.Setenv(name, e.ID)
	}
}

// profile FILE writes a CPU profile of a program with one busy function.
//
//	-of PROGRAM   that program, as another build
//	-self         instead, a profile of this test's own goroutines
func cmdProfile(ts *testscript.TestScript, _ bool, args []string) {
	function := func(id uint64, name string) *profile.Location {
		f := &profile.Function{ID: id, Name: name, SystemName: name, Filename: "/src/busy/main.go", StartLine: int64(10 * id)}
		return &profile.Location{ID: id, Line: []profile.Line{{Function: f, Line: f.StartLine + 1}}}
	}
	busy, main := function(1, "main.busy"), function(2, "main.main")
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}},
		Sample:     []*profile.Sample{{Location: []*profile.Location{busy, main}, Value: []int64{42}}},
		Location:   []*profile.Location{busy, main},
		Function:   []*profile.Function{busy.Line[0].Function, main.Line[0].Function},
	}
	f, err := os.Create(ts.MkAbs(args[len(args)-1]))
	ts.Check(err)
	switch args[0] {
	case "-self":
		err = pprof.Lookup("goroutine").WriteTo(f, 0)
	case "-of":
		p.Mapping = []*profile.Mapping{{ID: 1, File: args[1], BuildID: "0bad0bad"}}
		fallthrough
	default:
		err = p.Write(f)
	}
	ts.Check(errors.Join(err, f.Close()))
}

// servers are the model servers by the script that started them.
var servers sync.Map

// model STEP... starts a model server that answers the requests by the steps, the
// last one again and again, and points the environment to it. A step is
//
//	TEXT             the answer
//	drop:TEXT        the answer breaks off after this
//	slow:TEXT        the answer comes slowly
//	hang:TEXT        nothing more comes after this
//	file:NAME        the answer is in a file
//	length:TEXT      the answer ends at a limit of tokens
//	lines:TEXT       a line "LABEL: TEXT" for each that a question about summaries ends with
//	STATUS:MESSAGE   a refusal; STATUS:CODE:MESSAGE with OpenAI's code
//	wait:STATUS      a refusal with Retry-After: 1
func cmdModel(ts *testscript.TestScript, _ bool, args []string) {
	var steps []llmtest.Step
	for _, arg := range args {
		kind, rest, _ := strings.Cut(arg, ":")
		status, err := strconv.Atoi(kind)
		switch {
		case err == nil:
			code, message, ok := strings.Cut(rest, ":")
			if !ok {
				code, message = "", rest
			}
			steps = append(steps, llmtest.RefuseCode(status, code, message))
		case kind == "drop":
			steps = append(steps, llmtest.DropAfter(rest))
		case kind == "slow":
			steps = append(steps, llmtest.Step{Text: rest, Delay: 50 * time.Millisecond})
		case kind == "hang":
			steps = append(steps, llmtest.Step{Text: rest, Hang: true})
		case kind == "lines":
			steps = append(steps, llmtest.Step{Reply: func(message string) string { return lines(message, rest) }})
		case kind == "vectors": // texts with the word are far from all others
			steps = append(steps, llmtest.Step{Embed: func(text string) []float32 {
				if strings.Contains(text, rest) {
					return []float32{1, 0}
				}
				return []float32{.1, 1}
			}})
		case kind == "file": // a text of several lines
			steps = append(steps, llmtest.Step{Text: ts.ReadFile(rest)})
		case kind == "length":
			steps = append(steps, llmtest.Step{Text: rest, Finish: "length"})
		case kind == "wait":
			status, err := strconv.Atoi(rest)
			ts.Check(err)
			steps = append(steps, llmtest.Step{Status: status, Body: `{"error":{"message":"slow down"}}`, Header: map[string]string{"Retry-After": "1"}})
		default:
			steps = append(steps, llmtest.Step{Text: arg, Usage: &llmtest.Usage{PromptTokens: 2000, CompletionTokens: 100, CachedTokens: 1500}})
		}
	}
	srv, err := llmtest.Serve(steps)
	ts.Check(err)
	ts.Defer(srv.Close)
	servers.Store(ts, srv)
	ts.Setenv("OPENAI_BASE_URL", srv.URL())
	ts.Setenv("TRACERAG_MODEL", "gpt-4o")
	ts.Setenv("OPENAI_API_KEY", testKey)
}

// lines are the lines that a question about summaries asks for.
func lines(message, text string) string {
	_, asked, ok := strings.Cut(message, "Answer with these lines")
	if !ok {
		return text
	}
	_, asked, _ = strings.Cut(asked, "\n\n")
	var b strings.Builder
	for line := range strings.Lines(asked) {
		label, _, _ := strings.Cut(line, ":")
		fmt.Fprintf(&b, "%s: %s\n", label, text)
	}
	return b.String()
}

// testKey is a key as OpenAI's look.
const testKey = "sk-test-4f1c0ffee4f1c0ffee4f1c0ffee"

// requests N [FILE] checks how many requests the server has got so far, and
// writes the messages of the last one to FILE.
func cmdRequests(ts *testscript.TestScript, _ bool, args []string) {
	srv, ok := servers.Load(ts)
	if !ok {
		ts.Fatalf("no model was started")
	}
	reqs := srv.(*llmtest.Server).Requests()
	if want := args[0]; strconv.Itoa(len(reqs)) != want {
		ts.Fatalf("%d requests were made, want %s", len(reqs), want)
	}
	if len(args) > 1 {
		var b strings.Builder
		for _, m := range reqs[len(reqs)-1].Chat.Messages {
			fmt.Fprintf(&b, "--- %s ---\n%s\n", m.Role, m.Content)
		}
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(b.String()), 0o644))
	}
}

// nowhere TEXT fails if TEXT is in the last command's output or in any file
// below the script's directory, in compressed ones, too. Without TEXT it looks
// for the key that model configured.
func cmdNowhere(ts *testscript.TestScript, _ bool, args []string) {
	text := testKey
	if len(args) > 0 {
		text = args[0]
	}
	for _, out := range []string{"stdout", "stderr"} {
		if strings.Contains(ts.ReadFile(out), text) {
			ts.Fatalf("%s holds %s", out, text)
		}
	}
	ts.Check(filepath.WalkDir(ts.Getenv("WORK"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if z, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
			if data, err = io.ReadAll(z); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
		if bytes.Contains(data, []byte(text)) {
			return fmt.Errorf("%s holds %s", path, text)
		}
		return nil
	}))
}
