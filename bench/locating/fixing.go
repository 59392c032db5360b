package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"tracerag/bench/corpus"
	"tracerag/bench/corpus/gold"
	"tracerag/code"
	"tracerag/llm"
	"tracerag/llm/metered"
	"tracerag/llm/throttle"
	"tracerag/locate"
	"tracerag/locate/guided"
	"tracerag/prompt/tokens"
	"tracerag/repair"
	"tracerag/repair/evidence"
	"tracerag/repair/patch"
	"tracerag/repair/trial"
	"tracerag/summary"
)

// mender is a scripted model that knows the fix, and gives it if and only if each declaration
// that it changes was shown whole. Questions about places go to the oracle.
type mender struct {
	*oracle
	edits  []patch.Edit
	whole  []string // declarations of the base that the fix changes or removes
	answer behaviour
	count  func(string) int
	shown  bool // whole was, in some question
}

// behaviour is how a mender answers.
type behaviour string

const (
	atOnce   behaviour = "right at once"
	second   behaviour = "right at the second try"
	nonsense behaviour = "nonsense"
)

// senseless are answers that no question asks for.
var senseless = []string{"", "I would look at the weather first.", "{}", "Let us see.\n\n```go\nfunc {\n```", "FILE: no/such/file.go\n```go\npackage x\n\nfunc F() {}\n```"}

func (m *mender) ask(ctx context.Context, r llm.Request, w io.Writer) (llm.Answer, error) {
	question := r.Messages[1].Content // behind the instructions; further ones are about replies in no form
	_, places, ok := strings.Cut(question, "<<<PLACES ")
	switch {
	case m.answer == nonsense:
		return m.counted(r, senseless[len(question)%len(senseless)]), nil
	case !ok:
		a, err := m.oracle.ask(ctx, r, w)
		return m.counted(r, a.Text), err
	}
	text := "I can't say."
	if !slices.ContainsFunc(m.whole, func(decl string) bool { return !strings.Contains(places, decl) }) {
		m.shown = true
		text = patch.Format(m.edits)
		if m.answer == second && !strings.Contains(question, "<<<TRIED ") {
			text = patch.Format([]patch.Edit{{File: "wrong.go", Text: "package wrong\n\nfunc wrong() {}\n", New: true}})
		}
	}
	return m.counted(r, text), nil
}

// counted says what an answer took, as servers do: the ceiling counts with the most otherwise.
func (m *mender) counted(r llm.Request, text string) llm.Answer {
	prompt := 0
	for _, x := range r.Messages {
		prompt += m.count(x.Content)
	}
	return llm.Answer{Text: text, FinishReason: "stop", Usage: &llm.Usage{PromptTokens: prompt, CompletionTokens: m.count(text), TotalTokens: prompt + m.count(text)}}
}

// mended is what became of a case.
type mended struct {
	resolved, shown bool
	totals          metered.Totals
	said            string // where nothing was accepted
}

// mendAll has scripted models repair each case, with each way of looking for places. A change is right if it is that of the
// fix: tests that run are measured by bench/trials. The run of the test is filled up with other text,
// as long as it may be.
func mendAll(w io.Writer, all []*loaded, set settings) error {
	cases := make([]*corpus.Case, len(all))
	for i, c := range all {
		cases[i] = c.Case
	}
	ran, err := corpus.ReadExecuted(set.corpus, set.split, cases)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "places by\ta model that is\tcases\tshown whole\tresolved\tshare\tquestions\tmost\ttokens\tmost\tcost of the dearest\t")
	var lines []string
	for how := range strings.SplitSeq(set.how, ",") {
		for _, b := range []behaviour{atOnce, second, nonsense} {
			out := make([]*mended, len(all))
			if err := inParallel(len(all), func(i int) (err error) {
				out[i], err = mend(all[i], ran[all[i].ID], set.clones, guided.How(how), b)
				if err != nil {
					err = fmt.Errorf("%s: %w", all[i].ID, err)
				}
				return err
			}); err != nil {
				return err
			}
			var resolved, shown int
			var questions, used []int
			dearest := 0.
			for i, m := range out {
				if m.resolved {
					resolved++
				}
				if m.shown {
					shown++
				}
				questions, used = append(questions, m.totals.Questions), append(used, m.totals.Prompt+m.totals.Answered)
				dearest = max(dearest, m.totals.Cost)
				lines = append(lines, fmt.Sprintf("%s\t%s\t%s\tresolved %v\tshown %v\t%s", how, b, all[i].ID, m.resolved, m.shown, strings.ReplaceAll(m.said, "\n", "; ")))
			}
			fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%.3f\t%d\t%d\t%d\t%d\t$%.3f\t\n", how, b, len(all), shown, resolved, float64(resolved)/float64(max(len(all), 1)),
				median(questions), slices.Max(questions), median(used), slices.Max(used), dearest)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if set.cases {
		for _, l := range lines {
			fmt.Fprintln(w, l)
		}
	}
	return nil
}

// ceiling is what a repair may cost, in dollars.
const ceiling = 1

// mend repairs a case.
func mend(c *loaded, ran []corpus.Executed, clones string, how guided.How, b behaviour) (*mended, error) {
	clone, err := corpus.FindClone(clones, c.Repo)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "mend-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	m := &mender{oracle: newOracle(c, 0), answer: b, count: tokens.For("gpt-4o").Count}
	var right *patch.Patch
	if right, err = m.know(c, clone, dir); err != nil {
		return nil, err
	}
	model := metered.New(metered.Options{Model: "gpt-4o", Ask: m.ask, Window: window, MaxTokens: 8192, Count: m.count, Limits: throttle.Limits{MaxCost: ceiling}})
	g := guided.Guide{Store: c.store, Book: &summary.Book{Store: c.store, Read: c.store.Text}, Model: model, Options: locate.Options{Limit: evidence.MostPlaces, Text: c.store.Text}}
	out := &mended{}
	defer func() { out.totals, out.shown = model.Totals(), m.shown }()
	q, _ := c.traced(ran)
	a, err := g.Locate(context.Background(), q, how)
	if err != nil {
		out.said = err.Error()
		return out, nil
	}
	task := &repair.Task{Report: c.Report, Dir: dir, Test: repair.Test{Package: c.TestPackage(), Name: c.Test}, Run: strings.Repeat("any word ", repair.RunTokens(model)/2), Places: repair.PlacesOf(a, evidence.MostPlaces), Plan: a.Plan}
	f := repair.Fixer{Model: model, Judge: func(_ context.Context, p *patch.Patch) (trial.Verdict, error) {
		if p.Key() == right.Key() {
			return trial.Verdict{Accepted: true, Stage: trial.Suite}, nil
		}
		return trial.Verdict{Stage: trial.Wants, Reason: "the wanted test fails"}, nil
	}}
	r, err := f.Fix(context.Background(), task)
	if r != nil && r.Chosen != nil {
		out.resolved = true
		return out, nil
	}
	var said []string
	if err != nil {
		said = append(said, err.Error())
	}
	if r != nil {
		said = append(said, r.Notes...)
		for _, x := range r.Candidates {
			said = append(said, x.Text())
		}
	}
	out.said = strings.Join(said, "; ")
	return out, nil
}

// know writes the files of the case into dir, and learns the fix, which it returns.
func (m *mender) know(c *loaded, clone corpus.Clone, dir string) (*patch.Patch, error) {
	base, err := clone.Files(c.Base, program)
	if err != nil {
		return nil, err
	}
	fixed, err := clone.Files(c.Fix, program)
	if err != nil {
		return nil, err
	}
	fix := map[string][]byte{}
	for _, f := range fixed {
		fix[f.Name] = f.Text
	}
	for _, f := range base {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(name, f.Text, 0o600); err != nil {
			return nil, err
		}
		after := fix[f.Name]
		delete(fix, f.Name)
		if !slices.Contains(c.Changed, f.Name) || bytes.Equal(after, f.Text) {
			continue
		}
		if after == nil {
			m.edits = append(m.edits, patch.Edit{File: f.Name, Delete: gold.Names(code.Parse(f.Text))})
			continue
		}
		e, _ := gold.Edit(f.Name, f.Text, after, true)
		m.edits = append(m.edits, e)
		m.see(f.Name, f.Text, after)
	}
	for _, name := range slices.Sorted(maps.Keys(fix)) {
		if slices.Contains(c.Changed, name) {
			m.edits = append(m.edits, patch.Edit{File: name, Text: string(fix[name]), New: true})
		}
	}
	return patch.Apply(dir, m.edits)
}

// program reports whether a file is Go of the program, or go.mod.
func program(name string) bool {
	if slices.Contains(strings.Split(name, "/"), "testdata") {
		return false
	}
	return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") || path.Base(name) == "go.mod"
}

// see learns which declarations of a file the fix changes or removes.
func (m *mender) see(name string, before, after []byte) {
	kept := map[string]bool{}
	f := code.Parse(after)
	for i := range f.Decls {
		kept[string(f.Decls[i].With(after))] = true
	}
	f = code.Parse(before)
	for i := range f.Decls {
		d := &f.Decls[i]
		if whole := string(d.With(before)); !kept[whole] {
			m.whole = append(m.whole, whole)
			m.functions[found{name, d.Symbol()}] = true
		}
	}
}
