package locate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tracerag/rank"
)

// Kinds of reasons beside those of package rank.
const (
	Placed   rank.Kind = "place"
	History  rank.Kind = "history"
	Frame    rank.Kind = "frame"
	Literal  rank.Kind = "literal"
	Tested   rank.Kind = "tested"
	Calls    rank.Kind = "calls"
	Routed   rank.Kind = "repository"
	Vectored rank.Kind = "vectors"
	Model    rank.Kind = "model" // what a model said: see package locate/guided
)

// Say returns a reason in words.
func Say(r rank.Reason) string {
	switch r.Kind {
	case Placed:
		return "the report says " + r.What
	case History:
		return "its file was changed by " + r.What
	case Frame:
		return "in the stack trace, " + r.What
	case Literal:
		return fmt.Sprintf("has the text %q", r.What)
	case Tested:
		return "called by " + r.What
	case Calls:
		return r.What
	case Model:
		return "the model: " + r.What
	case Vectored:
		return "its vector is near"
	case rank.Named:
		return "the report says " + r.What
	}
	return r.String()
}

// Why returns reasons in words, what a model said first, then those of most weight.
func Why(rs []rank.Reason) string {
	rs = slices.Clone(rs)
	weight := func(r rank.Reason) float64 {
		if r.Kind == Model {
			return math.Inf(1)
		}
		return math.Abs(r.Weight)
	}
	slices.SortStableFunc(rs, func(a, b rank.Reason) int { return cmp.Compare(weight(b), weight(a)) })
	var words []string
	for _, r := range rs {
		if r.Kind != Routed {
			words = append(words, Say(r))
		}
	}
	return strings.Join(words, "; ")
}
