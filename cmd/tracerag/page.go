package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"tracerag/answer"
	"tracerag/llm"
	"tracerag/output"
	"tracerag/phrase"
	"tracerag/prompt"
	"tracerag/session"
	"tracerag/trace/store"
	"tracerag/viewer"
)

// page puts one trace, or two, on a page, and what is known of the source, if anything is.
func (a *app) page(s *store.Store, names []string, t *treeFlags, p *promptFlags, question string, model *pageModel, src viewer.Sources) (*viewer.Page, error) {
	if len(names) == 0 {
		names = []string{"@last"}
	}
	if model != nil {
		p.model = model.Name()
	}
	o, err := a.promptOptions(p)
	if err != nil {
		return nil, err
	}
	a.masker().LearnText(question)
	views, _, err := a.openBoth(s, names, t)
	if err != nil {
		return nil, err
	}
	if model != nil {
		model.about = entriesOf(views)
	}
	c := viewer.Views(a.session(s), views, o, p.types, showPruned)
	c.Draft = viewer.Draft{Question: a.masker().Text(question), Variant: o.Variant, Budget: o.Budget}
	c.Sources = src
	c.Command, c.WayOut = a.promptCommand(views, t, p), faceWayOut
	return viewer.New(c)
}

// promptCommand is the command line that prints the prompts of a page, but for what
// the page has fields for.
func (a *app) promptCommand(views []*session.View, t *treeFlags, p *promptFlags) string {
	words := []string{"tracerag prompt" + a.dirFlag()}
	if len(views) == 2 {
		words = append(words, "--compare="+views[0].Entry.ID, views[1].Entry.ID)
	} else {
		words = append(words, views[0].Entry.ID)
	}
	words = append(words, t.words()...)
	for _, pattern := range t.focus {
		words = append(words, "--focus="+phrase.Quote(pattern))
	}
	for _, f := range []struct{ name, value, normally string }{
		{"question", p.at, ""}, {"format", p.format, "markdown"}, {"template", p.template, ""}, {"model", p.model, ""}, {"models", p.models, ""},
	} {
		if f.value != f.normally {
			words = append(words, "--"+f.name+"="+phrase.Quote(f.value))
		}
	}
	if a.noRedact {
		words = append(words, "--no-redact")
	}
	if p.types {
		words = append(words, "--types")
	}
	if p.window != 0 {
		words = append(words, fmt.Sprintf("--context-window=%d", p.window))
	}
	return strings.Join(words, " ")
}

// pageModel answers the page's questions.
type pageModel struct {
	app   *app
	asker *answer.Asker
	about []store.Entry // the traces
}

// pageModel returns nil when no model is configured: the page then has the prompt
// to be copied.
func (a *app) pageModel(s *store.Store, p *promptFlags, m *modelFlags) (*pageModel, error) {
	cfg, err := a.modelConfig(m, p.model)
	switch {
	case errors.Is(err, llm.ErrNotConfigured):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &pageModel{app: a, asker: &answer.Asker{Store: s, Mask: a.masker(), Config: cfg}}, nil
}

func (m *pageModel) Name() string { return m.asker.Config.Model }

// InRounds implements viewer.Model.
func (m *pageModel) InRounds(q *viewer.Question, p *prompt.Prompt) bool {
	return answer.InRounds(q.Options, p.Total)
}

// Ask implements viewer.Model. The conversation is saved as ask saves it, so that
// tracerag ask --continue goes on with it.
func (m *pageModel) Ask(ctx context.Context, q *viewer.Question, to viewer.Listener) ([]string, error) {
	sent := func(round, of int, reads []prompt.Request, p *prompt.Prompt) {
		to.Sent(viewer.Round{Number: round, Of: of, Reads: reads, Prompt: p})
	}
	out := output.New(to, output.Text, m.app.knownSecrets)
	got, err := m.asker.AskAbout(ctx, answer.Question{Text: q.Question, Input: q.Input, Options: q.Options, About: m.about, OneShot: q.OneShot}, sent, out)
	err = cmp.Or(err, out.Flush())
	if hint := cmp.Or(faceWayOut(err), llm.Hint(err)); hint != "" {
		err = fmt.Errorf("%w\n%s", err, hint)
	}
	if got.File != "" {
		m.app.note("saved: %s", got.File)
	}
	return got.Notes, err
}
