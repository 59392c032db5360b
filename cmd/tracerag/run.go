package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/pflag"

	"tracerag/atomicfile"
	"tracerag/calltree"
	"tracerag/phrase"
	"tracerag/prompt"
	"tracerag/record"
	"tracerag/session"
	"tracerag/source"
	"tracerag/trace"
	"tracerag/trace/gocmd"
	"tracerag/trace/store"
)

const runHelp = `
run runs a compiled Go program and records its calls. The program keeps standard
input, output and error, the terminal, its signals and its exit code. It needs no
rebuild, no symbols and no privileges; on linux/amd64 it runs at nearly full speed.

  tracerag run -- ./app --csv data.csv
  tracerag run --baseline=--version -- ./app --csv data.csv    without what every start does
  tracerag run --values -- ./app --csv data.csv                arguments and results, too
  tracerag run --children -- ./app --csv data.csv              the programs that it starts, too
  tracerag run -q "which function draws the border?" -- ./app --csv data.csv
  tracerag run -- go run ./cmd/app --csv data.csv
  tracerag run -- go test -run Border ./table
  tracerag run -- ./cmd/app --csv data.csv                     a package; exits as its program does
  tracerag run --each -- go test ./...                         a trace for each test

The last four are built without inlining outside the standard library (-gcflags,
added to yours), so that every call in the source is counted. Otherwise the go command
builds and runs them as usual. The exit code is the go command's: go run ends with 1
when the program fails.

go test makes a trace for each package. --each makes a trace for each test, example,
fuzz target (with its seeds) and, with -bench, benchmark. The program is built once
and started for each of them; a run without any test (TestMain) is their baseline. A
trace is named after its test: tracerag tree TestFit.

--include and --exclude take the go command's patterns: ./..., github.com/x/...,
std, all, main. By default everything outside the standard library is recorded.

Exit code: the program's or the go command's own, 128 and the number of the signal
that ended it; 125 tracerag failed, 126 the program cannot be built, run or
recorded, 127 program not found.`

func runRun(a *app, ctx context.Context, c *command, args []string) int {
	f := a.flags(c, runHelp)
	f.SetInterspersed(false) // the program's own flags are not ours
	var spec record.Spec
	var w runFlags
	a.section(f, "Recording")
	addPackages(f, &spec)
	f.StringVar(&spec.Baseline, "baseline", "", "leave out of the tree what another run does: a `TRACE`, or arguments to run\nthe same program with first, such as --baseline=--version")
	addValues(f, &spec.Values)
	addRecorder(f, &spec.Recorder)
	f.DurationVar(&spec.Limit, "time-limit", 0, "kill the program after this `TIME`, building included; what ran until then is saved")
	f.StringVar(&w.idFile, "id-file", "", "write the ids of the saved traces to `FILE`, one a line")
	f.BoolVar(&w.window, "window", false, "record only between tracerag window start and stop (see tracerag help window)")
	f.BoolVar(&spec.Children, "children", false, "also record the Go programs that the program starts, and those that these start")
	f.IntVar(&spec.Each, "each", 0, "record every test of go test in a run of its own, `N` at a time")
	f.Lookup("each").NoOptDefVal = "1"
	inner := f.String("inner", "", "") // see runInner
	_ = f.MarkHidden("inner")
	a.section(f, "The answer")
	f.StringVarP(&w.question, "ask", "q", "", "ask this `QUESTION` about the run at once")
	f.BoolVar(&w.toClipboard, "copy", false, "with -q and without a model: copy the prompt to the clipboard")
	w.prompt.addModel(f)
	w.model.add(f)
	a.section(f, "The call tree")
	w.tree.add(f)
	a.section(f, "The prompt")
	w.prompt.add(f)
	a.redactFlag(f)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	if *inner != "" {
		return a.runInner(ctx, *inner, f.Args())
	}
	if f.NArg() == 0 {
		return a.usage(c, "no program: tracerag run -- ./app --csv data.csv")
	}
	spec.Command, spec.Dir = f.Args(), a.cwd
	if err := w.check(f, &spec); err != nil {
		return a.usage(c, err.Error())
	}
	s, err := a.store()
	if err == nil {
		err = a.tryTemplate(&w.prompt)
	}
	if err == nil && w.idFile != "" {
		err = idFileError(atomicfile.Check(w.idFile))
	}
	if err != nil {
		a.fail(err)
		return exitRunFailed
	}
	g, err := gocmd.Find(ctx, spec.Command, a.cwd)
	if err != nil {
		a.fail(err)
		return exitRunCannot
	}
	if g != nil {
		spec.Window = w.window
		if err := w.checkGo(g, &spec); err != nil {
			return a.usage(c, err.Error())
		}
	}
	by, err := a.chooses(&w.tree, &w.prompt, w.question)
	var r *record.Runner
	if err == nil {
		r, err = a.runner(s, spec, by)
	}
	if err != nil {
		a.fail(err)
		return exitRunFailed
	}
	if w.window && g == nil {
		return a.runWindows(ctx, r)
	}
	if w.question != "" {
		a.loadVocabulary(&w.prompt)
	}
	done := func() {}
	if g != nil && spec.Each > 0 {
		done = a.wait("recording tests")
		if line := a.waiting; line != nil { // what the go command prints takes its place
			r.Stdout, r.Stderr = line.Breaker(r.Stdout), line.Breaker(r.Stderr)
		}
	}
	out, err := runSpec(ctx, r, g)
	done()
	if spec.Each > 0 {
		a.nextOfTests(&out, err)
	}
	if err == nil && spec.Each == 0 {
		err = errors.Join(w.writeIDs(out.runs), a.finishAll(ctx, s, &out, &w))
	} else if err != nil && (g != nil || len(out.runs) == 0) {
		out.code = recordCode(err)
	}
	if err != nil {
		a.fail(err)
		if out.code == exitOK {
			return exitRunFailed
		}
	}
	return out.code
}

// runFlags are those of run that are not for the recording.
type runFlags struct {
	idFile      string // takes the ids of the saved traces; "": none
	window      bool
	question    string
	toClipboard bool
	tree        treeFlags
	prompt      promptFlags
	model       modelFlags
}

// check finds flags that contradict each other.
func (w *runFlags) check(f *pflag.FlagSet, spec *record.Spec) error {
	switch {
	case f.Changed("each") && spec.Each == 0:
		return errors.New("--each=0: --each must be at least 1")
	case f.Changed("values") && (len(spec.Values.Patterns) == 0 || slices.Contains(spec.Values.Patterns, "")):
		return errors.New("--values= names no function: give names, own or all")
	case w.window && (spec.Baseline != "" || w.question != ""):
		return errWindowAlone
	case w.window && spec.Recorder.Name == record.Breakpoint:
		return errors.New("windows need the probe: leave --recorder out")
	case spec.Children && (w.window || spec.Recorder.Name == record.Breakpoint || spec.Recorder.Name == record.Rebuild):
		return errors.New("--children needs the probe and a whole run: leave --recorder and --window out")
	case spec.Each < 0 || spec.Each > 0 && (w.window || w.question != ""):
		return errors.New("--each makes a trace of every test: leave --window and -q out, and ask about the traces afterwards")
	case (spec.Each > 0 || w.window) && (spec.Limit != 0 || w.idFile != ""):
		return errors.New("--time-limit and --id-file need a whole run: leave --each and --window out")
	case spec.Limit < 0:
		return fmt.Errorf("--time-limit=%s: must be positive", spec.Limit)
	}
	return cmp.Or(checkRecorderFlags(&spec.Recorder), checkValues(&spec.Values))
}

var errWindowAlone = errors.New("--window needs one program, and no question: leave tests, --baseline and -q out, and ask about its windows afterwards")

// checkGo finds flags that a go command contradicts.
func (w *runFlags) checkGo(g *gocmd.Command, spec *record.Spec) error {
	switch {
	case w.window && g.Verb == "test":
		return errWindowAlone
	case spec.Each > 0:
		return g.Each()
	}
	return nil
}

// tryTemplate finds what is wrong with a template before the program has run for
// nothing.
func (a *app) tryTemplate(p *promptFlags) error {
	o, err := a.promptOptions(p)
	if err != nil || o.Template == "" {
		return err
	}
	nothing := prompt.Input{Runs: []prompt.Run{{Tree: &calltree.Tree{}}}, Source: func(trace.Function) source.Text { return source.Text{} }}
	_, err = prompt.Build(nothing, o)
	return err
}

// writeIDs writes the file that --id-file asks for. It is empty if nothing was recorded.
// A trace that had to be saved elsewhere has its file's path there.
func (w *runFlags) writeIDs(runs []*record.Recording) error {
	if w.idFile == "" {
		return nil
	}
	return idFileError(atomicfile.Write(w.idFile, func(to io.Writer) error {
		for _, rec := range runs {
			if _, err := fmt.Fprintln(to, rec.Name); err != nil {
				return err
			}
		}
		return nil
	}))
}

func idFileError(err error) error {
	if err != nil {
		return fmt.Errorf("--id-file: %w", err)
	}
	return nil
}

// nextOfTests says what to do with the traces of tests: a failed test is what one asks
// about.
func (a *app) nextOfTests(out *recorded, err error) {
	if len(out.tests) == 0 {
		if out.goCmd != nil && out.code == exitOK && err == nil {
			a.note("go %s ran no test: nothing is recorded", out.goCmd.Verb)
		}
		return
	}
	if err != nil && out.goCmd == nil {
		return
	}
	r := out.tests[max(0, slices.IndexFunc(out.tests, func(r record.TestRun) bool { return r.Failed }))]
	a.note("Next:\ntracerag tree%[1]s %[2]s\ntracerag ask%[1]s %[2]s \"your question\"", a.dirFlag(), phrase.Quote(r.Trace))
}

// finishAll says what was recorded, and asks the question if there is one.
func (a *app) finishAll(ctx context.Context, s *store.Store, out *recorded, w *runFlags) error {
	switch len(out.runs) {
	case 0:
		if out.code == exitOK {
			a.note("go %s ran no program: nothing is recorded", out.goCmd.Verb)
		}
		return nil
	case 1:
		return a.finish(ctx, s, out.runs[0], &w.tree, &w.prompt, &w.model, w.question, w.toClipboard)
	}
	for _, rec := range out.runs {
		a.note("trace %s: %s, %s (%s)", phrase.Quote(rec.Name), rec.Trace.Program.MainPath, callsOfFunctions(rec.Trace.Calls(), len(rec.Trace.Functions)), rec.Trace.Exit)
	}
	first := phrase.Quote(out.runs[0].Name)
	if w.question != "" {
		return fmt.Errorf("go %s ran %d programs, and a question is about one run\ntracerag ask%s %s %s", out.goCmd.Verb, len(out.runs), a.dirFlag(), first, phrase.Quote(w.question))
	}
	a.note("Next:\ntracerag tree%s %s", a.dirFlag(), first)
	return nil
}

// finish says what was recorded, and asks the question if there is one.
func (a *app) finish(ctx context.Context, s *store.Store, rec *record.Recording, t *treeFlags, p *promptFlags, m *modelFlags, question string, toClipboard bool) error {
	tr, look := rec.Trace, a.session(s)
	v := &session.View{Trace: tr, Entry: rec.Entry} // not masked: nothing but figures is shown
	if !t.alone {
		v.Trace, _ = look.Join(tr, rec.Entry)
	}
	if err := look.Look([]*session.View{v}, t.options()); err != nil {
		a.note("recorded as trace %s", rec.Entry.ID)
		return err
	}
	floor := ""
	for _, l := range tr.Losses {
		if l.Kind == trace.LossFloor || l.Kind == trace.LossOverflow {
			floor = "at least "
		}
	}
	a.note("recorded %s%s of %s in %s (%s, %s)\n%s", floor, phrase.Plural(tr.Calls(), "call", "calls"), phrase.Plural(len(tr.Functions), "function", "functions"),
		phrase.Plural(tr.Goroutines, "goroutine", "goroutines"), tr.Exit, phrase.Duration(tr.Duration), lossWayOut(tr))
	a.processesNote(tr)
	switch {
	case v.Base != "":
		a.note("call tree: %s, %s after pruning by %s", phrase.Plural(v.Whole, "node", "nodes"), phrase.Number(v.Whole-v.Pruned), v.Base)
	case rec.Tests:
		a.note("call tree: %s", phrase.Plural(v.Whole, "node", "nodes"))
	default:
		a.note("call tree: %s (%s)", phrase.Plural(v.Whole, "node", "nodes"), a.startHint(s, tr))
	}
	if empty := v.Empty(); empty != nil {
		if question != "" {
			return empty // there is nothing to ask about
		}
		a.note("%s", withWayOut(empty))
		return nil
	}
	if question != "" {
		a.note("trace: %s", phrase.Quote(rec.Name))
		q := &inquiry{names: []string{rec.Name}, question: question, copy: toClipboard, tree: t, prompt: p, model: m}
		return a.ask(ctx, s, q)
	}
	name, which := phrase.Quote(rec.Name), ""
	if name != rec.Entry.ID {
		which = " " + name // @last is another one
	}
	a.note("trace: %s. Next:", name)
	if !a.quiet {
		a.hint(fmt.Sprintf("tracerag tree%[1]s%[2]s\ntracerag ask%[1]s%[2]s \"your question\"\ntracerag prompt%[1]s --copy%[2]s \"your question\"", a.dirFlag(), which))
	}
	return nil
}

// startHint says how to have less in the tree of a run without a baseline.
func (a *app) startHint(s *store.Store, tr *trace.Trace) string {
	if a.quiet {
		return ""
	}
	if words := record.KnownStart(s, tr); words != nil {
		return fmt.Sprintf("%s would leave out what every start does", phrase.Quote("--baseline="+phrase.CommandLine(words)))
	}
	return "to leave out what every start does: --baseline=ARGS, arguments with which it does nothing else"
}
