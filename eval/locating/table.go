package locating

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"tracerag/phrase"
	"tracerag/visible"
)

// Paper is what a paper says of its own cases, in the form of one of the tables. Its repositories,
// languages and models are others.
type Paper struct {
	Table  string  `json:"table"` // "files", "repositories", "localisation_rate"
	Name   string  `json:"name"`
	Source string  `json:"source"`
	K      int     `json:"k,omitempty"`
	Any    float64 `json:"any,omitempty"`
	Recall float64 `json:"recall,omitempty"`
	MRR    float64 `json:"mrr,omitempty"`
	// Rates, of [Rate].
	FilesEqual     float64 `json:"files_equal,omitempty"`
	FunctionsEqual float64 `json:"functions_equal,omitempty"`
}

const (
	oskooei = "Rafiei Oskooei et al. 2026"
	metaRAG = "Tawosi et al. 2025"
)

var papers = []Paper{
	{Table: "repositories", Name: "summaries in levels", Source: oskooei + ", table 2", K: 3, Any: .93, Recall: .93, MRR: .67},
	{Table: "files", Name: "summaries in levels", Source: oskooei + ", table 3", K: 10, Any: .82, Recall: .49, MRR: .50},
	{Table: "files", Name: "GraphCodeBERT", Source: oskooei + ", table 3", K: 10, Any: .62, Recall: .34, MRR: .18},
	{Table: "localisation_rate", Name: "Meta-RAG, GPT-4o", Source: metaRAG + ", table 2", FilesEqual: .8467, FunctionsEqual: .53},
	{Table: "localisation_rate", Name: "BM25 (Lucene)", Source: metaRAG + ", table 2", FilesEqual: .3367, FunctionsEqual: .13},
	{Table: "localisation_rate", Name: "BM25+", Source: metaRAG + ", table 2", FilesEqual: .1919, FunctionsEqual: .064},
}

// Write writes the tables for people.
func (r *Report) Write(w io.Writer) error {
	fmt.Fprintf(w, "%s", phrase.Plural(r.Cases, "case", "cases"))
	if r.Model != "" {
		fmt.Fprintf(w, ", %s", visible.Line(r.Model))
	}
	fmt.Fprintln(w)
	for _, t := range []struct {
		title, name string
		of          func(*Row) *Measures
	}{
		{"Functions", "functions", func(r *Row) *Measures { return r.Functions }},
		{"Files", "files", func(r *Row) *Measures { return r.Files }},
		{"Repositories", "repositories", func(r *Row) *Measures { return r.Repositories }},
	} {
		if slices.ContainsFunc(r.Rows, func(row Row) bool { return t.of(&row) != nil }) {
			if err := r.measured(w, t.title, t.name, t.of); err != nil {
				return err
			}
		}
	}
	if err := r.rates(w); err != nil {
		return err
	}
	if err := r.takes(w); err != nil {
		return err
	}
	return r.missing(w)
}

// missing names what nothing can find.
func (r *Report) missing(w io.Writer) error {
	var lines []string
	for _, o := range r.Outcomes {
		line := fmt.Sprintf("  %s: %s\n", visible.Line(o.Case), visible.Line(strings.Join(o.Missing, ", ")))
		if len(o.Missing) > 0 && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	const most = 10
	text := "\nWanted, and not in the program\n" + strings.Join(lines[:min(most, len(lines))], "")
	if more := len(lines) - most; more > 0 {
		text += fmt.Sprintf("  and those of %s\n", phrase.Plural(more, "more case", "more cases"))
	}
	_, err := io.WriteString(w, text)
	return err
}

func (r *Report) measured(w io.Writer, title, name string, of func(*Row) *Measures) error {
	fmt.Fprintf(w, "\n%s: any@k (Pass@k), recall@k, all@k\n", title)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "\tcases")
	for _, measure := range []string{"any", "recall", "all"} {
		for _, k := range r.K {
			fmt.Fprintf(t, "\t%s@%d", measure, k)
		}
	}
	fmt.Fprintln(t, "\tMRR\tless BM25 (95 %)")
	for i := range r.Rows {
		m := of(&r.Rows[i])
		if m == nil {
			continue
		}
		fmt.Fprintf(t, "%s\t%d", r.Rows[i].How, m.Cases)
		for _, x := range slices.Concat(m.Any, m.Recall, m.All, []float64{m.MRR}) {
			fmt.Fprintf(t, "\t%.3f", x)
		}
		if d := m.Difference; d != nil {
			fmt.Fprintf(t, "\t%+.3f (%+.3f to %+.3f)", d.Mean, d.Low, d.High)
		}
		fmt.Fprintln(t)
	}
	for _, p := range papers {
		if p.Table != name || !slices.Contains(r.K, p.K) {
			continue
		}
		fmt.Fprintf(t, "%s\t", p.Name)
		for _, x := range []float64{p.Any, p.Recall, 0} {
			for _, k := range r.K {
				if fmt.Fprint(t, "\t"); k == p.K && x > 0 {
					fmt.Fprintf(t, "%.2f", x)
				}
			}
		}
		fmt.Fprintf(t, "\t%.2f\t%s\n", p.MRR, p.Source)
	}
	return t.Flush()
}

func (r *Report) rates(w io.Writer) error {
	fmt.Fprintln(w, "\nLocalisation rate (Meta-RAG): what a strategy says that has to be changed equals the fix; all of the fix is in it")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\tfiles equal\tall in it\tfunctions equal\tall in it")
	for i := range r.Rows {
		row := &r.Rows[i]
		fmt.Fprint(t, row.How)
		cells := func(has bool, rates ...float64) {
			for _, x := range rates {
				if fmt.Fprint(t, "\t"); has {
					fmt.Fprintf(t, "%.3f", x)
				}
			}
		}
		cells(row.Files != nil, row.Rate.FilesEqual, row.Rate.FilesIn)
		cells(row.Functions != nil, row.Rate.FunctionsEqual, row.Rate.FunctionsIn)
		fmt.Fprintln(t)
	}
	for _, p := range papers {
		if p.Table == "localisation_rate" {
			fmt.Fprintf(t, "%s\t%.3f\t\t%.3f\t\t%s\n", p.Name, p.FilesEqual, p.FunctionsEqual, p.Source)
		}
	}
	return t.Flush()
}

func (r *Report) takes(w io.Writer) error {
	fmt.Fprintln(w, "\nA case takes, in the mean")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\tquestions\ttokens\tUS dollars\tseconds")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%s\t%.1f\t%.0f\t%.4f\t%.2f\n", row.How, row.Takes.Questions, row.Takes.Tokens, row.Takes.Cost, row.Takes.Seconds)
	}
	return t.Flush()
}

// Places reads places as a user writes them, such as "1,3,5,10".
func Places(list string) (k []int, err error) {
	for s := range strings.SplitSeq(list, ",") {
		var n int
		if _, err := fmt.Sscanf(s+"\n", "%d\n", &n); err != nil || n < 1 || n > deep || slices.Contains(k, n) {
			return nil, fmt.Errorf("%q: want different numbers from 1 to %d, separated by commas", list, deep)
		}
		k = append(k, n)
	}
	slices.Sort(k)
	return k, nil
}
