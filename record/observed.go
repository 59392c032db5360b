package record

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"tracerag/calltree"
	"tracerag/phrase"
	"tracerag/trace"
)

// Notes say what the second run has shown, and what it has not.
func (o Observed) Notes() (out []string) {
	nodes := map[trace.NodeID]bool{}
	for i := range o.Activations {
		nodes[o.Activations[i].Node] = true
	}
	out = append(out, fmt.Sprintf("of %s of %s", phrase.Plural(len(o.Activations), "call", "calls"), phrase.Plural(len(nodes), "node", "nodes")))
	switch {
	case errors.Is(o.Ended, context.DeadlineExceeded):
		out = append(out, "the deadline expired: some values may be missing")
	case o.Ended != nil:
		out = append(out, "interrupted: some values may be missing")
	case o.TimedOut:
		out = append(out, "that run took too long and was ended: some values may be missing")
	case o.Full:
		out = append(out, "the trace's limit for values is reached")
	}
	if o.Ended == nil && !o.TimedOut && o.Exit.Known() {
		if other := o.Differences(); len(other) > 0 {
			out = append(out, "the second run did not do what the first did: "+strings.Join(other, "; "))
		}
	}
	if o.Unclear > 0 {
		out = append(out, phrase.Plural(o.Unclear, "call", "calls")+" could not be matched to the first run: several functions start their goroutine")
	}
	without := func(names []string, why string) {
		if len(names) == 0 {
			return
		}
		const most = 3
		var short []string
		for _, n := range names[:min(most, len(names))] {
			short = append(short, calltree.ShortName(n))
		}
		text := "no values for " + strings.Join(short, ", ")
		if n := len(names) - most; n > 0 {
			text += fmt.Sprintf(" and %d more", n)
		}
		out = append(out, text+", which "+why)
	}
	without(o.NotEntered, "the compiler has inlined (go run, or -gcflags=all=-l, keeps their calls)")
	without(o.Unknown, "DWARF does not describe")
	return out
}

// Differences says in what the second run was another one than the first. What it printed
// is not compared: the first one's output was the user's alone.
func (o Observed) Differences() (out []string) {
	if o.Exit != o.Trace.Exit {
		out = append(out, fmt.Sprintf("it ended with %s, the first with %s", o.Exit, o.Trace.Exit))
	}
	if n := len(o.NotCalled); n > 0 {
		first := o.NotCalled[0]
		verb := "were"
		if n == 1 {
			verb = "was"
		}
		out = append(out, fmt.Sprintf("%s of %s %s not called, first %s%s", phrase.Number(n), phrase.Plural(o.Watched, "function", "functions"), verb,
			calltree.ShortName(first), declaredAt(o.Trace, first)))
	}
	if o.Unmatched > 0 {
		out = append(out, fmt.Sprintf("%s made where the first has none, first of %s", phrase.Plural(o.Unmatched, "call was", "calls were"), calltree.ShortName(o.FirstOther)))
	}
	return out
}

// declaredAt is where a function of a trace begins, for a message.
func declaredAt(tr *trace.Trace, name string) string {
	i := slices.IndexFunc(tr.Functions, func(f trace.Function) bool { return f.Name == name })
	if i < 0 || tr.Functions[i].StartLine == 0 {
		return ""
	}
	f := &tr.Functions[i]
	return fmt.Sprintf(" (%s:%d)", path.Base(strings.ReplaceAll(f.File, "\\", "/")), f.StartLine)
}
