package main

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"tracerag/calltree"
	"tracerag/phrase"
	"tracerag/source"
	"tracerag/trace"
	"tracerag/trace/store"
	"tracerag/visible"
)

// treeFlags choose the tree that a trace is seen as.
type treeFlags struct {
	mode      string
	init      bool
	focus     []string
	baseline  string
	maxNodes  int
	sourceDir []string
	sources   shows // whether what is made of it shows sources, too
}

func (t *treeFlags) add(f *pflag.FlagSet) {
	addChoice(f, &t.mode, "tree", "the tree's `MODE`: context, a node for each calling context; or graph, the\npaper's tree, the call graph unfolded", "context", "graph")
	f.BoolVar(&t.init, "init", false, "show package initialisation, too")
	f.StringArrayVar(&t.focus, "focus", nil, "only `FUNC` with what it calls and the way to it; a name (table.Render,\n(*T).M), a pattern with *, or a handle of the tree (#12); may be repeated")
	f.IntVar(&t.maxNodes, "graph-nodes", 0, "limit of --tree=graph, in `NODES` (default 100000)")
	f.StringArrayVar(&t.sourceDir, "source-dir", nil, "look for sources in `DIR`, too; may be repeated")
}

// addBaseline is apart: run reads the flag differently.
func (t *treeFlags) addBaseline(f *pflag.FlagSet) {
	f.StringVar(&t.baseline, "baseline", "", "leave out what `TRACE` did, too (default: the baseline that the run was made\nwith; none for no baseline)")
}

// view is one trace as it is looked at: its tree, pruned and focused, and its
// sources.
type view struct {
	trace   *trace.Trace
	entry   store.Entry
	tree    *calltree.Tree
	whole   int // nodes before pruning
	pruned  int
	base    string // what was pruned by, "" none
	bases   []*trace.Trace
	sources *source.Resolver
	flags   []string // that chose this tree, for commands shown to the user
}

// open loads traces and looks at each. Several are pruned by the same runs, the
// baselines of all of them, so that they compare.
func (a *app) open(s *store.Store, names []string, t *treeFlags) ([]*view, error) {
	defer a.wait("reading " + strings.Join(names, ", "))()
	var views []*view
	for _, name := range names {
		tr, e, err := a.loadRaw(s, name)
		if err != nil {
			return nil, err
		}
		v := &view{trace: tr, entry: e, sources: a.resolver(tr, t.sourceDir)}
		a.learn(tr, v.sources, t.sources)
		views = append(views, v)
	}
	for _, v := range views {
		v.trace = a.maskedTrace(v.trace)
	}
	base, err := a.loadBaselines(s, views, t)
	if err != nil {
		return nil, err
	}
	for _, v := range views {
		if err := v.look(base, t); err != nil {
			return nil, err
		}
	}
	return views, nil
}

// loadBaselines loads the runs that are pruned by: the one that is named, or
// else those that the views' runs were made with.
func (a *app) loadBaselines(s *store.Store, views []*view, t *treeFlags) ([]*trace.Trace, error) {
	switch t.baseline {
	case "none":
		return nil, nil
	case "":
	default:
		base, _, err := loadBaseline(s, t.baseline)
		if err != nil {
			return nil, fmt.Errorf("--baseline: %w", err)
		}
		return []*trace.Trace{a.maskedTrace(base)}, nil
	}
	var out []*trace.Trace
	var seen []string
	for _, v := range views {
		id := v.trace.Baseline
		if id == "" || slices.Contains(seen, id) {
			continue
		}
		seen = append(seen, id)
		base, _, err := baselines(s).Load(id)
		if err != nil {
			base, _, err = s.Load(id)
		}
		if err != nil {
			a.note("the baseline %s of trace %s is gone: nothing is pruned by it", id, v.entry.ID)
			continue
		}
		out = append(out, a.maskedTrace(base))
	}
	return out, nil
}

// look builds the tree, prunes and focuses it.
func (v *view) look(base []*trace.Trace, t *treeFlags) error {
	if v.sources == nil {
		v.sources = source.New(sourceConfig(v.trace, t.sourceDir))
	}
	v.bases = base
	o := calltree.Options{KeepInit: t.init, MaxNodes: t.maxNodes}
	if t.mode == "graph" {
		o.Mode = calltree.Graph
		v.flags = append(v.flags, "--tree=graph")
	}
	if t.maxNodes != 0 {
		v.flags = append(v.flags, fmt.Sprintf("--graph-nodes=%d", t.maxNodes))
	}
	if t.init {
		v.flags = append(v.flags, "--init")
	}
	for _, dir := range t.sourceDir {
		v.flags = append(v.flags, "--source-dir="+phrase.Quote(dir))
	}
	if t.baseline != "" {
		v.flags = append(v.flags, "--baseline="+phrase.Quote(t.baseline))
	}
	var err error
	if v.tree, err = calltree.Build(v.trace, o); err != nil {
		return err
	}
	v.whole = v.tree.Size
	if len(base) > 0 {
		var trees []*calltree.Tree
		for _, b := range base {
			tree, err := calltree.Build(b, o)
			if err != nil {
				return fmt.Errorf("baseline: %w", err)
			}
			trees = append(trees, tree)
		}
		v.base = title(base[0])
		v.pruned = v.tree.Prune(calltree.Merge(trees...))
	}
	return v.focus(t.focus)
}

// focus narrows the tree to what matches any of the patterns.
func (v *view) focus(patterns []string) (err error) {
	if len(patterns) > 0 {
		v.tree, err = v.tree.Focus(patterns...)
	}
	return err
}

// baselines is the store of the runs that were made only to be pruned by; they
// are no runs that @last and @prev should mean.
func baselines(s *store.Store) *store.Store { return s.Within("baselines") }

func sourceConfig(tr *trace.Trace, roots []string) source.Config {
	p := &tr.Program
	c := source.Config{
		Main: sourceModule(p.Main), MainPackage: p.MainPath, Dir: tr.Dir, GoVersion: p.GoVersion, GOOS: p.GOOS, GOARCH: p.GOARCH, Built: p.ModTime, Roots: roots,
	}
	for _, m := range p.Deps {
		c.Deps = append(c.Deps, sourceModule(m))
	}
	// A program that was run outside of its module still tells where that is.
	for _, f := range tr.Functions {
		if f.Package == p.MainPath && filepath.IsAbs(f.File) {
			c.Roots = append(slices.Clip(roots), filepath.Dir(f.File))
			break
		}
	}
	return c
}

func sourceModule(m trace.Module) source.Module {
	out := source.Module{Path: m.Path, Version: m.Version}
	if m.Replace != nil {
		out.ReplacePath, out.ReplaceVersion = m.Replace.Path, m.Replace.Version
	}
	return out
}

// text returns the source of a function of the trace.
func (v *view) text(f trace.Function) source.Text {
	return v.sources.Find(sourceFunc(&f))
}

func sourceFunc(f *trace.Function) source.Func {
	return source.Func{Name: f.Name, Package: f.Package, File: f.File, StartLine: f.StartLine}
}

// resolver finds the sources of a trace as it was recorded.
func (a *app) resolver(tr *trace.Trace, roots []string) *source.Resolver {
	return source.New(sourceConfig(tr, roots))
}

// file returns the name under which a function's file is shown in a tree: in the
// program's own module the path within it, elsewhere the base name, since the
// function's name has its package.
func (v *view) file(f *trace.Function) string {
	if main := v.trace.Program.Main.Path; main != "" && (f.Package == main || strings.HasPrefix(f.Package, main+"/")) {
		if t := v.text(*f); t.Display != "" {
			return t.Display
		}
	}
	return path.Base(strings.ReplaceAll(f.File, "\\", "/"))
}

// notes are what the trace lacks, for people and for prompts: stable lines,
// most important first.
func (v *view) notes() []string { return lossNotes(v.trace) }

func lossNotes(tr *trace.Trace) []string {
	var floors, unhooked, partly int
	var rest []trace.Loss
	for _, l := range tr.Losses {
		switch {
		case l.Kind == trace.LossFloor:
			floors++
		case l.Kind == trace.LossNotHooked && l.Function != "" && l.Count == 0:
			unhooked++
		case l.Kind == trace.LossNotHooked && l.Function != "":
			partly++
		default:
			rest = append(rest, l)
		}
	}
	out := lossTexts(rest, "")
	if floors > 0 {
		out = append(out, fmt.Sprintf("%s called so often that watching %s was given up: counts with a + are floors, and later callers are missing",
			phrase.Plural(floors, "function was", "functions were"), pronoun(floors)))
	}
	if unhooked > 0 {
		out = append(out, fmt.Sprintf("%s could not be watched", phrase.Plural(unhooked, "function", "functions")))
	}
	if partly > 0 {
		out = append(out, fmt.Sprintf("some inlined calls of %s could not be watched: those that called nothing are missing", phrase.Plural(partly, "function", "functions")))
	}
	return out
}

// lossText says one loss in words.
func lossText(l trace.Loss) string {
	s := phrase.Number(l.Count)
	switch l.Kind {
	case trace.LossNotHooked:
		s = firstOf(l.Function, "calls") + " could not be watched"
		if l.Count > 0 {
			s += " at " + phrase.Plural(l.Count, "place", "places")
		}
	case trace.LossFloor:
		s = l.Function + " was let go after " + phrase.Plural(l.Count, "call", "calls")
	case trace.LossOverflow:
		s = phrase.Plural(l.Count, "call", "calls") + " not recorded"
		if l.Nodes > 0 {
			s += fmt.Sprintf(", in contexts that came after the first %s", phrase.Plural(l.Nodes, "node", "nodes"))
		}
	case trace.LossTruncated:
		s = "the recording is cut short"
		if l.Count > 0 {
			s = "cut short, " + phrase.Plural(l.Count, "time", "times")
		}
	case trace.LossSampled:
		s = phrase.Plural(l.Count, "sample", "samples") + " only"
	}
	switch {
	case l.Kind == trace.LossOther && l.Count == 0:
		return l.Detail
	case l.Detail != "":
		s += ": " + l.Detail
	}
	return s
}

func pronoun(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// title names a run by its command line. An imported profile has none: nobody
// knows how its program was started.
func title(tr *trace.Trace) string {
	switch {
	case len(tr.Command) > 0:
		return visible.Line(phrase.CommandLine(tr.Command))
	case tr.Program.Path != "":
		return "profile of " + visible.Line(phrase.Quote(tr.Program.Path))
	}
	return "profile of a program"
}
