// Summaries measures package summary on the history of a repository: what keeping the summaries
// up to date asks of a model, commit by commit, against making all of them anew at each.
//
//	go run ./bench/summaries -clone DIR [-commits 200]
//
// No model is asked. A script answers each question rightly, with sentences of usual length
// that are others for each question: so each summary that is made again makes those above it
// old, which is the worst case. Nothing is checked out, built or run.
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"tracerag/bench/corpus"
	"tracerag/knowledge/knowledgetest"
	"tracerag/knowledge/sqlite"
	"tracerag/llm"
	"tracerag/llm/metered"
	"tracerag/prompt/tokens"
	"tracerag/summary"
)

func main() {
	clone := flag.String("clone", "", "the `directory` of a git clone")
	commits := flag.Int("commits", 200, "replay so `many` commits, the last ones on the main line that changed Go files")
	name := flag.String("model", "gpt-4o", "the `model` whose tokens and prices count")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, corpus.Clone(*clone), *commits, *name); err != nil {
		fmt.Fprintln(os.Stderr, "summaries:", err)
		os.Exit(1)
	}
}

// step is what one commit took.
type step struct {
	report *summary.Report
	decls  int // that were made
}

func run(ctx context.Context, w io.Writer, clone corpus.Clone, n int, name string) error {
	if clone == "" {
		return fmt.Errorf("where is the repository? use -clone DIR")
	}
	log, err := clone.Git(nil, "log", "--first-parent", "--format=%H", "-n", fmt.Sprint(n), "HEAD", "--", "*.go")
	if err != nil {
		return err
	}
	commits := strings.Fields(string(log))
	slices.Reverse(commits)
	tmp, err := os.MkdirTemp("", "summaries")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	kept, err := sqlite.Open(ctx, filepath.Join(tmp, "knowledge.db"))
	if err != nil {
		return err
	}
	defer kept.Close()
	var parser knowledgetest.Parser
	var steps []step
	for _, c := range commits {
		files, err := clone.Files(c, func(name string) bool { return strings.HasSuffix(name, ".go") || path.Base(name) == "go.mod" })
		if err != nil {
			return err
		}
		texts := map[string][]byte{}
		for _, f := range files {
			texts[f.Name] = f.Text
		}
		store := &knowledgetest.Store{Repos: []*knowledgetest.Repository{parser.Parse(filepath.Base(string(clone)), texts, nil)}}
		model := metered.New(metered.Options{Model: name, Ask: script, Window: 128_000, MaxTokens: 4000, Count: tokens.For(name).Count, Keeper: kept})
		k := &summary.Maker{Model: model, Book: &summary.Book{Store: store, Read: store.Text, Kept: kept, Model: name}}
		tasks, _, err := k.Tasks(ctx, []string{filepath.Base(string(clone))}, "")
		if err != nil {
			return err
		}
		r, err := k.Repository(ctx, &tasks[0])
		if err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
		steps = append(steps, step{r, r.Made.Decls})
	}
	return write(w, steps)
}

// script answers a question about summaries.
func script(_ context.Context, r llm.Request, _ io.Writer) (llm.Answer, error) {
	q := r.Messages[len(r.Messages)-1].Content
	sum := sha256.Sum256([]byte(q))
	sentence := fmt.Sprintf("Reads the named table from its file, checks the header, and returns its rows, or error %d that names the line.", int(sum[0])<<8|int(sum[1]))
	_, labels, ok := strings.Cut(q, "Answer with these lines")
	if !ok {
		return llm.Answer{Text: strings.Repeat(sentence+". ", 5), FinishReason: "stop"}, nil
	}
	_, labels, _ = strings.Cut(labels, "\n\n")
	var b strings.Builder
	for line := range strings.Lines(labels) {
		label, _, _ := strings.Cut(line, ":")
		fmt.Fprintf(&b, "%s: %s\n", label, sentence)
	}
	return llm.Answer{Text: b.String(), FinishReason: "stop"}, nil
}

func write(w io.Writer, steps []step) error {
	first, last := steps[0].report, steps[len(steps)-1].report
	fmt.Fprintf(w, "%s, %d commits; code %d to %d tokens; summaries %d tokens at the end, %.1f %% smaller\n", first.Repository, len(steps),
		first.Code, last.Code, last.Summaries, 100*(1-float64(last.Summaries)/float64(last.Code)))
	fmt.Fprintf(w, "the first: %d questions, %d tokens\n\n", first.Questions, first.Tokens)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "declarations made\tcommits\tquestions, median\tmost\ttokens, mean\tanew, mean\tsaved\t")
	row := func(what string, in []step) {
		if len(in) == 0 {
			return
		}
		var questions []int
		tokens, anew := 0, 0
		for _, s := range in {
			questions = append(questions, s.report.Questions)
			tokens += s.report.Tokens
			anew += s.report.Anew.Tokens()
		}
		slices.Sort(questions)
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%.1f %%\t\n", what, len(in), questions[len(questions)/2], questions[len(questions)-1], tokens/len(in), anew/len(in), 100*(1-float64(tokens)/float64(anew)))
	}
	after := steps[1:]
	for _, b := range []struct {
		what     string
		from, to int
	}{{"none", 0, 0}, {"1", 1, 1}, {"2 to 5", 2, 5}, {"6 to 20", 6, 20}, {"more", 21, 1 << 30}} {
		var in []step
		for _, s := range after {
			if s.decls >= b.from && s.decls <= b.to {
				in = append(in, s)
			}
		}
		row(b.what, in)
	}
	row("all", after)
	row("with the first", steps)
	return t.Flush()
}
