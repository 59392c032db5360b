package viewer_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tracerag/prompt"
	"tracerag/trace"
	"tracerag/viewer"
	"tracerag/viewer/browsertest"
)

// What a user does who knows no name: a question, the functions that it is about, and an
// answer in rounds.

// ranked is a ranking made by hand, which a hostile program has a part in.
func ranked(question string) ([]viewer.Ranked, error) {
	if strings.Contains(question, "nothing") {
		return nil, nil
	}
	if strings.Contains(question, "broken") {
		return nil, errors.New("ranking <b>failed</b>")
	}
	return []viewer.Ranked{
		{Name: "main.border", Symbol: "main.border", Position: "main.go:31-31", Score: 1, Why: "has border <img src=x onerror=alert(1)>"},
		{Name: "main.(*table).row", Symbol: "main.(*table).row", Position: "main.go:24-29", Score: .5, Why: "called beside it"},
		{Name: "main.gone", Symbol: "main.gone", Score: .1},
	}, nil
}

func testQuestion(t *testing.T, b *browsertest.Browser) {
	f := newFixture(t)
	c := f.content(f.trace(drawing))
	c.Rank = ranked
	page, err := viewer.New(c)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := open(t, b, page, nil)
	names := func() (out []string) {
		p.Eval("[...document.querySelectorAll('.ranked li')].map(l => l.innerText)", &out)
		return out
	}
	at := func(name string) {
		t.Helper()
		p.Wait(fmt.Sprintf("document.querySelector('.function h2')?.innerText === %q && %s?.querySelector('.name').textContent === %q", name, active, name))
	}
	p.Click("#about")
	p.Type("what draws the frame?")
	p.Press("Enter")
	p.Wait("document.querySelector('.ranked li')")
	// One that is not on the page leads nowhere, and is not listed.
	if got, want := names(), []string{"main.border\nhas border <img src=x onerror=alert(1)>", "main.(*table).row\ncalled beside it"}; !slices.Equal(got, want) {
		t.Errorf("listed %q, want %q", got, want)
	}
	p.Shot("ranked")
	p.Click(".ranked li button")
	at("main.border")
	if got := p.Text(".ranked [aria-current=true]"); !strings.HasPrefix(got, "main.border") {
		t.Errorf("the list shows that %q is chosen", got)
	}
	// By keys, too.
	p.Eval("document.querySelector('#about').focus()", nil)
	p.Press("ArrowDown", "ArrowDown", "Enter")
	at("main.(*table).row")
	// The prompt has the question; another one there makes another list.
	p.Click("#tab-prompt")
	var question string
	p.Eval("document.querySelector('#question').value", &question)
	if question != "what draws the frame?" {
		t.Errorf("the prompt's question is %q", question)
	}
	p.Eval("(() => { const q = document.querySelector('#question'); q.value = 'nothing'; q.dispatchEvent(new Event('input')); q.dispatchEvent(new Event('change')); })()", nil)
	p.Wait("document.querySelector('.ranked')?.innerText.includes('No function')")
	p.Eval("(() => { const q = document.querySelector('#about'); q.value = 'broken'; q.focus(); })()", nil)
	p.Press("Enter")
	p.Wait("document.querySelector('.ranked .error')?.innerText === 'ranking <b>failed</b>'")
	p.Press("Escape")
	p.Wait("document.querySelector('.ranked').hidden")
	if unnamed := p.Unnamed(); len(unnamed) > 0 {
		t.Errorf("controls without a name: %v", unnamed)
	}
	var images int
	p.Eval("document.images.length", &images)
	if images != 0 {
		t.Error("a reason became an image")
	}
	// On a phone the tree has the list, and a choice shows the source.
	p.Resize(390, 844)
	p.Click("#tab-tree")
	p.Click("#about")
	p.Eval("document.querySelector('#about').value = 'what draws?'", nil)
	p.Press("Enter")
	p.Wait("document.querySelector('.ranked li')")
	p.Shot("ranked-phone")
	p.Click(".ranked li button")
	p.Wait("document.body.dataset.tab === 'source'")
	at("main.border")

	// A report has the list of its question, and a page that begins with one.
	c.Draft.Question = "what draws?"
	if page, err = viewer.New(c); err != nil {
		t.Fatal(err)
	}
	p, _ = open(t, b, page, nil)
	p.Wait("document.querySelectorAll('.ranked li').length === 2")
	path := filepath.Join(t.TempDir(), "run.html")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := page.WriteReport(out, viewer.DefaultReportSize); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	p = b.Open(t, 1280, 800)
	p.Go("file://" + path)
	p.Wait("document.querySelectorAll('.ranked li').length === 2")
	p.Click(".ranked li button")
	at("main.border")
	p.Quiet()
}

func testRounds(t *testing.T, b *browsertest.Browser) {
	f := newFixture(t)
	c := f.content(f.trace(drawing))
	c.Draft.Question = "what draws the border?"
	page, err := viewer.New(c)
	if err != nil {
		t.Fatal(err)
	}
	m := &parrot{
		pieces: []string{"It is `main.border` at main.go:31, called at main.go:28, ", "not main.go:900."},
		rounds: [][]prompt.Request{{{Name: "main.(*table).row"}, {Name: "main.<b>"}}, {{Name: "main.border", From: 31, To: 31}}},
	}
	p, _ := open(t, b, page, m)
	p.Click("#tab-prompt")
	p.Wait("!document.querySelector('#how').hidden && document.querySelector('#panel-prompt .hint').innerText.includes('three rounds')")
	p.Shot("rounds-before")
	p.Click(".primary")
	p.Wait("document.querySelector('.answer .cite') && document.querySelector('.primary').textContent === 'Ask parrot-1'")
	p.Shot("rounds")
	var heads []string
	p.Eval("[...document.querySelectorAll('.round > p')].map(e => e.innerText)", &heads)
	want := []string{"The names of the functions that ran. The model says which sources it wants to read.", "The model reads main.(*table).row, main.<b>", "The model reads main.border:31-31"}
	if !slices.Equal(heads, want) {
		t.Errorf("rounds %q, want %q", heads, want)
	}
	// What was read in an earlier round is known; what was not is flagged.
	answer := p.Text(".answer")
	if flagged := answer[strings.Index(answer, "Not in what was sent"):]; !strings.Contains(flagged, "main.go:900") || strings.Contains(flagged, "main.go:28") || strings.Contains(flagged, "main.go:31") {
		t.Errorf("the answer says %s", answer)
	}
	// The panel scrolls, and nothing in it makes the page scroll.
	var over int
	p.Eval("document.documentElement.scrollHeight - innerHeight", &over)
	if over > 0 {
		t.Errorf("the page is %d pixels too high", over)
	}
	var sent string
	p.Eval("[...document.querySelectorAll('.round pre')].map(e => e.textContent).join('')", &sent)
	if !strings.Contains(sent, "func (t *table) row(n int)") || !strings.Contains(sent, "</script>") && !strings.Contains(sent, "READ") {
		t.Errorf("sent is shown as %s", sent)
	}
	p.Eval("[...document.querySelectorAll('.round button.link')].find(c => c.textContent === 'main.(*table).row').click()", nil)
	p.Wait("document.querySelector('.function h2').innerText === 'main.(*table).row'")

	// One prompt stays possible.
	p.Click("#tab-prompt")
	p.Click("#how label:last-child")
	p.Wait("document.querySelector('#panel-prompt .hint').innerText.includes('the prompt below')")
	p.Click(".primary")
	p.Wait("!document.querySelector('.round') && document.querySelector('.answer .cite') && document.querySelector('.primary').textContent === 'Ask parrot-1'")
	if len(m.asked) != 2 || m.asked[0].OneShot || !m.asked[1].OneShot {
		t.Errorf("asked %+v", m.asked)
	}
	if unnamed := p.Unnamed(); len(unnamed) > 0 {
		t.Errorf("controls without a name: %v", unnamed)
	}
	p.Quiet()
}

// testOver: a prompt that no model takes has one warning, which says what to do here.
func testOver(t *testing.T, b *browsertest.Browser) {
	f := newFixture(t)
	c := f.content(f.trace(drawing))
	questions := c.Question
	c.Question = func(d viewer.Draft) (*viewer.Question, error) {
		q, err := questions(d)
		if err == nil {
			q.Options.Window = 100
		}
		return q, err
	}
	page, err := viewer.New(c)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := open(t, b, page, nil)
	p.Click("#tab-prompt")
	p.Wait("/^One prompt with everything has [0-9]+ tokens, more than the 100 that a model takes: set a budget to make it shorter.$/.test(document.querySelector('.draft .error').innerText)")
	var notes int
	p.Eval("document.querySelectorAll('#panel-prompt .note').length", &notes)
	if text := p.Text("#panel-prompt .draft"); notes != 0 || strings.Contains(strings.ReplaceAll(text, "tracerag ask --help", ""), "--") {
		t.Errorf("%d more warnings; the page says\n%s", notes, text)
	}
}

// testStartUp: the page opens where the run branches into its work, behind a library that
// parses the command line, and what is not on the way is closed.
func testStartUp(t *testing.T, b *browsertest.Browser) {
	tr := started()
	p, _ := open(t, b, newFixture(t).page(tr), nil)
	p.Wait("document.querySelector('.function h2')?.innerText === 'app.work'")
	want := []string{"main.main", "app.flags", "cli.Run", "cli.call", "app.work", "app.read", "app.read0"}
	if got := evalRows(p); !slices.Equal(got[:min(len(got), len(want))], want) {
		t.Errorf("rows begin with %q, want %q", got, want)
	}
	p.Quiet()
}

// started is a run that reads its flags, has a library call its command, and does its work.
func started() *trace.Trace {
	tr := &trace.Trace{Recorder: "probe", Command: []string{"./app"}}
	tr.Program.Main = trace.Module{Path: "example.com/m"}
	tr.Program.MainPath = "example.com/m"
	add := func(parent int, name, pkg string) int {
		tr.Functions = append(tr.Functions, trace.Function{Name: name, Package: pkg, File: "/src/f.go", StartLine: len(tr.Functions) + 1})
		n := trace.Node{Parent: trace.NodeID(parent), Func: trace.FuncID(len(tr.Functions) - 1), Calls: 1}
		if parent < 0 {
			n.Parent, n.Root = trace.NoNode, trace.RootMain
		}
		tr.Nodes = append(tr.Nodes, n)
		return len(tr.Nodes) - 1
	}
	const app = "example.com/m/app"
	main := add(-1, "main.main", "example.com/m")
	flags := add(main, app+".flags", app)
	for i := range 3 {
		add(flags, fmt.Sprintf("%s.flag%d", app, i), app)
	}
	run := add(main, "example.org/cli.Run", "example.org/cli")
	call := add(run, "example.org/cli.call", "example.org/cli")
	work := add(call, app+".work", app)
	for _, name := range []string{".read", ".draw"} {
		part := add(work, app+name, app)
		for i := range 10 {
			add(part, fmt.Sprintf("%s%s%d", app, name, i), app)
		}
	}
	return tr
}

// testIdle: pale is all that did not run: heads of cases and comments with what follows them,
// and the bodies of literals, of those that were not called, too.
func testIdle(t *testing.T, b *browsertest.Browser) {
	const text = `package main

func main() {
	switch n := 1; n {
	case 1:
		a := func() {
			b() // never
		}
		use(a)
	default:
		// why
		b()
	}
	use(func() {
		if c() {
			var x int
			b()
			if x == 0 { // which nobody can tell from its code alone
				b()
			}
		}
	})
}
`
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	for name, text := range map[string]string{"go.mod": "module example.com/draw\n\ngo 1.26\n", "main.go": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f := newFixture(t)
	f.dir = dir
	tr := &trace.Trace{Recorder: "probe", Command: []string{"./draw"}, Dir: dir}
	tr.Program.Main, tr.Program.MainPath = trace.Module{Path: "example.com/draw"}, "example.com/draw"
	tr.Functions = []trace.Function{
		{Name: "main.main", Package: "example.com/draw", File: file, StartLine: 3},
		{Name: "main.main.func2", Package: "example.com/draw", File: file, StartLine: 14},
	}
	tr.Nodes = []trace.Node{{Parent: trace.NoNode, Root: trace.RootMain, Func: 0, Calls: 1}, {Parent: 0, Func: 1, Calls: 1, CallLine: 14}}
	tr.Lines = map[trace.FuncID]trace.Lines{0: {First: 3, States: "rr.r..r..n.r"}, 1: {First: 15, States: "r.n?n"}}
	if err := tr.Check(); err != nil {
		t.Fatal(err)
	}
	p, _ := open(t, b, f.page(tr), nil)
	p.Wait("document.querySelector('.function h2')?.innerText === 'main.main'")
	var pale []string
	p.Eval("[...document.querySelectorAll('.line.idle')].map(l => l.dataset.line + ' ' + l.querySelector('.text').innerText.trim())", &pale)
	if want := []string{"7 b() // never", "10 default:", "11 // why", "12 b()",
		"16 var x int", "17 b()", "18 if x == 0 { // which nobody can tell from its code alone", "19 b()", "20 }"}; !slices.Equal(pale, want) {
		t.Errorf("pale are %q, want %q", pale, want)
	}
	p.Shot("idle")
	p.Quiet()
}
