package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

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
	spec := job.Spec{Dir: a.cwd}
	var k knowledgeFlags
	var m meteredFlags
	f.StringVar(&x.test, "test", "", "the `TEST` that fails: ./pkg:TestX, or ./pkg:TestX/name")
	f.BoolVar(&x.apply, "apply", false, "also change the files")
	f.StringVar(&x.candidate, "candidate", "", "judge the change in `FILE`, or on standard input (-), and ask no model")
	f.BoolVar(&x.resume, "resume", false, "continue the last repair")
	f.StringVar(&x.show, "show", "", "print what became of repair `ID`, or of the last one")
	f.Lookup("show").NoOptDefVal = lastRepair
	f.BoolVar(&spec.WeakTests, "allow-test-changes", false, "accept changes that weaken tests")
	f.StringArrayVar(&spec.Suite, "suite", nil, "run the tests of these `PACKAGES` in the end (default: ./... of each module); may be repeated")
	tags := f.String("tags", "", "build with these `TAGS`, separated by commas")
	f.BoolVar(&x.json, "json", false, "print candidates, verdicts and the change as JSON")
	x.limits.add(f)
	k.add(f)
	a.redactFlag(f)
	a.section(f, "The model")
	f.IntVar(&spec.Candidates, "candidates", repair.Default.Candidates, "ask for `N` changes, at rising temperatures")
	f.IntVar(&spec.Rounds, "rounds", repair.Default.Rounds, "if none is right, let the best be tried again up to `N` times")
	how := string(guided.Schematic)
	others := slices.DeleteFunc(guided.Names(), func(name string) bool { return name == how })
	addChoice(f, &how, "how", "how the model finds the places: `HOW` is as for locate --how", append([]string{how}, others...)...)
	m.add(f)
	m.addTranscript(f)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	spec.How = guided.How(how)
	if *tags != "" {
		spec.Flags = []string{"-tags=" + *tags}
	}
	if x.resume {
		for _, name := range []string{"test", "suite", "tags", "how", "candidates", "rounds", "allow-test-changes", "candidate"} {
			if f.Changed(name) {
				return a.usage(c, fmt.Sprintf("--resume continues the last repair as it was begun: leave out --%s", name))
			}
		}
	}
	switch {
	case f.Changed("show"):
		if f.NArg() > 0 {
			return a.usage(c, "--show takes no report: --show=ID names a repair")
		}
		return a.showRepair(&x)
	case x.resume && f.NArg() > 0:
		return a.usage(c, "--resume takes the report from the last repair")
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
	if spec.Candidates < 1 || spec.Rounds < 0 {
		return a.usage(c, "--candidates must be at least 1, and --rounds not negative")
	}
	if x.test != "" {
		i := strings.LastIndexByte(x.test, ':')
		if i <= 0 || i == len(x.test)-1 {
			return a.usage(c, fmt.Sprintf("--test=%s: want a package and a test, ./pkg:TestX", x.test))
		}
		spec.Package, spec.Test = x.test[:i], x.test[i+1:]
	}
	if f.NArg() == 1 {
		var err error
		if spec.Report, err = a.bugReport(f.Arg(0)); err != nil {
			return a.fail(err)
		}
	}
	ctx, stop := interruptible(ctx)
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
