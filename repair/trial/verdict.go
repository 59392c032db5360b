package trial

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tracerag/phrase"
)

// Stage is a step of a verdict. Each is reached only if those before it accept the change.
type Stage string

const (
	Guard    Stage = "guard"    // it fits the tree, changes something, and weakens no test
	Builds   Stage = "build"    // it compiles, with all that depends on it
	Vets     Stage = "vet"      // go vet finds nothing new
	Wants    Stage = "wanted"   // the wanted tests pass three times
	Affects  Stage = "affected" // so do those that ran what it changes
	Packages Stage = "package"  // and all tests of its packages
	Suite    Stage = "suite"    // and all others
)

// Stages are all of them, in their order.
var Stages = []Stage{Guard, Builds, Vets, Wants, Affects, Packages, Suite}

// Verdict is what a trial says of a change. It contains text of programs under test:
// whoever shows it masks it.
type Verdict struct {
	Accepted bool      `json:"accepted"`
	Stage    Stage     `json:"stage"`  // that refused it, or the last one
	Reason   string    `json:"reason"` // a sentence
	Failures []Failure `json:"failures,omitempty"`
	// Refused is what the sandbox refused the program of a test that fails, as far as it is known: the test may
	// fail for that reason.
	Refused  []string `json:"sandbox_refused,omitempty"`
	Unsteady []TestID `json:"unsteady,omitempty"` // failed beside others, and passed twice alone
	// Kept are files that were as before the change, though it changes them: tests may read them.
	Kept  []string `json:"kept,omitempty"`
	Tests int      `json:"tests"` // that ran in the last stage in which they did, functions and subtests
	// First is the tests that were chosen to run before others; nil: nobody chose.
	First *First                  `json:"first,omitempty"`
	Times map[Stage]time.Duration `json:"nanoseconds,omitempty"`
}

// Given reports whether this is a verdict at all, and not what became of a file of one.
func (v Verdict) Given() bool { return slices.Contains(Stages, v.Stage) && v.Reason != "" }

// Failure is a test that fails, or a package that doesn't build or has findings.
type Failure struct {
	Package string  `json:"package"`
	Test    string  `json:"test,omitempty"`
	Was     Outcome `json:"was,omitempty"` // before any change; "": it was not there
	Is      Outcome `json:"is,omitempty"`
	Why     string  `json:"why,omitempty"`    // it ran before others: "ran F"
	Output  string  `json:"output,omitempty"` // a part of it
}

// maxName bounds the name of a test in a sentence; a program makes those of subtests.
const maxName = 300

// maxFailures bounds a verdict; Reason says how many there are.
const maxFailures = 20

// String is the verdict for people: the same whenever and wherever it was given, if the same tests were chosen.
func (v Verdict) String() string {
	var b strings.Builder
	if v.Accepted {
		b.WriteString("accepted: " + v.Reason + "\n")
	} else {
		fmt.Fprintf(&b, "refused at %s: %s\n", v.Stage, v.Reason)
	}
	if v.First != nil {
		b.WriteString(v.First.String() + "\n")
	}
	for _, what := range v.Refused {
		fmt.Fprintf(&b, "the sandbox refused: %s\n", phrase.Cut(what, maxName))
	}
	for _, t := range v.Unsteady {
		fmt.Fprintf(&b, "%s failed beside other tests and passed twice alone\n", t)
	}
	for _, name := range v.Kept {
		fmt.Fprintf(&b, "%s was as before the change: tests may read it\n", phrase.Cut(name, maxName))
	}
	for _, f := range v.Failures {
		name := f.Package
		if f.Test != "" {
			name += ":" + phrase.Cut(f.Test, maxName)
		}
		switch {
		case f.Is != "" && f.Was != "":
			fmt.Fprintf(&b, "\n%s %s (before the change: %s)%s\n", name, f.Is, f.Was, f.reason())
		case f.Is != "":
			fmt.Fprintf(&b, "\n%s %s\n", name, f.Is)
		default:
			fmt.Fprintf(&b, "\n%s\n", name)
		}
		for line := range strings.Lines(f.Output) {
			b.WriteString("    " + strings.TrimRight(line, "\r\n") + "\n")
		}
	}
	return b.String()
}

// reason says why the test ran before others.
func (f Failure) reason() string {
	if f.Why == "" {
		return ""
	}
	return "; it " + f.Why
}
