package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tracerag/export"
	"tracerag/llm/llmtest"
	"tracerag/trace"
	"tracerag/trace/store"
)

// leaks are secrets by the place that they come from. They are put together
// here, so that no scanner finds any in this file.
var leaks = map[string]string{
	"source":      "AKIA" + "2OGYBAH6" + "STMMNXNN",
	"flag":        "hun" + "ter2",
	"url":         "Tr0ub4" + "dor&3",
	"setting":     "q8Zr2" + "Vx7Kp0Lm4Tn",
	"value":       "corr3ct" + "-horse",
	"environment": "swordfish" + "-9000",
	"question":    "ghp_" + "16C7e42F292c6912" + "E7710c838347Ae178B4a",
}

// leaky puts testdata/program into a directory, and a trace of it: a secret of
// each kind is in the sources and in what the trace knows of the run.
func leaky(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "program"))); err != nil {
		t.Fatal(err)
	}
	// In the lines that there are, so that the trace still knows them.
	for file, edit := range map[string][2]string{
		"main.go":                 {"var o options", `var o options; use("` + leaks["source"] + `") // gitleaks:allow`},
		"internal/table/table.go": {") {", `) { // the password of the database is "` + leaks["environment"] + `"`},
	} {
		path := filepath.Join(dir, file)
		data, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(data), edit[0]) {
			t.Fatalf("%s has no %q any more (%v)", file, edit[0], err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(data), edit[0], edit[1])), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// What would make gitleaks look away.
	if err := os.WriteFile(filepath.Join(dir, ".gitleaks.toml"), []byte("[allowlist]\npaths = ['.*']\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"csv", "long"} {
		tr, err := makeTrace(name, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		tr.Command = append(tr.Command, "--password="+leaks["flag"], "postgres://app:"+leaks["url"]+"@db.example/x",
			leaks["value"]) // only the value below tells what it is
		tr.Program.Settings = []trace.Setting{{Key: "-ldflags", Value: "-s -X main.apiKey=" + leaks["setting"]}}
		tr.Activations = []trace.Activation{{Node: 2, Args: []trace.Value{{Name: "o", Text: `{user: "ann", password: "` + leaks["value"] + `"}`}}}}
		if _, err := store.Open(filepath.Join(dir, ".tracerag")).Save(tr); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestSecretsStayHere looks for secrets in everything that the commands print,
// write for others and send, unless a flag leaves them.
func TestSecretsStayHere(t *testing.T) {
	if testing.Short() {
		t.Skip("starts thirty processes")
	}
	dir := leaky(t)
	question := "Is " + leaks["question"] + " valid?"
	srv := llmtest.New(t, llmtest.Say("By `main.show`."))
	run := func(args ...string) (stdout, stderr string) {
		t.Helper()
		done := runAsUser(t, args...)
		if done.code != 0 && !(done.code == 1 && args[0] == "compare") {
			t.Fatalf("%q: exit code %d\n%s", args, done.code, done.stderr)
		}
		return done.stdout, done.stderr
	}
	inDirectory(t, dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "GORACE=" + goRace, "OPENAI_BASE_URL=" + srv.URL(), "TRACERAG_MODEL=gpt-4o",
		"DB_PASSWORD=" + leaks["environment"]})
	looks := [][]string{
		{"prompt", question}, {"prompt", "--json", question}, {"prompt", "--format=xml", question}, {"prompt", "--format=json", question},
		{"prompt", "--tokens", question}, {"prompt", "--compare", "@prev", "@last", question}, {"prompt", "--variant=full", question},
		{"ask", "--dry-run", question}, {"ask", question}, {"ask", "--compare", "@prev", "@last", question}, {"ask", "--continue", question},
		{"tree"}, {"tree", "--json"}, {"tree", "--format=dot"}, {"tree", "--format=mermaid"}, {"compare", "@prev", "@last"}, {"compare", "--json", "@prev", "@last"},
		{"show"}, {"show", "--json"}, {"list"}, {"list", "--json"}, {"sizes"}, {"report"}, {"report", "@prev", "@last"},
	}
	for _, f := range export.Formats() {
		looks = append(looks, []string{"export", "--format", f.Name})
	}
	look := func(where, text string) {
		t.Helper()
		if z, err := gzip.NewReader(strings.NewReader(text)); err == nil {
			plain, _ := io.ReadAll(z)
			text = string(plain)
		}
		for kind, secret := range leaks {
			if strings.Contains(text, secret) {
				t.Errorf("%s: the secret of the %s is in what comes out", where, kind)
			}
		}
	}
	for _, args := range looks {
		stdout, stderr := run(args...)
		look(strings.Join(args, " "), stdout)
		look(strings.Join(args, " ")+": standard error", stderr)
	}
	for _, r := range srv.Requests() {
		for _, m := range r.Chat.Messages {
			look("a request", m.Content)
		}
	}
	if n := len(srv.Requests()); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
	answers, err := filepath.Glob(filepath.Join(dir, ".tracerag", "*.ask-*.json"))
	if err != nil || len(answers) == 0 {
		t.Errorf("no conversations were saved: %v", err)
	}
	for _, path := range answers {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		look(path, string(data))
	}

	// A trace without its secrets is a trace.
	run("export", "--format=pprof", "-o", "masked.pb.gz")
	if stdout, _ := run("show", "--no-redact", "./masked.pb.gz"); !strings.Contains(stdout, "--password=[REDACTED:password:1]") {
		t.Errorf("the masked trace has another command line: %s", stdout)
	}

	// What is masked is reported, and has one placeholder in all places.
	text, stderr := run("prompt", question)
	if again, _ := run("prompt", question); again != text {
		t.Error("the prompt is another one the second time")
	}
	for _, want := range []string{
		"--password=[REDACTED:password:", "postgres://app:[REDACTED:url-password:1]@db.example/x", `use("[REDACTED:aws-access-token:1]") // gitleaks:allow`,
		`the password of the database is "[REDACTED:env:DB_PASSWORD:1]"`, "Is [REDACTED:github-pat:1] valid?",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the prompt has no %s", want)
		}
	}
	if want := regexp.MustCompile(`(?m)^tracerag: masked [0-9]+ secrets \(aws-access-token 1, env:DB_PASSWORD 1, .*url-password 1\); --no-redact leaves them$`); len(want.FindAllString(stderr, -1)) != 1 {
		t.Errorf("standard error does not say once what was masked: %s", stderr)
	}

	// And nothing is when one asks for that.
	for _, args := range [][]string{{"prompt", question}, {"ask", question}, {"export", "--format=jsonl"}, {"show"}} {
		stdout, stderr := run(append([]string{args[0], "--no-redact"}, args[1:]...)...)
		if args[0] == "ask" {
			requests := srv.Requests()
			stdout = requests[len(requests)-1].Chat.Messages[0].Content
		}
		if strings.Contains(stdout+stderr, "REDACTED") || strings.Contains(stderr, "masked") || !strings.Contains(stdout, leaks["flag"]) {
			t.Errorf("%q masks all the same: %s", args, stderr)
		}
	}
	// The next message of that conversation is another matter.
	run("ask", "--continue", "And now?")
	requests := srv.Requests()
	for _, m := range requests[len(requests)-1].Chat.Messages {
		for _, kind := range []string{"source", "url", "environment", "question"} {
			if strings.Contains(m.Content, leaks[kind]) {
				t.Errorf("the secret of the %s is sent with the next question", kind)
			}
		}
	}
	if masked, _ := run("list"); strings.Count(masked, "[REDACTED:password:1]") != 2 {
		t.Errorf("one secret of two traces has two placeholders:\n%s", masked)
	}
}

// TestCommandsThatShowATraceHaveNoRedact: what shows a call tree or takes a trace
// masks, and so has the way out.
func TestCommandsThatShowATraceHaveNoRedact(t *testing.T) {
	without := map[string]bool{"rm": true, "import": true} // they show nothing of it
	for _, c := range commands {
		var help bytes.Buffer
		a, err := newApp(strings.NewReader(""), &help, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if code := c.run(a, t.Context(), c, []string{"--help"}); code != exitOK {
			t.Fatalf("%s --help: exit code %d", c.name, code)
		}
		shows := strings.Contains(help.String(), "\n      --focus FUNC") || strings.Contains(c.args, "TRACE") && !without[c.name]
		if has := strings.Contains(help.String(), "--no-redact"); shows && !has {
			t.Errorf("%s shows traces and has no --no-redact: add a.redactFlag, and open them by a.session", c.name)
		}
	}
}
