package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"tracerag/prompt"
	"tracerag/session"
	"tracerag/trace/store"
)

// operands splits the words after the flags into traces and a question. Without
// --compare the first of several words is a trace; a single one is a trace if it
// looks like one, and else the question.
func (a *app) operands(s *store.Store, compare, words []string, needQuestion bool) (names []string, question string, err error) {
	switch len(compare) {
	case 0:
		names = []string{"@last"}
		if len(words) == 0 {
			break
		}
		_, err := s.Find(words[0])
		switch {
		case err == nil || len(words) == 1 && strings.HasPrefix(words[0], "@"):
			names, words = words[:1], words[1:]
		case len(words) > 1:
			return nil, "", fmt.Errorf("%w\nif these words are the question, put it in quotes", err)
		}
	case 1:
		if len(words) == 0 {
			return nil, "", fmt.Errorf("--compare %s: --compare needs two traces", compare[0])
		}
		names, words = []string{compare[0], words[0]}, words[1:]
	case 2:
		names = compare
	default:
		return nil, "", errors.New("--compare takes two traces")
	}
	question, err = a.question(words)
	if _, missing := errors.AsType[*noQuestionError](err); missing && !needQuestion {
		err = nil
	}
	return names, question, err
}

type noQuestionError struct{}

func (*noQuestionError) Error() string {
	return "no question: put it behind the flags and the trace, in quotes"
}

// question is what words ask; "-" reads it from standard input.
func (a *app) question(words []string) (string, error) {
	question := strings.Join(words, " ")
	if question == "-" {
		data, err := io.ReadAll(a.stdin)
		if err != nil {
			return "", fmt.Errorf("reading the question: %w", err)
		}
		question = strings.TrimSpace(string(data))
	}
	if strings.TrimSpace(question) == "" {
		return "", &noQuestionError{}
	}
	return question, nil
}

// input is what a prompt about one trace, or two, is made of.
func (a *app) input(s *store.Store, names []string, question string, t *treeFlags, p *promptFlags) (in prompt.Input, o prompt.Options, views []*session.View, err error) {
	if o, err = a.promptOptions(p); err != nil {
		return in, o, nil, err
	}
	a.masker().LearnText(question)
	if views, err = a.open(s, names, t); err != nil {
		return in, o, nil, err
	}
	in, err = a.session(s).PromptInput(question, views...)
	return in, o, views, err
}

// build makes the prompt for one trace, or for two.
func (a *app) build(s *store.Store, names []string, question string, t *treeFlags, p *promptFlags) (*prompt.Prompt, []*session.View, error) {
	in, o, views, err := a.input(s, names, question, t, p)
	o.Paste()
	if err != nil {
		return nil, nil, err
	}
	defer a.wait("making the prompt")()
	pr, err := prompt.Build(in, o)
	if err == nil {
		pr.Text = a.masker().Clean(pr.Text) // names and places are not among what a prompt masks
	}
	return pr, views, err
}

// inquiry is one question about one trace or two.
type inquiry struct {
	names    []string
	question string
	tree     *treeFlags
	prompt   *promptFlags
	model    *modelFlags

	knowledge *knowledgeFlags // nil: there is a run

	dry, more, copy, oneShot, paste, noTrace bool
}
