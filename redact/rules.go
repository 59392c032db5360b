package redact

import (
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"

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
	type place struct{ rule, at int } // of a keyword
	var places []place
	var named []int // places of words for passwords and keys
	s.keywords.find(text, func(word, at int) {
		if s.names[word] {
			named = append(named, at)
		}
		for _, r := range s.of[word] {
			places = append(places, place{r, at})
		}
	})
	slices.SortStableFunc(places, func(a, b place) int { return a.rule - b.rule })
	var of []int
	for i := 0; i < len(places); {
		rule := places[i].rule
		for of = of[:0]; i < len(places) && places[i].rule == rule; i++ {
			of = append(of, places[i].at)
		}
		out = s.rules[rule].find(out, text, of, s.allow)
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
		same := lineEnd(text, places[i])
		for i++; i < len(places) && places[i] < to; i++ {
			// On the same line the window is the same: to look for it at each of
			// the places in a line of a megabyte would take minutes.
			if places[i] > same && r.begins(text, places[i]) {
				_, to = window(text, places[i], r.lines)
				same = lineEnd(text, places[i])
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
// masked would be so wherever it is.)
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
	case "dsn-password", "netrc-password", "sql-password":
		return passwordLike(secret)
	case "generic-api-key":
		if from > 0 && strings.IndexByte("\"'`", text[from-1]) >= 0 {
			return !protocolName.MatchString(secret)
		}
		plain := version.ReplaceAllString(secret, "")
		return !integer.MatchString(secret) && (!name.MatchString(secret) || turns(plain) > len(plain)/4)
	}
	return true
}

var (
	// name is that of a Go value.
	name = regexp.MustCompile(`\A[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*\z`)
	// version is how some names end.
	version = regexp.MustCompile(`[vV]?[0-9]{1,2}\z`)
	// integer is a constant of 64 bits, such as those of hash functions.
	integer = regexp.MustCompile(`\A0x[0-9A-Fa-f_]{1,20}\z`)
	// protocolName is such as "ALTSRP_GCM_AES128_REKEY".
	protocolName = regexp.MustCompile(`\A[A-Z]{2,}[0-9]{0,3}(?:_[A-Z]{2,}[0-9]{0,3}){2,}\z`)
)

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

// secret returns where the secret of a match is.
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

// window returns the lines in which a match about a place may be.
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

// lineEnd returns where the line of a place ends.
func lineEnd(text string, at int) int {
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(text)
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
