package viewer_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"tracerag/prompt"
	"tracerag/viewer"
)

// parrot is a model that gives a fixed answer.
type parrot struct {
	pieces []string
	err    error
	asked  []viewer.Draft
	rounds [][]prompt.Request // what it reads before it answers; nil: it is sent one prompt
	hang   chan struct{}      // when set, after the pieces until the context ends
}

func (p *parrot) Name() string { return "parrot-1" }

func (p *parrot) InRounds(*viewer.Question, *prompt.Prompt) bool { return p.rounds != nil }

func (p *parrot) Ask(ctx context.Context, q *viewer.Question, to viewer.Listener) ([]string, error) {
	p.asked = append(p.asked, q.Draft)
	if err := p.send(q, to); err != nil {
		return nil, err
	}
	for _, s := range p.pieces {
		io.WriteString(to, s)
	}
	if p.hang != nil {
		<-ctx.Done()
		close(p.hang)
		return nil, ctx.Err()
	}
	return []string{"7 tokens"}, p.err
}

// send says what was sent, in rounds or not.
func (p *parrot) send(q *viewer.Question, to viewer.Listener) error {
	if p.rounds == nil || q.OneShot {
		whole, err := q.Prompt()
		if err == nil {
			to.Sent(viewer.Round{Number: 1, Of: 1, Prompt: whole})
		}
		return err
	}
	r, err := prompt.NewRounds(q.Input, q.Options)
	if err != nil {
		return err
	}
	to.Sent(viewer.Round{Number: 1, Of: prompt.MaxRounds, Prompt: r.First()})
	for i, reads := range p.rounds {
		to.Sent(viewer.Round{Number: i + 2, Of: prompt.MaxRounds, Reads: reads, Prompt: r.Next(reads)})
	}
	return nil
}

// listen serves a page for the time of a test.
func listen(t testing.TB, page *viewer.Page, m viewer.Model) (base, token string) {
	t.Helper()
	s, err := viewer.Listen(page, m)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Serve: %v", err)
			}
		case <-time.After(10 * time.Second):
			t.Error("the server does not end")
		}
	})
	base, token, _ = strings.Cut(s.URL(), "/#")
	return base, token
}

// request is one that browsers, or others, may make. The zero value but for the
// path is what the page's own script sends.
type request struct {
	method, path, body string
	header             map[string]string // "-" takes one away
	host               string
}

func (r request) send(t testing.TB, base, token string) (int, http.Header, string) {
	t.Helper()
	method := r.method
	if method == "" {
		method = "GET"
	}
	req, err := http.NewRequest(method, base+r.path, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	if method == "POST" {
		req.Header.Set("Origin", base)
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range r.header {
		if v == "-" {
			req.Header.Del(k)
		} else {
			req.Header.Set(k, v)
		}
	}
	if r.host != "" {
		req.Host = r.host
	}
	// Redirects would hide what was answered; none exist.
	answer, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(body)
}

const draft = `{"question":"why?","variant":"ordered"}`

// TestWhoMayLook is about requests that a page of another origin can make, or that
// come from a program without the token: none reads a trace, none asks the model.
func TestWhoMayLook(t *testing.T) {
	f := newFixture(t)
	m := &parrot{pieces: []string{"the answer"}}
	c := f.content(f.trace(drawing))
	c.Rank = ranked
	page, err := viewer.New(c)
	if err != nil {
		t.Fatal(err)
	}
	base, token := listen(t, page, m)
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	if u.Hostname() != "127.0.0.1" {
		t.Fatalf("served at %s, not on the loopback interface alone", u.Host)
	}
	bad := func(status int, header ...string) func(request) (request, int) {
		return func(r request) (request, int) {
			r.header = map[string]string{}
			for i := 0; i < len(header); i += 2 {
				r.header[header[i]] = header[i+1]
			}
			return r, status
		}
	}
	host := func(name string) func(request) (request, int) {
		return func(r request) (request, int) { r.host = name; return r, http.StatusMisdirectedRequest }
	}
	faults := map[string]func(request) (request, int){
		"no token":             bad(401, "Authorization", "-"),
		"another token":        bad(401, "Authorization", "Bearer "+strings.Repeat("a", len(token))),
		"half the token":       bad(401, "Authorization", "Bearer "+token[:len(token)/2]),
		"more than the token":  bad(401, "Authorization", "Bearer "+token+"a"),
		"an empty token":       bad(401, "Authorization", "Bearer "),
		"another scheme":       bad(401, "Authorization", "Basic "+token),
		"the token as cookie":  bad(401, "Authorization", "-", "Cookie", "token="+token),
		"another origin":       bad(403, "Origin", "https://evil.example"),
		"another port":         bad(403, "Origin", "http://127.0.0.1:1"),
		"https":                bad(403, "Origin", "https://"+u.Host),
		"a file's origin":      bad(403, "Origin", "null"),
		"another site":         bad(403, "Sec-Fetch-Site", "cross-site"),
		"another port's page":  bad(403, "Sec-Fetch-Site", "same-site"),
		"a link from outside":  bad(403, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"),
		"a name that points":   host("evil.example:" + u.Port()),
		"a name without port":  host("evil.example"),
		"our name, other port": host("127.0.0.1:1"),
		"our name as a prefix": host("127.0.0.1.evil.example:" + u.Port()),
	}
	good := []request{
		{path: "/api/overview"},
		{path: "/api/source/0"},
		{method: "POST", path: "/api/prompt", body: draft},
		{method: "POST", path: "/api/rank", body: draft},
		{method: "POST", path: "/api/ask", body: draft},
	}
	for name, fault := range faults {
		for _, r := range good {
			r, want := fault(r)
			status, header, body := r.send(t, base, token)
			if status != want {
				t.Errorf("%s %s with %s: status %d, want %d", r.method, r.path, name, status, want)
			}
			if strings.Contains(body, "draw") || strings.Contains(body, "border") || strings.Contains(body, "answer") {
				t.Errorf("%s %s with %s gives data: %s", r.method, r.path, name, body)
			}
			if h := header.Get("Access-Control-Allow-Origin"); h != "" {
				t.Errorf("%s with %s: Access-Control-Allow-Origin %s", r.path, name, h)
			}
		}
	}
	if len(m.asked) > 0 {
		t.Errorf("the model was asked %d times", len(m.asked))
	}
	for _, r := range good {
		if status, _, body := r.send(t, base, token); status != 200 || !strings.Contains(body, "main") && !strings.Contains(body, "answer") {
			t.Errorf("the page's own %s: status %d, %.200s", r.path, status, body)
		}
	}
	if status, _, _ := (request{path: "/api/overview", host: "localhost:" + u.Port()}).send(t, base, token); status != 200 {
		t.Errorf("as localhost: status %d", status)
	}
	// A POST without an Origin is no browser's; nor is it the page's.
	if status, _, _ := (request{method: "POST", path: "/api/ask", body: draft, header: map[string]string{"Origin": "-"}}).send(t, base, token); status != 403 {
		t.Errorf("POST without Origin: status %d", status)
	}
}

// TestGetChangesNothing: no request that a link or an image can make asks a model
// or does anything else; and no form can be sent.
func TestGetChangesNothing(t *testing.T) {
	f := newFixture(t)
	m := &parrot{}
	base, token := listen(t, f.page(f.trace(drawing)), m)
	for _, tt := range []struct {
		request
		want int
	}{
		{request{path: "/api/ask?question=why"}, 405},
		{request{path: "/api/prompt"}, 405},
		{request{path: "/api/rank?question=why"}, 405},
		{request{method: "POST", path: "/api/rank", body: `{"question":`}, 400},
		{request{method: "HEAD", path: "/api/ask"}, 405},
		{request{method: "PUT", path: "/api/ask", body: draft, header: map[string]string{"Origin": base}}, 405},
		{request{method: "POST", path: "/api/overview", body: draft}, 405},
		{request{method: "POST", path: "/api/ask", body: draft, header: map[string]string{"Content-Type": "text/plain"}}, 415},
		{request{method: "POST", path: "/api/ask", body: "question=why", header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}, 415},
		{request{method: "POST", path: "/api/ask", body: `{"question":`}, 400},
		{request{method: "POST", path: "/api/ask", body: `{"question":"` + strings.Repeat("a", 2<<20) + `"}`}, 400},
		{request{method: "POST", path: "/api/ask", body: `{"question":""}`}, 422},
		{request{method: "POST", path: "/api/prompt", body: `{"variant":"none"}`}, 422},
		{request{path: "/api/source/-1"}, 404},
		{request{path: "/api/source/999999"}, 404},
		{request{path: "/api/source/..%2f..%2fetc%2fpasswd"}, 404},
		{request{path: "/api/values/0"}, 404}, // nothing was observed
		{request{path: "/api/values/x"}, 404},
		{request{path: "/assets/page.html"}, 404},
	} {
		if status, _, body := tt.send(t, base, token); status != tt.want {
			t.Errorf("%s %s: status %d, want %d: %.100s", tt.method, tt.path, status, tt.want, body)
		}
	}
	if len(m.asked) > 0 {
		t.Errorf("the model was asked: %v", m.asked)
	}
}

// TestShell: what is given to anybody on this machine holds nothing of the trace,
// and every answer says what a browser may do with it.
func TestShell(t *testing.T) {
	f := newFixture(t)
	base, token := listen(t, f.page(f.trace(drawing)), nil)
	for _, path := range []string{"/", "/viewer.js", "/viewer.css", "/icon.svg", "/nothing", "/api/overview"} {
		r := request{path: path, header: map[string]string{"Authorization": "-"}}
		_, header, body := r.send(t, base, token)
		if strings.Contains(body, "a.csv") || strings.Contains(body, token) {
			t.Errorf("%s gives what is not for everybody", path)
		}
		for name, want := range map[string]string{
			"Content-Security-Policy":      "default-src 'none'",
			"X-Content-Type-Options":       "nosniff",
			"Referrer-Policy":              "no-referrer",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Cache-Control":                "no-store",
		} {
			if got := header.Get(name); !strings.Contains(got, want) {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		if csp := header.Get("Content-Security-Policy"); strings.Contains(csp, "unsafe") || !strings.Contains(csp, "frame-ancestors 'none'") {
			t.Errorf("%s: policy %q", path, csp)
		}
	}
	// A link from elsewhere may show the page, which asks for the token.
	r := request{path: "/", header: map[string]string{"Authorization": "-", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}}
	if status, _, _ := r.send(t, base, token); status != 200 {
		t.Errorf("by a link: status %d", status)
	}
	other, secret := listen(t, f.page(f.trace(drawing)), nil)
	if other == base || secret == token || len(token) < 32 {
		t.Errorf("two servers at %s and %s with the tokens %s and %s", base, other, token, secret)
	}
}

// TestAsk: an answer comes in the pieces in which the model says it, and at the
// end what it cites, as far as the page has that.
func TestAsk(t *testing.T) {
	f := newFixture(t)
	m := &parrot{pieces: []string{"`main.border` at main.go:31 ", "and main.go:9; not `main.frame()`."}, err: errors.New("it broke off")}
	page := f.page(f.trace(drawing))
	base, token := listen(t, page, m)
	status, _, body := request{method: "POST", path: "/api/ask", body: draft}.send(t, base, token)
	if status != 200 {
		t.Fatalf("status %d: %s", status, body)
	}
	type event struct {
		Text, Error string
		Done        bool
		Notes       []string
		Citations   []struct {
			Text  string
			Known bool
			Func  *int
			Line  int
		}
	}
	var events []event
	for s := bufio.NewScanner(strings.NewReader(body)); s.Scan(); {
		var e event
		if err := json.Unmarshal(s.Bytes(), &e); err != nil {
			t.Fatalf("%s: %v", s.Text(), err)
		}
		events = append(events, e)
	}
	if len(events) != 3 || events[0].Text != m.pieces[0] || events[1].Text != m.pieces[1] {
		t.Fatalf("events %+v", events)
	}
	end := events[2]
	if !end.Done || end.Error != "it broke off" || len(end.Notes) != 1 || len(end.Citations) != 4 {
		t.Fatalf("end %+v", end)
	}
	_, _, body = request{path: "/api/overview"}.send(t, base, token)
	var o struct{ Functions []struct{ Name string } }
	if err := json.Unmarshal([]byte(body), &o); err != nil {
		t.Fatal(err)
	}
	want := []struct {
		function string
		known    bool
	}{{"main.border", true}, {"main.border", true}, {"main.main", true}, {"", false}}
	for i, c := range end.Citations {
		got := ""
		if c.Func != nil {
			got = o.Functions[*c.Func].Name
		}
		if got != want[i].function || c.Known != want[i].known {
			t.Errorf("%s is in %q, known %v; want %v", c.Text, got, c.Known, want[i])
		}
	}
	if len(m.asked) != 1 || m.asked[0].Question != "why?" {
		t.Errorf("asked %+v", m.asked)
	}
}

// TestLeavingStopsTheModel: an answer without a reader is paid for, too.
func TestLeavingStopsTheModel(t *testing.T) {
	f := newFixture(t)
	m := &parrot{pieces: []string{"well"}, hang: make(chan struct{})}
	base, token := listen(t, f.page(f.trace(drawing)), m)
	ctx, leave := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, "POST", base+"/api/ask", strings.NewReader(draft))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer " + token}, "Origin": {base}, "Content-Type": {"application/json"}}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(answer.Body).ReadString('\n'); err != nil || !strings.Contains(line, "well") {
		t.Fatalf("%q, %v", line, err)
	}
	leave()
	select {
	case <-m.hang:
	case <-time.After(10 * time.Second):
		t.Error("the model goes on")
	}
}
