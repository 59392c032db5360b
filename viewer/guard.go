package viewer

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"
)

// guard decides which requests are answered.
type guard struct {
	hosts []string // as browsers write this server's address
	token [sha256.Size]byte
}

func newGuard(port, token string) *guard {
	return &guard{
		hosts: []string{"127.0.0.1:" + port, "localhost:" + port},
		token: sha256.Sum256([]byte(token)),
	}
}

// newToken returns 160 random bits in letters and digits, which no terminal and no
// shell takes for anything else.
func newToken() string { return strings.ToLower(rand.Text() + rand.Text()[:6]) }

// protect answers requests that are not for this server, or that another origin's
// page makes, and sets the headers that hold for all answers.
func (g *guard) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", servedPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch {
		case !g.knows(r.Host):
			// A name that was made to point to 127.0.0.1.
			http.Error(w, "this address is not mine: open the URL that tracerag view printed", http.StatusMisdirectedRequest)
		case !g.sameOrigin(r):
			http.Error(w, "a page of another origin may not ask here", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (g *guard) knows(host string) bool {
	return slices.Contains(g.hosts, host)
}

// sameOrigin reports whether the page that makes a request, if it is one, is ours.
// Browsers send Origin with every POST, and Sec-Fetch-Site with everything.
func (g *guard) sameOrigin(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none": // none: the user typed the address
	default:
		// Somebody's link to this page shows the page, which is empty without
		// the token.
		if r.URL.Path != "/" || r.Header.Get("Sec-Fetch-Mode") != "navigate" {
			return false
		}
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return r.Method == http.MethodGet || r.Method == http.MethodHead
	}
	return origin == "http://"+r.Host
}

// known lets requests with the token through.
func (g *guard) known(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		// Hashes are of one length, so that the comparison does not tell even that
		// of the token.
		sum := sha256.Sum256([]byte(token))
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(sum[:], g.token[:]) != 1 {
			http.Error(w, "the token is missing or wrong: open the URL that tracerag view printed", http.StatusUnauthorized)
			return
		}
		next(w, r)
	}
}
