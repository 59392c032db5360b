package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"tracerag/calltree"
	"tracerag/export"
	"tracerag/output"
	"tracerag/phrase"
	"tracerag/terminal"
	"tracerag/trace"
	"tracerag/trace/store"
)

func runExport(a *app, _ context.Context, c *command, args []string) int {
	var help strings.Builder
	help.WriteString("\nexport writes a trace in another tool's format, to standard output or to a file.\nFormats with everything in the trace:\n\n")
	formats := export.Formats()
	var names []string
	for i, f := range formats {
		names = append(names, f.Name)
		if i > 0 && f.Of != export.Trace && formats[i-1].Of == export.Trace {
			help.WriteString("\nFormats with the call tree, as tree shows it (without package initialisation and\nwithout the baseline's calls):\n\n")
		}
		fmt.Fprintf(&help, "  %-11s%s\n", f.Name, f.About)
	}
	f := a.flags(c, help.String())
	var t treeFlags
	var name string
	addChoice(f, &name, "format", "the `FORMAT`, one of the above", names...)
	out := f.StringP("output", "o", "-", "write to `FILE`")
	largest := byteSize(export.Ceiling)
	f.Var(&largest, "max-size", "write at most `SIZE` (default 1GiB)")
	f.Lookup("max-size").DefValue = "" // said above, as people say it
	a.redactFlag(f)
	before := count(f)
	a.section(f, "Drawings: dot, mermaid, sequence")
	depth := f.Int("depth", 0, "show this many `LEVELS` only")
	nodes := f.Int("nodes", 0, "show this many `NODES`, the upper levels first (default 240, in a sequence\n100; -1: all)")
	ofDrawings := subset(f, before)
	a.section(f, "The call tree")
	t.add(f)
	t.addBaseline(f)
	ofTrees := subset(f, before)
	if code, ok := a.parse(c, f, args); !ok {
		return code
	}
	operand := "@last"
	switch f.NArg() {
	case 0:
	case 1:
		operand = f.Arg(0)
	default:
		return a.usage(c, "one trace at a time")
	}
	format := formats[slices.Index(names, name)]
	switch flag := firstChanged(ofTrees); {
	case flag != "" && format.Of == export.Trace:
		return a.usage(c, fmt.Sprintf("--%s: %s has all that is in the trace; speedscope, for one, has the tree", flag, format.Name))
	case firstChanged(ofDrawings) != "" && format.Of != export.Drawing:
		return a.usage(c, fmt.Sprintf("--%s: %s has the whole tree, which --focus narrows", firstChanged(ofDrawings), format.Name))
	}
	if format.Binary && *out == "-" && terminal.Is(a.stdout) {
		return a.usage(c, fmt.Sprintf("%s is binary, and standard output a terminal: write it to a file with -o run%s, or pipe it", format.Name, format.Ext))
	}
	s, err := a.store()
	if err != nil {
		return a.fail(err)
	}
	r, err := a.exported(s, operand, format, &t, calltree.View{Depth: *depth, MaxNodes: *nodes})
	if err == nil {
		err = a.writeTo(*out, kindOf(format), func(w io.Writer) error {
			return format.Write(export.Limit(w, int64(min(largest, math.MaxInt64))), r)
		})
	}
	if err != nil {
		return a.fail(err)
	}
	return exitOK
}

// kindOf is what a format's text is.
func kindOf(f export.Format) output.Kind {
	switch {
	case f.Binary:
		return output.Bytes
	case f.JSON():
		return output.JSON
	}
	return output.Text
}

// exported is what a format needs of a trace.
func (a *app) exported(s *store.Store, name string, format export.Format, t *treeFlags, o calltree.View) (r export.Run, err error) {
	if format.Of == export.Trace {
		if r.Trace, _, err = a.session(s).Load(name); err == nil {
			a.aloneNote(r.Trace)
		}
		return r, err
	}
	views, err := a.open(s, []string{name}, t)
	if err != nil {
		return r, err
	}
	v := views[0]
	a.treeNotes(v)
	o.Counts, o.Positions, o.File, o.Command = true, true, v.File, a.treeCommand(v, t)
	return export.Run{Trace: v.Trace, Tree: v.Tree, Title: v.Title(), View: o}, nil
}

// aloneNote says that what a run started has traces of its own.
func (a *app) aloneNote(tr *trace.Trace) {
	n, first := 0, ""
	for i := range tr.Processes {
		if id := tr.Processes[i].Trace; id != "" {
			n++
			first = cmp.Or(first, id)
		}
	}
	if n > 0 {
		a.note("%s: tracerag export%s %s, for one", phrase.Plural(n, "process has a trace of its own", "processes have traces of their own"), a.dirFlag(), first)
	}
}

// firstChanged returns the name of a flag of f that was given, "" for none.
func firstChanged(f *pflag.FlagSet) (name string) {
	f.VisitAll(func(flag *pflag.Flag) {
		if name == "" && flag.Changed {
			name = flag.Name
		}
	})
	return name
}
