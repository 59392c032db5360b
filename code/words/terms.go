package words

import (
	"regexp"
	"strings"
)

// Splitter turns texts into terms. It remembers the words that it has seen, since stemming
// takes longer than all else. It is for one goroutine.
type Splitter struct {
	known map[string][]string
}

// knownWords bounds what a Splitter remembers.
const knownWords = 1 << 17

// Append appends the terms of a text, in order, as an index keeps them: the stems of the
// parts of its words, and words of several parts as a whole.
func (s *Splitter) Append(to []string, text string) []string {
	Each(text, func(word string) { to = append(to, s.Of(word)...) })
	return to
}

// AppendVerbs appends the terms of the words that say what formatting verbs of a text do, as [Verbs]
// finds them: an index has them as further terms of a string literal.
func (s *Splitter) AppendVerbs(to []string, text string) []string {
	Verbs(text, func(word string) { to = append(to, s.Of(word)...) })
	return to
}

// Of returns the terms of one word.
func (s *Splitter) Of(word string) []string {
	if terms, ok := s.known[word]; ok {
		return terms
	}
	if s.known == nil || len(s.known) >= knownWords {
		s.known = map[string][]string{}
	}
	word = strings.Clone(word) // the text that it is of need not stay
	var terms []string
	parts := Split(word)
	for _, p := range parts {
		if !PassedOver(p) {
			terms = append(terms, Stem(p))
		}
	}
	if len(parts) > 1 {
		terms = append(terms, Whole(word))
	}
	s.known[word] = terms
	return terms
}

// Terms returns the terms of a text. For many texts a [Splitter] is faster.
func Terms(text string) []string { return new(Splitter).Append(nil, text) }

// Term is what a question asks for.
type Term struct {
	Text string // as in an index; of a group, the group's
	Word string // as the question has it
	// Group says that it means all the words that mean nearly the same, which are
	// Members of Text. No index has it.
	Group bool
}

// Asked calls f for the terms of a question, in order, each as often as it is there. A text that people wrote
// goes through [WithoutReferences] first.
func Asked(text string, f func(Term)) {
	Each(text, func(word string) {
		parts := Split(word)
		for _, p := range parts {
			if PassedOver(p) {
				continue
			}
			stem := Stem(p)
			f(Term{Text: stem, Word: p})
			for _, group := range Groups(stem) {
				f(Term{Text: group, Word: p, Group: true})
			}
		}
		if len(parts) > 1 {
			f(Term{Text: Whole(word), Word: word})
		}
	})
}

// Question returns the terms of a question as an index has them, each once: its own, and
// those of words that mean nearly the same as one of them.
func Question(text string) (terms, related []string) {
	seen := map[string]bool{}
	add := func(list []string, term string) []string {
		if seen[term] {
			return list
		}
		seen[term] = true
		return append(list, term)
	}
	var groups []string
	Asked(WithoutReferences(text), func(t Term) {
		if t.Group {
			groups = append(groups, t.Text)
		} else {
			terms = add(terms, t.Text)
		}
	})
	for _, g := range groups {
		for _, member := range Members(g) {
			related = add(related, member)
		}
	}
	return terms, related
}

// WithoutReferences returns text without what refers to other places: links,
// mail addresses, numbers of issues, and the lines that tools and conventions
// add to the end of commit messages.
func WithoutReferences(text string) string {
	text = trailer.ReplaceAllString(text, "")
	text = link.ReplaceAllString(text, " ")
	return issueNumber.ReplaceAllString(text, " ")
}

var (
	trailer     = regexp.MustCompile(`(?mi)^(?:[a-z]+-)+(?:by|id|rev|request|result|on): .*$|^(?:fixes|closes|updates|for) \S*#\d+.*$`)
	link        = regexp.MustCompile(`https?://\S+|\S+@\S+\.\S+`)
	issueNumber = regexp.MustCompile(`\(?[\w/-]*#\d+\)?`)
)
