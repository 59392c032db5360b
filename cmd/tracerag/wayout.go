package main

import (
	"errors"
	"fmt"

	"tracerag/eval/trial"
	"tracerag/llm"
	"tracerag/session"
)

// Libraries say what failed and on which thing. They know no flags: what the user of the
// command line can do about it is added here, in one place.

// wayOut says what to do about an error, a line each; "" if its text says it already.
func wayOut(err error) string {
	var baseline *session.BaselineError
	var mask *session.MaskError
	var noModel *trial.NoModelError
	var noCeiling *trial.NoCeilingError
	var tooLong *trial.TooLongError
	var cut *trial.CutError
	switch {
	case errors.As(err, &noModel):
		return "--model NAME names one; --prompts-only asks nobody"
	case errors.As(err, &noCeiling) && noCeiling.Need > 0:
		return fmt.Sprintf("--max-cost=%.2f is enough for all of them, with what was spent", noCeiling.Need)
	case errors.As(err, &noCeiling):
		return "--max-cost=DOLLARS says how much may be spent in all"
	case errors.As(err, &tooLong) && !tooLong.Known:
		return "--models names a file that has the context size"
	case errors.As(err, &cut):
		return "raise --max-tokens, and remove " + cut.File + " to have it asked again"
	case errors.As(err, &baseline):
		return "--baseline names a trace, or none for no baseline"
	case errors.As(err, &mask):
		return "build tracerag with the version of gitleaks in its go.mod, or have it mask nothing: --no-redact"
	}
	return llm.Hint(err)
}

// withWayOut is an error's text and what to do about it, on lines of its own.
func withWayOut(err error) string {
	text := err.Error()
	if out := wayOut(err); out != "" {
		text += "\n" + out
	}
	return text
}
