package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"tracerag/phrase"
	"tracerag/record"
	"tracerag/terminal"
)

// recordEvents returns what prints the events of a recording. Those that say that
// something went wrong are printed also with --quiet.
func (a *app) recordEvents() func(record.Event) {
	prepared := func() {}
	bar := a.progress("setting breakpoints")
	return func(e record.Event) {
		switch e := e.(type) {
		case record.Preparing:
			prepared()
			if prepared = func() {}; !e.Done {
				prepared = a.wait("preparing " + phrase.Quote(e.Program))
			}
		case record.SettingBreakpoints:
			if e.Ended {
				bar.Close()
			} else {
				bar.Set(e.Done, e.Total)
			}
		case record.FallsBack:
			a.note("recording by breakpoints, which is slow and counts only the first calls: the probe can't handle %s: %v", e.Program, e.Why)
			if e.Rebuild {
				a.hint("give the package or the go command in place of the program, and every call is recorded: tracerag run --recorder=rebuild -- go run ./cmd/app")
			}
		case record.BuildsAgain:
			a.note("building %s again, with the recorder in it: the probe can't handle it: %v", e.Subject, e.Why)
		case record.NotRebuilt:
			if e.Asked {
				a.note("recording %s as without --recorder: %v", e.Subject, e.Why)
			} else {
				a.note("recording %s without compiling the recorder in: %v", e.Subject, e.Why)
			}
		case record.NotFollowed:
			a.complain("%s is recorded without the programs that it starts: %v", phrase.Quote(e.Program), e.Why)
		case record.Remark:
			a.note("%s", e.Text)
		case record.SavedElsewhere:
			a.complain("the trace cannot be saved in %s: %v\nit was saved as %s instead. To take it into a store:\ntracerag import%s %s", e.Dir, e.Err, e.Path, a.dirFlag(), phrase.Quote(e.Path))
		case record.BuildsStandard:
			a.note("compiling the standard library of %s with the recorder in it: once for each release, a minute or two", cmp.Or(e.Release, "Go"))
		case record.Builds:
			if terminal.Is(a.stderr) {
				a.note("building %s without inlining", e.Subject)
			}
		case record.Said:
			_, _ = io.WriteString(a.stderr, e.Text)
		case record.TestsProgress:
			if a.waiting != nil {
				a.waiting.Say(fmt.Sprintf("recording tests: %d of %d", e.Done, e.Of))
			}
		case record.TestRecorded:
			result := "ok  "
			if e.Trace.Exit.Failed() {
				result = "FAIL"
			}
			a.note("%s  %s  %s  %s (%s, %s)", phrase.Quote(a.masker().Text(e.Name)), result, a.masker().Text(e.Trace.Test.Name), callsOfFunctions(e.Trace.Calls(), len(e.Trace.Functions)), e.Trace.Exit, phrase.Duration(e.Trace.Duration))
		case record.PackageRecorded:
			a.note("%s: %s recorded, %d failed (baseline: %s)", a.masker().Text(e.Package), phrase.Plural(e.Tests, "test", "tests"), e.Failed, cmp.Or(e.Baseline, "none"))
		default:
			a.baselineEvent(e)
			a.valuesEvent(e)
			a.windowEvent(e)
		}
	}
}

func callsOfFunctions(calls int64, functions int) string {
	return phrase.Plural(calls, "call", "calls") + " of " + phrase.Plural(functions, "function", "functions")
}

func (a *app) baselineEvent(e record.Event) {
	switch e := e.(type) {
	case record.BaselineStarts:
		a.note("baseline: running %s", phrase.CommandLine(e.Command))
	case record.BaselineOfOther:
		a.note("baseline: trace %s is a run of another program (%s, this is %s): only common calls are pruned", e.ID, e.Of, e.This)
	case record.BaselineFailed:
		a.complain("baseline: %s: the tree is not pruned by it\ngive --baseline arguments that only start the program; to prune by this run anyway, name its trace:\n--baseline=%s", a.baselineFailure(e), e.ID)
	}
}

// baselineFailure says which baseline failed, and how.
func (a *app) baselineFailure(e record.BaselineFailed) string {
	why := e.Exit.String()
	if e.Said != "" {
		why += ": " + a.masker().Text(e.Said)
	}
	return fmt.Sprintf("%s failed (%s)", phrase.CommandLine(e.Command), why)
}

func (a *app) windowEvent(e record.Event) {
	switch e := e.(type) {
	case record.Running:
		switch {
		case e.Attached:
			a.note("recording process %d: Ctrl-C ends the recording and saves the trace", e.Pid)
		case e.Keys:
			a.note("recording process %d: Enter, or tracerag window start, opens a window", e.Pid)
		default:
			a.note("recording process %d: tracerag window start opens a window", e.Pid)
		}
	case record.Found:
		a.note("process %d: %s", e.Pid, e.What)
	case record.NotControlled:
		a.note("tracerag window cannot be used: %v", e.Err)
	case record.Refused:
		a.note("%s", withWayOut(e.Err))
	case record.WindowStarted:
		what := "a window"
		if e.Name != "" {
			what = fmt.Sprintf("window %q", e.Name)
		}
		a.note("recording %s; end it with: tracerag window stop", what)
	case record.WindowSaved:
		a.note("%s: %s in %v: trace %s", strings.TrimSpace("window "+e.Name), callsOfFunctions(e.Calls, e.Functions), e.Duration.Round(10*time.Millisecond), phrase.Quote(e.Trace))
	case record.WholeSaved:
		a.note("no window was opened; the whole run: %s: trace %s", callsOfFunctions(e.Calls, e.Functions), phrase.Quote(e.Trace))
	}
}

func (a *app) valuesEvent(e record.Event) {
	switch e := e.(type) {
	case record.RunsTwice:
		a.note("values: %s will run twice, the second time without output: what it changes is changed twice", phrase.CommandLine(e.Command))
	case record.Observes:
		a.note("values: running %s again for %s, without output", phrase.CommandLine(e.Command), phrase.Plural(e.Functions, "function", "functions"))
		if e.NoInput && terminal.Is(a.stdin) {
			a.note("values: what is typed cannot be read twice: this run has an empty standard input")
		}
	case record.NoValuesOf:
		a.complain("values: %s", withWayOut(e.Err))
	case record.NoValues:
		a.complain("no values: %s", withWayOut(e.Err))
	case record.Observed:
		a.observed(e)
	}
}

// observed says what a second run has shown, and what it has not.
func (a *app) observed(seen record.Observed) {
	for _, note := range seen.Notes() {
		a.note("values: %s", note)
	}
	switch {
	case errors.Is(seen.Ended, context.DeadlineExceeded):
		a.hint("--time-limit allows more time")
	case seen.Ended == nil && !seen.TimedOut && seen.Full:
		a.hint("name fewer functions: --values=FUNC")
	}
}
