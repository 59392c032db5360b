package repair

import (
	"context"
	"fmt"
	"slices"

	"tracerag/llm/metered"
	"tracerag/repair/trial"
)

// calm is the temperature of a second try.
const calm = .2

// again asks once more, with how the best of the candidates failed.
func (f *Fixer) again(ctx context.Context, t *Task, r *Result, round int) error {
	best := r.best()
	if best == nil {
		return nil
	}
	parts := ""
	if f.Parts != nil {
		var err error
		if parts, err = f.Parts(ctx, best.Patch); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			r.note(fmt.Sprintf("the run of candidate %d can't be compared: %v", best.Number, err))
			parts = ""
		}
	}
	room := f.Model.Room(system)
	more := []metered.Part{{Name: "TRIED", Text: f.cut(best.Diff, room/testShare, false)},
		{Name: "FAILURE", Text: f.cut(best.Verdict.String(), room/outputShare, false)}}
	if parts != "" {
		more = append(more, metered.Part{Name: "DIFFERENCE", Text: f.cut(parts, room/outputShare, false)})
	}
	p, err := f.question(t, more...)
	if err != nil {
		return err
	}
	p.user = tried + "\n\n" + p.user
	c := &Candidate{Number: len(r.Candidates) + 1, Round: round, Temperature: calm}
	r.Candidates = append(r.Candidates, c)
	return f.try(ctx, t, r, p, []*Candidate{c})
}

// tried comes before the question of a second try.
const tried = `TRIED is a change that was tried and is not right: FAILURE says why. DIFFERENCE, if it is there, says where the run with it parts from the run without.
It is not in the code that you see. Give another change, whole again.`

// best is the candidate that came furthest, with the fewest failures.
func (r *Result) best() (best *Candidate) {
	for _, c := range r.Candidates {
		if c.Verdict == nil || c.Like > 0 {
			continue
		}
		if best == nil || further(c.Verdict, best.Verdict) {
			best = c
		}
	}
	return best
}

// further reports whether a verdict is of a later stage than another, or of fewer failures.
func further(v, than *trial.Verdict) bool {
	a, b := slices.Index(trial.Stages, v.Stage), slices.Index(trial.Stages, than.Stage)
	return a > b || a == b && len(v.Failures) < len(than.Failures)
}
