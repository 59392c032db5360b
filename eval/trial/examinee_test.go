package trial

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tracerag/calltree"
	"tracerag/eval"
	"tracerag/eval/report"
	"tracerag/eval/results"
	"tracerag/llm"
	"tracerag/llm/llmtest"
	"tracerag/prompt"
	"tracerag/source"
	"tracerag/trace"
)

// twice has two inquiries by two variants of two models, three times: 24 questions.
//
//go:embed testdata/twice.yaml
var twice string

const twiceQuestions = 24

// examinee is a directory with an experiment, and a server that counts what it is asked.
type examinee struct {
	t      *testing.T
	dir    string
	text   string // the experiment
	server *llmtest.Server

	mu       sync.Mutex
	answered map[string]int // requests that were answered, by model and message
	hang     func(n int) bool
	asked    chan int // gets the number of each request as it comes, unless nil
	release  chan struct{}
	n        int
	silent   bool // about usage
}

func newExaminee(t *testing.T) *examinee {
	x := &examinee{t: t, dir: t.TempDir(), text: twice, answered: map[string]int{}}
	x.server = llmtest.New(t, llmtest.Step{Handle: x.handle})
	return x
}

// handle answers, or hangs until it is released or the client is gone.
func (x *examinee) handle(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var c llmtest.Chat
	if err := json.Unmarshal(body, &c); err != nil {
		x.t.Error(err)
	}
	x.mu.Lock()
	x.n++
	n, hang, asked, release := x.n, x.hang != nil && x.hang(x.n), x.asked, x.release
	x.mu.Unlock()
	if asked != nil {
		asked <- n
	}
	if hang {
		select {
		case <-release:
		case <-r.Context().Done():
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	usage := `,"usage":{"prompt_tokens":1000,"completion_tokens":50,"total_tokens":1050}`
	if x.silent {
		usage = ""
	}
	fmt.Fprintf(w, `{"model":%q,"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"By `+"`main.feature`"+`, name."}}]%s}`, c.Model, usage)
	x.mu.Lock()
	x.answered[c.Model+"\x00"+c.Messages[0].Content]++
	x.mu.Unlock()
}

// set changes how the server answers.
func (x *examinee) set(change func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	change()
}

// requests is how many there were.
func (x *examinee) requests() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.n
}

// outcome is what came of a trial: what is still open, and the messages, a line each.
type outcome struct {
	open     int
	err      error
	messages string
	report   report.Input
}

// trial carries the experiment out, as the options have it.
func (x *examinee) trial(change func(*Options)) outcome {
	x.t.Helper()
	return carryOut(x.t.Context(), x.dir, x.text, x.server.URL(), change)
}

// carryOut is a whole trial in a directory, with the model server at a URL.
func carryOut(ctx context.Context, dir, text, url string, change func(*Options)) (out outcome) {
	var mu sync.Mutex
	var messages []string
	say := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		messages = append(messages, err.Error())
	}
	defer func() { out.messages = strings.Join(messages, "\n") }()
	file := filepath.Join(dir, "experiment.yaml")
	if out.err = os.WriteFile(file, []byte(text), 0o600); out.err != nil {
		return out
	}
	e, err := eval.Load(file, []string{"T", "ordered"})
	if err != nil {
		return outcome{err: err}
	}
	saved, err := results.Open(filepath.Join(dir, "out"), nil)
	if err != nil {
		return outcome{err: err}
	}
	defer saved.Close()
	t := &Trial{Experiment: e}
	for i := range e.Inquiries {
		q := &e.Inquiries[i]
		m := Maker{Dir: saved, Tokenizers: []string{"gpt-4o"}}
		if err := m.add(t, q, twoFunctions(q), func(int) {}); err != nil {
			return outcome{err: err}
		}
	}
	o := Options{
		Dir: saved, Trials: []*Trial{t}, Mask: func(s string) string { return s }, Note: say, Complain: say,
		Config:   func(model string) (llm.Config, error) { return llm.Config{Model: model, BaseURL: url}, nil },
		Progress: func(string) (func(int, int), func()) { return func(int, int) {}, func() {} },
	}
	o.Limits.Parallel = 1
	if change != nil {
		change(&o)
	}
	ex, err := NewExaminer(o)
	if err != nil {
		return outcome{err: err}
	}
	if out.open, out.err = ex.Ask(ctx); out.err != nil || o.DryRun {
		return out
	}
	out.report = Sizes(o.Trials, []string{"gpt-4o"})
	out.err = ex.Grade(&out.report, "")
	return out
}

// twoFunctions is a tree of two functions for each run of an inquiry.
func twoFunctions(q *eval.Inquiry) material {
	m := material{input: prompt.Input{Question: q.Question, Source: func(f trace.Function) source.Text {
		return source.Text{Display: f.File, Start: f.StartLine, End: f.StartLine + 2, Body: "func " + f.Name + "() {\n\tprintln()\n}"}
	}}}
	for _, run := range q.Runs {
		tr := &trace.Trace{Command: []string{"twice", run}, Goroutines: 1}
		b := trace.NewBuilder(tr)
		start := b.Func(trace.Function{Name: "main.main", Package: "main", File: "main.go", StartLine: 3})
		feature := b.Func(trace.Function{Name: "main.feature", Package: "main", File: "main.go", StartLine: 8})
		b.Child(b.Root(trace.Root{Kind: trace.RootMain}, trace.Frame{Func: start}, 1), trace.Frame{Func: feature, CallLine: 4}, 1)
		tree, err := calltree.Build(b.Finish(), calltree.Options{})
		if err != nil {
			panic(err)
		}
		m.input.Runs = append(m.input.Runs, prompt.Run{Title: "twice " + run, Tree: tree})
	}
	m.functions = []eval.Function{{Name: "main.main", File: "main.go", Start: 3, End: 5}, {Name: "main.feature", File: "main.go", Start: 8, End: 10, Callers: []string{"main.main"}}}
	return m
}

// everything checks that each question was answered, and what beyond that was asked: at
// most extra questions again.
func (x *examinee) everything(extra int) {
	x.t.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.answered) != twiceQuestions/3 {
		x.t.Errorf("%d different questions were answered, want %d", len(x.answered), twiceQuestions/3)
	}
	for q, n := range x.answered {
		if n < 3 {
			x.t.Errorf("answered %d times, want 3: %.200q", n, q)
		}
		extra -= n - 3
	}
	if extra < 0 {
		x.t.Errorf("%d questions were asked too often", -extra)
	}
	files, err := filepath.Glob(filepath.Join(x.dir, "out", "answers", "twice", "*.json"))
	if err != nil || len(files) != twiceQuestions {
		x.t.Errorf("%d answers are saved, %v, want %d", len(files), err, twiceQuestions)
	}
}

// process is a trial in a process of its own, which can be killed.
func (x *examinee) process(parallel int) *exec.Cmd {
	x.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		x.t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), fmt.Sprintf("TRIAL=%s %s %d", x.dir, x.server.URL(), parallel))
	return cmd
}

// TestMain is that process if it is started so.
func TestMain(m *testing.M) {
	var dir, url string
	var parallel int
	if n, _ := fmt.Sscan(os.Getenv("TRIAL"), &dir, &url, &parallel); n < 3 {
		os.Exit(m.Run())
	}
	out := carryOut(context.Background(), dir, twice, url, func(o *Options) { o.Limits.Parallel = parallel })
	fmt.Fprintln(os.Stderr, out.messages)
	if errors.Join(out.err) != nil || out.open > 0 {
		fmt.Fprintf(os.Stderr, "%d open, %v\n", out.open, out.err)
		os.Exit(1)
	}
	os.Exit(0)
}
