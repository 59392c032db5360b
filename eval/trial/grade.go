package trial

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tracerag/atomicfile"
	"tracerag/eval"
	"tracerag/eval/report"
	"tracerag/phrase"
)

// graded are a trial's answers with the marks of the automatic grader and of every
// judge.
func (x *Examiner) graded(t *Trial) ([]report.Result, error) {
	answers, err := x.answers(t)
	if err != nil {
		return nil, err
	}
	judged, err := x.Dir.Judged(t.Name)
	if err != nil {
		return nil, err
	}
	byAnswer := map[string][]string{} // IDs of what judges gave it
	for _, id := range slices.Sorted(maps.Keys(judged)) {
		byAnswer[judged[id].Answer] = append(byAnswer[judged[id].Answer], id)
	}
	var out []report.Result
	for _, answer := range answers {
		q := t.inquiry(answer.Inquiry)
		auto := eval.Auto(q.Inquiry, answer.Text, eval.Context{Prompt: q.sent(&answer), Functions: q.functions})
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
func (x *Examiner) sheet(found []report.Result, path string) error {
	var old *eval.Sheet
	f, err := os.Open(path)
	if err == nil {
		old, err = eval.ReadSheet(f)
		f.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &SheetError{path, err}
	}
	sheet := &eval.Sheet{}
	for _, t := range x.Trials {
		var answers []eval.Answer
		for _, r := range found {
			if r.Answer.Experiment != t.Name {
				continue
			}
			answers = append(answers, r.Answer)
			if err := x.Dir.Save(blind(r.Answer.ID()), blindAnswer(t.Inquiry(r.Answer.Inquiry), &r.Answer)); err != nil {
				return err
			}
		}
		sheet.Add(t.Experiment, answers, func(id string) string { return x.Dir.Path(blind(id)) })
	}
	if old != nil {
		sheet.Keep(old)
	}
	if err := atomicfile.Write(path, sheet.Write); err != nil {
		return &SheetError{path, err}
	}
	given := sheet.Gradings()
	for i := range found {
		if g, ok := given[found[i].Answer.ID()]; ok {
			found[i].Gradings = append(found[i].Gradings, g)
		}
	}
	marked, rows := sheet.Marked()
	x.note("sheet: %s, %s of %s filled in", path, phrase.Number(marked), phrase.Plural(rows, "mark", "marks"))
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
