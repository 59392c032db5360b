package record

import (
	"fmt"
	"time"

	"tracerag/trace"
	"tracerag/trace/breakpoint"
)

// Event is what happens while something is recorded and its user may want to know.
// Its type says what.
type Event any

// Events of any recording.
type (
	// Preparing: the probe reads the program and plans, which may take seconds.
	Preparing struct {
		Program string
		Done    bool
	}
	// SettingBreakpoints is how far that is.
	SettingBreakpoints struct {
		Done, Total int
		Ended       bool
	}
	// FallsBack: the probe cannot record the program, and breakpoints do.
	FallsBack struct {
		Program string
		Why     error
		Rebuild bool // of what the go command builds every call could be recorded
	}
	// BuildsAgain: the probe cannot record the program, and the go command builds it again, with the recorder.
	BuildsAgain struct {
		Subject string
		Why     error
	}
	// NotRebuilt: the go command cannot build with the recorder, or did not, and another one records.
	NotRebuilt struct {
		Subject string
		Why     error
		Asked   bool // for the recorder
	}
	// NotFollowed: what the program starts is not recorded.
	NotFollowed struct {
		Program string
		Why     error
	}
	// Remark is a message of the debugger.
	Remark struct{ Text string }
	// SavedElsewhere: the store did not take the trace, another directory did.
	SavedElsewhere struct {
		Dir  string // of the store
		Err  error
		Path string // of the trace
	}
)

// Events of baselines.
type (
	// BaselineStarts: the program is run to be pruned by.
	BaselineStarts struct{ Command []string }
	// BaselineOfOther: the trace that was named is one of another program.
	BaselineOfOther struct {
		ID, Of, This string // Of and This are the programs' import paths
	}
	// BaselineFailed: nothing is pruned by it.
	BaselineFailed struct {
		Command []string
		Exit    trace.Exit
		Said    string // the first line of what it printed
		ID      string // of its trace
	}
)

// Events of a second run, for values.
type (
	// RunsTwice comes before the first run.
	RunsTwice struct{ Command []string }
	// Observes: the second run begins.
	Observes struct {
		Command   []string
		Functions int
		NoInput   bool // what was typed cannot be read twice
	}
	// Observed is what it has shown.
	Observed struct {
		*breakpoint.Observation
		Trace *trace.Trace // of the first run
		Ended error        // why the run was ended early, nil: it was not
	}
	// NoValuesOf: one of the names has no function.
	NoValuesOf struct{ Err error }
	// NoValues: the trace is saved without.
	NoValues struct{ Err error }
)

// Events of go commands and tests.
type (
	// Said is the messages of a process that recorded for us.
	Said struct{ Text string }
	// BuildsStandard: the build that comes compiles the standard library, too.
	BuildsStandard struct{ Release string } // of Go
	// Builds: the go command is about to build.
	Builds struct{ Subject string }
	// TestsProgress is how many of the tests have been recorded.
	TestsProgress struct{ Done, Of int }
	// TestRecorded: a test's trace was saved, as Name.
	TestRecorded struct {
		Name  string
		Trace *trace.Trace
	}
	// PackageRecorded: all tests of a package were.
	PackageRecorded struct {
		Package       string
		Tests, Failed int
		Baseline      string // "" none
	}
)

// Events of windows.
type (
	// Running: the process is recorded from now on.
	Running struct {
		Pid      int
		Attached bool
		Keys     bool // the Enter key starts and stops windows
	}
	// Found: what an earlier recorder had left in a process.
	Found struct {
		Pid  int
		What string
	}
	// NotControlled: other processes cannot start windows.
	NotControlled struct{ Err error }
	// Refused: a window was not started, or not stopped.
	Refused struct{ Err error }
	// WindowStarted: what runs from now on is the window's.
	WindowStarted struct{ Name string }
	// WindowSaved: a window, or a snapshot, is a trace now.
	WindowSaved struct {
		Name      string // the window's, "" none
		Trace     string // the trace's
		Path      string // of its file
		Calls     int64
		Functions int
		Duration  time.Duration
	}
	// WholeSaved: there was no window, and the whole run was saved.
	WholeSaved struct{ WindowSaved }
)

func (r *Runner) event(e Event) {
	if r.Events != nil {
		r.Events(e)
	}
}

func (r *Runner) remark(format string, args ...any) {
	r.event(Remark{Text: fmt.Sprintf(format, args...)})
}
