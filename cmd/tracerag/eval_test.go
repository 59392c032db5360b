package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tracerag/fixtures"
	"tracerag/llm/llmtest"
)

// twiceExperiment is the experiment of package eval/trial's tests, of a program in another
// place, with a baseline: two inquiries by two variants of two models, three times.
func twiceExperiment(t *testing.T, program string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testDir, root, "eval", "trial", "testdata", "twice.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(string(text), "program: ./twice", "program: "+program+"\nbaseline: [-version]", 1)
}

// examinee is a directory with an experiment, and the environment that it runs in.
type examinee struct {
	t    *testing.T
	dir  string
	file string
	env  []string
}

func newExaminee(t *testing.T, text string, args ...any) *examinee {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("no quick recorder for this system")
	}
	x := &examinee{t: t, dir: t.TempDir()}
	x.file = filepath.Join(x.dir, "experiment.yaml")
	if err := os.WriteFile(x.file, fmt.Appendf(nil, text, args...), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !strings.HasPrefix(name, "OPENAI_") && !strings.HasPrefix(name, "TRACERAG_") && !strings.HasPrefix(name, "AZURE_") {
			x.env = append(x.env, v)
		}
	}
	return x
}

func (x *examinee) command(args ...string) *exec.Cmd {
	cmd := exec.Command(commandPath(x.t), append([]string{"eval", "experiment", "--no-redact", "--out", filepath.Join(x.dir, "out"), x.file}, args...)...)
	cmd.Dir, cmd.Env = x.dir, x.env
	return cmd
}

// run runs the command to its end.
func (x *examinee) run(code int, args ...string) (stdout, stderr string) {
	x.t.Helper()
	cmd := x.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		x.t.Fatalf("%v, want exit code %d\n%s", err, code, &errs)
	}
	return out.String(), errs.String()
}

// moduleOf copies a fixture into a module of its own, whose size does not change with
// the other fixtures: the report counts the lines of all modules. It returns the
// program's directory.
func moduleOf(t *testing.T, name string) string {
	t.Helper()
	module := t.TempDir()
	dir := filepath.Join(module, name)
	if err := os.CopyFS(dir, os.DirFS(fixtures.Dir(name))); err != nil {
		t.Fatal(err)
	}
	gomod, err := os.ReadFile(filepath.Join(filepath.Dir(fixtures.Dir(name)), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(module, "go.mod"), gomod, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestExperimentWhole asks recorded models (testdata/recorded) through the command, has
// a recorded judge and a person grade, and holds all that comes of it against golden
// files.
func TestExperimentWhole(t *testing.T) {
	t.Parallel()
	x := newExaminee(t, "%s", twiceExperiment(t, moduleOf(t, "twice")))
	recorded := llmtest.Replay(t, filepath.Join(testDir, "testdata", "recorded"))
	x.env = append(x.env, "OPENAI_BASE_URL="+recorded.URL())
	sheet := filepath.Join(x.dir, "sheet.csv")
	stdout, stderr := x.run(0, "--judge=judge", "--sheet", sheet, "--repetitions=2", "--variant=T,ordered")
	for _, want := range []string{"16 questions, 0 answered already", "16 answers, 0 judged already", "to have it judged again", "0 of 24 marks filled in"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("messages without %q:\n%s", want, stderr)
		}
	}
	asked := len(recorded.Requests())
	if asked != 32 {
		t.Errorf("%d requests, want 16 questions and 16 judgements", asked)
	}
	evalGolden(t, "judge.md", stdout)

	// A person fills the sheet in, not knowing whose answers these are.
	fillIn(t, sheet, func(answer, criterion string) string {
		switch {
		case strings.Contains(answer, "In nothing"):
			return "0"
		case strings.Contains(answer, "Either") || criterion == "good":
			return "0,5"
		}
		return "1"
	})
	stdout, stderr = x.run(0, "--judge=judge", "--sheet", sheet, "--repetitions=2")
	if len(recorded.Requests()) != asked || !strings.Contains(stderr, "24 of 24 marks filled in") {
		t.Errorf("%d requests more\n%s", len(recorded.Requests())-asked, stderr)
	}
	evalGolden(t, "human.md", stdout)

	// Nobody is asked any more: no model, no key and no endpoint are needed.
	x.env = append(x.env, "OPENAI_BASE_URL=")
	var all struct {
		Answers []struct {
			Model    string
			Usage    map[string]int
			Gradings []struct {
				Grader string
				Leaked []string
			}
		}
	}
	stdout, _ = x.run(0, "--json", "--judge=judge", "--sheet", sheet, "--repetitions=2")
	if err := json.Unmarshal([]byte(stdout), &all); err != nil || len(all.Answers) != 16 {
		t.Fatalf("%d answers, %v", len(all.Answers), err)
	}
	for _, a := range all.Answers {
		if len(a.Gradings) < 2 || a.Gradings[0].Grader != "auto" || a.Usage["prompt"] < 1200 {
			t.Errorf("an answer of %s is %+v", a.Model, a)
		}
	}
	for name, holds := range map[string]string{"report.md": "# Results", "figure2.svg": "<svg", filepath.Join("tables", "sizes-o200k_base.csv"): "twice,"} {
		data, err := os.ReadFile(filepath.Join(x.dir, "out", name))
		if err != nil || !strings.Contains(string(data), holds) {
			t.Errorf("%s: %v, %.100q", name, err, data)
		}
	}
}

// evalGolden compares a report with a golden file, but for the times.
func evalGolden(t *testing.T, name, got string) {
	t.Helper()
	got = regexp.MustCompile(`\| [0-9ms]+ \| \d+\.\d s \|\n`).ReplaceAllString(got, "| TIME | TIME |\n")
	path := filepath.Join("testdata", "experiment", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != got {
		t.Errorf("%s differs (%v), run with -update and look at it:\n%s", path, err, got)
	}
}

// fillIn fills a sheet in as a spreadsheet would save it.
func fillIn(t *testing.T, path string, mark func(answer, criterion string) string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(f).ReadAll()
	f.Close()
	if err != nil {
		t.Fatal(err)
	}
	column := func(name string) int {
		i := slices.IndexFunc(rows[0], func(s string) bool { return strings.HasPrefix(s, name) })
		if i < 0 {
			t.Fatalf("the sheet has no column %s: %v", name, rows[0])
		}
		return i
	}
	for _, r := range rows[1:] {
		text, err := os.ReadFile(r[column("file")])
		if err != nil {
			t.Fatal(err)
		}
		_, answer, ok := strings.Cut(string(text), "# Answer "+r[column("answer")])
		if !ok || strings.Contains(answer, "one") && strings.Contains(answer, "two") {
			t.Errorf("what a person reads tells too little or too much:\n%s", text)
		}
		r[column("mark")] = mark(answer, r[column("criterion")])
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Comma = ';'
	if err := w.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestExperimentRecords: a run is recorded once, anew when something has changed, and
// not taken when it did not end as it should.
func TestExperimentRecords(t *testing.T) {
	t.Parallel()
	program := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(program, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	source := "package main\n\nimport \"os\"\n\nfunc main() {\n\t_, err := os.ReadFile(\"in.txt\")\n\tshow(err)\n}\n\n//go:noinline\nfunc show(err error) {\n\tif err != nil {\n\t\tprintln(\"no\", \"input\")\n\t\tos.Exit(3)\n\t}\n}\n"
	write("go.mod", "module example.com/tiny\n\ngo 1.21\n")
	write("main.go", source)
	const text = "name: tiny\nprogram: %s\nfiles: {in.txt: %q}\nruns: {once: {args: [x], exit: %d}}\n" +
		"inquiries: [{id: why, runs: [once], question: why, criteria: [{id: c, text: says why}]}]\n"
	x := newExaminee(t, text, program, "one", 0)
	again := func(want bool, args ...string) {
		t.Helper()
		_, stderr := x.run(0, append([]string{"--prompts-only"}, args...)...)
		if got := strings.Contains(stderr, "tiny: recording "); got != want {
			t.Errorf("recorded: %v, want %v\n%s", got, want, stderr)
		}
	}
	rewrite := func(args ...any) {
		t.Helper()
		if err := os.WriteFile(x.file, fmt.Appendf(nil, text, args...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	again(true)
	again(false)
	again(true, "--fresh")
	again(true, "--no-inlined")
	again(true)
	rewrite(program, "two", 0)
	again(true)
	again(false)
	write("main.go", source+"\nfunc init() { show(nil) }\n")
	again(true)

	// A baseline that fails would leave the trees as they are, other than the file says.
	if err := os.WriteFile(x.file, fmt.Appendf(nil, "baseline: [x]\n"+strings.Replace(text, "in.txt:", "other.txt:", 1), program, "two", 3), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr := x.run(1, "--prompts-only")
	if !strings.Contains(stderr, "run once: the experiment's baseline failed") || !strings.Contains(stderr, " x failed (exit status 3: no input)\n") {
		t.Errorf("messages:\n%s", stderr)
	}
	// Nothing is built or run for traces that could not be saved.
	traces := filepath.Join(x.dir, "out", "traces")
	if err := errors.Join(os.Rename(traces, traces+".away"), os.WriteFile(traces, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	_, stderr = x.run(1, "--prompts-only")
	if !strings.Contains(stderr, "traces cannot be saved in "+traces+": it is not a directory: choose another directory with --out") {
		t.Errorf("messages:\n%s", stderr)
	}
	if err := errors.Join(os.Remove(traces), os.Rename(traces+".away", traces)); err != nil {
		t.Fatal(err)
	}

	rewrite(program, "two", 3)
	_, stderr = x.run(1, "--prompts-only")
	if !strings.Contains(stderr, "run once: ") || !strings.Contains(stderr, " x exited with 0, want 3") {
		t.Errorf("messages:\n%s", stderr)
	}
	write("main.go", strings.ReplaceAll(source, "in.txt", "out.txt"))
	rewrite(program, "two", 0)
	_, stderr = x.run(1, "--prompts-only")
	if !strings.Contains(stderr, " x exited with 3, want 0\n  no input\n  if it should, say so in the file: exit: 3") {
		t.Errorf("messages without what the program said:\n%s", stderr)
	}
	write("main.go", source+"func {")
	_, stderr = x.run(1, "--prompts-only")
	if !strings.Contains(stderr, "program: go build: ") || !strings.Contains(stderr, "main.go:17:") {
		t.Errorf("messages without the compiler's:\n%s", stderr)
	}
	write("main.go", source)
	_, stderr = x.run(1)
	if !strings.Contains(stderr, "names no models\n  name one with --model NAME") {
		t.Errorf("messages:\n%s", stderr)
	}
}

// TestExperimentInterruptedRecording: the program that is being recorded ends with the
// command, and the message is about neither's exit code.
func TestExperimentInterruptedRecording(t *testing.T) {
	program := t.TempDir()
	started := filepath.Join(program, "started")
	for name, text := range map[string]string{
		"go.mod":  "module example.com/tiny\n\ngo 1.21\n",
		"main.go": "package main\n\nimport (\n\t\"os\"\n\t\"time\"\n)\n\nfunc main() {\n\tos.Mkdir(os.Args[1], 0o700)\n\ttime.Sleep(time.Minute)\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(program, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	x := newExaminee(t, "name: tiny\nprogram: %s\nruns: {once: {args: [%q]}}\n"+
		"inquiries: [{id: why, runs: [once], question: why, criteria: [{id: c, text: says why}]}]\n", program, started)
	cmd := x.command("--prompts-only")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); !exists(started) && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	start := time.Now()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // until the program has closed its output, too
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.HasSuffix(errs.String(), "experiment.yaml: interrupted\n") || time.Since(start) > 4*time.Second {
		t.Errorf("exit code %d, want 1, after %s\n%s", code, time.Since(start), &errs)
	}
}

// TestExperimentOfTheHelp: what tracerag help experiments and docs/experiments.md show
// is a file that can be read.
func TestExperimentOfTheHelp(t *testing.T) {
	yaml := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```|^    (name: mine\n.*?)^    tracerag")
	for _, path := range []string{filepath.Join(testDir, "topics", "experiments.md"), filepath.Join(root, "docs", "experiments.md")} {
		m := yaml.FindStringSubmatch(readDoc(t, path))
		if m == nil {
			t.Fatalf("%s shows no experiment", path)
		}
		text := m[1] + strings.ReplaceAll(m[2], "\n    ", "\n")
		file := filepath.Join(t.TempDir(), "shown.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := (&evalFlags{}).load([]string{file}); err != nil {
			t.Errorf("%s: %v\n%s", path, err, text)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
