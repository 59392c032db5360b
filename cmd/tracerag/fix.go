package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"tracerag/locate/guided"
	"tracerag/repair"
	"tracerag/repair/job"
)

const fixHelp = `
fix changes code until a failing test passes and no other test fails. It prints the change as a
unified diff, and the evidence on standard error. Your files stay as they are.

  tracerag fix --test ./table:TestBorder "the border is cut"
  tracerag fix --test ./table:TestBorder --apply - < report.txt
  tracerag fix "the border is cut"                       a test is written from the report first
  tracerag fix --test ./table:TestBorder --candidate change.diff

The test is recorded in a copy of the tree. A model says where the cause is and writes several
changes of whole declarations. Each is built, vetted and tested in a copy, in a sandbox
(docs/sandbox.md), without network and without your keys. If none is right, the best one gets a
second try. Tests may be added, not changed.

Without a model, fix prints the question that it would ask; --candidate judges somebody's answer:
a diff, or files with whole declarations. No model is asked for that.

What was done is kept, and the same command goes on from there: nothing is asked or judged twice.
--resume continues the last one, --show prints what became of it.

Exit code: 0 a change was accepted; 1 none was; 2 wrong usage; 3 a question does not fit the
model's window; 130 interrupted.`

func runFix(a *app, ctx context.Context, c *command, args []string) int {
	f := a.flags(c, fixHelp)
	var x fixFlags
	var k knowledgeFlags
	var m meteredFlags
	f.StringVar(&x.test, "test", "", "the `TEST` that fails: ./pkg:TestX, or ./pkg:TestX/name")
	f.BoolVar(&x.apply, "apply", false, "also change the files")
	f.StringVar(&x.candidate, "candidate", "", "judge the change in `FILE`, or on standard input (-), and ask no model")
	f.BoolVar(&x.resume, "resume", false, "continue the last repair")
	f.StringVar(&x.show, "show", "", "print what became of repair `ID`, or of the last one")
	f.Lookup("show").NoOptDefVal = lastRepair
	f.BoolVar(&x.tests, "allow-test-changes", false, "accept changes that weaken tests")
	f.StringArrayVar(&x.suite, "suite", nil, "run the tests of these `PACKAGES` in the end (default: ./... of each module); may be repeated")
	f.StringSliceVar(&x.buildFlags, "tags", nil, "build with these `TAGS`")
	f.BoolVar(&x.json, "json", false, "print candidates, verdicts and the change as JSON")
	x.limits.add(f)
	k.add(f)
	a.redactFlag(f)
	a.section(f, "The model")
	f.IntVar(&x.o.Candidates, "candidates", repair.Default.Candidates, "ask for `N` changes, at rising temperatures")
	f.IntVar(&x.o.Rounds, "rounds", repair.Default.Rounds, "if none is right, let the best be tried again up to `N` times")
	addChoice(f, &x.how, "how", "how the model finds the places: `HOW` is as for locate --how", append([]string{string(guided.Schematic)}, others(guided.Names(), string(guided.Schematic))...)...)
	m.add(f)
	f.StringVar(&x.transcript, "transcript", "", "write questions and answers into `FILE`, a line of JSON each")
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	spec := job.Spec{Dir: a.cwd}
	switch {
	case f.Changed("show"):
		if f.NArg() > 0 {
			return a.usage(c, "--show takes no report: --show=ID names a repair")
		}
		return a.showRepair(&x)
	case x.resume && (f.NArg() > 0 || x.test != ""):
		return a.usage(c, "--resume takes report and test from the last repair")
	case x.resume:
	case f.NArg() > 1:
		return a.usage(c, "want one report: put it in quotes, or - for standard input")
	case f.NArg() == 0 && x.candidate == "" && x.test == "":
		return a.usage(c, "want a report, or --test: what is to be repaired?")
	case x.candidate == "-" && f.Arg(0) == "-":
		return a.usage(c, "standard input can't be both the report and the change")
	}
	if err := m.check(); err != nil {
		return a.usage(c, err.Error())
	}
	if err := x.limits.check(); err != nil {
		return a.usage(c, err.Error())
	}
	if x.o.Candidates < 1 || x.o.Rounds < 0 {
		return a.usage(c, "--candidates must be at least 1, and --rounds not negative")
	}
	if x.o.Rounds == 0 {
		x.o.Rounds = -1
	}
	if x.test != "" {
		i := strings.LastIndexByte(x.test, ':')
		if i < 0 {
			return a.usage(c, fmt.Sprintf("--test=%s: want a package and a test, ./pkg:TestX", x.test))
		}
		spec.Package, spec.Test = x.test[:i], x.test[i+1:]
	}
	if f.NArg() == 1 {
		spec.Report = f.Arg(0)
		if spec.Report == "-" {
			data, err := io.ReadAll(a.stdin)
			if err != nil {
				return a.fail(fmt.Errorf("reading the report: %w", err))
			}
			spec.Report = string(data)
		}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C waits for nothing
	defer stop()
	r := &repairing{app: a, fixFlags: &x, knowledge: &k, model: &m, spec: spec}
	code, err := r.run(ctx)
	if err != nil && ctx.Err() != nil {
		a.complain("interrupted: what was done is kept; tracerag fix --resume goes on from there")
		return exitInterrupted
	}
	if err != nil {
		return a.fail(err)
	}
	return code
}
