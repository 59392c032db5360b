package llm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Defaults of a [Config].
const (
	DefaultBaseURL    = "https://api.openai.com/v1"
	DefaultTimeout    = 10 * time.Minute // a local server may read a long prompt for minutes before the first word
	DefaultMaxRetries = 4                // with waits of about 1, 2, 4 and 8 seconds
	DefaultAPIVersion = "2024-10-21"     // generally available, not a preview
	DefaultMaxAnswer  = 1 << 20          // bytes of text; the longest answer of a model has half of it
)

// Config says which model of which server to ask, and how. The zero value of
// each field but Model is usable.
//
// However a Config is formatted or marshalled, the key shows as "[redacted]";
// fmt cannot see to that for a Config in an unexported field of another struct.
type Config struct {
	// Model is the name that the server knows: required. For Azure it is the
	// deployment's name.
	Model string

	// BaseURL is what is before /chat/completions: "" is DefaultBaseURL.
	// A pasted URL that ends in /chat/completions is understood.
	BaseURL string

	// APIKey may be empty for a server on this machine or a private network.
	APIKey string

	// AllowPlainHTTP permits sending the key (and the prompt) unencrypted to
	// another machine, which New refuses otherwise.
	AllowPlainHTTP bool

	// Azure selects Azure OpenAI's URLs and header. It is implied by a host
	// under openai.azure.com or cognitiveservices.azure.com, unless the path is
	// that of Azure's newer OpenAI-like interface (/openai/v1).
	Azure      bool
	APIVersion string // Azure only; "" is DefaultAPIVersion

	// Timeout bounds silence, not the answer: the time to the first byte, and
	// between two. 0 is DefaultTimeout, negative no limit.
	Timeout time.Duration

	MaxTokens   int      // of the answer, thinking included; 0: the server's own limit
	Temperature *float64 // nil: the server's own

	// MaxAnswer bounds the answer's text in bytes, whatever the server thinks of
	// MaxTokens: 0 is DefaultMaxAnswer. With MaxTokens it is no more than that many
	// tokens can have. All that the server sends for one answer, thinking and
	// signs of life included, may be receivedFactor times as much.
	MaxAnswer int

	// UserAgent says who asks: "" is "tracerag".
	UserAgent string

	// MaxRetries is how often a request is sent again: 0 is DefaultMaxRetries,
	// negative never.
	MaxRetries int

	// HTTPClient is for tests and for unusual transports; nil uses Go's default
	// transport (proxies from the environment). Its Timeout and CheckRedirect
	// are not used: see Timeout, and the package comment on redirects.
	HTTPClient *http.Client

	// OnRetry, if set, is called before each wait: with the attempt that failed
	// (from 1), how long until the next, and why in a few words. It may print;
	// this package does not.
	OnRetry func(attempt int, wait time.Duration, reason string)
}

// String shows the configuration without the key.
func (c Config) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "model %q at %s, key %s", c.Model, c.shownURL(), c.shownKey())
	if c.Azure {
		b.WriteString(", azure")
	}
	return b.String()
}

// GoString is what %#v prints: String, marked as such.
func (c Config) GoString() string { return "llm.Config(" + c.String() + ")" }

// MarshalJSON writes the settings without the key and without the functions.
func (c Config) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Model       string   `json:"model"`
		BaseURL     string   `json:"base_url"`
		APIKey      string   `json:"api_key"`
		Azure       bool     `json:"azure,omitempty"`
		APIVersion  string   `json:"api_version,omitempty"`
		Timeout     string   `json:"timeout,omitempty"`
		MaxTokens   int      `json:"max_tokens,omitempty"`
		Temperature *float64 `json:"temperature,omitempty"`
		MaxRetries  int      `json:"max_retries,omitempty"`
	}{c.Model, c.shownURL(), c.shownKey(), c.Azure, c.APIVersion, shownDuration(c.Timeout), c.MaxTokens, c.Temperature, c.MaxRetries})
}

func shownDuration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

func (c Config) shownKey() string {
	if c.APIKey == "" {
		return "(none)"
	}
	return redacted
}

// shownURL leaves out user names, passwords and queries: people put keys there.
func (c Config) shownURL() string {
	if c.BaseURL == "" {
		return DefaultBaseURL
	}
	u, err := url.Parse(c.BaseURL)
	if err != nil {
		return "(malformed)"
	}
	u.User, u.RawQuery, u.Fragment, u.RawFragment = nil, "", "", ""
	return newRedactor(c.APIKey).clean(u.String())
}

// settle fills in the defaults and checks everything that can be checked
// without asking the server. No error repeats the key, nor a URL that may hold one.
func (c Config) settle() (Config, error) {
	c.APIKey = strings.TrimSpace(c.APIKey) // "$(cat file)" and .env files leave line ends
	if c.Model == "" {
		return c, fmt.Errorf("%w: no model is named", ErrNotConfigured)
	}
	for _, r := range c.APIKey {
		if r <= ' ' || r > '~' {
			return c, &configError{"the API key holds a character that no key has (a space, a quote mark from a web page, a line end)", "copy the key again"}
		}
	}
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	u, err := parseBaseURL(c.BaseURL)
	if err != nil {
		return c, err
	}
	c.BaseURL = strings.TrimRight(u.String(), "/")
	if c.APIKey == "" && !isPrivate(u.Hostname()) {
		return c, fmt.Errorf("%w: no API key for %s", ErrNotConfigured, u.Host)
	}
	if c.APIKey != "" && u.Scheme == "http" && !isLoopback(u.Hostname()) && !c.AllowPlainHTTP {
		return c, &configError{
			fmt.Sprintf("the API key is not sent to %s over plain http, where the network can read it", u.Host),
			"use https, unset the key if that server needs none, or allow it (TRACERAG_ALLOW_PLAIN_HTTP=1)"}
	}
	c.Azure = (c.Azure || isAzureHost(u.Hostname())) && !strings.HasSuffix(c.BaseURL, "/openai/v1")
	if c.Azure {
		// The library appends /openai/deployments/MODEL itself.
		c.BaseURL, _, _ = strings.Cut(c.BaseURL, "/openai/deployments/")
		c.BaseURL = strings.TrimSuffix(c.BaseURL, "/openai")
		if c.APIVersion == "" {
			c.APIVersion = DefaultAPIVersion
		}
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	switch {
	case c.MaxRetries == 0:
		c.MaxRetries = DefaultMaxRetries
	case c.MaxRetries < 0:
		c.MaxRetries = 0
	}
	if c.MaxTokens < 0 {
		return c, &configError{fmt.Sprintf("the answer's token limit is %d", c.MaxTokens), "give a positive number, or 0 for the server's own limit"}
	}
	if c.MaxAnswer < 0 {
		return c, &configError{fmt.Sprintf("the answer's limit is %d bytes", c.MaxAnswer), "give a positive number, or 0 for the default"}
	}
	if c.MaxAnswer == 0 {
		c.MaxAnswer = DefaultMaxAnswer
	}
	if n := c.MaxTokens; n > 0 && n < c.MaxAnswer/maxTokenBytes {
		c.MaxAnswer = max(n*maxTokenBytes, leastAnswer)
	}
	if c.UserAgent == "" {
		c.UserAgent = "tracerag"
	}
	if t := c.Temperature; t != nil && !(*t >= 0 && *t <= 2) { // written so that NaN is refused
		return c, &configError{fmt.Sprintf("the temperature is %v", *t), "give a number from 0 to 2"}
	}
	return c, nil
}

const (
	// maxTokenBytes is more than tokens have on average: the longest of all are runs
	// of blanks, of 128 bytes.
	maxTokenBytes = 64
	// leastAnswer is the least that is taken, so that a few words' limit, which a server
	// may reckon otherwise, cuts none.
	leastAnswer = 4 << 10
	// receivedFactor is how much a server may send for each byte of text: events of
	// two letters have 300 bytes around them, and thinking comes before the answer.
	receivedFactor = 64
	// leastReceived leaves room for thinking before a short answer.
	leastReceived = 16 << 20
)

// received is how many bytes a server may send for one answer.
func (c *Config) received() int64 { return max(leastReceived, receivedFactor*int64(c.MaxAnswer)) }

func megabytes(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// parseBaseURL repeats the URL in an error only where it cannot hold a secret.
func parseBaseURL(s string) (*url.URL, error) {
	const example = "write it like https://api.openai.com/v1 or http://localhost:11434/v1"
	u, err := url.Parse(strings.TrimSpace(s))
	switch {
	case err != nil:
		// url.Parse's error repeats the whole URL.
		return nil, &configError{"the base URL is malformed", example}
	case u.User != nil || u.RawQuery != "" && !u.Query().Has("api-version") || u.Fragment != "":
		return nil, &configError{"the base URL holds more than scheme, host and path", "give a key by OPENAI_API_KEY or TRACERAG_API_KEY_FILE, not in the URL; " + example}
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, &configError{"the base URL does not start with http:// or https:// and a host", example}
	}
	u.RawQuery = ""
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions")
	u.RawPath = ""
	return u, nil
}

// isAzureHost knows the hosts of Azure OpenAI resources, the sovereign clouds'
// included.
func isAzureHost(host string) bool {
	host = strings.ToLower(host)
	return slices.ContainsFunc([]string{".openai.azure.com", ".openai.azure.us", ".openai.azure.cn", ".cognitiveservices.azure.com"}, func(suffix string) bool { return strings.HasSuffix(host, suffix) })
}

func isLoopback(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// sharedSpace is RFC 6598's, which overlay networks such as Tailscale use.
var sharedSpace = netip.MustParsePrefix("100.64.0.0/10")

// isPrivate says whether host is this machine or one of a private network, by
// its name alone: asking DNS would make the answer depend on the network.
func isPrivate(host string) bool {
	if isLoopback(host) {
		return true
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap()
		return ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() || sharedSpace.Contains(ip)
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if !strings.Contains(host, ".") {
		return true // a container's or a neighbour's name
	}
	return slices.ContainsFunc([]string{".local", ".lan", ".internal", ".home.arpa"}, func(suffix string) bool { return strings.HasSuffix(host, suffix) })
}
