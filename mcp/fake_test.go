package mcp

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tracerag/calltree"
	"tracerag/prompt"
	"tracerag/rank"
	"tracerag/session"
	"tracerag/source"
	"tracerag/trace"
	"tracerag/trace/symbol"
)

// secret is in the texts of the fake traces wherever a program's or its user's
// can; the fake mask hides it.
const secret = "hunter2-hunter2"

func hide(s string) string { return strings.ReplaceAll(s, secret, "[REDACTED]") }

// fake is a backend of traces that are made by hand, the newest last.
type fake struct {
	traces []*fakeTrace
	opened []string // names, as the server resolved them
}

type fakeTrace struct {
	id, command string
	trace       *trace.Trace
	tree        func() *calltree.Tree // built once
}

func (f *fake) List() (int, iter.Seq[Listed], error) {
	return len(f.traces), func(yield func(Listed) bool) {
		for i, t := range slices.Backward(f.traces) {
			l := Listed{ID: t.id, Title: t.command, Saved: time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC), Exit: t.trace.Exit.String(),
				Calls: t.trace.Calls(), Functions: len(t.trace.Functions)}
			if !yield(l) {
				return
			}
		}
	}, nil
}

func (f *fake) find(name string) (*fakeTrace, error) {
	back := map[string]int{"@last": 1, "@prev": 2}[name]
	if back > 0 && back <= len(f.traces) {
		return f.traces[len(f.traces)-back], nil
	}
	for _, t := range f.traces {
		if t.id == strings.TrimSuffix(filepath.Base(name), ".pb.gz") {
			return t, nil
		}
	}
	return nil, fmt.Errorf("no trace %s: did you mean %s? list_traces shows all", name, f.traces[0].id)
}

func (f *fake) Open(whole bool, names ...string) (*View, error) {
	v := &View{}
	var runs []rank.Run
	var prompts []prompt.Run
	text := func(fn trace.Function) source.Text { return fakeSource(fn.Name) }
	for _, name := range names {
		f.opened = append(f.opened, name)
		t, err := f.find(name)
		if err != nil {
			return nil, err
		}
		tree := t.tree()
		r := &session.Run{ID: t.id, Title: t.command, Trace: t.trace, Tree: tree, Source: text, Notes: []string{"2 functions could not be watched"}}
		if !whole {
			tree.Walk(func(n *calltree.Node, _ int) bool {
				r.Pruned += len(strings.Split(n.Func.Name, "Flags")) - 1
				return true
			})
			r.Tree = tree.Without(func(n *calltree.Node) bool { return strings.HasSuffix(n.Func.Name, "Flags") })
		}
		r.File = func(fn *trace.Function) string { return fn.File }
		v.Runs = append(v.Runs, r)
		runs = append(runs, rank.Run{Trace: t.trace, Tree: r.Tree, Source: text})
		prompts = append(prompts, prompt.Run{Title: t.command, Tree: r.Tree})
	}
	v.Rank = func(q string) *rank.Ranking { return rank.Runs(q, runs, rank.Evidence{}) }
	v.Reader = func(q string) (*prompt.Reader, error) {
		in := prompt.Input{Question: q, Runs: prompts, Source: text}
		if q != "" {
			in.Score = v.Rank(q).Score
		}
		return prompt.NewReader(in, prompt.Options{})
	}
	v.Prompt = func(q string, budget int) (*prompt.Prompt, error) {
		return prompt.Build(prompt.Input{Question: q, Runs: prompts, Source: text, Mask: hidden{}}, prompt.Options{Variant: prompt.Ordered, Budget: budget})
	}
	return v, nil
}

// fakeSource is a function of some lines. Those of functions named "long" have many.
func fakeSource(name string) source.Text {
	short := symbol.Short(name)
	var b strings.Builder
	fmt.Fprintf(&b, "func %s() {\n\tkey := %q\n", short, secret)
	lines := 2
	if strings.Contains(name, "long") {
		lines = 400
	}
	for i := range lines {
		fmt.Fprintf(&b, "\tdraw(%q, %d) // the border of the table\n", short, i)
	}
	b.WriteString("}")
	doc := "// " + short + " is a function, and " + secret + " is its secret."
	return source.Text{Kind: source.Declared, Display: "app/" + short + ".go", Decl: short, Doc: doc, DocStart: 9, Start: 10, End: 10 + lines + 2,
		Signature: "func " + short + "()", Body: b.String()}
}

// call is a function with what it calls. A name may be followed by its count: "f x3".
type call struct {
	name  string
	calls []call
}

// makeTrace makes a trace of a program that calls so.
func makeTrace(command string, roots ...call) *trace.Trace {
	t := &trace.Trace{Recorder: "probe", Command: strings.Fields(command), Program: trace.Program{MainPath: "example.com/app", BuildID: "b1"}}
	b := trace.NewBuilder(t)
	frame := func(c call) (trace.Frame, int64) {
		name, count, _ := strings.Cut(c.name, " x")
		n := int64(1)
		if count != "" {
			fmt.Sscan(count, &n)
		}
		if !strings.HasPrefix(name, "main.") {
			name = "example.com/app/" + name
		}
		return trace.Frame{Func: b.Func(trace.Function{Name: name, Package: symbol.Package(name), File: symbol.Package(name) + ".go", StartLine: 10})}, n
	}
	var add func(parent trace.NodeID, calls []call)
	add = func(parent trace.NodeID, calls []call) {
		for _, c := range calls {
			f, n := frame(c)
			add(b.Child(parent, f, n), c.calls)
		}
	}
	for _, c := range roots {
		f, n := frame(c)
		add(b.Root(trace.Root{Kind: trace.RootMain}, f, n), c.calls)
	}
	return b.Finish()
}

// observed gives the first node of a function observed calls.
func observed(t *trace.Trace, function string, args ...string) {
	for id, n := range t.Nodes {
		if t.Functions[n.Func].Name != function {
			continue
		}
		for _, a := range args {
			t.Activations = append(t.Activations, trace.Activation{Node: trace.NodeID(id), Returned: true,
				Args: []trace.Value{{Name: "emoji", Type: "bool", Text: a}}, Results: []trace.Value{{Type: "error", Text: "nil"}}})
		}
		return
	}
	panic("no " + function)
}

// bigTrace has many nodes: wide, deep, some with long names.
func bigTrace(nodes int) *trace.Trace {
	r := rand.New(rand.NewPCG(1, 2))
	left := nodes
	var grow func(depth int) []call
	grow = func(depth int) []call {
		var out []call
		for range r.IntN(7) {
			if left == 0 || depth > 60 {
				break
			}
			left--
			name := fmt.Sprintf("pkg%d.function%d", r.IntN(20), left)
			if r.IntN(40) == 0 {
				name += strings.Repeat("WithAVeryLongName", 1+r.IntN(20))
			}
			out = append(out, call{name: fmt.Sprintf("%s x%d", name, 1+r.IntN(1000)), calls: grow(depth + 1)})
		}
		return out
	}
	main := call{name: "main.main"}
	left--
	for left > 0 {
		main.calls = append(main.calls, grow(1)...)
	}
	return makeTrace("./big", main)
}

func newFake() *fake {
	csv := makeTrace("./app --csv data.csv --token="+secret, call{"main.main", []call{
		{"main.parseFlags", nil},
		{"main.show", []call{
			{"csvview.Render", []call{
				{"csvview.parse x7", nil},
				{"csvview.newTable", []call{{"table.(*Table).Border", nil}}},
				{"table.(*Table).String", []call{{"table.(*Table).constructTopBorder", nil}, {"table.(*Table).constructRow x7", nil}}},
			}},
		}},
	}})
	observed(csv, "main.show", "true", "false", `"`+secret+`"`)
	md := makeTrace("./app --md doc.md", call{"main.main", []call{
		{"main.parseFlags", nil},
		{"main.show", []call{
			{"mdview.Render", []call{{"mdview.longParser", nil}, {"mdview.walk x30", []call{{"mdview.walk", nil}}}}},
		}},
	}})
	md.Exit = trace.Exit{Code: 1}
	own := makeTrace("./app --md doc.md", call{"main.main", nil})
	own.Include = []string{"main"}
	f := &fake{}
	for _, t := range []fakeTrace{
		{id: "0e0e0e0e", command: "./app --md doc.md", trace: own},
		{id: "b1b1b1b1", command: "./big", trace: bigTrace(bigNodes)},
		{id: "c5c5c5c5", command: "./app --csv data.csv --token=" + secret, trace: csv},
		{id: "ad3ad3ad", command: "./app --md doc.md", trace: md},
	} {
		t.tree = sync.OnceValue(func() *calltree.Tree {
			tree, err := calltree.Build(t.trace, calltree.Options{})
			if err != nil {
				panic(err)
			}
			return tree
		})
		f.traces = append(f.traces, &t)
	}
	return f
}

const bigNodes = 1500

// client connects the SDK's client to a server in this process.
func client(t testing.TB, o Options) *sdk.ClientSession {
	t.Helper()
	if o.Backend == nil {
		o.Backend = newFake()
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.Mask == nil {
		o.Mask = hide
	}
	here, there := sdk.NewInMemoryTransports()
	ctx := context.Background()
	server, err := newServer(o, progressEvery).Connect(ctx, there, nil)
	if err != nil {
		t.Fatal(err)
	}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close(); server.Wait() })
	return session
}

// ask calls a tool. The text is that of an error, if failed.
func ask(t testing.TB, c *sdk.ClientSession, tool string, args any) (text string, failed bool, res *sdk.CallToolResult) {
	t.Helper()
	res, err := c.CallTool(context.Background(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s %v: %v", tool, args, err)
	}
	for _, part := range res.Content {
		text += part.(*sdk.TextContent).Text
	}
	return text, res.IsError, res
}

// hidden masks before a prompt is counted, as a session's does: what stands for a secret may have more tokens.
type hidden struct{}

func (hidden) Learn(string)            {}
func (hidden) Text(text string) string { return hide(text) }
