// Package browsertest drives a real browser in tests: a headless Chromium, spoken
// to in the DevTools protocol over a pipe. What tests need of it is little, and so
// is this: load a page, evaluate, press keys, take pictures, and know what the page
// asked the network for and what it wrote to the console.
package browsertest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// Require is the environment variable that, set to "require", makes a missing
// browser a failure: a check that runs in CI must not vanish there unseen.
const Require = "TRACERAG_BROWSER"

// patience is how long a page may take for anything, on a machine that is busy.
const patience = 60 * time.Second

// find returns the path of a browser. TRACERAG_BROWSER may name one.
func find() (string, error) {
	if path := os.Getenv(Require); path != "" && path != "require" {
		return exec.LookPath(path)
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome", "headless-shell"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no Chromium is installed: apt-get install chromium, or name one in " + Require)
}

// Browser is a running browser. It ends with the test that started it.
type Browser struct {
	out io.Writer

	mu      sync.Mutex
	last    int
	waiting map[int]chan reply
	pages   map[string]*Page // by session
	closed  error
}

// Page is a tab. It ends with its test.
type Page struct {
	tb      testing.TB
	browser *Browser
	context string // of cookies and storage
	session string // "" are the commands to the browser itself

	// What the page asked for, and what it wrote as a warning or an error, uncaught
	// exceptions and violations of its policy among them. The browser's mutex guards
	// them.
	requests, console []string
}

type reply struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// Start starts a browser. It skips the test where there is none.
func Start(tb testing.TB) *Browser {
	tb.Helper()
	path, err := find()
	if runtime.GOOS == "windows" {
		err = errors.New("the browser is spoken to over inherited pipes, which Windows does not have")
	}
	if err != nil {
		if os.Getenv(Require) != "" {
			tb.Fatal(err)
		}
		tb.Skip(err)
	}
	b := &Browser{waiting: map[int]chan reply{}, pages: map[string]*Page{}}
	b.start(tb, path)
	return b
}

// Open opens an empty tab of the given size, in CSS pixels, with storage of its own.
func (b *Browser) Open(tb testing.TB, width, height int) *Page {
	tb.Helper()
	p := &Page{tb: tb, browser: b}
	var context struct {
		BrowserContextID string `json:"browserContextId"`
	}
	p.call("Target.createBrowserContext", nil, &context)
	p.context = context.BrowserContextID
	tb.Cleanup(func() {
		p.session = ""
		if err := p.try("Target.disposeBrowserContext", map[string]any{"browserContextId": p.context}, nil); err != nil {
			tb.Errorf("closing the tab: %v", err)
		}
	})
	p.attach(width, height)
	return p
}

// Beside opens another empty tab, which shares cookies and storage, as one that a user opens beside a first one.
func (p *Page) Beside(width, height int) *Page {
	p.tb.Helper()
	other := &Page{tb: p.tb, browser: p.browser, context: p.context}
	other.attach(width, height)
	return other
}

// attach makes the tab.
func (p *Page) attach(width, height int) {
	p.tb.Helper()
	var target, session struct {
		TargetID  string `json:"targetId"`
		SessionID string `json:"sessionId"`
	}
	p.call("Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": p.context}, &target)
	p.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	p.session = session.SessionID
	p.browser.mu.Lock()
	p.browser.pages[p.session] = p
	p.browser.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		p.call(domain+".enable", nil, nil)
	}
	p.call("Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}, nil) // other tabs may be in front
	p.Resize(width, height)
}

// CPU is the time on all processors that the browser's processes have taken so far.
func (b *Browser) CPU(tb testing.TB) time.Duration {
	tb.Helper()
	var r struct {
		ProcessInfo []struct{ CPUTime float64 }
	}
	p := &Page{tb: tb, browser: b}
	p.call("SystemInfo.getProcessInfo", nil, &r)
	var seconds float64
	for _, info := range r.ProcessInfo {
		seconds += info.CPUTime
	}
	return time.Duration(seconds * float64(time.Second))
}

func (b *Browser) start(tb testing.TB, path string) {
	tb.Helper()
	in, out, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	from, to, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	// The profile is no t.TempDir: the browser's helpers may write into it for a
	// moment after its end, which that would call a failure.
	dir, err := os.MkdirTemp("", "browsertest")
	if err != nil {
		tb.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--disable-extensions", "--disable-default-apps", "--mute-audio", "--remote-debugging-pipe", "--user-data-dir="+dir)
	cmd.ExtraFiles = []*os.File{in, to} // 3 and 4
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	in.Close()
	to.Close()
	b.out = out
	go b.listen(from)
	tb.Cleanup(func() {
		b.mu.Lock()
		early := b.closed
		b.mu.Unlock()
		out.Close() // which ends it
		ended := make(chan struct{})
		go func() { cmd.Wait(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			cmd.Process.Kill()
			<-ended
		}
		if early != nil {
			tb.Errorf("the browser ended by itself; it said:\n%.4000s", stderr.String())
		}
		for range 20 {
			if os.RemoveAll(dir) == nil {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
}

// listen takes replies and events until the browser ends.
func (b *Browser) listen(from io.ReadCloser) {
	defer from.Close()
	r := bufio.NewReaderSize(from, 1<<16)
	for {
		data, err := r.ReadBytes(0)
		if err != nil {
			b.mu.Lock()
			b.closed = errors.New("the browser has ended")
			for _, c := range b.waiting {
				close(c)
			}
			b.waiting = nil
			b.mu.Unlock()
			return
		}
		var msg struct {
			ID      int             `json:"id"`
			Session string          `json:"sessionId"`
			Method  string          `json:"method"`
			Params  json.RawMessage `json:"params"`
			reply
		}
		if json.Unmarshal(data[:len(data)-1], &msg) != nil {
			continue
		}
		b.mu.Lock()
		if c := b.waiting[msg.ID]; msg.ID != 0 && c != nil {
			delete(b.waiting, msg.ID)
			c <- msg.reply
		} else if p := b.pages[msg.Session]; p != nil {
			p.event(msg.Method, msg.Params)
		}
		b.mu.Unlock()
	}
}

func (p *Page) event(method string, params json.RawMessage) {
	var e struct {
		Request struct{ URL string }
		URL     string
		Type    string
		Args    []struct {
			Value       any
			Description string
		}
		Entry struct {
			Level, Text, URL string
		}
		ExceptionDetails struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	if json.Unmarshal(params, &e) != nil {
		return
	}
	switch method {
	case "Network.requestWillBeSent":
		p.requests = append(p.requests, e.Request.URL)
	case "Network.webSocketCreated":
		p.requests = append(p.requests, e.URL)
	case "Runtime.consoleAPICalled":
		if e.Type == "error" || e.Type == "warning" || e.Type == "assert" {
			p.console = append(p.console, fmt.Sprint(e.Type, ": ", e.Args))
		}
	case "Runtime.exceptionThrown":
		p.console = append(p.console, e.ExceptionDetails.Text+" "+e.ExceptionDetails.Exception.Description)
	case "Log.entryAdded":
		if e.Entry.Level == "error" || e.Entry.Level == "warning" {
			p.console = append(p.console, e.Entry.Text+" "+e.Entry.URL)
		}
	}
}

func (p *Page) call(method string, params, result any) {
	p.tb.Helper()
	if err := p.try(method, params, result); err != nil {
		p.tb.Fatalf("%s: %v", method, err)
	}
}

func (p *Page) try(method string, params, result any) error {
	if params == nil {
		params = struct{}{}
	}
	c := make(chan reply, 1)
	b := p.browser
	b.mu.Lock()
	if b.closed != nil {
		b.mu.Unlock()
		return b.closed
	}
	b.last++
	id := b.last
	b.waiting[id] = c
	b.mu.Unlock()
	data, err := json.Marshal(struct {
		ID      int    `json:"id"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
		Session string `json:"sessionId,omitempty"`
	}{id, method, params, p.session})
	if err != nil {
		return err
	}
	if _, err := b.out.Write(append(data, 0)); err != nil {
		return err
	}
	select {
	case r, ok := <-c:
		switch {
		case !ok:
			return errors.New("the browser has ended")
		case r.Error != nil:
			return errors.New(r.Error.Message)
		case result != nil:
			return json.Unmarshal(r.Result, result)
		}
		return nil
	case <-time.After(patience):
		return context.DeadlineExceeded
	}
}

// Resize gives the page another size; below 700 CSS pixels it is a phone's, with
// two device pixels each and a finger for a mouse.
func (p *Page) Resize(width, height int) {
	p.tb.Helper()
	phone := width < 700
	scale := 1
	if phone {
		scale = 2
	}
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": scale, "mobile": phone}, nil)
}

// Dark says which colours the system prefers.
func (p *Page) Dark(dark bool) {
	p.tb.Helper()
	value := "light"
	if dark {
		value = "dark"
	}
	p.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": value}}}, nil)
}

// Go loads a URL, and returns when it is loaded.
func (p *Page) Go(to string) {
	p.tb.Helper()
	var r struct{ ErrorText string }
	p.call("Page.navigate", map[string]any{"url": to}, &r)
	if r.ErrorText != "" {
		p.tb.Fatalf("%s: %s", to, r.ErrorText)
	}
	p.Wait("document.readyState === 'complete'")
}

// Eval evaluates a JavaScript expression, whose promise it waits for, and puts its
// value into result unless that is nil.
func (p *Page) Eval(expression string, result any) {
	p.tb.Helper()
	if err := p.eval(expression, result); err != nil {
		p.tb.Fatalf("%s: %v", expression, err)
	}
}

func (p *Page) eval(expression string, result any) error {
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	// replMode takes top-level await; a gesture lets the page copy.
	err := p.try("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true}, &r)
	switch {
	case err != nil:
		return err
	case r.ExceptionDetails != nil:
		return errors.New(r.ExceptionDetails.Text + " " + r.ExceptionDetails.Exception.Description)
	case result != nil:
		return json.Unmarshal(r.Result.Value, result)
	}
	return nil
}

// Text returns the text of the first element that a selector finds, as it is shown.
func (p *Page) Text(selector string) (text string) {
	p.tb.Helper()
	p.Eval(fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector), &text)
	return text
}

// Wait waits until a JavaScript expression is true.
func (p *Page) Wait(expression string) {
	p.tb.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		var ok bool
		if err = p.eval("Boolean("+expression+")", &ok); err == nil && ok {
			return
		}
	}
	p.Shot("waited-in-vain")
	p.tb.Fatalf("waited in vain for %s (%v); console: %q", expression, err, p.Console())
}

// Click clicks in the middle of the first element that a selector finds, with the
// mouse: what covers it gets the click.
func (p *Page) Click(selector string) {
	p.tb.Helper()
	p.Wait(fmt.Sprintf("document.querySelector(%q)", selector))
	var at struct{ X, Y float64 }
	p.Eval(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoViewIfNeeded(); const r = e.getBoundingClientRect(); return {x: r.x + r.width / 2, y: r.y + r.height / 2}; })()`, selector), &at)
	p.ClickAt(at.X, at.Y, 1)
}

// ClickAt clicks at a point of the window, twice for a double click.
func (p *Page) ClickAt(x, y float64, times int) {
	p.tb.Helper()
	p.call("Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": x, "y": y}, nil)
	for n := 1; n <= times; n++ {
		for _, kind := range []string{"mousePressed", "mouseReleased"} {
			p.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": x, "y": y, "button": "left", "clickCount": n}, nil)
		}
	}
}

// keyCodes are the Windows key codes of keys without a text, as pages see them.
var keyCodes = map[string]int{"Enter": 13, "Escape": 27, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36,
	"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9}

// Press presses keys by their names: "ArrowDown", "Enter", "a".
func (p *Page) Press(keys ...string) {
	p.tb.Helper()
	for _, key := range keys {
		down := map[string]any{"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": keyCodes[key]}
		switch {
		case len(key) == 1:
			down["text"] = key
			delete(down, "code")
		case key == "Enter":
			down["text"] = "\r"
		}
		p.call("Input.dispatchKeyEvent", down, nil)
		p.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key, "windowsVirtualKeyCode": keyCodes[key]}, nil)
	}
}

// Type types a text into what has the focus.
func (p *Page) Type(text string) {
	p.tb.Helper()
	p.call("Input.insertText", map[string]any{"text": text}, nil)
}

// Unnamed returns the controls of the page that a screen reader could not name, by
// their roles.
func (p *Page) Unnamed() []string {
	p.tb.Helper()
	var r struct {
		Nodes []struct {
			Ignored    bool
			Role, Name struct{ Value any }
		}
	}
	p.call("Accessibility.getFullAXTree", nil, &r)
	controls, found, unnamed := map[string]bool{}, 0, []string(nil)
	for _, role := range []string{"button", "checkbox", "combobox", "link", "radio", "searchbox", "slider", "spinbutton", "splitter", "tab", "tabpanel", "textbox", "tree", "treeitem"} {
		controls[role] = true
	}
	for _, n := range r.Nodes {
		role, _ := n.Role.Value.(string)
		if n.Ignored || !controls[role] {
			continue
		}
		found++
		if name, _ := n.Name.Value.(string); strings.TrimSpace(name) == "" {
			unnamed = append(unnamed, role)
		}
	}
	if found == 0 {
		p.tb.Error("no control was found on the page")
	}
	return unnamed
}

// Requests returns the URLs that were asked for so far.
func (p *Page) Requests() []string {
	p.browser.mu.Lock()
	defer p.browser.mu.Unlock()
	return append([]string(nil), p.requests...)
}

// Console returns the errors and warnings so far.
func (p *Page) Console() []string {
	p.browser.mu.Lock()
	defer p.browser.mu.Unlock()
	return append([]string(nil), p.console...)
}

// Quiet fails the test when the page wrote an error or a warning, or asked
// anything of any place but this machine's loopback address or its own file.
func (p *Page) Quiet() {
	p.tb.Helper()
	for _, line := range p.Console() {
		p.tb.Errorf("console: %s", line)
	}
	if len(p.Requests()) == 0 {
		p.tb.Error("no request was seen: the watch does not work")
	}
	for _, r := range p.Requests() {
		u, err := url.Parse(r)
		if err != nil || u.Scheme != "data" && u.Scheme != "file" && u.Scheme != "about" && u.Hostname() != "127.0.0.1" {
			p.tb.Errorf("a request left the machine: %s", r)
		}
	}
}

// Shot takes a picture of the window, if TRACERAG_SHOTS names a directory for it.
func (p *Page) Shot(name string) {
	p.tb.Helper()
	dir := os.Getenv("TRACERAG_SHOTS")
	if dir == "" {
		return
	}
	var r struct{ Data string }
	p.call("Page.captureScreenshot", map[string]any{"format": "png"}, &r)
	data, err := base64.StdEncoding.DecodeString(r.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, strings.ReplaceAll(name, "/", "-")+".png"), data, 0o644)
	}
	if err != nil {
		p.tb.Errorf("picture %s: %v", name, err)
	}
}

// Contrasts is an expression for the style sheet's colours of text that do not reach a contrast of
// 4.5 to 1 with the backgrounds they are on (WCAG 2.2, 1.4.3).
const Contrasts = `(() => {
	const probe = document.createElement('i');
	document.body.append(probe);
	const rgb = (name) => { probe.style.color = 'var(--' + name + ')'; return getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number); };
	const light = (c) => { const [r, g, b] = c.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const bad = [];
	for (const on of ['bg', 'pane', 'select', 'hover']) {
		for (const name of ['text', 'soft', 'accent', 'added', 'removed', 'changed', 'moved', 'keyword', 'string', 'number', 'comment', 'builtin']) {
			const [a, b] = [light(rgb(name)), light(rgb(on))].sort((x, y) => y - x);
			const ratio = (a + 0.05) / (b + 0.05);
			if (ratio < 4.5) bad.push(name + ' on ' + on + ': ' + ratio.toFixed(2));
		}
	}
	probe.remove();
	return bad;
})()`
