package redact

import (
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"tracerag/redact/rules"
)

// rule is one with what is made of it when one of its keywords was seen first: few of
// them are in a text.
type rule struct {
	rules.Rule
	allow []*allow

	once  sync.Once
	re    *regexp.Regexp
	probe *regexp.Regexp // see split
	lines int            // line breaks that a match may hold; unbounded: any number
}

// allow is a list with its regular expressions as one.
type allow struct {
	rules.Allow

	once sync.Once
	re   *regexp.Regexp
}

// ruleSet is all rules, and which of them each keyword belongs to.
type ruleSet struct {
	rules    []*rule
	allow    []*allow // of all rules
	keywords *keywords
	of       [][]int // by keyword
	names    []bool  // by keyword: a name with it may be that of a secret
}

// theRules are those of gitleaks and our own.
var theRules = sync.OnceValues(func() (*ruleSet, error) {
	set, err := rules.Default()
	if err != nil {
		return nil, err
	}
	set.Rules = append(set.Rules, ownRules()...)
	return newRuleSet(set), nil
})

func newRuleSet(set rules.Set) *ruleSet {
	s := &ruleSet{allow: allows(set.Allow)}
	var words []string
	index := map[string]int{}
	add := func(k string) int {
		n, ok := index[k]
		if !ok {
			n = len(words)
			index[k] = n
			words = append(words, k)
			s.of = append(s.of, nil)
			s.names = append(s.names, false)
		}
		return n
	}
	for i, r := range set.Rules {
		s.rules = append(s.rules, &rule{Rule: r, allow: allows(r.Allow)})
		for _, k := range r.Keywords {
			n := add(k)
			s.of[n] = append(s.of[n], i)
		}
	}
	for _, k := range nameWords {
		s.names[add(k)] = true
	}
	s.keywords = newKeywords(words)
	return s
}

func allows(lists []rules.Allow) []*allow {
	var out []*allow
	for _, l := range lists {
		out = append(out, &allow{Allow: l})
	}
	return out
}

// span is a secret in a text, or a part of one.
type span struct {
	from, to int
	kind     string
	generic  bool   // a rule that knows the form of the secret goes first
	secret   string // if the text spells it otherwise
}

// find returns the secrets in a text, in order and apart from each other.
func (s *ruleSet) find(text string) []span {
	return disjoint(append(s.plain(text), s.spelled(text)...))
}

// plain returns the secrets that a text has as they are, in no order.
func (s *ruleSet) plain(text string) []span {
	var out []span
	places := make([][]int, len(s.rules)) // of the keywords of each rule
	var named []int                       // places of words for passwords and keys
	s.keywords.find(text, func(word, at int) {
		if s.names[word] {
			named = append(named, at)
		}
		for _, r := range s.of[word] {
			places[r] = append(places[r], at)
		}
	})
	for i, at := range places {
		if len(at) > 0 {
			out = s.rules[i].find(out, text, at, s.allow)
		}
	}
	return beside(out, text, named)
}

// disjoint drops those of overlapping spans that say less, and sorts the rest.
func disjoint(spans []span) []span {
	slices.SortStableFunc(spans, func(a, b span) int {
		switch {
		case a.generic != b.generic:
			if a.generic {
				return 1
			}
			return -1
		case a.to-a.from != b.to-b.from:
			return (b.to - b.from) - (a.to - a.from)
		}
		return a.from - b.from
	})
	var out []span
	for _, x := range spans {
		i, found := slices.BinarySearchFunc(out, x.from, func(o span, from int) int { return o.from - from })
		if found || i < len(out) && out[i].from < x.to || i > 0 && out[i-1].to > x.from {
			continue
		}
		out = slices.Insert(out, i, x)
	}
	return out
}

// find appends what the rule finds about the given places.
func (r *rule) find(out []span, text string, places []int, everywhere []*allow) []span {
	r.once.Do(r.compile)
	slices.Sort(places)
	for i := 0; i < len(places); {
		if !r.begins(text, places[i]) {
			i++
			continue
		}
		from, to := window(text, places[i], r.lines)
		for i++; i < len(places) && places[i] < to; i++ {
			if r.begins(text, places[i]) {
				_, to = window(text, places[i], r.lines)
			}
		}
		for _, m := range r.re.FindAllStringSubmatchIndex(text[from:to], -1) {
			a, b := r.secret(m)
			secret, match := text[from+a:from+b], text[from+m[0]:from+m[1]]
			if a == b || r.Entropy > 0 && entropy(secret) < r.Entropy-rounding || !r.plausible(text, from+a, from+b) || allowed(r.allow, secret, match) || allowed(everywhere, secret, match) {
				continue
			}
			out = append(out, span{from: from + a, to: from + b, kind: r.ID, generic: strings.Contains(r.ID, "generic")})
		}
	}
	return out
}

// base64Line is in every private key: most have lines of 64 letters.
var base64Line = regexp.MustCompile(`[A-Za-z0-9+/]{40}`)

// plausible is false for what a rule takes for a secret and what is code: the lines
// between the two constants that say how a private key begins and ends, and a
// name such as ed25519.PrivateKey that is assigned to another. (A name that was
// masked would be so wherever it stands.)
func (r *rule) plausible(text string, from, to int) bool {
	switch secret := text[from:to]; r.ID {
	case "private-key":
		return base64Line.MatchString(secret)
	case "vault-service-token": // s.ReadUint16LengthPrefixed is none
		return !strings.HasPrefix(secret, "s.") || turns(secret) > 6
	case "authorization-header":
		return randomLike(secret) || userAndPassword(secret)
	case "docker-auth":
		return userAndPassword(secret)
	case "dsn-password", "netrc-password":
		return passwordLike(secret)
	case "generic-api-key":
		return from > 0 && strings.IndexByte("\"'`", text[from-1]) >= 0 || !name.MatchString(secret) || turns(secret) > len(secret)/4
	}
	return true
}

// name is that of a Go value.
var name = regexp.MustCompile(`\A[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*\z`)

// turns counts where capital letters or digits begin or digits end: in a name that
// people gave at few places, in a random one at nearly every second letter.
func turns(s string) int {
	n := 0
	for i := 1; i < len(s); i++ {
		digit, before := s[i] >= '0' && s[i] <= '9', s[i-1] >= '0' && s[i-1] <= '9'
		capital := s[i] >= 'A' && s[i] <= 'Z' && s[i-1] >= 'a' && s[i-1] <= 'z'
		if digit != before || capital {
			n++
		}
	}
	return n
}

// begins reports whether a match may go on from the keyword at a place.
func (r *rule) begins(text string, at int) bool {
	return r.probe == nil || r.probe.MatchString(text[at:])
}

// secret returns where the secret of a match stands.
func (r *rule) secret(m []int) (from, to int) {
	if r.Group > 0 {
		return max(m[2*r.Group], 0), max(m[2*r.Group+1], 0)
	}
	for i := 2; i < len(m); i += 2 {
		if m[i] >= 0 && m[i] < m[i+1] {
			return m[i], m[i+1]
		}
	}
	return m[0], m[1]
}

func allowed(lists []*allow, secret, match string) bool {
	lower := ""
	for _, a := range lists {
		a.once.Do(func() {
			if len(a.Regexes) > 0 {
				// Should they compile each and not together, they allow nothing.
				a.re, _ = regexp.Compile("(?:" + strings.Join(a.Regexes, ")|(?:") + ")")
			}
		})
		about := secret
		if a.Match {
			about = match
		}
		if a.re != nil && a.re.MatchString(about) {
			return true
		}
		if lower == "" && len(a.StopWords) > 0 {
			lower = strings.ToLower(secret)
		}
		if slices.ContainsFunc(a.StopWords, func(w string) bool { return strings.Contains(lower, w) }) {
			return true
		}
	}
	return false
}

// rounding is how far a sum of some hundred products may be off. What has a rule's
// entropy exactly is masked: gitleaks finds it or not by the order of its sum.
const rounding = 1e-9

// entropy is Shannon's, in bits a character, the same each time.
func entropy(s string) float64 {
	rs := []rune(s)
	slices.Sort(rs)
	e := 0.0
	for i := 0; i < len(rs); {
		from := i
		for i < len(rs) && rs[i] == rs[from] {
			i++
		}
		p := float64(i-from) / float64(len(rs))
		e -= p * math.Log2(p)
	}
	return e
}

// ends is how most of gitleaks' rules say where a token ends: where a value does in a
// configuration. It also does where a parameter of a URL ends, an entry of a list
// or an element of a page. Of the rule for what has no form of its own, code such as
// key=value(x) would then be a secret.
const (
	ends     = `(?:[\x60'"\s;]|\\[nr]|$)`
	moreEnds = `(?:[\x60'"\s;&<>,)}\]#|]|\\[nrtux"']|$)`
)

// unbounded: a match may hold any number of line breaks.
const unbounded = -1

// compile panics on no rule that package rules returned: it has parsed them.
func (r *rule) compile() {
	expr := r.Regex
	if r.ID != "generic-api-key" {
		expr = strings.ReplaceAll(expr, ends, moreEnds)
	}
	r.re = regexp.MustCompile(expr)
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		panic("redact: rule " + r.ID + ": " + err.Error())
	}
	r.lines = lineBreaks(tree)
	r.probe = r.split(tree)
}

// split makes an expression that matches from a keyword on if the rule's own
// one may. Most rules are of the form
//
//	[\w.-]{0,50}?(?:key|token|...)...
//
// where what stands before the keyword is optional: it delays the search by an
// order of magnitude, since every letter may begin it, and tells nothing. Most others
// begin with their keywords ("ghp_"), and some of those are short ("s."). A rule of
// another form has no such expression.
func (r *rule) split(tree *syntax.Regexp) *regexp.Regexp {
	rest := r.afterOptional(tree)
	if rest == "" && r.beginsWithKeywords(tree) {
		rest = strings.TrimPrefix(tree.String(), `\b`)
	}
	if rest == "" {
		return nil
	}
	probe, err := regexp.Compile(`\A(?:` + rest + `)`)
	if err != nil {
		return nil // it is slower without
	}
	return probe
}

// afterOptional returns what an expression has after what is optional, "" if it is not
// of this form.
func (r *rule) afterOptional(tree *syntax.Regexp) string {
	if tree.Op != syntax.OpConcat || len(tree.Sub) < 2 {
		return ""
	}
	first, rest := tree.Sub[0], tree.Sub[1:]
	if first.Op != syntax.OpRepeat || first.Min != 0 || first.Sub[0].Op != syntax.OpCharClass {
		return ""
	}
	// The keywords have to be where the rest begins, or matches would be lost.
	begin, err := regexp.Compile(`\A(?:` + rest[0].String() + `)`)
	if err != nil {
		return ""
	}
	for _, k := range r.Keywords {
		if !begin.MatchString(k) {
			return ""
		}
	}
	return (&syntax.Regexp{Op: syntax.OpConcat, Sub: rest}).String()
}

// beginsWithKeywords reports whether each match of an expression begins with a keyword.
func (r *rule) beginsWithKeywords(tree *syntax.Regexp) bool {
	prefixes, _ := beginnings(tree)
	for _, p := range prefixes {
		if !slices.ContainsFunc(r.Keywords, func(k string) bool { return strings.HasPrefix(strings.ToLower(p), k) }) {
			return false
		}
	}
	return true
}

// manyBeginnings are too many to be looked at.
const manyBeginnings = 500

// beginnings returns texts of which each match begins with one, and whether these are
// all that matches.
func beginnings(re *syntax.Regexp) (out []string, whole bool) {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{string(re.Rune)}, true
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpBeginText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return []string{""}, true
	case syntax.OpCapture:
		return beginnings(re.Sub[0])
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			for c := re.Rune[i]; c <= re.Rune[i+1]; c++ {
				if out = append(out, string(c)); len(out) > 8 {
					return []string{""}, false
				}
			}
		}
		return out, true
	case syntax.OpAlternate:
		whole = true
		for _, sub := range re.Sub {
			of, all := beginnings(sub)
			out, whole = append(out, of...), whole && all
		}
		return out, whole
	case syntax.OpConcat:
		out = []string{""}
		for _, sub := range re.Sub {
			of, all := beginnings(sub)
			if len(out)*len(of) > manyBeginnings {
				return out, false
			}
			var longer []string
			for _, a := range out {
				for _, b := range of {
					longer = append(longer, a+b)
				}
			}
			if out = longer; !all {
				return out, false
			}
		}
		return out, true
	}
	return []string{""}, false
}

// window returns the lines in which a match about a place may stand.
func window(text string, at, lines int) (from, to int) {
	if lines == unbounded {
		return 0, len(text)
	}
	from, to = at, at
	for range lines + 1 {
		if from = strings.LastIndexByte(text[:max(from, 0)], '\n'); from < 0 {
			break
		}
	}
	from++
	for range lines + 1 {
		i := strings.IndexByte(text[to:], '\n')
		if i < 0 {
			return from, len(text)
		}
		to += i + 1
	}
	return from, to
}

// lineBreaks returns how many a match of an expression may hold at most.
func lineBreaks(re *syntax.Regexp) int {
	n := 0
	switch re.Op {
	case syntax.OpLiteral:
		return strings.Count(string(re.Rune), "\n")
	case syntax.OpAnyChar:
		return 1
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			if re.Rune[i] <= '\n' && '\n' <= re.Rune[i+1] {
				return 1
			}
		}
		return 0
	case syntax.OpConcat, syntax.OpAlternate, syntax.OpCapture, syntax.OpQuest:
		for _, sub := range re.Sub {
			k := lineBreaks(sub)
			switch {
			case k == unbounded:
				return unbounded
			case re.Op == syntax.OpConcat:
				n += k
			default:
				n = max(n, k)
			}
		}
		return n
	case syntax.OpStar, syntax.OpPlus, syntax.OpRepeat:
		n = lineBreaks(re.Sub[0])
		switch {
		case n == 0:
		case n == unbounded, re.Op != syntax.OpRepeat, re.Max < 0:
			return unbounded
		default:
			n *= re.Max
		}
	}
	return n
}

// keywords finds many words at once, whatever their case: the automaton of Aho
// and Corasick with a row of transitions for each state.
type keywords struct {
	class [256]uint8 // letters by class; 0 is all that no word holds
	wide  int        // classes
	next  []int32    // by state and class
	found [][]int32  // by state: the words that end there
	words []string
}

func newKeywords(words []string) *keywords {
	k := &keywords{wide: 1, words: words, found: [][]int32{nil}}
	for _, w := range words {
		for _, c := range []byte(w) {
			if c >= utf8.RuneSelf {
				panic("redact: the keyword " + w + " is not ASCII")
			}
			if k.class[c] == 0 {
				k.class[c] = uint8(k.wide)
				k.wide++
			}
		}
	}
	for c := 'A'; c <= 'Z'; c++ {
		k.class[c] = k.class[c+'a'-'A']
	}
	k.next = make([]int32, k.wide)
	for i, w := range words {
		at := int32(0)
		for _, c := range []byte(w) {
			edge := int(at)*k.wide + int(k.class[c])
			if k.next[edge] == 0 {
				k.next[edge] = int32(len(k.found))
				k.found = append(k.found, nil)
				k.next = append(k.next, make([]int32, k.wide)...)
			}
			at = k.next[edge]
		}
		k.found[at] = append(k.found[at], int32(i))
	}
	// Where a word does not go on, its longest end that begins another one does.
	fallback := make([]int32, len(k.found))
	var queue []int32
	for _, s := range k.next[:k.wide] {
		if s != 0 {
			queue = append(queue, s)
		}
	}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		f := fallback[s]
		k.found[s] = append(k.found[s], k.found[f]...)
		for c := range k.wide {
			edge := int(s)*k.wide + c
			via := k.next[int(f)*k.wide+c]
			if t := k.next[edge]; t != 0 {
				fallback[t] = via
				queue = append(queue, t)
			} else {
				k.next[edge] = via
			}
		}
	}
	return k
}

// find reports each place where a word begins, in the order of their ends.
func (k *keywords) find(text string, report func(word, at int)) {
	s := int32(0)
	for i := range len(text) {
		s = k.next[int(s)*k.wide+int(k.class[text[i]])]
		for _, w := range k.found[s] {
			report(int(w), i+1-len(k.words[w]))
		}
	}
}
