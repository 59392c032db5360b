package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracerag/fixtures"
	"tracerag/llm/llmtest"
)

// TestExperimentCosts: nothing is spent that nobody has allowed.
func TestExperimentCosts(t *testing.T) {
	x := newExaminee(t, twiceExperiment, fixtures.Dir("twice"))
	x.env = append(x.env, "OPENAI_API_KEY=sk-test")
	_, stderr := x.run(1, "--model=gpt-4o")
	if x.requests() != 0 || !strings.Contains(stderr, "these questions cost money, and no ceiling was given\n  --max-cost=1.") {
		t.Errorf("%d questions were asked\n%s", x.requests(), stderr)
	}
	_, stderr = x.run(0, "--model=gpt-4o", "--dry-run")
	if x.requests() != 0 || !strings.Contains(stderr, "to ask: 12 questions, ") || !strings.Contains(stderr, " tokens of prompts, at most $") {
		t.Errorf("%d questions were asked\n%s", x.requests(), stderr)
	}
	// Each answer costs 1000 and 50 tokens, $0.003, and may cost at most $0.16 and
	// the prompt.
	_, stderr = x.run(1, "--model=gpt-4o", "--max-cost=0.17")
	if x.requests() < 1 || x.requests() > 4 || !strings.Contains(stderr, "the cost ceiling is reached: $0.0") {
		t.Errorf("%d questions were asked\n%s", x.requests(), stderr)
	}
	before := x.requests()
	_, stderr = x.run(1, "--model=gpt-4o", "--max-cost=0.17")
	if x.requests() != before || !strings.Contains(stderr, "after $0.0") {
		t.Errorf("the second run asked %d questions, with the ceiling reached\n%s", x.requests()-before, stderr)
	}
	x.run(0, "--model=gpt-4o", "--max-cost=1")
	if x.requests() != 12 {
		t.Errorf("%d questions were asked in all, want 12", x.requests())
	}
}

// TestExperimentCostsOfOthers: the ceiling is of all that the directory of results has
// cost, and answers whose tokens the server does not tell count with the most that they
// can cost, and so do those that break off.
func TestExperimentCostsOfOthers(t *testing.T) {
	x := newExaminee(t, twiceExperiment, fixtures.Dir("twice"))
	x.env = append(x.env, "OPENAI_API_KEY=sk-test")
	x.set(func() { x.silent = true })
	args := []string{"--model=gpt-4o", "--repetitions=1", "--max-cost=0.4"} // each may cost $0.16
	_, stderr := x.run(1, args...)
	if x.requests() != 2 || strings.Count(stderr, "the server did not report its token count") != 1 {
		t.Errorf("%d questions were asked, want 2\n%s", x.requests(), stderr)
	}
	text, err := os.ReadFile(x.file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(x.file, bytes.Replace(text, []byte("name: twice"), []byte("name: other"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr = x.run(1, args...)
	if x.requests() != 2 || !strings.Contains(stderr, "after $0.32 that are spent") {
		t.Errorf("%d questions were asked, want no more\n%s", x.requests()-2, stderr)
	}

	broken := llmtest.New(t, llmtest.Step{Handle: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"By "}}]}`+"\n\n")
	}})
	x.env = append(x.env, "OPENAI_BASE_URL="+broken.URL())
	_, stderr = x.run(1, "--model=gpt-4o", "--repetitions=1", "--max-cost=0.6", "--quiet")
	if n := len(broken.Requests()); n != 1 || !strings.Contains(stderr, "no answer: other who T of gpt-4o") ||
		!strings.Contains(stderr, "the cost ceiling is reached: $0.4") || !strings.Contains(stderr, "4 questions are still open") {
		t.Errorf("%d questions were asked, want 1\n%s", n, stderr)
	}

	// What the judge needs is said before anything is paid for.
	_, stderr = x.run(1, "--model=free", "--judge=gpt-4o")
	if n := len(broken.Requests()); n != 1 || !strings.Contains(stderr, "the judge gpt-4o costs money, and no ceiling was given\n  --max-cost=DOLLARS") {
		t.Errorf("%d questions were asked\n%s", n-1, stderr)
	}
}

// TestExperimentUnsaved: where an answer cannot be saved nothing more is asked, and it
// is kept elsewhere.
func TestExperimentUnsaved(t *testing.T) {
	x := newExaminee(t, twiceExperiment, fixtures.Dir("twice"))
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
	x.env = append(x.env, "TMPDIR="+elsewhere)
	cmd := x.command("--parallel=1")
	messages, err := cmd.CombinedOutput()
	if err == nil || x.requests() != 1 || !strings.Contains(string(messages), "nothing more is asked: its answer was not saved: ") {
		t.Errorf("%d questions were asked, want 1; %v\n%s", x.requests(), err, messages)
	}
	kept, err := filepath.Glob(filepath.Join(elsewhere, "tracerag-*.json"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("%v, %v are kept, want one answer\n%s", kept, err, messages)
	}
	// Moved to where the message says it counts as any other.
	_, place, _ := strings.Cut(string(messages), "(it is in "+kept[0]+": move it to ")
	place, _, ok := strings.Cut(place, ")")
	if !ok {
		t.Fatalf("it is not said where to move %s\n%s", kept[0], messages)
	}
	for _, err := range []error{os.Remove(filepath.Join(answers, "twice")), os.Mkdir(filepath.Join(answers, "twice"), 0o700), os.Rename(kept[0], place)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	x.set(func() { x.hang = nil })
	if _, stderr := x.run(0); strings.Contains(stderr, "never answered") {
		t.Errorf("the answer counts as lost:\n%s", stderr)
	}
	x.everything(0)
}

// TestExperimentTooLong: what does not fit a model's window is not asked, and it is said
// whether that window is known.
func TestExperimentTooLong(t *testing.T) {
	x := newExaminee(t, strings.Replace(twiceExperiment, "which function prints?", strings.Repeat("why not ", 80_000), 1), fixtures.Dir("twice"))
	windows := filepath.Join(x.dir, "windows")
	if err := os.WriteFile(windows, []byte("two 1000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr := x.run(0, "--repetitions=1", "--models", windows)
	for _, want := range []string{
		"the context size of one is unknown, 128,000 tokens are assumed: 2 prompts are too long for it and not asked\n  twice who T (",
		"  --models names a file that has the context size\n",
		"two takes 1,000 tokens: ",
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("messages without %q:\n%s", want, stderr)
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for q := range x.answered {
		if strings.Contains(q, "why not ") || strings.HasPrefix(q, "two") && len(q) > 20_000 {
			t.Errorf("asked: %.100q", q)
		}
	}
}
