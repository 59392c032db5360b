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
	c := Content{Clean: s.Mask.CleanJSON, Prompt: prompts(s, views, o, types)}
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

// prompts returns what makes a page's prompts.
func prompts(s *session.Session, views []*session.View, o prompt.Options, types bool) func(Draft) (*prompt.Prompt, error) {
	var last prompt.Input // whose score is that of every draft with its question
	opened := s.Mask.Fork()
	return func(d Draft) (*prompt.Prompt, error) {
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
		return prompt.Build(in, o)
	}
}
