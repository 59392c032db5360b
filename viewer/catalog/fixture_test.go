package catalog_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/knowledge/index"
	"tracerag/knowledge/sqlite"
	"tracerag/knowledge/stores"
	"tracerag/redact"
	"tracerag/session"
	"tracerag/trace"
	"tracerag/viewer/catalog"
	"tracerag/viewer/guard"
)

// hostileName is of a file that tries to become markup and to turn a line round.
const hostileName = "a<img src=x onerror=alert(1)>\u202e.go"

// aSecret is made at test time, so that none is in the repository.
func aSecret() string { return strings.Repeat("hunter2-", 3) }

// files are a module whose texts try to become markup.
func files() map[string]string {
	return map[string]string{
		"go.mod": "module example.com/draw\n\ngo 1.26\n",
		"table/table.go": `// Package table draws tables.
package table

// Table has rows.
type Table struct{ rows []int }

// Row draws a row with its border.  </script><img src=x onerror=alert(1)>
func (t *Table) Row(n int) string {
	return border(n) + "|"
}

// border draws what is around a row.
func border(n int) string { return "+--+" }

func init() {}

func init() { _ = border(1) }
`,
		"table/table_test.go": "package table\n\nimport \"testing\"\n\nfunc TestRow(t *testing.T) { new(Table).Row(1) }\n\nfunc TestOther(t *testing.T) { border(1) }\n",
		hostileName:           "package draw\n\n// frame draws a frame.  </script><img src=x onerror=alert(1)> \u202e\nfunc frame() string {\n\tpassword := `" + aSecret() + "`\n\treturn password\n}\n",
	}
}

// made are the calls in the source.
func made(context.Context, *code.Listing) ([]knowledge.Call, []string, error) {
	at := func(symbol string) knowledge.Place { return knowledge.Place{Path: "table/table.go", Symbol: symbol} }
	test := func(symbol string) knowledge.Place {
		return knowledge.Place{Path: "table/table_test.go", Symbol: symbol}
	}
	return []knowledge.Call{
		{Kind: knowledge.Static, Caller: at("(*Table).Row"), Callee: at("border"), Site: 0},
		{Kind: knowledge.Static, Caller: test("TestRow"), Callee: at("(*Table).Row"), Site: 1},
		{Kind: knowledge.Static, Caller: test("TestOther"), Callee: at("border")},
		{Kind: knowledge.Interface, Caller: knowledge.Place{Path: hostileName, Symbol: "frame"}, Callee: at("border")},
	}, nil, nil
}

// recorded is a run of TestRow, with values.
func recorded() *trace.Trace {
	tr := &trace.Trace{Recorder: "probe", Command: []string{"go", "test", "-run", "TestRow", "./table"}, Goroutines: 1,
		Test: trace.Test{Package: "example.com/draw/table", Name: "TestRow"}}
	tr.Program.Main = trace.Module{Path: "example.com/draw"}
	b := trace.NewBuilder(tr)
	var stack []trace.Frame
	for _, f := range []trace.Function{
		{Name: "example.com/draw/table.TestRow", Package: "example.com/draw/table", File: "table_test.go", StartLine: 5},
		{Name: "example.com/draw/table.(*Table).Row", Package: "example.com/draw/table", File: "table.go", StartLine: 8},
		{Name: "example.com/draw/table.border", Package: "example.com/draw/table", File: "table.go", StartLine: 13},
	} {
		stack = append(stack, trace.Frame{Func: b.Func(f), CallLine: 5})
		b.Call(trace.Root{Kind: trace.RootMain}, stack, 1)
	}
	tr = b.Finish()
	for i := range tr.Nodes {
		if tr.Functions[tr.Nodes[i].Func].Name == "example.com/draw/table.border" {
			tr.Activations = append(tr.Activations, trace.Activation{Node: trace.NodeID(i), Returned: true,
				Args: []trace.Value{{Name: "n", Type: "int", Text: "72"}}, Results: []trace.Value{{Type: "string", Text: `"<b>+--+</b>"`}}})
		}
	}
	return tr
}

// fixture is a knowledge base of the module, and a page of it.
type fixture struct {
	dir     string
	store   knowledge.Store
	content catalog.Content
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "knowledge.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return fixtureIn(t, s)
}

func fixtureIn(t testing.TB, s knowledge.Store) *fixture {
	t.Helper()
	f := &fixture{dir: filepath.Join(t.TempDir(), "draw"), store: s}
	for name, text := range files() {
		at := filepath.Join(f.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := index.Update(t.Context(), s, f.dir, index.Options{Calls: made}); err != nil {
		t.Fatal(err)
	}
	tr := recorded()
	if err := tr.Check(); err != nil {
		t.Fatal(err)
	}
	run, executed := index.Executed(tr)
	run.Trace, run.Dir = "0a1b2c3d", f.dir
	if err := s.AddRun(t.Context(), run, executed); err != nil {
		t.Fatal(err)
	}
	mask := session.NewMasker(func() *redact.Redactor { return redact.New(redact.Secret{Kind: "password", Value: aSecret()}) })
	f.content = catalog.Content{Name: "knowledge.db", Store: s, Secrets: mask, Text: stores.Indexed(context.Background(), s),
		Trace: func(_ context.Context, e *knowledge.Execution) (*trace.Trace, error) {
			if e.ID != run.Trace {
				return nil, catalog.ErrNoTrace
			}
			return mask.Trace(tr), nil
		}}
	return f
}

// serve serves a page for the time of a test. A nil holder lets the own token in, which it returns.
func serve(t testing.TB, c catalog.Content, holder guard.Holder, change ...func(*catalog.Server)) (base, token string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	token = guard.Token()
	own := guard.Only(token, "me")
	if holder != nil {
		own = guard.Either(own, holder)
	}
	s := catalog.New(c, l, guard.New(guard.Options{Hosts: guard.Loopback(port), Holder: own, WayIn: "open the URL that tracerag view printed"}))
	for _, change := range change {
		change(s)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Serve: %v", err)
			}
		case <-time.After(10 * time.Second):
			t.Error("the server does not end")
		}
	})
	return "http://127.0.0.1:" + port, token
}

// request is one that browsers, or others, may make. The zero value but for the path is what the page's own script sends.
type request struct {
	method, path, body, host string
	header                   map[string]string // "-" takes one away
}

func (r request) send(t testing.TB, base, token string) (int, http.Header, string) {
	t.Helper()
	if r.method == "" {
		r.method = "GET"
		if r.body != "" {
			r.method = "POST"
		}
	}
	req, err := http.NewRequest(r.method, base+r.path, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	if r.method != "GET" {
		req.Header.Set("Origin", base)
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range r.header {
		if v == "-" {
			req.Header.Del(k)
		} else {
			req.Header.Set(k, v)
		}
	}
	if r.host != "" {
		req.Host = r.host
	}
	answer, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(body)
}
