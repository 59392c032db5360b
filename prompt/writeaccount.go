package prompt

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"tracerag/phrase"
)

// WriteAccount writes what every part of a prompt costs, and what was left out.
func (p *Prompt) WriteAccount(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "tokens\tlines\tsection")
	for _, s := range p.Sections {
		fmt.Fprintf(tw, "%d\t%d\t%s\n", s.Tokens, s.Lines, s.Name)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	shown := func(Tier) string { return "" }
	if p.Budget > 0 {
		shown = func(t Tier) string { return t.String() + "\t" }
	}
	fmt.Fprintf(tw, "\ntokens\tlines\ttimes\t%sfunction\tposition\n", ifBudget(p, "shown\t"))
	for _, f := range p.Functions {
		fmt.Fprintf(tw, "%d\t%d\t%d\t%s%s\t%s\n", f.Tokens, f.Lines, f.Times, shown(f.Tier), f.Name, f.Position)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if len(p.Types) > 0 {
		fmt.Fprintln(tw, "\ntokens\tlines\tdeclaration\tposition")
		for _, f := range p.Types {
			fmt.Fprintf(tw, "%d\t%d\t%s\t%s\n", f.Tokens, f.Lines, f.Name, f.Position)
		}
		if err := tw.Flush(); err != nil {
			return err
		}
	}
	if err := writeLeftOut(tw, p); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\ntotal %s; %s left\n", p.Size(), phrase.Number(p.Left))
	return err
}

func ifBudget(p *Prompt, s string) string {
	if p.Budget == 0 {
		return ""
	}
	return s
}

// writeLeftOut lists the functions of which something is left out, the most
// relevant first.
func writeLeftOut(tw *tabwriter.Writer, p *Prompt) error {
	head := false
	for _, f := range p.Shown {
		if f.Tier == TierFull {
			continue
		}
		if !head {
			head = true
			fmt.Fprintln(tw, "\nshown\tlines left out\tfunction\tposition")
		}
		fmt.Fprintf(tw, "%s\t%d\t%s\t%s\n", f.Tier, f.Elided, f.Name, f.Position)
	}
	return tw.Flush()
}

// WriteExplanation writes for every function, the most relevant first, how much of
// it a prompt has, its score, what it would cost at each tier, and why it has
// that score. What was not counted is with a "~". With a width no line has more
// characters: position and reason are then on lines of their own.
func (p *Prompt) WriteExplanation(w io.Writer, width int) error {
	var table strings.Builder
	tw := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "shown\tscore\tfull\tran\twindow\tsignature\tfunction")
	if width == 0 {
		fmt.Fprint(tw, "\tposition\twhy")
	}
	fmt.Fprintln(tw)
	for _, f := range p.Shown {
		fmt.Fprintf(tw, "%s\t%.3f", f.Tier, f.Score)
		for _, t := range []Tier{TierFull, TierRan, TierWindow, TierSignature} {
			cost := "-"
			if n := f.Tokens[t]; n > 0 {
				cost = strconv.Itoa(n)
				if f.Guess {
					cost = "~" + cost
				}
			}
			fmt.Fprintf(tw, "\t%s", cost)
		}
		fmt.Fprintf(tw, "\t%s", f.Name)
		if width == 0 {
			fmt.Fprintf(tw, "\t%s\t%s", f.Position, f.Why)
		}
		fmt.Fprintln(tw)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	rows := strings.Split(strings.TrimSuffix(table.String(), "\n"), "\n")
	var out strings.Builder
	for i, row := range rows {
		out.WriteString(phrase.Cut(row, width) + "\n")
		if width > 0 && i > 0 {
			out.WriteString(phrase.Wrap(p.Shown[i-1].Position+" "+p.Shown[i-1].Why, width, "    "))
		}
	}
	total := fmt.Sprintf("total %s, of a budget of %s", p.Size(), phrase.Number(p.Budget))
	out.WriteString("\n" + phrase.Wrap(total, width, ""))
	_, err := io.WriteString(w, out.String())
	return err
}

// Size says in words how large a prompt is, and for what model.
func (p *Prompt) Size() string {
	about := ""
	if p.Estimated {
		about = "about "
	}
	return fmt.Sprintf("%s%s tokens (%s), %.0f%% of the %s that %s takes", about, phrase.Number(p.Total), p.Encoding,
		100*float64(p.Total)/float64(p.Window), phrase.Number(p.Window), cmp.Or(p.Model, "a model"))
}
