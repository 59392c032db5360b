package rank

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Kind is a kind of reason.
type Kind string

// The kinds. Of the first four the weight was added, of the others it is the
// exponent of a factor.
const (
	Words       Kind = "words"   // it has words of the question
	Named       Kind = "named"   // the question says its name
	Quoted      Kind = "quoted"  // the question quotes a literal of it
	Near        Kind = "near"    // calls lead to functions that match
	SamePackage Kind = "package" // it is in the test's package
	Titled      Kind = "title"   // the title begins with its package
	Constructor Kind = "constructor"
	Startup     Kind = "startup"   // an empty run executes it too
	Unshared    Kind = "unshared"  // no passing run executes it
	Reporting   Kind = "reporting" // it reports the failure
)

// Reason is one part of a score.
type Reason struct {
	Kind   Kind    `json:"kind"`
	Weight float64 `json:"weight"`
	What   string  `json:"what,omitempty"` // the words, the name, the literal
}

// String returns the reason in words.
func (r Reason) String() string {
	switch r.Kind {
	case Words:
		return "has " + r.What
	case Named:
		return "the question says " + r.What
	case Quoted:
		return fmt.Sprintf("says %q", r.What)
	case Near:
		return "near functions that match"
	case SamePackage:
		return "in the test's package"
	case Titled:
		return "the title says " + r.What
	case Constructor:
		return "makes a value"
	case Startup:
		return "runs without the feature too"
	case Reporting:
		return "reports the failure"
	case Unshared:
		return "no passing run calls it"
	}
	return string(r.Kind)
}

// Why returns the reasons in words, those of most weight first.
func (r *Ranked) Why() string {
	rs := slices.Clone(r.Reasons)
	slices.SortStableFunc(rs, func(a, b Reason) int { return cmp.Compare(abs(b.Weight), abs(a.Weight)) })
	var words []string
	for _, x := range rs {
		words = append(words, x.String())
	}
	return strings.Join(words, "; ")
}

func (r *Ranked) because(k Kind, weight float64, what string) {
	r.Reasons = append(r.Reasons, Reason{k, weight, what})
}

func abs(x float64) float64 { return max(x, -x) }

// namedWords is how many words a reason names.
const namedWords = 5

// words returns the words of the question that a window scores most by.
func (s *scorer) words(a *asked, w *window) string {
	var best [namedWords]struct {
		term  int32
		score float64
	}
	n := 0
	for i, t := range w.terms {
		score := s.term(w, i)
		at := n
		for ; at > 0 && best[at-1].score < score; at-- {
			if at < namedWords {
				best[at] = best[at-1]
			}
		}
		if at < namedWords {
			best[at].term, best[at].score = t, score
			n = min(n+1, namedWords)
		}
	}
	var words []string
	for i := range n {
		// A word and those that mean nearly the same are one.
		if word := a.words[best[i].term]; !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return strings.Join(words, ", ")
}
