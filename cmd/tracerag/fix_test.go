package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"tracerag/llm/llmtest"
	"tracerag/repair/patch"
)

// repairable is a module with a fault, and a test that shows it.
var repairable = map[string]string{
	"go.mod":            "module example.com/app\n\ngo 1.26\n",
	"table/table.go":    "package table\n\nimport \"strings\"\n\n// Border draws a border of n signs.\nfunc Border(n int) string { return line(n - 1) }\n\nfunc line(n int) string { return strings.Repeat(\"-\", n) }\n",
	"table/a_test.go":   "package table\n\nimport \"testing\"\n\nfunc TestBorder(t *testing.T) {\n\tif got := Border(3); got != \"---\" {\n\t\tt.Errorf(\"got %q\", got)\n\t}\n}\n\nfunc TestLine(t *testing.T) {\n\tif got := line(3); got != \"---\" {\n\t\tt.Errorf(\"got %q\", got)\n\t}\n}\n",
	"main.go":           "package main\n\nimport \"example.com/app/table\"\n\nfunc main() { println(table.Border(3)) }\n",
	"table/big/big.go":  "package big\n\nfunc Big() {}\n",
	"table/secret.go":   "package table\n\nfunc login() { password := \"correct-horse-battery-7\"; println(password) }\n",
	".gitignore":        "/.tracerag/\n",
	"notes/ignored.txt": "kept\n",
}

// repairs runs fix in a module, with a model that answers by a script.
type repairs struct {
	t      *testing.T
	dir    string
	env    []string
	mu     sync.Mutex
	change func(question string) string // what the model answers to the question for a change
	asked  []string
	last   time.Time // when the last question came
	server *llmtest.Server
}

func newRepairs(t *testing.T) *repairs {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the sandbox of this system is not tested here")
	}
	r := &repairs{t: t, dir: t.TempDir()}
	for name, text := range repairable {
		r.write(name, text)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "begin"}} {
		if out, err := exec.Command("git", append([]string{"-C", r.dir}, args...)...).CombinedOutput(); err != nil {
			t.Skipf("git: %v: %s", err, out)
		}
	}
	r.server = llmtest.New(t, llmtest.Step{Reply: r.reply})
	r.env = append(os.Environ(), "OPENAI_API_KEY=sk-none", "OPENAI_BASE_URL="+r.server.URL(), "TRACERAG_MODEL=small", "GIT_CONFIG_GLOBAL="+os.DevNull)
	return r
}

func (r *repairs) write(name, text string) {
	r.t.Helper()
	file := filepath.Join(r.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

var bracket = regexp.MustCompile(`(?m)^ *(\[\d+\]) (table/table\.go|Border)\b`)

func (r *repairs) reply(question string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked, r.last = append(r.asked, question), time.Now()
	switch m := bracket.FindStringSubmatch(question); {
	case strings.Contains(question, "<<<PLACES"), strings.HasPrefix(question, "This is not in the form"):
		return r.change(question)
	case strings.Contains(question, "\nWRITE:"):
		return "WRITE:\n" + m[1] + " draw n signs\nREAD: NONE\nNEW: NONE\n"
	case m != nil:
		return m[1] + " it draws"
	}
	return "NONE"
}

// run runs the command, and checks its exit code and that no file was changed.
func (r *repairs) run(code int, args ...string) (stdout, stderr string) {
	r.t.Helper()
	c := exec.CommandContext(r.t.Context(), commandPath(r.t), append([]string{"fix"}, args...)...)
	c.Dir, c.Env = r.dir, r.env
	var out, messages strings.Builder
	c.Stdout, c.Stderr = &out, &messages
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || c.ProcessState.ExitCode() != code {
		r.t.Fatalf("%v, want exit code %d: %s%s", err, code, messages.String(), out.String())
	}
	return out.String(), messages.String()
}

// clean checks that git sees no change.
func (r *repairs) clean() {
	r.t.Helper()
	out, err := exec.Command("git", "-C", r.dir, "status", "--porcelain").CombinedOutput()
	if err != nil || len(out) > 0 {
		r.t.Errorf("the user's files: %v: %s", err, out)
	}
}

func edit(body string) string {
	return "The width was one less.\n\n" + patch.Format([]patch.Edit{{File: "table/table.go", Text: "func Border(n int) string { " + body + " }\n"}})
}

// TestFix repairs: the change that tests accept is printed as a diff, the files stay as they are unless
// --apply says otherwise, and the same command asks and judges nothing twice.
func TestFix(t *testing.T) {
	t.Parallel()
	r := newRepairs(t)
	tries := 0
	r.change = func(question string) string {
		switch {
		case strings.Contains(question, "<<<TRIED"):
			return edit("return line(n)")
		case tries == 0:
			tries++
			return edit("return line(n - ") // does not parse
		}
		return edit("return line(n + 1)")
	}
	args := []string{"--test", "./table:TestBorder", "--candidates=2", "--parallel=1", "the border is cut"}
	out, said := r.run(0, args...)
	if want := "-func Border(n int) string { return line(n - 1) }\n+func Border(n int) string { return line(n) }\n"; !strings.Contains(out, want) || !strings.HasPrefix(out, "diff --git a/table/table.go b/table/table.go\n") {
		t.Errorf("%s%s", said, out)
	}
	for _, want := range []string{"Border  table/table.go", "draw n signs", "candidate 1: refused (wanted)", "candidate 2: as candidate 1", "candidate 3 (second try 1): accepted", "small: "} {
		if !strings.Contains(said, want) {
			t.Errorf("the messages lack %q: %s", want, said)
		}
	}
	r.clean()
	last := r.asked[len(r.asked)-1]
	for _, want := range []string{"func TestBorder(t *testing.T)", `got "--"`, "<<<TRIED", `got "----"`, "return line(n + 1)", "// Plan: draw n signs"} {
		if !strings.Contains(last, want) {
			t.Errorf("the last question lacks %q:\n%s", want, last)
		}
	}
	if runtime.GOARCH == "amd64" && (!strings.Contains(last, "table.Border") || !strings.Contains(last, "<<<RUN")) {
		t.Errorf("the test was not recorded: %s", said)
	}
	if runtime.GOARCH == "amd64" && !strings.Contains(last, "(n int = 3)") {
		t.Errorf("no values were observed: %s\n%s", said, last)
	}
	asked := len(r.asked)
	if again, _ := r.run(0, args...); again != out || len(r.asked) != asked {
		t.Errorf("%d more questions, %s", len(r.asked)-asked, again)
	}
	if again, _ := r.run(0, "--resume", "--parallel=1"); again != out || len(r.asked) != asked {
		t.Errorf("resumed: %d more questions, %s", len(r.asked)-asked, again)
	}
	shown, _ := r.run(0, "--show")
	for _, want := range []string{"candidate 1: refused (wanted)", "return line(n + 1)", "candidate 3 was chosen: it is the only one that is accepted"} {
		if !strings.Contains(shown, want) {
			t.Errorf("--show lacks %q: %s", want, shown)
		}
	}
	out, _ = r.run(0, append([]string{"--apply", "--json"}, args...)...)
	var said2 saidFix
	if err := json.Unmarshal([]byte(out), &said2); err != nil || said2.Schema != fixSchema || said2.Result.Number != 3 || said2.Diff == "" {
		t.Errorf("%v: %s", err, out)
	}
	if text, err := os.ReadFile(filepath.Join(r.dir, "table", "table.go")); err != nil || !strings.Contains(string(text), "return line(n) }") {
		t.Errorf("%v: %s", err, text)
	}
}

// TestFixRefuses: a model that answers nonsense, or changes the test, has no change accepted; no model at
// all prints the question.
func TestFixRefuses(t *testing.T) {
	t.Parallel()
	r := newRepairs(t)
	r.change = func(string) string { return "I can't help with that." }
	out, said := r.run(1, "--test", "./table:TestBorder", "--candidates=1", "the border is cut")
	if out != "" || !strings.Contains(said, "no change was accepted") || !strings.Contains(said, "--show=") {
		t.Errorf("%s%s", said, out)
	}
	r.change = func(string) string {
		return patch.Format([]patch.Edit{{File: "table/a_test.go", Text: "func TestBorder(t *testing.T) {}\n"}})
	}
	out, said = r.run(1, "--test", "./table:TestBorder", "--candidates=1", "--rounds=0", "the border is thin")
	if out != "" || !strings.Contains(said, "refused (guard)") || !strings.Contains(said, "table/a_test.go") {
		t.Errorf("%s%s", said, out)
	}
	_, said = r.run(1, "--test", "./table:TestLine", "the line is cut")
	if !strings.Contains(said, "TestLine passes before any change") {
		t.Error(said)
	}
	_, said = r.run(1, "--test", "./table:TestBorders", "the border is cut")
	if !strings.Contains(said, "did you mean") || !strings.Contains(said, "TestBorder") {
		t.Error(said)
	}
	for _, x := range []struct {
		args []string
		want string
	}{
		{nil, "want a report, or --test"},
		{[]string{"--test", "TestBorder", "x"}, "--test=TestBorder: want a package and a test, ./pkg:TestX"},
		{[]string{"--test", "./table:", "x"}, "want a package and a test, ./pkg:TestX"},
		{[]string{"--test", ":TestBorder", "x"}, "want a package and a test, ./pkg:TestX"},
		{[]string{"--candidates=0", "x"}, "--candidates must be at least 1"},
		{[]string{"--resume", "x"}, "--resume takes the report from the last repair"},
		{[]string{"--resume", "--test=./x:TestX"}, "--resume continues the last repair as it was begun: leave out --test"},
		{[]string{"a", "b"}, "want one report"},
		{[]string{"--candidate=-", "-"}, "standard input can't be both"},
	} {
		if _, said := r.run(2, x.args...); !strings.Contains(said, x.want) {
			t.Errorf("%q: %s", x.args, said)
		}
	}
	r.env = append(r.env, "TRACERAG_MODEL=", "OPENAI_API_KEY=", "OPENAI_BASE_URL=")
	out, said = r.run(0, "--test", "./table:TestBorder", "the border is cut")
	if !strings.Contains(out, "<<<PLACES") || !strings.Contains(out, "FILE: path/to/file.go") || !strings.Contains(said, "tracerag fix --candidate FILE --test ./table:TestBorder") || strings.Contains(out, "correct-horse") {
		t.Errorf("%s%s", said, out)
	}
	r.clean()
}

// TestFixJudges: somebody else's change is judged without a model: a diff, or whole declarations.
func TestFixJudges(t *testing.T) {
	t.Parallel()
	r := newRepairs(t)
	r.env = append(r.env, "TRACERAG_MODEL=", "OPENAI_API_KEY=", "OPENAI_BASE_URL=")
	diff := "--- a/table/table.go\n+++ b/table/table.go\n@@ -5,2 +5,2 @@\n // Border draws a border of n signs.\n-func Border(n int) string { return line(n - 1) }\n+func Border(n int) string { return line(n%s) }\n"
	for _, x := range []struct {
		name, text string
		code       int
		want       string
	}{
		{"right", strings.ReplaceAll(diff, "%s", ""), 0, "accepted: "},
		{"declarations", edit("return line(n)"), 0, "accepted: "},
		{"wrong", strings.ReplaceAll(diff, "%s", " + 2"), 1, "refused at wanted: "},
		{"broken", strings.ReplaceAll(diff, "%s", " +"), 1, "it does not parse"},
		{"breaks another", strings.ReplaceAll(edit("return strings.Repeat(\"-\", n)"), "func Border", "func line(n int) string { return strings.Repeat(\"-\", max(n, 4)) }\n\nfunc Border"), 1, "TestLine"},
		{"no type", strings.ReplaceAll(diff, "%s", " + missing"), 1, "refused at build: "},
		{"elsewhere", "--- a/../out.go\n+++ b/../out.go\n@@ -1 +1 @@\n-a\n+b\n", 1, ""},
		{"nothing", "it is fine as it is\n", 1, ""},
	} {
		file := filepath.Join(t.TempDir(), "change")
		if err := os.WriteFile(file, []byte(x.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, said := r.run(x.code, "--test", "./table:TestBorder", "--candidate", file); !strings.Contains(out+said, x.want) {
			t.Errorf("%s: %s%s", x.name, said, out)
		}
	}
	// A damaged verdict is given again, and what was judged is no repair that goes on.
	file := filepath.Join(t.TempDir(), "change")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(diff, "%s", "")), 0o600); err != nil {
		t.Fatal(err)
	}
	verdicts, err := filepath.Glob(filepath.Join(r.dir, ".tracerag", "fixes", "*", "verdicts", "*.json"))
	if err != nil || len(verdicts) == 0 {
		t.Fatal(err, verdicts)
	}
	for _, v := range verdicts {
		if err := os.WriteFile(v, []byte(`{"accepted":true}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, said := r.run(0, "--test", "./table:TestBorder", "--candidate", file); !strings.Contains(out, "accepted: the wanted tests pass") {
		t.Errorf("%s%s", said, out)
	}
	if _, said := r.run(1, "--resume"); !strings.Contains(said, "no repair is kept") {
		t.Error(said)
	}
	r.clean()
}

// TestFixReproduces: without a test one is written from the report, and is part of the change.
func TestFixReproduces(t *testing.T) {
	t.Parallel()
	r := newRepairs(t)
	r.write("table/a_test.go", "package table\n")
	if out, err := exec.Command("git", "-C", r.dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-a", "-m", "no tests").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r.change = func(question string) string {
		if strings.Contains(question, "Write one Go test") {
			return patch.Format([]patch.Edit{{New: true, File: "table/reproduction_test.go", Text: "package table\n\nimport \"testing\"\n\nfunc TestReproduction(t *testing.T) {\n\tif got := Border(2); got != \"--\" {\n\t\tt.Errorf(\"got %q\", got)\n\t}\n}\n"}})
		}
		return edit("return line(n)")
	}
	out, said := r.run(0, "--candidates=2", "the border is cut")
	for _, want := range []string{"+++ b/table/reproduction_test.go", "+func TestReproduction(t *testing.T) {", "+func Border(n int) string { return line(n) }"} {
		if !strings.Contains(out, want) {
			t.Errorf("the change lacks %q: %s%s", want, said, out)
		}
	}
	if !strings.Contains(said, "2 of 2 tests that were written from the report fail in the same way") {
		t.Error(said)
	}
	r.clean()
}
