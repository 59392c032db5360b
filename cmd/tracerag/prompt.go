package main

import (
	"context"
	"fmt"

	"tracerag/prompt"
	"tracerag/terminal"
)

const promptHelp = `
prompt prints what ask would send: the question, the call tree, and the source of
the called functions in call order. It sends nothing. Paste it into any chat.`

func runPrompt(a *app, _ context.Context, c *command, args []string) int {
	f := a.flags(c, promptHelp)
	var t treeFlags
	var p promptFlags
	compare := f.StringArray("compare", nil, "put two `TRACES` side by side: --compare A B QUESTION")
	account := f.Bool("tokens", false, "print the account of tokens, by section and function, instead of the prompt")
	explain := f.Bool("explain", false, "print for each function how much of it --budget keeps, and why, instead of the prompt")
	asJSON := f.Bool("json", false, "print prompt and account as JSON")
	toClipboard := f.Bool("copy", false, "copy the prompt to the clipboard instead of printing it")
	a.section(f, "The prompt")
	p.addModel(f)
	p.add(f)
	a.redactFlag(f)
	a.section(f, "The call tree")
	t.add(f)
	t.addBaseline(f)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	if p.template == "help" {
		fmt.Fprint(a.stdout, prompt.TemplateHelp)
		return exitOK
	}
	if *explain && p.budget == "" {
		return a.usage(c, "--explain is about what --budget leaves out")
	}
	s, err := a.store()
	if err != nil {
		return a.fail(err)
	}
	a.loadVocabulary(&p)
	names, question, err := a.operands(s, *compare, f.Args(), false)
	if err != nil {
		return a.usage(c, err.Error())
	}
	pr, _, err := a.build(s, names, question, &t, &p)
	if err != nil {
		return a.fail(err)
	}
	a.warnings(pr)
	switch {
	case *asJSON:
		err = a.printJSON(pr)
	case *account:
		err = pr.WriteAccount(a.stdout)
	case *explain:
		err = pr.WriteExplanation(a.stdout, terminal.Width(a.stdout))
	default:
		err = a.deliver(pr, *toClipboard)
	}
	if err == nil {
		err = pr.CheckWindow()
	}
	if err != nil {
		return a.fail(err)
	}
	return exitOK
}
