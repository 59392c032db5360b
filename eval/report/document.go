package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"

	"tracerag/eval"
)

// answers are a cell's results by repetition.
func (in *Input) answers(c eval.Cell) []*Result {
	var all []*Result
	for i := range in.Results {
		a := in.Results[i].Answer.Cell
		c.Repetition = a.Repetition
		if a == c {
			all = append(all, &in.Results[i])
		}
	}
	slices.SortStableFunc(all, func(a, b *Result) int { return cmp.Compare(a.Answer.Repetition, b.Answer.Repetition) })
	return all
}

// section is a part of the document. It is left out where it has no tables.
type section struct {
	heading string
	tables  []*Table
}

func (in *Input) sections() []section {
	s := newScores(in)
	var figures []*Table
	for _, f := range s.figures() {
		figures = append(figures, f.table())
	}
	all := []section{
		{"Scores", s.tables()},
		{"Averages by variant", figures},
		{"Prompt sizes", append(in.sizeTables(), in.sourceTable())},
		{"Cost and time", []*Table{in.costTable()}},
		{"Agreement of graders", []*Table{in.agreementTable()}},
		{"Suspected leakage", []*Table{in.leakTable()}},
	}
	for i := range all {
		all[i].tables = slices.DeleteFunc(all[i].tables, func(t *Table) bool { return t == nil })
	}
	return slices.DeleteFunc(all, func(s section) bool { return len(s.tables) == 0 })
}

// Tables are all tables for which there is something in the input, in the document's
// order.
func Tables(in Input) []*Table {
	var all []*Table
	for _, s := range in.sections() {
		all = append(all, s.tables...)
	}
	return all
}

// Figures are figure 2 over all experiments, and over each if there are several.
// There are none without answers.
func Figures(in Input) []*Figure { return newScores(&in).figures() }

// WriteMarkdown writes all tables as one document. Figures are for the caller to put
// beside it, or to write by [Figure.WriteSVG]; the document has their numbers.
func WriteMarkdown(w io.Writer, in Input) error {
	b := bufio.NewWriter(w)
	b.WriteString("# Results\n\n")
	for _, e := range in.Experiments {
		n := 0
		for _, r := range in.Results {
			if in.inquiry(r.Answer.Cell) != nil && r.Answer.Experiment == e.Name {
				n++
			}
		}
		fmt.Fprintf(b, "- %s: %s; %s, %s, %s\n", codeSpan(e.Name), markdown(e.Title),
			count(len(e.Inquiries), "inquiry", "inquiries"), count(n, "answer", "answers"), count(e.Repetitions, "repetition", "repetitions"))
	}
	if n := in.strangers(); n > 0 {
		fmt.Fprintf(b, "\nLeft out: %s to inquiries that the experiments do not have.\n", count(n, "answer", "answers"))
	}
	if err := b.Flush(); err != nil {
		return err
	}
	for _, s := range in.sections() {
		if _, err := fmt.Fprintf(w, "\n## %s\n", s.heading); err != nil {
			return err
		}
		for _, t := range s.tables {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
			if err := t.WriteMarkdown(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// strangers are answers to what is asked no more.
func (in *Input) strangers() (n int) {
	for _, r := range in.Results {
		if in.inquiry(r.Answer.Cell) == nil {
			n++
		}
	}
	return n
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
