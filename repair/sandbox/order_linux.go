package sandbox

import "time"

// order is what the inner step is to do, on file 3. That file stays open: when it ends,
// so does the sandbox.
type order struct {
	Command   inner
	Mechanism string
	Root      bool // mapped as the superuser
}

// inner is what of a Command the inner step needs.
type inner struct {
	Args, Env, Write, Hide, Read []string
	Dir, Temp                    string
	Layers                       []Layer
	Limits                       Limits
}

// report is what became of it, on file 4.
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
