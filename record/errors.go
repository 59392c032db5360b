package record

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrInterrupted is the error of a program that was not started, since the user
// interrupted the run of its baseline.
var ErrInterrupted = errors.New("interrupted in the run of the baseline: the program was not started")

// LetGoError is the error of a process that was not recorded, since the user interrupted
// before that began.
type LetGoError struct{ Pid int }

func (e *LetGoError) Error() string {
	return fmt.Sprintf("interrupted before the recording began: process %d goes on, unchanged", e.Pid)
}

// errInputOnce is the error of a program whose standard input a second run would not
// have.
var errInputOnce = errors.New("values need a second run, and standard input can be read only once: redirect it from a file (< FILE), or from /dev/null if the program reads nothing")

// ErrEnded is the error of a recording process that somebody has killed.
var ErrEnded = errors.New("the recorder was ended by force before it could save the trace")

// CannotRunError is the error of a program that cannot be run or recorded. Its text is
// that of Err.
type CannotRunError struct {
	Program string
	Missing bool // the program's file is missing
	Err     error
}

func (e *CannotRunError) Error() string { return e.Err.Error() }
func (e *CannotRunError) Unwrap() error { return e.Err }

// BaselineError says that no run could be made to prune by.
type BaselineError struct{ Err error }

func (e *BaselineError) Error() string { return "baseline: " + e.Err.Error() }
func (e *BaselineError) Unwrap() error { return e.Err }

// TimeOverError says that the time limit was reached before a run could start.
type TimeOverError struct {
	Second bool // the run for values; the first one was made
	Limit  time.Duration
}

func (e *TimeOverError) Error() string {
	if e.Second {
		return fmt.Sprintf("the deadline of %s expired before the second run", e.Limit)
	}
	return fmt.Sprintf("the program was not started: its deadline of %s expired before the start", e.Limit)
}

// NotRecordedError is the error of a function whose package is not recorded.
type NotRecordedError struct{ Function string }

func (e *NotRecordedError) Error() string {
	return fmt.Sprintf("calls of %s are not recorded", e.Function)
}

// ProcessError says that the process that was meant is not the one that is recorded in
// windows.
type ProcessError struct {
	Pid        int   // 0: any was
	Recordings []int // the processes that are recorded
}

func (e *ProcessError) Error() string {
	pids := strings.Trim(fmt.Sprint(e.Recordings), "[]")
	switch {
	case len(e.Recordings) == 0:
		return "no program is recorded in windows now"
	case e.Pid == 0:
		return fmt.Sprintf("%d programs are recorded in windows now: choose one: %s", len(e.Recordings), pids)
	}
	return fmt.Sprintf("process %d is not recorded in windows; these are: %s", e.Pid, pids)
}

// WindowError says that a window cannot be started or stopped.
type WindowError struct {
	Recording bool // a window is being recorded; false: none is
	Name      string
}

func (e *WindowError) Error() string {
	switch {
	case !e.Recording:
		return "no window is being recorded"
	case e.Name != "":
		return fmt.Sprintf("window %q is being recorded already", e.Name)
	}
	return "a window is being recorded already"
}
