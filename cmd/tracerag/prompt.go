package main

import (
	"cmp"
	"context"
	"fmt"

	"tracerag/prompt"
	"tracerag/session"
	"tracerag/terminal"
	"tracerag/trace/store"
)

const promptHelp = `
prompt prints what ask would send: the question, the call tree, and the source of
the called functions in call order. It sends nothing. Paste it into any chat.

--for=agent prints instead which code the question is about, in 3,000 tokens: ways,
sources with line numbers, types, and names of more. --read shows these: a function
(table.Render), lines of one (table.Render:310-330), callers FUNCTION, callees
FUNCTION, a type, or a handle (p3: the functions of a package; #12: a node).`

func runPrompt(a *app, _ context.Context, c *command, args []string) int {
	f := a.flags(c, promptHelp)
	var t treeFlags
	var p promptFlags
	compare := f.StringArray("compare", nil, "put two `TRACES` side by side: --compare A B QUESTION")
	account := f.Bool("tokens", false, "print the account of tokens, by section and function, instead of the prompt")
	explain := f.Bool("explain", false, "print for each function how much of it --budget keeps, and why, instead of the prompt")
	asJSON := f.Bool("json", false, "print prompt and account as JSON")
	reader := ""
	addChoice(f, &reader, "for", "print what a `READER` needs: agent, as the MCP tool context does", "", "agent")
	read := f.StringArray("read", nil, "with --for=agent: show `WHAT`; may be repeated")
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
	if reader != "" || len(*read) > 0 {
		return a.contextFor(c, s, names, question, *read, &t, &p)
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

// contextFor prints what an agent reads.
func (a *app) contextFor(c *command, s *store.Store, names []string, question string, read []string, t *treeFlags, p *promptFlags) int {
	if question == "" && len(read) == 0 {
		return a.usage(c, "--for=agent needs a question, or --read")
	}
	o, err := a.promptOptions(p)
	if err != nil {
		return a.fail(err)
	}
	a.masker().LearnText(question)
	text, err := a.session(s).ContextOf(question, names, t.options(), session.ContextRequest{Read: read, Limit: cmp.Or(o.Budget, prompt.ContextTokens)})
	if err != nil {
		return a.fail(err)
	}
	fmt.Fprint(a.stdout, a.masker().Clean(text))
	return exitOK
}
