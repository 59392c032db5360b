package calltree_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tracerag/calltree"
	"tracerag/trace"
)

var update = flag.Bool("update", false, "rewrite the outputs in testdata/*.txt")

// TestGolden runs the files in testdata. A file has sections, each under a
// line "-- name --". The sections trace, other and baseline are input, in the
// notation of parseTrace. A section "process in=trace main=PATH program=FILE parent=N
// caller=N before=N" is the trace of a process of another one, which is joined to it. The
// name of any other section is a command, and its text what the command prints: see command. After a change that is meant,
// run: go test ./calltree -update
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			comment, sections := split(strings.ReplaceAll(string(text), "\r\n", "\n"))
			in, parts := map[string]*trace.Trace{}, map[string][]*trace.Trace{}
			for _, s := range sections {
				switch s.name {
				case "trace", "other", "baseline":
					in[s.name] = parseTrace(t, s.text)
				}
				if isProcess(s.name) {
					parseProcess(t, s, in, parts)
				}
			}
			for name, list := range parts {
				var err error
				if in[name], err = in[name].Join(list); err != nil {
					t.Fatal(err)
				}
			}
			var out bytes.Buffer
			out.WriteString(comment)
			for _, s := range sections {
				got := s.text
				if in[s.name] == nil && !isProcess(s.name) {
					got = command(t, s.name, in)
					if got != s.text && !*update {
						t.Errorf("%s:\n got:\n%s\nwant:\n%s", s.name, got, s.text)
					}
				}
				fmt.Fprintf(&out, "-- %s --\n%s", s.name, got)
			}
			if *update {
				if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func isProcess(name string) bool { return strings.HasPrefix(name, "process ") }

// parseProcess adds a process to a trace that came before, and its own trace to those parts.
func parseProcess(t *testing.T, s section, in map[string]*trace.Trace, parts map[string][]*trace.Trace) {
	of := map[string]string{}
	for _, word := range strings.Fields(s.name)[1:] {
		key, value, _ := strings.Cut(word, "=")
		of[key] = value
	}
	root := in[of["in"]]
	root.Program.MainPath = "example.com/app"
	p := trace.Process{Program: of["program"], Command: []string{of["program"]}, Why: of["why"]}
	for key, to := range map[string]*int{"parent": &p.Parent, "before": &p.Before} {
		*to, _ = strconv.Atoi(of[key])
	}
	caller, _ := strconv.Atoi(of["caller"])
	p.Caller = trace.NodeRef(caller)
	var part *trace.Trace
	if p.Why == "" {
		p.Trace = fmt.Sprintf("%08d", len(root.Processes)+1)
		part = parseTrace(t, s.text)
		part.Program.MainPath = of["main"]
	}
	root.Processes = append(root.Processes, p)
	parts[of["in"]] = append(parts[of["in"]], part)
	if err := root.Check(); err != nil {
		t.Fatal(err)
	}
}

type section struct{ name, text string }

var heading = regexp.MustCompile(`(?m)^-- (.+) --\n`)

func split(text string) (comment string, sections []section) {
	at := heading.FindAllStringSubmatchIndex(text, -1)
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		sections = append(sections, section{text[m[2]:m[3]], text[m[1]:end]})
	}
	return text[:at[0][0]], sections
}

// command runs one command: words, of which the last is the output (text,
// json, dot, mermaid, diff, diffcontext, diffjson) and the others come before it, in order:
//
//	graph, init     options of Build
//	prune           by the baseline; prints how many nodes went, in text
//	other           the tree of the other trace instead
//	merge           both as one
//	focus=PATTERN   narrow, to several that + joins; prints the error if there is one
//	depth=N max=N   what to show
//	fold=FUNC,...   without the subtrees of these, which marks replace
//	bare            without counts and positions
//	ids color       with these
//	compact         as people and agents read it; package lib is a dependency
//	limit=N         of Build; prints its error if there is one
//	uncounted       of a diff: counts do not matter
//	unordered       nor does the order
//	around=N        of diffcontext
//	values          with the values of observed calls
//	without=PACKAGE leave its functions out
func command(t *testing.T, words string, in map[string]*trace.Trace) string {
	t.Helper()
	var o calltree.Options
	view := calltree.View{Counts: true, Positions: true, Command: "tracerag tree 7f3a"}
	source := "trace"
	prune, merge := false, false
	var ignore []calltree.Ignore
	around, without := 0, ""
	focus := ""
	args := strings.Fields(words)
	for _, arg := range args[:len(args)-1] {
		key, value, _ := strings.Cut(arg, "=")
		n, _ := strconv.Atoi(value)
		switch key {
		case "graph":
			o.Mode = calltree.Graph
		case "init":
			o.KeepInit = true
		case "limit":
			o.MaxNodes = n
		case "prune":
			prune = true
		case "uncounted":
			ignore = append(ignore, calltree.IgnoreCounts)
		case "unordered":
			ignore = append(ignore, calltree.IgnoreOrder)
		case "around":
			around = n
		case "without":
			without = value
		case "other":
			source = "other"
		case "merge":
			merge = true
		case "focus":
			focus = value
		case "depth":
			view.Depth = n
		case "max":
			view.MaxNodes = n
		case "fold":
			view.Fold = func(n *calltree.Node) bool { return slices.Contains(strings.Split(value, ","), n.Func.Name) }
		case "values":
			view.Values = true
		case "compact":
			view.Compact = true
			view.Dependency = func(fn *trace.Function) bool { return fn.Package == "lib" }
		case "bare":
			view.Counts, view.Positions = false, false
		case "ids":
			view.IDs = true
		case "color":
			view.Color = new(string)
		default:
			t.Fatalf("no such word: %s", arg)
		}
	}
	build := func(name string) *calltree.Tree {
		tree, err := calltree.Build(in[name], o)
		if err != nil {
			t.Fatal(err)
		}
		if without != "" {
			tree = tree.Without(func(n *calltree.Node) bool { return n.Func.Package == without })
		}
		return tree
	}
	if o.MaxNodes > 0 {
		if _, err := calltree.Build(in[source], o); err != nil {
			return err.Error() + "\n"
		}
	}
	tree := build(source)
	if merge {
		tree = calltree.Merge(tree, build("other"))
	}
	var out bytes.Buffer
	if prune {
		fmt.Fprintf(&out, "removed %d\n", tree.Prune(build("baseline")))
	}
	if focus != "" {
		var err error
		if tree, err = tree.Focus(strings.Split(focus, "+")...); err != nil {
			return err.Error() + "\n"
		}
	}
	var err error
	switch output := args[len(args)-1]; output {
	case "text":
		err = tree.WriteText(&out, view)
	case "json":
		err = tree.WriteJSON(&out)
	case "dot":
		err = tree.WriteDOT(&out, view)
	case "mermaid":
		err = tree.WriteMermaid(&out, view)
	case "sequence":
		err = tree.WriteSequence(&out, view)
	case "speedscope":
		err = tree.WriteSpeedscope(&out, "./app --csv")
	case "chrome":
		err = tree.WriteChrome(&out, "./app --csv")
	case "appmap":
		err = tree.WriteAppMap(&out, calltree.AppMap{Title: "./app --csv", GoVersion: "go1.26.0", Recorder: "probe"})
	case "diff":
		err = calltree.Compare(tree, build("other"), ignore...).WriteText(&out, view)
	case "diffcontext":
		err = calltree.Compare(tree, build("other"), ignore...).WriteContext(&out, view, around)
	case "diffjson":
		err = calltree.Compare(tree, build("other"), ignore...).WriteJSON(&out)
	default:
		t.Fatalf("no such output: %s", output)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// parseTrace reads a trace from lines, one a call, each indented two spaces
// more than its caller:
//
//	main main.main
//	  main.run 12 x3
//	  main.draw 14 inlined via
//	go main.worker in main.run 31
//	go main.serve in lib.Start 7 by main.run
//	go main.lost
//	init main.init
//
// A root line starts with its kind. After the name come the line of the call,
// the number of calls (1 if left out), and marks; floor and approx are marks
// of the count. Of a goroutine, in is the function with the go statement, then
// its line, and by the function whose last node created it, the same one if
// left out, or ? if it is not known. Words that repeat an earlier path add to
// it. Below a call, a line that begins with = is one of its calls that was observed,
// "name:type=text ... -> type=text ...", with the texts in Go's quotes where they have
// spaces, or -| at the end if it did not return. The first word "sampled" on a line of its own makes counts samples.
func parseTrace(t testing.TB, text string) *trace.Trace {
	t.Helper()
	tr := &trace.Trace{}
	b := trace.NewBuilder(tr)
	fn := func(name string) trace.FuncID {
		pkg, _, _ := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ".")
		for i := range tr.Functions {
			if tr.Functions[i].Name == name {
				return trace.FuncID(i)
			}
		}
		return b.Func(trace.Function{
			Name: name, Package: pkg, File: "/src/" + pkg + "/" + pkg + ".go", StartLine: 10 * (len(tr.Functions) + 1),
		})
	}
	var root trace.Root
	var stack []trace.Frame
	var last trace.NodeID
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
			continue
		case words[0] == "sampled":
			tr.Sampled = true
			continue
		}
		if words[0] == "=" {
			tr.Activations = append(tr.Activations, parseActivation(t, last, line))
			continue
		}
		depth := (len(line) - len(strings.TrimLeft(line, " "))) / 2
		if depth > len(stack) {
			t.Fatalf("indented too far: %q", line)
		}
		stack = stack[:depth]
		if depth == 0 {
			root = trace.Root{Kind: map[string]trace.RootKind{
				"main": trace.RootMain, "init": trace.RootInit, "go": trace.RootGoroutine, "callback": trace.RootCallback,
			}[words[0]]}
			if root.Kind == "" {
				t.Fatalf("no such root: %q", line)
			}
			words = words[1:]
		}
		frame := trace.Frame{Func: fn(words[0])}
		calls := int64(1)
		var marks trace.Flags
		creator := ""
		for i := 1; i < len(words); i++ {
			switch w := words[i]; {
			case w == "inlined":
				frame.Inlined = true
			case w == "via":
				frame.Via = true
			case w == "floor":
				marks |= trace.Floor
			case w == "approx":
				marks |= trace.Approximate
			case w == "in":
				i++
				root.Go.Func = words[i]
				pkg, _, _ := strings.Cut(words[i], ".")
				root.Go.File = "/src/" + pkg + "/" + pkg + ".go"
				creator = words[i]
			case w == "by":
				i++
				creator = words[i]
			case w[0] == 'x':
				calls = atoi(t, w[1:])
			case root.Kind == trace.RootGoroutine && depth == 0:
				root.Go.Line = int(atoi(t, w))
			default:
				frame.CallLine = int(atoi(t, w))
			}
		}
		for i := range tr.Nodes {
			if creator != "" && tr.Functions[tr.Nodes[i].Func].Name == creator {
				root.Go.Creator = trace.NodeID(i).Ref()
			}
		}
		stack = append(stack, frame)
		id := b.Call(root, stack, calls)
		last = id
		tr.Nodes[id].Flags |= marks
	}
	if err := tr.Check(); err != nil {
		t.Fatalf("the input is no trace: %v", err)
	}
	return tr
}

func atoi(t testing.TB, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatalf("no number: %q", s)
	}
	return n
}

// observedWord is one value of an observed call.
var observedWord = regexp.MustCompile(`(\S*?)=("(?:[^"\\]|\\.)*"(?:\.\.\.)?|\S+)|->|-\|`)

func parseActivation(t testing.TB, node trace.NodeID, line string) trace.Activation {
	t.Helper()
	a := trace.Activation{Node: node, Returned: true}
	list := &a.Args
	_, line, _ = strings.Cut(line, "=")
	for _, m := range observedWord.FindAllStringSubmatch(line, -1) {
		switch m[0] {
		case "->":
			list = &a.Results
			continue
		case "-|":
			a.Returned = false
			continue
		}
		name, typ, ok := strings.Cut(m[1], ":")
		if !ok {
			name, typ = "", name
		}
		v := trace.Value{Name: name, Type: typ, Text: m[2], Cut: strings.Contains(m[2], "...")}
		if v.Text == "?" {
			v.Text, v.Unread = "", "not readable"
		}
		*list = append(*list, v)
	}
	return a
}
