package mcp

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/knowledge/index"
	"tracerag/knowledge/sources"
	"tracerag/knowledge/sqlite"
	"tracerag/prompt/tokens"
)

var shopFiles = map[string]string{
	"go.mod": "module example.com/shop\n\ngo 1.26\n",
	"cart/cart.go": `// Package cart keeps what is to be bought.
package cart

import "errors"

// Cart is what a customer wants to buy.
type Cart struct{ items []string }

// ErrEmpty says that nothing is in a cart.
var ErrEmpty = errors.New("the cart is empty")

// Pay charges the customer.
func (c *Cart) Pay() error {
	password := "` + secret + `"
	if len(c.items) == 0 {
		return ErrEmpty
	}
	return c.charge(password)
}

func (c *Cart) charge(string) error { return nil }
`,
	"cart/cart_test.go": "package cart\n\nimport \"testing\"\n\nfunc TestPay(t *testing.T) { (&Cart{}).Pay() }\n",
	"main.go":           "package main\n\nimport \"example.com/shop/cart\"\n\nfunc main() { (&cart.Cart{}).Pay() }\n",
}

// shop serves the source of a small module beside the fake traces.
func shop(t *testing.T) (root string, k Knowledge) {
	t.Helper()
	root = filepath.Join(t.TempDir(), "shop")
	for path, text := range shopFiles {
		at := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "knowledge.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	o := index.Options{Calls: func(context.Context, *code.Listing) ([]knowledge.Call, []string, error) {
		at := func(file, symbol string) knowledge.Place { return knowledge.Place{Path: file, Symbol: symbol} }
		return []knowledge.Call{
			{Kind: knowledge.Static, Caller: at("main.go", "main"), Callee: at("cart/cart.go", "(*Cart).Pay")},
			{Kind: knowledge.Interface, Caller: at("cart/cart_test.go", "TestPay"), Callee: at("cart/cart.go", "(*Cart).Pay")},
			{Kind: knowledge.Static, Caller: at("cart/cart.go", "(*Cart).Pay"), Callee: at("cart/cart.go", "(*Cart).charge"), Site: 1},
		}, nil, nil
	}}
	if _, err := index.Update(t.Context(), s, root, o); err != nil {
		t.Fatal(err)
	}
	return root, sources.New(func(context.Context, bool) (index.Store, error) { return s, nil }, o)
}

// TestKnowledge has golden files of what the tools answer that need no run.
func TestKnowledge(t *testing.T) {
	root, k := shop(t)
	c := client(t, Options{Knowledge: k, Dir: root})
	for _, tt := range []struct {
		name, tool string
		in         args
	}{
		{"locate", "locate", args{"report": "paying fails: \"the cart is empty\""}},
		{"unit", "unit", args{"name": "cart.(*Cart).Pay"}},
		{"unit_file", "unit", args{"name": "cart/cart.go"}},
		{"callers", "callers", args{"name": "Pay"}},
		{"callees", "callees", args{"name": "cart/cart.go:13"}},
		{"tests_of", "tests_of", args{"name": "charge"}},
		{"refresh", "refresh", args{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, failed, _ := ask(t, c, tt.tool, tt.in)
			if failed || strings.Contains(got, secret) {
				t.Fatal(got)
			}
			golden(t, tt.name, got)
		})
	}
}

// TestKnowledgeIsFresh changes a file between two answers.
func TestKnowledgeIsFresh(t *testing.T) {
	root, k := shop(t)
	c := client(t, Options{Knowledge: k, Dir: root})
	before, _, _ := ask(t, c, "unit", args{"name": "charge"})
	text := strings.Replace(shopFiles["cart/cart.go"], "func (c *Cart) charge(string) error { return nil }", "func (c *Cart) charge(string) error { return ErrEmpty }", 1)
	if err := os.WriteFile(filepath.Join(root, "cart/cart.go"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	after, failed, _ := ask(t, c, "unit", args{"name": "charge"})
	head, _, _ := strings.Cut(before, "\n")
	if failed || strings.HasPrefix(after, head) || !strings.Contains(after, "return ErrEmpty }") || strings.Contains(after, "changed since") {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
}

// TestKnowledgeRefusals are errors that help.
func TestKnowledgeRefusals(t *testing.T) {
	root, k := shop(t)
	c := client(t, Options{Knowledge: k, Dir: root})
	for _, tt := range []struct {
		tool string
		in   args
		want string
	}{
		{"unit", args{"name": "crat.Pay"}, "did you mean cart.(*Cart).Pay?"},
		{"unit", args{"name": " "}, "no name"},
		{"unit", args{"name": "Pay", "repository": "store"}, "must be one of shop"},
		{"unit", args{"name": "Pay", "max_tokens": 3}, "max_tokens=3"},
		{"callers", args{"name": "Nobody"}, `named "Nobody"`},
		{"tests_of", args{"name": "Pay", "limit": -1}, "limit=-1"},
		{"locate", args{"report": "\n"}, "no report"},
		{"locate", args{"report": "x", "limit": -2}, "limit=-2"},
	} {
		if got, failed, _ := ask(t, c, tt.tool, tt.in); !failed || !strings.Contains(got, tt.want) {
			t.Errorf("%s %v: %s", tt.tool, tt.in, got)
		}
	}
}

// TestNamesStayOnTheirLine names files in which a line ends: no answer has a line that a name makes.
func TestNamesStayOnTheirLine(t *testing.T) {
	root, k := shop(t)
	dir := filepath.Join(root, "su\nstale: b\x1b[31m")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip(err)
	}
	for name, text := range map[string]string{"x.go": "func Refund() { refund() }\n\nfunc refund() {}\n", "x_test.go": "import \"testing\"\n\nfunc TestRefund(t *testing.T) { Refund() }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("package p\n\n"+text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := client(t, Options{Knowledge: k, Dir: root})
	for tool, in := range map[string]args{"unit": {"name": "Refund"}, "locate": {"report": "Refund("}, "callees": {"name": "Refund"}, "tests_of": {"name": "Refund"}} {
		got, failed, _ := ask(t, c, tool, in)
		if failed || strings.Contains(got, "\nstale: b") || strings.Contains(got, "\x1b") || !strings.Contains(got, `su\nstale: b\x1b[31m/x.go:3`) {
			t.Errorf("%s:\n%s", tool, got)
		}
	}
}

// TestErrorsKeepBudgets asks for unknown things, by names of any length. The error still says what to
// do.
func TestErrorsKeepBudgets(t *testing.T) {
	root, k := shop(t)
	c := client(t, Options{Knowledge: k, Dir: root})
	long, words := strings.Repeat("x", 33000), strings.Repeat("some words ", 3000)
	for _, tt := range []struct {
		tool string
		in   args
		want string
	}{
		{"unit", args{"name": "cart." + long}, "no declaration and no file is named"},
		{"unit", args{"name": words}, "no declaration and no file is named"},
		{"callers", args{"name": "Pay", "repository": long}, "it must be one of shop"},
		{"callers", args{"name": "Pay", "repository": words + "\"\\"}, "it must be one of shop"},
		{"locate", args{"report": "x", "in": long}, "a pattern is a directory or a file"},
		{"call_tree", args{"trace": long}, "xxx..."},
		{"call_tree", args{"trace": "b1b1b1b1", "focus": long}, "xxx..."},
		{"source", args{"trace": "b1b1b1b1", "function": words}, "some words"},
		{"unit", args{"name": "x", long: long}, "xxx"},
		{"unit", args{"name": []string{long}}, ""},
		{long, args{}, "xxx"},
	} {
		for _, limit := range []int{200, 1000} {
			tt.in["max_tokens"] = limit
			res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: tt.tool, Arguments: tt.in})
			var got string
			if err != nil {
				got = err.Error()
			} else if !res.IsError {
				t.Errorf("%.20s %.50v: no error", tt.tool, tt.in)
			} else {
				got = res.Content[0].(*sdk.TextContent).Text
			}
			// The client puts a method in front of a protocol error.
			if n := tokens.For("").Count(strings.TrimPrefix(got, "calling \"tools/call\": ")); n > limit || !strings.Contains(got, tt.want) {
				t.Errorf("%.20s %.50v: %d tokens of %d:\n%.2000s", tt.tool, tt.in, n, limit, got)
			}
		}
	}
}

// TestKnowledgeKeepsBudgets asks for little about a large file.
func TestKnowledgeKeepsBudgets(t *testing.T) {
	root, k := shop(t)
	long := "package cart\n\nfunc long() {\n" + strings.Repeat("\tprintln(\"a line of a long function\")\n", 3000) + "}\n"
	for i := range 300 {
		long += "\nfunc f" + strings.Repeat("x", i) + "() { long() }\n"
	}
	if err := os.WriteFile(filepath.Join(root, "cart/long.go"), []byte(long), 0o644); err != nil {
		t.Fatal(err)
	}
	c := client(t, Options{Knowledge: k, Dir: root})
	for tool, in := range map[string]args{"unit": {"name": "long"}, "locate": {"report": "a line of a long function"}} {
		in["max_tokens"] = 300
		got, failed, _ := ask(t, c, tool, in)
		if n := tokens.For("").Count(got); failed || n > 300 || !strings.Contains(got, "clipped") && tool == "unit" {
			t.Errorf("%s: %d tokens:\n%s", tool, n, got)
		}
	}
	got, failed, _ := ask(t, c, "unit", args{"name": "cart/long.go", "max_tokens": 300})
	if n := tokens.For("").Count(got); failed || n > 300 || !strings.Contains(got, "[clipped: ") {
		t.Errorf("%d tokens:\n%s", n, got)
	}
}
