package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/atotto/clipboard"

	"tracerag/prompt"
	"tracerag/session"
	"tracerag/trace/store"
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
		err = pr.WriteExplanation(a.stdout)
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

// deliver prints the prompt, or copies it.
func (a *app) deliver(p *prompt.Prompt, toClipboard bool) error {
	if toClipboard {
		if err := clipboard.WriteAll(p.Text); err != nil {
			return fmt.Errorf("copying to the clipboard: %w\nprint it and copy it yourself: leave --copy out", err)
		}
		a.note("copied: %s", p.Size())
		return nil
	}
	if _, err := io.WriteString(a.stdout, p.Text); err != nil {
		return err
	}
	a.note("%s", p.Size())
	return nil
}

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
	question = strings.Join(words, " ")
	if question == "-" {
		data, err := io.ReadAll(a.stdin)
		if err != nil {
			return nil, "", fmt.Errorf("reading the question: %w", err)
		}
		question = strings.TrimSpace(string(data))
	}
	if needQuestion && strings.TrimSpace(question) == "" {
		return nil, "", errors.New("no question: put it behind the flags and the trace, in quotes")
	}
	return names, question, nil
}

// build makes the prompt for one trace, or for two.
func (a *app) build(s *store.Store, names []string, question string, t *treeFlags, p *promptFlags) (*prompt.Prompt, []*session.View, error) {
	o, err := a.promptOptions(p)
	if err != nil {
		return nil, nil, err
	}
	a.masker().LearnText(question)
	views, err := a.open(s, names, t)
	if err != nil {
		return nil, nil, err
	}
	in, err := a.session(s).PromptInput(question, p.types, views...)
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
