package session

import (
	"cmp"
	"fmt"

	"tracerag/phrase"
	"tracerag/trace"
)

// lossNotes are what a trace lacks, for people and for prompts: stable lines, the most
// important first.
func lossNotes(tr *trace.Trace) []string {
	var floors, unhooked, partly int
	var rest []trace.Loss
	for _, l := range tr.Losses {
		switch {
		case l.Kind == trace.LossFloor:
			floors++
		case l.Kind == trace.LossNotHooked && l.Function != "" && l.Count == 0:
			unhooked++
		case l.Kind == trace.LossNotHooked && l.Function != "":
			partly++
		default:
			rest = append(rest, l)
		}
	}
	out := losses(rest, "")
	if floors > 0 {
		out = append(out, fmt.Sprintf("%s called so often that watching %s was given up: counts with a + are floors, and later callers are missing",
			phrase.Plural(floors, "function was", "functions were"), pronoun(floors)))
	}
	if unhooked > 0 {
		out = append(out, fmt.Sprintf("%s could not be watched", phrase.Plural(unhooked, "function", "functions")))
	}
	if partly > 0 {
		out = append(out, fmt.Sprintf("some inlined calls of %s could not be watched: those that called nothing are missing", phrase.Plural(partly, "function", "functions")))
	}
	return out
}

// lossText says one loss in words.
func lossText(l trace.Loss) string {
	s := phrase.Number(l.Count)
	switch l.Kind {
	case trace.LossNotHooked:
		s = cmp.Or(l.Function, "calls") + " could not be watched"
		if l.Count > 0 {
			s += " at " + phrase.Plural(l.Count, "place", "places")
		}
	case trace.LossFloor:
		s = l.Function + ": stopped counting after " + phrase.Plural(l.Count, "call", "calls")
	case trace.LossOverflow:
		s = phrase.Plural(l.Count, "call", "calls") + " not recorded"
		if l.Nodes > 0 {
			s += fmt.Sprintf(", in contexts that came after the first %s", phrase.Plural(l.Nodes, "node", "nodes"))
		}
	case trace.LossTruncated:
		s = "the recording is cut short"
		if l.Count > 0 {
			s = "cut short, " + phrase.Plural(l.Count, "time", "times")
		}
	case trace.LossSampled:
		s = phrase.Plural(l.Count, "sample", "samples") + " only"
	}
	switch {
	case l.Kind == trace.LossOther && l.Count == 0:
		return l.Detail
	case l.Detail != "":
		s += ": " + l.Detail
	}
	return s
}

func pronoun(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// losses says what a trace lacks, a line each. Of a kind that has many it says the
// first few and how many more there are: a trace from elsewhere may hold any number.
// The hint says where they are listed.
func losses(list []trace.Loss, hint string) []string {
	const most = 10
	var out []string
	kinds := map[trace.LossKind]int{}
	for _, l := range list {
		kinds[l.Kind]++
	}
	seen := map[trace.LossKind]int{}
	for _, l := range list {
		seen[l.Kind]++
		switch n, all := seen[l.Kind], kinds[l.Kind]; {
		case n < most || all == most:
			out = append(out, lossText(l))
		case n == most:
			out = append(out, fmt.Sprintf("and %s more like these", phrase.Number(all-most+1))+hint)
		}
	}
	return out
}
