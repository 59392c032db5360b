package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"tracerag/completion"
)

// TestFlagsOfCommands: completion stops every command where it parses its flags; until
// there none may do anything.
func TestFlagsOfCommands(t *testing.T) {
	t.Chdir(t.TempDir())
	var stdout, stderr bytes.Buffer
	a, err := newApp(strings.NewReader(""), &stdout, &stderr)
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range a.completions(context.Background()).Commands {
		flags := command.Flags()
		if flags == nil || flags.Lookup("dir") == nil {
			t.Errorf("%s: its flags are not known", command.Name)
			continue
		}
		flags.VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" && !f.Hidden {
				t.Errorf("%s --%s says nothing of itself", command.Name, f.Name)
			}
		})
	}
	if files, err := os.ReadDir("."); err != nil || len(files) > 0 || stdout.Len()+stderr.Len() > 0 {
		t.Errorf("files %v, %v; printed %s%s", files, err, &stdout, &stderr)
	}
}

// TestCompletionScripts has each shell read its script, and bash and fish complete by
// it without a terminal. At a terminal see TestCompletionAtTerminal.
func TestCompletionScripts(t *testing.T) {
	for _, shell := range completion.Shells {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skip(shell + " is not installed")
			}
			script, err := completion.Script(shell)
			if err != nil {
				t.Fatal(err)
			}
			check := exec.Command(path, "-n")
			check.Stdin = strings.NewReader(script)
			if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
				t.Fatalf("%v\n%s", err, out)
			}
			// The words as the shell has them, for the line "tracerag tree --format=m".
			var line, want string
			switch shell {
			case "bash":
				line = `eval "$(tracerag completion bash)"
COMP_LINE='tracerag tree --format=m' COMP_POINT=24 COMP_WORDS=(tracerag tree --format = m) COMP_CWORD=4
_tracerag; printf '%s\n' "${COMPREPLY[@]}"
COMP_LINE='tracerag tree --format=' COMP_POINT=23 COMP_WORDS=(tracerag tree --format =) COMP_CWORD=3
_tracerag; printf '%s\n' "${COMPREPLY[@]}"`
				want = "mermaid\ntext\njson\ndot\nmermaid\nsequence\n"
			case "fish":
				line = "tracerag completion fish | source; complete -C 'tracerag tree --format=m'"
				want = "--format=mermaid\n"
			default:
				return // without a terminal zsh completes nothing
			}
			cmd := exec.Command(path, "-c", line)
			cmd.Dir = t.TempDir()
			out, err := cmd.CombinedOutput()
			if err != nil || string(out) != want {
				t.Errorf("%v, completed to %q, want %q", err, out, want)
			}
		})
	}
}
