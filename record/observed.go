package record

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"tracerag/calltree"
	"tracerag/phrase"
	"tracerag/trace"
)

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
