package main

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strings"
)

const completionHelp = `
completion prints a script for a shell, which then completes commands, flags and
their values, saved traces by id and name, and functions for --focus:

  bash   eval "$(tracerag completion bash)"      in ~/.bashrc
  zsh    eval "$(tracerag completion zsh)"       in ~/.zshrc, after compinit
  fish   tracerag completion fish | source       in ~/.config/fish/config.fish`

//go:embed completion
var completionScripts embed.FS

var shells = []string{"bash", "zsh", "fish"}

func runCompletion(a *app, _ context.Context, c *command, args []string) int {
	f := a.flags(c, completionHelp)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	if f.NArg() != 1 || !slices.Contains(shells, f.Arg(0)) {
		return a.usage(c, "name one shell: "+listed(shells, "or"))
	}
	script, err := completionScripts.ReadFile("completion/tracerag." + f.Arg(0))
	if err != nil {
		return a.fail(err)
	}
	fmt.Fprint(a.stdout, strings.TrimLeft(string(script), "\n"))
	return exitOK
}
