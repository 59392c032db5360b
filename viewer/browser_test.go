package viewer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tracerag/prompt"
	"tracerag/trace"
	"tracerag/viewer"
	"tracerag/viewer/browsertest"
)

// drawn says that tree and prompt are on the screen.
const drawn = "document.querySelector('.row') && document.querySelector('[data-total]')"

// rows are the functions of the rows that have elements, from the top.
const rows = "[...document.querySelectorAll('.row')].filter(r => r.getBoundingClientRect().bottom > 0).map(r => r.querySelector('.name').textContent)"

const active = "document.getElementById(document.querySelector('#tree').getAttribute('aria-activedescendant'))"

func evalRows(p *browsertest.Page) (names []string) {
	p.Eval(rows, &names)
	return names
}

// TestInBrowser is the page in a real browser, one for all tests, since starting
// it takes as long as most of them.
func TestInBrowser(t *testing.T) {
	b := browsertest.Start(t)
	for _, tt := range []struct {
		name string
		test func(*testing.T, *browsertest.Browser)
	}{
		{"tree", testTree}, {"question", testQuestion}, {"in the source", testInSource}, {"rounds", testRounds}, {"over", testOver}, {"start-up", testStartUp}, {"source", testSource}, {"lines that did not run", testIdle}, {"prompt", testPrompt}, {"graph", testGraph}, {"two runs", testTwoRuns},
		{"report", testReport}, {"sizes", testSizes}, {"many nodes", testManyNodes}, {"deep", testDeep}, {"empty", testEmpty},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, b) })
	}
}

// open shows a page of the hand-made runs.
func open(t *testing.T, b *browsertest.Browser, page *viewer.Page, m viewer.Model) (p *browsertest.Page, base string) {
	t.Helper()
	p = b.Open(t, 1280, 800)
	p.Dark(false)
	base, token := listen(t, page, m)
	p.Go(base + "/#" + token)
	p.Wait(drawn)
	return p, base
}

func testTree(t *testing.T, b *browsertest.Browser) {
	f := newFixture(t)
	spin := append(slices.Clone(drawing), call{2, "spin", 0})
	p, base := open(t, b, f.page(f.trace(spin)), nil)

	want := []string{"main.main", "main.read", "main.(*table).row", "main.(*table).row", "main.border", "main.main.func1", "main.less", "main.spin"}
	if got := evalRows(p); !slices.Equal(got, want) {
		t.Errorf("rows %q, want %q", got, want)
	}
	for name, marks := range map[string]string{"main.read": "inlined", "main.main.func1": "via", "main.spin": "go"} {
		var got string
		p.Eval(fmt.Sprintf("[...document.querySelectorAll('.row')].find(r => r.querySelector('.name').textContent === %q).querySelector('.mark').textContent", name), &got)
		if got != marks {
			t.Errorf("%s is marked %q, want %q", name, got, marks)
		}
	}
	if got := p.Text(".row:nth-child(4) .mark"); got != "recursive" {
		t.Errorf("the recursive call is marked %q", got)
	}
	if got := p.Text(".row:nth-child(3) .calls-cell"); got != "3" {
		t.Errorf("row is called %q times, want 3", got)
	}

	// The token is out of the address, and the page can be loaded again.
	var url string
	p.Eval("location.href", &url)
	if url != base+"/" {
		t.Errorf("the address is %s", url)
	}
	p.Go(base + "/")
	p.Wait(drawn)

	// The keys of the tree pattern. The focus stays on the tree.
	p.Eval("document.querySelector('#tree').focus()", nil)
	for _, step := range []struct {
		keys   []string
		active string
		open   string
	}{
		{nil, "main.main", "true"},
		{[]string{"ArrowDown"}, "main.read", ""},
		{[]string{"ArrowDown"}, "main.(*table).row", "true"},
		{[]string{"ArrowLeft"}, "main.(*table).row", "false"},
		{[]string{"ArrowDown"}, "main.main.func1", "true"},
		{[]string{"ArrowUp", "ArrowRight", "ArrowRight"}, "main.(*table).row", ""},
		{[]string{"ArrowLeft"}, "main.(*table).row", "true"},
		{[]string{"End"}, "main.spin", ""},
		{[]string{"Home", "Enter"}, "main.main", "false"},
		{[]string{"ArrowDown"}, "main.main", "false"},
		{[]string{"Enter", "l"}, "main.less", ""},
		{[]string{"ArrowLeft", "ArrowLeft", "ArrowLeft"}, "main.main", "true"},
	} {
		p.Press(step.keys...)
		p.Eval("new Promise(requestAnimationFrame)", nil)
		var got, open string
		p.Eval(active+"?.querySelector('.name').textContent ?? ''", &got)
		p.Eval(active+"?.getAttribute('aria-expanded') ?? ''", &open)
		if got != step.active || open != step.open {
			t.Fatalf("after %v at %q, open %q; want %q, %q", step.keys, got, open, step.active, step.open)
		}
	}

	// Searching leaves what is found and the way to it.
	p.Press("/")
	p.Type("BORDER")
	p.Wait("document.querySelector('#found').textContent === '1 call of 1 function'")
	if got, want := evalRows(p), []string{"main.main", "main.(*table).row", "main.border"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	p.Type("x")
	p.Wait("document.querySelector('#found').textContent === 'nothing found'")
	p.Press("Escape")
	p.Wait("document.querySelectorAll('.row').length === 7")

	if unnamed := p.Unnamed(); len(unnamed) > 0 {
		t.Errorf("controls without a name: %v", unnamed)
	}
	p.Quiet()
}

func testSource(t *testing.T, b *browsertest.Browser) {
	f := newFixture(t)
	tr := f.trace(drawing)
	for i, fn := range tr.Functions {
		if fn.Name == "main.read" {
			tr.Lines = map[trace.FuncID]trace.Lines{trace.FuncID(i): {First: fn.StartLine, States: "rrn.rr"}}
		}
	}
	tr.Activations = readings("a.csv", "")
	p, _ := open(t, b, f.page(tr), nil)
	p.Wait("document.querySelector('.function h2')?.innerText === 'main.main'")
	code := p.Text(".code")
	if !strings.Contains(code, "</script><img src=x onerror=alert(1)>") || !strings.Contains(code, "for range 3 {") {
		t.Errorf("the source is shown as\n%s", code)
	}
	p.Shot("source")
	var images int
	p.Eval("document.images.length", &images)
	if images != 0 {
		t.Error("a comment became an image")
	}
	var links []string
	p.Eval("[...document.querySelectorAll('.code .call')].map(c => c.closest('.line').dataset.line + ' ' + c.textContent)", &links)
	// The closure has no name to be a link; and who calls it through sort.Slice
	// is at the line's end.
	if want := []string{"7 read", "9 row", "11 main.main.func1 ×7"}; !slices.Equal(links, want) {
		t.Errorf("links %q, want %q", links, want)
	}
	p.Click(`.line[data-line="9"] .call`)
	p.Wait("document.querySelector('.function h2').innerText === 'main.(*table).row'")
	var name string
	p.Eval(active+".querySelector('.name').textContent", &name)
	if name != "main.(*table).row" {
		t.Errorf("the tree is at %s", name)
	}
	if got := p.Text(`.line[data-line="26"] .call`); got != "row" {
		t.Errorf("the recursive call is linked as %q", got)
	}
	p.Click(`.line[data-line="28"] .call`)
	p.Wait("document.querySelector('.function h2').innerText === 'main.border'")
	p.Click(".path button")
	p.Wait("document.querySelector('.function h2').innerText === 'main.main'")
	p.Click(`.line[data-line="7"] .call`)
	p.Wait("document.querySelector('.function h2').innerText === 'main.read'")
	if got := p.Text(".line.idle .text"); strings.TrimSpace(got) != "return nil" {
		t.Errorf("pale is %q, want the line that did not run", got)
	}
	var cells []string
	p.Eval("[...document.querySelectorAll('.observed tr')].map(r => [...r.children].map(c => c.innerText).join(' | '))", &cells)
	if want := []string{"# | name string | result *table", `1 | "a.csv" | &{rows: nil}`, `2 | "" | did not return`}; !slices.Equal(cells, want) {
		t.Errorf("values %q, want %q", cells, want)
	}
	p.Shot("values")
	p.Quiet()
}

// readings are observed calls of the function read, all but the last of which
// returned.
func readings(names ...string) []trace.Activation {
	const read = 1 // its node: the first that main calls
	var out []trace.Activation
	for i, name := range names {
		a := trace.Activation{Node: read, Args: []trace.Value{{Name: "name", Type: "string", Text: strconv.Quote(name)}}}
		if i == 0 || i < len(names)-1 {
			a.Returned, a.Results = true, []trace.Value{{Type: "*table", Text: "&{rows: nil}"}}
		}
		out = append(out, a)
	}
	return out
}

// build is the one prompt of a draft.
func build(c viewer.Content, d viewer.Draft) (*prompt.Prompt, error) {
	q, err := c.Question(d)
	if err != nil {
		return nil, err
	}
	return q.Prompt()
}

func testPrompt(t *testing.T, b *browsertest.Browser) {
	f := newFixture(t)
	content := f.content(f.trace(drawing))
	page, err := viewer.New(content)
	if err != nil {
		t.Fatal(err)
	}
	m := &parrot{pieces: []string{"## It is\n\n`main.border` at main.go:31, ", "**not** `main.frame()`.\n\n```go\nx := 1\n```\n<b>1. </b>\n\n- one\n- two"}}
	p, _ := open(t, b, page, m)
	p.Click("#tab-prompt")

	// total waits for the figure of a draft.
	total := func(d viewer.Draft) {
		t.Helper()
		pr, err := build(content, d)
		if err != nil {
			t.Fatal(err)
		}
		p.Wait(fmt.Sprintf("document.querySelector('[data-total=\"%d\"]') && !document.querySelector('.figure.stale')", pr.Total))
		var text string
		p.Eval("[...document.querySelectorAll('.prompt-text pre')].map(e => e.textContent).join('\\n')", &text)
		if text != pr.Text {
			t.Errorf("the text for %+v is not that of the prompt", d)
		}
	}
	total(viewer.Draft{})
	p.Click("#question")
	p.Type("what draws the border?")
	total(viewer.Draft{Question: "what draws the border?"})
	p.Eval("(() => { const v = document.querySelector('#variant'); v.value = 'CA'; v.dispatchEvent(new Event('change')); })()", nil)
	total(viewer.Draft{Question: "what draws the border?", Variant: prompt.SortedNoTree})
	p.Eval("(() => { const v = document.querySelector('#variant'); v.value = 'T'; v.dispatchEvent(new Event('change')); })()", nil)
	total(viewer.Draft{Question: "what draws the border?", Variant: prompt.TreeOnly}) // lists no function
	p.Eval("(() => { const v = document.querySelector('#variant'); v.value = 'ordered'; v.dispatchEvent(new Event('change')); })()", nil)
	total(viewer.Draft{Question: "what draws the border?"})

	// The slider, by keys: its right end is no budget.
	p.Wait("!document.querySelector('#slider').disabled")
	p.Eval("document.querySelector('#slider').focus()", nil)
	p.Press("PageDown", "PageDown", "PageDown", "PageDown")
	var budget int
	p.Eval("Number(document.querySelector('#budget').value)", &budget)
	if budget < 500 {
		t.Fatalf("the slider gives a budget of %d", budget)
	}
	total(viewer.Draft{Question: "what draws the border?", Budget: budget})
	p.Wait("document.querySelector('.row .mark:is(.is-signature, .is-line, .is-folded)')")
	p.Press("End")
	total(viewer.Draft{Question: "what draws the border?"})
	p.Wait("!document.querySelector('.row .mark:is(.is-signature, .is-line, .is-folded)')")

	// A budget for which nothing is small enough says so, and what was there stays.
	p.Eval("(() => { const b = document.querySelector('#budget'); b.value = 10; b.dispatchEvent(new Event('change')); })()", nil)
	p.Wait("/budget/.test(document.querySelector('.draft .error').innerText)")
	p.Eval("(() => { const b = document.querySelector('#budget'); b.value = ''; b.dispatchEvent(new Event('change')); })()", nil)
	total(viewer.Draft{Question: "what draws the border?"})

	p.Eval("globalThis.copied = null; navigator.clipboard.writeText = async (s) => { globalThis.copied = s; }", nil)
	p.Eval("[...document.querySelectorAll('button')].find(b => b.textContent === 'Copy prompt').click()", nil)
	p.Wait("globalThis.copied?.includes('what draws the border?')")

	p.Click(".primary")
	p.Wait("document.querySelector('.answer .cite') && document.querySelector('.primary').textContent === 'Ask parrot-1'")
	p.Shot("answer")
	answer := p.Text(".answer")
	for _, want := range []string{"It is\n", "<b>1. </b>", "x := 1", "Not in what was sent", "main.frame()", "7 tokens"} {
		if !strings.Contains(answer, want) {
			t.Errorf("the answer is shown without %q:\n%s", want, answer)
		}
	}
	if len(m.asked) != 1 || m.asked[0].Question != "what draws the border?" {
		t.Errorf("asked %+v", m.asked)
	}
	p.Eval("[...document.querySelectorAll('.answer .cite')].find(c => c.textContent === 'main.go:31').click()", nil)
	p.Wait("document.body.dataset.tab === 'source' && document.querySelector('.line.cited')?.dataset.line === '31'")
	if unnamed := p.Unnamed(); len(unnamed) > 0 {
		t.Errorf("controls without a name: %v", unnamed)
	}
	// Chromium notes the refused budget as an error of the network, which it is.
	var bad []string
	for _, line := range p.Console() {
		if !strings.Contains(line, "422") {
			bad = append(bad, line)
		}
	}
	if len(bad) > 0 {
		t.Errorf("console: %q", bad)
	}
}

func testGraph(t *testing.T, b *browsertest.Browser) {
	f := newFixture(t)
	p, _ := open(t, b, f.page(f.trace(drawing)), nil)
	p.Click("#tab-graph")
	p.Eval("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))", nil)
	p.Shot("graph")
	// main is as wide as everything, and what it calls is below, in order: of
	// 26 calls one is read's, 10 are row's and below it, 14 the closure's.
	var box struct{ X, Y, Width float64 }
	p.Eval("(() => { const r = document.querySelector('canvas').getBoundingClientRect(); return {x: r.x, y: r.y, width: r.width}; })()", &box)
	at := func(share float64, level int) string {
		p.ClickAt(box.X+box.Width*share, box.Y+20*float64(level)+10, 1)
		p.Eval("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))", nil)
		name, _, _ := strings.Cut(p.Text(".tip"), " · ")
		return name
	}
	for _, tt := range []struct {
		share float64
		level int
		want  string
	}{{0.5, 0, "main.main"}, {0.01, 1, "main.read"}, {0.2, 1, "main.(*table).row"}, {0.6, 1, "main.main.func1"}, {0.6, 2, "main.less"}} {
		if got := at(tt.share, tt.level); got != tt.want {
			t.Errorf("at %v of level %d is %s, want %s", tt.share, tt.level, got, tt.want)
		}
	}
	p.Eval("document.querySelector('canvas').focus()", nil)
	p.Press("ArrowUp", "ArrowLeft", "Enter")
	p.Eval("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))", nil)
	if got := at(0.6, 2); got != "main.border" {
		t.Errorf("zoomed into row, below it is %s", got)
	}
	p.Press("Escape")
	p.Click("input[value=tokens]")
	p.Eval("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))", nil)
	p.Shot("graph-tokens")
	// In a run's own colours something is painted.
	var colours int
	p.Eval("new Set(new Uint32Array(document.querySelector('canvas').getContext('2d').getImageData(0, 0, 600, 60).data.buffer)).size", &colours)
	if colours < 4 {
		t.Errorf("the graph has %d colours", colours)
	}
	p.Quiet()
}

func testTwoRuns(t *testing.T, b *browsertest.Browser) {
	f := newFixture(t)
	longer := slices.DeleteFunc(slices.Clone(drawing), func(c call) bool { return strings.Contains(c.path, "read") })
	longer = append(longer, call{5, "main (*table).row:9", 0}, call{1, "main spin:12", 0})
	p, _ := open(t, b, f.page(f.trace(drawing), f.trace(longer)), nil)
	p.Shot("diff")
	var got []string
	p.Eval("[...document.querySelectorAll('.row')].map(r => (r.querySelector('.sign')?.textContent ?? ' ') + r.querySelector('.name').textContent + ' ' + r.querySelector('.calls-cell').textContent)", &got)
	want := []string{" main.main 1", "−main.read 1", "±main.(*table).row 3 → 8", " main.(*table).row 4", " main.border 3", " main.main.func1 7", " main.less 7", "+main.spin 1"}
	if !slices.Equal(got, want) {
		t.Errorf("rows %q, want %q", got, want)
	}
	// What changed differs by colour and by a sign.
	var colours []string
	p.Eval("['.added', '.removed', '.changed', '.row:first-child'].map(s => getComputedStyle(document.querySelector('.row' + s.replace('.row', ''))).borderLeftColor)", &colours)
	if slices.Sort(colours); len(slices.Compact(colours)) != 4 {
		t.Errorf("colours %q", colours)
	}
	// The page begins where the runs part: the first has read there.
	var at string
	p.Eval(active+".querySelector('.name').textContent", &at)
	if banner := p.Text("#banner"); at != "main.read" || !strings.Contains(banner, "1 added, 1 removed, 1 with another count") {
		t.Errorf("at %s, the banner says %s", at, banner)
	}
	for _, want := range []string{"main.(*table).row", "main.spin", "main.read"} {
		p.Eval("[...document.querySelectorAll('.steps button')].find(b => b.textContent === 'Next').click()", nil)
		p.Wait(fmt.Sprintf("%s?.querySelector('.name').textContent === %q", active, want))
	}
	p.Click("#only")
	p.Wait("document.querySelectorAll('.row').length === 4")
	p.Click("#only")
	p.Wait("document.querySelectorAll('.row').length === 8")
	p.Click("#tab-prompt")
	p.Wait("document.querySelector('.prompt-text').textContent.includes('Comparison')")
	p.Quiet()

	// Runs that called the same, one of them with another value.
	one, other := f.trace(drawing), f.trace(drawing)
	one.Activations, other.Activations = readings("a.csv"), readings("b.csv")
	p, _ = open(t, b, f.page(one, other), nil)
	if banner := p.Text("#banner"); !strings.Contains(banner, "1 with other values") || !strings.Contains(banner, `name: "a.csv" -> "b.csv"`) {
		t.Errorf("the banner says %s", banner)
	}
	p.Click("#banner .link.mono")
	p.Wait("document.querySelectorAll('.observed details').length === 2")
	if got := p.Text(".row.other .sign"); got != "=" {
		t.Errorf("a call with another value has the sign %q", got)
	}
	p.Quiet()
}

func testReport(t *testing.T, b *browsertest.Browser) {
	f := newFixture(t)
	tr := f.trace(drawing)
	tr.Activations = readings("a.csv")
	c := f.content(tr)
	c.Draft.Question = "what draws?"
	page, err := viewer.New(c)
	if err != nil {
		t.Fatal(err)
	}
	show := func(limit int) (*browsertest.Page, []string) {
		path := filepath.Join(t.TempDir(), "run.html")
		out, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		omitted, err := page.WriteReport(out, limit)
		if err != nil {
			t.Fatal(err)
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		p := b.Open(t, 1280, 800)
		p.Go("file://" + path)
		p.Wait(drawn)
		return p, omitted
	}
	p, omitted := show(viewer.DefaultReportSize)
	if len(omitted) > 0 {
		t.Errorf("left out: %q", omitted)
	}
	p.Wait("document.querySelector('.function h2')?.innerText === 'main.main'")
	p.Click(`.line[data-line="9"] .call`)
	p.Wait("document.querySelector('.function h2').innerText === 'main.(*table).row'")
	p.Click("#search")
	p.Type("read")
	p.Wait("document.querySelector('#found').textContent === '1 call of 1 function'")
	p.Wait("document.querySelector('.observed td')?.innerText === '\"a.csv\"'")
	p.Click("#tab-prompt")
	p.Wait("document.querySelector('.prompt-text').innerText.includes('what draws?')")
	var images, buttons int
	p.Eval("document.images.length", &images)
	p.Eval("document.querySelectorAll('.primary').length", &buttons)
	if images+buttons > 0 {
		t.Errorf("%d images, %d ways to ask", images, buttons)
	}
	p.Shot("report")
	for _, r := range p.Requests() {
		if !strings.HasPrefix(r, "file://") && !strings.HasPrefix(r, "data:") {
			t.Errorf("the report asks for %s", r)
		}
	}
	p.Quiet()

	// One that is too small says what is missing.
	p, omitted = show(6000)
	if len(omitted) == 0 {
		t.Error("6,000 bytes are enough for everything")
	}
	p.Click("#tab-run")
	for _, o := range omitted {
		if !strings.Contains(p.Text("#panel-run"), o) {
			t.Errorf("the report does not say that it lacks %s", o)
		}
	}
	p.Quiet()
}
