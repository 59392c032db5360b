package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tracerag/eval"
)

// paperVariants are those of the paper, in the order of its tables.
var paperVariants = []eval.Variant{"full", "A", "C", "CA", "T"}

// paperTables are the paper's tables of scores, by the kind of inquiry.
var paperTables = map[string]int{eval.Where: 4, eval.Bigger: 5, eval.Compare: 6, eval.Fix: 7}

// paperPoints are what an answer could get in the paper.
const paperPoints = 4

// scores are the points of all answers, by cell.
type scores struct {
	in     *Input
	grader string
	cells  map[eval.Cell]*score // with repetition 0
}

// score is a cell's.
type score struct {
	points   []float64 // of each answer that the grader marked
	clean    []float64 // of those that cite nothing that their prompt has not
	leaked   bool
	partial  bool // an answer lacks marks
	unmarked int  // answers that the grader gave no mark at all
}

func newScores(in *Input) *scores {
	s := &scores{in: in, grader: in.grader(), cells: map[eval.Cell]*score{}}
	for i := range in.Results {
		r := &in.Results[i]
		inq := in.inquiry(r.Answer.Cell)
		if inq == nil {
			continue
		}
		at := r.Answer.Cell
		at.Repetition = 0
		c := s.cells[at]
		if c == nil {
			c = &score{}
			s.cells[at] = c
		}
		leaked := len(r.leaked()) > 0
		c.leaked = c.leaked || leaked
		g := r.gradingBy(s.grader)
		if g == nil || len(g.Marks) == 0 {
			c.unmarked++
			continue
		}
		points, complete := g.Score(inq)
		c.points = append(c.points, points)
		c.partial = c.partial || !complete
		if !leaked {
			c.clean = append(c.clean, points)
		}
	}
	return s
}

func (in *Input) experiment(name string) *eval.Experiment {
	for _, e := range in.Experiments {
		if e.Name == name {
			return e
		}
	}
	return nil
}

func (in *Input) inquiry(c eval.Cell) *eval.Inquiry {
	if e := in.experiment(c.Experiment); e != nil {
		return e.Inquiry(c.Inquiry)
	}
	return nil
}

func (r *Result) gradingBy(grader string) *eval.Grading {
	for i := range r.Gradings {
		if r.Gradings[i].Grader == grader {
			return &r.Gradings[i]
		}
	}
	return nil
}

// leaked are what any grader found cited and not in the prompt, sorted.
func (r *Result) leaked() []string {
	var all []string
	for _, g := range r.Gradings {
		all = append(all, g.Leaked...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// grader is whose scores are shown.
func (in *Input) grader() string {
	if in.Grader != "" {
		return in.Grader
	}
	marks := map[string]int{}
	for _, r := range in.Results {
		if in.inquiry(r.Answer.Cell) == nil {
			continue
		}
		for _, g := range r.Gradings {
			marks[g.Grader] += len(g.Marks)
		}
	}
	best := ""
	for g, n := range marks {
		if best == "" || cmp.Or(cmp.Compare(n, marks[best]), eval.CompareGraders(best, g)) > 0 {
			best = g
		}
	}
	return best
}

// variants are those of some experiments: the paper's, then others, in the
// experiments' order, then those that have only answers or sizes.
func (in *Input) variants(experiments []*eval.Experiment) []eval.Variant {
	var listed, more []eval.Variant
	of := map[string]bool{}
	for _, e := range experiments {
		of[e.Name] = true
		listed = append(listed, e.Variants...)
	}
	for _, r := range in.Results {
		if of[r.Answer.Experiment] {
			more = append(more, r.Answer.Variant)
		}
	}
	for _, s := range in.Sizes {
		if of[s.Experiment] {
			more = append(more, s.Variant)
		}
	}
	slices.Sort(more)
	listed = append(listed, more...)
	var all []eval.Variant
	for _, v := range slices.Concat(paperVariants, listed) {
		if slices.Contains(listed, v) && !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

// models are those that answered in some experiments: in the experiments' order,
// then others by name.
func (in *Input) models(experiments []*eval.Experiment) []string {
	var listed, answered []string
	of := map[string]bool{}
	for _, e := range experiments {
		of[e.Name] = true
		listed = append(listed, e.Models...)
	}
	for _, r := range in.Results {
		if of[r.Answer.Experiment] {
			answered = append(answered, r.Answer.Model)
		}
	}
	slices.Sort(answered)
	var all []string
	for _, m := range append(listed, answered...) {
		if slices.Contains(answered, m) && !slices.Contains(all, m) {
			all = append(all, m)
		}
	}
	return all
}

// tables are tables 4 to 7: one for each inquiry that has answers.
func (s *scores) tables() []*Table {
	var all []*Table
	for _, e := range s.in.Experiments {
		only := []*eval.Experiment{e}
		models, variants := s.in.models(only), s.in.variants(only)
		for i := range e.Inquiries {
			if t := s.table(e, &e.Inquiries[i], models, variants); t != nil {
				all = append(all, t)
			}
		}
	}
	return all
}

func (s *scores) table(e *eval.Experiment, inq *eval.Inquiry, models []string, variants []eval.Variant) *Table {
	t := &Table{
		Name:    "scores-" + e.Name + "-" + inq.ID,
		Title:   fmt.Sprintf("%s: %s (of %s)", e.Title, title(inq), points(inq.Points())),
		columns: []column{textColumn("model")},
	}
	if n, ok := paperTables[inq.Kind]; ok {
		t.Title += fmt.Sprintf(", as the paper's table %d", n)
	}
	for _, v := range variants {
		t.columns = append(t.columns, scoreColumn(string(v)))
	}
	var notes marksSeen
	answered := false
	for _, m := range models {
		row := []cell{textCell(m)}
		for _, v := range variants {
			c := s.cells[eval.Cell{Experiment: e.Name, Inquiry: inq.ID, Variant: v, Model: m}]
			if c == nil {
				row = append(row, noCell(len(scoreFields)))
				continue
			}
			answered = true
			row = append(row, scoreCell(meanOf(c.points), c.leaked, c.partial || c.unmarked > 0, e.Repetitions, &notes))
		}
		t.rows = append(t.rows, row)
	}
	if !answered {
		return nil
	}
	t.Notes = notes.text(fmt.Sprintf("Scores by %s.", graderName(s.grader)),
		"the answers lack marks of criteria or have none: the score is a lower bound, and does not compare.")
	return t
}

func title(inq *eval.Inquiry) string { return cmp.Or(inq.Title, inq.ID) }

func graderName(g string) string {
	switch g {
	case eval.HumanGrader:
		return "a person"
	case eval.AutoGrader:
		return "the automatic grader"
	case "":
		return "nobody"
	}
	return g
}

// scoreFields are a score's columns in CSV, behind the variant.
var scoreFields = []string{"", " ±95%", " answers", " leaked", " incomplete"}

func scoreColumn(name string) column {
	c := column{name: name, number: true}
	for _, f := range scoreFields {
		c.fields = append(c.fields, name+f)
	}
	return c
}

// marksSeen are the marks that a table's notes have to explain.
type marksSeen struct{ leaked, incomplete, fewer, interval bool }

// scoreCell shows a mean of n answers, of which there should be a number.
func scoreCell(m Mean, leaked, incomplete bool, want int, seen *marksSeen) cell {
	yes := func(b bool, mark string) (field, text string) {
		if b {
			return "yes", mark
		}
		return "", ""
	}
	leakField, star := yes(leaked, `\*`)
	incompleteField, dagger := yes(incomplete, "†")
	seen.leaked = seen.leaked || leaked
	seen.incomplete = seen.incomplete || incomplete
	if m.N == 0 {
		return cell{missing + star + dagger, []string{"", "", "0", leakField, incompleteField}}
	}
	text, half := fmt.Sprintf("%.2f", m.Value), ""
	if !math.IsNaN(m.Half) {
		half = fmt.Sprintf("%.2f", m.Half)
		text += " ± " + half
		seen.interval = true
	}
	text += star + dagger
	if m.N < want {
		text += fmt.Sprintf(" (%d)", m.N)
		seen.fewer = true
	}
	return cell{text, []string{fmt.Sprintf("%.2f", m.Value), half, fmt.Sprint(m.N), leakField, incompleteField}}
}

// text says what the marks mean that were seen. incomplete is what a dagger does.
func (s *marksSeen) text(first, incomplete string) []string {
	notes := []string{first}
	if s.interval {
		notes[0] += " ±: half of the 95 % confidence interval over repetitions; a single answer has none."
	}
	if s.leaked {
		notes = append(notes, "* An answer cites functions or positions that are not in its prompt.")
	}
	if s.incomplete {
		notes = append(notes, "† "+strings.ToUpper(incomplete[:1])+incomplete[1:])
	}
	if s.fewer {
		notes = append(notes, "In parentheses: how many answers there are, where they are fewer than asked for.")
	}
	return notes
}

func points(p float64) string {
	if p == 1 {
		return "1 point"
	}
	return fmt.Sprintf("%g points", p)
}
