package main

import (
	"context"
	"os"
	"os/signal"

	"tracerag/viewer"
)

const viewHelp = `
view shows a run in the browser: the call tree, the source of each function with
its calls, a graph of calls and tokens, and the prompt. Two traces make one tree with
added, removed and changed calls. Of the source around it shows what a question is about,
and of each function callers, callees and tests, once tracerag index has indexed it.

The page is served on this machine only, until Ctrl-C, and opens only with the
printed URL. Only the page's Ask button sends anything to a model.

With --knowledge and without a trace, or with --repositories, it shows the knowledge base instead:
repositories and their state, search, where a report leads, and of each function its source, summary,
callers, tests and runs that executed it, and their values. That page only reads.

  tracerag view                                   the last run
  tracerag view @last --knowledge FILE            the last run, with another index around it
  tracerag view --knowledge postgres://ci@db/team the repositories of a team
  tracerag view --repositories                    those of the module around

A team's page is for everyone who has a token (tracerag token): say where browsers find it, and put
a proxy that speaks TLS before it (docs/teams.md). It is noted who asked what (tracerag audit).

  tracerag view --repositories --listen 8080 --origin https://code.example.com`

func runView(a *app, ctx context.Context, c *command, args []string) int {
	f := a.flags(c, viewHelp)
	var t treeFlags
	var p promptFlags
	var m modelFlags
	var k knowledgeFlags
	question := f.StringP("ask", "q", "", "put this `QUESTION` into the prompt at first")
	noOpen := f.Bool("no-open", false, "print the URL and open no browser")
	k.add(f)
	a.redactFlag(f)
	a.section(f, "The knowledge base")
	var b baseFlags
	b.add(f)
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
	if msg := b.check(f, k.said != ""); msg != "" {
		return a.usage(c, msg)
	}
	s, err := a.store()
	if err != nil {
		return a.fail(err)
	}
	if b.shown {
		if err := a.serveBase(ctx, &b, &k, s, p.model, !*noOpen); err != nil {
			return a.fail(err)
		}
		return exitOK
	}
	model, err := a.pageModel(s, &p, &m)
	if err != nil {
		return a.fail(err)
	}
	src := a.sources(&k, s.Dir(), false)
	defer src.Close()
	page, err := a.page(s, names, &t, &p, *question, model, src)
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
	a.opened(server.URL(), open)
	return server.Serve(ctx)
}
