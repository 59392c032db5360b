package redact

import (
	"regexp"
	"strconv"
	"strings"
)

// passwordLike reports whether a text beside the word password may be one: it has
// letters and digits or marks, and is not what programs have there: words, verbs of a
// format, places in a template, paths, names of algorithms.
func passwordLike(s string) bool {
	if strings.IndexByte(s, '\\') >= 0 { // what escapes say, and not their digits
		if said, err := strconv.Unquote(`"` + s + `"`); err == nil {
			s = said
		}
	}
	if len(s) < 5 || len(s) > 200 || strings.ContainsAny(s, " \t\r\n<>`") || notPasswords.MatchString(s) || entropy(s) < 1.5 {
		return false
	}
	letters, digits, marks := 0, 0, 0
	for _, c := range []byte(s) {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= 0x80:
			letters++
		case strings.IndexByte("!@#$%^&*?+~=|", c) >= 0:
			marks++
		}
	}
	if digits == len(s) {
		return digits >= 6
	}
	if letters == 0 || digits+marks == 0 {
		return false
	}
	// "password2" is a field's name, "Password123!" is what somebody types.
	return !aboutPasswords.MatchString(s) || digits+marks >= 3
}

var (
	notPasswords = regexp.MustCompile(`(?i)\A(?:` +
		`[/.~$%:-].*|.*://.*|.*(?:\{\{|\$\{|\$\(|%[-+# 0]*[0-9.]*[svdqtxTwc](?:$|[^0-9a-z])|\.\.\.).*` +
		`|.*\.(?:go|js|ts|json|ya?ml|txt|html?|tmpl|pem|key|crt|tf|md|csv|com|org|net|io)` +
		`|(?:scram-?)?(?:sha|pbkdf|md|argon|bcrypt|scrypt|base|aes|oauth|utf|ntlm|http|x509|pkcs|hmac|iso|rfc|ipv|des|ed|rc|p)[-_]?\d[\w-]*` +
		`|[a-z]{2,3}_(?:[a-z]{2}|\d{3}|[a-z]{4}(?:_[a-z]{2})?)` + // a language and a region
		`|\[redacted.*|.*\(\?.*|\+.*\+|[x*.#?]+|v?\d+(?:\.\d+)+[\w.-]*|0x[0-9a-f]+|\w+\[\w+\]` +
		`)\z`)
	aboutPasswords = regexp.MustCompile(`(?i)pass|pwd|secret|token|credential|key`)
)

// randomLike reports whether a text beside a word such as token or key is a random one.
func randomLike(s string) bool {
	if len(s) < 16 || !base64Like.MatchString(s) || aName.MatchString(s) {
		return false
	}
	switch {
	case uuid.MatchString(s):
		return true
	case entropy(s) < 3, strings.Trim(s, "0123456789") == "", strings.Contains(s, "0123456789"):
		return false
	case !strings.ContainsAny(s, "0123456789"): // one in a thousand, and many a name
		return entropy(s) >= 4 && turns(s) > len(s)/6
	case onlyHex.MatchString(s):
		return true
	}
	return turns(s) > len(s)/5
}

var (
	onlyHex    = regexp.MustCompile(`\A(?:[0-9a-f]+|[0-9A-F]+)\z`)
	base64Like = regexp.MustCompile(`\A[A-Za-z0-9+/_.~-]+={0,2}\z`)
	aName      = regexp.MustCompile(`(?i)token|secret|password|credential`)
	uuid       = regexp.MustCompile(`(?i)\A[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\z`)
)

// classes counts the kinds of letters in a text: small ones, capitals, digits, marks. A
// dash, a dot and a slash are none: names have them.
func classes(s string) int {
	var lower, upper, digit, mark int
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z':
			lower = 1
		case c >= 'A' && c <= 'Z':
			upper = 1
		case c >= '0' && c <= '9':
			digit = 1
		case strings.IndexByte("-_./:,=", c) < 0:
			mark = 1
		}
	}
	return lower + upper + digit + mark
}
