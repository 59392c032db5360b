package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"

	"tracerag/viewer"
)

const viewHelp = `
view shows a run in the browser: the call tree, the source of each function with
its calls, a graph of calls and tokens, and the prompt. Two traces make one tree with
added, removed and changed calls. Of the source around it shows what a question is about,
and of each function callers, callees and tests, once tracerag index has indexed it.

The page is served on this machine only, until Ctrl-C, and opens only with the
printed URL. Only the page's Ask button sends anything to a model.`

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
	fmt.Fprintln(a.stdout, server.URL())
	a.note("Ctrl-C ends it")
	if open {
		if err := openBrowser(server.URL()); err != nil {
			a.note("no browser was opened: %v\nopen the URL above", err)
		}
	}
	return server.Serve(ctx)
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
