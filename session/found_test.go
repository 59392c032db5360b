package session

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/prompt"
	"tracerag/redact"
)

// sourceOf are the declarations of a repository of two files, without a store.
type sourceOf struct {
	repository knowledge.Repository
	decls      []knowledge.Decl
	edges      []knowledge.Edge
}

func readSource(t *testing.T, files map[string]string, edges string) *sourceOf {
	t.Helper()
	root := t.TempDir()
	s := &sourceOf{repository: knowledge.Repository{Name: "shop", Root: root, Snapshot: knowledge.Snapshot{Commit: "0123456789abcdef"}, Modules: []code.Module{{Path: "example.com/shop", Dir: "."}}}}
	names := map[string]int64{}
	for _, path := range []string{"shop.go", "cart/cart.go"} {
		at := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(files[path]), 0o644); err != nil {
			t.Fatal(err)
		}
		pkg := "example.com/shop"
		if dir := filepath.Dir(path); dir != "." {
			pkg += "/" + dir
		}
		for _, d := range code.Parse([]byte(files[path])).Decls {
			id := int64(len(s.decls) + 1)
			names[d.Name] = id
			s.decls = append(s.decls, knowledge.Decl{ID: id, Module: "example.com/shop", Package: pkg, Path: path, Decl: d})
		}
	}
	for e := range strings.FieldsSeq(edges) {
		caller, callee, _ := strings.Cut(e, ">")
		if names[caller] == 0 || names[callee] == 0 {
			t.Fatalf("no edge %s", e)
		}
		s.edges = append(s.edges, knowledge.Edge{Kind: knowledge.Static, Caller: names[caller], Callee: names[callee]})
	}
	return s
}

func (s *sourceOf) Callers(_ context.Context, ids []int64) (out []knowledge.Edge, _ error) {
	for _, e := range s.edges {
		if slices.Contains(ids, e.Callee) {
			out = append(out, e)
		}
	}
	return out, nil
}

func (s *sourceOf) Decls(_ context.Context, ids []int64) (out []knowledge.Decl, _ error) {
	for _, id := range ids {
		out = append(out, s.decls[id-1])
	}
	return out, nil
}

// found are the functions with the names, each less relevant than the one before.
func (s *sourceOf) found(names ...string) (out []Found) {
	for i, name := range names {
		for _, d := range s.decls {
			if d.Name == name {
				out = append(out, Found{d, 1 / float64(i+1), "words"})
			}
		}
	}
	return out
}

var shop = map[string]string{
	"shop.go": `package shop

const tax = 19

// Buy buys.
func Buy() { cart.New().Pay(tax) }

func Refund() { pay(-1) }

func pay(n int) { if n > 9 { Refund() } }
`,
	"cart/cart.go": `package cart

type Cart struct{ total int }

func New() *Cart { return &Cart{} }

// Pay pays.
func (c *Cart) Pay(tax int) { password := "hunter2hunter2"; c.sum(password); c.sum("") }

func (c *Cart) sum(s string) {}
`,
}

// TestFoundInput asks for a prompt about functions that words have found.
func TestFoundInput(t *testing.T) {
	s := readSource(t, shop, "Buy>New Buy>(*Cart).Pay (*Cart).Pay>(*Cart).sum Refund>pay pay>Refund")
	session := &Session{Mask: NewMasker(func() *redact.Redactor { return redact.New() })}
	in, err := session.FoundInput(t.Context(), "what does a payment sum up?", &Search{
		Repository: s.repository, Callers: s, Notes: []string{"nothing"},
		Found: append(s.found("(*Cart).sum", "(*Cart).Pay", "pay", "Cart", "Refund"), s.found("pay")...),
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := prompt.Build(in, prompt.Options{Types: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"```text\nshop.Buy\n  cart.(*Cart).Pay\n    cart.(*Cart).sum\nshop.Refund\n  shop.pay\n    shop.Refund\n```",
		"Callers in the source: `shop 0123456789ab`",
		"### cart.(*Cart).sum  cart/cart.go:10-10",
		"5 // Buy buys.\nfunc Buy() { cart.New().Pay(tax) }",
		"const tax = 19",
	} {
		if !strings.Contains(p.Text, want) {
			t.Errorf("the prompt has no\n%s\nbut is\n%s", want, p.Text)
		}
	}
	for _, absent := range []string{"hunter2", s.repository.Root, "x2"} {
		if strings.Contains(p.Text, absent) {
			t.Errorf("the prompt has %q:\n%s", absent, p.Text)
		}
	}
}

// TestFoundCallersAreFew has a helper that everything calls.
func TestFoundCallersAreFew(t *testing.T) {
	files := map[string]string{"shop.go": "package shop\n\nfunc a() { h() }\n\nfunc b() { h() }\n\nfunc c() { h() }\n\nfunc d() { h() }\n\nfunc e() { h() }\n\nfunc h() { h() }\n", "cart/cart.go": "package cart\n"}
	s := readSource(t, files, "a>h b>h c>h d>h e>h h>h")
	in, err := (&Session{}).FoundInput(t.Context(), "", &Search{Repository: s.repository, Callers: s, Found: s.found("h", "d")})
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, n := range in.Runs[0].Tree.Roots {
		got.WriteString(n.Func.Name[len("example.com/shop."):])
	}
	if got.String() != "dab" { // what was found first, then in the order of the source
		t.Errorf("callers are %s", got.String())
	}
}

// TestFoundMainIsNamedAsInTraces: a command's functions are main's, and their package is its directory's.
func TestFoundMainIsNamedAsInTraces(t *testing.T) {
	w := &foundTree{root: "/shop"}
	d := knowledge.Decl{Package: "example.com/shop/cmd/till", PackageName: "main", Path: "cmd/till/main.go", Decl: code.Decl{Name: "run", Line: 3}}
	if f := w.function(&d); f.Name != "main.run" || f.Package != "example.com/shop/cmd/till" {
		t.Errorf("%+v", f)
	}
	d.PackageName = "till"
	if f := w.function(&d); f.Name != "example.com/shop/cmd/till.run" {
		t.Errorf("%+v", f)
	}
}
