package trial

import (
	"context"
	"fmt"

	"tracerag/eval"
	"tracerag/eval/results"
	"tracerag/llm"
	"tracerag/llm/metered"
	"tracerag/llm/throttle"
	"tracerag/phrase"
)

// judgeIsReady finds what would keep the judge from grading before answers for it are
// paid for.
func (x *Examiner) judgeIsReady() error {
	judge := x.Judge
	x.note("judging the answers by %s costs extra", judge)
	switch {
	case x.DryRun:
		return nil
	case x.wrong[judge] != nil:
		return fmt.Errorf("%s: %w", judge, x.wrong[judge])
	case x.Limits.MaxCost == 0 && priced(judge):
		return &metered.NoCeilingError{Model: "the judge " + judge}
	}
	return nil
}

// judgements are the jobs of all answers that the judge has not graded yet. Its reply
// may be of no use; it was paid for, and is kept anyway.
func (x *Examiner) judgements() ([]throttle.Job, error) {
	var jobs []throttle.Job
	all := 0
	judge := x.Judge
	for _, t := range x.Trials {
		answers, err := x.answers(t)
		if err != nil {
			return nil, err
		}
		judged, err := x.Dir.Judged(t.Name)
		if err != nil {
			return nil, err
		}
		for _, answer := range answers {
			inq := t.Inquiry(answer.Inquiry)
			id, text := judgementID(inq, &answer, judge)
			all++
			if _, ok := judged[id]; ok {
				continue
			}
			n := x.counter(judge).Count(text)
			what := "judging " + answer.Cell.String()
			jobs = append(jobs, throttle.Job{Name: what, Model: judge, Tokens: n, Most: x.most(judge, n), Ask: func(ctx context.Context) (float64, error) {
				got, _, err := x.ask(ctx, id, what, judge, x.most(judge, n), func(ctx context.Context) (llm.Answer, error) {
					return x.clients[judge].Ask(ctx, message(text), nil)
				})
				if err != nil {
					return value(got.cost), err
				}
				j := results.Judged{Answer: answer.ID(), Judge: judge, Text: x.Mask(got.Text), Usage: usage(got.Usage), Cost: got.cost}
				if j.Grading, err = eval.ParseJudgement(got.Text, inq); err != nil {
					x.note("%s: %v\nits reply is kept: remove %s to have it judged again", what, err, x.Dir.Path(results.MarksPath(t.Name, id)))
				}
				j.Grading.Grader = eval.JudgePrefix + judge
				return value(j.Cost), x.saved(x.Dir.SaveJudged(t.Name, id, j), x.Dir.Path(results.MarksPath(t.Name, id)), j)
			}})
		}
	}
	x.note("%s, %s judged already", phrase.Plural(all, "answer", "answers"), phrase.Number(all-len(jobs)))
	return jobs, nil
}

// judgementID is the ID of what a judge gave an answer, by the rubric as it is, and
// what it was asked.
func judgementID(inq *eval.Inquiry, answer *eval.Answer, judge string) (id, text string) {
	text = eval.JudgePrompt(inq, answer.Text)
	return results.ID(answer.Cell, "judge", judge, text), text
}
