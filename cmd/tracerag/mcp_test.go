package main

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tracerag/fixtures"
	"tracerag/prompt/tokens"
)

// agent is a client of tracerag mcp, which runs as a process of its own, as an agent
// starts it. It counts the tokens of all that it is told.
type agent struct {
	t       *testing.T
	session *sdk.ClientSession
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
// about that an earlier answer has not named: whoever follows the tools gets there.
func TestFourInquiries(t *testing.T) {
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
	a.has(shared, "ansi.(*TableElement).Finish #", "table.(*Table).String")
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
