package locate

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"tracerag/knowledge"
	"tracerag/phrase"
	"tracerag/rank"
	"tracerag/visible"
)

// Write writes an answer for people: functions with reasons, files, repositories if there are
// several, and how to record what shows the best function. Commands are for the
// directory cwd.
func (a *Answer) Write(w io.Writer, cwd string) error {
	b := bufio.NewWriter(w)
	// Each is one line, whatever the names of files and the subjects of commits hold.
	line := func(format string, args ...any) {
		fmt.Fprintln(b, visible.Line(fmt.Sprintf(format, args...)))
	}
	several := len(a.Repositories) > 1
	in := func(repository, file string) string {
		if several {
			return repository + ": " + file
		}
		return file
	}
	type change struct{ repository, file, what string }
	said := map[change]bool{}
	for i := range a.Functions {
		f := &a.Functions[i]
		// What is of the file is said once, of the first of its functions.
		reasons := slices.DeleteFunc(slices.Clone(f.Reasons), func(r rank.Reason) bool {
			c := change{f.Repository, f.File, r.What}
			was := said[c]
			said[c] = r.Kind == History
			return was
		})
		line("%3d  %.2f  %s  %s:%d", i+1, f.Score, f.Name, in(f.Repository, f.File), f.Line)
		if why := Why(reasons); why != "" {
			line("           %s", why)
		}
	}
	if len(a.Files) > 0 {
		fmt.Fprintf(b, "\nFiles\n")
		for i, f := range a.Files {
			line("%3d  %.2f  %s  (%s)", i+1, f.Score, in(f.Repository, f.File), strings.Join(f.Functions, ", "))
		}
	}
	if several {
		fmt.Fprintf(b, "\nRepositories\n")
		for i, r := range a.Repositories[:min(len(a.Repositories), repositories)] {
			line("%3d  %.2f  %s  %s", i+1, r.Score, r.Name, r.Snapshot)
		}
	}
	if len(a.Runs) > 0 || a.Record != nil {
		fmt.Fprintln(b)
	}
	for _, r := range a.Runs {
		line("recorded: %s executed some of the first %d functions (trace %s)", runName(&r), bestForRuns, r.Trace)
	}
	if a.Record != nil {
		line("to see %s run (the test %s):", a.Functions[0].Name, a.Record.Why)
		line("  %s", a.Record.Line(cwd))
	}
	if len(a.OldCalls) > 0 {
		line("calls in the source of %s are those of an earlier state of the files", strings.Join(a.OldCalls, ", "))
	}
	return b.Flush()
}

func runName(r *knowledge.Run) string {
	if r.Test != "" {
		return r.Test
	}
	return r.Command
}

// Line is the command that records the test, for a shell in cwd.
func (r *Record) Line(cwd string) string {
	line := "tracerag run -- go test "
	if len(r.Tags) > 0 {
		line += "-tags=" + phrase.Quote(strings.Join(r.Tags, ",")) + " "
	}
	line += phrase.Quote(r.Package)
	if r.Test != "" {
		line += " -run " + phrase.Quote("^"+r.Test+"$")
	}
	if dir, err := filepath.Rel(cwd, r.Dir); err != nil || dir != "." {
		line = "cd " + phrase.Quote(r.Dir) + " && " + line
	}
	return line
}
