package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tracerag/answer"
	"tracerag/calltree"
	"tracerag/eval/locating"
	"tracerag/eval/trial"
	"tracerag/export"
	"tracerag/jobs"
	"tracerag/knowledge"
	"tracerag/llm"
	"tracerag/llm/metered"
	"tracerag/llm/throttle"
	"tracerag/mcp"
	"tracerag/prompt"
	"tracerag/record"
	"tracerag/session"
	"tracerag/summary"
	"tracerag/trace"
	"tracerag/trace/gocmd"
	"tracerag/trace/profiles"
	"tracerag/trace/store"
	"tracerag/trace/target"
	"tracerag/viewer"
)

// Libraries say what failed and on which thing. They know no flags: what the user of the
// command line can do about it is added here, in one place.

// wayOut says what to do about an error, a line each; "" if its text says it already.
func wayOut(err error) string {
	if isA[*trial.NoModelError](err) {
		return "name one with --model NAME; --prompts-only asks no model"
	}
	if e, ok := errors.AsType[*metered.NoCeilingError](err); ok {
		if e.Need > 0 {
			return fmt.Sprintf("--max-cost=%.2f is enough for all of them, with what was spent", e.Need)
		}
		return "--max-cost=DOLLARS says how much may be spent"
	}
	if e, ok := errors.AsType[*trial.TooLongError](err); ok && !e.Known {
		return "--models names a file that has the context size"
	}
	if e, ok := errors.AsType[*trial.CutError](err); ok {
		return "raise --max-tokens, and remove " + e.File + " to have it asked again"
	}
	if isA[*knowledge.NoTraceError](err) {
		return "tracerag pull --list lists those that are there"
	}
	if errors.Is(err, knowledge.ErrNoToken) {
		return "tracerag token list lists them"
	}
	if errors.Is(err, knowledge.ErrTokenTaken) {
		return "choose another name, or revoke it: tracerag token rm NAME"
	}
	if isA[*jobs.NoJobError](err) {
		return "tracerag jobs --all lists them"
	}
	if errors.Is(err, record.ErrWindowBuilt) {
		return "build the program first: tracerag run --window -- ./app"
	}
	if errors.Is(err, record.ErrValuesEach) {
		return "leave --values or --each out, or give the go command: tracerag run --values --each -- go test ./pkg"
	}
	if errors.Is(err, record.ErrNotBuilt) {
		return "give the package or the go command: tracerag run --recorder=rebuild -- go run ./cmd/app"
	}
	if isA[*record.BaselineError](err) {
		return "--baseline takes a trace, or arguments to run the program with"
	}
	if isA[*record.TimeOverError](err) {
		return "give it more time: --time-limit"
	}
	if isA[*record.NotRecordedError](err) {
		return "record its package, too: --include"
	}
	if e, ok := errors.AsType[*record.ProcessError](err); ok {
		if len(e.Recordings) == 0 {
			return "tracerag run --window -- ./server\ntracerag attach PID"
		}
		return fmt.Sprintf("choose one: tracerag window --pid=%d, or all: --all", e.Recordings[0])
	}
	if e, ok := errors.AsType[*record.WindowError](err); ok {
		if e.Recording {
			return "end it with: tracerag window stop"
		}
		return "start one with: tracerag window start"
	}
	if isA[*trial.SheetError](err) {
		return "mend the file, or have a new one written: --sheet with another name"
	}
	if isA[*answer.CutError](err) {
		return "raise --max-tokens, or ask to go on with --continue"
	}
	if isA[*answer.ReadInsteadError](err) {
		return "send it everything at once with --one-shot, or ask about less"
	}
	if isA[*answer.OtherTracesError](err) {
		return "--continue goes on about those: name both with --compare, or ask without --continue"
	}
	if isA[*answer.NoConversationError](err) {
		return "ask without --continue first"
	}
	if isA[*session.BaselineError](err) {
		return "--baseline names a trace, or none for no baseline"
	}
	if isA[*session.NoReferenceError](err) {
		return "run the same command with --update to make it from a correct run"
	}
	if errors.Is(err, session.ErrNothingCompared) {
		return "--ignore and --include say what is compared"
	}
	if isA[*session.NoValuesError](err) {
		return "record it with tracerag run --values"
	}
	if isA[*locating.NoTreeError](err) {
		return "--repo DIR names it"
	}
	if isA[*locating.NoClonesError](err) {
		return "--clones DIR names it"
	}
	if errors.Is(err, throttle.ErrCeiling) {
		return "--max-cost says how much may be spent"
	}
	if isA[*metered.TooLongError](err) {
		return "choose a model with a larger context (--context-window if yours has one), or leave less of it to the answer: --max-tokens"
	}
	if isA[*metered.FormError](err) {
		return "ask another model"
	}
	if isA[*summary.NothingRanError](err) {
		return "name the directory that the run was of: tracerag index --summaries --ran TRACE DIR"
	}
	if isA[*session.MaskError](err) {
		return "build tracerag with the version of gitleaks in its go.mod, or have it mask nothing: --no-redact"
	}
	if e, ok := errors.AsType[*session.EmptyTreeError](err); ok {
		return emptyTree[e.Why]
	}
	if isA[*session.LargeTreeError](err) {
		return strings.TrimSpace("take a part of it: --focus FUNC\n" + faceWayOut(err))
	}
	if isA[*calltree.LimitError](err) {
		return "leave --tree=graph out, narrow the tree with --focus, or prune it with --baseline"
	}
	if isA[*prompt.OverWindowError](err) {
		return "make it fit with --budget, narrow the call tree with --focus or --baseline, record fewer packages (run --include), leave the sources out with --variant T, or choose a model with a larger context"
	}
	if isA[*prompt.OverBudgetError](err) {
		return "give a larger --budget, or ask a shorter question"
	}
	if isA[*export.SizeError](err) {
		return "--max-size allows more; --focus narrows the formats of the tree, and jsonl writes no path twice"
	}
	if out := recordWayOut(err); out != "" {
		return out
	}
	if out := faceWayOut(err); out != "" {
		return out
	}
	return modelWayOut(err)
}

// faceWayOut is for the errors that the page and the server for agents show. Their users
// have no command line at hand: it says how these are started.
func faceWayOut(err error) string {
	if e, ok := errors.AsType[*trace.LimitError](err); ok {
		return fmt.Sprintf("if you trust the file, %s=%s allows more", limitVariable, e.Twice())
	}
	switch {
	case isA[*answer.ReadInsteadError](err):
		return "ask with one prompt, or about less"
	case errors.Is(err, viewer.ErrNoModel):
		return "see tracerag ask --help"
	case errors.Is(err, mcp.ErrNotAllowed):
		return "ask the user to start this server as \"tracerag mcp --allow-run\", or to run \"tracerag run -- PROGRAM\" and then look at @last"
	case errors.Is(err, mcp.ErrNoTraces):
		return "the user starts this server as \"tracerag mcp --allow-run\", or runs: tracerag run -- ./app"
	case isA[*mcp.NoValuesError](err):
		return "or by tracerag run --values=FUNCTION"
	}
	return ""
}

// showPruned is how what a baseline did is shown, too.
const showPruned = "--baseline=none shows them"

// lossWayOut says what to do about what a trace lacks; "" if nothing helps.
func lossWayOut(tr *trace.Trace) string {
	if slices.ContainsFunc(tr.Losses, func(l trace.Loss) bool { return l.Kind == trace.LossOverflow && l.Nodes > 0 }) {
		return "to record these calls, too: more memory (run --memory), or fewer packages (run --include)"
	}
	return ""
}

// recordWayOut is for the errors of packages below trace.
func recordWayOut(err error) string {
	switch {
	case isA[*target.NoMatchError](err):
		return "--include takes import paths such as example.com/app/..., and std for the standard library"
	case isA[*target.NothingLeftError](err):
		return "loosen --include and --exclude (std chooses the standard library)"
	case isA[*trace.SizeError](err):
		return "record fewer packages: run --include, run --exclude"
	case isA[*gocmd.NoTestsError](err):
		return "--each takes go test, or a program that go test -c has built"
	case isA[*store.NoDirError](err):
		return "choose one with --dir or TRACERAG_DIR"
	case isA[*store.UnwritableError](err):
		return "choose another directory with --dir or TRACERAG_DIR"
	case errors.Is(err, profiles.ErrOnlyStandard):
		return "--std keeps the functions of the library too"
	}
	return ""
}

// modelWayOut is llm's own hint, which knows no flags, and the flags that help.
func modelWayOut(err error) string {
	hint := llm.Hint(err)
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return hint
	}
	switch {
	case e.Kind == llm.KindTooLarge:
		return hint + "\n--budget, --focus, --baseline and --variant=T make the prompt smaller"
	case e.Kind == llm.KindTooLong:
		return hint + "\n--max-answer allows a longer answer"
	case e.MoreTokens:
		return hint + "\n--max-tokens allows more tokens"
	}
	return hint
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

var emptyTree = map[session.EmptyReason]string{
	session.NothingCalled: "record other packages: run --include",
	session.AllPruned:     "--baseline=none shows it",
	session.OnlyInit:      "--init shows it",
}

// withWayOut is an error's text and what to do about it, on lines of its own.
func withWayOut(err error) string {
	text := err.Error()
	if out := wayOut(err); out != "" {
		text += "\n" + out
	}
	return text
}
