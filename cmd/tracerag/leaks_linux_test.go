package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"go/format"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tracerag/export"
	"tracerag/knowledge/postgres/postgrestest"
	"tracerag/llm/llmtest"
	"tracerag/prompt"
	"tracerag/redact"
	"tracerag/redact/redacttest"
	"tracerag/repair/patch"
	"tracerag/visible"
)

// controls are characters that no output may have: they clear a screen, ring, set a
// title, turn the text around, or hide.
const controls = "\x1b[2J\x1b]0;x\a\u202e\u2066\u200b\u200f\u009b\x7f\U000e0041\u2028"

// planted is what a program was given to leak.
type planted struct {
	name string
	left func(text string) string // what of it is in a text, "" nothing
}

// TestEverySecretAgainstEveryOutput records a program that is full of secrets, each of
// which shows as one in a single place only: in a source, a command line, an environment,
// the key of a map that was observed. Then it looks for all of them, and for control
// characters, in every output of every command.
func TestEverySecretAgainstEveryOutput(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("no recorder for this system")
	}
	if testing.Short() {
		t.Skip("starts a hundred processes")
	}
	if !ownProcess(t) {
		return
	}
	l := plant(t, redacttest.Forms(1))
	inDirectory(t, l.work, l.env)
	l.record()
	covered := map[string]bool{}
	for _, c := range commands {
		looks, ok := l.looks()[c.name]
		if !ok {
			t.Errorf("%s is not looked at: give it its command lines here", c.name)
		}
		covered[c.name] = true
		for _, args := range append(looks, []string{"--" + controls}, []string{"--dir=" + controls, controls + "x", "@nothing" + controls}, []string{"--help"}) {
			l.run(append([]string{c.name}, args...)...)
		}
	}
	for name := range l.looks() {
		if !covered[name] && name != "" {
			t.Errorf("there is no command %s any more", name)
		}
	}
	for _, args := range l.looks()[""] {
		l.run(args...)
	}
	t.Run("mcp", func(t *testing.T) { l.t = t; l.agent() })
	t.Run("view", func(t *testing.T) { l.t = t; l.view() })
	t.Run("worker", func(t *testing.T) { l.t = t; l.worker() })
	t.Run("repositories", func(t *testing.T) { l.t = t; l.repositories() })
	l.t = t
	l.sent()
}

// leaker is the program and where it lies.
type leaker struct {
	t             *testing.T
	self          string
	module, work  string // the program's source, and where it runs
	program, args string
	first, second string // traces
	env           []string
	secrets       []planted
	server        *llmtest.Server
	answer        string
	database      string // URL of the knowledge base, "" for one in a file
	inURL         string // a password that somebody puts into a URL
}

// onlyInRun is a secret by the key of a map that a run observes.
const onlyInRun = "map-corr3ct-horse"

// plant writes and builds a program with a function for each form that a detector finds in
// its source, which hands the secret to another one under a name that says nothing.
func plant(t *testing.T, forms []redacttest.Form) *leaker {
	t.Helper()
	l := &leaker{t: t, self: commandPath(t), module: t.TempDir(), work: filepath.Join(t.TempDir(), "work"+strings.ReplaceAll(controls, "/", ""))}
	if err := os.Mkdir(l.work, 0o700); err != nil {
		t.Fatal(err)
	}
	word := func(s string) planted {
		return planted{s, func(text string) string {
			if strings.Contains(text, s) {
				return s
			}
			return ""
		}}
	}
	argument, env, inMap, constant := "arg-Tr0ub4dor-and", "env-swordfish-9000", onlyInRun, "const-b4ttery-staple"
	password := l.plantDatabase()
	for _, s := range []string{argument, env, inMap, constant, l.inURL, password} {
		l.secrets = append(l.secrets, word(s))
	}
	l.args = argument
	var functions, calls strings.Builder
	n := 0
	for _, f := range forms {
		s, ok := f.In(redacttest.Assign)
		ident, value, assigned := strings.Cut(s.Text, " := ")
		switch {
		case !ok, !assigned, f.Kind == redacttest.Hidden, f.Kind == redacttest.Spelled, !strings.HasPrefix(value, `"`):
			continue
		case slices.ContainsFunc(f.Secrets, func(s string) bool { return len(s) < redact.MinKnown }):
			continue // which is masked where it shows alone
		}
		code := fmt.Sprintf("func form%d() string {\n\t%s\n\treturn take%[1]d(%[3]s)\n}\n\nfunc take%[1]d(x string) string { return x + \"!\" }\n\n", n, s.Text, ident)
		if _, err := format.Source([]byte("package main\n" + code)); err != nil || f.Left(redact.New().Text("package main\n"+code)) != "" {
			continue // it is not found at all: package redact's own test says so
		}
		functions.WriteString(code)
		fmt.Fprintf(&calls, "\tform%d()\n", n)
		l.secrets = append(l.secrets, planted{f.Name, f.Left})
		n++
	}
	if n < 60 {
		t.Fatalf("only %d forms are found in sources: this test shows little", n)
	}
	t.Logf("%d forms", n)
	source := fmt.Sprintf(`package main

import "os"

// A comment with %s in it.
const dbPassword = %q

func main() {
	takeArgument(os.Args[2])
	takeEnvironment(os.Getenv("SERVICE_TOKEN"))
	takeMap(map[string]string{"password": secretOf()})
	takeConstant(dbPassword)
%s	if len(os.Args) > 4 {
		takeMore(os.Args[4])
	}
	println("done")
}

func secretOf() string { return %q }

func takeArgument(x string) string    { return x + "!" }
func takeEnvironment(x string) string { return x + "!" }
func takeMap(m map[string]string) int { return len(m) }
func takeConstant(x string) string    { return x + "!" }
func takeMore(x string) string        { return x + "!" }

%s`, "\x1b[2J\u202e\u200b\u2066", constant, &calls, inMap, &functions)
	l.write("main.go", source)
	l.write("go.mod", "module example.com/leaker\n\ngo 1.26\n")
	l.program = filepath.Join(l.module, "leaker")
	build := exec.Command("go", "build", "-buildvcs=false", "-gcflags=-l", "-o", l.program, ".")
	build.Dir = l.module
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	l.answer = "By `main.takeMap`. " + controls
	for _, s := range []string{argument, env, constant} { // an experiment observes no values
		l.answer += " It is " + s + "."
	}
	l.server = llmtest.New(t, llmtest.Step{Handle: l.model})
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	l.env = []string{"HOME=" + l.module, "PATH=" + os.Getenv("PATH"), "GORACE=" + goRace, "GOCACHE=" + strings.TrimSpace(string(cache)), "TRACERAG_DIR=" + filepath.Join(l.module, "traces"),
		"TRACERAG_MODEL=gpt-4o", "OPENAI_BASE_URL=" + l.server.URL(), "SERVICE_TOKEN=" + env, "PGPASSWORD=" + password}
	return l
}

// plantDatabase has what is known of sources in PostgreSQL, where it is installed, and returns the
// password.
func (l *leaker) plantDatabase() string {
	l.inURL = "url-Gr4ss-hopper"
	if there, err := postgrestest.Installed(); err != nil {
		l.t.Fatal(err)
	} else if !there {
		l.t.Log("without PostgreSQL: what is known is in a file")
		return "none-" + l.inURL
	}
	role := postgrestest.New(l.t).Database(l.t)
	l.database, _ = role.Environment()
	return role.Password
}

func (l *leaker) write(name, text string) {
	if err := os.WriteFile(filepath.Join(l.module, name), []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// model says all that it knows, in pieces of three bytes at most, which are no characters.
func (l *leaker) model(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Stream bool }
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || !asked.Stream {
		w.Header().Set("Content-Type", "application/json")
		reply, _ := json.Marshal(l.answer)
		fmt.Fprintf(w, `{"id":"x","object":"chat.completion","model":"gpt-4o","choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":"stop"}]}`, reply)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for text := l.answer; text != ""; {
		n := min(3, len(text))
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		fmt.Fprintf(w, "data: %s\n\n", llmtest.Chunk("gpt-4o", text[:n], ""))
		http.NewResponseController(w).Flush()
		text = text[n:]
	}
	fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", llmtest.Chunk("gpt-4o", "", "stop"))
}

// record makes two traces. What the program prints is its own, and nothing here.
func (l *leaker) record() {
	l.t.Helper()
	ids := func(n string) string { return "--id-file=" + filepath.Join(l.module, n) }
	run := []string{"run", "--values=main.take*", ids("first"), "--", l.program, "--db-password", l.args, controls}
	l.run(run...)
	run[2] = ids("second")
	l.run(append(run, controls+" and more")...)
	l.run("run", "--values=main.take*", "--quiet", "-q", "What does "+l.args+" do? "+controls, "--", l.program, "--db-password", l.args, controls)
	for name, id := range map[string]*string{"first": &l.first, "second": &l.second} {
		data, err := os.ReadFile(filepath.Join(l.module, name))
		if *id = strings.TrimSpace(string(data)); err != nil || *id == "" {
			l.t.Fatalf("nothing was recorded: %v", err)
		}
	}
	if out := l.run("tree", l.first); !strings.Contains(out, "takeMap") || !strings.Contains(out, `"password": "[REDACTED:`) {
		l.t.Fatalf("no values were observed:\n%s", out)
	}
}

// looks are command lines by command; those of "" are none of a command's.
func (l *leaker) looks() map[string][][]string {
	question := "What does " + l.args + " do? " + controls
	at := func(name string) string { return filepath.Join(l.module, name) }
	first, second := l.first, l.second
	out := map[string][][]string{
		"":    {{"help"}, {"version"}, {"--" + controls}, {controls}, {"help", controls}, {"__complete", "tree", ""}, {"__complete", "show", "@"}, {"__complete", "tree", "--focus", "main.take"}},
		"run": {{"--", "./" + controls}, {"--recorder=" + controls, "--", l.program}, {"--baseline=" + controls, "--", l.program}, {"--values=" + controls, "--", l.program, "--x", "y"}},
		"ask": {{first, question}, {"--continue", first, question}, {"--dry-run", first, question}, {"--compare", first, second, question}, {"--base-url=http://127.0.0.1:1/" + controls, "--retries=-1", first, "x"}},
		"compare": {{first, second}, {"--json", first, second}, {"--brief", first, second}, {"--values", first, first}, {"--ignore=" + controls, first, second},
			{"--gate", at("gate.pb.gz"), "--update", "--", l.program, "--db-password", l.args, controls}, {"--gate", at("gate.pb.gz"), "--", l.program, "--db-password", l.args, controls, "b"}},
		"tree":       {{first}, {"--no-values", first}, {"--ids", "--depth=2", first}, {"--focus=" + controls, first}, {"--tree=graph", first}, {"--baseline=" + first, second}},
		"view":       {{"--no-open", controls}, {"--repositories", "--origin=" + controls}, {"--repositories", "--origin=https://me:" + l.inURL + "@a.example"}, {"--repositories", "--listen=" + controls}},
		"report":     {{first}, {first, second}, {"-q", question, "-o", at("report.html"), first}},
		"prompt":     {{"--tokens", first, question}, {"--explain", "--budget=2k", first, question}, {"--json", first, question}, {"--types", first, question}, {"--compare", first, second, question}, {"--template=" + controls, first}},
		"rank":       {{question, first}, {"--json", question, first}},
		"mcp":        {{controls}},
		"attach":     {{controls}, {"999999999"}},
		"window":     {{controls}, {"start", controls}, {"stop", "x"}},
		"list":       {{}, {"--json"}},
		"show":       {{first}, {"--json", first}},
		"rm":         {{controls}},
		"import":     {{at("main.go")}, {controls}, {at("gate.pb.gz")}},
		"sizes":      {{first}, {"--json", first}},
		"eval":       {{"experiment", "--prompts-only", at("experiment.yaml")}, {"experiment", "--max-cost=5", "--repetitions=1", at("experiment.yaml")}, {"experiment", "--json", "--max-cost=5", "--repetitions=1", at("experiment.yaml")}, {controls}, {"experiment", controls}},
		"doctor":     {{l.program}, {"--json", l.program}, {controls}},
		"completion": {{"bash"}, {controls}},
		"index":      {{"--edges=no", l.module}, {"--json", "--edges=no", l.module}, {controls}, {"https://127.0.0.1:1/" + controls}},
		"locate": {{"--knowledge", l.known(), question}, {"--knowledge", l.known(), "--json", question}, {"--knowledge", l.known(), "--in", controls, question}, {"--knowledge", l.known(), "--trace", first, "main.main form1 take1 dbPassword"},
			{"--knowledge", l.known(), "--trace", first, "--how=rerank", question}, {"--knowledge", l.known(), "--trace", first, "--how=summaries", "--json", question}},
	}
	url := "postgres://me:" + l.inURL + "@127.0.0.1:1/db"
	for _, place := range []string{l.known(), url, url + "?sslmode=" + controls, strings.Replace(url, ":1/", ":x/", 1), "postgres://me@127.0.0.1:1/db?password=" + l.inURL, l.known() + "&project=" + "none", l.known() + "&user=nobody"} {
		out["index"] = append(out["index"], []string{"--edges=no", "--knowledge", place, l.module}, []string{"--json", "--edges=no", "--knowledge", place, l.module}, []string{"--forget", "--knowledge", place, controls},
			[]string{"--copy-to", place})
		out["locate"] = append(out["locate"], []string{"--json", "--knowledge", place, "main"})
		out["jobs"] = append(out["jobs"], []string{"--all", "--knowledge", place}, []string{"--json", "--knowledge", place}, []string{"--knowledge", place, "retry", "1"}, []string{"cancel", controls}, []string{"try", controls}, []string{"--knowledge", place, "try", at("main.go")}, []string{"--knowledge", place, "answers", controls})
		out["index"] = append(out["index"], []string{"--follow", "--knowledge", place, "https://joe:" + l.inURL + "@127.0.0.1:1/a/b"}, []string{"--follow", "--knowledge", place, controls})
		if strings.Contains(place, l.inURL) { // else it goes on
			out["view"] = append(out["view"], []string{"--no-open", "--knowledge", place})
			out["worker"] = append(out["worker"], []string{"--knowledge", place, "--jobs=" + controls}, []string{"--knowledge", place, "--files=" + controls})
		}
		out["token"] = append(out["token"], []string{"--knowledge", place, "list"}, []string{"--knowledge", place, "add", controls}, []string{"--knowledge", place, "rm", controls}, []string{controls})
		out["audit"] = append(out["audit"], []string{"--knowledge", place, "--who", controls}, []string{"--knowledge", place, "--json"}, []string{"--since=" + controls})
		out["push"] = append(out["push"], []string{"--knowledge", place}, []string{"--knowledge", place, controls})
		out["pull"] = append(out["pull"], []string{"--list", "--knowledge", place}, []string{"--list", "--json", "--knowledge", place}, []string{"--knowledge", place, controls}, []string{"--knowledge", place, "--test", controls})
		out["executed"] = append(out["executed"], []string{"--knowledge", place, "main.main"}, []string{"--json", "--knowledge", place, "main"}, []string{"--knowledge", place, controls})
		if strings.Contains(place, l.inURL) { // not even where nothing is masked
			out["locate"] = append(out["locate"], []string{"--no-redact", "--knowledge", place, "main"})
		}
	}
	l.write("change.diff", "--- a/main.go\n+++ b/main.go\n@@ -1 +1 @@\n-"+l.args+"\n+"+controls+"\n")
	l.write("reply.md", patch.Format([]patch.Edit{{File: "main.go", Text: "func take1() { println(\"" + controls + "\") }\n"}}))
	out["fix"] = [][]string{{"--knowledge", l.known(), "--test", ".:TestNone", question}, {"--test", ".:" + controls, question}, {"--candidate", at("change.diff"), question}, {"--candidate", at("reply.md"), "--json"}, {"--candidate", controls}, {"--show=" + controls}, {"--show"}}
	l.write("cases.jsonl", fmt.Sprintf(`{"id":"a","report":%q,"files":["main.go"],"functions":["main"]}`, "main.main form1 take1 dbPassword "+l.args))
	l.write("commit.jsonl", `{"id":"a","repo":"a/b","commit":"0123456789","report":"x","files":["main.go"]}`)
	out["eval"] = append(out["eval"], []string{"locate", "--repo", l.module, "--knowledge", l.known(), at("cases.jsonl")}, []string{"locate", "--json", "--repo", l.module, "--knowledge", l.known(), at("cases.jsonl")},
		[]string{"locate", "--clones=" + controls, at("commit.jsonl")}, []string{"locate", controls}, []string{"locate", "--how=" + controls, "x"})
	l.write("experiment.yaml", fmt.Sprintf("name: leaker\nprogram: %s\nruns:\n  one: {args: [--db-password, %q, %q]}\nvariants: [T, ordered]\nmodels: [gpt-4o]\nrepetitions: 1\ninquiries:\n  - id: who\n    runs: [one]\n    question: %q\n    answer: main.takeMap\n    criteria:\n      - {id: function, text: named, functions: [main.takeMap]}\n",
		l.module, l.args, "plain", "what of "+l.args+"?"))
	for _, f := range export.Formats() {
		out["export"] = append(out["export"], []string{"--format", f.Name, first}, []string{"--format", f.Name, "-o", at("export" + f.Ext), first})
	}
	for _, f := range []string{"text", "json", "dot", "mermaid", "sequence"} {
		out["tree"] = append(out["tree"], []string{"--format", f, first})
	}
	for _, f := range []string{"markdown", "xml", "json"} {
		out["prompt"] = append(out["prompt"], []string{"--format", f, first, question})
	}
	for _, v := range prompt.Variants {
		out["prompt"] = append(out["prompt"], []string{"--variant", string(v), first, question})
	}
	return out
}

// run runs a command and looks at what it prints, and at the files that it writes for
// others.
func (l *leaker) run(args ...string) (stdout string) {
	l.t.Helper()
	done := runAsUser(l.t, args...)
	line := fmt.Sprintf("%.200q", args)
	l.look(line, []byte(done.stdout))
	l.look(line+": standard error", []byte(done.stderr))
	for i, arg := range args {
		if arg != "-o" && arg != "--gate" {
			continue
		}
		data, err := os.ReadFile(args[i+1])
		if err != nil {
			l.t.Errorf("%s: %v", line, err)
		}
		l.look(line+": the file", data)
	}
	return done.stdout
}

// look looks for secrets and control characters.
func (l *leaker) look(where string, data []byte) {
	l.t.Helper()
	packed := false
	if z, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		packed = true // no terminal and no prompt gets that
		if data, err = io.ReadAll(z); err != nil {
			l.t.Errorf("%s: %v", where, err)
		}
	}
	text := string(data)
	found := 0
	for _, s := range l.secrets {
		if left := s.left(text); left != "" {
			i := strings.Index(text, left)
			if found++; found < 4 {
				l.t.Errorf("%s: %s is in what comes out: %q", where, s.name, text[max(0, i-60):min(len(text), i+60)])
			}
		}
	}
	if shown := visible.Text(text); !packed && shown != text {
		i := 0
		for i < min(len(shown), len(text)) && shown[i] == text[i] {
			i++
		}
		l.t.Errorf("%s: a character is not escaped: %q", where, text[max(0, i-60):min(len(text), i+60)])
	}
}

// decoded looks at the strings of JSON, too, which somebody will print or read.
func (l *leaker) decoded(where string, data []byte) {
	l.t.Helper()
	l.look(where, data)
	var texts strings.Builder // one text, as a page of source has thousands
	defer func() { l.look(where+", decoded", []byte(texts.String())) }()
	var each func(v any)
	each = func(v any) {
		switch v := v.(type) {
		case string:
			texts.WriteString(v + "\n")
		case []any:
			for _, x := range v {
				each(x)
			}
		case map[string]any:
			for _, x := range v {
				each(x)
			}
		}
	}
	for dec := json.NewDecoder(bytes.NewReader(data)); ; {
		var v any
		if err := dec.Decode(&v); err != nil {
			if !errors.Is(err, io.EOF) {
				l.t.Errorf("%s is no JSON: %v", where, err)
			}
			return
		}
		each(v)
	}
}

// known is the file that knows the program's source.
func (l *leaker) known() string {
	file := cmp.Or(l.database, filepath.Join(l.module, "knowledge.db"))
	if _, err := os.Stat(filepath.Join(l.module, "known")); err != nil {
		l.write("known", "")
		cmd := exec.Command(l.self, "index", "--edges=no", "--knowledge", file, l.module)
		if out, err := cmd.CombinedOutput(); err != nil {
			l.t.Fatalf("%v\n%s", err, out)
		}
	}
	return file
}

// agent calls every tool of the MCP server, and reads its resources and prompts.
func (l *leaker) agent() {
	cmd := exec.Command(l.self, "mcp", "--allow-run", "--knowledge", l.known())
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(l.t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	defer session.Close()
	question := "What does " + l.args + " do? " + controls
	calls := map[string][]args{
		"list_traces": {{}},
		"call_tree":   {{"trace": l.first}, {"trace": controls}},
		"source":      {{"trace": l.first, "function": "main.*", "max_tokens": 100000}, {"function": controls}},
		"rank":        {{"trace": l.first, "question": question}},
		"context":     {{"trace": l.first, "question": question, "max_tokens": 50000}, {"trace": l.first, "read": []string{"main.*", controls, "callers main.main", "p1"}, "max_tokens": 50000}, {"trace": l.first, "question": question, "compare_with": l.second}},
		"index":       {{"trace": l.first, "max_tokens": 50000}, {"trace": controls}},
		"prompt":      {{"trace": l.first, "question": question, "max_tokens": 50000}},
		"compare":     {{"a": l.first, "b": l.second}},
		"values":      {{"trace": l.first, "max_tokens": 100000}, {"trace": l.first, "function": controls}},
		"record":      {{"command": []string{l.program, "--db-password", l.args, controls}}, {"command": []string{controls}}},
		"locate":      {{"report": question + " form1 take1 dbPassword", "max_tokens": 50000}, {"report": "main", "in": controls}},
		"unit":        {{"name": "main", "max_tokens": 100000}, {"name": "main.go", "max_tokens": 100000}, {"name": "dbPassword"}, {"name": controls}, {"name": "main", "repository": controls}},
		"callers":     {{"name": "takeMap"}, {"name": controls}},
		"callees":     {{"name": "main", "max_tokens": 50000}, {"name": controls}},
		"tests_of":    {{"name": "form1"}, {"name": controls}},
		"refresh":     {{}},
		"try_change":  {{"change": controls}, {"change": "--- a/main.go\n+++ b/main.go\n@@ -1 +1 @@\n-" + l.args + "\n+x\n"}, {"change": patch.Format([]patch.Edit{{File: "main.go", Text: "func take1() {}\n"}}), "test": ".:" + controls}},
	}
	tools, err := session.ListTools(l.t.Context(), nil)
	if err != nil {
		l.t.Fatal(err)
	}
	tell := func(where string, answer any, err error) {
		l.t.Helper()
		if err != nil {
			l.look(where+": the error", []byte(err.Error()))
			return
		}
		data, err := json.Marshal(answer)
		if err != nil {
			l.t.Fatal(err)
		}
		l.decoded(where, data)
	}
	for _, tool := range tools.Tools {
		if len(calls[tool.Name]) == 0 {
			l.t.Errorf("the tool %s is not looked at: give it arguments here", tool.Name)
		}
		for _, in := range calls[tool.Name] {
			res, err := session.CallTool(l.t.Context(), &sdk.CallToolParams{Name: tool.Name, Arguments: in})
			tell(fmt.Sprintf("%s %v", tool.Name, in), res, err)
		}
	}
	resources, err := session.ListResources(l.t.Context(), nil)
	tell("the resources", resources, err)
	for _, r := range resources.Resources[:min(2, len(resources.Resources))] {
		res, err := session.ReadResource(l.t.Context(), &sdk.ReadResourceParams{URI: r.URI})
		tell(r.URI, res, err)
	}
	prompts, err := session.ListPrompts(l.t.Context(), nil)
	tell("the prompts", prompts, err)
}

// served serves a page until the test ends, and returns what asks it and looks at the answers.
func (l *leaker) served(args ...string) (ask func(method, path, body string) []byte) {
	cmd := exec.Command(l.self, append([]string{"view", "--no-open"}, args...)...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		l.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	buf := make([]byte, 4096)
	n, err := stdout.Read(buf)
	url, token, ok := strings.Cut(strings.TrimSpace(string(buf[:n])), "/#")
	if err != nil || !ok {
		l.t.Fatalf("view prints %q, %v", buf[:n], err)
	}
	return func(method, path, body string) []byte {
		l.t.Helper()
		req, err := http.NewRequestWithContext(l.t.Context(), method, url+path, strings.NewReader(body))
		if err != nil {
			l.t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Origin", url)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			l.t.Fatal(err)
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		if err != nil {
			l.t.Fatal(err)
		}
		if strings.Contains(res.Header.Get("Content-Type"), "json") {
			l.decoded(path, data)
		} else {
			l.look(path, data)
		}
		return data
	}
}

// view asks for everything that the page's server has.
func (l *leaker) view() {
	ask := l.served("-q", "What does "+l.args+" do? "+controls, l.first)
	source, err := os.ReadFile(filepath.Join(testDir, "..", "..", "viewer", "server.go"))
	if err != nil {
		l.t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`HandleFunc\("(\w+) (\S+)"`).FindAllStringSubmatch(string(source), -1) {
		draft, _ := json.Marshal(map[string]any{"question": "What does " + l.args + " do? " + controls, "variant": "ordered"})
		switch path := m[2]; {
		case strings.Contains(path, "{function}"), strings.Contains(path, "{node}"):
			for i := range len(l.secrets)*2 + 10 {
				ask(m[1], fmt.Sprintf("%s/%d", path[:strings.LastIndexByte(path, '/')], i), "")
			}
		case m[1] == "POST":
			ask(m[1], path, string(draft))
			ask(m[1], path, `{"variant":"`+"\\u001b[2J\\u202e"+`"}`)
			ask(m[1], path, `{"\u001b":1}`)
		default:
			ask(m[1], strings.TrimSuffix(path, "{$}"), "")
		}
	}
}

// sent looks at what models were sent, and at what was written beside the traces.
func (l *leaker) sent() {
	n := 0
	for _, r := range l.server.Requests() {
		for _, m := range r.Chat.Messages {
			n++
			l.look("a message to the model", []byte(m.Content))
		}
	}
	if n < 5 {
		l.t.Errorf("only %d messages were sent: this test shows little", n)
	}
	conversations := 0
	err := filepath.WalkDir(filepath.Join(l.module, "traces"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".pb.gz") || strings.HasPrefix(filepath.Base(path), "knowledge.db") || strings.Contains(path, string(filepath.Separator)+"bin"+string(filepath.Separator)) {
			return err // traces, and what is known of sources, keep what they were given
		}
		data, err := os.ReadFile(path)
		if strings.Contains(path, ".ask-") {
			conversations++
		}
		l.look(path, data)
		return err
	})
	if err != nil || conversations == 0 {
		l.t.Errorf("%d conversations were saved: %v", conversations, err)
	}
}
