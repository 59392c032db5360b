package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"tracerag/output"
	"tracerag/prompt"
	"tracerag/record"
	"tracerag/session"
	"tracerag/trace"
	"tracerag/trace/gocmd"
	"tracerag/trace/store"
)

// Commands that record fill in a record.Spec. What package record does meanwhile is
// printed by recordEvent (events.go). tracerag run --inner DIR is the same command in a
// process of its own, which finds its Spec in DIR.

// passed is what this command needs of its command line in a process that records for
// it: Spec.Caller.
type passed struct {
	Quiet    bool   `json:"quiet"`
	NoRedact bool   `json:"no_redact"`
	DirFlag  string `json:"dir_flag"` // --dir, for command lines shown to the user
	chooses
}

// chooses is what decides which functions the values are observed of.
type chooses struct {
	Tree     session.TreeOptions `json:"tree"`
	Prompt   *prompt.Options     `json:"prompt"` // nil: without a budget
	Models   string              `json:"models"` // the file with the models of Prompt
	Question string              `json:"question"`
}

// innerCommand is the command line of a process that records for this one, but for a
// directory.
func innerCommand() ([]string, error) {
	exe, err := os.Executable()
	return []string{exe, "run", "--inner"}, err
}

// runner returns what records a Spec.
func (a *app) runner(s *store.Store, spec record.Spec, c chooses) (*record.Runner, error) {
	self, err := innerCommand()
	if err != nil {
		return nil, err
	}
	spec.Store = s.Dir()
	spec.Begin()
	p := passed{a.quiet, a.noRedact, a.dir, c}
	if c.Prompt != nil {
		o := *c.Prompt
		o.Counter = nil // a function; Models leads to it again
		p.Prompt = &o
	}
	if spec.Caller, err = json.Marshal(p); err != nil {
		return nil, err
	}
	r := &record.Runner{
		Spec: spec, Store: s, Self: self, Tool: []string{self[0], toolArg}, Keeper: []string{self[0], keeperArg}, Stdin: a.stdin, Stdout: a.programOut, Stderr: a.programErr,
		Events: a.recordEvents(),
		Choose: func(tr *trace.Trace) ([]string, error) { return a.valueFunctions(s, tr, spec.Values.Patterns, c) },
	}
	if m := a.masker(); m != nil {
		r.Hide = func(tr *trace.Trace) (record.Hider, error) { return m.Hide(tr) }
	}
	return r, nil
}

// chooses is what the flags say of the functions whose values are observed.
func (a *app) chooses(t *treeFlags, p *promptFlags, question string) (c chooses, err error) {
	c = chooses{Tree: t.options(), Models: p.models, Question: question}
	if p.budget == "" {
		return c, nil
	}
	o, err := a.promptOptions(p)
	c.Prompt = &o
	return c, err
}

// valueFunctions are those of a run that patterns mean.
func (a *app) valueFunctions(s *store.Store, tr *trace.Trace, patterns []string, c chooses) ([]string, error) {
	// Nothing of it is shown: nothing is masked.
	look := session.Session{Store: s, Warn: a.warnOfValues}
	return look.ValueFunctions(tr, c.Tree, patterns, c.Prompt, c.Question)
}

// warnOfValues says also with --quiet which names have no values.
func (a *app) warnOfValues(err error) {
	if _, ok := errors.AsType[*session.NotCalledError](err); ok {
		a.complain("%s", withWayOut(err))
	} else {
		a.note("%s", withWayOut(err))
	}
}

// recorded is what became of a command that was recorded.
type recorded struct {
	code  int // exit code of tracerag run, unless there is an error
	runs  []*record.Recording
	tests []record.TestRun // in place of runs
	goCmd *gocmd.Command   // that was run; nil: a program was
}

// runSpec runs a program or a go command. What was recorded is returned also with an error.
func runSpec(ctx context.Context, r *record.Runner, g *gocmd.Command) (out recorded, err error) {
	out.goCmd = g
	switch {
	case g != nil:
		var res *record.GoResult
		if res, err = r.Go(ctx, g); res != nil {
			out.code, out.runs, out.tests = res.Code, res.Recordings, res.Tests
			if res.NotBuilt {
				out.code = exitRunCannot
			}
		}
	case r.Spec.Each > 0:
		out.tests, err = r.Each(ctx)
		out.code = record.TestsCode(out.tests)
	default:
		var rec *record.Recording
		if rec, err = r.Run(ctx); rec != nil {
			out.code, out.runs = rec.Trace.Exit.Code, []*record.Recording{rec}
		}
	}
	return out, err
}

// recordCode is the exit code of an error: of tracerag's own, or of a program that
// could not be run.
func recordCode(err error) int {
	var cannot *record.CannotRunError
	switch {
	case errors.Is(err, record.ErrInterrupted):
		return exitInterrupted
	case !errors.As(err, &cannot):
		return exitRunFailed
	case cannot.Missing:
		return exitRunNotFound
	}
	return exitRunCannot
}

// runInner is tracerag run for another tracerag: args are a program that the go command
// has built, and its arguments, or none.
func (a *app) runInner(ctx context.Context, dir string, args []string) int {
	j, err := record.OpenJob(dir)
	if err != nil {
		a.fail(err)
		return exitRunFailed
	}
	if log := j.Log(); log != nil {
		a.stderr = output.New(log, output.Text, a.knownSecrets)
	}
	code := exitOK
	if err = a.runJob(ctx, j, args, &code); err != nil {
		a.fail(err)
		if code == exitOK {
			code = recordCode(err)
		}
	}
	a.flush()
	code, end := j.End(code, err != nil)
	if end != nil {
		a.fail(end)
		return exitRunFailed
	}
	return code
}

func (a *app) runJob(ctx context.Context, j *record.Job, args []string, code *int) error {
	var p passed
	if err := json.Unmarshal(j.Spec.Caller, &p); err != nil {
		return err
	}
	// Names of files are those of the directory in which the command was typed.
	if err := os.Chdir(j.Spec.Dir); err != nil {
		return err
	}
	if p.Prompt != nil {
		if err := p.Prompt.UseModels(p.Models); err != nil {
			return err
		}
	}
	a.cwd, a.quiet, a.noRedact, a.dir = j.Spec.Dir, p.Quiet, p.NoRedact, p.DirFlag
	a.args = append(append(a.args, j.Spec.Command...), "--baseline="+j.Spec.Baseline)
	s, err := a.openStore(j.Spec.Store)
	if err != nil {
		return err
	}
	r, err := a.runner(s, j.Spec, p.chooses)
	if err != nil {
		return err
	}
	say := r.Events
	r.Events = func(e record.Event) { j.Note(e); say(e) }
	if j.Built() {
		return j.Run(ctx, r, args)
	}
	g, err := gocmd.Find(ctx, j.Spec.Command, a.cwd)
	if err != nil {
		return &record.CannotRunError{Program: j.Spec.Command[0], Err: err}
	}
	out, err := runSpec(ctx, r, g)
	if *code = out.code; err == nil {
		j.Saved(out.runs...)
	}
	return err
}
