// Package rules takes the rules for secrets from the gitleaks library: of its default
// configuration, those that can judge a text that has no file name.
//
// Of that library it uses the text of the configuration (TOML) alone. Its own
// reader of it compiles every regular expression at once, sets a global
// configuration, and comes with a detector of 62 modules; what a detector here needs
// is a list.
//
// Left out are rules about files of certain paths, and of the allowlists what looks at
// paths, commits and whole lines: the rest of its line is no reason to leave a
// secret, and would be a way for a source to keep its secrets visible. Lists that
// ask for all of their conditions at once are left out for the same reason: the existing ones ask for
// a path or a line.
//
// The version of the library is pinned, and tests hold its rules against what the library
// itself makes of them. Another version may have rules that are written otherwise,
// and one of them is an error of them all: masking with the
// ones that are understood leaves the secrets of the others visible, and nothing tells.
package rules

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/zricethezav/gitleaks/v8/config"
)

// Rule finds secrets of one kind: what its regular expression matches, or a group
// of it, where a keyword is within the match, if it is random enough and
// nothing allows it.
type Rule struct {
	ID       string // "aws-access-token"
	Regex    string // which compiles
	Group    int    // of the secret; 0: the first one that is not empty, or the match
	Entropy  float64
	Keywords []string // in lower case, ASCII; one at least
	Allow    []Allow
}

// Allow lists what is no secret although a rule matches it.
type Allow struct {
	Match     bool     // the regular expressions look at the match, not at the secret
	Regexes   []string // which compile
	StopWords []string // parts of the secret, in lower case, sorted
}

// Set is the rules, by ID, and what is no secret for any of them.
type Set struct {
	Rules []Rule
	Allow []Allow
}

// Default returns the rules of the gitleaks library.
func Default() (Set, error) {
	return Parse(config.DefaultConfig)
}

// The form of the configuration. What is not here, such as a rule that needs another
// one to have matched beside it, is not understood.
type (
	file struct {
		Title       string            `toml:"title"`
		Description string            `toml:"description"`
		MinVersion  string            `toml:"minVersion"` // of gitleaks
		Rules       []fileRule        `toml:"rules"`
		AllowList   *globalAllowlist  `toml:"allowlist"` // how Allowlists was spelled before
		Allowlists  []globalAllowlist `toml:"allowlists"`
	}
	fileRule struct {
		ID          string      `toml:"id"`
		Description string      `toml:"description"`
		Tags        []string    `toml:"tags"`
		Path        string      `toml:"path"`
		Regex       string      `toml:"regex"`
		SecretGroup int         `toml:"secretGroup"`
		Entropy     float64     `toml:"entropy"`
		Keywords    []string    `toml:"keywords"`
		AllowList   *allowlist  `toml:"allowlist"`
		Allowlists  []allowlist `toml:"allowlists"`
	}
	globalAllowlist struct {
		TargetRules []string `toml:"targetRules"` // none: all
		allowlist
	}
	allowlist struct {
		Description string   `toml:"description"`
		Condition   string   `toml:"condition"`
		Commits     []string `toml:"commits"`
		Paths       []string `toml:"paths"`
		RegexTarget string   `toml:"regexTarget"`
		Regexes     []string `toml:"regexes"`
		StopWords   []string `toml:"stopwords"`
	}
)

// Parse returns the rules of a gitleaks configuration. An error says what in it is
// not understood. To parse all regular expressions is 3 of the 5 ms that the
// default configuration takes: found out when a rule is first needed, half of an
// output would be out already.
func Parse(text string) (Set, error) {
	f, err := decode(text)
	if err != nil {
		return Set{}, fmt.Errorf("gitleaks' configuration: %w", err)
	}
	var set Set
	for _, r := range f.Rules {
		if r.Path != "" {
			continue
		}
		rule, err := r.rule()
		if err != nil {
			return Set{}, fmt.Errorf("gitleaks' rule %q: %w", r.ID, err)
		}
		set.Rules = append(set.Rules, rule)
	}
	if len(set.Rules) == 0 {
		return Set{}, errors.New("gitleaks' configuration has no rules")
	}
	slices.SortStableFunc(set.Rules, func(a, b Rule) int { return strings.Compare(a.ID, b.ID) })
	if err := set.allow(f); err != nil {
		return Set{}, fmt.Errorf("gitleaks' allowlists of all rules: %w", err)
	}
	return set, nil
}

func decode(text string) (f file, err error) {
	// go-toml v2.2.3 panics on some documents that it should refuse: [[rules.0]].
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("toml: %v", p)
		}
	}()
	err = toml.NewDecoder(strings.NewReader(text)).DisallowUnknownFields().Decode(&f)
	if unknown, ok := errors.AsType[*toml.StrictMissingError](err); ok {
		err = fmt.Errorf("what %s means is not known", strings.Join(unknown.Errors[0].Key(), "."))
	}
	return f, err
}

// allow adds the lists that are not within a rule.
func (s *Set) allow(f file) error {
	lists, err := spelledOnce(f.AllowList, f.Allowlists)
	if err != nil {
		return err
	}
	for _, l := range lists {
		allow, err := l.allow()
		if err != nil {
			return err
		}
		if len(l.TargetRules) == 0 {
			s.Allow = append(s.Allow, allow...)
		}
		for i := range s.Rules {
			if r := &s.Rules[i]; slices.Contains(l.TargetRules, r.ID) {
				r.Allow = append(r.Allow, allow...)
			}
		}
	}
	return nil
}

func (r *fileRule) rule() (Rule, error) {
	out := Rule{ID: r.ID, Regex: r.Regex, Group: r.SecretGroup, Entropy: r.Entropy}
	if r.ID == "" || r.Regex == "" {
		return out, errors.New("it has no id, or no regex")
	}
	tree, err := syntax.Parse(r.Regex, syntax.Perl)
	if err != nil {
		return out, err
	}
	if n := tree.MaxCap(); r.SecretGroup < 0 || r.SecretGroup > n {
		return out, fmt.Errorf("its regex has no group %d, only %d", r.SecretGroup, n)
	}
	if len(r.Keywords) == 0 {
		return out, errors.New("it has no keywords")
	}
	for _, k := range r.Keywords {
		k = strings.ToLower(k)
		if k == "" || strings.ContainsFunc(k, func(c rune) bool { return c >= 0x80 }) {
			return out, fmt.Errorf("the keyword %q is empty or not ASCII", k)
		}
		out.Keywords = append(out.Keywords, k)
	}
	lists, err := spelledOnce(r.AllowList, r.Allowlists)
	if err != nil {
		return out, err
	}
	for _, l := range lists {
		allow, err := l.allow()
		if err != nil {
			return out, err
		}
		out.Allow = append(out.Allow, allow...)
	}
	return out, nil
}

// spelledOnce returns the lists of a configuration, which has them in the old form or in the new
// one.
func spelledOnce[T any](before *T, now []T) ([]T, error) {
	if before == nil {
		return now, nil
	}
	if len(now) > 0 {
		return nil, errors.New("allowlist and allowlists exclude each other")
	}
	return []T{*before}, nil
}

// allow returns the part of a list that texts have to do with, if there is one.
func (l *allowlist) allow() ([]Allow, error) {
	all := false
	switch strings.ToUpper(l.Condition) {
	case "", "OR", "||":
	case "AND", "&&":
		all = true
	default:
		return nil, fmt.Errorf("the condition %q is not known", l.Condition)
	}
	line := false
	switch l.RegexTarget {
	case "", "secret", "match":
	case "line":
		line = true
	default:
		return nil, fmt.Errorf("the regexTarget %q is not known", l.RegexTarget)
	}
	for _, re := range l.Regexes {
		if _, err := syntax.Parse(re, syntax.Perl); err != nil {
			return nil, err
		}
	}
	if all || line || len(l.Regexes)+len(l.StopWords) == 0 {
		return nil, nil
	}
	out := Allow{Match: l.RegexTarget == "match", Regexes: l.Regexes}
	for _, w := range l.StopWords {
		out.StopWords = append(out.StopWords, strings.ToLower(w))
	}
	slices.Sort(out.StopWords)
	out.StopWords = slices.Compact(out.StopWords)
	return []Allow{out}, nil
}
