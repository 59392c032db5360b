package report

import (
	"fmt"

	"tracerag/eval"
)

// Figure is figure 2 of the paper: average scores by variant, scaled to four points.
type Figure struct {
	Name     string // of a file, without an ending
	Title    string
	Variants []string
	Lines    []Line
	Notes    []string

	grader    string
	inquiries int
}

// Line is an average for each variant.
type Line struct {
	Name   string
	Points []Point
}

// Point is a mean of cells, and whether it has all of them: one for each inquiry and
// each of the line's models.
type Point struct {
	Mean
	Complete bool
}

// The averages over all models, as the paper calls them.
const (
	averageAll   = "AVE1 (all)"
	averageClean = "AVE2 (without suspected leakage)"
)

// figures are one over all experiments, and one for each if there are several.
func (s *scores) figures() []*Figure {
	var all []*Figure
	if f := s.figure(s.in.Experiments, "figure2", "Average scores by variant"); f != nil {
		all = append(all, f)
	}
	if len(s.in.Experiments) > 1 {
		for _, e := range s.in.Experiments {
			if f := s.figure([]*eval.Experiment{e}, "figure2-"+e.Name, "Average scores by variant: "+e.Title); f != nil {
				all = append(all, f)
			}
		}
	}
	return all
}

func (s *scores) figure(experiments []*eval.Experiment, name, title string) *Figure {
	f := &Figure{Name: name, Title: title, grader: s.grader}
	variants, models := s.in.variants(experiments), s.in.models(experiments)
	for _, v := range variants {
		f.Variants = append(f.Variants, string(v))
	}
	if len(models) == 0 {
		return nil
	}
	scaled := false
	for _, e := range experiments {
		f.inquiries += len(e.Inquiries)
		for i := range e.Inquiries {
			scaled = scaled || e.Inquiries[i].Points() != paperPoints
		}
	}
	line := func(name string, models []string, values func(*score) []float64, leftOut bool) {
		l := Line{Name: name}
		for _, v := range variants {
			l.Points = append(l.Points, s.point(experiments, v, models, values, leftOut))
		}
		f.Lines = append(f.Lines, l)
	}
	points := func(c *score) []float64 { return c.points }
	line(averageAll, models, points, false)
	line(averageClean, models, func(c *score) []float64 { return c.clean }, true)
	for _, m := range models {
		line(m, []string{m}, points, false)
	}
	if scaled {
		f.Notes = append(f.Notes, "Inquiries with other than four points are scaled to four.")
	}
	return f
}

// point averages over the cells of a variant. leftOut says that answers are left out
// on purpose, which makes no point incomplete.
func (s *scores) point(experiments []*eval.Experiment, v eval.Variant, models []string, values func(*score) []float64, leftOut bool) Point {
	var means []Mean
	complete := true
	for _, e := range experiments {
		for i := range e.Inquiries {
			inq := &e.Inquiries[i]
			for _, m := range models {
				c := s.cells[eval.Cell{Experiment: e.Name, Inquiry: inq.ID, Variant: v, Model: m}]
				if c == nil {
					complete = false
					continue
				}
				complete = complete && !c.partial && c.unmarked == 0
				var scaled []float64
				for _, p := range values(c) {
					scaled = append(scaled, p*paperPoints/inq.Points())
				}
				if len(scaled) > 0 {
					means = append(means, meanOf(scaled))
				} else {
					complete = complete && leftOut
				}
			}
		}
	}
	return Point{meanOfMeans(means), complete}
}

// table is the figure in numbers.
func (f *Figure) table() *Table {
	t := &Table{Name: f.Name, Title: f.Title, columns: []column{textColumn("")}}
	t.columns[0].fields = []string{"line"}
	for _, v := range f.Variants {
		t.columns = append(t.columns, scoreColumn(v))
	}
	var seen marksSeen
	for _, l := range f.Lines {
		row := []cell{textCell(l.Name)}
		for _, p := range l.Points {
			row = append(row, scoreCell(p.Mean, false, !p.Complete, 0, &seen))
		}
		t.rows = append(t.rows, row)
	}
	t.Notes = seen.text(fmt.Sprintf("Scores by %s; means over %d inquiries, of 4 points.", graderName(f.grader), f.inquiries),
		"answers or marks are missing: the mean is not over the same inquiries as others, or a lower bound.")
	t.Notes = append(t.Notes, f.Notes...)
	return t
}
