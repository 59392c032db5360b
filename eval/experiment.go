package eval

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Experiment is what an experiment's file says, with defaults filled in.
type Experiment struct {
	Name    string  `yaml:"name"`  // of letters, digits, "-" and "_"
	Title   string  `yaml:"title"` // a line about it; the name if it has none
	Program Program `yaml:"program"`

	// Files are what each run finds in its working directory, by path with slashes.
	Files map[string]File `yaml:"files"`

	// Baseline are the arguments of a run whose calls are pruned from the trees;
	// nil is none.
	Baseline []string `yaml:"baseline"`

	Runs        map[string]Run `yaml:"runs"`
	Variants    []Variant      `yaml:"variants"`
	Models      []string       `yaml:"models"`
	Repetitions int            `yaml:"repetitions"` // 1 to MaxRepetitions
	Inquiries   []Inquiry      `yaml:"inquiries"`

	Path string `yaml:"-"` // of the file
}

// MaxRepetitions is how often a question may be asked: more would be a slip of the
// keyboard, for which somebody pays.
const MaxRepetitions = 1000

// Program is where the program comes from: a package's directory, relative to the
// experiment's file, or an import path with a version ("golang.org/x/tools/cmd/goyacc@v0.1.0").
type Program string

// Module returns import path and version of a program that is to be installed.
func (p Program) Module() (path, version string, ok bool) {
	return strings.Cut(string(p), "@")
}

// File is the text of a file, or the path that it is copied from, relative to the
// experiment's file.
type File struct {
	Text string
	From string
}

// Run is a run of the program.
type Run struct {
	Args  []string `yaml:"args"`
	Stdin string   `yaml:"stdin"`
	Exit  int      `yaml:"exit"` // the exit code that it must have
}

// The kinds of inquiry are those of the paper's prompts 1 to 4.
const (
	Where   = "where"   // where is something decided, and how is it changed
	Bigger  = "bigger"  // the same in a bigger feature
	Compare = "compare" // how do two features differ, and what do they share
	Fix     = "fix"     // why does an option not work here, and how is that repaired
)

var kinds = []string{Where, Bigger, Compare, Fix}

// Inquiry is a question about one run or two, and how answers to it are graded.
type Inquiry struct {
	ID       string      `yaml:"id"`
	Title    string      `yaml:"title"` // a line for tables; the id if it has none
	Kind     string      `yaml:"kind"`
	Runs     []string    `yaml:"runs"` // one or two
	Question string      `yaml:"question"`
	Answer   string      `yaml:"answer"` // the true one
	Criteria []Criterion `yaml:"criteria"`

	// Decides are the functions that decide what is asked about, as the call tree
	// shows them: what a prompt that can answer the question has. It measures
	// prompts and rankings and is no part of the grade. Optional.
	Decides []string `yaml:"decides"`
}

// Points is what an answer gets that meets all criteria.
func (i *Inquiry) Points() float64 {
	sum := 0.0
	for _, c := range i.Criteria {
		sum += c.Points
	}
	return sum
}

// Criterion is one thing that an answer is graded by. At most one of Functions,
// Files and Terms is set; with none of them a person or a judge has to grade.
type Criterion struct {
	ID     string  `yaml:"id"`
	Text   string  `yaml:"text"`   // what an answer has to do
	Points float64 `yaml:"points"` // what that is worth; 1 unless said

	// Functions as the call tree shows them ("csvview.newTable",
	// "ansi.(*TableElement).setBorders"), or types ("ansi.TableElement").
	Functions []string `yaml:"functions"`
	Files     []string `yaml:"files"` // paths or their ends: "mdview/mdview.go"
	Terms     []string `yaml:"terms"` // words or phrases
	All       bool     `yaml:"all"`   // functions or files: each counts a share

	// Beside are functions or files that an answer may name, too, and has still
	// named the right one alone.
	Beside []string `yaml:"beside"`
}

// Inquiry returns the inquiry with that id, or nil.
func (e *Experiment) Inquiry(id string) *Inquiry {
	for i := range e.Inquiries {
		if e.Inquiries[i].ID == id {
			return &e.Inquiries[i]
		}
	}
	return nil
}

// Variant is a prompt's variant, with a budget or without: "full", "ordered@16k"; or
// [Rounds].
type Variant string

// Rounds asks in rounds instead of with one prompt: the model chooses what it reads.
const Rounds Variant = "rounds"

// Split returns the variant proper, and the budget as it is written, which may
// be "".
func (v Variant) Split() (variant, budget string) {
	variant, budget, _ = strings.Cut(string(v), "@")
	return variant, budget
}

// Cell is one question to one model: what is asked of it, and the how manieth time.
type Cell struct {
	Experiment string  `json:"experiment"`
	Inquiry    string  `json:"inquiry"`
	Variant    Variant `json:"variant"`
	Model      string  `json:"model"`
	Repetition int     `json:"repetition"` // from 1
}

func (c Cell) String() string {
	return fmt.Sprintf("%s %s %s of %s, repetition %d", c.Experiment, c.Inquiry, c.Variant, c.Model, c.Repetition)
}

// Cells are all questions of the experiment to some models, repetition by
// repetition: anyone who stops early has asked each model everything once.
func (e *Experiment) Cells(models []string) []Cell {
	var cells []Cell
	for r := 1; r <= e.Repetitions; r++ {
		for _, m := range models {
			for _, i := range e.Inquiries {
				for _, v := range e.Variants {
					cells = append(cells, Cell{e.Name, i.ID, v, m, r})
				}
			}
		}
	}
	return cells
}

var (
	idPattern     = lazily(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)
	budgetPattern = lazily(`^[0-9_]*\.?[0-9]+[kKmM%]?$`)
	// A package's short name, a dot, and a name without blanks.
	functionPattern = lazily(`^[\w-]+\.\S+$`)
	modulePattern   = lazily(`^[A-Za-z0-9][\w.~/-]*@v[\w.+-]+$`)
)

// check fills in defaults and says what is wrong first. variants are those there
// are.
func (e *Experiment) check(variants []string) error {
	switch {
	case !idPattern().MatchString(e.Name):
		return fmt.Errorf("name: %q: want letters, digits, - and _", e.Name)
	case e.Program == "":
		return fmt.Errorf("program: missing: want a package's directory, or an import path with @ and a version")
	case strings.Contains(string(e.Program), "@") && !modulePattern().MatchString(string(e.Program)):
		return fmt.Errorf("program: %q: want an import path, @ and a version (v1.2.3)", e.Program)
	case len(e.Runs) == 0:
		return fmt.Errorf("runs: missing")
	case len(e.Inquiries) == 0:
		return fmt.Errorf("inquiries: missing")
	case e.Repetitions < 0 || e.Repetitions > MaxRepetitions:
		return fmt.Errorf("repetitions: %d: want 1 to %d", e.Repetitions, MaxRepetitions)
	}
	e.Repetitions = max(e.Repetitions, 1)
	if e.Title == "" {
		e.Title = e.Name
	}
	if len(e.Variants) == 0 {
		for _, v := range variants {
			e.Variants = append(e.Variants, Variant(v))
		}
	}
	if err := e.checkVariants(variants); err != nil {
		return fmt.Errorf("variants: %w", err)
	}
	for i, m := range e.Models {
		if strings.TrimSpace(m) == "" || slices.Contains(e.Models[:i], m) {
			return fmt.Errorf("models: %q is empty or repeated", m)
		}
	}
	// Runs and inquiries are names of files, and case is nothing to some systems.
	folded := map[string]string{}
	for _, id := range slices.Sorted(maps.Keys(e.Runs)) {
		if !idPattern().MatchString(id) {
			return fmt.Errorf("runs: %q: want letters, digits, - and _", id)
		}
		if other, ok := folded[strings.ToLower(id)]; ok {
			return fmt.Errorf("runs: %q and %q differ in case alone", other, id)
		}
		folded[strings.ToLower(id)] = id
	}
	for i := range e.Inquiries {
		q := &e.Inquiries[i]
		if slices.ContainsFunc(e.Inquiries[:i], func(o Inquiry) bool { return strings.EqualFold(o.ID, q.ID) }) {
			return fmt.Errorf("inquiries: the id %q is repeated", q.ID)
		}
		if err := q.check(e.Runs); err != nil {
			return fmt.Errorf("inquiry %q: %w", q.ID, err)
		}
	}
	return nil
}

func (i *Inquiry) check(runs map[string]Run) error {
	i.Question = strings.TrimSpace(i.Question)
	switch {
	case !idPattern().MatchString(i.ID):
		return fmt.Errorf("want an id of letters, digits, - and _")
	case i.Question == "":
		return fmt.Errorf("missing question")
	case len(i.Runs) < 1 || len(i.Runs) > 2:
		return fmt.Errorf("%d runs: want one, or two that are compared", len(i.Runs))
	case i.Kind != "" && !slices.Contains(kinds, i.Kind):
		return fmt.Errorf("kind %q: want %s", i.Kind, strings.Join(kinds, ", "))
	case len(i.Criteria) == 0:
		return fmt.Errorf("criteria: missing: without criteria no answer can be graded")
	}
	for k, f := range i.Decides {
		if !functionPattern().MatchString(f) || slices.Contains(i.Decides[:k], f) {
			return fmt.Errorf("decides: %q: want each function once, as the call tree shows it (csvview.newTable)", f)
		}
	}
	if i.Title == "" {
		i.Title = i.ID
	}
	for _, r := range i.Runs {
		if _, ok := runs[r]; !ok {
			return fmt.Errorf("unknown run %q", r)
		}
	}
	seen := map[string]bool{}
	for k := range i.Criteria {
		c := &i.Criteria[k]
		if seen[c.ID] || !idPattern().MatchString(c.ID) {
			return fmt.Errorf("criterion %d: id %q: want one of its own, of letters, digits, - and _", k+1, c.ID)
		}
		seen[c.ID] = true
		if err := c.check(); err != nil {
			return fmt.Errorf("criterion %q: %w", c.ID, err)
		}
	}
	return nil
}

func (c *Criterion) check() error {
	if c.Points == 0 {
		c.Points = 1
	}
	kinds := 0
	for _, names := range [][]string{c.Functions, c.Files, c.Terms} {
		kinds += min(len(names), 1)
		for _, n := range names {
			if slices.Contains(Alternatives(n), "") {
				return fmt.Errorf("%q: empty alternative beside |", n)
			}
		}
	}
	switch {
	case strings.TrimSpace(c.Text) == "":
		return fmt.Errorf("text: missing: say what an answer must contain")
	case !(c.Points > 0) || math.IsInf(c.Points, 0): // NaN is not, either
		return fmt.Errorf("%g points: want more than 0", c.Points)
	case kinds > 1:
		return fmt.Errorf("functions, files and terms: want one of them; make a criterion of each")
	case c.All && len(c.Functions)+len(c.Files) == 0:
		return fmt.Errorf("all is for functions and files: terms count a share each anyhow")
	case len(c.Beside) > 0 && len(c.Functions)+len(c.Files) == 0:
		return fmt.Errorf("beside is for functions and files")
	}
	return nil
}

// Alternatives splits a criterion's name at each "|".
func Alternatives(name string) []string {
	parts := strings.Split(name, "|")
	for i, p := range parts {
		parts[i] = strings.TrimSpace(p)
	}
	return parts
}

// SetVariants replaces the variants by others, of those that are known.
func (e *Experiment) SetVariants(variants, known []string) error {
	e.Variants = nil
	for _, v := range variants {
		e.Variants = append(e.Variants, Variant(v))
	}
	return e.checkVariants(known)
}

func (e *Experiment) checkVariants(known []string) error {
	for i, v := range e.Variants {
		name, budget := v.Split()
		if v == Rounds {
			name = known[0]
		}
		if !slices.Contains(known, name) || strings.Contains(string(v), "@") && !budgetPattern().MatchString(budget) {
			return fmt.Errorf("%q: want %s, one of them with a budget, as in ordered@16k, or %s", v, strings.Join(known, ", "), Rounds)
		}
		if slices.Contains(e.Variants[:i], v) {
			return fmt.Errorf("%s is repeated", v)
		}
	}
	return nil
}
