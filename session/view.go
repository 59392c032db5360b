package session

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tracerag/calltree"
	"tracerag/phrase"
	"tracerag/source"
	"tracerag/trace"
	"tracerag/trace/store"
	"tracerag/visible"
)

// View is one recorded run as it is looked at: its tree, pruned and focused, and its
// sources.
type View struct {
	Trace   *trace.Trace
	Entry   store.Entry
	Tree    *calltree.Tree
	Whole   int            // nodes of the tree before it was pruned
	Pruned  int            // nodes that a baseline did, too, and that are left out
	Base    string         // command lines of the runs that were pruned by; "": none
	Bases   []*trace.Trace // the runs that were pruned by
	Sources *source.Resolver

	// unpruned is the whole tree, of a view that is compared with another one, and focus
	// the handles in it that a focus is on; nil: there is none.
	unpruned *calltree.Tree
	focus    map[int]bool

	modules modules  // once a file was named
	own     []string // modules of the programs

	alone bool  // without the processes that the run started
	bytes int64 // of the files of all traces that were joined; 0: of the entry's alone
}

// look builds the tree, prunes and focuses it.
func (v *View) look(baselines []*trace.Trace, o TreeOptions) (err error) {
	if v.Sources == nil {
		v.Sources = o.sources(v.Trace)
	}
	v.Bases, v.own, v.alone = baselines, ownModules(v.Trace), o.Alone
	how := calltree.Options{Mode: o.Mode, KeepInit: o.KeepInit, MaxNodes: o.MaxNodes}
	if v.Tree, err = calltree.Build(v.Trace, how); err != nil {
		return err
	}
	v.Whole = v.Tree.Size
	if o.Compared {
		v.unpruned = v.Tree.Clone()
	}
	if len(baselines) > 0 {
		var trees []*calltree.Tree
		var titles []string
		for _, b := range baselines {
			tree, err := calltree.Build(b, how)
			if err != nil {
				return &BaselineError{Err: err}
			}
			trees = append(trees, tree)
			title := Title(b)
			if b.Name == trace.StartUp {
				title = "the start-up of " + title
			}
			if !slices.Contains(titles, title) {
				titles = append(titles, title)
			}
		}
		v.Base = strings.Join(titles, " or ")
		v.Pruned = v.Tree.Prune(calltree.Merge(trees...))
	}
	if len(o.Focus) == 0 {
		return nil
	}
	tree, err := v.Tree.Focus(o.Focus...)
	if o.Compared {
		v.focus = focused(v.unpruned, o.Focus...)
		v.Tree = &calltree.Tree{Sampled: v.Tree.Sampled} // if the other run has it, that is the difference
	}
	if err == nil {
		v.Tree = tree
	}
	return err
}

// Dependency reports whether a function is of another module than the program.
func (v *View) Dependency(f *trace.Function) bool {
	return !isOwn(f.Package, v.own)
}

// Title names the run by its command line, and a window by its name, too: windows of one
// program have nothing else to be told apart by.
func (v *View) Title() string {
	if tr := v.Trace; tr.Name != "" && tr.Test == (trace.Test{}) {
		return Title(tr) + ", window " + visible.Line(tr.Name)
	}
	return Title(v.Trace)
}

// PrunedNote says what a baseline has left out of the tree; "" if nothing.
func (v *View) PrunedNote() string { return prunedNote(v.Pruned, v.Base) }

func prunedNote(nodes int, base string) string {
	if nodes == 0 {
		return ""
	}
	return fmt.Sprintf("%s left out, which %s did, too", phrase.Plural(nodes, "node", "nodes"), cmp.Or(base, "the baseline"))
}

// Notes are what the trace lacks.
func (v *View) Notes() []string {
	if v.alone {
		return lossNotes(v.Trace)
	}
	return append(lossNotes(v.Trace), processNotes(v.Trace)...)
}

// Text returns the source of a function of the trace, with its secrets.
func (v *View) Text(f trace.Function) source.Text { return v.Sources.Find(sourceFunc(&f)) }

// readAhead reads the sources of the tree's functions, each of which will be asked for.
func (v *View) readAhead() {
	v.Sources.Ahead(func(yield func(source.Func) bool) {
		more := true
		v.Tree.Walk(func(n *calltree.Node, _ int) bool {
			more = more && yield(sourceFunc(n.Func))
			return more
		})
	})
}

// File returns the name under which a function's file is shown in a tree: in the
// program's own module the path within it, in a dependency the same behind the
// module's short name, elsewhere the base name.
func (v *View) File(f *trace.Function) string {
	if v.modules == nil {
		v.modules = newModules(v.Trace)
	}
	if _, ok := within(f.Package, v.Trace.Program.Main.Path); ok {
		if t := v.Text(*f); t.Display != "" {
			return v.modules.shown(t.Display)
		}
	}
	if file := v.modules.file(f); file != "" {
		return file
	}
	return base(f.File)
}

// Title names a run by its command line. An imported profile has none: its
// program's command is unknown.
func Title(tr *trace.Trace) string {
	switch {
	case len(tr.Command) > 0:
		return visible.Line(phrase.CommandLine(tr.Command))
	case tr.Program.Path != "":
		return "profile of " + visible.Line(phrase.Quote(tr.Program.Path))
	}
	return "profile of a program"
}

// Sources finds the sources of a trace as it was recorded, in more directories, too.
func Sources(tr *trace.Trace, dirs []string) *source.Resolver {
	return TreeOptions{SourceDirs: dirs}.sources(tr)
}

func (o TreeOptions) sources(tr *trace.Trace) *source.Resolver {
	c := sourceConfig(tr, o.SourceDirs)
	c.RootsBy = o.SourcesBy
	return source.New(c)
}

func sourceConfig(tr *trace.Trace, roots []string) source.Config {
	p := &tr.Program
	c := source.Config{
		Main: sourceModule(p.Main), MainPackage: p.MainPath, Dir: tr.Dir, GoVersion: p.GoVersion, GOOS: p.GOOS, GOARCH: p.GOARCH, Built: p.ModTime, Roots: roots,
	}
	for _, m := range p.Deps {
		c.Deps = append(c.Deps, sourceModule(m))
	}
	// A program that was run outside of its module still tells where that is.
	c.Roots = append(slices.Clip(roots), mainDirs(tr)...)
	return c
}

func sourceModule(m trace.Module) source.Module {
	out := source.Module{Path: m.Path, Version: m.Version}
	if m.Replace != nil {
		out.ReplacePath, out.ReplaceVersion = m.Replace.Path, m.Replace.Version
	}
	return out
}

func sourceFunc(f *trace.Function) source.Func {
	return source.Func{Name: f.Name, Package: f.Package, File: f.File, StartLine: f.StartLine}
}
