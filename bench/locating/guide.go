package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"tracerag/eval/retrieval"
	"tracerag/llm/metered"
	"tracerag/locate"
	"tracerag/locate/guided"
	"tracerag/prompt/tokens"
	"tracerag/summary"
)

// window is how many tokens the scripted model takes.
const window = 128_000

// guideAll measures strategies that ask a model, with one that answers rightly if the right thing
// was shown to it, and with one of which a fifth of the answers is wrong.
func guideAll(w io.Writer, all []*loaded, hows string, cases bool) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "a scripted model\tcases\tshown\tany@1\tany@5\tany@10\tall@10\tMRR\tfile@1\tfile@5\tfile@10\tquestions\tmost\ttokens\tmost\t")
	var lines []string
	for how := range strings.SplitSeq(hows, ",") {
		for _, wrong := range []float64{0, .2} {
			rs, totals, err := guideBy(all, guided.How(how), wrong)
			if err != nil {
				return fmt.Errorf("%s: %w", how, err)
			}
			name := how
			if wrong > 0 {
				name = fmt.Sprintf("%s, %.0f %% wrong", how, 100*wrong)
			}
			guideRow(t, name, rs, totals)
			for i, r := range rs {
				lines = append(lines, fmt.Sprintf("%s\t%s\t%v\tfile %d\t%d questions\t%d tokens", name, all[i].ID, r.At, r.file, totals[i].Questions, totals[i].Prompt+totals[i].Answered))
			}
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if cases {
		for _, l := range lines {
			fmt.Fprintln(w, l)
		}
	}
	return nil
}

func guideBy(all []*loaded, how guided.How, wrong float64) ([]guidedResult, []metered.Totals, error) {
	out := make([]guidedResult, len(all))
	totals := make([]metered.Totals, len(all))
	return out, totals, inParallel(len(all), func(i int) error {
		c := all[i]
		o := newOracle(c, wrong)
		g := guided.Guide{Store: c.store, Book: &summary.Book{Store: c.store, Read: c.store.Text},
			Model: metered.New(metered.Options{Model: "scripted", Ask: o.ask, Window: window, MaxTokens: 1024, Count: tokens.For("gpt-4o").Count,
				Tell: func(x metered.Exchange) { out[i].saw(o, x) }}),
			Options: locate.Options{Limit: deep, Text: c.store.Text}}
		a, err := g.Locate(context.Background(), locate.Question{Text: c.Report}, how)
		if err != nil {
			return fmt.Errorf("%s: %w", c.ID, err)
		}
		out[i].result, totals[i] = judgeAnswer(c, a.Answer), a.Totals
		return nil
	})
}

// guidedResult is a result with whether a gold function was in a list that the model saw.
type guidedResult struct {
	result
	shown bool
}

func (r *guidedResult) saw(o *oracle, x metered.Exchange) {
	for _, s := range listed(x.Messages[len(x.Messages)-1].Content) {
		r.shown = r.shown || o.functions[found{s.place, s.name}]
	}
}

func guideRow(t *tabwriter.Writer, name string, rs []guidedResult, totals []metered.Totals) {
	var plain []result
	var questions, used []int
	shown, with := 0, 0
	for i, r := range rs {
		plain = append(plain, r.result)
		if r.Wanted == 0 {
			continue
		}
		with++
		if r.shown {
			shown++
		}
		questions = append(questions, totals[i].Questions)
		used = append(used, totals[i].Prompt+totals[i].Answered)
	}
	functions := withFunctionsOf(plain)
	fmt.Fprintf(t, "%s\t%d\t%.3f\t", name, with, float64(shown)/float64(max(with, 1)))
	for _, n := range []int{1, 5, 10} {
		fmt.Fprintf(t, "%.3f\t", retrieval.Share(functions, func(r result) bool { return r.Any(n) }))
	}
	fmt.Fprintf(t, "%.3f\t%.3f\t", retrieval.Share(functions, func(r result) bool { return r.All(10) }), retrieval.Mean(reciprocals(functions)))
	for _, n := range []int{1, 5, 10} {
		fmt.Fprintf(t, "%.3f\t", retrieval.Share(plain, func(r result) bool { return r.file > 0 && r.file <= n }))
	}
	fmt.Fprintf(t, "%d\t%d\t%d\t%d\t\n", median(questions), slices.Max(append(questions, 0)), median(used), slices.Max(append(used, 0)))
}

func median(of []int) int {
	if len(of) == 0 {
		return 0
	}
	of = slices.Sorted(slices.Values(of))
	return of[len(of)/2]
}
