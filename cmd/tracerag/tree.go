package main

import (
	"cmp"
	"context"

	"tracerag/calltree"
	"tracerag/output"
)

const treeHelp = `
tree prints the call tree of a run: who called what, in the order of the first
calls, repeats merged, recursion folded.

  x3         called three times (plain: once); x200+ at least; x~200 about
  F:L        where the function is declared, at its first node; a file of another
             module begins with the module's short name, and :L is in the file above
  go at F:L  a goroutine, and the go statement that started it
  recursive  a call of a function above: what it calls is shown there
  via        unrecorded functions lie between
  [process: helper ab12cd34]  a program that the function above started, and the trace
             of it alone (after run --children)
  36|        36 levels, in place of their indent

With --focus, depth counts from the function, and the way to it is on its line:

  main.main > ... 34 more ... > codeblock.Render > highlight.highlight hl.go:165
  ... > highlight.options hl.go:90                    the same way as the line above
  load (again through App.Provision)     load ran App.Provision, which called load:
                                         what follows on the way may be from in there

After a run with --values each line ends with arguments and results of its calls:
  (s string = "a", n int = 3) -> error = nil; ("b", 3) -> nil; ...`

func runTree(a *app, _ context.Context, c *command, args []string) int {
	f := a.flags(c, treeHelp)
	var t treeFlags
	depth := f.Int("depth", 0, "show this many `LEVELS` only")
	nodes := f.Int("nodes", 0, "show this many `NODES` only, the upper levels first")
	var format string
	addChoice(f, &format, "format", "the `FORMAT`: text, json, dot, mermaid or sequence (export has others)", "text", "json", "dot", "mermaid", "sequence")
	json := f.Bool("json", false, "the same as --format=json")
	ids := f.Bool("ids", false, "show the handles that --focus takes")
	plain := f.Bool("no-positions", false, "leave out files and lines")
	bare := f.Bool("no-values", false, "leave out arguments and results (of run --values)")
	a.redactFlag(f)
	a.section(f, "The call tree")
	t.add(f)
	t.addBaseline(f)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	name, rest := "@last", f.Args()
	if len(rest) > 1 {
		return a.usage(c, "one trace at a time; compare takes two")
	}
	if len(rest) == 1 {
		name = rest[0]
	}
	s, err := a.store()
	if err != nil {
		return a.fail(err)
	}
	views, err := a.open(s, []string{name}, &t)
	if err != nil {
		return a.fail(err)
	}
	v := views[0]
	if *json {
		format = "json"
	}
	view := calltree.View{Depth: *depth, MaxNodes: *nodes, Counts: true, Positions: !*plain, IDs: *ids, Values: !*bare, Compact: true, Dependency: v.Dependency, Color: a.colors(), File: v.File,
		Command: a.treeCommand(v, &t)}
	switch format {
	case "json":
		w, end := a.printed(output.JSON)
		err = cmp.Or(v.Tree.WriteJSON(w), end())
	case "dot":
		err = v.Tree.WriteDOT(a.stdout, view)
	case "mermaid":
		err = v.Tree.WriteMermaid(a.stdout, view)
	case "sequence":
		err = v.Tree.WriteSequence(a.stdout, view)
	default:
		a.treeNotes(v)
		err = v.Tree.WriteText(a.stdout, view)
	}
	if err != nil {
		return a.fail(err)
	}
	return exitOK
}
