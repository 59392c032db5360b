package viewer_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tracerag/calltree"
	"tracerag/trace"
	"tracerag/viewer/browsertest"
)

// Pages that are large, deep or empty, in a browser.

// testSizes: nothing is cut off or is over the edge, in the colours and at the
// widths that people have.
func testSizes(t *testing.T, b *browsertest.Browser) {
	f := newFixture(t)
	p, _ := open(t, b, f.page(f.trace(drawing)), &parrot{})
	for _, dark := range []bool{false, true} {
		p.Dark(dark)
		for _, width := range []int{1440, 1024, 390, 320} {
			p.Resize(width, 844)
			for _, tab := range []string{"tree", "source", "graph", "prompt", "run"} {
				if tab == "tree" && width > 760 {
					continue
				}
				p.Click("#tab-" + tab)
				p.Eval("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))", nil)
				var over int
				p.Eval("document.documentElement.scrollWidth - innerWidth", &over)
				if over > 0 {
					t.Errorf("%s at a width of %d is %d pixels too wide", tab, width, over)
				}
				p.Shot(fmt.Sprintf("%s-%d-%v", tab, width, map[bool]string{true: "dark", false: "light"}[dark]))
			}
		}
	}
	// At the width of a phone a name that does not fit keeps its end.
	p.Resize(320, 844)
	p.Click("#tab-tree")
	p.Eval("document.querySelector('.row .name bdi').prepend('example.com/a/very/long/path/to/nowhere.')", nil)
	var cut, end bool
	p.Eval("(() => { const n = document.querySelector('.row .name'); return n.scrollWidth > n.clientWidth; })()", &cut)
	p.Eval("(() => { const n = document.querySelector('.row .name'), r = document.createRange(), b = n.querySelector('.own').firstChild; r.setStart(b, b.length - 1); r.setEnd(b, b.length); const at = r.getBoundingClientRect(), box = n.getBoundingClientRect(); return at.right <= box.right + 1 && at.left >= box.left; })()", &end)
	if !cut || !end {
		t.Errorf("a long name is cut: %v, and shows its end: %v", cut, end)
	}
	p.Shot("name-end")
	var contrast []string
	p.Eval(browsertest.Contrasts, &contrast)
	if len(contrast) > 0 {
		t.Errorf("too little contrast, dark: %q", contrast)
	}
	p.Dark(false)
	p.Eval(browsertest.Contrasts, &contrast)
	if len(contrast) > 0 {
		t.Errorf("too little contrast, light: %q", contrast)
	}
	// Somebody's choice of colours comes before the system's.
	p.Resize(1280, 800)
	p.Dark(true)
	background := func() (c string) { p.Eval("getComputedStyle(document.body).backgroundColor", &c); return c }
	system := background()
	p.Click("#theme")
	if light := background(); light == system {
		t.Errorf("light and dark are both %s", light)
	}
	p.Click("#theme")
	if dark := background(); dark != system {
		t.Errorf("dark is %s, and as the system has it %s", dark, system)
	}
	p.Quiet()
}

// largeTrace is a trace of n nodes without sources and recursion: at each of 40
// levels functions of its own.
func largeTrace(n int) *trace.Trace {
	const levels, perLevel = 40, 50
	r := rand.New(rand.NewPCG(1, 1))
	tr := &trace.Trace{Recorder: "probe", Command: []string{"./large"}}
	for i := range levels * perLevel {
		pkg := fmt.Sprintf("example.com/large/p%d", i/perLevel)
		tr.Functions = append(tr.Functions, trace.Function{Name: fmt.Sprintf("%s.(*T).F%d", pkg, i%perLevel), Package: pkg, File: "/src/f.go", StartLine: i + 1})
	}
	level := make([]int, n)
	for i := range n {
		node := trace.Node{Parent: trace.NoNode, Root: trace.RootMain, Calls: int64(1 + i%7)}
		if i > 0 {
			p := r.IntN(i)
			for level[p] == levels-1 {
				p = r.IntN(i)
			}
			node.Parent, node.Root, node.CallLine, level[i] = trace.NodeID(p), trace.NotRoot, 1+i%100, level[p]+1
		}
		node.Func = trace.FuncID(level[i]*perLevel + r.IntN(perLevel))
		tr.Nodes = append(tr.Nodes, node)
	}
	return tr
}

// testManyNodes: with 50,000 nodes open, elements exist for what is in sight, and
// whatever is done to all of them is done within a blink or so.
func testManyNodes(t *testing.T, b *browsertest.Browser) {
	tr := largeTrace(50_000)
	if err := tr.Check(); err != nil {
		t.Fatal(err)
	}
	f := newFixture(t)
	page := f.page(tr)
	tree, err := calltree.Build(tr, calltree.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := b.Open(t, 1280, 800)
	base, token := listen(t, page, nil)
	p.Go(base + "/#" + token)
	p.Wait("document.querySelector('.row')")
	if tree.Size < 45_000 {
		t.Fatalf("the tree has only %d nodes", tree.Size)
	}
	for _, step := range []struct{ name, do string }{
		{"opening all", "document.querySelector('#expand').click()"},
		{"scrolling", "document.querySelector('#tree').scrollTop = 500000"},
		{"searching", "(() => { const s = document.querySelector('#search'); s.value = 'F17'; s.dispatchEvent(new Event('input')); })()"},
		{"clearing", "(() => { const s = document.querySelector('#search'); s.value = ''; s.dispatchEvent(new Event('input')); })()"},
		{"the graph", "document.querySelector('#tab-graph').click()"},
	} {
		var ms float64
		p.Eval("(async () => { const t = performance.now(); "+step.do+"; await new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r))); return performance.now() - t; })()", &ms)
		t.Logf("%s took %.0f ms", step.name, ms)
		if ms > 5000 { // a tenth of a second, where nothing else runs
			t.Errorf("%s took %.0f ms", step.name, ms)
		}
	}
	p.Eval("document.querySelector('#expand').click()", nil)
	var elements, height int
	p.Eval("document.querySelectorAll('*').length", &elements)
	p.Eval("document.querySelector('.space').offsetHeight", &height)
	if elements > 3000 || height != 24*tree.Size {
		t.Errorf("%d elements for %d nodes, which take %d pixels", elements, tree.Size, height)
	}
	// The last one is reached by keys, and knows its place.
	p.Eval("document.querySelector('#tree').focus()", nil)
	p.Press("End")
	p.Eval("new Promise(requestAnimationFrame)", nil)
	var place string
	p.Eval(active+".getAttribute('aria-level') + ' ' + "+active+".getAttribute('aria-posinset') + '/' + "+active+".getAttribute('aria-setsize')", &place)
	if place == "" || strings.Contains(place, "null") {
		t.Errorf("the last row is at %q", place)
	}
	p.Quiet()
}

// testDeep: a path of 10,000 calls is indented within bounds, and its end is reached.
func testDeep(t *testing.T, b *browsertest.Browser) {
	tr := &trace.Trace{Recorder: "probe", Command: []string{"./deep"}}
	const n = 10_000
	for i := range n {
		tr.Functions = append(tr.Functions, trace.Function{Name: fmt.Sprintf("deep.F%d", i), Package: "deep"})
		tr.Nodes = append(tr.Nodes, trace.Node{Parent: trace.NodeID(i) - 1, Func: trace.FuncID(i), Calls: 1})
	}
	tr.Nodes[0].Root = trace.RootMain
	p, _ := open(t, b, newFixture(t).page(tr), nil)
	p.Click("#expand")
	p.Eval("document.querySelector('#tree').focus()", nil)
	p.Press("End")
	p.Wait(active + `?.getAttribute("aria-level") === "10000"`)
	var left float64
	p.Eval(active+".querySelector('.name').getBoundingClientRect().left", &left)
	if left > 400 {
		t.Errorf("the deepest name begins at %v pixels", left)
	}
	// Each row in sight is further to the right than its caller above it, on a phone, too;
	// callers that are out of sight are named above, and lead there.
	for _, width := range []int{1280, 390} {
		p.Resize(width, 844)
		if width < 760 {
			p.Click("#tab-tree")
		}
		p.Eval("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))", nil)
		var lefts []float64
		p.Eval("[...document.querySelectorAll('.row')].filter(r => r.getBoundingClientRect().top >= document.querySelector('#tree').getBoundingClientRect().top).map(r => r.querySelector('.twist').getBoundingClientRect().left)", &lefts)
		if len(lefts) < 15 {
			t.Fatalf("%d rows in sight", len(lefts))
		}
		for i := 1; i < len(lefts); i++ {
			if d := lefts[i] - lefts[i-1]; d < 3 {
				t.Errorf("at a width of %d row %d is %v pixels further to the right than its caller", width, i, d)
			}
		}
		if above := p.Text("#above"); !strings.Contains(above, "callers") || !strings.Contains(above, "deep.F9") {
			t.Errorf("above the first row are %q", above)
		}
		p.Shot(fmt.Sprintf("deep-%d", width))
	}
	if mark := p.Text(".row .level"); !strings.HasSuffix(mark, "|") {
		t.Errorf("the depth of the first row is %q", mark)
	}
	p.Resize(1280, 800)
	p.Click("#above button:last-child")
	p.Wait(active + `?.getAttribute("aria-level") !== "10000"`)
	p.Eval("document.querySelector('#tree').focus()", nil)
	p.Press("End")
	p.Wait(active + `?.getAttribute("aria-level") === "10000"`)
	p.Click("#tab-graph")
	p.Wait("document.querySelector('.tip').textContent.includes('deep.F9999')")
	p.Quiet()
}

// testEmpty: a run of which nothing was recorded says so.
func testEmpty(t *testing.T, b *browsertest.Browser) {
	p := b.Open(t, 1280, 800)
	base, token := listen(t, newFixture(t).page(&trace.Trace{Recorder: "probe", Command: []string{"./draw"}}), nil)
	p.Go(base + "/#" + token)
	p.Wait("!document.querySelector('#banner').hidden")
	if got := p.Text("#banner"); !strings.Contains(got, "empty") {
		t.Errorf("the banner says %q", got)
	}
	p.Click("#tab-graph")
	p.Click("#tab-run")
	p.Wait("document.querySelector('#panel-run').innerText.includes('./draw')")
	p.Quiet()

	// Nor is somebody let in without the token; the page says what to do.
	p = b.Open(t, 1280, 800)
	p.Go(base + "/")
	p.Wait("document.querySelector('#banner').innerText.includes('open the URL that tracerag view printed')")
}
