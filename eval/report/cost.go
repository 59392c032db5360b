package report

import (
	"fmt"
	"strings"
	"time"

	"tracerag/eval"
)

// costTable is what the answers took, by model and in all: tokens as the servers
// counted them, dollars at list prices, and time.
func (in *Input) costTable() *Table {
	t := &Table{
		Name:  "cost",
		Title: "Tokens by the servers' count, cost at list prices, and time",
		columns: []column{
			textColumn("model"), numberColumn("answers"), numberColumn("cut off"),
			{"prompt tokens", []string{"prompt tokens"}, true}, numberColumn("of them cached"), numberColumn("completion tokens"),
			{"cost", []string{"cost in $", "answers without a price"}, true},
			{"time", []string{"seconds"}, true}, {"a mean answer", []string{"mean seconds"}, true},
		},
	}
	all := bill{}
	for _, m := range in.models(in.Experiments) {
		b := bill{}
		for i := range in.Results {
			if a := &in.Results[i].Answer; a.Model == m && in.experiment(a.Experiment) != nil {
				b.add(a)
				all.add(a)
			}
		}
		t.rows = append(t.rows, b.row(m))
	}
	if t.rows == nil {
		return nil
	}
	t.rows = append(t.rows, all.row("all"))
	if all.priced > 0 {
		t.Notes = append(t.Notes, "Of the answers in the tables. What judges cost, and what was lost or does not count any more, comes on top.")
	}
	if all.priced < all.answers {
		t.Notes = append(t.Notes, "+ ?: answers of models whose price is not known come on top.")
	}
	if 0 < all.counted && all.counted < all.answers {
		t.Notes = append(t.Notes, fmt.Sprintf("Servers told the tokens of %d of the answers only.", all.counted))
	}
	return t
}

type bill struct {
	answers, cut               int
	counted                    int // answers with a usage
	prompt, cached, completion int
	priced                     int // answers with a cost
	dollars, seconds           float64
}

func (b *bill) add(a *eval.Answer) {
	b.answers++
	b.seconds += a.Seconds
	if a.FinishReason == "length" {
		b.cut++
	}
	if u := a.Usage; u != nil {
		b.counted++
		b.prompt += u.Prompt
		b.cached += u.Cached
		b.completion += u.Completion
	}
	if a.Cost != nil {
		b.priced++
		b.dollars += *a.Cost
	}
}

func (b *bill) row(name string) []cell {
	row := []cell{textCell(name), intCell(b.answers), intCell(b.cut)}
	if b.counted == 0 {
		row = append(row, noCell(1), noCell(1), noCell(1))
	} else {
		row = append(row, intCell(b.prompt), intCell(b.cached), intCell(b.completion))
	}
	cost := cell{"unknown", []string{"", fmt.Sprint(b.answers - b.priced)}}
	if b.priced > 0 {
		cost.fields[0] = fmt.Sprintf("%.4f", b.dollars)
		decimals := 2
		if b.dollars < 0.1 {
			decimals = 4
		}
		cost.text = fmt.Sprintf("$%.*f", decimals, b.dollars)
		if b.priced < b.answers {
			cost.text += " + ?"
		}
	}
	total := time.Duration(b.seconds * float64(time.Second)).Round(time.Second)
	return append(row, cost,
		cell{total.String(), []string{fmt.Sprintf("%.1f", b.seconds)}},
		floatCell(b.seconds/float64(b.answers), 1, " s"))
}

// agreementTable is how alike the graders mark.
func (in *Input) agreementTable() *Table {
	var answers [][]eval.Grading
	for _, r := range in.Results {
		if in.inquiry(r.Answer.Cell) != nil {
			answers = append(answers, r.Gradings)
		}
	}
	t := &Table{
		Name:  "agreement",
		Title: "Marks that two graders gave to the same criteria of the same answers",
		columns: []column{
			textColumn("grader"), textColumn("and grader"), numberColumn("marks of both"),
			numberColumn("equal, in %"), numberColumn("mean difference"), numberColumn("weighted kappa"),
		},
		Notes: []string{"Differences are of a criterion's share, 0 to 1. Kappa has linear weights (Cohen 1968); it is undefined where all marks are the same."},
	}
	for _, a := range eval.Agreements(answers) {
		kappa := noCell(1)
		if a.Kappa != nil {
			kappa = floatCell(*a.Kappa, 2, "")
		}
		t.rows = append(t.rows, []cell{
			textCell(a.A), textCell(a.B), intCell(a.Marks), floatCell(100*a.Equal, 0, ""), floatCell(a.Apart, 2, ""), kappa,
		})
	}
	if t.rows == nil {
		return nil
	}
	return t
}

// leakTable lists what answers cite that is not in their prompts.
func (in *Input) leakTable() *Table {
	t := &Table{
		Name:  "leakage",
		Title: "What answers cite and their prompts have not",
		columns: []column{
			textColumn("experiment"), textColumn("inquiry"), textColumn("model"), textColumn("variant"), numberColumn("repetition"), textColumn("cited"),
		},
	}
	for _, e := range in.Experiments {
		only := []*eval.Experiment{e}
		for i := range e.Inquiries {
			for _, m := range in.models(only) {
				for _, v := range in.variants(only) {
					for _, r := range in.answers(eval.Cell{Experiment: e.Name, Inquiry: e.Inquiries[i].ID, Variant: v, Model: m}) {
						names := r.leaked()
						if len(names) == 0 {
							continue
						}
						var spans []string
						for _, n := range names {
							spans = append(spans, codeSpan(n))
						}
						t.rows = append(t.rows, []cell{
							textCell(e.Name), textCell(e.Inquiries[i].ID), textCell(m), textCell(string(v)), intCell(r.Answer.Repetition),
							{strings.Join(spans, ", "), []string{eval.CSVText(strings.Join(names, "\n"))}},
						})
					}
				}
			}
		}
	}
	if t.rows == nil {
		return nil
	}
	return t
}
