package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tracerag/atomicfile"
	"tracerag/eval"
	"tracerag/eval/report"
	"tracerag/eval/results"
	"tracerag/phrase"
	"tracerag/prompt/tokens"
)

// reportAll grades the answers that there are, and prints and saves the tables.
func (a *app) reportAll(trials []*trial, x *examiner, dir *results.Dir, e *evalFlags) error {
	var in report.Input
	graders := map[string]string{"": "", "auto": eval.AutoGrader, "judge": eval.JudgePrefix + e.judge, "human": eval.HumanGrader}
	in.Grader = graders[e.gradeBy]
	for _, t := range trials {
		in.Experiments = append(in.Experiments, t.Experiment)
		in.Sizes = append(in.Sizes, t.sizes(e.tokenizers)...)
		in.Sources = append(in.Sources, t.sources()...)
		if x == nil {
			continue
		}
		found, err := x.graded(t)
		if err != nil {
			return err
		}
		in.Results = append(in.Results, found...)
	}
	if e.sheet != "" {
		if err := a.sheet(trials, in.Results, dir, e.sheet); err != nil {
			return err
		}
	}
	name := "report.md"
	if x == nil {
		name = "sizes.md" // beside a report with scores of an earlier run
	}
	if err := a.saveReport(name, in, dir); err != nil {
		return err
	}
	if e.asJSON {
		return a.printJSON(jsonReport(in))
	}
	a.paginate()
	return report.WriteMarkdown(a.stdout, in)
}

// saveReport writes the document of that name, the tables and the figures into the
// directory of results.
func (a *app) saveReport(name string, in report.Input, dir *results.Dir) error {
	save := func(name string, write func(io.Writer) error) error {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			return err
		}
		return dir.Save(name, b.Bytes())
	}
	if err := save(name, func(w io.Writer) error { return report.WriteMarkdown(w, in) }); err != nil {
		return err
	}
	for _, t := range report.Tables(in) {
		if err := save(filepath.Join("tables", t.Name+".csv"), t.WriteCSV); err != nil {
			return err
		}
	}
	for _, f := range report.Figures(in) {
		if err := save(f.Name+".svg", f.WriteSVG); err != nil {
			return err
		}
		a.note("figure: %s", dir.Path(f.Name+".svg"))
	}
	a.note("tables: %s", dir.Path("tables"))
	return nil
}

// graded are a trial's answers with the marks of the automatic grader and of every
// judge.
func (x *examiner) graded(t *trial) ([]report.Result, error) {
	answers, err := x.answers(t)
	if err != nil {
		return nil, err
	}
	judged, err := x.dir.Judged(t.Name)
	if err != nil {
		return nil, err
	}
	byAnswer := map[string][]string{} // IDs of what judges gave it
	for _, id := range slices.Sorted(maps.Keys(judged)) {
		byAnswer[judged[id].Answer] = append(byAnswer[judged[id].Answer], id)
	}
	functions := map[string][]eval.Function{}
	for _, q := range t.inquiries {
		functions[q.ID] = q.functions()
	}
	var out []report.Result
	for _, answer := range answers {
		q := t.asked(answer.Inquiry)
		auto := eval.Auto(q.Inquiry, answer.Text, eval.Context{Prompt: q.prompts[answer.Variant].Text, Functions: functions[q.ID]})
		gradings := []eval.Grading{auto}
		for _, id := range byAnswer[answer.ID()] {
			j := judged[id]
			// Marks by a rubric, or beside a true answer, that has changed do not count.
			if now, _ := judgementID(q.Inquiry, &answer, j.Judge); now == id && len(j.Grading.Marks) > 0 {
				gradings = append(gradings, j.Grading)
			}
		}
		out = append(out, report.Result{Answer: answer, Gradings: gradings})
	}
	return out, nil
}

// sheet reads the marks that people have put into a sheet, and writes it with rows for
// all answers. What they read lies in files that do not tell whose answer it is.
func (a *app) sheet(trials []*trial, found []report.Result, dir *results.Dir, path string) error {
	path = a.absolute(path)
	var old *eval.Sheet
	f, err := os.Open(path)
	if err == nil {
		old, err = eval.ReadSheet(f)
		f.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--sheet=%s: %w", path, err)
	}
	sheet := &eval.Sheet{}
	for _, t := range trials {
		var answers []eval.Answer
		for _, r := range found {
			if r.Answer.Experiment != t.Name {
				continue
			}
			answers = append(answers, r.Answer)
			if err := dir.Save(blind(r.Answer.ID()), blindAnswer(t.Inquiry(r.Answer.Inquiry), &r.Answer)); err != nil {
				return err
			}
		}
		sheet.Add(t.Experiment, answers, func(id string) string { return dir.Path(blind(id)) })
	}
	if old != nil {
		sheet.Keep(old)
	}
	if err := atomicfile.Write(path, sheet.Write); err != nil {
		return fmt.Errorf("--sheet: %w", err)
	}
	given := sheet.Gradings()
	for i := range found {
		if g, ok := given[found[i].Answer.ID()]; ok {
			found[i].Gradings = append(found[i].Gradings, g)
		}
	}
	marked, rows := sheet.Marked()
	a.note("sheet: %s, %s of %s filled in", path, phrase.Number(marked), phrase.Plural(rows, "mark", "marks"))
	return nil
}

func blind(id string) string { return filepath.Join("sheet", id+".md") }

// blindAnswer is what a person reads who grades an answer.
func blindAnswer(q *eval.Inquiry, answer *eval.Answer) []byte {
	var b bytes.Buffer
	part := func(title, text string) {
		fmt.Fprintf(&b, "# %s\n\n%s\n\n", title, strings.TrimSpace(text))
	}
	part("Question", q.Question)
	if q.Answer != "" {
		part("True answer", q.Answer)
	}
	part("Answer "+answer.ID(), answer.Text)
	return b.Bytes()
}

// sizes are a trial's rows of table 8.
func (t *trial) sizes(tokenizers []string) []report.Size {
	var all []report.Size
	for _, m := range tokenizers {
		c := tokens.For(m)
		for _, q := range t.inquiries {
			for _, v := range t.Variants {
				all = append(all, report.Size{Experiment: t.Name, Inquiry: q.ID, Variant: v, Tokenizer: c.Encoding(), Exact: c.Exact(), Tokens: q.sizes.tokens[v][m]})
			}
		}
	}
	return all
}

// sources are a trial's rows of table 9.
func (t *trial) sources() []report.Source {
	var all []report.Source
	for _, q := range t.inquiries {
		all = append(all, report.Source{Experiment: t.Name, Inquiry: q.ID, Files: q.sizes.files, FileLines: q.sizes.fileLines,
			FullLines: q.sizes.fullLines, AllLines: t.closureLines})
	}
	return all
}

// jsonResult is an answer in the output of --json.
type jsonResult struct {
	eval.Answer
	Gradings []eval.Grading `json:"gradings"`
}

// jsonSize is a prompt in the output of --json.
type jsonSize struct {
	Experiment string       `json:"experiment"`
	Inquiry    string       `json:"inquiry"`
	Variant    eval.Variant `json:"variant"`
	Tokenizer  string       `json:"tokenizer"`
	Exact      bool         `json:"exact"`
	Tokens     int          `json:"tokens"`
}

// jsonSource is an inquiry in the output of --json.
type jsonSource struct {
	Experiment string `json:"experiment"`
	Inquiry    string `json:"inquiry"`
	Files      int    `json:"files"`
	FileLines  int    `json:"file_lines"`
	FullLines  int    `json:"full_lines"`
	AllLines   int    `json:"all_lines,omitempty"`
}

func jsonReport(in report.Input) any {
	out := struct {
		Answers []jsonResult `json:"answers"`
		Prompts []jsonSize   `json:"prompts"`
		Sources []jsonSource `json:"sources"`
	}{Answers: []jsonResult{}}
	for _, r := range in.Results {
		out.Answers = append(out.Answers, jsonResult{r.Answer, r.Gradings})
	}
	for _, s := range in.Sizes {
		out.Prompts = append(out.Prompts, jsonSize(s))
	}
	for _, s := range in.Sources {
		out.Sources = append(out.Sources, jsonSource(s))
	}
	return out
}
