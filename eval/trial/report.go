package trial

import (
	"bytes"
	"io"
	"path/filepath"

	"tracerag/eval"
	"tracerag/eval/report"
	"tracerag/eval/results"
	"tracerag/prompt/tokens"
)

// Sizes are what is known of trials before anybody was asked.
func Sizes(trials []*Trial, tokenizers []string) report.Input {
	var in report.Input
	for _, t := range trials {
		in.Experiments = append(in.Experiments, t.Experiment)
		in.Sizes = append(in.Sizes, t.sizes(tokenizers)...)
		in.Sources = append(in.Sources, t.sources()...)
	}
	return in
}

// Grade adds the saved answers, with the marks of all graders: of people, too, if
// there is the path of a sheet. That is read, and written with rows for all answers.
func (x *Examiner) Grade(in *report.Input, sheet string) error {
	for _, t := range x.Trials {
		found, err := x.graded(t)
		if err != nil {
			return err
		}
		in.Results = append(in.Results, found...)
	}
	if sheet == "" {
		return nil
	}
	return x.sheet(in.Results, sheet)
}

// Save writes the document of that name, the tables and the figures into the directory of
// results. It returns the figures' paths.
func Save(dir *results.Dir, name string, in report.Input) (figures []string, err error) {
	save := func(name string, write func(io.Writer) error) error {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			return err
		}
		return dir.Save(name, b.Bytes())
	}
	err = save(name, func(w io.Writer) error { return report.WriteMarkdown(w, in) })
	for _, t := range report.Tables(in) {
		if err == nil {
			err = save(filepath.Join("tables", t.Name+".csv"), t.WriteCSV)
		}
	}
	for _, f := range report.Figures(in) {
		if err == nil {
			err = save(f.Name+".svg", f.WriteSVG)
			figures = append(figures, dir.Path(f.Name+".svg"))
		}
	}
	return figures, err
}

// sizes are a trial's rows of table 8.
func (t *Trial) sizes(tokenizers []string) []report.Size {
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
func (t *Trial) sources() []report.Source {
	var all []report.Source
	for _, q := range t.inquiries {
		all = append(all, report.Source{Experiment: t.Name, Inquiry: q.ID, Files: q.sizes.files, FileLines: q.sizes.fileLines,
			FullLines: q.sizes.fullLines, AllLines: t.ModuleLines})
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

// JSON is the report as a program reads it.
func JSON(in report.Input) any {
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
