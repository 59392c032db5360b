package redact

import (
	"encoding/base64"
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"tracerag/code/words"
)

// Environment returns the secrets in an environment of "NAME=value" lines, in the
// order of their names: the values of variables whose name ends in PASSWORD,
// PASSWD, PASSPHRASE, SECRET, TOKEN, APIKEY, CREDENTIAL, CREDENTIALS, _PASS, _PWD or
// _KEY (but of public keys), and the password in any URL.
func Environment(lines []string) []Secret {
	var out []Secret
	for _, line := range slices.Sorted(slices.Values(lines)) {
		name, value, ok := strings.Cut(line, "=")
		if !ok || name == "" {
			continue
		}
		kind := "env:" + strings.Map(func(c rune) rune {
			if c < 0x80 && letter(byte(c)) {
				return c
			}
			return '_'
		}, name)
		if secretVariable(name) {
			out = append(out, Secret{kind, value})
		} else if u, err := url.Parse(value); err == nil && u.Host != "" {
			if password, ok := u.User.Password(); ok {
				out = append(out, Secret{kind, password})
			}
		}
	}
	return out
}

func secretVariable(name string) bool {
	w := wordsOf(name)
	if len(w) == 0 {
		return false
	}
	switch w[len(w)-1] {
	case "pwd":
		return name != "PWD" && name != "OLDPWD"
	case "key":
		return len(w) > 1 && w[len(w)-2] != "public"
	case "pass":
		return len(w) > 1
	}
	return secretWord(w) != ""
}

// secretWord returns the word of a name that says that what it names is secret:
// "password", "token". "" is none. A key is one only of certain locks: most keys
// in programs are those of maps.
func secretWord(w []string) string {
	if len(w) == 0 {
		return ""
	}
	last := w[len(w)-1]
	for _, word := range []string{"password", "passwd", "passphrase", "secret", "token", "apikey", "credential", "credentials"} {
		if strings.HasSuffix(last, word) { // PGPASSWORD, authtoken
			return word
		}
	}
	if last == "key" && len(w) > 1 && slices.Contains(locks, w[len(w)-2]) {
		return "key"
	}
	return ""
}

// locks are whose keys are secret.
var locks = []string{"access", "account", "api", "auth", "encryption", "license", "master", "private", "secret", "shared", "signing"}

// wordsOf splits a name: "dbPassword", "--db-password" and "DB_PASSWORD" are db and
// password, "AWSSecretKey" is aws, secret and key.
func wordsOf(name string) []string {
	var out []string
	for _, part := range strings.FieldsFunc(name, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
		out = append(out, words.Split(part)...)
	}
	return out
}

// Value masks a value that a program was seen to have under a name, such as an
// argument, in Go's notation: strings that are named as passwords, there and in
// the fields of what is no string; such as are long and random of those that are
// named as tokens and keys, which parsers and maps have, too; and what
// [Redactor.Text] finds in the rest.
func (r *Redactor) Value(name, text string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.value(name, text)
}

func (r *Redactor) value(name, text string) string {
	if s, ok := r.named(name, text); ok {
		return s
	}
	return r.text(r.within(name, text))
}

// named masks a value if its name and look say that it is secret.
func (r *Redactor) named(name, text string) (masked string, ok bool) {
	w := wordsOf(name)
	word := secretWord(w)
	certain, sure := strings.HasPrefix(word, "pass"), word != ""
	if word == "" {
		if word = passwordWord(w); word == "" { // pw, pwd
			word = keyWord(w)
		}
	}
	if word == "" || text == "" {
		return "", false
	}
	if certain && text[0] == '[' && len(text) > len("[]") && !strings.Contains(text, `"`) || (word == "key" || word == "secret") && byteList.MatchString(text) {
		return r.whole(word, text), true
	}
	cut := ""
	if strings.HasSuffix(text, `"...`) { // of a long one the beginning is shown
		text, cut = strings.TrimSuffix(text, "..."), "..."
	}
	value, err := strconv.Unquote(text)
	if err != nil || value == "" || text[0] == '\'' {
		return "", false
	}
	switch {
	case certain:
	case sure:
		if len(value) < 12 || entropy(value) < 3 || strings.ContainsAny(value, " \t\n") {
			return "", false
		}
	case word == "password":
		ok = passwordLike(value)
	default:
		ok = randomLike(value)
	}
	if !certain && !sure && !ok {
		return "", false
	}
	return `"` + r.whole(word, value) + `"` + cut, true
}

// byteList is an array of bytes, such as a raw key.
var byteList = regexp.MustCompile(`\A\[\d{1,3}(?:, \d{1,3}){7,}(?:, \.\.\.)?\]\z`)

// whole masks all of a value, and what is long enough of it from then on
// elsewhere, too.
func (r *Redactor) whole(kind, value string) string {
	if value == "" || placeholderForm.FindString(value) == value {
		return value
	}
	var forms []string
	if len(value) >= MinKnown {
		forms = spellings(value)
	}
	return r.placeholder(r.know(kind, value, forms, isWord(value))) + strings.Repeat("\n", strings.Count(value, "\n"))
}

// assignment is NAME=VALUE within an argument: the environment before a command,
// -ldflags' -X, a query's parameter.
var assignment = regexp.MustCompile(`([A-Za-z0-9_./-]+)=("[^"]*"|'[^']*'|[^\s"'&;|]+)`)

func (r *Redactor) assignments(text string) string {
	return assignment.ReplaceAllStringFunc(text, func(s string) string {
		name, value, _ := strings.Cut(s, "=")
		word := assignedWord(name, value)
		hide := func(value string) string { return r.whole(word, value) }
		if word == "" { // the value may be of the same kind: -ldflags=-X=main.password=...
			hide = r.assignments
		}
		if q := value[0]; (q == '"' || q == '\'') && len(value) > 1 {
			return name + "=" + string(q) + hide(value[1:len(value)-1]) + string(q)
		}
		return name + "=" + hide(value)
	})
}

// spellings returns a secret as it is in other texts than plain ones.
func spellings(s string) []string {
	out := []string{s, url.QueryEscape(s), url.PathEscape(s), html.EscapeString(s)}
	quoted := strconv.Quote(s)
	out = append(out, quoted[1:len(quoted)-1])
	if data, err := json.Marshal(s); err == nil {
		out = append(out, string(data[1:len(data)-1]))
	}
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		out = append(out, e.EncodeToString([]byte(s)))
	}
	slices.Sort(out)
	return slices.Compact(out)
}
