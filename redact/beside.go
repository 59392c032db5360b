package redact

import (
	"regexp"
	"slices"
	"strings"
)

// What a text says beside a name: dbPassword := "...", "password": "...", PW=...,
// SetBasicAuth("admin", "..."). The name says that there may be a secret, and the look
// of the value decides: most strings beside the word password are words about one
// (a label, the name of a field, a message).

// nameWords are what names of secrets have in them, for the search.
var nameWords = []string{"password", "passwd", "passphrase", "pwd", "pw", "pass", "secret", "token", "key", "credential",
	"basicauth", "plainauth", "login", "authenticate"}

// beside appends what is a secret by the names at the given places.
func beside(out []span, text string, places []int) []span {
	slices.Sort(places)
	last := -1 // end of the name that was looked at last
	for _, at := range places {
		if at < last {
			continue
		}
		from, to := at, at
		for from > 0 && inName(text[from-1]) {
			from--
		}
		for to < len(text) && inName(text[to]) {
			to++
		}
		last = to
		if to-from > 100 {
			continue
		}
		n := neighbour{text: text, from: from, to: to}
		if !n.named(text[from:to]) {
			continue
		}
		if a, b, ok := n.secret(); ok {
			out = append(out, span{from: a, to: b, kind: n.word, generic: true})
		}
	}
	return out
}

func inName(c byte) bool { return letter(c) || c == '-' || c == '.' }

// neighbour is a name in a text, beside which a secret may be.
type neighbour struct {
	text     string
	from, to int
	word     string // of the name, that says so: "password"
	plain    bool   // a password, which may be what somebody chose; others are random
	weak     bool   // the name may be about something else
	call     bool   // the name is that of a function that is given a password after a user
}

// named looks at the name, and reports whether a secret may have it.
func (n *neighbour) named(name string) bool {
	switch strings.ToLower(name) {
	case "pbkdf2.key", "scrypt.key", "argon2.key", "argon2.idkey":
		n.word, n.plain = "password", true
		return true
	}
	if i := strings.LastIndexByte(name, '.'); i >= 0 { // of a field, a package's function
		name = name[i+1:]
	}
	switch strings.ToLower(name) {
	case "setbasicauth", "basicauth", "withbasicauth", "userpassword", "plainauth", "login", "authenticate":
		n.word, n.plain, n.call = "password", true, true
		return true
	}
	w := wordsOf(name)
	for len(w) > 1 && strings.Trim(w[len(w)-1], "0123456789") == "" {
		w = w[:len(w)-1]
	}
	if n.word = passwordWord(w); n.word != "" {
		n.plain, n.weak = true, strings.EqualFold(name, "pass") // compilers have passes, and tests
		return true
	}
	n.word = keyWord(w)
	return n.word != ""
}

// passwordWord returns the word of a name that says that it names a password.
func passwordWord(w []string) string {
	if len(w) == 0 {
		return ""
	}
	last := w[len(w)-1]
	for _, word := range []string{"password", "passwd", "passphrase"} {
		if strings.HasSuffix(last, word) {
			return word
		}
	}
	switch last {
	case "passcode", "pw", "pwd", "pass", "bindpw", "rootpw", "userpw", "adminpw", "dbpw", "userpwd", "dbpwd", "dbpass", "userpass", "rootpass":
		return "password"
	}
	return ""
}

// keyWord returns the word of a name that says that it names a random secret.
func keyWord(w []string) string {
	if word := secretWord(w); word != "" {
		return word
	}
	n := len(w)
	switch {
	case n > 2 && w[n-1] == "id" && w[n-2] == "key" && w[n-3] == "private",
		n > 2 && w[n-1] == "data" && w[n-2] == "key" && w[n-3] == "client":
		return "key"
	case n > 1 && w[n-1] == "key" && slices.Contains(moreLocks, w[n-2]):
		return "key"
	}
	return ""
}

// moreLocks have keys that are secret if they are random.
var moreLocks = []string{"admin", "aes", "app", "application", "cipher", "client", "hmac", "jwt", "openai", "server", "service", "session", "storage", "subscription", "webhook"}

// value is a text that may be a secret, and how it was found.
type value struct {
	from, to int
	weak     bool // what is beside the name may have nothing to do with it
}

// secret returns the place of the secret beside the name.
func (n *neighbour) secret() (from, to int, ok bool) {
	v, ok := n.value()
	if !ok {
		return 0, 0, false
	}
	secret := n.text[v.from:v.to]
	v.weak = v.weak || n.weak
	switch {
	case v.from > n.to && n.text[v.from-1] == '"' && n.text[v.from-2] != '\\' && n.within():
		ok = false // what ends there is the text that the name is in: "--password=" + x
	case !n.plain:
		ok = randomLike(secret) || n.word == "secret" && len(secret) >= 8 && classes(secret) >= 3 && strings.ContainsAny(secret, "0123456789") && passwordLike(secret) && !v.weak
	case v.weak: // "password", "..." in a call or a list
		ok = passwordLike(secret) && (classes(secret) >= 3 || len(secret) >= 10) && !strings.ContainsAny(secret, "=:;,/")
	default:
		ok = passwordLike(secret)
	}
	return v.from, v.to, ok
}

// value returns what is beside the name.
func (n *neighbour) value() (value, bool) {
	if v, ok := n.before(); ok {
		return v, true
	}
	c := cursor{n.text, n.to}
	quoted := false
	if q := c.quote(); q != "" { // the name is one of a map, a variable, a flag
		if !strings.HasSuffix(n.text[:n.from], q) {
			return value{}, false
		}
		quoted = true
	}
	closed := 0
	for c.take("]") || c.take(")") {
		closed++
	}
	tight := c.at // for name=value
	c.spaces(false)
	if !quoted && (c.take("string") || c.take("[]byte")) { // var name string = "..."
		c.spaces(false)
	}
	weak := false
	if v, ok := n.assigned(); ok {
		return v, true
	}
	if n.call { // Login: "..." says who it is
		if quoted || closed > 0 || !c.take("(") {
			return value{}, false
		}
		return c.arguments(true)
	}
	switch {
	case c.take(":="), c.take("=="), c.take("!="), c.take("=>"):
	case c.take("="):
		if !quoted && c.at == tight+1 && closed == 0 {
			if v, ok := c.bare(); ok {
				return v, true
			}
		}
	case c.take(":"):
		if v, ok := c.line(); ok && !n.weak {
			return v, true
		}
	case c.take("("):
		if quoted || closed > 0 {
			return value{}, false
		}
		return c.arguments(false)
	case !n.weak && c.take(","):
		weak = true
		if !quoted && closed == 0 { // f(password, "...") says nothing
			return n.assigned()
		}
		c.spaces(true)
	case c.take("{"):
		c.spaces(true)
		if !c.take("case") { // switch password { case "...":
			return value{}, false
		}
	case n.plain && !quoted && c.at > tight && c.take("is "): // the password is ...
		v, ok := c.bare()
		v.weak = true
		return v, ok
	case c.take(">"): // <password>...</password>
		v, ok := c.bare()
		return v, ok && strings.HasPrefix(n.text[c.at:], "</")
	case n.plain && !quoted && c.at > tight && (strings.HasPrefix(n.text[c.at:], "'") || strings.HasPrefix(n.text[c.at:], `\"`)):
		weak = true // PASSWORD '...'
	default:
		return value{}, false
	}
	c.spaces(false)
	return c.literal(weak)
}

// within reports whether the name is in a literal, but not all of it.
func (n *neighbour) within() bool {
	start, ok := n.lineStart()
	if !ok {
		return false
	}
	line := n.text[start:n.from]
	all := n.to < len(n.text) && n.text[n.to] == '"' && strings.HasSuffix(line, `"`)
	return !all && strings.Count(line, `"`)%2 == 1 && strings.Count(line, "`") == 0
}

// lineStart returns where the line of the name begins, if that is not far before it.
func (n *neighbour) lineStart() (int, bool) {
	from := max(0, n.from-2*mostValue)
	i := strings.LastIndexByte(n.text[from:n.from], '\n')
	return from + i + 1, i >= 0 || from == 0
}

// before returns the literal that the name is compared with, if it is before it.
func (n *neighbour) before() (value, bool) {
	head := strings.TrimRight(n.text[max(0, n.from-300):n.from], " \t")
	if !strings.HasSuffix(head, "==") && !strings.HasSuffix(head, "!=") {
		return value{}, false
	}
	head = strings.TrimRight(head[:len(head)-2], " \t")
	if !strings.HasSuffix(head, `"`) {
		return value{}, false
	}
	head = head[:len(head)-1]
	i := strings.LastIndexAny(head, "\"\n")
	if i < 0 || head[i] == '\n' {
		return value{}, false
	}
	to := strings.LastIndex(n.text[:n.from], `"`)
	return value{from: to - (len(head) - i - 1), to: to}, true
}

// cursor reads on in a text.
type cursor struct {
	text string
	at   int
}

func (c *cursor) take(s string) bool {
	if strings.HasPrefix(c.text[c.at:], s) {
		c.at += len(s)
		return true
	}
	return false
}

func (c *cursor) spaces(lines bool) {
	for c.at < len(c.text) {
		switch b := c.text[c.at]; {
		case b == ' ', b == '\t', lines && (b == '\n' || b == '\r'):
			c.at++
		default:
			return
		}
	}
}

// quote takes a quotation mark, or one that is escaped since it is in another literal.
func (c *cursor) quote() string {
	for _, q := range []string{`"`, `\"`, "'", "`"} {
		if c.take(q) {
			return q
		}
	}
	return ""
}

// mostValue is how long a secret beside a name is at most.
const mostValue = 2000

// wrapper is what a literal may be in: []byte("..."), ptr.To("..."), {"..."}.
var wrapper = regexp.MustCompile(`\A(?:\[\]byte\(|\[\]byte\{|&?[A-Za-z_][\w.]{0,40}\(|[\[{]|\[\]string\{)`)

// literal reads a literal.
func (c *cursor) literal(weak bool) (value, bool) {
	rest := c.text[c.at:min(len(c.text), c.at+60)]
	if rest != "" && quotes(rest[0]) {
		// It is in nothing, as nearly all are.
	} else if m := wrapper.FindString(rest); m != "" {
		c.at += len(m)
		weak = weak || m != "[]byte(" && m != "{" && m != "["
	}
	q := c.quote()
	if q == "" {
		return value{}, false
	}
	from := c.at
	for c.at < len(c.text) && c.at-from <= mostValue {
		if strings.HasPrefix(c.text[c.at:], q) {
			v := value{from: from, to: c.at, weak: weak}
			c.at += len(q)
			return v, true
		}
		if b := c.text[c.at]; b == '\n' {
			return value{}, false
		} else if b == '\\' {
			c.at++
		}
		c.at++
	}
	return value{}, false
}

// arguments returns the literal among a call's arguments that is the secret: the
// last one of f(x, "..."), which has to come after another one if the function takes a
// user first.
func (c *cursor) arguments(second bool) (value, bool) {
	var last value
	found, literals, depth := false, 0, 0
	for from := c.at; c.at < len(c.text) && c.at-from < mostValue; {
		switch b := c.text[c.at]; b {
		case '\n':
			return last, found
		case '(', '{', '[':
			depth++
			c.at++
		case ')', '}', ']':
			if depth--; depth < 0 {
				return last, found && (!second || literals > 1)
			}
			c.at++
		case '"', '`':
			v, ok := c.literal(literals > 0 && !second || depth > 1)
			if !ok {
				return value{}, false
			}
			literals++
			// smtp.PlainAuth("", user, password, host): what is a host looks like one.
			if secret := c.text[v.from:v.to]; !second || literals > 1 && passwordLike(secret) && !host.MatchString(secret) {
				last, found = v, true
			}
		default:
			c.at++
		}
	}
	return value{}, false
}

var host = regexp.MustCompile(`\A[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::\d+)?\z`)

// assigned returns the literal that the name is given in a, b := x, "...".
func (n *neighbour) assigned() (value, bool) {
	from, ok := n.lineStart()
	to := min(len(n.text), n.from+2*mostValue)
	if i := strings.IndexByte(n.text[n.from:to], '\n'); i >= 0 {
		to = n.from + i
	}
	if !ok || to-from >= 2*mostValue || strings.IndexByte(n.text[from:to], ',') < 0 {
		return value{}, false
	}
	m := several.FindStringSubmatchIndex(n.text[from:to])
	if m == nil || from+m[2] > n.from || from+m[3] < n.to {
		return value{}, false
	}
	c := cursor{n.text[:to], from + m[1]}
	for range strings.Count(n.text[from+m[2]:n.from], ",") {
		for depth := 0; ; c.at++ {
			if c.at >= len(c.text) {
				return value{}, false
			}
			switch b := c.text[c.at]; b {
			case '"', '`':
				if _, ok := c.literal(false); !ok {
					return value{}, false
				}
				c.at--
			case '(', '[', '{':
				depth++
			case ')', ']', '}':
				depth--
			}
			if c.text[c.at] == ',' && depth == 0 {
				break
			}
		}
		c.at++
		c.spaces(false)
	}
	return c.literal(false)
}

// several is an assignment to several names.
var several = regexp.MustCompile(`\A[ \t]*(?:(?:if|var|const)[ \t]+)?([\w.]+(?:,[ \t]*[\w.]+)+)[ \t]*:?=[ \t]*`)

// bare returns the value of name=value, which ends where a shell, a URL or a
// connection string goes on.
func (c *cursor) bare() (value, bool) {
	from := c.at
	for c.at < len(c.text) && c.at-from <= mostValue && strings.IndexByte(" \t\r\n\"'`;&,<>()[]{}|\\", c.text[c.at]) < 0 {
		c.at++
	}
	if c.at == from || c.at < len(c.text) && strings.IndexByte("([{", c.text[c.at]) >= 0 {
		c.at = from
		return value{}, false
	}
	return value{from: from, to: c.at}, true
}

// line returns the value of a line name: value.
func (c *cursor) line() (value, bool) {
	start := c.at
	defer func() { c.at = start }()
	if !c.take(" ") {
		return value{}, false
	}
	c.spaces(false)
	v, ok := c.bare()
	if !ok {
		return value{}, false
	}
	for _, end := range []string{"\n", "\r", `\n`, `\r`} {
		if c.at == len(c.text) || strings.HasPrefix(c.text[c.at:], end) {
			return v, true
		}
	}
	return value{}, false
}
