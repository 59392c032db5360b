package catalog_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"tracerag/viewer/browsertest"
)

// TestInBrowser is the page in a real browser, one for all tests.
func TestInBrowser(t *testing.T) {
	b := browsertest.Start(t)
	for _, tt := range []struct {
		name string
		test func(*testing.T, *browsertest.Browser)
	}{{"way", testWay}, {"hostile", testHostile}, {"links", testLinks}, {"tokens", testTokens}, {"phone", testPhone}} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, b) })
	}
}

// view is a tab with the page.
type view struct {
	*browsertest.Page
	t    *testing.T
	base string
}

// open shows the page of a fixture with its own token.
func open(t *testing.T, b *browsertest.Browser, f *fixture, width, height int) (v view, token string) {
	t.Helper()
	v = view{b.Open(t, width, height), t, ""}
	v.Dark(false)
	v.base, token = serve(t, f.content, guests)
	v.Go(v.base + "/#" + token)
	v.Wait("document.querySelector('.repositories')")
	return v, token
}

func (v view) list(selector string) (out []string) {
	v.Eval(fmt.Sprintf("[...document.querySelectorAll(%q)].map(l => l.innerText.replace(/\\s+/g, ' ').trim())", selector), &out)
	return out
}

// title waits until something is the title of what is shown.
func (v view) title(name string) {
	v.t.Helper()
	v.Wait(fmt.Sprintf("document.querySelector('#view h2')?.innerText === %q && document.activeElement === document.querySelector('#view h2')", name))
}

// follow clicks a link by its text.
func (v view) follow(text string) {
	v.t.Helper()
	v.Wait(fmt.Sprintf("[...document.querySelectorAll('#view a')].some(a => a.innerText === %q)", text))
	v.Eval(fmt.Sprintf("[...document.querySelectorAll('#view a')].find(a => a.innerText === %q).click()", text), nil)
}

// sound checks what holds for all that is shown.
func (v view) sound() {
	v.t.Helper()
	var images, over int
	var text, address string
	v.Eval("document.images.length", &images)
	v.Eval("document.documentElement.scrollWidth - innerWidth", &over)
	v.Eval("document.body.innerText", &text)
	v.Eval("location.href", &address)
	if images != 0 || over > 0 {
		v.t.Errorf("%s: %d images, %d pixels too wide", address, images, over)
	}
	if strings.Contains(text, "hunter2") || strings.Contains(text, "\u202e") {
		v.t.Errorf("%s: a secret or a control character is on the page", address)
	}
	if unnamed := v.Unnamed(); len(unnamed) > 0 {
		v.t.Errorf("%s: controls without a name: %v", address, unnamed)
	}
}

// testWay goes from the repositories to a function and what is around it.
func testWay(t *testing.T, b *browsertest.Browser) {
	v, _ := open(t, b, newFixture(t), 1280, 800)
	if got := v.list(".repositories tbody tr"); len(got) != 1 || !strings.HasPrefix(got[0], "draw ") || !strings.Contains(got[0], "example.com/draw") || !strings.Contains(got[0], "not known") {
		t.Errorf("repositories %q", got)
	}
	v.sound()
	v.Shot("catalog-repositories")
	v.follow("draw")
	v.title("draw")
	if text := v.Text("#view"); !strings.Contains(text, "3 files, 8 declarations, 7 functions among them") {
		t.Errorf("the repository is %s", text)
	}
	v.sound()
	v.Shot("catalog-repository")
	v.follow("table.go")
	v.title("table/table.go")
	v.sound()
	v.follow("table.border")
	v.title("table.border")
	if got := v.Text(".does"); got != "border draws what is around a row." {
		t.Errorf("the summary is %q", got)
	}
	if got := v.list(".listing .line"); !slices.Equal(got, []string{"12 // border draws what is around a row.", `13 func border(n int) string { return "+--+" }`}) {
		t.Errorf("the source is %q", got)
	}
	want := []string{
		"Executed by (1) TestRow passed Values example.com/draw/table · 1 call · trace 0a1b2c3d",
		"Callers (3) table.(*Table).Row table/table.go:8 · static, ran x1 · at line 9 draw.frame a<img src=x onerror=alert(1)>\\u202e.go:4 · interface table.TestOther table/table_test.go:7 · static · at line 7",
		"Tests that may execute it (1) table.TestOther table/table_test.go:7 · calls it",
	}
	if got := v.list(".around"); !slices.Equal(got, want) {
		t.Errorf("around it are\n%q, want\n%q", got, want)
	}
	v.sound()
	v.Shot("catalog-function")
	v.Click(".execution button")
	v.Wait("document.querySelector('.values table')")
	if got := v.list(".values tbody tr"); !slices.Equal(got, []string{`1 72 "<b>+--+</b>"`}) {
		t.Errorf("values %q", got)
	}
	v.sound()
	v.Shot("catalog-values")

	// Along the calls, and back where one was.
	v.follow("table.(*Table).Row")
	v.title("table.(*Table).Row")
	if got := v.list(".listing .call"); !slices.Equal(got, []string{"border"}) {
		t.Errorf("links of the text are %q", got)
	}
	v.Click(".listing .call")
	v.title("table.border")
	v.Eval("history.back()", nil)
	v.title("table.(*Table).Row")

	// By the search, from the keyboard.
	v.Press("/")
	v.Wait("document.activeElement === document.querySelector('#text')")
	v.Type("border")
	v.Press("Enter")
	v.title("“border”")
	if got := v.list("#view h3"); !slices.Equal(got, []string{"Named so (1)", "With these words (2)"}) {
		t.Errorf("found %q", got)
	}
	v.sound()
	v.Shot("catalog-search")

	// By a report, and back to what it found.
	v.Click("#to-locate")
	v.Wait("document.activeElement === document.querySelector('#report')")
	v.Type("the border around a row is cut")
	v.Click(".report .primary")
	v.Wait("document.querySelector('#located li')")
	if got := v.list("#located ol[aria-label=Functions] li"); !strings.HasPrefix(got[0], "border draw: table/table.go:13 · 1.02 has around, border, row") {
		t.Errorf("located %q", got)
	}
	if text := v.Text("#located"); !strings.Contains(text, "Runs that executed some of them") || !strings.Contains(text, "TestRow (passed), trace 0a1b2c3d") || !strings.Contains(text, "tracerag run -- go test ./table -run") {
		t.Errorf("located %s", text)
	}
	v.sound()
	v.Shot("catalog-locate")
	v.follow("border")
	v.title("table.border")
	v.Eval("history.back()", nil)
	v.Wait("document.querySelector('#located li') && document.querySelector('#report').value.startsWith('the border')")
	for _, dark := range []bool{true, false} {
		v.Dark(dark)
		var contrast []string
		v.Eval(browsertest.Contrasts, &contrast)
		if len(contrast) > 0 {
			t.Errorf("too little contrast: %q", contrast)
		}
	}
	v.Quiet()
}

// testHostile: names, sources, reports and addresses that are markup stay text.
func testHostile(t *testing.T, b *browsertest.Browser) {
	f := newFixture(t)
	f.content.Name = "<img src=x onerror=alert(1)>"
	v, _ := open(t, b, f, 1280, 800)
	v.follow("draw")
	v.title("draw")
	v.follow("a<img src=x onerror=alert(1)>\\u202e.go")
	v.title("a<img src=x onerror=alert(1)>\\u202e.go")
	v.sound()
	v.follow("draw.frame")
	v.title("draw.frame")
	if got := v.Text(".listing"); !strings.Contains(got, "</script><img src=x onerror=alert(1)> \\u202e") || !strings.Contains(got, "REDACTED") {
		t.Errorf("the source is %q", got)
	}
	v.sound()
	v.Go(v.base + "/#/") // as somebody who comes anew
	v.Eval("location.reload()", nil)
	v.Wait("document.querySelector('.repositories')")
	v.Click("#text")
	v.Type("<img src=x onerror=alert(1)>")
	v.Press("Enter")
	v.title("“<img src=x onerror=alert(1)>”")
	v.sound()
	v.Click("#to-locate")
	v.Wait("document.querySelector('#report')")
	v.Type("</textarea><img src=x onerror=alert(1)> password=" + aSecret())
	v.Click(".report .primary")
	v.Wait("document.querySelector('#located').innerText !== ''")
	var images int
	v.Eval("document.images.length", &images)
	if images != 0 {
		t.Error("a report became markup")
	}
	for _, hash := range []string{"#/<img src=x onerror=alert(1)>", "#/repository/<img src=x>", "#/function/draw/%00/%E2%80%AE", "#/file/draw/%", "#/search/", "#/function", "#/%"} {
		v.Eval("document.querySelector('#view').replaceChildren()", nil)
		v.Eval(fmt.Sprintf("(() => { history.replaceState(null, '', '/'); location.hash = %q; })()", hash), nil)
		v.Wait("document.querySelector('#view [role=alert]')")
		v.sound()
	}
}

// testLinks: an address leads where it led, in another tab, too, and holds no token.
func testLinks(t *testing.T, b *browsertest.Browser) {
	f := newFixture(t)
	v, token := open(t, b, f, 1280, 800)
	var address string
	v.Eval("location.href", &address)
	if address != v.base+"/" {
		t.Errorf("the address is %s", address)
	}
	v.Go(v.base + "/#/function/draw/(*Table).Row/table/table.go")
	v.title("table.(*Table).Row")
	v.Eval("location.href", &address)
	if strings.Contains(address, token) {
		t.Errorf("the address has the token: %s", address)
	}
	v.Eval("location.reload()", nil)
	v.title("table.(*Table).Row")
	// A second tab of the same browser gets the token of the first one, and not by the address.
	second := v.Beside(1280, 800)
	second.Go(v.base + "/#/function/draw/(*Table).Row/table/table.go")
	second.Wait("document.querySelector('#view h2')?.innerText === 'table.(*Table).Row'")
	for _, r := range append(v.Requests(), second.Requests()...) {
		if u, err := url.Parse(r); err != nil || strings.Contains(u.RequestURI(), token) {
			t.Errorf("asked for %s", r)
		}
	}
	v.Quiet()
}

// testTokens opens the page without a token, with a revoked one and with a good one: it asks for one, says that it was revoked, and goes on.
func testTokens(t *testing.T, b *browsertest.Browser) {
	f := newFixture(t)
	base, _ := serve(t, f.content, guests)
	v := view{b.Open(t, 1280, 800), t, base}
	v.Go(base + "/#/function/draw/border/table/table.go")
	v.Wait("document.querySelector('.sign-in')")
	v.sound()
	v.Shot("catalog-token")
	if text := v.Text("body"); strings.Contains(text, "border") {
		t.Errorf("without a token the page says %s", text)
	}
	for token, want := range map[string]string{"revoked": "the token was revoked", "other": "the token is missing or wrong"} {
		v.Click("#token")
		v.Type(token)
		v.Press("Enter")
		v.Wait(fmt.Sprintf("document.querySelector('#token').value === '' && document.querySelector('#why').innerText.includes(%q)", want))
	}
	v.Click("#token")
	v.Type("good")
	v.Press("Enter")
	v.title("table.border")
	v.Eval("location.reload()", nil)
	v.title("table.border")
}

// testPhone is the way on a phone.
func testPhone(t *testing.T, b *browsertest.Browser) {
	v, _ := open(t, b, newFixture(t), 390, 844)
	v.sound()
	v.Shot("catalog-repositories-phone")
	for _, hash := range []string{"#/repository/draw", "#/file/draw/table/table.go", "#/search/border", "#/function/draw/border/table/table.go"} {
		v.Eval(fmt.Sprintf("document.querySelector('#view').replaceChildren(); location.hash = %q", hash), nil)
		v.Wait("document.querySelector('#view h2')")
		v.sound()
		v.Shot("catalog-phone-" + strings.ReplaceAll(hash[2:], "/", "-"))
	}
	v.title("table.border")
	v.Click(".execution button")
	v.Wait("document.querySelector('.values table')")
	v.sound()
	v.Shot("catalog-phone-values")
	v.Click("#to-locate")
	v.Wait("document.querySelector('#report')")
	v.Type("the border around a row is cut")
	v.Click(".report .primary")
	v.Wait("document.querySelector('#located li')")
	v.sound()
	v.Shot("catalog-phone-locate")
	v.Resize(320, 700)
	v.sound()
	v.Quiet()
}
