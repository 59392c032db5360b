package sandbox

import "time"

// order tells the inner step what to do. It is sent on file 3, which stays open: when the other end is
// closed, the inner step ends the sandbox.
type order struct {
	Command   inner
	Mechanism string
	Root      bool // mapped as the superuser
}

// inner is the part of a Command that the inner step needs.
type inner struct {
	Args, Env, Write, Hide, Read []string
	Dir, Temp                    string
	Layers                       []Layer
	Limits                       Limits
}

// report is the answer of the inner step, on file 4.
type report struct {
	Started bool   // the command was started
	Failed  string // why it wasn't
	Missing bool   // since there is no such program
	Code    int
	Stopped Reason
	Refused []string
	CPU     time.Duration
	Memory  int64

	Unlayered []string
}

const (
	orderFile  = 3
	reportFile = 4
)
