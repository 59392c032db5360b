package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"tracerag/llm/llmtest"
	"tracerag/trace/store"
	"tracerag/viewer/browsertest"
)

// TestView looks at a run as a user does: the command as a process of its own, its
// page in a browser, Ctrl-C at the end.
func TestView(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Ctrl-C cannot be sent to one process there")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "program"))); err != nil {
		t.Fatal(err)
	}
	tr, err := makeTrace("csv", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	traces := store.Open(filepath.Join(dir, store.DirName))
	entry, err := traces.Save(tr)
	if err != nil {
		t.Fatal(err)
	}
	model := llmtest.New(t, llmtest.Say("It is `table.border`, at internal/table/table.go:33."))
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command(commandPath(t), args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TRACERAG_DIR=", "TRACERAG_MODEL=parrot", "OPENAI_BASE_URL="+model.URL(), "OPENAI_API_KEY=sk-test")
		return cmd
	}
	view := command("view", "--no-open", "--types", "-q", "what draws the border?")
	stdout, err := view.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := view.Start(); err != nil {
		t.Fatal(err)
	}
	defer view.Process.Kill()
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Fatalf("view prints %q, %v", url, err)
	}

	p := browsertest.Start(t).Open(t, 1280, 800)
	p.Go(strings.TrimSpace(url))
	p.Wait("document.querySelector('[data-total]')")
	p.Click("#tab-prompt")

	// The figure on the page is that of the command line which the page shows.
	figure := func(args ...string) {
		t.Helper()
		out, err := command(append([]string{"prompt", "--quiet", "--json", "--types", "what draws the border?"}, args...)...).Output()
		if err != nil {
			t.Fatalf("prompt %q: %v", args, err)
		}
		var pr struct {
			Total int
			Text  string
		}
		if err := json.Unmarshal(out, &pr); err != nil {
			t.Fatal(err)
		}
		p.Wait(fmt.Sprintf("document.querySelector('[data-total=\"%d\"]') && !document.querySelector('.figure.stale')", pr.Total))
		if shell := p.Text("#shell"); !strings.HasPrefix(shell, "tracerag prompt "+entry.ID+" --model=parrot --types ") || !strings.Contains(shell, strings.Join(args, " ")) {
			t.Errorf("for %q the page shows %s", args, shell)
		}
	}
	figure()
	p.Eval("(() => { const b = document.querySelector('#budget'); b.value = 900; b.dispatchEvent(new Event('change')); })()", nil)
	figure("--budget=900")
	p.Wait("!document.querySelector('#slider').disabled")
	p.Eval("document.querySelector('#slider').focus()", nil)
	p.Press("ArrowRight")
	var budget string
	p.Eval("document.querySelector('#budget').value", &budget)
	figure("--budget=" + budget)
	p.Press("End")
	figure()

	// An answer is kept as that of ask is.
	p.Click(".primary")
	p.Wait("document.querySelector('.answer .cite')")
	if got := p.Text(".answer"); !strings.Contains(got, "It is table.border") {
		t.Errorf("the answer is shown as %q", got)
	}
	var saved []store.Conversation
	for end := time.Now().Add(10 * time.Second); len(saved) == 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if saved, err = traces.Answers(entry); err != nil {
			t.Fatal(err)
		}
	}
	if len(saved) != 1 || saved[0].Question != "what draws the border?" || !strings.HasPrefix(saved[0].Answer, "It is `table.border`") {
		t.Errorf("saved is %+v", saved)
	}
	// Of the source around nothing is indexed unasked.
	p.Click("#locate")
	p.Wait("document.querySelector('.ranked .index')")
	index := filepath.Join(dir, store.DirName, "knowledge.db")
	if _, err := os.Stat(index); !os.IsNotExist(err) {
		t.Errorf("a question made an index: %v", err)
	}
	p.Click(".ranked .index")
	p.Wait("[...document.querySelectorAll('.located li')].some(l => l.innerText.includes('border') && l.innerText.includes('internal/table/table.go:'))")
	p.Eval("[...document.querySelectorAll('.located li button')].find(b => /^border\\s/.test(b.innerText)).click()", nil)
	p.Wait("document.querySelector('.unit h2')?.innerText === 'table.border'")
	if got := p.Text(".unit"); !strings.Contains(got, "In the call tree (") {
		t.Errorf("the head of border is %q", got)
	}
	if _, err := os.Stat(index); err != nil {
		t.Error(err)
	}
	p.Quiet()

	// The page and its keep-alive connection are open; the end is clean anyway.
	if err := view.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- view.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("after Ctrl-C: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("view does not end by Ctrl-C")
	}
}
