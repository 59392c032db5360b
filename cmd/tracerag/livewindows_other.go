//go:build !linux

package main

import (
	"context"
	"errors"

	"tracerag/trace/store"
)

var errNoWindows = errors.New("windows of a running program are recorded on linux/amd64 only")

type order struct{ Do, Name string }

type answer struct{ Message, Trace string }

func (a *app) tell(int, order) (answer, error) { return answer{}, errNoWindows }

func (a *app) runWindows(context.Context, *store.Store, []string, *runFlags) int {
	a.fail(errNoWindows)
	return exitRunCannot
}

func (a *app) attach(context.Context, *store.Store, int, *runFlags) error { return errNoWindows }

func checkName(string) error { return nil }
