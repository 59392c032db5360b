package guard_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tracerag/viewer/guard"
)

const (
	public = "https://code.example.com"
	secret = "abc234"
)

// holder knows one token; of others it says what the text says.
func holder(_ context.Context, token string) (string, error) {
	switch token {
	case secret:
		return "ada", nil
	case "revoked":
		return "", guard.ErrRevoked
	case "down":
		return "", errors.New("db.example.com can't be reached")
	}
	return "", guard.ErrUnknown
}

// ask sends a request as the page behind the proxy does, but for headers that differ; "-" takes one away.
func ask(g *guard.Guard, method, host string, header map[string]string) *httptest.ResponseRecorder {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "the empty page") })
	mux.HandleFunc("/api/x", g.Known(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "data for "+guard.Name(r.Context()))
	}))
	r := httptest.NewRequest(method, "/api/x", nil)
	r.Host = host
	r.Header.Set("Authorization", "Bearer "+secret)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if method == "POST" {
		r.Header.Set("Origin", public)
	}
	for k, v := range header {
		if v == "-" {
			r.Header.Del(k)
		} else {
			r.Header.Set(k, v)
		}
	}
	w := httptest.NewRecorder()
	g.Protect(mux).ServeHTTP(w, r)
	return w
}

// TestBehindAProxy: browsers know the server by the origin of the proxy, which passes their Host on or does not.
func TestBehindAProxy(t *testing.T) {
	g := guard.New(guard.Options{Hosts: guard.Loopback("8080"), Origin: public, Holder: holder, WayIn: "open the page"})
	for _, tt := range []struct {
		name, method, host string
		header             map[string]string
		want               int
	}{
		{"the Host passed on", "POST", "code.example.com", nil, 200},
		{"the Host in capitals", "POST", "Code.Example.com", nil, 200},
		{"the Host of the server", "POST", "127.0.0.1:8080", nil, 200},
		{"GET", "GET", "code.example.com", nil, 200},
		{"on this machine", "POST", "localhost:8080", map[string]string{"Origin": "http://localhost:8080"}, 200},
		{"without TLS", "POST", "code.example.com", map[string]string{"Origin": "http://code.example.com"}, 403},
		{"another port", "POST", "code.example.com", map[string]string{"Origin": public + ":8443"}, 403},
		{"another name", "POST", "code.example.com", map[string]string{"Origin": "https://evil.example"}, 403},
		{"a name within", "POST", "code.example.com", map[string]string{"Origin": "https://code.example.com.evil.example"}, 403},
		{"another site", "POST", "code.example.com", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{"a sister", "GET", "code.example.com", map[string]string{"Sec-Fetch-Site": "same-site"}, 403},
		{"no origin", "POST", "code.example.com", map[string]string{"Origin": "-"}, 403},
		{"a file", "POST", "code.example.com", map[string]string{"Origin": "null"}, 403},
		{"a rebound name", "POST", "evil.example", map[string]string{"Origin": public}, 421},
		{"our name at another port", "GET", "code.example.com:8080", nil, 421},
		{"no host", "GET", "", nil, 421},
		{"no token", "POST", "code.example.com", map[string]string{"Authorization": "-"}, 401},
		{"an empty token", "POST", "code.example.com", map[string]string{"Authorization": "Bearer "}, 401},
		{"another token", "POST", "code.example.com", map[string]string{"Authorization": "Bearer " + secret[1:]}, 401},
		{"another scheme", "POST", "code.example.com", map[string]string{"Authorization": "Basic " + secret}, 401},
		{"a long token", "POST", "code.example.com", map[string]string{"Authorization": "Bearer down" + strings.Repeat("x", 300)}, 401},
		{"a cookie", "POST", "code.example.com", map[string]string{"Authorization": "-", "Cookie": "token=" + secret}, 401},
		{"a revoked token", "POST", "code.example.com", map[string]string{"Authorization": "Bearer revoked"}, 401},
		{"no database", "POST", "code.example.com", map[string]string{"Authorization": "Bearer down"}, 503},
	} {
		w := ask(g, tt.method, tt.host, tt.header)
		body := w.Body.String()
		if w.Code != tt.want || (w.Code == 200) != (body == "data for ada") {
			t.Errorf("%s: status %d %q, want %d", tt.name, w.Code, body, tt.want)
		}
		if strings.Contains(body, "db.example.com") {
			t.Errorf("%s: the answer names the database: %s", tt.name, body)
		}
		if w.Header().Get("Access-Control-Allow-Origin") != "" || w.Header().Get("Content-Security-Policy") != guard.Policy {
			t.Errorf("%s: headers %v", tt.name, w.Header())
		}
	}
	if body := ask(g, "POST", "code.example.com", map[string]string{"Authorization": "Bearer revoked"}).Body.String(); body != "the token was revoked: open the page\n" {
		t.Errorf("a revoked token is answered %q", body)
	}
	// Without the flag no proxy is trusted.
	g = guard.New(guard.Options{Hosts: guard.Loopback("8080"), Holder: holder})
	for host, want := range map[string]int{"code.example.com": 421, "127.0.0.1:8080": 403, "": 421} {
		if w := ask(g, "POST", host, nil); w.Code != want {
			t.Errorf("without an origin, to %q: status %d, want %d", host, w.Code, want)
		}
	}
}

// TestHolders: one server may know its own token and those of others.
func TestHolders(t *testing.T) {
	own := guard.Token()
	if len(own) < 32 || own == guard.Token() {
		t.Fatalf("a token is %q", own)
	}
	both := guard.Either(guard.Only(own, "this page"), holder)
	for token, want := range map[string]string{own: "this page", secret: "ada", own[1:]: guard.ErrUnknown.Error(), "": guard.ErrUnknown.Error(), "revoked": guard.ErrRevoked.Error()} {
		name, err := both(t.Context(), token)
		if err != nil {
			name = err.Error()
		}
		if name != want {
			t.Errorf("%q is of %q, want %q", token, name, want)
		}
	}
}

// TestParseOrigin says what browsers send for an origin.
func TestParseOrigin(t *testing.T) {
	for text, want := range map[string]string{
		"https://code.example.com":      "https://code.example.com",
		"https://Code.Example.com/":     "https://code.example.com",
		"https://code.example.com:443":  "https://code.example.com",
		"https://code.example.com:8443": "https://code.example.com:8443",
		"http://192.0.2.7:8080":         "http://192.0.2.7:8080",
		"https://[2001:db8::1]":         "https://[2001:db8::1]",
		"code.example.com":              "",
		"code.example.com:443":          "",
		"https://":                      "",
		"https://code.example.com/page": "",
		"https://me@code.example.com":   "",
		"https://code.example.com?x":    "",
		"https://code.example.com#x":    "",
		"ftp://code.example.com":        "",
		"":                              "",
	} {
		got, err := guard.ParseOrigin(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v; want %q", text, got, err, want)
		}
	}
}
