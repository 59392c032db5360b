package viewer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tracerag/code"
	"tracerag/knowledge"
	"tracerag/knowledge/index"
	"tracerag/knowledge/sources"
	"tracerag/knowledge/sqlite"
	"tracerag/redact"
	"tracerag/session"
	"tracerag/viewer"
)

// hostileName is of a file that tries to become markup and to turn a line round.
const hostileName = "a<img src=x onerror=alert(1)>\u202e.go"

// inSource puts what is known of the program's source on a page. Nothing is, before it is
// indexed; secrets are hidden. The run of the page is in the store, too.
func (f *fixture) inSource(c *viewer.Content, secret string) {
	f.t.Helper()
	for name, text := range map[string]string{
		"main_test.go": "package main\n\nimport \"testing\"\n\nfunc TestRow(t *testing.T) { new(table).row(1) }\n",
		hostileName:    "package main\n\n// frame draws a frame.  </script><img src=x onerror=alert(1)> \u202e\nfunc frame() string {\n\tpassword := `" + secret + "`\n\treturn password\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o644); err != nil {
			f.t.Fatal(err)
		}
	}
	o := index.Options{Calls: func(context.Context, *code.Listing) ([]knowledge.Call, []string, error) {
		at := func(symbol string) knowledge.Place { return knowledge.Place{Path: "main.go", Symbol: symbol} }
		return []knowledge.Call{
			{Kind: knowledge.Static, Caller: at("main"), Callee: at("(*table).row"), Site: 1},
			{Kind: knowledge.Static, Caller: at("(*table).row"), Callee: at("border"), Site: 1},
			{Kind: knowledge.Interface, Caller: knowledge.Place{Path: hostileName, Symbol: "frame"}, Callee: at("border")},
			{Kind: knowledge.Static, Caller: knowledge.Place{Path: "main_test.go", Symbol: "TestRow"}, Callee: at("(*table).row"), Site: 1},
		}, nil, nil
	}}
	file := filepath.Join(f.t.TempDir(), "knowledge.db")
	open := func(ctx context.Context, mayIndex bool) (index.Store, error) {
		if !mayIndex {
			return nil, knowledge.ErrNotIndexed
		}
		s, err := sqlite.Open(ctx, file)
		if err != nil {
			return nil, err
		}
		_, err = index.Update(ctx, s, f.dir, o)
		run, executed := index.Executed(c.Runs[0].Trace)
		run.Trace, run.Dir = c.Runs[0].ID, f.dir
		return s, errors.Join(err, s.AddRun(ctx, run, executed))
	}
	src := sources.New(open, o)
	f.t.Cleanup(func() {
		if err := src.Close(); err != nil {
			f.t.Error(err)
		}
	})
	mask := session.NewMasker(func() *redact.Redactor { return redact.New(redact.Secret{Kind: "password", Value: secret}) })
	c.Sources, c.Mask, c.Clean = src, mask.Text, mask.CleanJSON
}

// aSecret is made at test time, so that none is in the repository.
func aSecret() string { return strings.Repeat("hunter2-", 3) }

type ref struct {
	Ref                    int
	Repository, Path, Name string
	Line                   int
}

type link struct {
	ref
	Title, How string
	Lines      []int
}

func (l link) String() string { return fmt.Sprint(l.Title, " ", l.Path, " ", l.How, " ", l.Lines) }

type sourceAnswer struct {
	Unknown                  bool
	Of                       []struct{ Repository, Snapshot string }
	Stale, Marks             []string
	Title, Kind, Place, Note string
	Start, Line              int
	Lines                    [][]string
	Functions                []struct{ ref }
	Files                    []struct{ ref }
	Runs                     []struct {
		Text, Trace string
		Here        bool
	}
	Record                                  *struct{ Line, Why string }
	Callers, Callees, Tests, Also, Declares []link
	Funcs                                   []int
}

// TestInSource asks the server all that the page asks it about the source.
func TestInSource(t *testing.T) {
	f := newFixture(t)
	c := f.content(f.trace(drawing))
	secret := aSecret()
	f.inSource(&c, secret)
	page, err := viewer.New(c)
	if err != nil {
		t.Fatal(err)
	}
	base, token := listen(t, page, nil)
	ask := func(path, body string, want int) (a sourceAnswer) {
		t.Helper()
		status, _, text := request{method: "POST", path: "/api/" + path, body: body}.send(t, base, token)
		if status != want {
			t.Fatalf("%s %s: status %d, want %d: %s", path, body, status, want, text)
		}
		if strings.Contains(text, "hunter2") || strings.Contains(text, "\u202e") || want == 200 && strings.Contains(text, "<img") {
			t.Errorf("%s %s gives away a secret, a control character or markup: %s", path, body, text)
		}
		if want == 200 {
			if err := json.Unmarshal([]byte(text), &a); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		return a
	}
	at := func(list []link, name string) string {
		t.Helper()
		i := slices.IndexFunc(list, func(l link) bool { return l.Name == name })
		if i < 0 {
			t.Fatalf("no %s in %v", name, list)
		}
		return fmt.Sprintf(`{"ref":%d}`, list[i].Ref)
	}
	const question = `{"question":"which border is drawn?"}`
	for path, body := range map[string]string{"locate": question, "unit": `{"func":0}`, "refresh": "{}"} {
		if a := ask(path, body, 200); !a.Unknown || len(a.Of) > 0 {
			t.Errorf("%s before it is indexed: %+v", path, a)
		}
	}
	if a := ask("index", "{}", 200); a.Unknown || len(a.Of) != 1 || a.Of[0].Snapshot == "" {
		t.Fatalf("indexed: %+v", a)
	}

	a := ask("locate", question, 200)
	if len(a.Functions) == 0 || a.Functions[0].Name != "border" || a.Functions[0].Path != "main.go" || len(a.Files) == 0 || a.Files[0].Path != "main.go" {
		t.Errorf("located %+v", a)
	}
	if len(a.Runs) != 1 || !a.Runs[0].Here || a.Record == nil || !strings.Contains(a.Record.Line, "tracerag run -- go test . -run") || !strings.Contains(a.Record.Line, "TestRow") {
		t.Errorf("runs %+v, to record %+v", a.Runs, a.Record)
	}
	if a := ask("locate", `{"question":" "}`, 200); len(a.Functions) > 0 {
		t.Errorf("for no question %+v", a)
	}

	// A unit by where it is; its neighbours; and where it is on the page.
	files := a.Files
	a = ask("unit", fmt.Sprintf(`{"ref":%d}`, a.Functions[0].Ref), 200)
	callers := a.Callers
	got := fmt.Sprint(a.Title, " ", a.Kind, " ", a.Place, ":", a.Line, " ", a.Start, " ", a.Callers, a.Callees)
	want := fmt.Sprintf("main.border func main.go:%d %[1]d [main.(*table).row main.go static, ran x3 [28] main.frame a<img", f.lineOf("func border"))
	if !strings.HasPrefix(got, want) || len(a.Callers) != 2 || a.Callers[1].How != "interface" {
		t.Errorf("unit\n%s, want\n%s", got, want)
	}
	if len(a.Runs) != 1 || !a.Runs[0].Here || len(a.Tests) != 1 || a.Tests[0].Name != "TestRow" || a.Tests[0].How != "2 calls away" {
		t.Errorf("tests %+v, %+v", a.Runs, a.Tests)
	}
	var o struct{ Functions []struct{ Name string } }
	_, _, text := request{path: "/api/overview"}.send(t, base, token)
	if err := json.Unmarshal([]byte(text), &o); err != nil || !strings.Contains(text, `"in_source":true`) {
		t.Fatal(err, text)
	}
	if len(a.Funcs) != 1 || o.Functions[a.Funcs[0]].Name != "main.border" {
		t.Errorf("on the page: %v", a.Funcs)
	}
	// Each function of the page, a literal too, leads to its declaration and from there back.
	for i, fn := range o.Functions {
		a := ask("unit", fmt.Sprintf(`{"func":%d}`, i), 200)
		decl, _, _ := strings.Cut(fn.Name, ".func")
		if a.Title != decl || !slices.Contains(a.Funcs, i) {
			t.Errorf("%s is compiled from %s, which is %v", fn.Name, a.Title, a.Funcs)
		}
	}
	// What did not run is shown with its doc comment, and hides its secret.
	a = ask("unit", at(callers, "frame"), 200)
	var lines []string
	for _, l := range a.Lines {
		line := ""
		for k := 1; k < len(l); k += 2 {
			line += l[k]
		}
		lines = append(lines, line)
	}
	if len(lines) != 5 || a.Start != 3 || a.Line != 4 || !strings.HasPrefix(lines[0], "// frame draws") || lines[1] != "func frame() string {" || len(a.Funcs) > 0 {
		t.Errorf("%d-%d: %q", a.Start, a.Line, lines)
	}
	a = ask("unit", fmt.Sprintf(`{"ref":%d}`, files[0].Ref), 200)
	var declares []string
	for _, d := range a.Declares {
		declares = append(declares, d.Name)
	}
	if want := []string{"main", "read", "table", "(*table).row", "border", "less", "spin"}; !slices.Equal(declares, want) {
		t.Errorf("main.go declares %q, want %q", declares, want)
	}

	// What changed is shown as it is now.
	changed := "package main\n\n\n\nfunc frame() string { return border2 }\n\nconst border2 = \"=\"\n"
	if err := os.WriteFile(filepath.Join(f.dir, hostileName), []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	if a := ask("unit", at(callers, "frame"), 200); a.Line != 5 || len(a.Stale) > 0 {
		t.Errorf("after a change %+v", a)
	}
	if a := ask("refresh", "{}", 200); a.Unknown || len(a.Of) != 1 {
		t.Errorf("refreshed %+v", a)
	}
	// What takes long to read is said to be stale, on each answer, until all is read.
	long := "package main\n\nvar long = 0" + strings.Repeat("+\n\t1", 1<<20) + "\n"
	if err := os.WriteFile(filepath.Join(f.dir, "long.go"), []byte(long), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, body := range map[string]string{"locate": question, "unit": at(callers, "frame")} {
		if a := ask(path, body, 200); len(a.Stale) != 1 || !strings.Contains(a.Stale[0], "1 file changed") {
			t.Errorf("%s of a stale index: %+v", path, a.Stale)
		}
	}
	for _, path := range []string{"refresh", "locate"} {
		body := map[string]string{"refresh": "{}", "locate": question}[path]
		if a := ask(path, body, 200); len(a.Stale) > 0 {
			t.Errorf("%s after all was read: %+v", path, a.Stale)
		}
	}

	// What is gone is said to be.
	if err := os.Remove(filepath.Join(f.dir, hostileName)); err != nil {
		t.Fatal(err)
	}
	ask("unit", at(callers, "frame"), 404)
	ask("unit", `{}`, 404)
	ask("unit", `{"ref":-1}`, 404)
	ask("unit", `{"ref":99999}`, 404)
	ask("unit", `{"func":-1}`, 404)
	ask("unit", `{"func":99999}`, 404)
	ask("unit", `{"path":"/etc/passwd"}`, 400)
	ask("locate", `[`, 400)
}

// TestSourceIsForWhoMayLook: what holds for the run holds for the source around; and who asks by
// GET is answered nothing, and changes nothing.
func TestSourceIsForWhoMayLook(t *testing.T) {
	f := newFixture(t)
	c := f.content(f.trace(drawing))
	f.inSource(&c, aSecret())
	page, err := viewer.New(c)
	if err != nil {
		t.Fatal(err)
	}
	base, token := listen(t, page, nil)
	for _, r := range []request{
		{path: "/api/locate", body: `{"question":"border"}`}, {path: "/api/unit", body: `{"func":0}`}, {path: "/api/refresh", body: "{}"}, {path: "/api/index", body: "{}"},
	} {
		get := r
		get.body = ""
		if status, _, _ := get.send(t, base, token); status != 405 {
			t.Errorf("GET %s: status %d", r.path, status)
		}
		r.method = "POST"
		for _, tt := range []struct {
			name, value string
			want        int
		}{
			{"Authorization", "-", 401}, {"Authorization", "Bearer " + token[1:], 401}, {"Origin", "https://evil.example", 403}, {"Origin", "-", 403},
			{"Sec-Fetch-Site", "cross-site", 403}, {"Content-Type", "text/plain", 415},
		} {
			r.header = map[string]string{tt.name: tt.value}
			if status, _, body := r.send(t, base, token); status != tt.want || strings.Contains(body, "draw") {
				t.Errorf("POST %s with %s %s: status %d, %s", r.path, tt.name, tt.value, status, body)
			}
		}
	}
	if _, err := c.Sources.Repositories(t.Context()); !errors.Is(err, knowledge.ErrNotIndexed) {
		t.Errorf("something of these indexed: %v", err)
	}
	// Without sources there is nothing to ask.
	base, token = listen(t, f.page(f.trace(drawing)), nil)
	if status, _, _ := (request{method: "POST", path: "/api/locate", body: `{"question":"border"}`}).send(t, base, token); status != 404 {
		t.Errorf("a page without sources answers with status %d", status)
	}
}
