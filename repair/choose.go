package repair

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tracerag/llm/metered"
	"tracerag/phrase"
)

// choose takes one of the accepted candidates.
func (f *Fixer) choose(ctx context.Context, t *Task, r *Result) error {
	var right []*Candidate
	for _, c := range r.Candidates {
		if c.accepted() {
			right = append(right, c)
		}
	}
	if len(right) == 0 {
		return nil
	}
	// The most votes, then the smaller.
	slices.SortStableFunc(right, func(a, b *Candidate) int {
		return cmp.Or(cmp.Compare(b.Votes, a.Votes), cmp.Compare(size(a), size(b)))
	})
	r.Chosen = right[0]
	if len(right) == 1 {
		r.Why = "it is the only one that is accepted"
		return nil
	}
	if right[0].Votes > right[1].Votes {
		r.Why = fmt.Sprintf("%s of %d agree", phrase.Plural(right[0].Votes, "candidate", "candidates"), len(r.Candidates))
		return nil
	}
	r.Why = "it is the smallest of those that are accepted"
	right = slices.DeleteFunc(right, func(c *Candidate) bool { return c.Votes < r.Chosen.Votes })
	chosen, err := f.prefer(ctx, t, right)
	if chosen != nil {
		r.Chosen, r.Why = chosen, "the model prefers it to the others that are accepted"
	}
	return err
}

// size is how many lines a change adds and removes.
func size(c *Candidate) (n int) {
	for line := range strings.Lines(c.Diff) {
		if (line[0] == '+' || line[0] == '-') && !strings.HasPrefix(line, "+++ ") && !strings.HasPrefix(line, "--- ") {
			n++
		}
	}
	return n
}

// preferForm is how a model answers.
const preferForm = `Each change passes all tests. Which one repairs the cause, and is right in the cases that no test has? Answer with its number alone.`

var number = regexp.MustCompile(`\d+`)

// prefer has the model choose. It returns nil if the changes do not fit a question, or the model does
// not answer.
func (f *Fixer) prefer(ctx context.Context, t *Task, right []*Candidate) (*Candidate, error) {
	room := f.Model.Room(system, preferForm) - 200
	parts := []metered.Part{{Name: "REPORT", Text: f.cut(t.Report, room/reportShare, false)}}
	room -= f.Model.Count(parts[0].Text)
	var known []*Candidate
	for _, c := range right {
		size := f.Model.Count(c.Diff)
		if size > room {
			break
		}
		room -= size
		known = append(known, c)
		parts = append(parts, metered.Part{Name: fmt.Sprintf("CHANGE %d", len(known)), Text: c.Diff})
	}
	if len(known) < 2 {
		return nil, nil
	}
	var chosen *Candidate
	err := f.Model.AskInForm(ctx, metered.Question{Kind: "fix: choice", System: system, User: metered.Fenced(parts...) + preferForm}, func(reply string) error {
		n := number.FindString(reply)
		i, err := strconv.Atoi(n)
		if err != nil || i < 1 || i > len(known) {
			return fmt.Errorf("want a number from 1 to %d", len(known))
		}
		chosen = known[i-1]
		return nil
	})
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if form := (*metered.FormError)(nil); errors.As(err, &form) {
		return nil, nil
	}
	return chosen, err
}
