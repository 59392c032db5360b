package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tracerag/eval"
	"tracerag/eval/report"
	"tracerag/eval/results"
	"tracerag/eval/trial"
	"tracerag/llm"
	"tracerag/llm/throttle"
	"tracerag/phrase"
	"tracerag/prompt"
	"tracerag/prompt/tokens"
	"tracerag/record"
	"tracerag/trace/store"
)

const evalHelp = `
eval experiment finds the best prompt for your program and model. It asks questions
with several prompt variants and models, and grades the answers. The tables and the
figure are those of Kamiya's paper.

  tracerag eval experiment --prompts-only tablecat.yaml     tables 8 and 9; asks no model
  tracerag eval experiment --max-cost 5 --model gpt-5-mini tablecat.yaml gojq.yaml

An experiment's FILE names a program, its runs, the questions, the true answers and
the grading criteria (docs/experiments.md). The program is built or installed, and
run: read a file that is not yours before you use it. The file cannot choose the
server: prompts are sent where tracerag ask sends them.

Traces, prompts, answers and grades are kept in --out. The same command, also with
more models or repetitions, continues an interrupted experiment and asks nothing
twice. Ctrl-C waits for the answers under way; a second Ctrl-C does not.

The tables are printed as Markdown. --out has them as Markdown and CSV, with the
figure.

tracerag eval locate FILE measures locate on your own reports: see
tracerag eval locate --help.

Exit code: 0 every question was answered, except for prompts too long for a model; 1
some were not; 2 wrong usage.`

// evalFlags are those of eval experiment.
type evalFlags struct {
	out                     string
	promptsOnly, dryRun     bool
	fresh, asJSON           bool
	models, inquiries       []string
	variants, tokenizers    []string
	repetitions, parallel   int
	rate, tokenRate         float64
	maxCost                 float64
	judge, sheet, gradeBy   string
	tree                    treeFlags
	recorder                record.Options
	model                   modelFlags
	windows                 string // --models: a table of context windows
	costGiven, repeatsGiven bool
}

func (e *evalFlags) add(a *app, f *pflag.FlagSet) {
	f.StringVar(&e.out, "out", "", "keep traces, prompts, answers and grades in `DIR` (default: experiments in the\ndirectory of traces)")
	f.BoolVar(&e.promptsOnly, "prompts-only", false, "make the prompts and print their sizes; ask no model")
	f.BoolVar(&e.dryRun, "dry-run", false, "print what would be asked and what it could cost; ask no model")
	f.BoolVar(&e.fresh, "fresh", false, "record the runs again, even if nothing has changed")
	f.BoolVar(&e.asJSON, "json", false, "print answers, grades and sizes as JSON instead of tables")
	f.StringArrayVar(&e.inquiries, "inquiry", nil, "only the inquiry with this `ID`; may be repeated")
	f.StringSliceVar(&e.variants, "variant", nil, "these `VARIANTS` instead of the file's, such as full,ordered@16k,rounds")
	f.StringSliceVar(&e.tokenizers, "tokenizer", nil, "count the prompts' tokens as for these `MODELS` (default: gpt-4o, and gpt-4 as in the\npaper)")
	a.section(f, "Asking")
	f.StringArrayVar(&e.models, "model", nil, "ask this `MODEL` instead of the file's; may be repeated")
	f.IntVar(&e.repetitions, "repetitions", 0, "ask everything `N` times, instead of as often as the file says")
	f.Float64Var(&e.maxCost, "max-cost", 0, "spend at most this many US `DOLLARS` at list prices, earlier runs included;\nrequired for models with a known price")
	f.Float64Var(&e.rate, "rate", 0, "ask at most `N` questions a minute")
	f.Float64Var(&e.tokenRate, "token-rate", 0, "send at most `N` tokens of prompts a minute")
	f.IntVar(&e.parallel, "parallel", 1, "ask `N` questions at a time")
	e.model.add(f)
	f.StringVar(&e.windows, "models", "", "context windows by model from `FILE`, before the built-in table")
	a.section(f, "Grading")
	f.StringVar(&e.judge, "judge", "", "let this `MODEL` grade the answers, too, by rubric and true answer")
	f.StringVar(&e.sheet, "sheet", "", "write a sheet for grading by a person into `FILE` (CSV), and read the grades in\nit, if it exists")
	addChoice(f, &e.gradeBy, "grader", "whose grades the tables show: `WHO` is auto, judge or human (default: who gave the\nmost; among equals human, then judge)", "", "auto", "judge", "human")
	a.section(f, "Recording")
	addRecorder(f, &e.recorder)
	a.section(f, "The prompt")
	a.redactFlag(f)
	e.tree.add(f)
}

// defaultTokenizers are models whose vocabularies are public: today's, and that of the
// paper's table 8.
var defaultTokenizers = []string{"gpt-4o", "gpt-4"}

func runEval(a *app, ctx context.Context, c *command, args []string) int {
	if len(args) > 0 && args[0] == "locate" {
		return evalLocate.run(a, ctx, evalLocate, args[1:])
	}
	f := a.flags(c, evalHelp)
	var e evalFlags
	e.add(a, f)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	e.costGiven, e.repeatsGiven = f.Changed("max-cost"), f.Changed("repetitions")
	switch {
	case f.NArg() == 0 || f.Arg(0) != "experiment":
		return a.usage(c, "missing subcommand: tracerag eval experiment FILE, or tracerag eval locate FILE")
	case f.NArg() == 1:
		return a.usage(c, "no experiment: tracerag eval experiment FILE")
	}
	if err := e.check(); err != nil {
		return a.usage(c, err.Error())
	}
	exps, err := e.load(f.Args()[1:])
	if err != nil {
		return a.fail(err)
	}
	return a.experiment(ctx, exps, &e)
}

func (e *evalFlags) check() error {
	switch {
	case e.repeatsGiven && (e.repetitions < 1 || e.repetitions > eval.MaxRepetitions):
		return fmt.Errorf("--repetitions=%d: want 1 to %d", e.repetitions, eval.MaxRepetitions)
	case e.parallel < 1:
		return fmt.Errorf("--parallel=%d: must be at least 1", e.parallel)
	case !(e.rate >= 0) || !(e.tokenRate >= 0): // as NaN is not
		return errors.New("--rate and --token-rate must be positive")
	case e.costGiven && !(e.maxCost > 0):
		return fmt.Errorf("--max-cost=%g: must be positive", e.maxCost)
	case e.gradeBy == "judge" && e.judge == "":
		return errors.New("--grader=judge: name the judge with --judge=MODEL")
	case e.gradeBy == "human" && e.sheet == "":
		return errors.New("--grader=human: name the sheet of marks with --sheet=FILE")
	case e.promptsOnly && (e.judge != "" || e.sheet != "" || e.dryRun):
		return errors.New("--prompts-only asks no model: leave --judge, --sheet and --dry-run out")
	}
	for i, m := range e.models {
		if strings.TrimSpace(m) == "" || slices.Contains(e.models[:i], m) {
			return fmt.Errorf("--model=%s is empty or repeated", m)
		}
	}
	if len(e.tokenizers) == 0 {
		e.tokenizers = defaultTokenizers
	}
	return checkRecorderFlags(&e.recorder)
}

// load reads the experiments and applies what the flags say otherwise.
func (e *evalFlags) load(files []string) ([]*eval.Experiment, error) {
	var known []string
	for _, v := range append(slices.Clone(prompt.Variants[1:]), prompt.Variants[0]) { // the paper's order, ours last
		known = append(known, string(v))
	}
	var exps []*eval.Experiment
	names := map[string]string{}
	found := map[string]bool{}
	for _, file := range files {
		x, err := eval.Load(file, known)
		if err != nil {
			return nil, err
		}
		if other, ok := names[x.Name]; ok {
			return nil, fmt.Errorf("%s and %s have the same name, %s: their results would be mixed", other, file, x.Name)
		}
		names[x.Name] = file
		if len(e.variants) > 0 {
			if err := x.SetVariants(e.variants, known); err != nil {
				return nil, fmt.Errorf("--variant: %w", err)
			}
		}
		if e.repetitions > 0 {
			x.Repetitions = e.repetitions
		}
		if len(e.inquiries) > 0 {
			x.Inquiries = slices.DeleteFunc(x.Inquiries, func(i eval.Inquiry) bool {
				found[i.ID] = true
				return !slices.Contains(e.inquiries, i.ID)
			})
		}
		if len(x.Inquiries) > 0 {
			exps = append(exps, x)
		}
	}
	for _, id := range e.inquiries {
		if !found[id] {
			return nil, fmt.Errorf("--inquiry=%s: unknown inquiry", id)
		}
	}
	return exps, nil
}

// experiment carries experiments out.
func (a *app) experiment(ctx context.Context, exps []*eval.Experiment, e *evalFlags) int {
	began := time.Now()
	out := e.out
	if out == "" {
		s, err := a.store()
		if err != nil {
			return a.fail(err)
		}
		out = filepath.Join(s.Dir(), "experiments")
	}
	out = a.absolute(out)
	dir, err := results.Open(out, func() { a.note("another tracerag works in %s: waiting for it", out) })
	if err != nil {
		return a.fail(err)
	}
	defer dir.Close()
	s, err := a.openStore(dir.Traces())
	if err != nil {
		return a.fail(err)
	}
	runs, err := a.trialRuns(dir, s, e)
	if err != nil {
		return a.fail(err)
	}
	bar := a.progress("making prompts")
	maker := trial.Maker{Dir: dir, Session: runs.Session, Tree: e.tree.options(), Tokenizers: e.tokenizers, Progress: bar.Set, Note: a.warn}
	var trials []*trial.Trial
	made := 0
	for _, x := range exps {
		t := &trial.Trial{Experiment: x}
		recording, stop := signal.NotifyContext(ctx, os.Interrupt)
		traces, err := runs.Record(recording, x)
		if err != nil && recording.Err() != nil {
			err = throttle.ErrInterrupted // and not how the go command or the program took it
		}
		stop()
		if err == nil {
			err = maker.Make(t, traces)
			bar.Close()
		}
		if e, ok := errors.AsType[*trial.BaselineFailedError](err); ok {
			err = fmt.Errorf("%w\n%s", err, a.baselineFailure(e.Failed))
		}
		if err != nil {
			return a.fail(fmt.Errorf("%s: %w", x.Path, err))
		}
		trials = append(trials, t)
		made += t.Prompts()
	}
	a.noteMasked()
	a.note("%s made in %s: %s", phrase.Plural(made, "prompt", "prompts"), phrase.Duration(time.Since(began)), dir.Path("prompts"))
	in := trial.Sizes(trials, e.tokenizers)
	if e.promptsOnly { // sizes.md is beside a report with scores of an earlier run
		if err := a.reportTrials(dir, "sizes.md", in, e); err != nil {
			return a.fail(err)
		}
		return exitOK
	}
	open, err := a.askTrials(ctx, trials, dir, &in, e)
	switch {
	case err != nil:
		return a.fail(err)
	case e.dryRun:
		return exitOK
	}
	if err := a.reportTrials(dir, "report.md", in, e); err != nil {
		return a.fail(err)
	}
	if open > 0 {
		return exitFailure
	}
	return exitOK
}

// trialRuns returns what records the runs of experiments, if their traces can be saved.
func (a *app) trialRuns(dir *results.Dir, s *store.Store, e *evalFlags) (*trial.Runs, error) {
	if no, ok := errors.AsType[*store.UnwritableError](s.Check()); ok {
		return nil, fmt.Errorf("traces cannot be saved in %s: %w: choose another directory with --out", no.Dir, no.Err)
	}
	self, err := innerCommand()
	if err != nil {
		return nil, err
	}
	quiet, err := json.Marshal(passed{Quiet: true})
	if err != nil {
		return nil, err
	}
	return &trial.Runs{
		Dir: dir, Session: a.session(s), Spec: record.Spec{Recorder: e.recorder, Caller: quiet}, Self: self, Version: version(), Fresh: e.fresh,
		Begun: func(s trial.Step) func() {
			if s.Note != "" {
				a.note("%s", s.Note)
			}
			return a.wait(s.What)
		},
	}, nil
}

// askTrials asks what has no answer yet, and adds all answers with their marks to the
// report. It returns how many questions are still open.
func (a *app) askTrials(ctx context.Context, trials []*trial.Trial, dir *results.Dir, in *report.Input, e *evalFlags) (open int, err error) {
	o := trial.Options{
		Dir: dir, Trials: trials, Models: e.models, Default: cmp.Or(a.getenv("TRACERAG_MODEL"), a.getenv("OPENAI_MODEL")), Judge: e.judge,
		Temperature: e.model.temperature, DryRun: e.dryRun,
		Limits: throttle.Limits{Parallel: e.parallel, PerMinute: e.rate, TokensPerMinute: e.tokenRate, MaxCost: e.maxCost},
		Config: func(model string) (llm.Config, error) { return a.modelConfig(&e.model, model) },
		Mask:   a.masker().Clean,
		Note:   a.warn, Complain: func(err error) { a.complain("%s", withWayOut(err)) },
		Progress: func(what string) (func(done, all int), func()) {
			bar := a.progress(what)
			return bar.Set, bar.Close
		},
	}
	if e.windows != "" {
		if o.Contexts, err = tokens.LoadModels(e.windows); err != nil {
			return 0, err
		}
	}
	x, err := trial.NewExaminer(o)
	if err != nil {
		return 0, err
	}
	if open, err = x.Ask(ctx); err != nil || e.dryRun {
		return 0, err
	}
	if open > 0 {
		a.complain("%s still open: the same command again goes on with what is left", phrase.Plural(open, "question is", "questions are"))
	}
	if e.sheet != "" {
		e.sheet = a.absolute(e.sheet)
	}
	return open, x.Grade(in, e.sheet)
}

// reportTrials saves and prints the tables.
func (a *app) reportTrials(dir *results.Dir, name string, in report.Input, e *evalFlags) error {
	in.Grader = map[string]string{"": "", "auto": eval.AutoGrader, "judge": eval.JudgePrefix + e.judge, "human": eval.HumanGrader}[e.gradeBy]
	figures, err := trial.Save(dir, name, in)
	if err != nil {
		return err
	}
	for _, f := range figures {
		a.note("figure: %s", f)
	}
	a.note("tables: %s", dir.Path("tables"))
	if e.asJSON {
		return a.printJSON(trial.JSON(in))
	}
	a.paginate()
	return report.WriteMarkdown(a.stdout, in)
}
