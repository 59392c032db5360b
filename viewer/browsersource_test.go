package viewer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tracerag/viewer"
	"tracerag/viewer/browsertest"
)

// testInSource asks the page about the source around a run: it is indexed by a button, found
// by a question, and read from declaration to declaration, into the tree and back.
func testInSource(t *testing.T, b *browsertest.Browser) {
	f := newFixture(t)
	c := f.content(f.trace(drawing))
	c.Rank = ranked
	secret := aSecret()
	f.inSource(&c, secret)
	page, err := viewer.New(c)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := open(t, b, page, nil)
	list := func(selector string) (out []string) {
		p.Eval(fmt.Sprintf("[...document.querySelectorAll(%q)].map(l => l.innerText.replace(/\\s+/g, ' ').trim())", selector), &out)
		return out
	}
	title := func(name string) {
		t.Helper()
		p.Wait(fmt.Sprintf("document.querySelector('.function h2')?.innerText === %q", name))
	}
	sound := func() {
		t.Helper()
		var images, over int
		p.Eval("document.images.length", &images)
		p.Eval("document.documentElement.scrollWidth - innerWidth", &over)
		if images != 0 || over > 0 {
			t.Errorf("%d images, %d pixels too wide", images, over)
		}
		if unnamed := p.Unnamed(); len(unnamed) > 0 {
			t.Errorf("controls without a name: %v", unnamed)
		}
		var text string
		p.Eval("document.body.innerText", &text)
		if strings.Contains(text, "hunter2") || strings.Contains(text, "\u202e") {
			t.Error("a secret or a control character is on the page")
		}
	}

	// Nothing is indexed by a question, but by the button.
	p.Click("#about")
	p.Type("which border is drawn?")
	p.Click("#locate")
	p.Wait("document.querySelector('.ranked .known')?.innerText.includes('tracerag index')")
	sound()
	p.Shot("source-unknown")
	p.Click(".ranked .index")
	p.Wait("document.querySelector('.located li')")
	if got := list(".located ol[aria-label=Functions] li"); len(got) < 3 || !strings.HasPrefix(got[0], fmt.Sprintf("border main.go:%d · ", f.lineOf("func border"))) {
		t.Errorf("found %q", got)
	}
	text := p.Text(".located")
	for _, want := range []string{"Source of " + filepath.Base(f.dir), "Files", "./draw a.csv (passed), 0a1b2c3d, on this page", "To see border run", "tracerag run -- go test . -run"} {
		if !strings.Contains(text, want) {
			t.Errorf("the list has no %q:\n%s", want, text)
		}
	}
	sound()
	p.Shot("source-list")

	// A declaration, what is around it, and by links on.
	p.Click(".located li button")
	title("main.border")
	around := list(".around")
	want := []string{
		fmt.Sprintf("Callers (2) main.(*table).row main.go:%d · static, ran x3 · at line 28 main.frame %s:4 · interface", f.lineOf("func (t *table)"), strings.ReplaceAll(hostileName, "\u202e", `\u202e`)),
		"Saved runs that executed it (1) ./draw a.csv (passed), 0a1b2c3d, on this page",
		"Tests that may execute it (1) main.TestRow main_test.go:5 · 2 calls away",
	}
	if len(around) != len(want) {
		t.Fatalf("around it are %q", around)
	}
	for i := range want {
		if !strings.HasPrefix(around[i], want[i]) {
			t.Errorf("around it is %q, want %q", around[i], want[i])
		}
	}
	if got := p.Text(fmt.Sprintf(".unit ~ .code [data-line='%d']", f.lineOf("func border"))); !strings.Contains(got, "func border() int") {
		t.Errorf("its first line is %q", got)
	}
	sound()
	p.Shot("source-unit")
	p.Eval("document.querySelector('.around li button').focus()", nil)
	p.Press("Enter")
	title("main.(*table).row")
	p.Wait("document.activeElement === document.querySelector('.unit h2')")
	// A callee's name in the text is a link.
	if got := list(".line .call"); !slices.Equal(got, []string{"border"}) {
		t.Errorf("links of the text are %q", got)
	}
	p.Click(".unit .path button")
	title("main.border")

	// Into the tree, and from there back to the source.
	p.Click(".unit .in-tree")
	title("main.border")
	p.Wait(active + "?.querySelector('.name').textContent === 'main.border'")
	p.Click(".function .in-source")
	p.Wait("document.querySelector('.around button')") // the title is the same
	title("main.border")

	// What never ran is to be read, too, and is no markup.
	p.Eval("[...document.querySelectorAll('.around button')].find(b => b.innerText === 'main.frame').click()", nil)
	title("main.frame")
	if got := p.Text(".unit"); !strings.Contains(got, "not in the call tree") {
		t.Errorf("the head says %q", got)
	}
	if got := p.Text(".code"); !strings.Contains(got, "</script><img src=x onerror=alert(1)> \\u202e") {
		t.Errorf("the source is %q", got)
	}
	sound()

	// What changed is there after a refresh.
	if err := os.WriteFile(filepath.Join(f.dir, hostileName), []byte("package main\n\nfunc frame() string { return `new` }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.Click(".unit .known .link")
	p.Wait("document.querySelector('.code')?.innerText.includes('`new`')")

	// On a phone.
	p.Resize(390, 844)
	p.Click("#tab-tree")
	p.Click("#locate")
	p.Wait("document.querySelector('.located li')")
	sound()
	p.Shot("source-list-phone")
	p.Eval("document.querySelector('#about').focus()", nil)
	p.Press("ArrowDown", "Enter")
	p.Wait("document.body.dataset.tab === 'source'")
	title("main.border")
	sound()
	p.Shot("source-unit-phone")
	p.Resize(320, 700)
	p.Click("#tab-tree")
	sound()
	for _, dark := range []bool{true, false} {
		p.Dark(dark)
		var contrast []string
		p.Eval(browsertest.Contrasts, &contrast)
		if len(contrast) > 0 {
			t.Errorf("too little contrast: %q", contrast)
		}
	}
	p.Quiet()

	// What is gone is said to be, beside what was shown.
	p.Resize(1280, 800)
	if err := os.Remove(filepath.Join(f.dir, hostileName)); err != nil {
		t.Fatal(err)
	}
	p.Eval("[...document.querySelectorAll('.around button')].find(b => b.innerText === 'main.frame').click()", nil)
	p.Wait("document.querySelector('.unit .error[role=alert]')?.innerText.includes('no declaration')")
	title("main.border")

	// A report knows nothing of it.
	p = b.Open(t, 1280, 800)
	file := filepath.Join(t.TempDir(), "report.html")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := page.WriteReport(out, 1<<20); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	p.Go("file://" + file)
	p.Wait("document.querySelector('.function h2')")
	var offers int
	p.Eval("document.querySelectorAll('.in-source, #locate:not([hidden])').length", &offers)
	if offers != 0 {
		t.Error("a report offers the source")
	}
	p.Quiet()
}
