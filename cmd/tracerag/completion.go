package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/pflag"

	"tracerag/completion"
	"tracerag/session"
)

const completionHelp = `
completion prints a script for a shell, which then completes commands, flags and
their values, saved traces by id and name, and functions for --focus:

  bash   eval "$(tracerag completion bash)"      in ~/.bashrc
  zsh    eval "$(tracerag completion zsh)"       in ~/.zshrc, after compinit
  fish   tracerag completion fish | source       in ~/.config/fish/config.fish`

func runCompletion(a *app, _ context.Context, c *command, args []string) int {
	f := a.flags(c, completionHelp)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	if f.NArg() != 1 || !slices.Contains(completion.Shells, f.Arg(0)) {
		return a.usage(c, "name one shell: "+listed(completion.Shells, "or"))
	}
	script, err := completion.Script(f.Arg(0))
	if err != nil {
		return a.fail(err)
	}
	fmt.Fprint(a.stdout, script)
	return exitOK
}

// runComplete is the hidden command that shells call by the scripts.
func (a *app) runComplete(ctx context.Context, args []string) int {
	completion.Complete(a.stdout, a.completions(ctx), args)
	return exitOK
}

// completions is what command lines are completed from.
func (a *app) completions(ctx context.Context) completion.Source {
	asked := *a
	asked.stdout, asked.stderr, asked.quiet = io.Discard, io.Discard, true
	src := completion.Source{Open: func(dir string) (*session.Session, error) {
		in := asked
		in.dir = dir
		s, err := in.store()
		return in.session(s), err
	}}
	for _, c := range append(slices.Clone(commands), evalLocate) {
		src.Commands = append(src.Commands, completion.Command{Name: c.name, Args: c.args, Short: c.short, Flags: func() (flags *pflag.FlagSet) {
			in := asked
			in.onFlags = func(f *pflag.FlagSet) { flags = f } // it stops where it would parse them
			c.run(&in, ctx, c, nil)
			return flags
		}})
	}
	for _, t := range topics() {
		src.Topics = append(src.Topics, [2]string{t.name, t.about})
	}
	return src
}
