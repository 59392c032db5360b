package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"tracerag/answer"
	"tracerag/calltree"
	"tracerag/eval/locating"
	"tracerag/eval/trial"
	"tracerag/export"
	"tracerag/jobs"
	"tracerag/knowledge"
	"tracerag/llm"
	"tracerag/llm/metered"
	"tracerag/llm/throttle"
	"tracerag/mcp"
	"tracerag/prompt"
	"tracerag/record"
	"tracerag/session"
	"tracerag/summary"
	"tracerag/trace"
	"tracerag/trace/gocmd"
	"tracerag/trace/profiles"
	"tracerag/trace/store"
	"tracerag/trace/target"
	"tracerag/viewer"
)

// TestWayOut: the errors of libraries name no flag, and the command line adds those that
// help.
func TestWayOut(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range []struct {
		err  error
		want []string
	}{
		{&session.BaselineError{Err: errors.New("no trace xy")}, []string{"--baseline"}},
		{&session.NoReferenceError{Path: "x.pb.gz"}, []string{"--update"}},
		{session.ErrNothingCompared, []string{"--ignore", "--include"}},
		{&session.MaskError{Err: errors.New("unknown rule")}, []string{"--no-redact", "gitleaks"}},
		{&session.EmptyTreeError{Trace: "ab"}, []string{"--include"}},
		{&session.EmptyTreeError{Trace: "ab", Why: session.AllPruned}, []string{"--baseline=none"}},
		{&session.EmptyTreeError{Trace: "ab", Why: session.OnlyInit}, []string{"--init"}},
		{&session.LargeTreeError{Path: "x", Nodes: 7, Err: errors.New("too much")}, []string{"--focus"}},
		{&session.LargeTreeError{Path: "x", Nodes: 7, Err: &trace.LimitError{Allowed: 4 << 30}}, []string{"--focus", "TRACERAG_READ_MEMORY=8GiB"}},
		{&trace.LimitError{Allowed: 4 << 30}, []string{"TRACERAG_READ_MEMORY=8GiB"}},
		{viewer.ErrNoModel, []string{"tracerag ask --help"}},
		{mcp.ErrNotAllowed, []string{"tracerag mcp --allow-run", "tracerag run"}},
		{mcp.ErrNoTraces, []string{"tracerag mcp --allow-run", "tracerag run"}},
		{&mcp.NoValuesError{Trace: "ab"}, []string{"--values"}},
		{&calltree.LimitError{Limit: 9}, []string{"--tree=graph", "--focus", "--baseline"}},
		{&prompt.OverWindowError{Window: 300, Total: 500}, []string{"--budget", "--focus", "--baseline", "--include", "--variant T"}},
		{&export.SizeError{Most: 9}, []string{"--max-size", "--focus"}},
		{&answer.CutError{}, []string{"--max-tokens", "--continue"}},
		{&answer.ReadInsteadError{}, []string{"--one-shot"}},
		{&answer.OtherTracesError{Traces: []string{"ab", "cd"}}, []string{"--compare", "--continue"}},
		{&answer.NoConversationError{Trace: "ab"}, []string{"--continue"}},
		{&trial.SheetError{Path: "marks.csv", Err: errors.New("row 3")}, []string{"--sheet"}},
		{&trial.NoModelError{Path: "x.yaml"}, []string{"--model NAME"}},
		{&metered.NoCeilingError{Need: 1.5}, []string{"--max-cost=1.50"}},
		{&metered.NoCeilingError{Model: "gpt-4o"}, []string{"--max-cost=DOLLARS"}},
		{&trial.TooLongError{Model: "one", Prompts: []string{"who"}}, []string{"--models"}},
		{&trial.CutError{File: "out/a.json"}, []string{"--max-tokens, and remove out/a.json"}},
		{&target.NoMatchError{Path: "./app", Pattern: "x/...", Main: "app"}, []string{"--include", "std"}},
		{&target.NothingLeftError{Path: "./app"}, []string{"--include", "--exclude"}},
		{&trace.SizeError{Err: errors.New("too many frames")}, []string{"--include", "--exclude"}},
		{&gocmd.NoTestsError{Command: "go run"}, []string{"--each takes go test"}},
		{&store.NoDirError{Err: errors.New("getwd")}, []string{"--dir", "TRACERAG_DIR"}},
		{&store.UnwritableError{Dir: "x", Err: errors.New("full")}, []string{"--dir", "TRACERAG_DIR"}},
		{profiles.ErrOnlyStandard, []string{"--std"}},
		{&prompt.OverBudgetError{Budget: 400, Least: 496}, []string{"--budget"}},
		{&record.BaselineError{Err: errors.New("no such file")}, []string{"--baseline"}},
		{&record.TimeOverError{}, []string{"--time-limit"}},
		{&record.NotRecordedError{}, []string{"--include"}},
		{&record.ProcessError{}, []string{"tracerag run --window", "tracerag attach"}},
		{&record.ProcessError{Recordings: []int{7, 9}}, []string{"--pid=7"}},
		{&record.WindowError{Recording: true}, []string{"tracerag window stop"}},
		{&record.WindowError{}, []string{"tracerag window start"}},
		{&session.NoValuesError{}, []string{"tracerag run --values"}},
		{&locating.NoTreeError{Case: "a"}, []string{"--repo DIR"}},
		{&locating.NoClonesError{Case: "a", Repo: "x/y"}, []string{"--clones DIR"}},
		{throttle.ErrCeiling, []string{"--max-cost"}},
		{&metered.TooLongError{Kind: "rerank", Tokens: 9, Room: 7}, []string{"--context-window", "--max-tokens"}},
		{&metered.FormError{Kind: "rerank", Err: errors.New("it is empty")}, []string{"ask another model"}},
		{&knowledge.NoTraceError{ID: "ab"}, []string{"tracerag pull --list"}},
		{knowledge.ErrNoToken, []string{"tracerag token list"}},
		{knowledge.ErrTokenTaken, []string{"tracerag token rm NAME"}},
		{&jobs.NoJobError{ID: 7}, []string{"tracerag jobs --all"}},
		{&summary.NothingRanError{Trace: "ab"}, []string{"tracerag index --summaries --ran TRACE DIR"}},
		{&llm.Error{Kind: llm.KindTooLarge}, []string{"--budget", "--variant=T"}},
	} {
		seen[fmt.Sprintf("%T", c.err)] = true
		if strings.Contains(c.err.Error(), "--") || strings.Contains(c.err.Error(), "TRACERAG_") {
			t.Errorf("%T names a flag: %v", c.err, c.err)
		}
		text, out, _ := strings.Cut(withWayOut(fmt.Errorf("in a command: %w", c.err)), c.err.Error()+"\n")
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%T: %q and %q do not name %s", c.err, text, out, want)
			}
		}
	}
	// Each type that has a way out is above.
	text, err := os.ReadFile("wayout.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?:isA|AsType)\[(\*\w+\.\w+)\]`).FindAllStringSubmatch(string(text), -1) {
		if !seen[m[1]] {
			t.Errorf("the way out of %s is not tested", m[1])
		}
	}
}

// TestLossWayOut: a full memory leads to the flag that gives the recorder more.
func TestLossWayOut(t *testing.T) {
	full := &trace.Trace{Losses: []trace.Loss{{Kind: trace.LossOther}, {Kind: trace.LossOverflow, Count: 9, Nodes: 3}}}
	if got := lossWayOut(full); !strings.Contains(got, "--memory") {
		t.Errorf("%q does not name --memory", got)
	}
	if got := lossWayOut(&trace.Trace{Losses: []trace.Loss{{Kind: trace.LossFloor, Count: 9}}}); got != "" {
		t.Errorf("a loss that no memory helps with: %q", got)
	}
}

// TestLongPrompts: a prompt that is so long that answers get worse is no error, and the
// flags that make it shorter are named anyway.
func TestLongPrompts(t *testing.T) {
	for total, want := range map[int]bool{prompt.LongFrom: true, prompt.LongFrom - 1: false} {
		var stderr bytes.Buffer
		a, err := newApp(strings.NewReader(""), io.Discard, &stderr)
		if err != nil {
			t.Fatal(err)
		}
		a.warnings(&prompt.Prompt{Total: total, Left: 90_000})
		a.flush()
		if got := strings.Contains(stderr.String(), "--budget"); got != want {
			t.Errorf("%d tokens: %q", total, stderr.String())
		}
	}
}
