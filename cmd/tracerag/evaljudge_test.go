package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"testing"

	"tracerag/fixtures"
	"tracerag/llm/llmtest"
)

// TestExperimentJudgedAgain: marks by a rubric that has changed do not count, be they
// of a judge that has graded anew or not.
func TestExperimentJudgedAgain(t *testing.T) {
	x := newExaminee(t, twiceExperiment, fixtures.Dir("twice"))
	var mark atomic.Value
	mark.Store("1")
	judge := llmtest.New(t, llmtest.Step{Handle: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		content := `{"marks": [{"criterion": "function", "share": ` + mark.Load().(string) + `}]}`
		fmt.Fprintf(w, `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%q}}]}`, content)
	}})
	x.env = append(x.env, "OPENAI_BASE_URL="+judge.URL())
	args := []string{"--model=one", "--judge=judge", "--inquiry=who", "--variant=T", "--repetitions=4"}
	shares := func() string {
		t.Helper()
		stdout, _ := x.run(0, append(args, "--json")...)
		var all struct {
			Answers []struct {
				Gradings []struct {
					Grader string
					Marks  []struct{ Share float64 }
				}
			}
		}
		if err := json.Unmarshal([]byte(stdout), &all); err != nil {
			t.Fatal(err)
		}
		var shares []float64
		for _, a := range all.Answers {
			for _, g := range a.Gradings {
				if g.Grader == "judge judge" {
					shares = append(shares, g.Marks[0].Share)
				}
			}
		}
		return fmt.Sprint(shares)
	}
	if got := shares(); got != "[1 1 1 1]" {
		t.Errorf("the judge's marks are %s", got)
	}
	text, err := os.ReadFile(x.file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(x.file, bytes.Replace(text, []byte("text: the function is named,"), []byte("text: nothing else is named,"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	mark.Store("0.5")
	if got := shares(); got != "[0.5 0.5 0.5 0.5]" {
		t.Errorf("the judge's marks by the new rubric are %s", got)
	}
}
