package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"tracerag/locate"
	"tracerag/prompt"
	"tracerag/session"
	"tracerag/trace/store"
)

// foundFunctions is how many functions a question without a run is about. Their names take
// some 1,000 tokens, their sources are read in rounds, or the best of them fit a budget.
const foundFunctions = 60

// sourceInput is what a prompt without a run is made of.
func (a *app) sourceInput(ctx context.Context, s *store.Store, q *inquiry) (in prompt.Input, o prompt.Options, err error) {
	if o, err = a.promptOptions(q.prompt); err != nil {
		return in, o, err
	}
	a.masker().LearnText(q.question)
	k, err := a.knowledge(ctx, q.knowledge, s.Dir())
	if err != nil {
		return in, o, err
	}
	defer func() { err = errors.Join(err, k.Close()) }()
	answer, err := locate.Locate(ctx, k, locate.Question{Text: a.searched(s, q)}, locate.Options{Limit: foundFunctions})
	if err != nil {
		return in, o, err
	}
	found, err := session.Located(ctx, k, answer)
	if err != nil {
		return in, o, err
	}
	if answer.Record != nil {
		a.note("this is about the source, not about a run. To record one (the test %s):\n%s", answer.Record.Why, answer.Record.Line(a.cwd))
	} else {
		a.note("this is about the source, not about a run")
	}
	in, err = a.session(s).FoundInput(ctx, q.question, found)
	return in, o, err
}

// searched is the text that is looked for: of a question that follows others, those too, since
// "and why?" has no word of what it is about.
func (a *app) searched(s *store.Store, q *inquiry) string {
	text := q.question
	if q.more {
		earlier, _ := s.Answers(aboutSource(s)[0]) // what can't be read is said when the conversation is made
		for _, c := range earlier {
			text += "\n" + c.Question
		}
	}
	return text
}

// aboutSource is beside what conversations without a run are saved.
func aboutSource(s *store.Store) []store.Entry {
	return []store.Entry{{ID: "source", Path: filepath.Join(s.Dir(), "source.pb.gz")}}
}

// nothingRecorded reports whether a question can only be about the source: no trace is saved, none
// is named, and the working directory is in a module.
func (a *app) nothingRecorded(s *store.Store, name string) bool {
	entries, err := s.List()
	if err != nil || len(entries) > 0 || name != "@last" {
		return false // what is wrong is said when the trace is opened
	}
	_, err = os.Stat(filepath.Join(a.moduleRoot(), "go.mod"))
	return err == nil
}
