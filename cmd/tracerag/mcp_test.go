package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tracerag/fixtures"
	"tracerag/prompt/tokens"
	"tracerag/trace/store"
)

// agent is a client of tracerag mcp, which runs as a process of its own, as an agent
// starts it. It counts the tokens of all answers.
type agent struct {
	t       *testing.T
	session *sdk.ClientSession
	told    string // all of it
	tokens  int
}

func startAgent(t *testing.T, dir string, env []string, args ...string) *agent {
	t.Helper()
	cmd := exec.Command(commandPath(t), append([]string{"mcp"}, args...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(append(os.Environ(), "TRACERAG_DIR="), env...)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return &agent{t: t, session: session}
}

type args = map[string]any

// call calls a tool and returns its text, and whether it is an error.
func (a *agent) call(tool string, in args) (text string, failed bool) {
	a.t.Helper()
	res, err := a.session.CallTool(a.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: in})
	if err != nil {
		a.t.Fatalf("%s %v: %v", tool, in, err)
	}
	for _, c := range res.Content {
		text += c.(*sdk.TextContent).Text
	}
	a.told += text
	a.tokens += tokens.For("").Count(text)
	return text, res.IsError
}

// ask calls a tool that must succeed.
func (a *agent) ask(tool string, in args) string {
	a.t.Helper()
	text, failed := a.call(tool, in)
	if failed {
		a.t.Fatalf("%s %v: %s", tool, in, text)
	}
	return text
}

// has fails the test unless text has all the parts.
func (a *agent) has(text string, parts ...string) {
	a.t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			a.t.Errorf("%q is not in\n%s", p, text)
		}
	}
}

// TestFourInquiries answers the inquiries of Kamiya 2024, section 4.4, about
// fixtures/tablecat, whose README has the answers, by tool calls alone. Nothing is asked
// about that an earlier answer has not named: anyone who follows the tools gets there.
func TestFourInquiries(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("breakpoints are too slow for 181,000 calls")
	}
	app := fixtures.Build(t, "tablecat")
	a := startAgent(t, fixtures.Dir("tablecat"), nil, "--allow-run", "--dir="+t.TempDir())
	id := regexp.MustCompile(`trace ([0-9a-f]{8}): `)
	record := func(arguments ...string) string {
		t.Helper()
		text := a.ask("record", args{"command": append([]string{app}, arguments...), "baseline": []string{"--version"}})
		return a.named(text, id)
	}
	// handle is that of a function which an answer names.
	handle := func(text, function string) string {
		t.Helper()
		name := regexp.QuoteMeta(function)
		return a.named(text, regexp.MustCompile(name+` (#\d+)|(#\d+) `+name+` `))
	}
	csv, md := record("--csv", "data.csv"), record("--md", "doc.md")
	text, file := record("Done :sparkles:", "--emoji"), record("--csv", "data.csv", "--emoji")
	recorded := a.tokens

	// 1. Which function decides the look of a CSV file's table, and how is it changed?
	ranked := a.ask("rank", args{"trace": csv, "question": "Which function decides what the table of a CSV file looks like, its border lines and right alignment, and how is it changed?"})
	newTable := a.ask("source", args{"trace": csv, "function": handle(ranked, "csvview.newTable")})
	a.has(newTable, "internal/csvview/table.go", "Border(lipgloss.RoundedBorder())", "return cellStyle(")
	cellStyle := a.ask("source", args{"trace": csv, "function": "cellStyle"})
	a.has(cellStyle, "internal/csvview/table.go", "Padding(", "Align(lipgloss.Right)")
	a.has(a.ask("source", args{"trace": csv, "function": handle(ranked, "table.(*Table).String"), "max_tokens": 1000}), "lipgloss@", "table/table.go", "called by: csvview.Render")
	first := a.tokens

	// 2. The same for a table in a Markdown file.
	ranked = a.ask("rank", args{"trace": md, "question": "Which function decides what a table in a Markdown file looks like, its border lines and alignment, and how is it changed?"})
	borders := a.ask("source", args{"trace": md, "function": handle(ranked, "ansi.(*TableElement).setBorders")})
	a.has(borders, "glamour@", "ansi/table.go", "lipgloss.NormalBorder()", "ColumnSeparator")
	finish := a.ask("source", args{"trace": md, "function": handle(borders, "ansi.(*TableElement).Finish")})
	a.has(a.ask("source", args{"trace": md, "function": handle(finish, "ansi.(*TableElement).setStyles")}), "Alignments", "ansi/table.go")
	second := a.tokens

	// 3. How do the two differ, and what do they share?
	diff := a.ask("compare", args{"a": csv, "b": md, "max_tokens": 1000})
	a.has(diff, "a: main.main > main.run > main.show > main.showFile > csvview.Render", "b: main.main > main.run > main.show > main.showFile > mdview.Render")
	a.has(a.ask("source", args{"trace": csv, "function": "csvview.Render"}), "csvview.parse #", "csvview.newTable #", "table.(*Table).String #")
	way := a.ask("source", args{"trace": md, "function": "mdview.Render"})
	way = a.ask("source", args{"trace": md, "function": handle(way, "mdview.render")})
	tree := a.ask("call_tree", args{"trace": md, "focus": handle(way, "glamour.(*TermRenderer).Render"), "depth": 5, "max_tokens": 1000})
	a.has(tree, "parser.(*parser).Parse", "renderer.(*renderer).Render")
	tree = a.ask("call_tree", args{"trace": md, "focus": handle(tree, "ast.Walk"), "depth": 5, "max_tokens": 1000})
	a.has(a.ask("source", args{"trace": md, "function": handle(tree, "ansi.(*ANSIRenderer).renderNode")}), "entering", "ast.Node")
	shared := a.ask("call_tree", args{"trace": md, "focus": "table.(*Table).String", "depth": 1})
	handle(shared, "ansi.(*TableElement).Finish")
	a.has(shared, "table.(*Table).String")
	third := a.tokens

	// 4. Why has --emoji no effect on files, and how is that repaired?
	diff = a.ask("compare", args{"a": text, "b": file, "max_tokens": 1000})
	a.has(diff, "main.showText", "main.showFile", "emoji.Replace")
	show := a.ask("source", args{"trace": file, "function": "main.show"})
	a.has(show, "show.go", "showText(", "showFile(")
	a.has(a.ask("source", args{"trace": text, "function": "main.showText"}), "o.emoji")
	repaired := a.ask("source", args{"trace": file, "function": handle(show, "main.showFile")})
	a.has(repaired, "source.Read(")
	if strings.Contains(repaired, "emoji") {
		t.Errorf("showFile knows of emoji:\n%s", repaired)
	}
	a.has(a.ask("source", args{"trace": text, "function": "emoji.Replace"}), "internal/emoji/emoji.go", "func Replace(")
	fourth := a.tokens

	t.Logf("tokens: four recordings %d, inquiries %d, %d, %d, %d, all %d", recorded, first-recorded, second-first, third-second, fourth-third, a.tokens)
	if most := 12000; a.tokens > most {
		t.Errorf("the inquiries took %d tokens, more than the %d that docs/mcp.md says", a.tokens, most)
	}
}

// named is the group of an expression that an answer must match.
func (a *agent) named(text string, re *regexp.Regexp) string {
	a.t.Helper()
	m := re.FindStringSubmatch(text)
	if m == nil {
		a.t.Fatalf("nothing matches %s in\n%s", re, text)
	}
	return strings.Join(m[1:], "") // of alternatives one
}

// TestMCP looks at saved traces as an agent does: what it may not see it does not see.
func TestMCP(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "app")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "program"))); err != nil {
		t.Fatal(err)
	}
	const key = "sk-proj-0123456789abcdefghijklmn"
	s := store.Open(filepath.Join(dir, store.DirName))
	var ids []string
	for _, name := range []string{"csv", "md"} {
		tr, err := makeTrace(name, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		tr.Command = append(tr.Command, "--api-key="+key)
		e, err := s.Save(tr)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, e.ID)
		for _, to := range []string{filepath.Join(root, "outside.pb.gz"), filepath.Join(dir, "inside.pb.gz")} {
			data, err := os.ReadFile(e.Path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(to, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	// A file whose name the store would take for a trace's.
	if err := os.Rename(filepath.Join(dir, "inside.pb.gz"), filepath.Join(dir, "plain")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("plain", filepath.Join(dir, "inside.pb.gz")); err != nil {
		t.Skip(err)
	}
	// The key is in the environment, too, and in a source: nothing of it is a trace's.
	main := filepath.Join(dir, "main.go")
	data, err := os.ReadFile(main)
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.Replace(data, []byte("func show("), []byte("// The key is "+key+".\nfunc show("), 1)
	if err := os.WriteFile(main, data, 0o600); err != nil {
		t.Fatal(err)
	}
	a := startAgent(t, dir, []string{"OPENAI_API_KEY=" + key, "DB_PASSWORD=correct-horse"})

	a.has(a.ask("list_traces", nil), ids[1]+" @last", ids[0]+" @prev", "[REDACTED:")
	a.has(a.ask("call_tree", args{"trace": ids[0]}), "table.(*Table).Draw", "[REDACTED:")
	a.has(a.ask("call_tree", args{"trace": "inside.pb.gz"}), "markdown.Render")
	a.has(a.ask("source", args{"function": "main.show"}), "The key is [REDACTED:", "main.go")
	a.has(a.ask("rank", args{"trace": ids[0], "question": "what draws the border?"}), "1. ", "table.border #")
	a.has(a.ask("prompt", args{"trace": ids[0], "question": "what draws the border? " + key}), "table.border", "[REDACTED:")
	a.has(a.ask("compare", nil), "a: trace "+ids[0], "first divergence", "markdown.Render")

	for _, tt := range []struct {
		tool string
		in   args
		want string
	}{
		{"call_tree", args{"trace": "nothing"}, "no trace nothing"},
		{"call_tree", args{"trace": ids[0][:7] + "g"}, "did you mean " + ids[0]},
		{"call_tree", args{"trace": filepath.Join(root, "outside.pb.gz")}, "outside of the server's working directory"},
		{"call_tree", args{"trace": "../outside.pb.gz"}, "outside of the server's working directory"},
		{"call_tree", args{"trace": "plain"}, "no trace plain"},
		{"call_tree", args{"trace": "go.mod"}, "no trace go.mod"},
		{"call_tree", args{"trace": key}, "no trace [REDACTED:"},
		{"source", args{"function": "main.shwo"}, "did you mean main.show"},
		{"values", nil, "holds no values"},
		{"record", args{"command": []string{"./app"}}, "--allow-run"},
	} {
		text, failed := a.call(tt.tool, tt.in)
		if !failed || !strings.Contains(text, tt.want) {
			t.Errorf("%s %v: failed %v: %s", tt.tool, tt.in, failed, text)
		}
	}
	// An agent reads what the command line prints, with the same handles.
	cli := func(arguments ...string) string {
		t.Helper()
		cmd := exec.Command(commandPath(t), append(arguments, "--quiet", "--dir="+s.Dir())...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "OPENAI_API_KEY="+key)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	a.has(a.ask("call_tree", args{"trace": ids[0]}), cli("tree", "--ids", ids[0]))
	a.has(a.ask("prompt", args{"trace": ids[0], "question": "what draws the border?", "max_tokens": 4000}), cli("prompt", "--budget=4000", ids[0], "what draws the border?"))

	// Clients do not wait for one answer before they ask for the next.
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			for tool, in := range map[string]args{
				"call_tree": {"trace": ids[i%2]}, "rank": {"trace": ids[i%2], "question": "border"}, "source": {"trace": ids[i%2], "function": "main.show"},
				"compare": {"a": ids[i%2]}, "list_traces": {},
			} {
				res, err := a.session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: in})
				if err != nil || res.IsError {
					t.Errorf("%s %v: %+v, %v", tool, in, res, err)
				}
			}
		})
	}
	all.Wait()

	// A trace that is made while the server runs is the last one.
	tr, err := makeTrace("long", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.Save(tr)
	if err != nil {
		t.Fatal(err)
	}
	a.has(a.ask("call_tree", nil), "trace "+e.ID)
	if strings.Contains(a.told, key) || strings.Contains(a.told, "correct-horse") {
		t.Error("a secret was told")
	}
}

// TestRecordTool has an agent run programs.
func TestRecordTool(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("no recorder that is tested on this system")
	}
	const key = "sk-proj-0123456789abcdefghijklmn"
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	stdio, exits := fixtures.Build(t, "stdio"), fixtures.Build(t, "exits")
	a := startAgent(t, dir, []string{"OPENAI_API_KEY=" + key}, "--allow-run")

	// The arguments are the program's as they are, its input is empty, and what it
	// prints is in the answer, but no secret.
	text := a.ask("record", args{"command": []string{stdio, "a b", "$(id)", "'", key}, "dir": "sub"})
	a.has(text, "exit status 0", `"a b" "$(id)" "'"`, "directory: "+filepath.Join(dir, "sub"), "[REDACTED:")
	a.has(a.ask("call_tree", nil), "main.main")

	// A program that fails is no failure of the tool, but one that is missing is.
	a.has(a.ask("record", args{"command": []string{exits, "-how=exit"}}), "(exit status 3)")
	text, failed := a.call("record", args{"command": []string{"./nothing"}})
	if !failed || !strings.Contains(text, "program ./nothing not found") {
		t.Errorf("failed %v: %s", failed, text)
	}
	text, failed = a.call("record", args{"command": []string{"--values=x", stdio}})
	if !failed || !strings.Contains(text, "not in PATH") {
		t.Errorf("an argument is taken for a flag of ours: failed %v: %s", failed, text)
	}

	// One that prints without end is ended, and what it printed is clipped.
	before := a.tokens
	text = a.ask("record", args{"command": []string{stdio, "-endless"}, "timeout_seconds": 4, "max_tokens": 500})
	a.has(text, "ended after 4s", "killed by SIGKILL", "bytes more in the middle that were not kept", "[clipped: ")
	if a.tokens-before > 500 {
		t.Errorf("%d tokens", a.tokens-before)
	}
	if strings.Contains(a.told, key) {
		t.Error("the key was told")
	}

	// A run that is called off ends, and another can begin.
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := a.session.CallTool(ctx, &sdk.CallToolParams{Name: "record", Arguments: args{"command": []string{stdio, "-endless"}}}); err == nil {
		t.Error("it ended by itself")
	}
	a.has(a.ask("record", args{"command": []string{exits, "-how=exit"}}), "(exit status 3)")
}

// TestRecordToolSays: what a user reads on standard error an agent reads in the answer.
func TestRecordToolSays(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no recorder that is tested on this system")
	}
	dir := t.TempDir()
	changes, mark := fixtures.Build(t, "changes"), filepath.Join(dir, "ran")
	a := startAgent(t, dir, nil, "--allow-run")
	a.has(a.ask("record", args{"command": []string{changes}, "baseline": []string{"-nosuch"}}),
		"; the baseline failed, and nothing is left out by it", "-nosuch failed (exit status 2: flag provided but not defined: -nosuch)")
	text, failed := a.call("record", args{"command": []string{changes, "-mark", mark}, "values": []string{"wrok"}})
	if !failed || !strings.Contains(text, "did you mean main.work?") {
		t.Errorf("failed %v: %s", failed, text)
	}
	traces := filepath.Join(dir, store.DirName)
	if err := errors.Join(os.RemoveAll(traces), os.WriteFile(traces, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	text, failed = a.call("record", args{"command": []string{changes, "-mark", mark}})
	if !failed || !strings.Contains(text, "no trace was saved (exit code 125)") || !strings.Contains(text, "traces cannot be saved in "+traces) {
		t.Errorf("failed %v: %s", failed, text)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the program has run")
	}
}

// TestMCPSurvivesBadMessages writes lines that are no messages to the command, and then
// requests, which it answers.
func TestMCPSurvivesBadMessages(t *testing.T) {
	cmd := exec.Command(commandPath(t), "mcp", "--dir="+t.TempDir())
	cmd.Stdin = strings.NewReader("hello\nnull\n[]\n\x00\xff\n" + strings.Repeat("x", 3<<20) + "\n" +
		`{"jsonrpc":"1.0","id":5,"method":"ping"}` + "\n" +
		`{"jsonrpc":"2.0","id":6,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":` + "\n" +
		`{"jsonrpc":"2.0","id":7,"method":"ping"}` + "\n")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	code := regexp.MustCompile(`"id":(\w+),"error":\{"code":(-\d+)`)
	var got []string
	for _, m := range code.FindAllStringSubmatch(stdout.String(), -1) {
		got = append(got, m[1]+" "+m[2])
	}
	if want := "null -32700|null -32600|null -32600|null -32700|null -32600|5 -32600|null -32700"; strings.Join(got, "|") != want {
		t.Errorf("errors %s, want %s\n%s", strings.Join(got, "|"), want, &stdout)
	}
	for _, part := range []string{`"id":6,"result":{`, `"id":7,"result":{`} {
		if !strings.Contains(stdout.String(), part) {
			t.Errorf("no %s in\n%s", part, &stdout)
		}
	}
}
