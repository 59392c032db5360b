package record

import (
	"encoding/json"
	"time"
)

// Spec says what is recorded, and how. It is what every caller fills in, and what one
// process passes to another that records in its place.
type Spec struct {
	Command []string `json:"command"` // the program and its arguments, or a go command, as it was typed
	Dir     string   `json:"dir"`     // the directory in which it was typed
	Store   string   `json:"store"`   // the directory of the traces

	Include  []string `json:"include,omitempty"` // patterns of the packages to record; none: all outside the standard library
	Exclude  []string `json:"exclude,omitempty"` // less these
	Recorder Options  `json:"recorder"`

	// Baseline names the trace that the run's tree is pruned by, or is a line of arguments
	// to run the same program with first; "": nothing is pruned.
	Baseline string `json:"baseline,omitempty"`
	Values   Values `json:"values"`
	// Each records every test of a test program in a run of its own, so many at a time;
	// 0: all tests in one run.
	Each int `json:"each,omitempty"`
	// Children records what the program starts, too, and what that starts.
	Children bool `json:"children,omitempty"`
	// Window records what a go command builds in windows. Other programs have [Runner.Windows].
	Window bool `json:"window,omitempty"`

	Limit    time.Duration `json:"limit,omitempty"` // the time after which the program is killed; 0: never
	Deadline time.Time     `json:"deadline"`        // when that is, once the time runs; zero: never

	// Caller is what anyone who passes the Spec to another process needs there. This package
	// does not look at it.
	Caller json.RawMessage `json:"caller,omitempty"`
}

// Values says of which functions arguments and results are observed: of what a go command builds in the run itself, of
// other programs in a second one.
type Values struct {
	Patterns []string `json:"patterns,omitempty"` // AllFunctions, OwnFunctions, names and patterns; none: nothing is observed
	Calls    int      `json:"calls,omitempty"`    // how many calls of each node
}

func (v Values) observed() bool { return len(v.Patterns) > 0 }

// Patterns of Values.
const (
	AllFunctions = "all"
	OwnFunctions = "own" // those of the program's own module
)

// Begin starts the clock of the time limit.
func (s *Spec) Begin() {
	if s.Limit > 0 && s.Deadline.IsZero() {
		s.Deadline = time.Now().Add(s.Limit)
	}
}
