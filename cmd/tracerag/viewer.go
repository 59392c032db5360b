package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
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

const viewHelp = `
view shows a run in the browser: the call tree, the source of each function with
its calls, a graph of calls and tokens, and the prompt. Two traces make one tree with
added, removed and changed calls.

The page is served on this machine only, until Ctrl-C, and opens only with the
printed URL. Only the page's Ask button sends anything to a model.`

func runView(a *app, ctx context.Context, c *command, args []string) int {
	f := a.flags(c, viewHelp)
	var t treeFlags
	var p promptFlags
	var m modelFlags
	question := f.StringP("ask", "q", "", "put this `QUESTION` into the prompt at first")
	noOpen := f.Bool("no-open", false, "print the URL and open no browser")
	a.redactFlag(f)
	a.section(f, "The model")
	p.addModel(f)
	m.add(f)
	a.section(f, "The prompt")
	p.add(f)
	a.section(f, "The call tree")
	t.add(f)
	t.addBaseline(f)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	names := f.Args()
	if len(names) > 2 {
		return a.usage(c, "one trace, or two to compare")
	}
	s, err := a.store()
	if err != nil {
		return a.fail(err)
	}
	model, err := a.pageModel(s, &p, &m)
	if err != nil {
		return a.fail(err)
	}
	page, err := a.page(s, names, &t, &p, *question, model)
	if err != nil {
		return a.fail(err)
	}
	if err := a.serve(ctx, page, model, !*noOpen); err != nil {
		return a.fail(err)
	}
	return exitOK
}

// serve shows a page until Ctrl-C.
func (a *app) serve(ctx context.Context, page *viewer.Page, model *pageModel, open bool) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	var asked viewer.Model
	if model != nil {
		asked = model
	}
	server, err := viewer.Listen(page, asked)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, server.URL())
	a.note("Ctrl-C ends it")
	if open {
		if err := openBrowser(server.URL()); err != nil {
			a.note("no browser was opened: %v\nopen the URL above", err)
		}
	}
	return server.Serve(ctx)
}

// page puts one trace, or two, on a page.
func (a *app) page(s *store.Store, names []string, t *treeFlags, p *promptFlags, question string, model *pageModel) (*viewer.Page, error) {
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
	views, err := a.open(s, names, t)
	if err != nil {
		return nil, err
	}
	if model != nil {
		model.about = entriesOf(views)
	}
	c := viewer.Views(a.session(s), views, o, p.types)
	c.Draft = viewer.Draft{Question: a.masker().Text(question), Variant: o.Variant, Budget: o.Budget}
	c.Command = a.promptCommand(views, t, p)
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

// Ask implements viewer.Model. The conversation is saved as ask saves it, so that
// tracerag ask --continue goes on with it.
func (m *pageModel) Ask(ctx context.Context, d viewer.Draft, p *prompt.Prompt, stream io.Writer) ([]string, error) {
	asker := *m.asker // for each question a client
	out := output.New(stream, output.Text, m.app.knownSecrets)
	got, err := asker.Ask(ctx, asker.Begin(d.Question, p, m.about...), out)
	err = cmp.Or(err, out.Flush())
	if hint := wayOut(err); hint != "" {
		err = fmt.Errorf("%w\n%s", err, hint)
	}
	if got.File != "" {
		m.app.note("saved: %s", got.File)
	}
	return got.Notes, err
}

// openBrowser opens a URL in the user's browser, and does not wait for it.
func openBrowser(url string) error {
	var cmd *exec.Cmd
	switch runtime.GOOS {
	case "darwin":
		cmd = exec.Command("open", url)
	case "windows":
		cmd = exec.Command("rundll32", "url.dll,FileProtocolHandler", url)
	default:
		cmd = exec.Command("xdg-open", url)
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait() // leaves no zombie
	return nil
}
