package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tracerag/llm/llmtest"
	"tracerag/trace"
	"tracerag/trace/store"
	"tracerag/viewer/browsertest"
)

// TestPageAsksInRounds asks about a long run from the page: the functions that the question
// is about are listed, the model chooses what it reads, the page shows it, and citations
// are checked over all rounds.
func TestPageAsksInRounds(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no process there ends by an interrupt")
	}
	dir := t.TempDir()
	saved := store.Open(filepath.Join(dir, store.DirName))
	entry, err := saved.Save(longProgram(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	model := llmtest.New(t, llmtest.Say("READ\nmain.step7"), llmtest.Say("READ\nmain.step9"),
		llmtest.Say("ANSWER\n`main.step7` at main.go:296, not main.go:9999, and `main.step9`."))
	view := exec.Command(commandPath(t), "view", "--no-open", "-q", "where is the gasket turned?")
	view.Dir = dir
	view.Env = append(os.Environ(), "TRACERAG_DIR=", "TRACERAG_MODEL=parrot", "OPENAI_BASE_URL="+model.URL(), "OPENAI_API_KEY=sk-test")
	stdout, err := view.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := view.Start(); err != nil {
		t.Fatal(err)
	}
	defer view.Process.Kill()
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	p := browsertest.Start(t).Open(t, 1280, 800)
	p.Go(strings.TrimSpace(url))

	// The word of the question is in a comment of one function.
	p.Wait("document.querySelector('.ranked li')")
	if got := p.Text(".ranked li"); !strings.HasPrefix(got, "main.step7\n") {
		t.Errorf("the first of the list is %q", got)
	}
	p.Click(".ranked li button")
	p.Wait("document.querySelector('.function h2')?.innerText === 'main.step7'")

	p.Wait("!document.querySelector('#how').hidden")
	p.Click("#tab-prompt")
	p.Click(".primary")
	p.Wait("document.querySelector('.answer .cite')")
	var reads []string
	p.Eval("[...document.querySelectorAll('.round > p button')].map(e => e.innerText)", &reads)
	if want := []string{"main.step7", "main.step9"}; !slices.Equal(reads, want) {
		t.Errorf("the model reads %q, want %q", reads, want)
	}
	var prompts []string
	for _, r := range model.Requests() {
		prompts = append(prompts, r.Chat.Messages[len(r.Chat.Messages)-1].Content)
	}
	var shown []string
	p.Eval("[...document.querySelectorAll('.round pre')].map(e => e.textContent)", &shown)
	if !slices.Equal(shown, prompts) {
		t.Errorf("%d prompts are shown, %d were sent, or others", len(shown), len(prompts))
	}
	_, flagged, _ := strings.Cut(p.Text(".answer"), "Not in what was sent")
	if !strings.Contains(flagged, "main.go:9999") || strings.Contains(flagged, "step") || strings.Contains(flagged, "main.go:296") {
		t.Errorf("flagged: %s", flagged)
	}
	var kept []store.Conversation
	for end := time.Now().Add(10 * time.Second); len(kept) == 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if kept, err = saved.Answers(entry); err != nil {
			t.Fatal(err)
		}
	}
	if len(kept) != 1 || len(kept[0].Rounds) != 2 {
		t.Errorf("saved is %+v", kept)
	}
	p.Quiet()
}

// longProgram is a run of a program of 60 functions with some 30,000 tokens of source.
func longProgram(t *testing.T, dir string) *trace.Trace {
	t.Helper()
	file := filepath.Join(dir, "main.go")
	text := "package main\n\nfunc main() {}\n\n"
	b := trace.NewBuilder(&trace.Trace{Recorder: "probe", Command: []string{"./long"}, Dir: dir,
		Program: trace.Program{MainPath: "example.com/long", Main: trace.Module{Path: "example.com/long"}}})
	frame := func(name string, line int) trace.Frame {
		return trace.Frame{Func: b.Func(trace.Function{Name: "main." + name, Package: "example.com/long", File: file, StartLine: line})}
	}
	start, root := frame("main", 3), trace.Root{Kind: trace.RootMain}
	b.Call(root, []trace.Frame{start}, 1)
	for i := range 60 {
		name := fmt.Sprintf("step%d", i)
		b.Call(root, []trace.Frame{start, frame(name, 1+strings.Count(text, "\n"))}, 1)
		note := ""
		if i == 7 {
			note = "\t// It turns the gasket.\n"
		}
		text += "func " + name + "() {\n" + note + strings.Repeat("\tresult = append(result, compute(input, 10))\n", 38) + "}\n\n"
	}
	for name, text := range map[string]string{"main.go": text, "go.mod": "module example.com/long\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return b.Finish()
}
