package main

import (
	"errors"

	"tracerag/session"
)

// Libraries say what failed and on which thing. They know no flags: what the user of the
// command line can do about it is added here, in one place.

// wayOut says what to do about an error, a line each; "" if its text says it already.
func wayOut(err error) string {
	var baseline *session.BaselineError
	var mask *session.MaskError
	switch {
	case errors.As(err, &baseline):
		return "--baseline names a trace, or none for no baseline"
	case errors.As(err, &mask):
		return "build tracerag with the version of gitleaks in its go.mod, or have it mask nothing: --no-redact"
	}
	return ""
}

// withWayOut is an error's text and what to do about it, on lines of its own.
func withWayOut(err error) string {
	text := err.Error()
	if out := wayOut(err); out != "" {
		text += "\n" + out
	}
	return text
}
