package repair

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tracerag/llm"
	"tracerag/llm/metered"
	"tracerag/llm/throttle"
	"tracerag/repair/patch"
	"tracerag/repair/trial"
)

// tree writes the files of a repository.
func tree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":              "module example.com/app\n\ngo 1.26\n",
		"table/table.go":      "package table\n\nimport \"strings\"\n\n// Border draws a border.\nfunc Border(n int) string { return strings.Repeat(\"-\", n-1) }\n\nfunc other() {}\n",
		"table/secret.go":     "package table\n\nfunc login() { password := \"" + hidden + "\"; println(password) }\n",
		"table/table_test.go": "package table\n\nimport \"testing\"\n\nfunc TestBorder(t *testing.T) {\n\tif got := Border(3); got != \"---\" {\n\t\tt.Error(got)\n\t}\n}\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const hidden = "correct-horse-battery-7"

func task(dir string) *Task {
	return &Task{Report: "the border is cut", Dir: dir, Run: "Border was called", Plan: "draw n signs",
		Test:   Test{Package: "example.com/app/table", Name: "TestBorder", File: "table/table_test.go", Source: "func TestBorder(t *testing.T) {}", Output: "--- FAIL: TestBorder\n    table_test.go:7: --\n"},
		Places: []Place{{File: "table/table.go", Name: "Border", Plan: "one sign more"}, {File: "table/table.go", Name: "other"}}}
}

// border is a reply that repairs Border.
func border(body string) string {
	return replyOf("table/table.go", "func Border(n int) string { return "+body+" }")
}

func replyOf(file, text string) string {
	return patch.Format([]patch.Edit{{File: file, Text: text, New: strings.Contains(file, "reproduction")}})
}

// chat is a scripted model, and a scripted trial.
type chat struct {
	mu      sync.Mutex
	answer  func(_, prompt string, temperature float64) string
	asked   []llm.Request
	judged  []string // diffs
	verdict func(diff string) trial.Verdict
	limits  throttle.Limits
	window  int
}

func (c *chat) fixer() *Fixer {
	if c.window == 0 {
		c.window = 16000
	}
	return &Fixer{
		Model: metered.New(metered.Options{Model: "scripted", Window: c.window, MaxTokens: 500, Count: func(s string) int { return len(s)/4 + 1 }, Limits: c.limits,
			Ask: func(_ context.Context, r llm.Request, _ io.Writer) (llm.Answer, error) {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.asked = append(c.asked, r)
				at := -1.
				if r.Temperature != nil {
					at = *r.Temperature
				}
				text := c.answer("", r.Messages[len(r.Messages)-1].Content, at)
				return llm.Answer{Text: text}, nil
			}}),
		Judge: func(_ context.Context, p *patch.Patch) (trial.Verdict, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.judged = append(c.judged, string(p.Diff()))
			return c.verdict(string(p.Diff())), nil
		},
	}
}

func accepts(part string) func(string) trial.Verdict {
	return func(diff string) trial.Verdict {
		if strings.Contains(diff, part) {
			return trial.Verdict{Accepted: true, Stage: trial.Suite, Reason: "fine"}
		}
		return trial.Verdict{Stage: trial.Wants, Reason: "TestBorder fails", Failures: []trial.Failure{{Package: "example.com/app/table", Test: "TestBorder", Is: trial.Failed, Output: "got four"}}}
	}
}

// TestFix: candidates come at rising temperatures, equal ones are judged once and are votes, and most
// votes win.
func TestFix(t *testing.T) {
	bodies := map[float64]string{0: `strings.Repeat("-", n)`, .3: `strings.Repeat("-", n+0)`, .6: "strings.Repeat(\"-\",  n /* signs */)", .9: `strings.Repeat("-", n-2)`}
	c := chat{answer: func(_, _ string, at float64) string { return border(bodies[at]) }, verdict: accepts("n)")}
	c.verdict = func(diff string) trial.Verdict {
		return trial.Verdict{Accepted: !strings.Contains(diff, "n-2) }"), Stage: trial.Suite}
	}
	var told []int
	f := c.fixer()
	f.Tell = func(x *Candidate) { told = append(told, x.Number) }
	r, err := f.Fix(t.Context(), task(tree(t)))
	if err != nil {
		t.Fatal(err)
	}
	var at []float64
	for _, q := range c.asked {
		at = append(at, *q.Temperature)
	}
	slices.Sort(at)
	if !slices.Equal(at, []float64{0, .3, .6, .9}) || len(c.judged) != 3 || len(told) != 4 {
		t.Errorf("asked at %v, %d judged, %v told", at, len(c.judged), told)
	}
	if r.Chosen == nil || r.Number != 1 || r.Chosen.Votes != 2 || r.Why != "2 candidates of 4 agree" || r.Candidates[2].Like != 1 {
		t.Errorf("%+v, %s: %+v", r.Chosen, r.Why, r.Candidates[2])
	}
	if want := "-func Border(n int) string { return strings.Repeat(\"-\", n-1) }\n+func Border(n int) string { return strings.Repeat(\"-\", n) }\n"; !strings.Contains(r.Chosen.Diff, want) {
		t.Error(r.Chosen.Diff)
	}
	prompt := c.asked[0].Messages[1].Content
	for _, want := range []string{"the border is cut", "TestBorder fails", "func TestBorder(t *testing.T) {}", "table_test.go:7: --", "Border was called", "draw n signs", "== table/table.go", "import \"strings\"", "// Plan: one sign more\n// Border draws a border.\nfunc Border(n int)", "func other() {}"} {
		if !strings.Contains(prompt, want) && !strings.Contains(prompt, strings.ReplaceAll(want, "TestBorder fails", "TEST fails with OUTPUT")) {
			t.Errorf("the question lacks %q:\n%s", want, prompt)
		}
	}
}

// TestSecondTry: the best of the candidates that failed is tried again, with how it failed and where its
// run parts from the run before.
func TestSecondTry(t *testing.T) {
	c := chat{verdict: accepts("n) }")}
	c.answer = func(_, prompt string, at float64) string {
		if strings.Contains(prompt, "got four") && strings.Contains(prompt, "it was called twice") && strings.Contains(prompt, "n+7") {
			return border(`strings.Repeat("-", n)`)
		}
		return border(fmt.Sprintf(`strings.Repeat("-", n+%.0f)`, 7+10*at))
	}
	c.verdict = func(diff string) trial.Verdict {
		switch {
		case strings.Contains(diff, "n+7)"):
			return accepts("?")(diff)
		case strings.Contains(diff, "n+"):
			return trial.Verdict{Stage: trial.Builds, Reason: "it does not compile"}
		}
		return trial.Verdict{Accepted: true}
	}
	f := c.fixer()
	f.Parts = func(_ context.Context, p *patch.Patch) (string, error) {
		if !strings.Contains(string(p.Diff()), "n+7)") {
			t.Errorf("recorded for %s", p.Diff())
		}
		return "it was called twice", nil
	}
	r, err := f.Fix(t.Context(), task(tree(t)))
	if err != nil || r.Number != 5 || r.Chosen.Round != 1 || r.Chosen.Temperature != calm || r.Why != "it is the only one that is accepted" {
		t.Errorf("%v: %+v", err, r)
	}
	f.Rounds = -1
	if r, err := f.Fix(t.Context(), task(tree(t))); err != nil || r.Chosen != nil || len(r.Candidates) != 4 {
		t.Errorf("no second try was wanted: %v %+v", err, r)
	}
}

// TestChoice: of several that are accepted and have as many votes the model chooses; where it does not,
// the smaller is taken.
func TestChoice(t *testing.T) {
	for _, x := range []struct {
		says string
		want int
		why  string
	}{
		{"2", 1, "the model prefers it"},
		{"CHANGE 1 is right", 2, "the model prefers it"},
		{"both are fine", 2, "the smallest"},
		{"9", 2, "the smallest"},
	} {
		c := chat{verdict: accepts("")}
		c.answer = func(_, prompt string, at float64) string {
			switch {
			case strings.Contains(prompt, "CHANGE 2") || at < 0:
				return x.says
			case at == 0:
				return replyOf("table/table.go", "func Border(n int) string {\n\tlong := strings.Repeat(\"-\", n)\n\treturn long\n}")
			}
			return border(`strings.Repeat("-", n)`)
		}
		f := c.fixer()
		f.Candidates = 2
		r, err := f.Fix(t.Context(), task(tree(t)))
		if err != nil || r.Number != x.want || !strings.Contains(r.Why, x.why) {
			t.Errorf("%q: %v, candidate %d, since %s", x.says, err, r.Number, r.Why)
		}
	}
}

// TestFormless: a reply that is no change is asked for again twice, with what is wrong with it; then the
// candidate is none, and the others count.
func TestFormless(t *testing.T) {
	c := chat{verdict: accepts("n) }")}
	c.answer = func(_, prompt string, at float64) string {
		if at == 0 {
			return replyOf("table/table.go", "func Border(n int) string { return ")
		}
		return border(`strings.Repeat("-", n)`)
	}
	f := c.fixer()
	f.Candidates = 2
	r, err := f.Fix(t.Context(), task(tree(t)))
	if err != nil || r.Number != 2 || r.Candidates[0].Wrong == "" || len(c.asked) != 4 {
		t.Errorf("%v, %d asked: %+v", err, len(c.asked), r.Candidates[0])
	}
	n := 0
	for _, q := range c.asked {
		if last := q.Messages[len(q.Messages)-1].Content; strings.Contains(last, "not in the form that was asked for") && strings.Contains(last, "expected") {
			n++
		}
	}
	if n != 2 {
		t.Errorf("told %d times what the parser says", n)
	}
	// Nonsense alone: nothing is accepted, and there is no second try of nothing.
	c.answer = func(string, string, float64) string { return "I can't help with that." }
	c.asked, c.judged = nil, nil
	if r, err := f.Fix(t.Context(), task(tree(t))); err != nil || r.Chosen != nil || len(c.judged) != 0 || len(c.asked) != 6 {
		t.Errorf("%v %+v, %d judged, %d asked", err, r, len(c.judged), len(c.asked))
	}
}

// TestEnds: when the money is spent or the key is wrong nothing more is asked; what came until then is
// judged, and an accepted change is one.
func TestEnds(t *testing.T) {
	for _, wrong := range []error{&throttle.FinalError{Err: errors.New("wrong key")}, &throttle.StopError{Err: throttle.ErrCeiling}} {
		for _, right := range []bool{true, false} {
			c := chat{verdict: accepts("n) }")}
			f := c.fixer()
			asked := 0
			f.Parallel = 1
			f.Model = metered.New(metered.Options{Model: "scripted", Window: 16000, MaxTokens: 500, Count: func(s string) int { return len(s) / 4 }, Limits: throttle.Limits{Parallel: 1},
				Ask: func(context.Context, llm.Request, io.Writer) (llm.Answer, error) {
					if asked++; asked > 1 {
						return llm.Answer{}, wrong
					}
					if right {
						return llm.Answer{Text: border(`strings.Repeat("-", n)`)}, nil
					}
					return llm.Answer{Text: border(`strings.Repeat("-", n+9)`)}, nil
				}})
			r, err := f.Fix(t.Context(), task(tree(t)))
			if (err == nil) != right || (r.Chosen != nil) != right || asked != 2 || len(c.judged) != 1 || len(r.Notes) == 0 {
				t.Errorf("%v, right %v: %v, asked %d, judged %d, %+v", wrong, right, err, asked, len(c.judged), r)
			}
		}
	}
}

// TestRoom: a question fits the window. Places that have no room are named, and where none has there is
// no question.
func TestRoom(t *testing.T) {
	dir := tree(t)
	long := "package table\n\nfunc Long() {\n" + strings.Repeat("\tprintln(\"a line of the long function\")\n", 1000) + "}\n"
	if err := os.WriteFile(filepath.Join(dir, "table", "long.go"), []byte(long), 0o644); err != nil {
		t.Fatal(err)
	}
	k := task(dir)
	k.Report = strings.Repeat("a long report\n", 5000)
	k.Run, k.Test.Output, k.Test.Source = strings.Repeat("a call\n", 5000), strings.Repeat("a line\n", 5000)+"the end", strings.Repeat("a line\n", 5000)
	k.Places = append([]Place{{File: "table/long.go", Name: "Long"}, {File: "table/gone.go", Name: "Gone"}, {File: "../out.go", Name: "Out"}}, k.Places...)
	c := chat{answer: func(string, string, float64) string { return border(`strings.Repeat("-", n)`) }, verdict: accepts(""), window: 8000}
	f := c.fixer()
	r, err := f.Fix(t.Context(), k)
	if err != nil || r.Chosen == nil {
		t.Fatalf("%v %+v", err, r)
	}
	prompt := c.asked[0].Messages[1].Content
	if n := f.Model.Count(prompt) + f.Model.Count(system); n > 8000-500 {
		t.Errorf("%d tokens", n)
	}
	notes := strings.Join(r.Notes, "\n")
	for _, want := range []string{"Long in table/long.go has ", "Gone in table/gone.go can't be shown", "../out.go can't be shown"} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes lack %q: %s", want, notes)
		}
	}
	if !strings.Contains(prompt, "the end\n") || !strings.Contains(prompt, "lines are left out]") {
		t.Error("of an output the end counts")
	}
	k.Places = k.Places[:3]
	if _, err := f.Fix(t.Context(), k); !errors.Is(err, ErrNoPlace) {
		t.Errorf("no place: %v", err)
	}
}

// TestSecret: a declaration with a secret is not shown, as a model would put the mask in its place.
func TestSecret(t *testing.T) {
	c := chat{answer: func(string, string, float64) string { return border(`strings.Repeat("-", n)`) }, verdict: accepts("")}
	f := c.fixer()
	f.Masks = func(s string) bool { return strings.Contains(s, hidden) }
	k := task(tree(t))
	k.Places = append(k.Places, Place{File: "table/secret.go", Name: "login"})
	r, err := f.Fix(t.Context(), k)
	if err != nil || strings.Contains(c.asked[0].Messages[1].Content, hidden) || !strings.Contains(strings.Join(r.Notes, "\n"), "login in table/secret.go can't be shown: it holds a secret") {
		t.Errorf("%v %q", err, r.Notes)
	}
}

// TestReproduce: of the tests that are written from a report one is kept that fails as most of them do.
func TestReproduce(t *testing.T) {
	written := func(what string) string {
		return replyOf("table/reproduction2_test.go", "package table\n\nimport \"testing\"\n\nfunc TestReproduction(t *testing.T) {\n\tprintln(\""+what+"\")\n}")
	}
	c := chat{answer: func(_, prompt string, at float64) string {
		return written(map[float64]string{0: "panics", .3: "fails", .6: "passes", .9: "fails as well"}[at])
	}}
	f := c.fixer()
	k := task(tree(t))
	// What can't be read is there, too: a link to nowhere, for one.
	if err := os.Symlink("nowhere", filepath.Join(k.Dir, "table", "reproduction_test.go")); err != nil {
		t.Fatal(err)
	}
	k.Test = Test{Package: "example.com/app/table"}
	try := func(_ context.Context, p *patch.Patch, _ Test) (bool, string, error) {
		text := string(p.Files[0].After)
		switch {
		case strings.Contains(text, "panics"):
			return true, "panic: index out of range [3]\n", nil
		case strings.Contains(text, "passes"):
			return false, "", nil
		}
		return true, "--- FAIL: TestReproduction (0.12s)\n", nil
	}
	r, err := f.Reproduce(t.Context(), k, try)
	if err != nil || r.Votes != 2 || r.Asked != 4 || !strings.Contains(r.Test.Source, "\"fails\"") || r.Test.File != "table/reproduction2_test.go" {
		t.Fatalf("%v %+v", err, r)
	}
	if !strings.Contains(c.asked[0].Messages[1].Content, "It is a new file table/reproduction2_test.go of package table") {
		t.Error(c.asked[0].Messages[1].Content)
	}
	none := new(NotReproducedError)
	if _, err := f.Reproduce(t.Context(), k, func(context.Context, *patch.Patch, Test) (bool, string, error) { return false, "", nil }); !errors.As(err, &none) {
		t.Errorf("none fails: %v", err)
	}
}
