package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tracerag/calltree"
	"tracerag/knowledge/index"
	"tracerag/knowledge/sources"
	"tracerag/prompt/tokens"
)

var update = flag.Bool("update", false, "rewrite the golden files")

type args = map[string]any

// recorder is an Options.Record that runs nothing.
func recorder(_ context.Context, c Command) (*Recorded, error) {
	return &Recorded{IDs: []string{"c5c5c5c5"}, Output: fmt.Sprintf("%q in %s for %s\npassword: %s\n", c.Args, filepath.Base(c.Dir), c.Timeout, secret)}, nil
}

// judge is an Options.Try that runs nothing.
func judge(_ context.Context, c Change) (*Tried, error) {
	return &Tried{Stage: "wanted", Text: fmt.Sprintf("refused at wanted: %s in %s fails\npassword: %s\n", c.Test, c.Package, secret)}, nil
}

// TestTools calls every tool, and has golden files of what it answers.
func TestTools(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "work")
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	c := client(t, Options{Record: recorder, Try: judge, Dir: dir})
	tests := []struct {
		name, tool string
		in         args
	}{
		{"list", "list_traces", nil},
		{"list_skip", "list_traces", args{"skip": 2}},
		{"tree", "call_tree", args{"trace": "c5c5c5c5"}},
		{"tree_whole", "call_tree", args{"trace": "c5c5c5c5", "whole": true}},
		{"tree_focus", "call_tree", args{"trace": "c5c5c5c5", "focus": "(*Table).String"}},
		{"tree_handles", "call_tree", args{"trace": "c5c5c5c5", "focus": "#6-8"}},
		{"tree_depth", "call_tree", args{"trace": "c5c5c5c5", "depth": 3}},
		{"tree_clipped", "call_tree", args{"trace": "b1b1b1b1", "max_tokens": 300}},
		{"source", "source", args{"trace": "c5c5c5c5", "function": "csvview.newTable"}},
		{"source_handle", "source", args{"trace": "c5c5c5c5", "function": "#9"}},
		{"source_several", "source", args{"trace": "c5c5c5c5", "function": "*onstruct*"}},
		{"source_clipped", "source", args{"function": "longParser", "max_tokens": 300}},
		{"source_from", "source", args{"function": "longParser", "from_line": 408, "max_tokens": 300}},
		{"rank", "rank", args{"trace": "c5c5c5c5", "question": "which function draws the top border?", "limit": 3}},
		{"context", "context", args{"trace": "c5c5c5c5", "question": "which function draws the top border?"}},
		{"context_two", "context", args{"trace": "c5c5c5c5", "compare_with": "ad3ad3ad", "question": "which function draws the top border?", "max_tokens": 1000}},
		{"context_clipped", "context", args{"trace": "b1b1b1b1", "question": "the border of function7", "max_tokens": 800}},
		{"context_read", "context", args{"trace": "c5c5c5c5", "read": []string{"csvview.newTable", "#9", "callers Border", "p2", "main.parseFlags", "newTalbe", "table.Table.constructRow:11-12"}}},
		{"context_many", "context", args{"trace": "c5c5c5c5", "read": []string{"csvview.newTable", "csvview.Render", "constructRow", "constructTopBorder", "main.show", "main.main"}, "max_tokens": 400}},
		{"context_package", "context", args{"trace": "b1b1b1b1", "read": []string{"p3", "p4:70-75"}}},
		{"index", "index", args{"trace": "c5c5c5c5"}},
		{"index_two", "index", args{"trace": "c5c5c5c5", "compare_with": "ad3ad3ad"}},
		{"index_clipped", "index", args{"trace": "b1b1b1b1", "max_tokens": 400}},
		{"prompt", "prompt", args{"trace": "c5c5c5c5", "question": "which function draws the top border?", "max_tokens": 1000}},
		{"compare", "compare", args{"a": "c5c5c5c5", "b": "ad3ad3ad"}},
		{"compare_equal", "compare", args{"a": "ad3ad3ad", "b": "ad3ad3ad"}},
		{"compare_packages", "compare", args{"a": "0e0e0e0e", "b": "ad3ad3ad"}},
		{"compare_focus", "compare", args{"a": "c5c5c5c5", "b": "ad3ad3ad", "focus": "csvview.Render"}},
		{"values", "values", args{"trace": "c5c5c5c5"}},
		{"record", "record", args{"command": []string{"./app", "--csv", "x y"}, "dir": "sub", "timeout_seconds": 5}},
		{"try_change", "try_change", args{"change": "--- a/x.go\n+++ b/x.go\n", "test": "./table:TestBorder", "dir": "sub"}},
	}
	asked := map[string]bool{}
	for _, tt := range tests {
		asked[tt.tool] = true
		t.Run(tt.name, func(t *testing.T) {
			got, failed, res := ask(t, c, tt.tool, tt.in)
			if failed {
				t.Fatal(got)
			}
			if strings.Contains(got, secret) {
				t.Errorf("the secret is in the answer")
			}
			if res.StructuredContent != nil {
				data, err := json.MarshalIndent(res.StructuredContent, "", " ")
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(data), secret) {
					t.Errorf("the secret is in the structured content")
				}
				got += "\n-- structured --\n" + string(data) + "\n"
			}
			if tt.tool == "prompt" { // its words are those of package prompt, which has golden files
				if !strings.Contains(got, "csvview.Render") || !strings.Contains(got, "which function draws the top border?") {
					t.Error(got)
				}
				return
			}
			golden(t, tt.name, got)
		})
	}
	tools, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		if !asked[tool.Name] {
			t.Errorf("no test asks %s", tool.Name)
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s (go test ./mcp -update rewrites it):\n%s\nwant:\n%s", path, got, want)
	}
}

// TestTry: a change is judged in a directory below the server's, for a test that is named in full,
// and only if the user allowed it.
func TestTry(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	var tried []Change
	c := client(t, Options{Dir: dir, Try: func(_ context.Context, c Change) (*Tried, error) {
		tried = append(tried, c)
		return &Tried{Stage: "build", Text: "refused at build: x.go:1: it does not compile\n" + strings.Repeat("more\n", 5000)}, nil
	}})
	text, failed, _ := ask(t, c, "try_change", args{"change": "== x.go\n", "test": "./table:TestBorder/wide", "dir": "sub", "max_tokens": 200})
	if failed || !strings.HasPrefix(text, "refused at build: x.go:1: it does not compile\n") || !strings.Contains(text, "lines of output") {
		t.Errorf("%v %q", failed, text)
	}
	if want := (Change{"== x.go\n", "./table", "TestBorder/wide", filepath.Join(dir, "sub")}); len(tried) != 1 || tried[0] != want {
		t.Errorf("%+v, want %+v", tried, want)
	}
	for _, x := range []struct {
		args args
		want string
	}{
		{args{"change": " \n"}, "no change: give a unified diff"},
		{args{"change": "x", "test": "TestBorder"}, "give package and test"},
		{args{"change": "x", "test": "./table:"}, "give package and test"},
		{args{"change": "x", "dir": ".."}, "outside"},
	} {
		if text, failed, _ := ask(t, c, "try_change", x.args); !failed || !strings.Contains(text, x.want) {
			t.Errorf("%v: %v %q", x.args, failed, text)
		}
	}
	if len(tried) != 1 {
		t.Errorf("%d were tried", len(tried))
	}
	forbidden := client(t, Options{Dir: dir})
	if text, failed, _ := ask(t, forbidden, "try_change", args{"change": "x"}); !failed || !strings.Contains(text, ErrNotAllowed.Error()) {
		t.Errorf("without leave: %v %q", failed, text)
	}
}

// TestToolsExplainThemselves: an agent knows a tool by what the server says of it.
func TestToolsExplainThemselves(t *testing.T) {
	c := client(t, Options{Knowledge: sources.New(nil, index.Options{})})
	tools, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
		if readOnly := tool.Annotations != nil && tool.Annotations.ReadOnlyHint; readOnly == (tool.Name == "record" || tool.Name == "try_change") {
			t.Errorf("%s: read-only is %v", tool.Name, readOnly)
		}
		data, err := json.Marshal(tool.InputSchema)
		if err != nil {
			t.Fatal(err)
		}
		var schema struct {
			Properties map[string]struct{ Description string }
			Required   []string
		}
		if err := json.Unmarshal(data, &schema); err != nil {
			t.Fatal(err)
		}
		if _, ok := schema.Properties["max_tokens"]; !ok && tool.Name != "refresh" { // whose answer is a line a repository
			t.Errorf("%s has no max_tokens", tool.Name)
		}
		for name, p := range schema.Properties {
			// A default is stated with its reason, unless it is nothing at all.
			if !slices.Contains(schema.Required, name) && !strings.Contains(strings.ToLower(p.Description), "default") && name != "question" && name != "compare_with" {
				t.Errorf("%s: the description of %s does not say what is taken without it: %q", tool.Name, name, p.Description)
			}
		}
	}
	slices.Sort(names)
	if want := []string{"call_tree", "callees", "callers", "compare", "context", "index", "list_traces", "locate", "prompt", "rank", "record", "refresh", "source", "tests_of", "try_change", "unit", "values"}; !slices.Equal(names, want) {
		t.Errorf("the tools are %q, want %q", names, want)
	}
}

// TestRefusals: what cannot be done is a tool's error in words, and the session goes on.
func TestRefusals(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "work")
	for _, d := range []string{dir, filepath.Join(dir, "sub"), filepath.Join(root, "outside")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{filepath.Join(dir, "c5c5c5c5.pb.gz"), filepath.Join(root, "outside", "c5c5c5c5.pb.gz")} {
		if err := os.WriteFile(f, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"link": filepath.Join(root, "outside"), "link.pb.gz": filepath.Join(root, "outside", "c5c5c5c5.pb.gz"), "dangling.pb.gz": filepath.Join(root, "nowhere")} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	allowed := client(t, Options{Dir: dir, Record: recorder})
	forbidden := client(t, Options{Dir: dir, WayOut: func(error) string { return "start it otherwise" }})
	const outside = "outside of the server's working directory"
	tests := []struct {
		tool string
		in   any
		want string
	}{
		{"call_tree", args{"trace": "c5c5"}, "no trace c5c5: did you mean"},
		{"call_tree", args{"trace": filepath.Join(root, "outside", "c5c5c5c5.pb.gz")}, outside},
		{"call_tree", args{"trace": "../outside/c5c5c5c5.pb.gz"}, outside},
		{"call_tree", args{"trace": "sub/../../outside/c5c5c5c5.pb.gz"}, outside},
		{"call_tree", args{"trace": "../outside/nothing.pb.gz"}, outside}, // the same, whether it is there or not
		{"call_tree", args{"trace": "link.pb.gz"}, outside},
		{"call_tree", args{"trace": "link/c5c5c5c5.pb.gz"}, outside},
		{"call_tree", args{"trace": "dangling.pb.gz"}, "dangling.pb.gz not found"},
		{"call_tree", args{"trace": "nothing.pb.gz"}, "nothing.pb.gz not found"},
		{"call_tree", args{"trace": "/etc/passwd"}, "/etc/passwd is not a trace"},
		{"compare", args{"a": "link.pb.gz"}, outside},
		{"prompt", args{"compare_with": "link.pb.gz"}, outside},
		{"call_tree", args{"focus": "mdview.Rendr"}, "did you mean mdview.Render?"},
		{"call_tree", args{"focus": "#9999"}, "handles end at"},
		{"call_tree", args{"focus": "main.parseFlags"}, "whole=true"},
		{"call_tree", args{"depth": -1}, "depth=-1"},
		{"call_tree", args{"max_tokens": 5}, "max_tokens=5: give 200 to"},
		{"call_tree", args{"max_tokens": 1e9}, "max_tokens=1000000000: give 200 to"},
		{"call_tree", args{"max_tokens": "many"}, "max_tokens"},
		{"call_tree", args{"trcae": "@last"}, "trcae"},
		{"source", args{}, "function"},
		{"source", args{"function": " "}, "no function"},
		{"source", args{"function": "longPasrer"}, "did you mean mdview.longParser?"},
		{"rank", args{"question": ""}, "no question"},
		{"rank", args{"question": "x", "limit": -1}, "limit=-1"},
		{"prompt", args{"max_tokens": 200}, "the least prompt of this run takes"},
		{"context", args{}, "no question"},
		{"context", args{"read": []string{"csvview.Render", "what is this?"}}, `"what is this?" cannot be read`},
		{"context", args{"question": "x", "max_tokens": 5}, "max_tokens=5"},
		{"context", args{"question": "x", "compare_with": "link.pb.gz"}, outside},
		{"index", args{"compare_with": "link.pb.gz"}, outside},
		{"compare", args{"focus": "#3"}, "a handle is one trace's"},
		{"compare", args{"focus": "nothing.At.All"}, "no function"},
		{"values", args{}, "holds no values"},
		{"values", args{"trace": "c5c5c5c5", "function": "csvview.parse"}, "holds no values of csvview.parse"},
		{"list_traces", args{"skip": -1}, "skip=-1"},
		{"record", args{"command": []string{}}, "no command"},
		{"record", args{"command": []string{"go test ./..."}}, "no shell takes it apart"},
		{"record", args{"command": "go test"}, "command"},
		{"record", args{"command": []string{"./app", "a\x00b"}}, "zero byte"},
		{"record", args{"command": []string{"./app"}, "dir": ".."}, outside},
		{"record", args{"command": []string{"./app"}, "dir": root}, outside},
		{"record", args{"command": []string{"./app"}, "dir": "link"}, outside},
		{"record", args{"command": []string{"./app"}, "dir": "nowhere"}, "nowhere not found"},
		{"record", args{"command": []string{"./app"}, "dir": "c5c5c5c5.pb.gz"}, "not a directory"},
		{"record", args{"command": []string{"./app"}, "timeout_seconds": 601}, "timeout_seconds=601: give 1 to 600"},
		{"record", args{"command": []string{"./app"}, "timeout_seconds": -1}, "timeout_seconds=-1"},
	}
	for _, tt := range tests {
		got, failed, _ := ask(t, allowed, tt.tool, tt.in)
		if !failed || !strings.Contains(got, tt.want) {
			t.Errorf("%s %v: failed %v: %q, want %q", tt.tool, tt.in, failed, got, tt.want)
		}
		if strings.Contains(got, "nowhere") && !strings.Contains(fmt.Sprint(tt.in), "nowhere") {
			t.Errorf("%s %v tells where a link leads: %q", tt.tool, tt.in, got)
		}
	}
	got, failed, _ := ask(t, forbidden, "record", args{"command": []string{"./app"}})
	if !failed || !strings.Contains(got, "not allowed it\nstart it otherwise") {
		t.Errorf("record without leave: failed %v: %q", failed, got)
	}
	// A file below the directory is opened, by its whole path.
	if got, failed, _ := ask(t, allowed, "call_tree", args{"trace": "./sub/../c5c5c5c5.pb.gz"}); failed {
		t.Error(got)
	}
}

// TestBudgetHolds: no answer has more tokens than were asked for, whatever it is about.
func TestBudgetHolds(t *testing.T) {
	long := strings.Repeat("a line of what the program printed\n", 5000)
	c := client(t, Options{Record: func(context.Context, Command) (*Recorded, error) {
		return &Recorded{IDs: slices.Repeat([]string{"b1b1b1b1"}, 12), Output: long}, nil
	}})
	count := tokens.For("")
	tests := []struct {
		tool string
		in   args
	}{
		{"list_traces", args{}},
		{"call_tree", args{"trace": "b1b1b1b1"}},
		{"call_tree", args{"trace": "b1b1b1b1", "focus": "*LongName*"}},
		{"call_tree", args{"trace": "b1b1b1b1", "focus": "*"}},
		{"call_tree", args{"trace": "c5c5c5c5"}},
		{"context", args{"trace": "b1b1b1b1", "question": "the border of the table"}},
		{"context", args{"trace": "c5c5c5c5", "question": "the border of the table"}},
		{"context", args{"trace": "c5c5c5c5", "read": []string{"csvview.Render", "p1", "nothing", "callers csvview.newTable", "longParser"}}},
		{"context", args{"trace": "b1b1b1b1", "read": []string{"p1", "p2", "p3", "p4", "#100", "#200", "#300", "#400"}}},
		{"index", args{"trace": "b1b1b1b1"}},
		{"index", args{"trace": "b1b1b1b1", "compare_with": "c5c5c5c5"}},
		{"source", args{"trace": "b1b1b1b1", "function": "*LongName*"}},
		{"source", args{"trace": "b1b1b1b1", "function": "main.main"}},
		{"source", args{"function": "longParser"}},
		{"rank", args{"trace": "b1b1b1b1", "question": "the border of the table", "limit": bigNodes}},
		{"compare", args{"a": "b1b1b1b1", "b": "c5c5c5c5"}},
		{"compare", args{"a": "c5c5c5c5", "b": "b1b1b1b1"}},
		{"values", args{"trace": "c5c5c5c5"}},
		{"record", args{"command": []string{"./app"}}},
		{"prompt", args{"trace": "c5c5c5c5"}},
	}
	for _, tt := range tests {
		for _, limit := range []int{200, 333, 1000, 4000} {
			if tt.tool == "prompt" && limit < 1000 {
				continue // is refused: TestRefusals
			}
			in := args{"max_tokens": limit}
			for k, v := range tt.in {
				in[k] = v
			}
			text, failed, res := ask(t, c, tt.tool, in)
			if failed {
				t.Errorf("%s %v: %s", tt.tool, in, text)
				continue
			}
			if n := count.Count(text); n > limit {
				t.Errorf("%s %v: %d tokens", tt.tool, in, n)
			} else if strings.Contains(text, "[clipped: ") && n < limit/3 {
				t.Errorf("%s %v: only %d tokens, and something is clipped:\n%s", tt.tool, in, n, text)
			}
			if data, _ := json.Marshal(res.StructuredContent); res.StructuredContent != nil && count.Count(string(data)) > limit+limit/4+150 /* ids, and what JSON escapes */ {
				t.Errorf("%s %v: structured content of %d tokens", tt.tool, in, count.Count(string(data)))
			}
		}
	}
}

var mark = regexp.MustCompile(`\[clipped: (\d+) nodes?, ask call_tree focus=(#\d+(?:-\d+)?)\]`)

// TestMarksLeadToEveryNode: an agent that follows the marks of the tree sees all of it.
func TestMarksLeadToEveryNode(t *testing.T) {
	c := client(t, Options{})
	handle := regexp.MustCompile(`(?m)^(?:\d+\| )? *(?:\S.* > )?#(\d+) `)
	seen := map[string]bool{}
	asked := map[string]bool{}
	var follow func(focus string)
	follow = func(focus string) {
		if asked[focus] {
			t.Fatalf("the mark in the answer about %q asks for that again", focus)
		}
		asked[focus] = true
		in := args{"trace": "b1b1b1b1", "max_tokens": 1500}
		if focus != "" {
			in["focus"] = focus
		}
		text, failed, _ := ask(t, c, "call_tree", in)
		if failed {
			t.Fatalf("focus=%s: %s", focus, text)
		}
		for _, m := range handle.FindAllStringSubmatch(text, -1) {
			seen[m[1]] = true
		}
		for _, m := range mark.FindAllStringSubmatch(text, -1) {
			follow(m[2])
		}
	}
	follow("")
	if len(seen) != bigNodes {
		t.Errorf("%d of %d nodes were seen, in %d answers", len(seen), bigNodes, len(asked))
	}
}

// TestSourceMarksLeadOn: the same for the lines of a long function.
func TestSourceMarksLeadOn(t *testing.T) {
	c := client(t, Options{})
	next := regexp.MustCompile(`\[clipped: \d+ lines?, ask source function=(#\d+) from_line=(\d+)\]`)
	in := args{"function": "longParser", "max_tokens": 500}
	lines := 0
	for range 100 {
		text, failed, _ := ask(t, c, "source", in)
		if failed {
			t.Fatal(text)
		}
		lines += strings.Count(text, "\tdraw(")
		m := next.FindStringSubmatch(text)
		if m == nil {
			break
		}
		in["function"], in["from_line"] = m[1], json.Number(m[2])
	}
	if lines != 400 {
		t.Errorf("%d of 400 lines were seen", lines)
	}
}

func TestResourcesAndPrompts(t *testing.T) {
	c := client(t, Options{})
	ctx := t.Context()
	list, err := c.ListResources(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Resources) != 4 || list.Resources[0].URI != "tracerag://trace/ad3ad3ad/tree" {
		t.Errorf("the resources are %+v", list.Resources)
	}
	for _, r := range list.Resources {
		res, err := c.ReadResource(ctx, &sdk.ReadResourceParams{URI: r.URI})
		if err != nil {
			t.Fatal(err)
		}
		if text := res.Contents[0].Text; !strings.Contains(text, "main.main") || strings.Contains(text+r.Title, secret) {
			t.Errorf("%s: %s", r.URI, text)
		}
	}
	for _, uri := range []string{"tracerag://trace/@last/tree", "tracerag://trace/%40prev/tree"} {
		if _, err := c.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri}); err != nil {
			t.Errorf("%s: %v", uri, err)
		}
	}
	for _, uri := range []string{"tracerag://trace/../tree", "tracerag://trace/%2e%2e%2fx.pb.gz/tree", "tracerag://trace//tree", "file:///etc/passwd", "tracerag://trace/none/tree"} {
		if res, err := c.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s is read: %+v", uri, res.Contents[0])
		}
	}
	for name, in := range map[string]map[string]string{
		"explain_run":  {"question": "Which function draws the border?", "trace": "c5c5c5c5"},
		"compare_runs": {"a": "c5c5c5c5"},
	} {
		p, err := c.GetPrompt(ctx, &sdk.GetPromptParams{Name: name, Arguments: in})
		if err != nil {
			t.Fatal(err)
		}
		text := p.Messages[0].Content.(*sdk.TextContent).Text
		for _, v := range in {
			if !strings.Contains(text, v) {
				t.Errorf("%s does not say %q: %s", name, v, text)
			}
		}
	}
	done, err := c.Complete(ctx, &sdk.CompleteParams{
		Ref: &sdk.CompleteReference{Type: "ref/prompt", Name: "explain_run"}, Argument: sdk.CompleteParamsArgument{Name: "trace", Value: "c"}})
	if err != nil || !slices.Equal(done.Completion.Values, []string{"c5c5c5c5"}) {
		t.Errorf("c is completed to %+v, %v", done, err)
	}
}

// TestProgress: a client hears that a long call goes on, if it wants to know.
func TestProgress(t *testing.T) {
	told := make(chan *sdk.ProgressNotificationParams, 100)
	release := make(chan struct{})
	o := Options{Backend: newFake(), Dir: t.TempDir(), Mask: hide, Record: func(ctx context.Context, c Command) (*Recorded, error) {
		<-release
		return recorder(ctx, c)
	}}
	here, there := sdk.NewInMemoryTransports()
	server, err := newServer(o, time.Millisecond).Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			select {
			case told <- r.Params:
			default:
			}
		}}).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Wait()
	defer c.Close()
	go func() {
		first, second := <-told, <-told
		if first.ProgressToken != "t1" || second.Progress <= first.Progress || !strings.HasPrefix(first.Message, "record: ") {
			t.Errorf("told %+v and %+v", first, second)
		}
		close(release)
	}()
	p := &sdk.CallToolParams{Name: "record", Arguments: args{"command": []string{"./app"}}}
	p.SetProgressToken("t1")
	if res, err := c.CallTool(t.Context(), p); err != nil || res.IsError {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestSessionEnds: the server returns when its input ends, and writes protocol alone.
func TestSessionEnds(t *testing.T) {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- Serve(t.Context(), Options{Backend: newFake(), Dir: t.TempDir(), Mask: hide}, in, out)
		out.Close()
	}()
	answers := bufio.NewScanner(fromServer)
	for _, tt := range []struct{ message, want string }{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, "list_traces"},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ""},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_traces","arguments":{}}}`, "c5c5c5c5"},
		{`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"no_such_tool"}}`, "no_such_tool"},
	} {
		if _, err := io.WriteString(toServer, tt.message+"\n"); err != nil {
			t.Fatal(err)
		}
		if tt.want == "" {
			continue
		}
		if !answers.Scan() || !json.Valid(answers.Bytes()) || !strings.Contains(answers.Text(), tt.want) {
			t.Fatalf("%s is answered by %q", tt.message, answers.Text())
		}
	}
	toServer.Close()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the server goes on")
	}
	if answers.Scan() {
		t.Errorf("after the last answer: %q", answers.Text())
	}
}

// Every tool says the same number of calls of a function: those of the closures in it are
// not its own.
func TestCountsAgree(t *testing.T) {
	tr := makeTrace("./closures", call{"main.main", []call{{"work.Do x3", []call{{"work.Do.func1 x5", nil}}}}})
	tree := sync.OnceValue(func() *calltree.Tree {
		tree, err := calltree.Build(tr, calltree.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return tree
	})
	c := client(t, Options{Backend: &fake{traces: []*fakeTrace{{id: "d6d6d6d6", command: "./closures", trace: tr, tree: tree}}}})
	for tool, in := range map[string]args{
		"call_tree": {"focus": "work.Do"}, "source": {"function": "work.Do"}, "rank": {"question": "what does work.Do do?"}, "index": {},
	} {
		text, failed, _ := ask(t, c, tool, in)
		if failed || !regexp.MustCompile(`Do\b[^\n]* x3\b`).MatchString(text) || strings.Contains(text, "x8") {
			t.Errorf("%s: %s", tool, text)
		}
	}
}
