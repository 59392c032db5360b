//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tracerag/knowledge/postgres/postgrestest"
	"tracerag/trace"
	"tracerag/trace/store"
	"tracerag/viewer/browsertest"
)

// baseView is the page of a knowledge base, served by a process of its own.
type baseView struct {
	t      *testing.T
	dir    string
	env    []string
	trace  store.Entry // of a run that executed it
	url    string
	stderr *os.File
}

func newBaseView(t *testing.T, env ...string) *baseView {
	t.Helper()
	v := &baseView{t: t, dir: t.TempDir(), env: append(os.Environ(), append([]string{"TRACERAG_DIR=", "TRACERAG_KNOWLEDGE=", "TRACERAG_MODEL="}, env...)...)}
	if err := os.CopyFS(v.dir, os.DirFS(filepath.Join("testdata", "program"))); err != nil {
		t.Fatal(err)
	}
	tr, err := makeTrace("csv", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range tr.Nodes {
		if tr.Functions[tr.Nodes[i].Func].Name == "example.com/app/internal/table.border" {
			tr.Activations = append(tr.Activations, trace.Activation{Node: trace.NodeID(i), Args: []trace.Value{{Name: "rows", Type: "[][]string", Text: `[["<b>"]]`}}, Returned: true})
		}
	}
	if v.trace, err = store.Open(filepath.Join(v.dir, store.DirName)).Save(tr); err != nil {
		t.Fatal(err)
	}
	return v
}

func (v *baseView) command(args ...string) *exec.Cmd {
	cmd := exec.Command(commandPath(v.t), args...)
	cmd.Dir, cmd.Env = v.dir, v.env
	return cmd
}

// run runs a command to its end, and returns what it printed.
func (v *baseView) run(args ...string) string {
	v.t.Helper()
	out, err := v.command(args...).Output()
	if err != nil {
		v.t.Fatalf("tracerag %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// start serves the page until the test ends.
func (v *baseView) start(args ...string) {
	v.t.Helper()
	cmd := v.command(append([]string{"view", "--no-open"}, args...)...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		v.t.Fatal(err)
	}
	if v.stderr, err = os.Create(filepath.Join(v.t.TempDir(), "stderr")); err != nil {
		v.t.Fatal(err)
	}
	defer v.stderr.Close()
	cmd.Stderr = v.stderr
	if err := cmd.Start(); err != nil {
		v.t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	v.url = strings.TrimSpace(line)
	v.t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			v.t.Error(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case err := <-ended:
			if err != nil {
				v.t.Errorf("after SIGTERM: %v: %s", err, v.said())
			}
		case <-time.After(20 * time.Second):
			_ = cmd.Process.Kill()
			v.t.Error("the page does not end")
		}
	})
	if err != nil {
		v.t.Fatalf("view prints %q: %v: %s", line, err, v.said())
	}
}

// said is what the process printed on standard error so far.
func (v *baseView) said() string {
	text, err := os.ReadFile(v.stderr.Name())
	if err != nil {
		v.t.Error(err)
	}
	return string(text)
}

// functionPage looks at border, with what executed it and its values, in a tab that may read.
func (v *baseView) functionPage(p *browsertest.Page) {
	v.t.Helper()
	p.Wait("document.querySelector('#text')")
	p.Click("#text")
	p.Type("table.border")
	p.Press("Enter")
	p.Wait("[...document.querySelectorAll('.entries a')].some(a => a.innerText === 'table.border')")
	p.Eval("[...document.querySelectorAll('.entries a')].find(a => a.innerText === 'table.border').click()", nil)
	p.Wait("document.querySelector('.listing')?.innerText.includes('func border(rows [][]string) string {')")
	p.Wait("document.querySelector('.does')?.innerText === 'border draws the line above and below the rows.'")
	p.Wait("document.querySelector('.execution')?.innerText.includes('" + v.trace.ID + "')")
	p.Click(".execution button")
	p.Wait("document.querySelector('.values td')?.innerText === '[[\"<b>\"]]'")
}

// TestViewRepositories looks at a knowledge base in a file as a user does, and leaves it as it was.
func TestViewRepositories(t *testing.T) {
	t.Parallel()
	v := newBaseView(t)
	v.run("index", "--quiet")
	file := filepath.Join(v.dir, ".tracerag", "knowledge.db")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	v.start("--knowledge", ".tracerag/knowledge.db")
	if !strings.HasPrefix(v.url, "http://127.0.0.1:") {
		t.Fatalf("view prints %q", v.url)
	}
	p := browsertest.Start(t).Open(t, 1280, 800)
	p.Go(v.url)
	p.Wait("document.querySelector('.state.is-fresh')")
	// What changes meanwhile is stale, and stays as it was indexed.
	if err := os.WriteFile(filepath.Join(v.dir, "internal", "table", "new.go"), []byte("package table\n\nfunc newer() {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.Eval("location.reload()", nil)
	p.Wait("document.querySelector('.state.is-stale')?.title.includes('1 file changed')")
	v.functionPage(p)
	p.Quiet()
	after, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("looking changed the knowledge base (%v)", err)
	}
}

// TestViewOfTeam serves a project for others: with tokens, also behind a proxy. Each question is in the audit.
func TestViewOfTeam(t *testing.T) {
	t.Parallel()
	if ok, err := postgrestest.Installed(); !ok {
		t.Skip("PostgreSQL is not installed", err)
	}
	place, password := postgrestest.New(t).Database(t).Environment()
	v := newBaseView(t, knowledgeVariable+"="+place, password)
	v.run("index", "--quiet")
	v.run("push", "--quiet", v.trace.ID)
	token := v.run("token", "add", "--quiet", "anna")
	old := v.run("token", "add", "--quiet", "bob")
	v.run("token", "rm", "--quiet", "bob")
	// Sources and traces are not needed any more: they are shown as they were indexed and pushed.
	for _, name := range []string{"internal", "main.go", store.DirName} {
		if err := os.RemoveAll(filepath.Join(v.dir, name)); err != nil {
			t.Fatal(err)
		}
	}

	const origin = "https://code.example.com"
	v.start("--repositories", "--listen", "127.0.0.1:0", "--origin", origin)
	if v.url != origin {
		t.Errorf("view prints %q", v.url)
	}
	_, at, _ := strings.Cut(v.said(), "listening on ")
	at, _, _ = strings.Cut(at, "\n")
	ask := func(host, origin, token, path, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequest("POST", "http://"+at+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		req.Header = http.Header{"Authorization": {"Bearer " + token}, "Origin": {origin}, "Content-Type": {"application/json"}, "Sec-Fetch-Site": {"same-origin"}}
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	const search, question = "/api/search", `{"text":"border"}`
	for _, tt := range []struct {
		what, host, origin, token, path string
		want                            int
	}{
		{"a guest behind the proxy", "code.example.com", origin, token, search, 200},
		{"a proxy that sets the Host", at, origin, token, search, 200},
		{"no token", "code.example.com", origin, "", search, 401},
		{"a revoked token", "code.example.com", origin, old, search, 401},
		{"another token", "code.example.com", origin, token[:len(token)-1], search, 401},
		{"without TLS", "code.example.com", "http://code.example.com", token, search, 403},
		{"another origin", "code.example.com", "https://evil.example", token, search, 403},
		{"another host", "evil.example", origin, token, search, 421},
		{"who writes", "code.example.com", origin, token, "/api/index", 403},
		{"who brings up to date", "code.example.com", origin, token, "/api/refresh", 403},
	} {
		status, text := ask(tt.host, tt.origin, tt.token, tt.path, question)
		if status != tt.want || (status == 200) != strings.Contains(text, "table.border") {
			t.Errorf("%s: status %d, want %d: %.200s", tt.what, status, tt.want, text)
		}
	}

	// In a browser, on the server's own machine: the URL opens the page, and so does a token.
	v.start("--repositories")
	b := browsertest.Start(t)
	p := b.Open(t, 1280, 800)
	p.Go(v.url)
	p.Wait("document.querySelector('.repositories')")
	if name := p.Text("#base"); name != "project default" {
		t.Errorf("the page says that it is of %s", name)
	}
	v.functionPage(p)
	p.Quiet()
	p = b.Open(t, 390, 844)
	p.Go(v.url[:strings.Index(v.url, "#")])
	for _, token := range []string{old, token} {
		p.Click("#token")
		p.Type(token)
		p.Press("Enter")
		p.Wait("document.querySelector('.repositories') || document.querySelector('#why')?.innerText.includes('revoked') && document.querySelector('#token').value === ''")
	}
	v.functionPage(p)
	v.run("token", "rm", "--quiet", "anna")
	p.Click("#text")
	p.Press("Enter")
	p.Wait("document.querySelector('#why')?.innerText.includes('the token was revoked')")

	// The owner's own questions are not noted, and those that were refused neither.
	var kept []struct{ Who, What, Text string }
	if err := json.Unmarshal([]byte(v.run("audit", "--json")), &kept); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, q := range kept {
		got = append(got, q.Who+" "+q.What+" "+q.Text)
	}
	slices.Reverse(got)
	border := filepath.Base(v.dir) + ": internal/table/table.go: border"
	id := v.run("executed", "--json", "table.border")
	_, id, _ = strings.Cut(id, `"trace": "`)
	id, _, _ = strings.Cut(id, `"`)
	want := []string{"anna search border", "anna search border", "anna search table.border", "anna function " + border, "anna values " + border + " in trace " + id}
	if !slices.Equal(got, want) {
		t.Errorf("the audit has %q, want %q", got, want)
	}
}
