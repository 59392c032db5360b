package llm

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const redacted = "[redacted]"

// maxMessage bounds the server's words in an error, in bytes. An HTML page or a
// proxy's dump of the request does not help anybody at full length.
const maxMessage = 500

// redactor cuts secrets out of text that others wrote. It holds the key only
// behind a pointer, so that printing a struct around it shows an address.
type redactor struct {
	key  *regexp.Regexp // a short one
	mask *keyMask
}

// anySecret finds keys that are not ours: servers echo masked forms of the key
// ("sk-proj-****abcd"), and proxies dump whole headers.
var anySecret = lazily(`(?i)\b(?:sk|rk|pk|gsk|xai)-[a-z0-9_*.\-]{6,}` +
	`|\bAIza[a-z0-9_\-]{10,}` +
	`|\b(?:bearer|basic)\s+[^\s"'<>,;)]{12,}` +
	`|\b(?:proxy-)?authorization["']?\s*[:=]\s*["']?[^\r\n"'<>,;]+` +
	`|\b(?:x-)?api[-_]key["']?\s*[:=]\s*["']?[^\s"'<>,;]+`)

// newRedactor knows the key in all the forms of keyMask. A key of
// fewer than 8 characters is a placeholder ("ollama", "none") and is cut only
// where it is a word of its own, lest it eat every "e" of a message.
func newRedactor(key string) redactor {
	key = strings.TrimSpace(key)
	if key == "" {
		return redactor{}
	}
	if mask := newKeyMask(key); mask != nil {
		return redactor{mask: mask}
	}
	quoted, _ := json.Marshal(key)
	forms := []string{key, url.QueryEscape(key), url.PathEscape(key), strings.Trim(string(quoted), `"`)}
	for i := range forms {
		forms[i] = regexp.QuoteMeta(forms[i])
	}
	return redactor{key: regexp.MustCompile(`(?:^|\b)(?:` + strings.Join(forms, "|") + `)(?:\b|$)`)}
}

// clean makes foreign text fit for one line of an error: secrets cut out first
// (so that shortening cannot halve one into safety), control characters and
// runs of space made one space (a server must not drive the terminal), cut at
// maxMessage bytes.
func (r redactor) clean(s string) string {
	if r.key != nil {
		s = r.key.ReplaceAllLiteralString(s, redacted)
	}
	s = r.mask.all(s)
	s = anySecret().ReplaceAllLiteralString(s, redacted)
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\ufffd"), func(c rune) bool {
		return unicode.IsSpace(c) || unicode.IsControl(c) || unicode.Is(unicode.Cf, c)
	}), " ")
	if len(s) > maxMessage {
		cut := maxMessage
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "..."
	}
	return s
}
