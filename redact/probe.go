package redact

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

// split makes an expression that matches from a keyword on if the rule's own
// one may. Most rules are of the form
//
//	[\w.-]{0,50}?(?:key|token|...)...
//
// where what is before the keyword is optional: it delays the search by an
// order of magnitude, since every letter may begin it, and tells nothing. Most others
// begin with their keywords ("ghp_"), and some of those are short ("s."). A rule of
// another form has no such expression.
func (r *rule) split(tree *syntax.Regexp) *regexp.Regexp {
	rest := r.afterOptional(tree)
	if rest == nil && r.beginsWithKeywords(tree) {
		rest = tree
		if tree.Op == syntax.OpConcat && tree.Sub[0].Op == syntax.OpWordBoundary {
			rest = &syntax.Regexp{Op: syntax.OpConcat, Sub: tree.Sub[1:]}
		}
	}
	if rest == nil {
		return nil
	}
	// To write an expression takes milliseconds if it has large classes of characters, so
	// no more of it is written than is used.
	begin, _ := bounded(rest)
	probe, err := regexp.Compile(`\A(?:` + begin.String() + `)`)
	if err != nil {
		return nil // it is slower without
	}
	return probe
}

// bounded returns an expression for the beginning of what re matches, up to what may be
// repeated without end, and whether it is all of re. A probe that goes on to the end
// of a long token, at each of the keywords in it, takes hours for a megabyte.
func bounded(re *syntax.Regexp) (begin *syntax.Regexp, all bool) {
	out := *re
	switch re.Op {
	case syntax.OpCharClass: // package syntax takes 5 ms to write [\s\S]
		if len(re.Rune) == 2 && re.Rune[0] == 0 && re.Rune[1] == unicode.MaxRune {
			return &syntax.Regexp{Op: syntax.OpAnyChar}, true
		}
	case syntax.OpStar:
		return &syntax.Regexp{Op: syntax.OpEmptyMatch}, false
	case syntax.OpPlus:
		begin, _ := bounded(re.Sub[0])
		return begin, false
	case syntax.OpRepeat:
		sub, all := bounded(re.Sub[0])
		switch {
		case !all && re.Min == 0:
			return &syntax.Regexp{Op: syntax.OpEmptyMatch}, false
		case !all:
			return sub, false
		case re.Max < 0:
			out.Max = re.Min
		}
		out.Sub = []*syntax.Regexp{sub}
		return &out, re.Max >= 0
	case syntax.OpQuest:
		if _, all := bounded(re.Sub[0]); !all {
			return &syntax.Regexp{Op: syntax.OpEmptyMatch}, false
		}
	case syntax.OpCapture, syntax.OpAlternate:
		all = true
		out.Sub = nil
		for _, sub := range re.Sub {
			begin, whole := bounded(sub)
			out.Sub, all = append(out.Sub, begin), all && whole
		}
		return &out, all
	case syntax.OpConcat:
		out.Sub = nil
		for _, sub := range re.Sub {
			begin, whole := bounded(sub)
			if out.Sub = append(out.Sub, begin); !whole {
				return &out, false
			}
		}
	}
	return re, true
}

// afterOptional returns what an expression has after what is optional, nil if it is not
// of this form.
func (r *rule) afterOptional(tree *syntax.Regexp) *syntax.Regexp {
	if tree.Op != syntax.OpConcat || len(tree.Sub) < 2 {
		return nil
	}
	first, rest := tree.Sub[0], tree.Sub[1:]
	if first.Op != syntax.OpRepeat || first.Min != 0 || first.Sub[0].Op != syntax.OpCharClass {
		return nil
	}
	// The keywords have to be where the rest begins, or matches would be lost.
	begin, err := regexp.Compile(`\A(?:` + rest[0].String() + `)`)
	if err != nil {
		return nil
	}
	for _, k := range r.Keywords {
		if !begin.MatchString(k) {
			return nil
		}
	}
	return &syntax.Regexp{Op: syntax.OpConcat, Sub: rest}
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
