package trial

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"tracerag/eval"
	"tracerag/llm"
	"tracerag/llm/llmtest"
	"tracerag/llm/metered"
	"tracerag/prompt/tokens"
)

// asking is a trial of gpt-4o, whose price is known, with a ceiling of cost.
func (x *examinee) asking(maxCost float64, change func(*Options)) outcome {
	x.t.Helper()
	return x.trial(func(o *Options) {
		o.Models = []string{"gpt-4o"}
		o.Limits.MaxCost = maxCost
		o.Config = func(model string) (llm.Config, error) {
			return llm.Config{Model: model, BaseURL: x.server.URL(), APIKey: "sk-test"}, nil
		}
		if change != nil {
			change(o)
		}
	})
}

// TestCosts: nothing is spent without leave.
func TestCosts(t *testing.T) {
	x := newExaminee(t)
	var none *metered.NoCeilingError
	if out := x.asking(0, nil); x.requests() != 0 || !errors.As(out.err, &none) || none.Model != "" || none.Need < 1 || none.Need > 3 {
		t.Errorf("%d questions were asked, %v", x.requests(), out.err)
	}
	out := x.asking(0, func(o *Options) { o.DryRun = true })
	if x.requests() != 0 || out.err != nil || !strings.Contains(out.messages, "to ask: 12 questions, ") || !strings.Contains(out.messages, " tokens of prompts, at most $") {
		t.Errorf("%d questions were asked, %v\n%s", x.requests(), out.err, out.messages)
	}
	// Each answer costs 1000 and 50 tokens, $0.003, and may cost at most $0.16 and the
	// prompt.
	out = x.asking(0.17, nil)
	if x.requests() < 1 || x.requests() > 4 || out.open == 0 || !strings.Contains(out.messages, "the cost ceiling is reached: $0.0") {
		t.Errorf("%d questions were asked\n%s", x.requests(), out.messages)
	}
	before := x.requests()
	out = x.asking(0.17, nil)
	if x.requests() != before || out.open == 0 || !strings.Contains(out.messages, "after $0.0") {
		t.Errorf("the second trial asked %d questions, with the ceiling reached\n%s", x.requests()-before, out.messages)
	}
	if out = x.asking(1, nil); x.requests() != 12 || out.open != 0 {
		t.Errorf("%d questions were asked in all, want 12\n%s", x.requests(), out.messages)
	}
}

// TestCostsOfOthers: the ceiling is of all that the directory of results has cost, and
// answers whose tokens the server does not report count with the most that they can cost,
// and so do those that break off.
func TestCostsOfOthers(t *testing.T) {
	x := newExaminee(t)
	x.text = strings.Replace(twice, "repetitions: 3", "repetitions: 1", 1)
	x.set(func() { x.silent = true })
	out := x.asking(0.4, nil) // each may cost $0.16
	if x.requests() != 2 || strings.Count(out.messages, "the server did not report its token count") != 1 {
		t.Errorf("%d questions were asked, want 2\n%s", x.requests(), out.messages)
	}
	x.text = strings.Replace(x.text, "name: twice", "name: other", 1)
	out = x.asking(0.4, nil)
	if x.requests() != 2 || !strings.Contains(out.messages, "after $0.32 that are spent") {
		t.Errorf("%d questions were asked, want no more\n%s", x.requests()-2, out.messages)
	}

	broken := llmtest.New(t, llmtest.Step{Handle: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"By "}}]}`+"\n\n")
	}})
	x.server = broken
	out = x.asking(0.6, nil)
	if n := len(broken.Requests()); n != 1 || out.open != 4 || !strings.Contains(out.messages, "no answer: other who T of gpt-4o") ||
		!strings.Contains(out.messages, "the cost ceiling is reached: $0.4") {
		t.Errorf("%d questions were asked, want 1, %d open\n%s", n, out.open, out.messages)
	}

	// What the judge needs is reported before anything is paid for.
	var none *metered.NoCeilingError
	out = x.asking(0, func(o *Options) { o.Models, o.Judge = []string{"free"}, "gpt-4o" })
	if n := len(broken.Requests()); n != 1 || !errors.As(out.err, &none) || none.Model != "the judge gpt-4o" {
		t.Errorf("%d questions were asked, %v\n%s", n-1, out.err, out.messages)
	}
}

// TestUnsaved: where an answer cannot be saved nothing more is asked, and it is kept
// elsewhere.
func TestUnsaved(t *testing.T) {
	x := newExaminee(t)
	answers := filepath.Join(x.dir, "out", "answers")
	fail := func(int) bool { // as the answer is under way
		if err := os.MkdirAll(answers, 0o700); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(filepath.Join(answers, "twice"), nil, 0o600); err != nil {
			t.Error(err)
		}
		return false
	}
	x.set(func() { x.hang = fail })
	elsewhere := t.TempDir()
	t.Setenv("TMPDIR", elsewhere)
	out := x.trial(nil)
	if x.requests() != 1 || !strings.Contains(out.messages, "nothing more is asked: its answer was not saved: ") {
		t.Errorf("%d questions were asked, want 1; %v\n%s", x.requests(), out.err, out.messages)
	}
	kept, err := filepath.Glob(filepath.Join(elsewhere, "tracerag-*.json"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("%v, %v are kept, want one answer\n%s", kept, err, out.messages)
	}
	// Moved to where the message says it counts as any other.
	_, place, _ := strings.Cut(out.messages, "(it is in "+kept[0]+": move it to ")
	place, _, ok := strings.Cut(place, ")")
	if !ok {
		t.Fatalf("it is not said where to move %s\n%s", kept[0], out.messages)
	}
	for _, err := range []error{os.Remove(filepath.Join(answers, "twice")), os.Mkdir(filepath.Join(answers, "twice"), 0o700), os.Rename(kept[0], place)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	x.set(func() { x.hang = nil })
	if out := x.trial(nil); out.open != 0 || strings.Contains(out.messages, "never answered") {
		t.Errorf("the answer counts as lost:\n%s", out.messages)
	}
	x.everything(0)
}

// TestTooLong: what is larger than a model's context is not asked, and reported, and whether
// that size is known.
func TestTooLong(t *testing.T) {
	x := newExaminee(t)
	x.text = strings.NewReplacer("which function prints?", strings.Repeat("why not ", 80_000), "repetitions: 3", "repetitions: 1").Replace(twice)
	sizes := filepath.Join(x.dir, "sizes")
	if err := os.WriteFile(sizes, []byte("two 1000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	table, err := tokens.LoadModels(sizes)
	if err != nil {
		t.Fatal(err)
	}
	var about []*TooLongError
	out := x.trial(func(o *Options) {
		o.Contexts = table
		note := o.Note
		o.Note = func(err error) {
			note(err)
			if long := (*TooLongError)(nil); errors.As(err, &long) {
				about = append(about, long)
			}
		}
	})
	if len(about) != 2 || about[0].Model != "one" || about[0].Known || about[0].Context != 128_000 || len(about[0].Prompts) != 2 ||
		about[1].Model != "two" || !about[1].Known || about[1].Context != 1000 {
		t.Errorf("%+v\n%s", about, out.messages)
	}
	if want := "the context size of one is unknown, 128,000 tokens are assumed: 2 prompts are too long for it and not asked\ntwice who T ("; !strings.Contains(out.messages, want) {
		t.Errorf("messages without %q:\n%s", want, out.messages)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for q := range x.answered {
		if strings.Contains(q, "why not ") || strings.HasPrefix(q, "two") && len(q) > 20_000 {
			t.Errorf("asked: %.100q", q)
		}
	}
}

// TestNobodyToAsk: an experiment that names no models needs answers of earlier trials.
func TestNobodyToAsk(t *testing.T) {
	x := newExaminee(t)
	x.text = strings.Replace(twice, "models: [one, two]\n", "", 1)
	var none *NoModelError
	if out := x.trial(nil); !errors.As(out.err, &none) || x.requests() != 0 {
		t.Errorf("%v after %d questions", out.err, x.requests())
	}
	x.trial(func(o *Options) { o.Default = "one" })
	if n := x.requests(); n != twiceQuestions/2 {
		t.Errorf("%d questions, want %d", n, twiceQuestions/2)
	}
	if out := x.trial(nil); out.err != nil || len(out.report.Results) != twiceQuestions/2 {
		t.Errorf("%d answers, %v", len(out.report.Results), out.err)
	}
}

// TestJudgedAgain: marks by a rubric that has changed do not count, be they of a judge
// that has graded anew or not.
func TestJudgedAgain(t *testing.T) {
	x := newExaminee(t)
	x.text = strings.NewReplacer("repetitions: 3", "repetitions: 4", "variants: [T, ordered]", "variants: [T]").Replace(twice)
	x.text, _, _ = strings.Cut(x.text, "  - id: differ")
	var mark atomic.Value
	mark.Store("1")
	x.server = llmtest.New(t, llmtest.Step{Handle: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		content := `{"marks": [{"criterion": "function", "share": ` + mark.Load().(string) + `}]}`
		fmt.Fprintf(w, `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%q}}]}`, content)
	}})
	shares := func() string {
		t.Helper()
		out := x.trial(func(o *Options) { o.Models, o.Judge = []string{"one"}, "judge" })
		if out.err != nil {
			t.Fatal(out.err)
		}
		var shares []float64
		for _, r := range out.report.Results {
			for _, g := range r.Gradings {
				if g.Grader == eval.JudgePrefix+"judge" {
					shares = append(shares, g.Marks[0].Share)
				}
			}
		}
		return fmt.Sprint(shares)
	}
	if got := shares(); got != "[1 1 1 1]" {
		t.Errorf("the judge's marks are %s", got)
	}
	x.text = strings.Replace(x.text, "text: the function is named,", "text: nothing else is named,", 1)
	mark.Store("0.5")
	if got := shares(); got != "[0.5 0.5 0.5 0.5]" {
		t.Errorf("the judge's marks by the new rubric are %s", got)
	}
}
