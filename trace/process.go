package trace

import "fmt"

// Process is a program that the run's program started, or that one of these started. Each
// has a trace of its own, which is kept beside that of the run: together they are a group.
// The run's trace lists them in the order of their starts, a process before those that
// it started.
type Process struct {
	Parent  int      `json:"parent,omitempty"` // which of the list started it, from 1; 0: the run's own program
	Program string   `json:"program"`          // its file
	Command []string `json:"command,omitempty"`
	// Caller is the node that started it, in the trace of the parent or, if that has
	// none, of the next process above it that has one.
	Caller NodeRef `json:"caller,omitempty"`
	// Before is how many nodes that trace had at the start: the process is between these
	// and the others in the order of first calls.
	Before int    `json:"before,omitempty"`
	Trace  string `json:"trace,omitempty"` // the id of its trace; "": Why says why there is none
	Calls  int64  `json:"calls,omitempty"` // of that trace
	Why    string `json:"why,omitempty"`
}

// Recorded returns the nearest process at or above one of the list that has a trace, as an
// index into the list; -1: the run's own program.
func (t *Trace) Recorded(i int) int {
	for i >= 0 && t.Processes[i].Trace == "" {
		i = t.Processes[i].Parent - 1
	}
	return i
}

// checkProcesses verifies that each process is behind the one that started it, and that
// what t itself started is where t has nodes.
func (t *Trace) checkProcesses() error {
	for i := range t.Processes {
		p := &t.Processes[i]
		switch {
		case p.Parent < 0 || p.Parent > i:
			return fmt.Errorf("process %d: it is started by %d, which does not come before it", i+1, p.Parent)
		case p.Caller < 0 || p.Before < 0 || int(p.Caller) > p.Before:
			return fmt.Errorf("process %d: started by node %d after %d nodes", i+1, p.Caller.Node(), p.Before)
		case t.Recorded(p.Parent-1) < 0 && p.Before > len(t.Nodes):
			return fmt.Errorf("process %d: started after %d nodes of %d", i+1, p.Before, len(t.Nodes))
		}
	}
	return nil
}
