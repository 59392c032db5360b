// Package trace is the model of one recorded run of a Go program and the file
// that holds it.
//
// A recorder watches a target run and reports calls; what it reports is kept
// as a calling context tree: activations merged by their path from the root,
// so that a function called a million times from one place is one [Node] with
// a count, and the same function called from two places is two nodes. The
// nodes are in the order of their first call, which is the order in which
// the program's story is read later (Kamiya 2024, section 3, step 5).
//
// Terms used throughout:
//
//   - A root is a node without a parent: the first recorded function of the
//     main goroutine, of package initialisation, of a goroutine, or of a
//     callback from C.
//   - A recursive node is a call of a function that is already on the path
//     above it. It is a leaf: the calls made inside it are counted at the
//     ancestor, so the tree stays bounded and no call is lost.
//   - A call is via others when functions that were not recorded (the standard
//     library, by default) are between caller and callee.
//   - A line ran if anything on it did, in any call of its function ([Lines]).
//   - A floor is a count that may be too low, because the recorder stopped
//     watching the function.
//   - An activation is one call of a node with the values that it was given and
//     that it returned. They are kept of few calls, or of none.
//
// What a recorder could not see is part of the trace ([Loss]): a function that
// was not hooked is never the same as a function that was not called.
package trace

import (
	"fmt"
	"slices"
	"time"

	"tracerag/trace/symbol"
)

// Trace is one recorded run.
type Trace struct {
	Name     string   // that its user gave it, such as that of a window, or its test's; "" none
	Test     Test     // the one test that the run was of; zero: it was not of one test
	Recorder string   // "breakpoint", "probe", or "sample" for an imported profile
	Sampled  bool     // counts are samples, not calls
	Command  []string // the target and its arguments as they were typed; with a Test, the go test of it alone
	Dir      string   // working directory of the run
	Start    time.Time
	Duration time.Duration
	Exit     Exit
	Program  Program

	Include, Exclude []string // package patterns that chose what was recorded
	Baseline         string   // id of the trace whose calls are pruned from this one's tree; "" none

	Goroutines int64 // goroutines in which a recorded call was seen
	Functions  []Function
	Nodes      []Node // in order of first call; a parent is before its children
	Losses     []Loss

	Activations []Activation // observed values, by node and in the order of the calls; nil none

	// Lines says of some functions which of their lines ran: the probe watches long ones,
	// the recorder by rebuilding all. Of one that is not in it nothing is known.
	Lines map[FuncID]Lines

	Processes []Process // what the program started, if that was to be recorded, too
}

// StartUp is the name of the baseline of a window: what its program did to start.
const StartUp = "start-up"

// Test names a test, an example, a fuzz target with its seeds or a benchmark.
type Test struct {
	Package string `json:"package"` // import path of the package that is tested
	Name    string `json:"name"`
}

// Exit says how the target ended.
type Exit struct {
	Code   int    `json:"code"`             // exit status; meaningless when Signal is set
	Signal string `json:"signal,omitempty"` // "SIGKILL"; empty when it exited by itself
}

// Known reports whether the target's end was seen.
func (e Exit) Known() bool { return e.Code >= 0 || e.Signal != "" }

// Failed reports whether the target ended otherwise than by exit status 0: a test
// failed then.
func (e Exit) Failed() bool { return e.Code != 0 || e.Signal != "" }

func (e Exit) String() string {
	if e.Signal != "" {
		return "killed by " + e.Signal
	}
	if !e.Known() {
		return "its end was not seen"
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// Program is what the binary itself says of its making.
type Program struct {
	Path      string    `json:"path,omitempty"`
	BuildID   string    `json:"build_id,omitempty"`
	ModTime   time.Time `json:"mod_time,omitzero"` // of the file: sources newer than it may differ
	GoVersion string    `json:"go_version,omitempty"`
	GOOS      string    `json:"goos,omitempty"`
	GOARCH    string    `json:"goarch,omitempty"`
	MainPath  string    `json:"main_path,omitempty"` // import path of package main
	Main      Module    `json:"main,omitzero"`
	Deps      []Module  `json:"deps,omitempty"`
	Settings  []Setting `json:"settings,omitempty"` // build settings, vcs.revision among them
}

// Module is a module version that was built into the program.
type Module struct {
	Path    string  `json:"path"`
	Version string  `json:"version,omitempty"`
	Sum     string  `json:"sum,omitempty"`
	Replace *Module `json:"replace,omitempty"`
}

// Setting is one build setting, such as vcs.revision.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Setting returns the value of a build setting, or "".
func (p *Program) Setting(key string) string {
	for _, s := range p.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// FuncID is an index into Trace.Functions.
type FuncID int32

// Function is a function of the target as the binary names it.
type Function struct {
	Name      string // linker name: "example.com/x.(*T).M", "main.main.func1"
	Package   string // import path; package main's own path when the binary tells it
	File      string // as the compiler recorded it; may be trimmed
	StartLine int    // of the declaration; 0 unknown
}

// NodeID is an index into Trace.Nodes.
type NodeID int32

// NoNode is the parent of a root.
const NoNode NodeID = -1

// RootKind says where a root's control came from.
type RootKind string

// The kinds of root.
const (
	NotRoot       RootKind = ""
	RootMain      RootKind = "main"      // main.main
	RootInit      RootKind = "init"      // package initialisation
	RootGoroutine RootKind = "goroutine" // a go statement
	RootCallback  RootKind = "callback"  // called from C, from the runtime, or unknown
)

// Flags are what is reported of a node beside its count.
type Flags uint8

// The flags.
const (
	Inlined     Flags = 1 << iota // an activation without a frame of its own
	Recursive                     // a call of a function that is on the path above: a leaf
	Via                           // unrecorded functions are between caller and callee
	Floor                         // the count may be too low
	Approximate                   // the count may be off either way
)

// Has reports whether m includes all of x.
func (m Flags) Has(x Flags) bool { return m&x == x }

// Node is a function called in one context.
type Node struct {
	Parent   NodeID
	Func     FuncID
	CallLine int      // line of the call within the parent's function; 0 unknown
	Calls    int64    // calls made here; in a sampled trace, samples taken here
	Root     RootKind // set if and only if Parent is NoNode
	Go       GoStmt   // of a RootGoroutine
	Flags    Flags
	Process  int32 // of a root in a joined trace: which of the trace's processes it is in, from 1; 0: the run's own program
}

// GoStmt is the go statement that made a goroutine. The zero value is one of
// which nothing is known.
type GoStmt struct {
	Func    string // linker name of the function that holds it; "" unknown
	File    string
	Line    int
	Creator NodeRef // the node that ran it
}

// NodeRef is a node that may be unknown. It is the node's id plus one: the zero
// value is unknown, and not node 0 for having been left out.
type NodeRef int32

// Ref returns a reference to the node; of NoNode, the unknown one.
func (id NodeID) Ref() NodeRef { return NodeRef(id + 1) }

// Node returns the node referred to, or NoNode.
func (r NodeRef) Node() NodeID { return NodeID(r - 1) }

// LossKind names a way in which a trace is incomplete.
type LossKind string

// The kinds of loss.
const (
	LossNotHooked LossKind = "not-hooked" // a function's calls could not be watched
	LossFloor     LossKind = "floor"      // watching was given up after Count calls
	LossOverflow  LossKind = "overflow"   // the recorder's memory was full: Count calls have no node
	LossTruncated LossKind = "truncated"  // the recording ended before the target did
	LossSampled   LossKind = "sampled"    // only samples exist; order and counts do not
	LossOther     LossKind = "other"
)

// Loss is one thing that was not recorded.
type Loss struct {
	Kind     LossKind `json:"kind"`
	Function string   `json:"function,omitempty"` // linker name, when it concerns one
	Count    int64    `json:"count,omitempty"`
	// Nodes is how many nodes were made before the memory was full: of an overflow, if
	// it is known. They are the first ones of the trace; contexts that came later are
	// missing.
	Nodes  int64  `json:"nodes,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// SamePackages reports whether the same packages were chosen to be recorded in both
// runs. Otherwise one may lack calls of the other that were made in both.
func (t *Trace) SamePackages(o *Trace) bool {
	return slices.Equal(t.Include, o.Include) && slices.Equal(t.Exclude, o.Exclude)
}

// Calls returns the sum of all nodes' calls.
func (t *Trace) Calls() int64 {
	var n int64
	for i := range t.Nodes {
		n += t.Nodes[i].Calls
	}
	return n
}

// Func returns the function of node n.
func (t *Trace) Func(n NodeID) *Function { return &t.Functions[t.Nodes[n].Func] }

// PackageOf returns the import path of a function of p by its linker name.
func (p *Program) PackageOf(name string) string {
	pkg := symbol.Package(name)
	if pkg == "main" && p.MainPath != "" {
		return p.MainPath
	}
	return pkg
}
