// Package redact masks secrets in text that is about to leave the machine:
// prompts, exports, answers to other programs.
//
// A secret is found in one of three ways:
//
//   - Its form. The rules are those of gitleaks, a detector of secrets in source
//     code (access tokens of some 200 services, private keys, and what is
//     assigned to a name like "key" or "token" and random enough), taken from its
//     library by package rules, and our own, for tokens that it does not know,
//     connection strings and headers. What a text spells otherwise, in escapes, bytes or
//     base64, is read first.
//   - It is known: the configured API key, and the values of environment
//     variables whose names say that they are secret ([Environment]). Those are
//     masked everywhere, also as JSON, URLs and base64 spell them.
//   - The name that it goes by, in a source beside a literal that looks like a secret,
//     in a command line (--password=x) or beside a value that was observed:
//     [Redactor.Args], [Redactor.Value].
//
// [REDACTED:KIND:N] replaces it, where KIND is the rule's name, or what
// is known of the secret, and N counts the secrets of a kind in one output, in the
// order in which they come up. Equal text gives equal placeholders, within an
// output and from run to run, so that prompts stay equal; they are numbers and
// no digests, since a short password can be found by trying until the digest fits.
// Line breaks stay, so that positions hold.
//
// What is searched is data: nothing in it switches a rule off. Of gitleaks' own
// ways to do so (gitleaks:allow comments, .gitleaks.toml, .gitleaksignore) none
// is known here. No detector finds everything; see [Finding] for what was found.
//
// Built with another version of gitleaks than the one of go.mod, a program may have
// rules that are not understood. It then has none, and hides all of every text,
// instead of leaving what these rules would have found: see [Redactor.Err].
package redact

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tracerag/parallel"
)

// Secret is a text that is known to be secret.
type Secret struct {
	Kind  string // "api-key", "env:DB_PASSWORD"
	Value string
}

// Finding is a secret that was masked. It does not hold the secret.
type Finding struct {
	Kind   string // a rule of gitleaks, such as "aws-access-token", or as in [Secret]
	Number int    // in the placeholder
	Places int    // where it was masked
}

// Redactor masks the secrets of one output, whose parts may come one by one: a
// secret has the same placeholder in all of them. A part can show that a text is
// secret which is in another one, too, where nothing tells: anyone who has all
// parts beforehand shows them to [Redactor.Learn] first. A Redactor is safe for
// concurrent use.
type Redactor struct {
	rules  func() (*ruleSet, error)
	mu     sync.Mutex
	ids    map[string]int // findings by secret
	forms  *forms         // what is masked wherever it is
	counts map[string]int // numbers given, by kind
	found  []Finding
	clean  clean

	learning bool // what is masked now is not shown: see Learner
}

// New returns a redactor that knows some secrets beforehand. Values of less than
// [MinKnown] bytes are left out: too much else would be masked with them.
func New(known ...Secret) *Redactor {
	r := &Redactor{rules: theRules, ids: map[string]int{}, counts: map[string]int{}, forms: newForms()}
	for _, s := range known {
		if len(s.Value) >= MinKnown {
			r.know(s.Kind, s.Value, spellings(s.Value), isWord(s.Value))
		}
	}
	return r
}

// MinKnown is how many bytes a secret has at least that is masked wherever it
// is, and not only where its form or its name shows it.
const MinKnown = 8

// Err returns why the rules for secrets are not understood, nil if they are. All
// of a text is a secret then: anyone who shows the error instead says more.
func (r *Redactor) Err() error {
	_, err := r.rules()
	return err
}

// Text masks the secrets in a text.
func (r *Redactor) Text(text string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text(text)
}

// Learn finds the secrets in a text, so that they are masked in others.
func (r *Redactor) Learn(text string) { r.LearnAll([]string{text}) }

// LearnAll is Learn for several texts, which are searched on all processors and learned in their
// order. It reports for each whether the rules find anything there: see [Learner.Finds].
func (r *Redactor) LearnAll(texts []string) (found []bool) {
	found = make([]bool, len(texts))
	set, err := r.rules()
	if err != nil {
		for i := range found {
			found[i] = true
		}
		return found // all is hidden anyway
	}
	spans := make([][]span, len(texts))
	parallel.Do(len(texts), func(i int) { spans[i] = r.clean.find(set, texts[i]) })
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, text := range texts {
		kept := r.placeholders(text)
		found[i] = len(r.learn(text, spans[i], kept)) > 0 || len(kept) > 0
	}
	return found
}

// Findings returns what was masked so far, by kind and number. What is known and
// stood nowhere is no finding.
func (r *Redactor) Findings() []Finding {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := slices.DeleteFunc(slices.Clone(r.found), func(f Finding) bool { return f.Places == 0 })
	slices.SortFunc(out, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), a.Number-b.Number)
	})
	return out
}

// Summary says in words what findings are: "2 secrets (aws-access-token 1,
// env:DB_PASSWORD 1)". Of no findings it is "".
func Summary(found []Finding) string {
	var kinds []string
	counts := map[string]int{}
	for _, f := range found {
		if counts[f.Kind]++; counts[f.Kind] == 1 {
			kinds = append(kinds, f.Kind)
		}
	}
	for i, k := range kinds {
		kinds[i] = fmt.Sprintf("%s %d", k, counts[k])
	}
	switch len(found) {
	case 0:
		return ""
	case 1:
		return "1 secret (" + kinds[0] + ")"
	}
	return fmt.Sprintf("%d secrets (%s)", len(found), strings.Join(kinds, ", "))
}

// Secrets returns how many secrets are known. As long as they are as many, equal texts are
// masked alike.
func (r *Redactor) Secrets() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.found)
}

func (r *Redactor) text(text string) string {
	if r.Err() != nil {
		return r.whole("rules-not-understood", text)
	}
	kept := r.placeholders(text)
	return r.mask(text, r.find(text, kept), kept)
}

// find returns where the rules see secrets, which it learns.
func (r *Redactor) find(text string, kept ranges) []hit {
	set, err := r.rules()
	if err != nil {
		return nil // all is hidden anyway
	}
	return r.learn(text, r.clean.find(set, text), kept)
}

// learn takes secrets of a text in, but for those in placeholders.
func (r *Redactor) learn(text string, spans []span, kept ranges) []hit {
	var hits []hit
	for _, s := range spans {
		if kept.overlap(s.from, s.to) {
			continue
		}
		secret := cmp.Or(s.secret, text[s.from:s.to])
		id, ok := r.ids[secret]
		if !ok {
			var forms []string
			if len(secret) >= MinKnown {
				forms = spellings(secret)
			}
			id = r.know(s.kind, secret, forms, s.generic || isWord(secret))
		}
		hits = append(hits, hit{s.from, s.to, id})
	}
	return hits
}

// know returns the finding of a secret, which may be masked in several forms.
func (r *Redactor) know(kind, value string, forms []string, whole bool) (id int) {
	if id, ok := r.ids[value]; ok {
		return id
	}
	id = len(r.found)
	r.ids[value] = id
	r.found = append(r.found, Finding{Kind: kind})
	for _, text := range forms {
		r.forms.add(text, form{id, whole})
	}
	return id
}

// placeholder returns what replaces a finding. Numbers are given when they are
// needed: those of secrets that are nowhere would depend on the environment.
func (r *Redactor) placeholder(id int) string {
	f := &r.found[id]
	if r.learning {
		return "[REDACTED:" + f.Kind + ":0]"
	}
	if f.Number == 0 {
		r.counts[f.Kind]++
		f.Number = r.counts[f.Kind]
	}
	f.Places++
	return "[REDACTED:" + f.Kind + ":" + strconv.Itoa(f.Number) + "]"
}

var placeholderForm = regexp.MustCompile(`\[REDACTED:([a-zA-Z0-9_:-]+):([0-9]{1,9})\]`)

// placeholders returns where a text was masked before, as an earlier message of a
// conversation was. That stays, and its numbers are not given to others.
func (r *Redactor) placeholders(text string) ranges {
	if !strings.Contains(text, "[REDACTED:") {
		return nil
	}
	var out ranges
	for _, m := range placeholderForm.FindAllStringSubmatchIndex(text, -1) {
		kind := text[m[2]:m[3]]
		if n, err := strconv.Atoi(text[m[4]:m[5]]); err == nil {
			r.counts[kind] = max(r.counts[kind], n)
		}
		out = append(out, hit{from: m[0], to: m[1]})
	}
	return out
}

// hit is a place to be masked.
type hit struct {
	from, to int
	id       int // of the finding
}

// ranges are places of a text, in order and apart from each other.
type ranges []hit

func (r ranges) overlap(from, to int) bool {
	i, found := slices.BinarySearchFunc(r, from, func(h hit, from int) int { return h.from - from })
	return found || i < len(r) && r[i].from < to || i > 0 && r[i-1].to > from
}

// add returns the places of both, which do not overlap.
func (r ranges) add(more []hit) ranges {
	if len(more) == 0 {
		return r
	}
	out := append(slices.Clip(r), more...)
	slices.SortFunc(out, func(a, b hit) int { return a.from - b.from })
	return out
}

// mask puts placeholders in the place of hits and of all that is known.
func (r *Redactor) mask(text string, hits []hit, kept ranges) string {
	taken := kept.add(hits)
	return r.put(text, ranges(hits).add(r.knownIn(text, 0, taken, false)))
}

// inWord reports whether a place is a part of a longer word: the password
// "postgres" is not what "postgresql" is about.
func inWord(text string, from, to int) bool {
	return from > 0 && letter(text[from-1]) && letter(text[from]) || to < len(text) && letter(text[to-1]) && letter(text[to])
}

func letter(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

// isWord reports whether a secret may be a word of a language.
func isWord(s string) bool {
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz") == "" || strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}
