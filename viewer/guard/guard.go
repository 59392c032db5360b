// Package guard decides which requests of browsers a page's server answers. What such a page shows is
// somebody's source code. So the server
//
//   - answers only requests whose Host is one of its own: a name of somebody else's that was made to
//     point here (DNS rebinding) is refused;
//   - refuses requests that a page of another origin makes (Origin, Sec-Fetch-Site), and sends no header
//     that would let one read an answer;
//   - gives data only to requests with a token in a header. A cookie would go to every other port of this
//     machine, too, since cookies do not know ports.
//
// Behind a reverse proxy, which speaks TLS, browsers know the server by another origin than its own
// address: [Options] names it.
package guard

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// What a [Holder] says of a token that lets nobody in. Any other error means that it can't be known now.
var (
	ErrUnknown = errors.New("the token is missing or wrong")
	ErrRevoked = errors.New("the token was revoked")
)

// Holder returns whose token it is.
type Holder func(ctx context.Context, token string) (name string, err error)

// Options says who may ask.
type Options struct {
	Hosts  []string // as browsers write the server's own addresses: "127.0.0.1:8080"
	Origin string   // as browsers know it behind a reverse proxy, "https://code.example.com"; "" has none
	Holder Holder
	// WayIn says what to do without a good token: "open the URL that tracerag view printed".
	WayIn string
}

// Guard decides which requests are answered.
type Guard struct {
	Options
	public string // host of Origin
}

// New makes a guard.
func New(o Options) *Guard {
	g := &Guard{Options: o}
	_, g.public, _ = strings.Cut(o.Origin, "://")
	return g
}

// Loopback are the hosts of a server that listens on a port of the loopback interface.
func Loopback(port string) []string {
	return []string{"127.0.0.1:" + port, "localhost:" + port, "[::1]:" + port}
}

// Token returns 160 random bits in letters and digits, which no terminal and no
// shell takes for anything else.
func Token() string { return strings.ToLower(rand.Text() + rand.Text()[:6]) }

// Only is the holder of one token.
func Only(token, name string) Holder {
	want := sha256.Sum256([]byte(token))
	return func(_ context.Context, token string) (string, error) {
		// Hashes are of one length, so that the comparison does not tell even that
		// of the token.
		sum := sha256.Sum256([]byte(token))
		if subtle.ConstantTimeCompare(sum[:], want[:]) != 1 {
			return "", ErrUnknown
		}
		return name, nil
	}
}

// Either asks first, and then the other one if the token is unknown there.
func Either(first, other Holder) Holder {
	return func(ctx context.Context, token string) (string, error) {
		name, err := first(ctx, token)
		if errors.Is(err, ErrUnknown) {
			return other(ctx, token)
		}
		return name, err
	}
}

// OriginError says that a text is no origin of pages.
type OriginError struct{ Text string }

func (e *OriginError) Error() string {
	return fmt.Sprintf("%q is no origin: want https://HOST or https://HOST:PORT, and nothing behind it", e.Text)
}

// ParseOrigin reads an origin as browsers send it.
func ParseOrigin(text string) (string, error) {
	u, err := url.Parse(strings.ToLower(strings.TrimSuffix(text, "/")))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.Scheme+"://"+u.Host != u.String() {
		return "", &OriginError{text}
	}
	if u.Port() == "443" && u.Scheme == "https" || u.Port() == "80" && u.Scheme == "http" { // which browsers leave out
		u.Host = strings.TrimSuffix(u.Host, ":"+u.Port())
	}
	return u.String(), nil
}

// Policy is the Content-Security-Policy of what is served: a page may load nothing but its own style and script and
// connect to nothing but its server, and its script makes no markup out of strings (Trusted Types), so that names and sources of
// programs stay text.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// Protect answers requests that are not for this server, or that another origin's
// page makes, and sets the headers that hold for all answers.
func (g *Guard) Protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", Policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch {
		case !slices.Contains(g.Hosts, r.Host) && !g.isPublic(r.Host):
			// A name that was made to point to this server.
			http.Error(w, "this address is not mine: open the URL that tracerag view printed", http.StatusMisdirectedRequest)
		case !g.sameOrigin(r):
			http.Error(w, "a page of another origin may not ask here", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// isPublic reports whether a host is that of the origin behind a proxy.
func (g *Guard) isPublic(host string) bool {
	return g.public != "" && strings.EqualFold(host, g.public)
}

// sameOrigin reports whether the page that makes a request, if it is one, is ours.
// Browsers send Origin with every POST, and Sec-Fetch-Site with everything.
func (g *Guard) sameOrigin(r *http.Request) bool {
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
	switch {
	case origin == "":
		return r.Method == http.MethodGet || r.Method == http.MethodHead
	case g.Origin != "" && origin == g.Origin:
		// A proxy passes the Host on, or sets that of this server.
		return true
	}
	return slices.Contains(g.Hosts, r.Host) && origin == "http://"+r.Host
}

// mostToken is how long a token may be: a longer one is nobody's.
const mostToken = 256

// Known lets requests with somebody's token through.
func (g *Guard) Known(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		name, err := "", ErrUnknown
		if strings.EqualFold(scheme, "Bearer") && token != "" && len(token) <= mostToken {
			name, err = g.Holder(r.Context(), token)
		}
		switch {
		case err == nil:
			next(w, r.WithContext(context.WithValue(r.Context(), holderKey{}, name)))
		case errors.Is(err, ErrUnknown), errors.Is(err, ErrRevoked):
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, err.Error()+": "+g.WayIn, http.StatusUnauthorized)
		default:
			// The error names the database, which is not for everybody.
			http.Error(w, "tokens can't be checked now: try again in a moment", http.StatusServiceUnavailable)
		}
	}
}

type holderKey struct{}

// Name returns whose token a request had that [Guard.Known] let through.
func Name(ctx context.Context) string {
	name, _ := ctx.Value(holderKey{}).(string)
	return name
}

// IsLoopback reports whether only this machine reaches an address that is listened on.
func IsLoopback(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}
