package viewer

import (
	"fmt"

	"tracerag/prompt"
	"tracerag/session"
)

// Views is the content of a page of one view or two, whose prompts are made as those of
// the command line: with some options, and with types if the prompt has the declarations
// that its functions name. showPruned is how a user has what a baseline left out.
func Views(s *session.Session, views []*session.View, o prompt.Options, types bool, showPruned string) Content {
	c := Content{Mask: s.Mask.Text, Clean: s.Mask.CleanJSON}
	c.Question, c.Rank = questions(s, views, o, types)
	for _, v := range views {
		r := s.Run(v)
		if pruned := v.PrunedNote(); pruned != "" {
			r.Notes = append(r.Notes, fmt.Sprintf("%s (%s)", pruned, showPruned))
		}
		if !v.Trace.SamePackages(views[0].Trace) {
			r.Notes = append(r.Notes, session.OtherPackages)
		}
		c.Runs = append(c.Runs, r)
	}
	return c
}

// questions returns what makes a page's prompts, and what ranks the functions of its runs.
func questions(s *session.Session, views []*session.View, o prompt.Options, types bool) (func(Draft) (*Question, error), func(string) ([]Ranked, error)) {
	var last prompt.Input // whose score is that of every draft with its question
	opened := s.Mask.Fork()
	question := func(d Draft) (*Question, error) {
		fresh := *s
		fresh.Mask = opened.Fork() // secrets have the same numbers, whatever was shown since
		in, err := fresh.PromptInput(d.Question, views...)
		if err != nil {
			return nil, err
		}
		if last.Runs != nil && last.Question == in.Question {
			in.Score = last.Score
		}
		last = in
		o := o
		o.Variant, o.Budget, o.Types = d.Variant, d.Budget, types
		return &Question{d, in, o}, nil
	}
	rank := func(text string) ([]Ranked, error) {
		for _, v := range views {
			if err := v.Empty(); err != nil {
				return nil, err
			}
		}
		var out []Ranked
		for _, f := range s.Rank(text, views).Functions {
			if len(out) == mostRanked || f.Score <= 0 {
				break
			}
			out = append(out, Ranked{Name: f.Name, Position: f.Position, Score: f.Score, Why: f.Why(), Symbol: f.Symbol})
		}
		return out, nil
	}
	return question, rank
}
