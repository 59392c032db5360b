package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"tracerag/llm/metered"
	"tracerag/output"
	"tracerag/phrase"
	"tracerag/prompt"
	"tracerag/session"
	"tracerag/terminal"
	"tracerag/trace/store"
)

// app is what every subcommand works with.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer // each an *output.Writer, as a rule: see setOutputs
	// programOut and programErr are where the recorded program and the go command
	// print, untouched.
	programOut, programErr io.Writer
	getenv                 func(string) string
	cwd                    string
	quiet                  bool
	dir                    string // flag --dir
	noPager                bool   // flag --no-pager
	waiting                *terminal.Waiting
	noRedact               bool            // flag --no-redact
	canLeave               bool            // the command has that flag
	args                   []string        // the command line
	said                   *sync.Once      // before the first message the masker learns from args
	secrets                *session.Masker // what hides them: see masker
	masked                 string          // what noteMasked has said
	sections               []section
	sectioned              int                  // flags that have their section
	onFlags                func(*pflag.FlagSet) // takes a command's flags in place of its run; nil: it runs
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) (*app, error) {
	a := &app{stdin: stdin, getenv: os.Getenv}
	a.setOutputs(stdout, stderr)
	var err error
	a.cwd, err = os.Getwd()
	return a, err
}

// command is a subcommand: its place in the help, and what runs it.
type command struct {
	name, args, short string
	run               func(a *app, ctx context.Context, c *command, args []string) int
}

// commands in the order of the help. The first three are the ones that matter.
var commands []*command

func init() {
	commands = []*command{
		{"run", "[flags] -- PROGRAM [ARG...]", "run a program and record what it calls", runRun},
		{"ask", "[flags] [TRACE] QUESTION", "ask a model about a recorded run", runAsk},
		{"compare", "[flags] A B [QUESTION]", "compare two runs", runCompare},
		{"tree", "[flags] [TRACE]", "print the call tree", runTree},
		{"view", "[flags] [TRACE | A B]", "show a run, two side by side, or repositories in the browser", runView},
		{"report", "[flags] -o FILE [TRACE | A B]", "write that page into one HTML file", runReport},
		{"prompt", "[flags] [TRACE] [QUESTION]", "print the prompt that ask would send", runPrompt},
		{"rank", "[flags] QUESTION [TRACE...]", "list the functions that a question is about", runRank},
		{"index", "[flags] [DIR | URL...]", "read repositories, to know them without a run", runIndex},
		{"locate", "[flags] REPORT", "list what a report is about, without a run", runLocate},
		{"worker", "[flags]", "work on a team's jobs, beside other workers", runWorker},
		{"jobs", "[flags] [cancel|retry ID... | limit MODEL | locate FILE | try FILE | answers [ID...]]", "list what workers do, did and could not do", runJobs},
		{"token", "[flags] add|list|rm [NAME]", "say who may read a team's page without a role in the database", runToken},
		{"audit", "[flags]", "list what was asked with these tokens", runAudit},
		{"push", "[flags] [TRACE...]", "share traces with a team", runPush},
		{"pull", "[flags] [TRACE...]", "fetch traces that a team shares", runPull},
		{"executed", "[flags] FUNC", "list which tests executed a function", runExecuted},
		{"fix", "[flags] REPORT", "change code until a failing test passes", runFix},
		{"mcp", "[flags]", "show the traces to a coding agent (Model Context Protocol)", runMCP},
		{"attach", "[flags] PID", "record a running process", runAttach},
		{"window", "[flags] start|stop|snapshot [NAME]", "start or stop recording in a running program", runWindow},
		{"list", "[flags]", "list the saved traces", runList},
		{"show", "[flags] [TRACE]", "show a trace's details and gaps", runShow},
		{"rm", "[flags] TRACE...", "remove traces", runRm},
		{"export", "[flags] [TRACE]", "write a trace in another tool's format", runExport},
		{"import", "[flags] FILE", "import a trace, or a CPU profile as a sampled trace", runImport},
		{"sizes", "[flags] [TRACE...]", "count tokens by prompt variant (the paper's tables 8 and 9)", runSizes},
		{"eval", "[flags] experiment FILE... | locate FILE", "find the prompt and model with the best answers; measure locate", runEval},
		{"doctor", "[flags] [PROGRAM]", "check what this machine, program and configuration can do", runDoctor},
		{"completion", "[flags] bash|zsh|fish", "print a shell completion script", runCompletion},
	}
}

const topHelp = `tracerag records one run of a Go program and asks a language model about it.

  tracerag run -- ./app --csv data.csv                 run the program, record its calls
  tracerag ask "which function draws the border?"      ask about the last run
  tracerag compare @prev @last                         compare the last two runs
`

func (a *app) dispatch(ctx context.Context, args []string) int {
	a.args, a.said = args, new(sync.Once)
	if len(args) == 0 {
		fmt.Fprint(a.stdout, topHelp, "\nall commands: tracerag help\n")
		return exitOK
	}
	defer a.closePager()
	switch name := args[0]; name {
	case "help", "-h", "--help":
		if len(args) > 1 {
			return a.helpOn(ctx, args[1])
		}
		a.help()
		return exitOK
	case "version", "--version":
		fmt.Fprintln(a.stdout, "tracerag", buildInfo())
		return exitOK
	case "__complete":
		return a.runComplete(ctx, args[1:])
	}
	if c := find(args[0]); c != nil {
		defer a.noteMasked()
		return c.run(a, ctx, c, args[1:])
	}
	return a.unknown(args)
}

// unknown reports an unknown command.
func (a *app) unknown(args []string) int {
	name := args[0]
	fmt.Fprintf(a.stderr, "tracerag: no command %q", name)
	s := nearest(name)
	switch {
	case strings.ContainsAny(name, `/\`): // a program, with "run" forgotten
		fmt.Fprintf(a.stderr, ": to record it, tracerag run -- %s", phrase.CommandLine(args))
	case s != "":
		fmt.Fprintf(a.stderr, ": did you mean %s?", s)
	}
	fmt.Fprintln(a.stderr)
	a.hint("tracerag help           all commands\ntracerag run -- ./app   record a run of ./app")
	return exitUsage
}

func find(name string) *command {
	for _, c := range commands {
		if c.name == name {
			return c
		}
	}
	return nil
}

// nearest returns the command that a mistyped one may have meant: one that begins
// like it, or that a typing error or two make of it. "" is none.
func nearest(name string) string {
	for _, c := range commands {
		if len(name) > 1 && (strings.HasPrefix(c.name, name) || strings.HasPrefix(name, c.name)) {
			return c.name
		}
	}
	for n := 1; n <= 2 && n < len(name); n++ {
		for _, c := range commands {
			if phrase.Distance(name, c.name) <= n {
				return c.name
			}
		}
	}
	return ""
}

func (a *app) help() {
	a.paginate()
	fmt.Fprint(a.stdout, topHelp, "\nCommands:\n")
	for _, c := range commands {
		fmt.Fprintf(a.stdout, "  %-12s%s\n", c.name, c.short)
	}
	a.printTopics()
	fmt.Fprint(a.stdout, `
TRACE is an id or the beginning of one, @last (the default), @prev, or a file.
"tracerag COMMAND --help" explains a command's flags.

Environment:
  TRACERAG_DIR            where traces are kept (default: .tracerag in the module's root)
  TRACERAG_MODEL          the model that ask asks; without one it prints the prompt
  OPENAI_BASE_URL         where the model is (default: OpenAI); see tracerag ask --help
  OPENAI_API_KEY          its key, or TRACERAG_API_KEY_FILE, a file that holds the key
  NO_COLOR                no colours

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 the prompt does not fit the model.
run: the program's own; 125 tracerag failed, 126 the program cannot be run or
recorded, 127 not found. compare: 0 equal, 1 different, 2 error.
`)
}

// usage reports a wrong command line.
func (a *app) usage(c *command, msg string) int {
	line, more, _ := strings.Cut(msg, "\n")
	fmt.Fprintf(a.messages(), "tracerag %s: %s\n", c.name, line)
	a.hint(more)
	a.hint("usage: tracerag " + strings.TrimSpace(c.name+" "+c.args) + "\ntracerag " + c.name + " --help explains the flags")
	if c.name == "run" {
		return exitRunFailed // 2 may be the program's
	}
	return exitUsage
}

// fail reports an error, with a hint where it has one.
func (a *app) fail(err error) int {
	if errors.Is(err, terminal.ErrLeft) {
		return exitOK // the reader knows
	}
	line, more, _ := strings.Cut(withWayOut(err), "\n")
	fmt.Fprintf(a.messages(), "tracerag: %s\n", line)
	a.hint(more)
	var big *prompt.OverWindowError
	var over *prompt.OverBudgetError
	if errors.As(err, &big) || errors.As(err, &over) || isA[*metered.TooLongError](err) {
		return exitTooLarge
	}
	return exitFailure
}

// hint prints the way out below an error, indented: text may be several lines or
// none.
func (a *app) hint(text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(a.messages(), "  %s\n", strings.TrimRight(line, " \n"))
	}
}

// note prints a message for the user, which --quiet silences; further lines of it
// are indented.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		a.complain(format, args...)
	}
}

// complain prints a message about something that went wrong, and did not end the
// command: --quiet does not silence it.
func (a *app) complain(format string, args ...any) {
	line, more, _ := strings.Cut(fmt.Sprintf(format, args...), "\n")
	fmt.Fprintf(a.messages(), "tracerag: %s\n", line)
	a.hint(more)
}

// store opens the directory of traces.
func (a *app) store() (*store.Store, error) {
	dir, err := store.Locate(a.dir, a.getenv("TRACERAG_DIR"), a.cwd)
	if err != nil {
		return nil, err
	}
	return a.openStore(dir)
}

// dirFlag is the --dir of this command line, for command lines shown to the user.
func (a *app) dirFlag() string {
	if a.dir == "" {
		return ""
	}
	return " --dir=" + phrase.Quote(a.dir)
}

// colors is what precedes colours on standard output, nil if it takes none.
func (a *app) colors() *string {
	if !a.color() {
		return nil
	}
	return &output.ColorMark
}

// color reports whether standard output takes colours.
func (a *app) color() bool {
	return a.onTerminal() && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"
}

// absolute is for messages and for processes that start elsewhere.
func (a *app) absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(a.cwd, path)
}
