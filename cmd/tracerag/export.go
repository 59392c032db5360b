package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"tracerag/atomicfile"
	"tracerag/calltree"
	"tracerag/output"
	"tracerag/phrase"
	"tracerag/session"
	"tracerag/trace/export"
	"tracerag/trace/store"
)

// exportFormat is a format of one of two sorts: of the trace, with all that is in
// it, or of the call tree as tree shows it.
type exportFormat struct {
	export.Format
	tree    func(io.Writer, *session.View, calltree.View) error // nil: of the trace
	drawing bool                                                // bounded, since people look at it as it is
}

// exportFormats are all formats, those of the trace first.
func exportFormats() []exportFormat {
	var out []exportFormat
	for _, f := range export.Formats() {
		out = append(out, exportFormat{Format: f})
	}
	whole := func(name, ext, about string, write func(io.Writer, *session.View, calltree.View) error) {
		out = append(out, exportFormat{Format: export.Format{Name: name, Ext: ext, About: about}, tree: write})
	}
	drawing := func(name, ext, about string, write func(*calltree.Tree, io.Writer, calltree.View) error) {
		draw := func(w io.Writer, v *session.View, o calltree.View) error { return write(v.Tree, w, o) }
		out = append(out, exportFormat{Format: export.Format{Name: name, Ext: ext, About: about}, tree: draw, drawing: true})
	}
	whole("speedscope", ".speedscope.json", "flame graphs in speedscope, one in the order of first calls",
		func(w io.Writer, v *session.View, _ calltree.View) error { return v.Tree.WriteSpeedscope(w, v.Title()) })
	whole("chrome", ".trace.json", "trace events for Perfetto and chrome://tracing, a track for each goroutine",
		func(w io.Writer, v *session.View, _ calltree.View) error { return v.Tree.WriteChrome(w, v.Title()) })
	whole("appmap", ".appmap.json", "calls and returns with observed values, for the viewers of AppMap",
		func(w io.Writer, v *session.View, _ calltree.View) error {
			return v.Tree.WriteAppMap(w, calltree.AppMap{Title: v.Title(), GoVersion: v.Trace.Program.GoVersion, Recorder: v.Trace.Recorder})
		})
	drawing("dot", ".dot", "the tree, drawn by Graphviz", (*calltree.Tree).WriteDOT)
	drawing("mermaid", ".mmd", "the tree as a flowchart, drawn by Mermaid", (*calltree.Tree).WriteMermaid)
	drawing("sequence", ".sequence.mmd", "types and packages, and who calls whom when, drawn by Mermaid", (*calltree.Tree).WriteSequence)
	return out
}

func runExport(a *app, _ context.Context, c *command, args []string) int {
	var help strings.Builder
	help.WriteString("\nexport writes a trace in another tool's format, to standard output or to a file.\nFormats with everything in the trace:\n\n")
	formats := exportFormats()
	var names []string
	for i, f := range formats {
		names = append(names, f.Name)
		if i > 0 && f.tree != nil && formats[i-1].tree == nil {
			help.WriteString("\nFormats with the call tree, as tree shows it (without package initialisation and\nwithout the baseline's calls):\n\n")
		}
		fmt.Fprintf(&help, "  %-11s%s\n", f.Name, f.About)
	}
	f := a.flags(c, help.String())
	var t treeFlags
	var name string
	addChoice(f, &name, "format", "the `FORMAT`, one of the above", names...)
	out := f.StringP("output", "o", "-", "write to `FILE`")
	largest := byteSize(exportCeiling)
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
	case flag != "" && format.tree == nil:
		return a.usage(c, fmt.Sprintf("--%s: %s has all that is in the trace; speedscope, for one, has the tree", flag, format.Name))
	case firstChanged(ofDrawings) != "" && !format.drawing:
		return a.usage(c, fmt.Sprintf("--%s: %s has the whole tree, which --focus narrows", firstChanged(ofDrawings), format.Name))
	}
	if format.Binary && *out == "-" && terminal(a.stdout) {
		return a.usage(c, fmt.Sprintf("%s is binary, and standard output a terminal: write it to a file with -o run%s, or pipe it", format.Name, format.Ext))
	}
	s, err := a.store()
	if err != nil {
		return a.fail(err)
	}
	write, err := a.exporter(s, operand, format, &t, calltree.View{Depth: *depth, MaxNodes: *nodes})
	if err == nil {
		err = a.writeTo(*out, format.kind(), func(w io.Writer) error {
			return write(&ceiling{w: w, left: int64(min(largest, math.MaxInt64)), most: largest})
		})
	}
	if err != nil {
		return a.fail(err)
	}
	return exitOK
}

// kind is what a format's text is.
func (f *exportFormat) kind() output.Kind {
	switch {
	case f.Binary:
		return output.Bytes
	case strings.HasSuffix(f.Ext, "json") || strings.HasSuffix(f.Ext, "jsonl"):
		return output.JSON
	}
	return output.Text
}

// exportCeiling is the size of the largest export that nobody has asked for. Some
// formats write the path of every node: a chain of functions becomes its square.
const exportCeiling = 1 << 30

// ceiling is a writer that takes so many bytes.
type ceiling struct {
	w    io.Writer
	left int64
	most byteSize
}

func (c *ceiling) Write(p []byte) (int, error) {
	if c.left -= int64(len(p)); c.left < 0 {
		return 0, fmt.Errorf("the export is larger than %s bytes\n--max-size allows more; --focus narrows the formats of the tree, and jsonl writes no path twice", phrase.Number(int64(c.most)))
	}
	return c.w.Write(p)
}

// exporter returns what writes a trace in a format.
func (a *app) exporter(s *store.Store, name string, format exportFormat, t *treeFlags, o calltree.View) (func(io.Writer) error, error) {
	if format.tree == nil {
		tr, _, err := a.session(s).Load(name)
		return func(w io.Writer) error { return format.Write(w, tr) }, err
	}
	views, err := a.open(s, []string{name}, t)
	if err != nil {
		return nil, err
	}
	v := views[0]
	a.treeNotes(v)
	o.Counts, o.Positions, o.File, o.Command = true, format.Name != "sequence", v.File, a.treeCommand(v, t)
	return func(w io.Writer) error { return format.tree(w, v, o) }, nil
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

// writeTo writes to standard output or to a file, which is whole or as it was before.
// What it holds is of a kind.
func (a *app) writeTo(name string, kind output.Kind, write func(io.Writer) error) error {
	buffered := func(to io.Writer) error {
		o := output.New(to, kind, a.knownSecrets)
		w := bufio.NewWriter(o)
		return cmp.Or(write(w), w.Flush(), o.Flush())
	}
	if name == "-" {
		return buffered(a.rawStdout())
	}
	return atomicfile.Write(name, buffered)
}
