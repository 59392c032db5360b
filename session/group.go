package session

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tracerag/calltree"
	"tracerag/phrase"
	"tracerag/trace"
	"tracerag/trace/store"
	"tracerag/visible"
)

// Join is [store.Store.Join]. A process whose trace cannot be read is left out:
// [Session.Warn] hears of that by a [*store.ProcessError].
func (s *Session) Join(tr *trace.Trace, e store.Entry) (*trace.Trace, int64) {
	joined, size, err := s.Store.Join(tr, e)
	if err != nil {
		s.warn(err)
	}
	return joined, size
}

// Group is a run with the processes that it started, each trace for itself.
type Group struct {
	Run   *trace.Trace
	Entry store.Entry
	// Processes are the traces of Run.Processes, nil of one that has none or whose trace cannot be
	// read: [Session.Warn] hears of these.
	Processes []*trace.Trace
}

// LoadGroup loads a run and its processes, to be shown whole, rather than as a tree: the one
// masked with what the others teach.
func (s *Session) LoadGroup(name string) (*Group, error) {
	tr, e, err := s.Store.Load(name)
	if err == nil {
		err = s.Mask.Err()
	}
	if err != nil {
		return nil, err
	}
	g := &Group{Entry: e, Processes: make([]*trace.Trace, len(tr.Processes))}
	of := s.Store.Group(e)
	for i := range tr.Processes {
		if id := tr.Processes[i].Trace; id != "" {
			if g.Processes[i], err = of.Load(id); err != nil {
				s.warn(&store.ProcessError{Trace: e.ID, Process: base(tr.Processes[i].Program) + " " + id, Count: 1, Err: err})
			}
		}
	}
	s.Mask.Learn(tr, Sources(tr, nil), WithoutSources)
	for _, p := range g.Processes {
		if p != nil {
			s.Mask.Learn(p, Sources(p, nil), WithoutSources)
		}
	}
	g.Run = s.Mask.Trace(tr)
	for i, p := range g.Processes {
		if p != nil {
			g.Processes[i] = s.Mask.Trace(p)
		}
	}
	return g, nil
}

// processNotes say which processes have no trace, by program and reason, in the order of
// their starts.
func processNotes(tr *trace.Trace) []string {
	type kind struct{ program, why string }
	var order []kind
	count := map[kind]int{}
	for i := range tr.Processes {
		p := &tr.Processes[i]
		if p.Trace != "" {
			continue
		}
		k := kind{base(p.Program), p.Why}
		if count[k]++; count[k] == 1 {
			order = append(order, k)
		}
	}
	const most = 10
	var out []string
	for _, k := range order[:min(len(order), most)] {
		n := ""
		if count[k] > 1 {
			n = phrase.Plural(count[k], "process", "processes") + " "
		}
		out = append(out, visible.Line(fmt.Sprintf("%s: %snot recorded: %s", cmp.Or(k.program, "a process"), n, cmp.Or(k.why, "the reason is unknown"))))
	}
	if more := len(order) - most; more > 0 {
		out = append(out, fmt.Sprintf("%s more programs not recorded", phrase.Number(more)))
	}
	return out
}

// processRows describe processes, a line each. Of many it describes a few; the hint says where
// they are listed.
func processRows(list []trace.Process, hint string) (out []string) {
	const most = 10
	for i := range list[:min(len(list), most)] {
		p := &list[i]
		line := cmp.Or(phrase.CommandLine(p.Command), base(p.Program))
		if p.Trace != "" {
			line = fmt.Sprintf("%s  %s  %s", p.Trace, cut(line, longTitle), phrase.Plural(p.Calls, "call", "calls"))
		} else {
			line = fmt.Sprintf("%s  not recorded: %s", cut(line, longTitle), p.Why)
		}
		out = append(out, line)
	}
	if more := len(list) - most; more > 0 {
		out = append(out, phrase.Number(more)+" more"+hint)
	}
	return out
}

// processes are the command lines of the processes that the tree shows, each behind the name
// of its program, in the order of the first starts.
func (v *View) processes() []string {
	shown := map[string]bool{}
	v.Tree.Walk(func(n *calltree.Node, _ int) bool {
		if n.Process != nil {
			shown[n.Process.Main] = true
		}
		return true
	})
	var order []string
	count := map[string]int{}
	for i := range v.Trace.Processes {
		p := &v.Trace.Processes[i]
		if p.Trace == "" || !shown[p.Main] {
			continue
		}
		line := base(p.Program) + ": " + cut(phrase.CommandLine(p.Command), longTitle)
		if count[line]++; count[line] == 1 {
			order = append(order, line)
		}
	}
	const most = 20
	var out []string
	for _, line := range order[:min(len(order), most)] {
		if count[line] > 1 {
			line += fmt.Sprintf(" (%s times)", phrase.Number(count[line]))
		}
		out = append(out, visible.Line(line))
	}
	if more := len(order) - most; more > 0 {
		out = append(out, fmt.Sprintf("%s more command lines", phrase.Number(more)))
	}
	return out
}

// mains are the main packages of a trace and, of a joined one, of its processes.
func mains(tr *trace.Trace) map[string]bool {
	of := map[string]bool{tr.Program.MainPath: true}
	for i := range tr.Processes {
		of[tr.Processes[i].Main] = true
	}
	delete(of, "")
	return of
}

// mainDirs are the directories of the main packages, as far as their functions tell.
func mainDirs(tr *trace.Trace) (dirs []string) {
	of := mains(tr)
	for _, f := range tr.Functions {
		if of[f.Package] && filepath.IsAbs(f.File) {
			delete(of, f.Package)
			dirs = append(dirs, filepath.Dir(f.File))
		}
	}
	return dirs
}

// ownModules are the modules that the programs of a trace are of.
func ownModules(tr *trace.Trace) []string {
	own := []string{tr.Program.Main.Path}
	for main := range mains(tr) {
		longest := ""
		for _, m := range tr.Program.Deps {
			if _, in := within(main, m.Path); in && len(m.Path) > len(longest) {
				longest = m.Path
			}
		}
		if _, in := within(main, tr.Program.Main.Path); !in && longest != "" {
			own = append(own, longest)
		}
	}
	return own
}

// isOwn reports whether a package is of one of the modules.
func isOwn(pkg string, modules []string) bool {
	return pkg == "main" || slices.ContainsFunc(modules, func(m string) bool {
		return m != "" && (pkg == m || strings.HasPrefix(pkg, m+"/"))
	})
}
