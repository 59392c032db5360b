package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tracerag/fixtures/real"
	"tracerag/rank"
)

// TestQuestionsFile holds the frame of the questions: forty, half of them held out, about
// eight programs or more, of which some are always tested.
func TestQuestionsFile(t *testing.T) {
	programs, err := readQuestions("questions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	questions, of, cheap := map[string]int{}, map[string]int{}, map[string]int{}
	asked := map[string]bool{}
	for _, p := range programs {
		of[p.Half]++
		questions[p.Half] += len(p.Questions)
		if p.Cheap {
			cheap[p.Half]++
		}
		for _, q := range p.Questions {
			if asked[q.Question] {
				t.Errorf("%q is asked twice", q.Question)
			}
			asked[q.Question] = true
		}
	}
	for _, half := range []string{tuning, heldOut} {
		if questions[half] != 20 || of[half] < 4 || cheap[half] == 0 {
			t.Errorf("%s: %d questions about %d programs, %d of them cheap", half, questions[half], of[half], cheap[half])
		}
	}
}

// TestQuestions records the programs: what decides is among the functions that ran, and
// each question can be ranked. TRACERAG_REAL=all installs all of them.
func TestQuestions(t *testing.T) {
	if testing.Short() {
		t.Skip("installs and records programs")
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("breakpoints are slow")
	}
	programs, err := readQuestions("questions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRecorder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range programs {
		if !p.Cheap && os.Getenv("TRACERAG_REAL") != "all" {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			bugs, err := r.cases(&p, real.Install(t, p.real()))
			if err != nil {
				t.Fatal(err)
			}
			if len(bugs) != len(p.Questions) {
				t.Fatalf("%d cases of %d questions", len(bugs), len(p.Questions))
			}
			for i, ranked := range rankAll(bugs, rank.Default) {
				b := bugs[i]
				if len(ranked.At) != len(p.Questions[i].Decides) || len(b.Gold) != len(ranked.At) {
					t.Errorf("%s: ranks %v for %v", b.Report, ranked.At, p.Questions[i].Decides)
				}
				if len(b.Executed) < 10 || len(b.Others) == 0 || b.Executed[0].Text == "" {
					t.Errorf("%s: %d functions ran, %d others are known", b.Report, len(b.Executed), len(b.Others))
				}
			}
		})
	}
}

// TestWrongQuestions holds what is said of a file that is wrong.
func TestWrongQuestions(t *testing.T) {
	const good = `- name: a
  package: example.com/a
  version: v1.0.0
  half: tuning
  runs: {plain: {args: [x]}}
  questions: [{run: plain, question: "why?", decides: [a.F]}]
`
	dir := t.TempDir()
	read := func(text string) error {
		name := filepath.Join(dir, "questions.yaml")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := readQuestions(name)
		return err
	}
	if err := read(good); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ old, new, want string }{
		{"half: tuning", "half: both", `a: half "both": want tuning or held-out`},
		{"version: v1.0.0", "", "a: want a name, a package and its version"},
		{"run: plain", "run: other", `"why?" is asked about the unknown run "other"`},
		{"decides: [a.F]", "decides: []", "one to three functions that decide"},
		{"decides: [a.F]", "decides: [a.F, a.G, a.H, a.I]", "one to three functions that decide"},
		{`question: "why?"`, `question: "why?", answer: x`, "field answer not found"},
		{good, good + good, "a is repeated"},
	} {
		if err := read(strings.Replace(good, tt.old, tt.new, 1)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: error %v, want %q", tt.new, err, tt.want)
		}
	}
}
