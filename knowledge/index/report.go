package index

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tracerag/knowledge"
	"tracerag/phrase"
	"tracerag/visible"
)

// Report is a result as people and programs read it.
type Report struct {
	Repository string         `json:"repository"`
	Root       string         `json:"root"`
	URL        string         `json:"url,omitempty"`
	Snapshot   string         `json:"snapshot"`
	Read       int            `json:"files_read"`
	Written    int            `json:"files_written"`
	Removed    int            `json:"files_removed"`
	Lines      int            `json:"lines"`
	Has        ReportedCounts `json:"has"`
	Calls      string         `json:"calls"` // "fresh", "old" or "none"
	Skipped    []Gap          `json:"skipped"`
	CallGaps   []string       `json:"calls_unknown"`
	CallsLeft  float64        `json:"calls_seconds,omitempty"` // that they would take, if they were left out for that
	Seconds    float64        `json:"seconds"`
}

// ReportedCounts is what of a repository is in the store.
type ReportedCounts struct {
	Modules      int `json:"modules"`
	Packages     int `json:"packages"`
	Files        int `json:"files"`
	Declarations int `json:"declarations"`
	Functions    int `json:"functions"`
	Static       int `json:"static_calls"`
	Interface    int `json:"possible_calls"`
	Runs         int `json:"runs"`
	Commits      int `json:"commits"`
}

var callStates = [...]string{knowledge.NoCalls: "none", knowledge.OldCalls: "old", knowledge.FreshCalls: "fresh"}

// NewReport makes a report of what an update did, and of what is in the store then.
func NewReport(r *Result, n knowledge.Counts) Report {
	return Report{
		Repository: r.Repository.Name, Root: r.Repository.Root, URL: r.Repository.URL, Snapshot: r.Repository.Snapshot.String(),
		Read: r.Read, Written: r.Parsed, Removed: r.Removed, Lines: r.Lines,
		Has:   ReportedCounts{n.Modules, n.Packages, n.Files, n.Declarations, n.Functions, n.Static, n.Interface, n.Runs, n.Commits},
		Calls: callStates[r.Repository.Calls], Skipped: append([]Gap{}, r.Gaps...), CallGaps: append([]string{}, r.CallGaps...),
		CallsLeft: r.CallsLeft.Seconds(), Seconds: r.Elapsed.Round(time.Millisecond).Seconds(),
	}
}

// mostSkipped is how many skipped files a report for people names.
const mostSkipped = 5

// Write writes the report for people: a few lines.
func (r *Report) Write(w io.Writer) error {
	p := printer{w: w}
	p.printf("%s  %s", visible.Line(r.Repository), visible.Line(r.Root))
	if r.Snapshot != "" {
		p.printf("  %s", r.Snapshot)
	}
	p.printf("\n  %s, %s, %s, %s, %s\n", phrase.Plural(r.Has.Modules, "module", "modules"), phrase.Plural(r.Has.Packages, "package", "packages"),
		phrase.Plural(r.Has.Files, "file", "files"), phrase.Plural(r.Has.Functions, "function", "functions"), phrase.Plural(r.Has.Commits, "commit", "commits"))
	switch r.Calls {
	case "none":
		p.printf("  calls: not made")
	case "old":
		p.printf("  calls: %s and %s possible ones, of code that changed since", phrase.Number(r.Has.Static), phrase.Number(r.Has.Interface))
	default:
		p.printf("  calls: %s and %s possible ones", phrase.Number(r.Has.Static), phrase.Number(r.Has.Interface))
	}
	p.printf("; %s\n", phrase.Plural(r.Has.Runs, "saved run", "saved runs"))
	if r.Read == 0 && r.Removed == 0 {
		p.printf("  nothing changed")
	} else {
		p.printf("  %s read, %s written, %s removed", phrase.Plural(r.Read, "file", "files"), phrase.Number(r.Written), phrase.Number(r.Removed))
	}
	p.printf(" in %s\n", phrase.Duration(time.Duration(r.Seconds*float64(time.Second))))
	p.list("skipped", r.Skipped)
	var gaps []Gap
	for _, g := range r.CallGaps {
		gaps = append(gaps, Gap{What: g})
	}
	p.list("calls not known", gaps)
	if slices.ContainsFunc(r.CallGaps, func(g string) bool { return strings.Contains(g, "illegal UTF-8 encoding") }) {
		p.printf("  Go's sources are in UTF-8: iconv -t UTF-8 converts files that are in another encoding\n")
	}
	return p.err
}

type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// list names a few of what is missing.
func (p *printer) list(what string, gaps []Gap) {
	if len(gaps) == 0 {
		return
	}
	p.printf("  %s: %s\n", what, phrase.Number(len(gaps)))
	for _, g := range gaps[:min(len(gaps), mostSkipped)] {
		if g.Path != "" {
			p.printf("    %s: %s\n", visible.Line(g.Path), visible.Line(g.What))
		} else {
			p.printf("    %s\n", visible.Line(g.What))
		}
	}
	if n := len(gaps) - mostSkipped; n > 0 {
		p.printf("    and %s more\n", phrase.Number(n))
	}
}

// Place is a directory to index.
type Place struct {
	Dir string
	URL string // it was cloned from; "" it was not
}

// Locate finds the directory that an argument means: a directory, or a clone that is
// made below another one.
func Locate(ctx context.Context, arg, clones string) (Place, error) {
	if !IsURL(arg) {
		return Place{Dir: arg}, nil
	}
	dir, err := Clone(ctx, arg, clones)
	shown, _, _ := cloneAt(arg)
	return Place{Dir: dir, URL: shown}, err
}
