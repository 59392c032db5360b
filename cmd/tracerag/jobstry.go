package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"tracerag/jobs"
	"tracerag/phrase"
	"tracerag/visible"
)

// tryChanges has workers judge the changes in a file, or on standard input.
func (a *app) tryChanges(ctx context.Context, q *jobs.Queue, file string, p jobs.Priority) error {
	list, err := readLines(a, file, (*jobs.Candidate).Check)
	if err != nil {
		return err
	}
	for i := range list {
		list[i].ID = a.masker().Text(list[i].ID) // it is shown in lists; the change is kept as sources are
	}
	added, err := q.Try(ctx, list, p)
	if err != nil {
		return err
	}
	a.note("%s to try, %d of them waited already: tracerag jobs answers", phrase.Plural(len(list), "change", "changes"), len(list)-added)
	return a.missingWorker(ctx, q, jobs.Try, "tries changes")
}

// writeTried writes what became of a change: the verdict, or all that it says of tests that fail.
func writeTried(w io.Writer, x *jobs.Tried, whole bool) {
	fmt.Fprintf(w, "%s  %s", visible.Line(x.ID), visible.Line(x.URL))
	if n := min(len(x.Commit), 12); n > 0 {
		fmt.Fprintf(w, " at %s", visible.Line(x.Commit[:n]))
	}
	text := "not tried yet"
	switch {
	case x.Problem != "":
		text = "not tried: " + x.Problem
	case x.Verdict != nil:
		text = x.Verdict.String()
	case x.Made != nil:
		text = "the verdict can't be read"
	}
	if !whole {
		text, _, _ = strings.Cut(text, "\n")
	}
	fmt.Fprintln(w)
	for line := range strings.Lines(strings.TrimRight(visible.Text(text), "\n")) {
		fmt.Fprintf(w, "     %s\n", strings.TrimRight(line, "\n"))
	}
}
