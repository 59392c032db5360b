package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"tracerag/calltree"
	"tracerag/phrase"
	"tracerag/session"
	"tracerag/trace/store"
)

// treeFlags choose the tree that a trace is seen as.
type treeFlags struct {
	mode      string
	init      bool
	focus     []string
	baseline  string
	maxNodes  int
	sourceDir []string
	alone     bool
}

func (t *treeFlags) add(f *pflag.FlagSet) {
	addChoice(f, &t.mode, "tree", "the tree's `MODE`: context, a node for each calling context; or graph, the\npaper's tree, the call graph unfolded", "context", "graph")
	f.BoolVar(&t.init, "init", false, "show package initialisation, too")
	f.StringArrayVar(&t.focus, "focus", nil, "only `FUNC` with what it calls and the way to it; a name (table.Render,\n(*T).M), a pattern with *, or a handle of the tree (#12); may be repeated")
	f.IntVar(&t.maxNodes, "graph-nodes", 0, "limit of --tree=graph, in `NODES` (default 100000)")
	f.StringArrayVar(&t.sourceDir, "source-dir", nil, "look for sources in `DIR`, too; may be repeated")
}

// addBaseline is apart: run reads the flag differently, and chooses itself whether what the
// program starts is recorded.
func (t *treeFlags) addBaseline(f *pflag.FlagSet) {
	f.BoolVar(&t.alone, "no-children", false, "leave out the processes that the run started (run --children)")
	f.StringVar(&t.baseline, "baseline", "", "leave out what `TRACE` did (default: the baseline that the run was recorded with;\nnone: no baseline)")
}

// options are what the flags choose.
func (t *treeFlags) options() session.TreeOptions {
	o := session.TreeOptions{KeepInit: t.init, MaxNodes: t.maxNodes, Focus: t.focus, Baseline: t.baseline, SourceDirs: t.sourceDir, SourcesBy: "--source-dir", Alone: t.alone}
	if t.mode == "graph" {
		o.Mode = calltree.Graph
	}
	return o
}

// words are the flags that choose the same tree again, but for --focus.
func (t *treeFlags) words() []string {
	var out []string
	if t.mode == "graph" {
		out = append(out, "--tree=graph")
	}
	if t.maxNodes != 0 {
		out = append(out, fmt.Sprintf("--graph-nodes=%d", t.maxNodes))
	}
	if t.init {
		out = append(out, "--init")
	}
	if t.alone {
		out = append(out, "--no-children")
	}
	for _, dir := range t.sourceDir {
		out = append(out, "--source-dir="+phrase.Quote(dir))
	}
	if t.baseline != "" {
		out = append(out, "--baseline="+phrase.Quote(t.baseline))
	}
	return out
}

// warn says what the user should know and what ends nothing.
func (a *app) warn(err error) { a.note("%s", withWayOut(err)) }

// session opens traces of a store for this command.
func (a *app) session(s *store.Store) *session.Session {
	return &session.Session{Store: s, Mask: a.masker(), CacheDir: session.WordCache(), Warn: a.warn}
}

// open opens traces whose trees the flags choose.
func (a *app) open(s *store.Store, names []string, t *treeFlags) ([]*session.View, error) {
	defer a.wait("reading " + strings.Join(names, ", "))()
	return a.session(s).Open(names, t.options())
}

// openBoth opens two traces to be compared, or one, with the session that compares them.
func (a *app) openBoth(s *store.Store, names []string, t *treeFlags) ([]*session.View, *session.Session, error) {
	defer a.wait("reading " + strings.Join(names, ", "))()
	o := t.options()
	o.Compared = len(names) == 2
	look := a.session(s)
	views, err := look.Open(names, o)
	return views, look, err
}

// treeNotes says on standard error what is not in the tree.
func (a *app) treeNotes(v *session.View) {
	if pruned := v.PrunedNote(); pruned != "" {
		a.note("%s (%s)", pruned, showPruned)
	}
	for _, n := range v.Notes() {
		a.note("%s", n)
	}
	if !a.quiet {
		a.hint(lossWayOut(v.Trace))
	}
	if err := v.Empty(); err != nil {
		a.note("%s", withWayOut(err))
	}
}

// treeCommand is the command line that shows a view's tree.
func (a *app) treeCommand(v *session.View, t *treeFlags) string {
	return "tracerag tree" + a.dirFlag() + " " + strings.Join(append([]string{v.Entry.ID}, t.words()...), " ")
}

func entriesOf(views []*session.View) []store.Entry {
	var out []store.Entry
	for _, v := range views {
		out = append(out, v.Entry)
	}
	return out
}
