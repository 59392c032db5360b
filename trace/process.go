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

	// Main is, in a joined trace, the path of the program's main package, or else the name
	// of its file: by it [Trace.Join] tells programs apart.
	Main string `json:"-"`
}

// Recorded returns the nearest process at or above one of the list that has a trace, as an
// index into the list; -1: the run's own program.
func (t *Trace) Recorded(i int) int {
	for i >= 0 && t.Processes[i].Trace == "" {
		i = t.Processes[i].Parent - 1
	}
	return i
}

// recorded is [Trace.Recorded] of each process.
func (t *Trace) recorded() []int {
	of := make([]int, len(t.Processes))
	for i := range t.Processes {
		switch p := &t.Processes[i]; {
		case p.Trace != "":
			of[i] = i
		case p.Parent > 0:
			of[i] = of[p.Parent-1]
		default:
			of[i] = -1
		}
	}
	return of
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
		}
	}
	recorded := t.recorded()
	for i := range t.Processes {
		p := &t.Processes[i]
		if own := p.Parent == 0 || recorded[p.Parent-1] < 0; own && p.Before > len(t.Nodes) {
			return fmt.Errorf("process %d: started after %d nodes of %d", i+1, p.Before, len(t.Nodes))
		}
	}
	for i := range t.Nodes {
		switch n := &t.Nodes[i]; {
		case n.Process == 0:
		case n.Parent != NoNode || n.Process < 0 || int(n.Process) > len(t.Processes):
			return fmt.Errorf("node %d: process %d of a node with parent %d", i, n.Process, n.Parent)
		case int(t.Processes[n.Process-1].Caller) > i:
			return fmt.Errorf("node %d: the node %d that started it does not come before it", i, t.Processes[n.Process-1].Caller.Node())
		}
	}
	return nil
}
