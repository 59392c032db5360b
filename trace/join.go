package trace

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strings"

	"tracerag/trace/symbol"
)

// errJoined is the error of writing a joined trace.
var errJoined = errors.New("trace not written: it is several that were joined to be looked at; write those")

// Join returns the run and its processes as one trace, to be looked at. parts has the trace
// of each of t.Processes, or nil; what a process without one started is below the call
// that started that process. t and the parts are left alone.
//
// The nodes of a process are where it was started in the order of first calls. Its roots
// have its number ([Node.Process]), and the node above them is the one that started it.
// Two programs have each a main.main: in a program with another main package than the
// run's, these functions have that package's path in place of "main", as in test programs.
//
// A joined trace cannot be written.
func (t *Trace) Join(parts []*Trace) (*Trace, error) {
	out := *t
	out.Processes = slices.Clone(t.Processes)
	out.Functions, out.Nodes, out.Losses, out.Activations, out.Lines = nil, nil, nil, nil, nil
	out.Program.Deps = slices.Clone(t.Program.Deps)
	j := &joiner{out: &out, parts: parts, run: t.Program.called(""), ids: make([][]NodeID, len(parts)+1),
		functions: map[joinedFunction]FuncID{}, losses: map[Loss]int{}, deps: map[string]bool{t.Program.Main.Path: true, "": true}}
	for _, m := range t.Program.Deps {
		j.deps[m.Path] = true
	}
	j.hang(t)
	j.add(-1, t)
	j.addFacts(-1, t)
	for i := range t.Processes {
		if part := j.part(i); part != nil {
			j.addFacts(i, part)
		}
	}
	slices.SortStableFunc(out.Activations, func(a, b Activation) int { return cmp.Compare(a.Node, b.Node) })
	j.finishLines()
	if err := out.checkLevels(); err != nil {
		return nil, err
	}
	return &out, nil
}

// joiner joins traces. A process is its index in the list, -1 the run itself.
type joiner struct {
	out   *Trace
	parts []*Trace
	run   string     // what the run's program is called
	ids   [][]NodeID // by process+1, and node of its trace
	at    []startedAt
	below [][]int // by process+1: what is started in its trace, in that order

	functions map[joinedFunction]FuncID
	lines     []linesOfParts // by function
	losses    map[Loss]int   // what was lost, but for the numbers; an index
	deps      map[string]bool
}

// startedAt is a place in the trace of a process.
type startedAt struct {
	process int
	caller  NodeRef
	before  int
}

// joinedFunction is what makes functions of several programs the same. nth is for a trace
// that has one twice: flags of recursion go by its own numbers.
type joinedFunction struct {
	name, file string
	line, nth  int
}

// linesOfParts is what the parts say of one function's lines.
type linesOfParts struct {
	known   Lines
	unknown bool // in one of them
}

// hang finds out where each process is started.
func (j *joiner) hang(t *Trace) {
	j.at = make([]startedAt, len(t.Processes))
	j.below = make([][]int, len(t.Processes)+1)
	recorded := t.recorded()
	for i := range t.Processes {
		p := &t.Processes[i]
		in := -1
		if p.Parent > 0 {
			in = recorded[p.Parent-1]
		}
		if in >= 0 && j.part(in) == nil {
			j.at[i] = j.at[in]
		} else {
			j.at[i] = startedAt{in, p.Caller, p.Before}
		}
		of := &j.below[j.at[i].process+1]
		*of = append(*of, i)
	}
	for _, list := range j.below {
		slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(j.at[a].before, j.at[b].before) })
	}
}

func (j *joiner) part(i int) *Trace {
	if i < len(j.parts) {
		return j.parts[i]
	}
	return nil
}

// add takes up the trace of a process, and what it started where it did.
func (j *joiner) add(process int, part *Trace) {
	rename := j.renaming(process)
	functions := j.addFunctions(part, rename)
	ids := make([]NodeID, 0, len(part.Nodes))
	started := j.below[process+1]
	for i := range part.Nodes {
		for ; len(started) > 0 && j.at[started[0]].before <= i; started = started[1:] {
			j.ids[process+1] = ids
			j.start(started[0])
		}
		n := part.Nodes[i]
		n.Func = functions[n.Func]
		if n.Parent != NoNode {
			n.Parent = ids[n.Parent]
		} else {
			n.Process = int32(process + 1)
		}
		n.Go.Func = rename(n.Go.Func)
		ids = append(ids, NodeID(len(j.out.Nodes)))
		j.out.Nodes = append(j.out.Nodes, n)
	}
	j.ids[process+1] = ids
	for _, p := range started {
		j.start(p)
	}
	for i := range part.Nodes {
		if c := part.Nodes[i].Go.Creator; c != 0 { // which may come later than what it started
			j.out.Nodes[ids[i]].Go.Creator = ids[c.Node()].Ref()
		}
	}
	for _, a := range part.Activations {
		a.Node = ids[a.Node]
		j.out.Activations = append(j.out.Activations, a)
	}
}

// addFacts takes up what is beside the nodes of a part.
func (j *joiner) addFacts(process int, part *Trace) {
	for _, l := range part.Losses {
		j.lose(process, l, j.renaming(process))
	}
	if process < 0 {
		return
	}
	j.out.Goroutines += part.Goroutines
	for _, m := range append([]Module{part.Program.Main}, part.Program.Deps...) {
		if !j.deps[m.Path] {
			j.deps[m.Path] = true
			j.out.Program.Deps = append(j.out.Program.Deps, m)
		}
	}
}

// start places a process, and adds its trace.
func (j *joiner) start(process int) {
	p, at := &j.out.Processes[process], j.at[process]
	p.Caller, p.Before = 0, len(j.out.Nodes)
	if ids := j.ids[at.process+1]; at.caller > 0 && int(at.caller) <= len(ids) {
		p.Caller = ids[at.caller.Node()].Ref()
	} else if at.process >= 0 {
		p.Caller = j.out.Processes[at.process].Caller // not in its trace: damaged
	}
	part := j.part(process)
	if part == nil {
		p.Main = baseName(p.Program)
		return
	}
	p.Main = part.Program.called(p.Program)
	j.add(process, part)
}

// called is what tells the programs of a group apart, also between runs: the import path
// of the main package or, of files on a command line, the name of the program's file.
func (p *Program) called(file string) string {
	if p.MainPath != "" && p.MainPath != "command-line-arguments" {
		return p.MainPath
	}
	return baseName(cmp.Or(p.Path, file))
}

func baseName(file string) string {
	return strings.TrimSuffix(path.Base(strings.ReplaceAll(file, `\`, "/")), ".exe")
}

// renaming returns the names that functions of a process have.
func (j *joiner) renaming(process int) func(string) string {
	if process < 0 || j.out.Processes[process].Main == j.run {
		return func(name string) string { return name }
	}
	pkg := symbol.Escape(j.out.Processes[process].Main)
	return func(name string) string { return renamed(name, pkg) }
}

// renamed writes a package for "main", also in type arguments.
func renamed(name, pkg string) string {
	var b strings.Builder
	depth, from := 0, 0
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == 'm' && strings.HasPrefix(name[i:], "main.") && (i == 0 || depth > 0 && !inWord(name[i-1])):
			b.WriteString(name[from:i])
			b.WriteString(pkg)
			from = i + len("main")
		}
	}
	b.WriteString(name[from:])
	return b.String()
}

// inWord reports whether a character of an import path or a name goes on behind c.
func inWord(c byte) bool {
	return c == '/' || c == '.' || c == '_' || c == '-' || c == '%' || c == '~' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// addFunctions returns the number of each function of a part.
func (j *joiner) addFunctions(part *Trace, rename func(string) string) []FuncID {
	ids := make([]FuncID, len(part.Functions))
	times := map[joinedFunction]int{}
	for i, f := range part.Functions {
		if name := rename(f.Name); name != f.Name {
			if f.Package == symbol.Package(f.Name) || f.Package == part.Program.MainPath {
				f.Package = symbol.Package(name)
			}
			f.Name = name
		}
		key := joinedFunction{f.Name, f.File, f.StartLine, 0}
		times[key]++
		key.nth = times[key]
		id, ok := j.functions[key]
		if !ok {
			id = FuncID(len(j.out.Functions))
			j.functions[key] = id
			j.out.Functions = append(j.out.Functions, f)
			j.lines = append(j.lines, linesOfParts{})
		}
		ids[i] = id
		switch l, of := part.Lines[FuncID(i)], &j.lines[id]; {
		case l.States == "":
			of.unknown = true
		case of.known.States == "":
			of.known = l
		default:
			of.known = of.known.and(l)
		}
	}
	return ids
}

// and is what became of each line in two runs of a function.
func (l Lines) and(o Lines) Lines {
	first, end := min(l.First, o.First), max(l.First+len(l.States), o.First+len(o.States))
	states := make([]byte, 0, end-first)
	for n := first; n < end; n++ {
		a, b := l.At(n), o.At(n)
		state := LineNoCode
		for _, s := range []LineState{LineRan, LineUnknown, LineNotRun} {
			if a == s || b == s {
				state = s
				break
			}
		}
		states = append(states, byte(state))
	}
	return Lines{first, string(states)}
}

// finishLines keeps the lines that are known. Where one of the parts does not know, no line
// is known not to have run.
func (j *joiner) finishLines() {
	for id, l := range j.lines {
		if l.known.States == "" {
			continue
		}
		if l.unknown {
			l.known.States = strings.ReplaceAll(l.known.States, string(rune(LineNotRun)), string(rune(LineUnknown)))
		}
		if j.out.Lines == nil {
			j.out.Lines = map[FuncID]Lines{}
		}
		j.out.Lines[FuncID(id)] = l.known
	}
}

// lose takes up a loss. What all processes of a program lack is one.
func (j *joiner) lose(process int, l Loss, rename func(string) string) {
	l.Function = rename(l.Function)
	if ids := j.ids[process+1]; process < 0 && l.Nodes > 0 && l.Nodes <= int64(len(ids)) {
		l.Nodes = int64(ids[l.Nodes-1]) + 1
	} else {
		l.Nodes = 0
	}
	if process >= 0 && l.Function == "" {
		in := "in " + baseName(j.out.Processes[process].Program)
		if l.Detail != "" {
			in += ": "
		}
		l.Detail = in + l.Detail
	}
	key := Loss{Kind: l.Kind, Function: l.Function}
	if l.Function == "" {
		key.Detail = l.Detail
	}
	i, ok := j.losses[key]
	switch {
	case !ok:
		j.losses[key] = len(j.out.Losses)
		j.out.Losses = append(j.out.Losses, l)
	case l.Function != "":
		j.out.Losses[i].Count = max(j.out.Losses[i].Count, l.Count)
	default:
		j.out.Losses[i].Count += l.Count
	}
}

// joined reports whether t has nodes of several traces.
func (t *Trace) joined() bool {
	return slices.ContainsFunc(t.Nodes, func(n Node) bool { return n.Process != 0 })
}
